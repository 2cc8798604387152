"""Watching files: something is shown anew whenever one of them changes, until the person has seen enough."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path

import click

from injector.webhook.sources import fingerprints

#: Seconds between two looks at the files: below what a person notices.
_POLL_SECONDS = 0.15
#: Clear the screen and what can be scrolled back to, and go to its upper left corner (ECMA-48; xterm for the second).
_CLEAR = "\x1b[2J\x1b[3J\x1b[H"


def watch(files: Callable[[], Iterable[Path]], draw: Callable[[], str], what: str) -> int:
    """Show what `draw` gives, and show it again when one of `files()` changes. Ends with 0 when it is interrupted.

    A terminal is cleared before; elsewhere each version stands below a line that says what changed.
    """
    terminal = sys.stdout.isatty()
    seen: dict[str, object] | None = None
    try:
        while True:
            now = fingerprints(files())
            if now != seen:
                _show(draw(), _head(what, seen, now, terminal), terminal)
                seen = now
            time.sleep(_POLL_SECONDS)
    except KeyboardInterrupt:
        if terminal:
            click.echo()
        return 0


def _head(what: str, before: dict[str, object] | None, now: dict[str, object], terminal: bool) -> str:
    if before is None:
        return f"{what}, {len(now)} files are watched; Ctrl-C ends" if terminal else ""
    changed = [Path(file).name for file in {**before, **now} if before.get(file) != now.get(file)]
    return f"{what}, {', '.join(changed)} changed at {time.strftime('%H:%M:%S')}"


def _show(text: str, head: str, terminal: bool) -> None:
    if terminal:
        head = _CLEAR + click.style(head, dim=True) + "\n\n"
    elif head:
        head = f"===== {head} =====\n"
    click.echo(head + text, nl=not text.endswith("\n"))
    sys.stdout.flush()
