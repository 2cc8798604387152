"""Messages about a Secret do not quote it.

A template's mistake is told with what it was about, and that may be a value: of a look-up by it, of a key twice. Where
the object is a Secret its values stand in no warning, refusal or log.
"""

from __future__ import annotations

from collections.abc import Iterator

from injector.errors import InjectionError
from injector.pods.context import Object, Request
from injector.templates.render import RenderError

_FIELDS = ("data", "stringData")
#: Characters by which a value is known again, as messages cut them; a shorter one stands in many that are not about it.
_BEGINNING = 8
_SHORTEST = 4
_INSTEAD = "what went wrong there quotes a value of the Secret, and is not told"


def without_secrets(error: InjectionError, request: Request, *objects: Object) -> InjectionError:
    """The same error; of a Secret one whose message says only where, if it holds a value of these objects."""
    if request.resource != "secrets" or request.group:
        return error
    if not any(value[:_BEGINNING] in str(error) for obj in objects for value in _values(obj)):
        return error
    if isinstance(error, RenderError):
        return RenderError(error.template, _INSTEAD, error.place, rule=error.rule, undefined=error.undefined)
    return InjectionError(error.reason, _INSTEAD, code=error.code)


def _values(obj: Object) -> Iterator[str]:
    for field in _FIELDS:
        held = obj.get(field)
        if isinstance(held, dict):
            yield from (value for value in held.values() if isinstance(value, str) and len(value) >= _SHORTEST)
