"""The files that a command reads: its arguments, or `-f FILE` as people are used to from kubectl."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import click


def with_files(name: str, metavar: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator that gives a command at least one file, as the parameter `name`, a tuple of what people wrote."""

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(command)
        def with_both(*args: Any, **given: Any) -> Any:
            named = given.pop("filenames")
            given[name] = (*named, *given[name])
            if not given[name]:
                raise click.UsageError(f"Missing argument '{metavar}'.")
            return command(*args, **given)

        option = click.option(
            "-f", "--filename", "filenames", multiple=True, metavar="FILE", help="The same as FILE, as with kubectl."
        )
        return click.argument(name, nargs=-1, metavar=metavar)(option(with_both))

    return decorate
