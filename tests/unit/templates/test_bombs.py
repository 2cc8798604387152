"""Template bombs end soon and within 256 MiB, with one message; a server tells of them in its log and goes on."""

from __future__ import annotations

import os
import re
import resource
from collections.abc import Iterable
from pathlib import Path

import pytest

from injector.loading.trial import try_templates
from tests import command
from tests.command import Done
from tests.processor_time import reference
from tests.unit.templates.bombs import BOMBS, MANIFEST, OVERLAY

MEMORY = 256 * 1024 * 1024
#: Processor time of the whole process without its imports, in units of a reference: about a second on a quiet machine.
COST = 300
#: The linter and the test runner load more before they begin: Kubernetes' schemas.
FOR_AUTHORS = 600
#: Ends what would never end.
SECONDS = 100
CASE = "cases:\n- name: a\n  expect: {decision: injected}\n"
OF_EACH_KIND = (
    "aliases-of-holes", "blocks", "include-chain", "include-that-doubles", "lists-within-lists", "long-number",
    "loops", "macro-that-doubles", "many-expressions", "many-keys", "many-values", "output", "pattern",
)  # fmt: skip


def run(folder: Path, name: str, files: dict[str, str], cost: float) -> Done:
    """A command with a memory limit that kills it; it may cost so much processor time."""
    (folder / "bomb" / "tests").mkdir(parents=True)
    for file, text in {**files, "tests/bomb.yaml": CASE}.items():
        (folder / "bomb" / file).write_text(text)
    limits = {resource.RLIMIT_AS: MEMORY, resource.RLIMIT_CPU: SECONDS}
    before = reference()
    done = command.run(name, "./bomb", cwd=folder, env={**os.environ, "NO_COLOR": "1"}, limits=limits)
    assert done.seconds < cost * max(before, reference()), done.err[-500:]
    return done


@pytest.mark.parametrize("name", BOMBS)
def test_render_refuses_it(name: str, tmp_path: Path) -> None:
    done = run(tmp_path, "render", BOMBS[name], COST)
    assert (done.code, done.out) == (1, ""), done.err[-500:]
    first = done.err.splitlines()[0]
    assert first.startswith("./bomb") and ": error: " in first, first[:300]
    assert first.endswith(("[limit]", "[yaml]", "[name]", "[syntax]")) and len(first) < 700, first[:300]
    assert "Traceback" not in done.err and "itself failed" not in done.err


@pytest.mark.parametrize(
    ("name", "command"), [(name, ("lint", "test")[number % 2]) for number, name in enumerate(OF_EACH_KIND)]
)
def test_lint_and_test_refuse_it(command: str, name: str, tmp_path: Path) -> None:
    done = run(tmp_path, command, BOMBS[name], FOR_AUTHORS)
    told = done.out + done.err
    assert done.code == 1, told[-500:]
    assert re.search(r"^\s*(?:\./)?bomb.*: error: .*\[(limit|syntax)\]$", told, re.MULTILINE), told[:500]
    assert "Traceback" not in told and "itself failed" not in told


@pytest.mark.parametrize(
    "names", [OF_EACH_KIND, pytest.param(BOMBS, marks=pytest.mark.soak(minutes=10))], ids=["kinds", "all"]
)
def test_a_trial_refuses_all_and_takes_what_is_right(names: Iterable[str]) -> None:
    bombs = {name: BOMBS[name] for name in names}
    failed = try_templates({**bombs, "right": {"template.yaml": MANIFEST, "overlay.yaml.j2": OVERLAY}})
    assert set(bombs) == set(failed)
    assert not [error for error in failed.values() if "the trial" in error.message], failed
