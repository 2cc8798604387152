"""Counts for people: how many of what, and how far a long work is."""

from __future__ import annotations

import sys

import click

#: Columns of a terminal that a line of progress may take.
_COLUMNS = 78


def counted(number: int, noun: str, verb: str = "") -> str:
    """`1 case`, or with a verb `2 cases failed`."""
    return f"{number} {noun if number == 1 else f'{noun}s'}{f' {verb}' if verb else ''}"


class Progress:
    """Tells a person how far it is, on one line of a terminal; nobody else, and nobody of a single part."""

    def __init__(self, parts: int) -> None:
        self._parts = parts
        self._done = self._failed = 0
        self._shown = parts > 1 and sys.stderr.isatty()
        self._show("")

    def __call__(self, part: str, *, failed: bool = False) -> None:
        """One more part is done; `part` is what people call it."""
        self._done += 1
        self._failed += failed
        failures = f", {self._failed} failed" if self._failed else ""
        self._show(f"{failures} {part}")

    def clear(self) -> None:
        """Leave the line empty."""
        if self._shown:
            click.echo("\r\x1b[K", err=True, nl=False)

    def _show(self, rest: str) -> None:
        if self._shown:
            click.echo(f"\r\x1b[K{f'{self._done}/{self._parts}{rest}'[:_COLUMNS]}", err=True, nl=False)
