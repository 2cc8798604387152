"""Template bombs end within a second and 256 MiB, with one message; a server tells of them in its log and goes on."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from injector.templates.trial import try_templates
from tests.unit.templates.bombs import BOMBS, MANIFEST, OVERLAY

#: Of the whole process; a second of processor time besides what Python takes to start.
MEMORY = 256 * 1024 * 1024
CPU_SECONDS = 2


def limit() -> None:
    """In the child: what it runs into kills it."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))


@pytest.mark.parametrize("name", BOMBS)
def test_render_refuses_it(name: str, tmp_path: Path) -> None:
    folder = tmp_path / "bomb"
    folder.mkdir()
    for file, text in BOMBS[name].items():
        (folder / file).write_text(text)
    done = subprocess.run(
        [sys.executable, "-m", "injector", "render", "./bomb"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        preexec_fn=limit,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[3]), "NO_COLOR": "1"},
        check=False,
    )
    assert (done.returncode, done.stdout) == (1, ""), done.stderr[-500:]
    first = done.stderr.splitlines()[0]
    assert first.startswith("./bomb") and ": error: " in first, first[:300]
    assert first.endswith(("[limit]", "[yaml]", "[name]", "[syntax]")) and len(first) < 700, first[:300]
    assert "Traceback" not in done.stderr and "the injector itself failed" not in done.stderr


def test_a_trial_refuses_all_and_takes_what_is_right() -> None:
    failed = try_templates({**BOMBS, "right": {"template.yaml": MANIFEST, "overlay.yaml.j2": OVERLAY}})
    assert set(BOMBS) == set(failed)
    assert not [error for error in failed.values() if "the trial" in error.message], failed
