"""What msgspec says about a value of a file of settings, in the words of the file and with the key that it is about."""

from __future__ import annotations

import re
from collections.abc import Iterator
from difflib import get_close_matches
from typing import Any, get_args, get_origin

import msgspec

_KINDS = {
    "array": "a list",
    "bool": "true or false",
    "float": "a number",
    "int": "a whole number",
    "object": "a mapping",
    "str": "a string",
}
_UNKNOWN = re.compile(r"Object contains unknown field `(.*)`")
_MISSING = re.compile(r"Object missing required field `(.*)`")
_EXPECTED = re.compile(r"Expected `([^`]*)`, got `([^`]*)`")
_KEYS = re.compile(r" - at `key` in `\$\.?([^`]*)`")
_BOUND = re.compile(r"Expected `\w+` ([<>]=?) (.+)")
_BOUNDS = {">=": "at least", "<=": "at most", ">": "more than", "<": "less than"}
_ANY_KEY = "[...]"
_STEP = re.compile(r"(\w+)(\[\.\.\.\])?(?:\.|\Z)")


def explain_settings_error(document: object, kind: type[msgspec.Struct], error: msgspec.ValidationError) -> str:
    """One sentence for people about a document that is no `kind`, which a struct of structs and maps of these is."""
    message, _, path = str(error).partition(" - at `$")
    if keys := _KEYS.search(str(error)):
        return f"{keys[1] or 'the file'}: each key has to be a string; put it in quotes"
    return _sentence(message, *_section(document, kind, path.strip(".`")))


def _section(document: object, kind: type[msgspec.Struct], path: str) -> tuple[str, type[msgspec.Struct], str]:
    """The path with its keys, of which msgspec does not tell those of a map; the innermost struct; the key in it."""
    done, left = "", path
    while left and (step := _STEP.match(left)):
        name, any_key = step.groups()
        rest = left[step.end() :]
        field = next((f for f in msgspec.structs.fields(kind) if f.encode_name == name), None)
        inner = None if field is None else next(_structs(field.type), None)
        if inner is None or (any_key is None and get_origin(field and field.type) is dict):
            break
        document = document.get(name) if isinstance(document, dict) else None
        done = f"{done}.{name}"
        if any_key:
            wrong = next(_wrong_keys(document, inner), _ANY_KEY)
            document = document.get(wrong) if isinstance(document, dict) else None
            done = f"{done}.{wrong}"
        kind, left = inner, rest
    return f"{done}.{left}".strip("."), kind, left


def _structs(kind: Any) -> Iterator[type[msgspec.Struct]]:
    """The structs in a type: `Server`, or the values of `dict[str, PathTemplates]`."""
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        yield kind
    for inner in get_args(kind):
        yield from _structs(inner)


def _wrong_keys(values: object, kind: type[msgspec.Struct]) -> Iterator[str]:
    for key, value in values.items() if isinstance(values, dict) else ():
        try:
            msgspec.convert(value, kind)
        except msgspec.ValidationError:
            yield str(key)


def _sentence(message: str, path: str, section: type[msgspec.Struct], key: str) -> str:
    fields = {field.encode_name: field for field in msgspec.structs.fields(section)}
    below = f"{path}." if path else ""
    if unknown := _UNKNOWN.fullmatch(message):
        near = get_close_matches(unknown[1], fields, n=1)
        rest = f"did you mean {near[0]}?" if near else f"there are: {', '.join(fields)}"
        return f"unknown key {below}{unknown[1]}; {rest}"
    if missing := _MISSING.fullmatch(message):
        return f"{below}{missing[1]} is missing"
    if wrong := _EXPECTED.fullmatch(message):
        wanted, found = (" or ".join(_KINDS.get(k, k) for k in kinds.split(" | ")) for kinds in wrong.groups())
        found = {"true or false": "a boolean"}.get(found, found)
        return f"{path or 'the file'} has to be {wanted}, and is {found}"
    if bound := _BOUND.fullmatch(message):
        return f"{path} has to be {_BOUNDS[bound[1]]} {bound[2]}"
    if message.startswith("Invalid enum value") and key in fields:
        return f"{path} has to be {' or '.join(get_args(fields[key].type))}"
    return f"{path}: {message}" if path else message
