"""Watching files: something is shown anew whenever one of them changes, until the person has seen enough."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path

import click

from injector.authoring.diagnostic_formats import one_line
from injector.loading.template_folders import fingerprints

#: Seconds between two looks at the files: below what a person notices.
_POLL_SECONDS = 0.15
#: Clear the screen and what can be scrolled back to, and go to its upper left corner (ECMA-48; xterm for the second).
_CLEAR = "\x1b[2J\x1b[3J\x1b[H"


def watch(files: Callable[[], Iterable[Path]], draw: Callable[[], str], subject: str) -> int:
    """Show what `draw` gives, and show it again when one of `files()` changes. Ends with 0 when it is interrupted.

    An exception of `draw` is shown in its place: what is saved next may be right again.

    A terminal is cleared first. Elsewhere each version stands below a line that says what changed.
    """
    terminal = sys.stdout.isatty()
    earlier: dict[str, object] = {}
    try:
        while True:
            now = fingerprints(files())
            changed = [Path(file).name for file in {**earlier, **now} if earlier.get(file) != now.get(file)]
            if changed:
                first, earlier = not earlier, now
                head = _head(subject, changed, first=first, watched=len(now))
                text = _drawn(draw)
                if terminal:
                    click.echo(f"{_CLEAR}{click.style(head, dim=True)}\n\n{text}", nl=False)
                else:
                    click.echo(("" if first else f"===== {head} =====\n") + text, nl=False)
                sys.stdout.flush()
            time.sleep(_POLL_SECONDS)
    except KeyboardInterrupt:
        if terminal:
            click.echo()
        return 0


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


def _head(subject: str, changed: list[str], *, first: bool, watched: int) -> str:
    if first:
        return f"{subject}, watching {watched} files; press Ctrl-C to stop"
    return f"{subject}, {', '.join(changed)} changed at {time.strftime('%H:%M:%S')}"
