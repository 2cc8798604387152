"""Diagnostics without their words: what is the same without them was not read out of them.

A test that looks at text for people takes the fixture `codes`: each Diagnostic then says its code and its fields, so
that what the text says of code, path, place and values can be asserted, whatever the words are:

    warning: settings.yaml:2:3: parameters.ngnix: unknown-template {"name": "ngnix", "nearest": "nginx"}

The words are in golden files (tests/test_words.py).
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from injector.diagnostics import Diagnostic

if TYPE_CHECKING:
    import pytest

#: In the environment of a process that `tests.command` starts: `x` or `codes`.
VARIABLE = "MESSAGES"

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


_init = Diagnostic.__init__


def _code(of: Diagnostic) -> str:
    fields = json.dumps(dict(of.fields), default=str, sort_keys=True) if of.fields else ""
    return f"{of.code} {fields}".rstrip()


_SAYS: dict[str, Callable[[Diagnostic], str]] = {"x": lambda of: "x", "codes": _code}


def start(mode: str) -> None:
    """From now on each Diagnostic of this process says `x`, or its code and fields; its help is `x` or nothing."""

    def say(this: Diagnostic, *args: Any, **more: Any) -> None:
        _init(this, *args, **more)
        object.__setattr__(this, "message", _SAYS[mode](this))
        object.__setattr__(this, "help", "x" if this.help else "")

    Diagnostic.__init__ = say  # type: ignore[method-assign]


@contextmanager
def saying(mode: str) -> Iterator[None]:
    """The same for a while, in this process and in those that it starts by `tests.command`."""
    before, variable = Diagnostic.__init__, os.environ.get(VARIABLE)
    start(mode)
    os.environ[VARIABLE] = mode
    try:
        yield
    finally:
        Diagnostic.__init__ = before  # type: ignore[method-assign]
        os.environ.pop(VARIABLE)
        if variable is not None:
            os.environ[VARIABLE] = variable
