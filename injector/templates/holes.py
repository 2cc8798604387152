"""Typed holes: what a `{{ value }}` leaves in the text, and who is trusted to write text.

Only the untouched output of a macro, a call or a set block is the author's text: a `Text`, a subclass of str that
every operation turns into a plain value. Everything else that reaches a hole is a value, whatever it looks like; in a
document it leaves a placeholder, in a text file it has to be harmless or quoted.

A document's structure is safe from values, but the program that reads it may expand `${...}` in a string. If
`template.yaml` says which (`syntax:`), each string in a hole is written so that this program reads what it was, or
refused where that cannot be written.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from contextvars import ContextVar
from typing import Any, NoReturn

from jinja2 import Undefined, pass_context

from injector.budget import Budget, FaultError, LimitError
from injector.names import kind_of, shortened
from injector.templates.quoted_places import with_bare_marks, with_marks, without_marks
from injector.templates.quoting import Quoted, check_harmless, check_quoted
from injector.templates.structure import CLOSE, HOLE, OPEN, OUTPUT, TAGGED, scalar_text

#: How much work one render may do, in units of roughly a microsecond.
WORK = 500_000
_INTEGERS = range(-(2**63), 2**64)
_PLACEHOLDERS = tuple(f"{OPEN}{n}{CLOSE}" for n in range(512))


class Run(Budget):
    """One render: the values of its holes so far, what it warned of, and what it may still do.

    `limit` is how many characters it may come to. A `tagged` one carries tags in the author's text, and has more room.
    `syntax` is that of a text file, or says what the program that reads a document expands; "" where it is not known.
    """

    __slots__ = ("later", "limit", "seen", "size", "syntax", "tagged", "values", "warnings")

    def __init__(self, limit: int = OUTPUT, *, tagged: bool = False, syntax: str = "") -> None:
        super().__init__(WORK * 8 if tagged else WORK)
        self.limit = limit
        self.tagged = tagged
        self.syntax = syntax
        self.values: list[Any] = []
        #: The paths of what it read, as `dependencies` has them, and of the strings that it did no more than write, by
        #: their numbers among the values.
        self.seen: set[tuple[str, ...]] = set()
        self.later: dict[int, tuple[str, ...]] = {}
        self.warnings: list[str] = []
        self.size = 0

    def exhausted(self) -> NoReturn:
        """Raise LimitError."""
        raise LimitError("the template does too much work (loops, calls, filters over large values)")

    def grow(self, characters: int) -> None:
        """Count output. Raises FaultError when there is too much."""
        self.size += characters
        if self.size > self.limit:
            raise LimitError(f"the output is larger than {OUTPUT} characters")


#: The render that is going on in this thread or task.
current: ContextVar[Run] = ContextVar("current")


class Text(str):
    """Text that the author wrote, with the placeholders of the holes in it."""

    __slots__ = ()

    def __bool__(self) -> bool:
        return plain_text(self) != ""


def plain_text(text: Text) -> str:
    """The author's text as a value: its placeholders give way to the values."""
    if OPEN not in text:
        return without_marks(text)
    run = current.get()
    pieces = HOLE.split(without_marks(TAGGED.sub("", text)) if run.tagged else text)
    run.seen.update(run.later[int(index)] for index in pieces[1::2] if int(index) in run.later)
    pieces[1::2] = [scalar_text(run.values[int(index)]) for index in pieces[1::2]]
    check_length(sum(map(len, pieces)))
    return "".join(pieces)


def check_length(length: int) -> None:
    """Charge for a string or a list that is about to be made. Raises FaultError when it is too long."""
    run = current.get()
    if length > run.limit:
        raise LimitError(f"a value is larger than {OUTPUT} characters")
    run.charge(length >> 4)


def plain_value(value: Any, run: Run) -> Any:
    """A template's value as plain data, copied, its size counted; nulls in mappings are left out.

    Raises FaultError for what is none: an undefined name, a macro, a module, a number that JSON or 64 bits cannot hold.
    """
    kind = type(value)
    if isinstance(value, str):
        text = plain_text(value) if isinstance(value, Text) else str(value)
        run.grow(len(text))
        return text
    if value is None or kind is bool:
        return value
    run.charge(1)
    if kind is int:
        if value not in _INTEGERS:
            raise FaultError("a number does not fit into 64 bits")
        return value
    if kind is float:
        if not math.isfinite(value):
            raise FaultError("a number is infinite or NaN")
        return value
    if kind is dict:
        run.grow(2)
        result = {}
        for key, item in value.items():
            name = scalar_text(plain_value(key, run))
            copied = plain_value(item, run)
            if copied is not None:
                result[name] = copied
        return result
    if kind in (list, tuple, range):
        run.grow(2)
        return [plain_value(item, run) for item in value]
    if isinstance(value, Undefined):
        value._fail_with_undefined_error()
    raise FaultError(f"{kind_of(value)} cannot be written into the output; write its result, as in name()")


def _without_dollar(text: str) -> str:
    if "$" in text:
        raise FaultError(f"{shortened(text)} holds a $, which the program that reads this file expands")
    return text


#: The programs that expand `${...}` in the strings of a document, and how a string is written for each.
#: https://opentelemetry.io/docs/collector/configuration/#environment-variables: `$$` is a dollar
#: https://docs.fluentbit.io/manual/administration/configuring-fluent-bit/yaml/environment-variables-section: no escape
#: https://docs.fluentd.org/filter/record_transformer#record-directive: no escape
EXPANSIONS = {
    "fluent-bit": _without_dollar,
    "fluentd": _without_dollar,
    "otelcol": lambda text: text.replace("$", "$$"),
}


def _unexpanded(value: Any, write: Callable[[str], str]) -> Any:
    """Plain data whose strings, keys too, the program reads as they were."""
    if isinstance(value, str):
        return write(value)
    if isinstance(value, dict):
        return {write(key): _unexpanded(item, write) for key, item in value.items()}
    return [_unexpanded(item, write) for item in value] if isinstance(value, list) else value


@pass_context  # keeps Jinja from calling it at compile time
def typed(context: object, value: Any) -> str:
    """A value on its way into a document: the author's text as it is, a placeholder for anything else."""
    kind = type(value)
    if kind is Text:
        return value  # type: ignore[no-any-return]
    run = current.get()
    values = run.values
    if kind is Quoted:
        run.grow(len(value))  # stays one, so that it can be told where it stands alone
    else:
        value = plain_value(value, run)
    if run.syntax:
        value = _unexpanded(value, EXPANSIONS[run.syntax])
    index = len(values)
    values.append(value)
    return _PLACEHOLDERS[index] if index < 512 else f"{OPEN}{index}{CLOSE}"


@pass_context
def written(context: object, value: Any) -> str:
    """A value on its way into a text file: the author's text as it is, other values if quoted or harmless, marked."""
    run = current.get()
    if type(value) is Text:
        return str(value)
    if type(value) is Quoted:
        return with_marks(check_quoted(value, run.syntax), run.syntax)
    text = check_harmless(plain_value(value, run), run.syntax)
    return with_bare_marks(text, run.syntax) if isinstance(value, str) else text


def concat(pieces: Iterable[str]) -> Text:
    """What a macro, a call or a set block wrote; Jinja calls it with the pieces."""
    parts = list(pieces)
    check_length(sum(map(len, parts)))
    return Text("".join(parts))


def document(pieces: Iterable[str], run: Run) -> str:
    """The whole rendered text, bounded piece by piece."""
    parts = []
    length = 0
    for piece in pieces:
        length += len(piece)
        if length > run.limit:
            raise LimitError(f"the output is larger than {OUTPUT} characters")
        parts.append(piece)
    run.grow(length)
    return "".join(parts)
