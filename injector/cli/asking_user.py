"""Who asks, for templates at the settings' `paths` that look at `user`: the options, which arrive as one value."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import click

from injector.pods.context import Object


def with_user(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command `user`: a review's `userInfo` as --user and --group say it, {} without them."""

    @functools.wraps(command)
    def with_info(*args: Any, user: str | None, groups: tuple[str, ...], **given: Any) -> Any:
        if groups and user is None:
            raise click.UsageError("--group is a group of --user NAME; name the user as well.")
        return command(*args, **given, user=user_info(user, groups))

    with_group = click.option("--group", "groups", multiple=True, metavar="NAME", help="A group of --user. Repeatable.")
    name = click.option("--user", metavar="NAME", help="Who asks, for templates of the settings' paths.")
    return name(with_group(with_info))


def user_info(user: str | None, groups: tuple[str, ...] = ()) -> Object:
    """A person as a review has them, who is always a `system:authenticated`; {} where nobody is named."""
    if user is None:
        return {}
    return {"username": user, "groups": list(dict.fromkeys((*groups, "system:authenticated")))}
