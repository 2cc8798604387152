"""Watching files: something is shown anew whenever one of them changes, until the person has seen enough."""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import click

from injector.authoring.diagnostic_formats import one_line
from injector.loading.template_folders import fingerprints

#: Seconds between two looks at the files: below what a person notices.
_POLL_SECONDS = 0.15
#: Clear the screen and what can be scrolled back to, and go to its upper left corner (ECMA-48; xterm for the second).
_CLEAR = "\x1b[2J\x1b[3J\x1b[H"
#: Lines that stay in sight above the one that changed.
_ABOVE = 5
#: Hashes: a name made from content changes with every edit, and nobody looks for that.
_HASH = re.compile(r"[0-9a-f]{10,}")


def watch(files: Callable[[], Iterable[Path]], draw: Callable[[], str], subject: str) -> int:
    """Show what `draw` gives, and show it again when one of `files()` changes. Ends with 0 when it is interrupted.

    An exception of `draw` is shown in its place: what is saved next may be right again.

    A terminal is cleared first. If not all of the text fits, it shows the part with the latest change. Elsewhere each
    version stands below a line that says what changed.
    """
    terminal = sys.stdout.isatty()
    earlier: dict[str, object] = {}
    head, text, before, size = "", "", "", None
    try:
        while True:
            now = fingerprints(files())
            changed = [Path(file).name for file in {**earlier, **now} if earlier.get(file) != now.get(file)]
            if changed:
                first, earlier = not earlier, now
                head = _head(subject, changed, first=first, watched=len(now))
                before, text = text, _drawn(draw)
                if not terminal:
                    click.echo(("" if first else f"===== {head} =====\n") + text, nl=False)
                    sys.stdout.flush()
            if terminal and (changed or size != _size()):
                size = _size()
                _show(head, window(text, before, *size))
            time.sleep(_POLL_SECONDS)
    except KeyboardInterrupt:
        if terminal:
            click.echo()
        return 0


@dataclass(frozen=True, slots=True)
class Window:
    """The part of a text that is in sight: lines `first` to `last` of `lines`, counted from 1."""

    text: str
    first: int
    last: int
    lines: int

    @property
    def whole(self) -> bool:
        """Whether that is all of it."""
        return self.last - self.first + 1 == self.lines


def window(text: str, before: str, columns: int, rows: int) -> Window:
    """As much of a text as fits below a heading of two lines, with the first line that is another than before.

    Columns and rows are the terminal's; 0 where it does not say, and then all of the text is in sight.
    """
    lines = text.splitlines()
    heights = [1 if not columns else max(1, -(-len(click.unstyle(line)) // columns)) for line in lines]
    room = rows - 3
    if rows <= 0 or room < 1 or sum(heights) <= room:
        return Window(text, 1, len(lines), len(lines))
    first = max(0, _first_change(lines, before.splitlines()) - _ABOVE)
    while first and sum(heights[first - 1 :]) <= room:  # never less than fits
        first -= 1
    last, used = first, 0
    while last < len(lines) and used + heights[last] <= room:
        used += heights[last]
        last += 1
    last = max(last, first + 1)
    return Window("".join(f"{line}\n" for line in lines[first:last]), first + 1, last, len(lines))


def _drawn(draw: Callable[[], str]) -> str:
    try:
        return draw()
    except Exception as error:
        if os.environ.get("INJECTOR_DEBUG"):
            raise
        return (
            f"{click.style('Error', fg='red', bold=True)}: the injector itself failed: {type(error).__name__}: "
            f"{one_line(str(error))}. This is a bug, please report it; the command continues and renders again at "
            "the next change.\n"
        )


def _first_change(lines: list[str], before: list[str]) -> int:
    """The index of the first line that is not what it was, hashes aside; 0 where nothing was, or nothing changed."""
    if not before:
        return 0
    for index, line in enumerate(lines):
        if index >= len(before) or _HASH.sub("", line) != _HASH.sub("", before[index]):
            return index
    return 0 if len(lines) == len(before) else len(lines) - 1


def _head(subject: str, changed: list[str], *, first: bool, watched: int) -> str:
    if first:
        return f"{subject}, watching {watched} files; press Ctrl-C to stop"
    return f"{subject}, {', '.join(changed)} changed at {time.strftime('%H:%M:%S')}"


def _show(head: str, view: Window) -> None:
    if not view.whole:
        head += f"; lines {view.first} to {view.last} of {view.lines}"
    text = view.text if view.text.endswith("\n") or not view.whole else view.text + "\n"
    click.echo(f"{_CLEAR}{click.style(head, dim=True)}\n\n{text}", nl=False)
    sys.stdout.flush()


def _size() -> tuple[int, int]:
    """Columns and rows of the terminal; zeros where it does not say."""
    try:
        size = os.get_terminal_size(sys.stdout.fileno())
    except OSError:
        return 0, 0
    return size.columns, size.lines
