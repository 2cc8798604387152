"""Diagnostics without their words: what is the same without them was not read out of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from injector.diagnostics import Diagnostic

#: Keys of JSON that hold words for people.
_WORDS = ("message", "help", "text", "toDo", "warnings", "notes", "facts", "detail", "why")


class Switch:
    """Makes every Diagnostic say `x` while it is on, and keeps those that are made."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.on = True
        self.made: list[Diagnostic] = []
        init = Diagnostic.__init__

        def silent(this: Diagnostic, code: str, severity: Any, message: str, help: str = "", *rest: Any, **more: Any):  # noqa: A002
            init(this, code, severity, "x" if self.on else message, "x" if self.on and help else help, *rest, **more)
            self.made.append(this)

        monkeypatch.setattr(Diagnostic, "__init__", silent)

    def both(self, ask: Callable[[], Any]) -> tuple[Any, Any]:
        """What is answered with the words, and without."""
        self.on = False
        spoken = ask()
        self.on = True
        return spoken, ask()


def wordless(value: Any) -> Any:
    """A value of JSON without what it says to people."""
    if isinstance(value, dict):
        return {key: len(item) > 0 if key in _WORDS else wordless(item) for key, item in value.items()}
    return [wordless(item) for item in value] if isinstance(value, list) else value
