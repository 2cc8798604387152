"""Diagnostics without their words: what is the same without them was not read out of them.

Under the fixture `codes` each Diagnostic says its code and its fields, whatever its words are, so that text for people
can be looked at for what it is about (tests/messages.py):

    warning: settings.yaml:2:3: parameters.ngnix: [unknown-template value=ngnix nearest=nginx]
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from injector.diagnostics import Diagnostic

if TYPE_CHECKING:
    import pytest

#: In the environment of a process that `tests.command` starts: `x` or `codes`; and the file for the words of `codes`.
MODE, WORDS = "MESSAGES", "MESSAGES_FILE"

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
_LONG = 60  #: characters of a value


def silent() -> bool:
    """Whether Diagnostics do not say the words that they are made with."""
    return Diagnostic.__init__ is not _init


def needs_words(test: Callable[..., Any]) -> Callable[..., Any]:
    """A test of a page that quotes Diagnostics: where these say `x`, there is nothing to compare. A decorator."""
    import pytest

    return pytest.mark.skipif(silent(), reason="Diagnostics say x in this run")(test)


#: What a template's author says by `deny`, `fail` and `warn`: these words are theirs, and stay.
_AUTHORS = ("denied", "not-served", "template-warning")


def code(of: Diagnostic) -> str:
    """What a Diagnostic says in place of words."""
    if of.code in _AUTHORS:
        return of.message
    fields = [f"{name}={text}" for name, value in of.fields.items() if value and len(text := str(value)) < _LONG]
    return f"[{' '.join([of.code, *fields])}]"


def start(mode: str) -> None:
    """From now on each Diagnostic of this process says `x`, or its code and fields; its help is `x` or nothing."""

    def say(this: Diagnostic, *args: Any, **more: Any) -> None:
        _init(this, *args, **more)
        text = this.message if this.code in _AUTHORS else "x"
        if mode == "codes":
            text = code(this)
            if file := os.environ.get(WORDS):
                with Path(file).open("a") as words:
                    words.write(f"{json.dumps([text, this.advice])}\n")
        object.__setattr__(this, "message", text)
        object.__setattr__(this, "help", "x" if this.help else "")

    Diagnostic.__init__ = say  # type: ignore[method-assign]


#: Functions that remember Diagnostics which they made.
_CACHES = {
    "injector.authoring.author_warnings": "text_warnings",
    "injector.authoring.lint.pod_schema": "_checked",
    "injector.authoring.lint.rules.pod_security": "refusals",
}


def forget() -> None:
    """What was made in another mode is made anew."""
    for module, name in _CACHES.items():
        if module in sys.modules:
            getattr(sys.modules[module], name).cache_clear()


@contextmanager
def saying(mode: str) -> Iterator[None]:
    """The same for a while, in this process and in those that it starts by `tests.command`."""
    before, variable = Diagnostic.__init__, os.environ.get(MODE)
    forget()
    start(mode)
    os.environ[MODE] = mode
    try:
        yield
    finally:
        forget()
        Diagnostic.__init__ = before  # type: ignore[method-assign]
        os.environ.pop(MODE)
        if variable is not None:
            os.environ[MODE] = variable
