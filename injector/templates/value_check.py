"""Whether a value fits the schema of a parameter: at once where the schema has but common keywords, else by jsonschema.

What jsonschema is asked is JSON Schema but for regular expressions, which RE2 reads, and for what takes too long
where a pod's author chooses the value.
"""

from __future__ import annotations

import json
import operator
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec

from injector.budget import charge
from injector.names import hint, shortened
from injector.pods.context import mapping
from injector.templates.parameter_keywords import FIRST, FORMATS, LISTS, LONGEST, MAPPINGS, ONE, found

# It takes longer to import than most commands to run, and most values are plainly right.
if TYPE_CHECKING:
    from jsonschema import FormatChecker
    from jsonschema.exceptions import ValidationError

    Mistakes: TypeAlias = Iterator[ValidationError]


class ValueCheck(msgspec.Struct):
    """What checks values against a schema; made of it when the first value comes, and again after unpickling."""

    schema: Mapping[str, Any]
    ordered: Any = None
    validator: Any = None
    size: int = 0

    def __reduce__(self) -> tuple[type[ValueCheck], tuple[Mapping[str, Any]]]:
        return ValueCheck, (self.schema,)

    def fits(self, value: Any) -> bool:
        """Whether there is nothing wrong with a value: for one that does not fit, sooner known than what is wrong."""
        plain = self._plainly_fits(value)
        return next(self.errors(value), None) is None if plain is None else plain

    def _plainly_fits(self, value: Any) -> bool | None:
        if self.ordered is None:
            self.ordered, self.size = _ordered(self.schema), _size(self.schema)
        # each part of the value may meet each part of the schema, whose author may be any team
        charge(_UNITS * self.size * _size(value))
        return _plainly_fits(value, self.ordered)

    def errors(self, value: Any) -> Mistakes:
        """What is wrong with a value, cheap checks first."""
        if self._plainly_fits(value):
            return iter(())
        if self.validator is None:
            from referencing import Registry

            self.validator = _validator_class()(self.ordered, format_checker=format_checker(), registry=Registry())
        errors: Iterator[ValidationError] = self.validator.iter_errors(value)
        return errors


#: Units of work for a part of a value and a part of a schema.
_UNITS = 5


def _size(value: Any) -> int:
    """How many values there are in a value, with itself."""
    inner = value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ()
    return 1 + sum(map(_size, inner))


def _plainly_fits(value: Any, schema: Any) -> bool | None:
    """Whether a value fits a schema beyond doubt; None where jsonschema has to say: it knows the other keywords."""
    kind = mapping(schema).get("type")
    if not isinstance(kind, str) or kind not in _TYPES:
        return None
    if type(value) not in _TYPES[kind]:
        return False if type(value) in _DISTINCT else None
    tests = _TESTS[kind]
    limits = ((key, limit) for key, limit in schema.items() if key not in _NOTES)
    answers = (tests[key](value, limit) if key in tests else None for key, limit in limits)
    return next((answer for answer in answers if not answer), True)


#: The types of values that are of no other JSON type than theirs.
_DISTINCT = frozenset((str, int, bool, list, dict, type(None)))
#: The types that are of a JSON type beyond doubt: 1.0 is an integer too, and True is none.
_TYPES = {"string": (str,), "integer": (int,), "number": (int, float), "boolean": (bool,), "array": (list,)}
#: The keywords that allow any value, but for the type.
_NOTES = frozenset(("type", "title", "description", "default", "examples", "deprecated"))
_Test: TypeAlias = Callable[[Any, Any], bool | None]
_FORMAT: Mapping[str, _Test] = {"format": lambda value, form: FORMATS[form].allows(value)}
_NUMBER = {
    **_FORMAT,
    "minimum": operator.ge,
    "maximum": operator.le,
    "exclusiveMinimum": operator.gt,
    "exclusiveMaximum": operator.lt,
}
#: By type and keyword, whether a value is what the keyword asks. An `enum` of numbers is left out: 1 and 1.0 are equal.
_TESTS: Mapping[str, Mapping[str, _Test]] = {
    "string": {
        **_FORMAT,
        "enum": lambda value, values: value in values,
        "minLength": lambda value, least: len(value) >= least,
        "maxLength": lambda value, most: len(value) <= most,
        "pattern": lambda value, pattern: len(value) <= LONGEST and found(pattern, value),
    },
    "integer": _NUMBER,
    "number": _NUMBER,
    "boolean": {},
    "array": {
        "minItems": lambda value, fewest: len(value) >= fewest,
        "maxItems": lambda value, most: len(value) <= most,
        "items": lambda value, inner: next((f for item in value if not (f := _plainly_fits(item, inner))), True),
    },
}


def _ordered(schema: Any) -> Any:
    if not isinstance(schema, Mapping):
        return schema
    ordered = {}
    # required comes last: a misspelled key is unknown and missing, and its author sees the first of the two
    order = (*FIRST, *(key for key in schema if key not in FIRST and key != "required"), "required")
    for key in [key for key in order if key in schema]:
        value = schema[key]
        if key in ONE:
            value = _ordered(value)
        elif key in LISTS:
            value = [_ordered(inner) for inner in value]
        elif key in MAPPINGS:
            value = {name: _ordered(inner) for name, inner in value.items()}
        ordered[key] = _Known(value) if key == "enum" else value
    return ordered


@cache
def format_checker() -> FormatChecker:
    """The formats of parameters, and none of jsonschema's own: patterns are read by RE2, not by Python."""
    from jsonschema import FormatChecker

    checker = FormatChecker(formats=())
    for name, declared in FORMATS.items():
        checker.checks(name)(declared.allows)
    return checker


def _mistake(message: str, **more: Any) -> ValidationError:
    from jsonschema.exceptions import ValidationError

    return ValidationError(message, **more)


def _pattern(validator: Any, pattern: str, instance: Any, schema: Any) -> Mistakes:
    if isinstance(instance, str):
        if len(instance) > LONGEST:
            yield _mistake(f"is longer than {LONGEST} characters, the most that can be checked against a pattern")
        elif not found(pattern, instance):
            yield _mistake(f"{shortened(instance)} does not match {pattern}")


def _pattern_properties(validator: Any, patterns: Any, instance: Any, schema: Any) -> Mistakes:
    for name, value in mapping(instance).items():
        if len(name) > LONGEST:
            yield _mistake(
                f"has a key longer than {LONGEST} characters, the most that can be checked against a pattern"
            )
            continue
        for pattern, inner in patterns.items():
            if found(pattern, name):
                yield from validator.descend(value, inner, path=name, schema_path=pattern)


def _additional_properties(validator: Any, allowed: Any, instance: Any, schema: Any) -> Mistakes:
    patterns = schema.get("patternProperties", ())
    for name, value in mapping(instance).items():
        if name in schema.get("properties", ()) or (patterns and len(name) > LONGEST):
            continue  # `_pattern_properties` has reported the name that is too long
        if any(found(pattern, name) for pattern in patterns):
            continue
        if allowed is False:
            yield _mistake(
                f"has the unknown key {shortened(name)}{hint(name, schema.get('properties', ()), 'its keys are')}"
            )
        else:
            yield from validator.descend(value, allowed, path=name)


def _unique_items(validator: Any, unique: Any, instance: Any, schema: Any) -> Mistakes:
    # jsonschema's own compares each with each where items are mappings: that takes minutes for an annotation's worth
    if unique and isinstance(instance, list) and len(set(map(_canonical, instance))) < len(instance):
        yield _mistake("has a duplicate item; each item must appear only once")


def _enum(validator: Any, values: Any, instance: Any, schema: Any) -> Mistakes:
    if _canonical(instance) not in values.known:
        yield _mistake(f"{shortened(instance)} is not one of {shortened(list(values))}")


def _any_of(validator: Any, schemas: Any, instance: Any, schema: Any, most: int = sys.maxsize) -> Mistakes:
    # the first mistake by each is enough to know, and to tell
    errors = [next(validator.descend(instance, inner, schema_path=n), None) for n, inner in enumerate(schemas)]
    fits = errors.count(None)
    if not 1 <= fits <= most:
        message = "is valid under more than one" if fits else "is not valid under any"
        yield _mistake(f"{shortened(instance)} {message} of the given schemas", context=[] if fits else errors)


def _canonical(value: Any) -> str:
    """A text that is one for values that JSON Schema takes for equal: 1 and 1.0, but not 1 and true.

    A text, as nobody can write many of one hash.
    """
    return json.dumps(_plain_numbers(value), sort_keys=True)


def _plain_numbers(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain_numbers(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_plain_numbers(inner) for inner in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


class _Known(list[Any]):
    """The values of an `enum`, and their canonical texts."""

    def __init__(self, values: list[Any]) -> None:
        super().__init__(values)
        self.known = frozenset(map(_canonical, values))


@cache
def _validator_class() -> Any:
    """JSON Schema, but for regular expressions (see `compiled`) and what takes too long."""
    from jsonschema import Draft202012Validator, validators

    own = {
        "pattern": _pattern,
        "patternProperties": _pattern_properties,
        "additionalProperties": _additional_properties,
        "uniqueItems": _unique_items,
        "enum": _enum,
        "anyOf": _any_of,
        "oneOf": partial(_any_of, most=1),
    }
    return validators.extend(Draft202012Validator, own)  # type: ignore[no-untyped-call]
