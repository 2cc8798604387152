"""The real program, run as a person runs it."""

from __future__ import annotations

from pathlib import Path

from tests.command import ROOT, Done, run
from tests.parts import search_path

GALLERY = sorted(folder.parent.name for folder in (ROOT / "templates").glob("*/template.yaml"))


def injector(*args: object, cwd: Path = ROOT, stdin: str = "") -> Done:
    """Run `injector ARGS`."""
    done = run(*args, cwd=cwd, stdin=stdin, env=environment())
    assert "Traceback" not in done.err
    return done


def environment() -> dict[str, str]:
    """What the program sees: the real programs on PATH, this tree's modules, nothing of whoever runs the tests."""
    return {"PATH": search_path(), "PYTHONPATH": str(ROOT), "HOME": "/nonexistent", "TERM": "xterm"}
