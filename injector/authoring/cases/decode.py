"""Strict decoding: the values of a case file as structs, and every mistake in it at its place."""

from __future__ import annotations

import re
from functools import cache
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

import msgspec

from injector.authoring.cases.document import Absent, CaseDocument, Steps
from injector.diagnostics import Diagnostic
from injector.reasons import Reason
from injector.templates.spelling import hint, shortened

_Struct = TypeVar("_Struct", bound=msgspec.Struct)

_INDEX = re.compile(r"\[(\d+)\]")
_PATH = re.compile(r" - at `\$(.*)`\Z")
_EXPECTED = re.compile(r"Expected `([^`]*)`, got `([^`]*)`")
_KINDS = {
    "array": "a list", "bool": "true or false", "float": "a number", "int": "a whole number", "null": "nothing",
    "object": "a mapping", "str": "a string",
}  # fmt: skip


def decode(
    kind: type[_Struct], value: Any, document: CaseDocument, steps: Steps
) -> tuple[_Struct | None, list[Diagnostic]]:
    """A struct from a mapping at a place of a document, or None with every problem that there is."""
    if not isinstance(value, dict):
        found = "nothing" if value is None else _kind_of(value)
        return None, [document.refuse(steps, f"{_called(steps)} has to be a mapping, and is {found}")]
    fields, types = _shape(kind)
    given: dict[str, Any] = {}
    problems: list[Diagnostic] = []
    for key, item in value.items():
        at = (*steps, key)
        if key not in fields:
            message = f"unknown key {shortened(key)}{hint(key, fields, 'the keys are')}"
            problems.append(document.refuse(at, message, key=True))
        elif item is None:
            problems.append(document.refuse(at, f"{key} is empty; give it a value or leave it out", key=True))
        else:
            given[fields[key].name], wrong = _value(types[fields[key].name], item, document, at)
            problems += wrong
    for key, field in fields.items():
        if field.required and key not in value:
            problems.append(document.refuse(steps, f"{key} is missing{_choices(types[field.name])}"))
    return (None, problems) if problems else (kind(**given), [])


@cache
def _shape(kind: type[msgspec.Struct]) -> tuple[dict[str, msgspec.structs.FieldInfo], dict[str, Any]]:
    """The fields of a struct by the name of their key, and their types. Worked out once: that takes milliseconds."""
    return {field.encode_name: field for field in msgspec.structs.fields(kind)}, get_type_hints(kind)


def _value(kind: Any, value: Any, document: CaseDocument, steps: Steps) -> tuple[Any, list[Diagnostic]]:
    for struct in (kind, *get_args(kind)):  # alone, or nothing
        if isinstance(struct, type) and issubclass(struct, msgspec.Struct):
            return decode(struct, value, document, steps)
    try:
        return msgspec.convert(value, kind), []
    except msgspec.ValidationError as error:
        text = str(error)
        path = _PATH.search(text)
        inner = tuple(int(n) for n in _INDEX.findall(path[1])) if path else ()
        at = (*steps, *inner)
        if path and "[...]" in path[1] and isinstance(value, dict):  # a mapping's value: msgspec does not say which
            at = (*steps, next((k for k, v in value.items() if not isinstance(v, str)), ""))
        return None, [document.refuse(at, _words(kind, _at(value, at[len(steps) :]), at, text))]


def _words(kind: Any, value: Any, steps: Steps, error: str) -> str:
    called = _called(steps)
    choices = _enum(kind)
    if choices:
        if steps[-2:] == ("expect", "decision") and value in [reason.label for reason in Reason]:
            return f'{called} is "{value}", a reason; write it as `reason`, and here one of: {", ".join(choices)}'
        near = hint(value, choices, "it has to be one of") if isinstance(value, str) else _choices(kind)
        return f"{called} is {_scalar(value)}{near}"
    if isinstance(value, Absent):
        return f"{called} cannot be !absent; that is for `expect.pod`, `expect.object` and `expect.files`"
    if "Invalid enum value" in error:  # one of several kinds
        words = [word for kind_ in get_args(kind) for word in _enum(kind_)]
        return f"{called} is {_scalar(value)}; it has to be a list or {' or '.join(words)}"
    if wrong := _EXPECTED.search(error):
        wanted = " or ".join(_KINDS.get(k, k) for k in wrong[1].split(" | ") if k != "null")
        found = _kind_of(value)
        if not isinstance(value, dict | list):
            found += f" ({_scalar(value)})"
        advice = "; put it in quotes" if wanted == "a string" and isinstance(value, bool | int | float) else ""
        return f"{called} has to be {wanted}, and is {found}{advice}"
    return f"{called}: {error}"


def _enum(kind: Any) -> tuple[str, ...]:
    return get_args(kind) if str(get_origin(kind)) == "typing.Literal" else ()


def _choices(kind: Any) -> str:
    return f"; it has to be one of: {', '.join(_enum(kind))}" if _enum(kind) else ""


def _at(value: Any, steps: Steps) -> Any:
    for step in steps:
        try:
            value = value[step]
        except (KeyError, IndexError, TypeError):
            return None
    return value


def _called(steps: Steps) -> str:
    """What a value is called: the part of its path within the case."""
    inner = steps[2:] or ("a case",) if steps[:1] == ("cases",) else steps
    return "".join(f"[{s}]" if isinstance(s, int) else f".{s}" for s in inner).lstrip(".")


def _scalar(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else shortened(value)


def _kind_of(value: Any) -> str:
    if isinstance(value, bool):
        return "a boolean"
    kinds = ((dict, "a mapping"), (list, "a list"), (str, "a string"), (int, "a number"), (float, "a number"))
    return next((words for kind, words in kinds if isinstance(value, kind)), "nothing")
