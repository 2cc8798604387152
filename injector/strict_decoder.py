"""Decoding a document strictly: msgspec's structs say what is allowed, and every mistake has its path and its kind.

| code | what is wrong |
| --- | --- |
| `unknown-key` | there is no such key |
| `missing-key` | a required key is missing |
| `wrong-type` | a value of another type, or no value where one is required |
| `not-allowed` | a value that is not among those that are allowed |
| `out-of-bounds` | a number below or above its bounds |
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any, TypeVar

import msgspec
from msgspec import inspect

from injector.diagnostics import Diagnostic, Path
from injector.names import KINDS, WANTED, did_you_mean, nearest, quotes_change, quotes_help, shortened, suggestion

_Struct = TypeVar("_Struct", bound=msgspec.Struct)

#: How near a value is that is named; other values are told one by one.
_NEAR = 0.7
#: By kind of type: its name in JSON Schema, and the Python types of its values. A boolean is not a number here.
_TYPES: dict[type[inspect.Type], tuple[str, tuple[type, ...]]] = {
    inspect.BoolType: ("boolean", (bool,)),
    inspect.DictType: ("object", (dict,)),
    inspect.FloatType: ("number", (int, float)),
    inspect.IntType: ("integer", (int,)),
    inspect.ListType: ("array", (list,)),
    inspect.NoneType: ("null", (type(None),)),
    inspect.StrType: ("string", (str,)),
    inspect.StructType: ("object", (dict,)),
    inspect.VarTupleType: ("array", (list,)),
}
#: What msgspec knows of a struct. Worked out once: that takes milliseconds.
_type_of = cache(inspect.type_info)
#: The bounds of a number, by their names in `msgspec.Meta`.
_BOUNDS = {"ge": "at least", "le": "at most"}


def decode(kind: type[_Struct], document: object, *, null: bool = True) -> tuple[_Struct | None, list[Diagnostic]]:
    """A struct from a parsed document, or None with everything that is wrong.

    Without `null` a key that has nothing behind it is a mistake, also where its type allows null.

    `path` of a Diagnostic leads to the value or key, of a missing key to the mapping that lacks it. `fields` have the
    `value`, what is `allowed` (keys, values, or bounds by name), which `types` (JSON Schema's names), and the `nearest`
    spelling.
    """
    problems = list(_mistakes(_type_of(kind), document, (), null))
    return (None, problems) if problems else (msgspec.convert(document, kind), [])


def _mistakes(kind: inspect.Type, value: Any, path: Path, null: bool) -> Iterator[Diagnostic]:
    """What is wrong with a value and within it, in the order of the document."""
    if isinstance(kind, inspect.Metadata):
        yield from _mistakes(kind.type, value, path, null)
    elif isinstance(kind, inspect.UnionType):
        fitting = [member for member in kind.types if _fits(member, value)]
        if fitting:
            yield from _mistakes(fitting[0], value, path, null)
        else:
            yield _refused(kind.types, value, path)
    elif not _fits(kind, value):
        yield _refused((kind,), value, path)
    elif isinstance(kind, inspect.LiteralType):
        if value not in kind.values:
            yield _refused((kind,), value, path)
    elif isinstance(kind, inspect.StructType):
        yield from _in_struct(kind, value, path, null)
    elif isinstance(kind, inspect.DictType):
        for key, item in value.items():
            if isinstance(key, str):
                yield from _mistakes(kind.value_type, item, (*path, key), null)
            else:
                yield _wrong_key(key, path)
    elif isinstance(kind, inspect.ListType | inspect.VarTupleType):
        for index, item in enumerate(value):
            yield from _mistakes(kind.item_type, item, (*path, index), null)
    elif isinstance(kind, inspect.IntType | inspect.FloatType):
        yield from _out_of_bounds(kind, value, path)


def _in_struct(kind: inspect.StructType, value: dict[Any, Any], path: Path, null: bool) -> Iterator[Diagnostic]:
    more: dict[str, Any]
    fields = {field.encode_name: field for field in kind.fields}
    for key, item in value.items():
        if key in fields and item is None and not null:
            more = {"value": item, "allowed": ()}
            help_ = "give it a value or leave it out"
            yield Diagnostic("wrong-type", "error", f"{key} is empty", help_, (*path, key), fields=more)
        elif key in fields:
            yield from _mistakes(fields[key].type, item, (*path, key), null)
        elif isinstance(key, str):
            more = {"value": key, "allowed": tuple(fields), "nearest": nearest(key, fields)}
            message, near = f"unknown key {shortened(key)}", suggestion(key, fields, "the keys are")
            yield Diagnostic("unknown-key", "error", message, near, (*path, key), fields=more)
        else:
            yield _wrong_key(key, path)
    for key, field in fields.items():
        if field.required and key not in value:
            more = {"value": key, "allowed": _values(field.type)}
            choices = f"it has to be one of: {', '.join(more['allowed'])}" if more["allowed"] else ""
            yield Diagnostic("missing-key", "error", f"{key} is missing", choices, path, fields=more)


def _out_of_bounds(kind: inspect.IntType | inspect.FloatType, value: float, path: Path) -> Iterator[Diagnostic]:
    bounds = {name: bound for name in _BOUNDS if (bound := getattr(kind, name)) is not None}
    if not bounds.get("ge", value) <= value <= bounds.get("le", value):
        limits = " and ".join(f"{_BOUNDS[name]} {bound:g}" for name, bound in bounds.items())
        more = {"value": value, "allowed": bounds}
        yield Diagnostic(
            "out-of-bounds", "error", f"{value} is out of bounds", f"it has to be {limits}", path, fields=more
        )


def _fits(kind: inspect.Type, value: object) -> bool:
    """Whether a value is of the right type, whatever is in it."""
    if isinstance(kind, inspect.Metadata):
        return _fits(kind.type, value)
    if isinstance(kind, inspect.LiteralType):
        return isinstance(value, str)
    types = _TYPES.get(type(kind), ("", (object,)))[1]
    return isinstance(value, types) and (bool in types or object in types or not isinstance(value, bool))


def _refused(kinds: tuple[inspect.Type, ...], value: object, path: Path) -> Diagnostic:
    """The mistake of a value that has none of these types."""
    allowed = tuple(word for kind in kinds for word in _values(kind))
    types = dict.fromkeys(_TYPES[type(kind)][0] for kind in kinds if type(kind) in _TYPES)
    expected = [WANTED[name] for name in types if name in WANTED]
    fields = {"value": value, "allowed": allowed, "types": tuple(types), "quotes": quotes_change(value, types)}
    if allowed:
        near = f"it has to be one of: {', '.join((*expected, *allowed))}"
        if isinstance(value, str) and not expected:
            fields["nearest"] = close = nearest(value, allowed, _NEAR)
            near = did_you_mean(close, near)
        elif word := _read_as(value, allowed):
            near, fields["quotes"] = f'put it in quotes: "{word}"', "add"
        return Diagnostic("not-allowed", "error", f"{shortened(value)} is not allowed", near, path, fields=fields)
    actual = "nothing" if value is None else KINDS.get(type(value).__name__, "not a value that YAML has")
    quoted = shortened(value) if isinstance(value, str | int | float) else ""
    message = f"{' or '.join(expected)} is needed, and this is {actual}{f' ({quoted})' if quoted else ''}"
    return Diagnostic("wrong-type", "error", message, quotes_help(value, types), path, fields=fields)


def _read_as(value: object, words: tuple[str, ...]) -> str:
    """The word that YAML reads as this value, such as `off`; "" where none is."""
    import yaml  # `--help` does without

    return next((word for word in words if yaml.safe_load(word) == value), "")


def _wrong_key(key: object, path: Path) -> Diagnostic:
    return Diagnostic(
        "wrong-type",
        "error",
        f"the key {shortened(key)} is not a string",
        "put it in quotes",
        path,
        fields={"value": key, "types": ("string",)},
    )


def _values(kind: inspect.Type) -> tuple[str, ...]:
    """The values that a type allows, where it names them."""
    if isinstance(kind, inspect.Metadata):
        return _values(kind.type)
    return tuple(map(str, kind.values)) if isinstance(kind, inspect.LiteralType) else ()
