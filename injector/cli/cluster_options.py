"""The options of commands that are about a cluster's injector."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

_Command = TypeVar("_Command", bound=Callable[..., Any])

_OPTIONS = (
    click.option("-n", "--namespace", metavar="NS", help="Where the injector runs. Default: found by its webhooks."),
    click.option("--kubeconfig", metavar="FILE", help="As with kubectl."),
    click.option("--context", metavar="NAME", help="As with kubectl."),
)


def with_cluster(command: _Command) -> _Command:
    """Give a command `namespace`, `kubeconfig` and `context`."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command
