"""Numbers of options and of their environment variables: what is wanted, in words, and what people write instead."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any, NoReturn

import click

if TYPE_CHECKING:
    _Range = click.IntRange | click.FloatRange

_LARGEST_PORT = 65535
#: A number with what does not belong to it: `80%`, `5m`, `:8443`, `8443/tcp`.
_NUMBER = re.compile(r"[\s:=]*(\d{1,9})\s*([A-Za-z%/]*)\s*")
#: What Kubernetes sets NAME_PORT to, for a Service of that name.
_SERVICE_LINK = re.compile(r"(?:tcp|udp|sctp)://.*")


class WholeNumber(click.IntRange):
    """A whole number within bounds."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The number. Raises click.BadParameter."""
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter:
            kind = "port" if self.max == _LARGEST_PORT else "whole number"
            _refuse(self, value, f"a {kind} from {max(1, int(self.min or 0))} to {self.max}", param, ctx)


class Amount(click.FloatRange):
    """A number within bounds."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The number. Raises click.BadParameter."""
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter:
            _refuse(self, value, f"a number from {self.min:g} to {self.max:g}", param, ctx)


def _refuse(
    kind: _Range, value: object, wanted: str, param: click.Parameter | None, ctx: click.Context | None
) -> NoReturn:
    to_do = _service_link(str(value), param) or _meant(kind, str(value), param)
    kind.fail(f"{str(value)[:80]!r}: it must be {wanted}{f'; {to_do}' if to_do else ''}", param, ctx)


def _service_link(value: str, param: click.Parameter | None) -> str:
    """What to do about a variable that Kubernetes sets for a Service; "" for other values."""
    variable = param.envvar if param is not None and isinstance(param.envvar, str) else ""
    if not variable.endswith("_PORT") or os.environ.get(variable) != value or not _SERVICE_LINK.fullmatch(value):
        return ""
    service = variable.removesuffix("_PORT").lower().replace("_", "-")
    option = param.opts[0] if param is not None else ""
    return (
        f"Kubernetes sets {variable} for a Service called {service}: write enableServiceLinks: false into the pod's "
        f"spec, or give {option}"
    )


def _meant(kind: _Range, value: str, param: click.Parameter | None) -> str:
    """The number alone, where that is one of those that are taken."""
    from injector.advice.values import seconds_of

    found = _NUMBER.fullmatch(value)
    if not found or value == found[1]:
        return ""
    in_seconds = param is not None and "SECONDS" in (param.metavar or "")
    number = int(found[1]) * int((in_seconds and seconds_of(found[2])) or 1)
    return f"write {number}" if (kind.min or 0) <= number <= (kind.max or number) else ""
