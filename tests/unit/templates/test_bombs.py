"""Template bombs end within a second and 256 MiB, with one message; a server tells of them in its log and goes on."""

from __future__ import annotations

import os
import resource
from pathlib import Path

import pytest

from injector.loading.trial import try_templates
from tests import command
from tests.command import Done
from tests.messages import Golden
from tests.unit.templates.bombs import BOMBS, MANIFEST, OVERLAY

#: Of the whole process, to whose processor time the imports do not count.
MEMORY = 256 * 1024 * 1024
CPU_SECONDS = 1
#: The linter and the test runner load more before they begin: Kubernetes' schemas.
FOR_AUTHORS = 2
CASE = "cases:\n- name: a\n  expect: {decision: injected}\n"
OF_EACH_KIND = (
    "aliases-of-holes", "blocks", "include-chain", "include-that-doubles", "lists-within-lists", "long-number",
    "loops", "macro-that-doubles", "many-expressions", "many-keys", "many-values", "output", "pattern",
)  # fmt: skip


def run(folder: Path, name: str, files: dict[str, str], seconds: int) -> Done:
    """A command with limits that kill it."""
    (folder / "bomb" / "tests").mkdir(parents=True)
    for file, text in {**files, "tests/bomb.yaml": CASE}.items():
        (folder / "bomb" / file).write_text(text)
    limits = {resource.RLIMIT_AS: MEMORY, resource.RLIMIT_CPU: seconds}
    return command.run(name, "./bomb", cwd=folder, env={**os.environ, "NO_COLOR": "1"}, limits=limits)


@pytest.mark.parametrize("name", BOMBS)
def test_render_refuses_it(name: str, tmp_path: Path, golden: Golden) -> None:
    done = run(tmp_path, "render", BOMBS[name], CPU_SECONDS)
    assert (done.code, done.out) == (1, ""), done.err[-500:]
    first = done.err.splitlines()[0]
    assert first.startswith("./bomb") and ": error: " in first, first[:300]
    assert first.endswith(("[limit]", "[yaml]", "[name]", "[syntax]")) and len(first) < 700, first[:300]
    assert "Traceback" not in done.err
    golden(done.err)


@pytest.mark.parametrize("command", ["lint", "test"])
@pytest.mark.parametrize("name", OF_EACH_KIND)
def test_lint_and_test_refuse_it(command: str, name: str, tmp_path: Path, golden: Golden) -> None:
    done = run(tmp_path, command, BOMBS[name], FOR_AUTHORS)
    told = done.out + done.err
    assert done.code == 1, told[-500:]
    golden(told)
    assert "Traceback" not in told
    golden(told)


def test_a_trial_refuses_all_and_takes_what_is_right() -> None:
    failed = try_templates({**BOMBS, "right": {"template.yaml": MANIFEST, "overlay.yaml.j2": OVERLAY}})
    assert set(BOMBS) == set(failed)
    assert not [error for error in failed.values() if "the trial" in error.message], failed
