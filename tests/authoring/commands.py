"""The real program, run as a person runs it."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from tests.parts import search_path

ROOT = Path(__file__).resolve().parents[2]
GALLERY = sorted(folder.parent.name for folder in (ROOT / "templates").glob("*/template.yaml"))


@dataclass(frozen=True)
class Done:
    """How a command ended."""

    code: int
    out: str
    err: str


def injector(*args: object, cwd: Path = ROOT, stdin: str = "") -> Done:
    """Run `injector ARGS`."""
    done = subprocess.run(
        [sys.executable, "-m", "injector", *map(str, args)],
        cwd=cwd,
        input=stdin,
        capture_output=True,
        text=True,
        timeout=120,
        env=environment(),
    )
    assert "Traceback" not in done.stderr
    return Done(done.returncode, done.stdout, done.stderr)


def environment() -> dict[str, str]:
    """What the program sees: the real programs on PATH, this tree's modules, nothing of whoever runs the tests."""
    return {"PATH": search_path(), "PYTHONPATH": str(ROOT), "HOME": "/nonexistent", "TERM": "xterm"}
