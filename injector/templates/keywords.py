"""JSON Schema as parameters take it: our formats, and regular expressions as `patterns` reads them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from jsonschema import Draft202012Validator, FormatChecker, validators
from jsonschema.exceptions import ValidationError

from injector.templates.formats import FORMATS
from injector.templates.patterns import LONGEST, compiled
from injector.templates.spelling import hint, shortened

_CHECKER = FormatChecker(formats=())
for _name, _format in FORMATS.items():
    _CHECKER.checks(_name)(_format.allows)


def _pattern(validator: Any, pattern: str, instance: Any, schema: Any) -> Iterator[ValidationError]:
    if isinstance(instance, str):
        if len(instance) > LONGEST:
            yield ValidationError(f"is longer than {LONGEST} characters, and a pattern is tried with no more")
        elif not compiled(pattern).search(instance):
            yield ValidationError(f"{shortened(instance)} does not match {pattern}")


def _pattern_properties(validator: Any, patterns: Any, instance: Any, schema: Any) -> Iterator[ValidationError]:
    for name, value in instance.items() if isinstance(instance, dict) else ():
        if len(name) > LONGEST:
            yield ValidationError(f"a key is longer than {LONGEST} characters, and a pattern is tried with no more")
            continue
        for pattern, inner in patterns.items():
            if compiled(pattern).search(name):
                yield from validator.descend(value, inner, path=name, schema_path=pattern)


def _additional_properties(validator: Any, others: Any, instance: Any, schema: Any) -> Iterator[ValidationError]:
    patterns = [compiled(pattern) for pattern in schema.get("patternProperties", ())]
    for name, value in instance.items() if isinstance(instance, dict) else ():
        if name in schema.get("properties", ()) or (patterns and len(name) > LONGEST):
            continue  # too long a name is told already
        if any(pattern.search(name) for pattern in patterns):
            continue
        if others is False:
            yield ValidationError(f"no key {shortened(name)} is known here{hint(name, schema.get('properties', ()))}")
        else:
            yield from validator.descend(value, others, path=name)


def _unique_items(validator: Any, wanted: Any, instance: Any, schema: Any) -> Iterator[ValidationError]:
    # jsonschema's own compares each with each where items are mappings: that takes minutes for an annotation's worth
    if wanted and isinstance(instance, list) and len({_hashable(item) for item in instance}) < len(instance):
        yield ValidationError("has an item twice")


def _hashable(value: Any) -> Any:
    """The same for values that JSON Schema takes for equal: 1 and 1.0, but not 1 and true."""
    if isinstance(value, dict):
        return dict, frozenset((key, _hashable(item)) for key, item in value.items())
    if isinstance(value, list):
        return list, tuple(map(_hashable, value))
    return (bool, value) if isinstance(value, bool) else value


#: JSON Schema, but for regular expressions (see `patterns`) and what takes too long.
_Validator: Any = validators.extend(  # type: ignore[no-untyped-call]
    Draft202012Validator,
    {
        "pattern": _pattern,
        "patternProperties": _pattern_properties,
        "additionalProperties": _additional_properties,
        "uniqueItems": _unique_items,
    },
)


def validator(schema: Mapping[str, Any]) -> Any:
    """What checks values against a schema: `iter_errors(value)` are jsonschema's errors."""
    return _Validator(schema, format_checker=_CHECKER)


def keyword_values(schema: Any, keyword: str, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Every value of a keyword in a schema with its path; values of `default`, `enum` and the like are no schemas."""
    if isinstance(schema, Mapping):
        for key, value in schema.items():
            if key == keyword:
                yield (*path, key), value
            if key in ("properties", "patternProperties") and isinstance(value, Mapping):
                for name, inner in value.items():
                    yield from keyword_values(inner, keyword, (*path, key, name))
            elif key not in ("default", "enum", "const", "examples"):
                yield from keyword_values(value, keyword, (*path, key))
    elif isinstance(schema, list):
        for index, value in enumerate(schema):
            yield from keyword_values(value, keyword, (*path, index))


def patterns_in(schema: Any) -> Iterator[tuple[tuple[Any, ...], str]]:
    """Every regular expression in a schema with its path."""
    yield from keyword_values(schema, "pattern")
    for path, patterns in keyword_values(schema, "patternProperties"):
        yield from (((*path, pattern), pattern) for pattern in patterns)
