r"""JSON Schema as parameters take it: our formats, each with its words, and regular expressions read by RE2.

A pod's author chooses the text, so a pattern that some text makes slow would let one pod stop the server. RE2's dialect
is JSON Schema's (ECMA-262) in what both have: `$` is the very end, `\d` and `\w` are ASCII. It has no look-around and
no references to groups. https://github.com/google/re2/wiki/Syntax
"""

from __future__ import annotations

import ipaddress
import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

import re2

from injector.library_messages import re2_message
from injector.names import hint, is_dns_label, shortened

# What checks a schema or a value takes longer to import than most commands to run, and most pods give no value.
if TYPE_CHECKING:
    from jsonschema import FormatChecker
    from jsonschema.exceptions import ValidationError

#: Kubernetes API reference, Quantity: a decimal number with a binary or decimal suffix or an exponent.
_QUANTITY = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[KMGTPE]i|[numkMGTPE]|[eE][+-]?\d+)?\Z", re.ASCII)
#: Go's time.ParseDuration, which Envoy's and Kubernetes' durations are subsets of.
_DURATION = re.compile(r"(?:\d+(?:\.\d+)?(?:ns|us|µs|ms|s|m|h))+\Z", re.ASCII)
#: The reference grammar of the OCI distribution specification: domain, path, tag, digest.
_DOMAIN = (
    r"(?:[a-zA-Z0-9](?:[-a-zA-Z0-9]*[a-zA-Z0-9])?(?:\.[a-zA-Z0-9](?:[-a-zA-Z0-9]*[a-zA-Z0-9])?)*|\[[a-fA-F0-9:]+\])"
)
_PART = r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*"
_IMAGE = re.compile(
    rf"(?:{_DOMAIN}(?::[0-9]+)?/)?{_PART}(?:/{_PART})*"
    r"(?::[A-Za-z0-9_][-A-Za-z0-9_.]{0,127})?"
    r"(?:@[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,})?\Z"
)


@dataclass(frozen=True, slots=True)
class Format:
    """A format: `allows(value)` for a value of the schema's type, and what it takes, to follow "must be"."""

    words: str
    allows: Callable[[object], bool]


def _text(pattern: re.Pattern[str], longest: int = 1024) -> Callable[[object], bool]:
    def allows(value: object) -> bool:
        return isinstance(value, str) and len(value) <= longest and pattern.match(value) is not None

    return allows


def _quantity(value: object) -> bool:
    # a number is a quantity too: `cpu: 2`
    return (isinstance(value, int | float) and not isinstance(value, bool)) or _text(_QUANTITY, 64)(value)


def _port(value: object) -> bool:
    if isinstance(value, str):
        value = int(value) if re.fullmatch(r"[0-9]{1,5}", value) else 0
    return isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= 65535


def _cidr(value: object) -> bool:
    if not isinstance(value, str) or "/" not in value or "%" in value or len(value) > 64:  # a zone may be any text
        return False
    try:
        ipaddress.ip_network(value, strict=False)
    except ValueError:
        return False
    return value.rpartition("/")[2].isdecimal()


FORMATS: dict[str, Format] = {
    "quantity": Format("a Kubernetes quantity such as 100m, 0.5 or 64Mi", _quantity),
    "duration": Format("a duration such as 500ms, 10s or 1h30m", _text(_DURATION, 64)),
    "cidr": Format("an address range such as 10.0.0.0/8 or fd00::/8", _cidr),
    "port": Format("a port from 1 to 65535", _port),
    "dns-label": Format("a DNS label: up to 63 of a-z, 0-9 and -, neither first nor last a -", is_dns_label),
    "image": Format("an image reference such as envoyproxy/envoy:v1.36.0", _text(_IMAGE, 512)),
}

#: Characters that a text may have where a pattern is tried.
LONGEST = 2048
#: Characters that a pattern may have itself: RE2 takes its time for a very long one.
_LONGEST_PATTERN = 4096

_TOO_OFTEN = "a repetition of more than 1000, or of the larger number first"
_FAR_TOO_OFTEN = re.compile(r"(?<!\\)\{[0-9]*,?[0-9]{5}")
#: What others have and RE2 has not, in the words of those who write patterns.
_WORDS = {
    "no-look-around": "there is no look-ahead and no look-behind; use `allOf` and `not`",
    "no-escape": "an escape that there is not, or a reference to a group",
    "too-often": _TOO_OFTEN,
    "too-large": "it is too large",
}

_OPTIONS = re2.Options()
_OPTIONS.log_errors = False  # they would go to standard error


@lru_cache(maxsize=1024)
def compiled(pattern: str) -> Any:
    """A pattern of JSON Schema, to `search` with.

    Raises ValueError for one that RE2 does not have: with why, and the rule `limit` where another dialect has it.
    """
    if len(pattern) > _LONGEST_PATTERN:
        raise ValueError(f"is not available: it has more than {_LONGEST_PATTERN} characters", "limit")
    if _FAR_TOO_OFTEN.search(pattern):  # RE2 takes this for characters
        raise ValueError(f"is not available: {_TOO_OFTEN}", "limit")
    try:
        return re2.compile(pattern, _OPTIONS)
    except UnicodeEncodeError:
        raise ValueError("is not available: half of a surrogate pair", "limit") from None
    except re2.error as error:
        said = error.args[0].decode(errors="replace")
        words = _WORDS.get(re2_message(said).kind)
        if words is None:
            raise ValueError(f"is no regular expression: {said[:80]}") from None
        raise ValueError(f"is not available: {words}", "limit") from None


def found(pattern: str, text: str) -> bool:
    """Whether a pattern is in a text of at most `LONGEST` characters. Raises ValueError as `compiled` does."""
    try:
        return compiled(pattern).search(text) is not None
    except UnicodeEncodeError:
        return False  # half of a surrogate pair is no character


@cache
def format_checker() -> FormatChecker:
    """The formats of parameters, and none of jsonschema's own: patterns are read by RE2, not by Python."""
    from jsonschema import FormatChecker

    checker = FormatChecker(formats=())
    for name, known in FORMATS.items():
        checker.checks(name)(known.allows)
    return checker


def _mistake(message: str, **more: Any) -> ValidationError:
    from jsonschema.exceptions import ValidationError

    return ValidationError(message, **more)


def _pattern(validator: Any, pattern: str, instance: Any, schema: Any) -> Iterator[ValidationError]:
    if isinstance(instance, str):
        if len(instance) > LONGEST:
            yield _mistake(f"is longer than the {LONGEST} characters that a pattern is tried with")
        elif not found(pattern, instance):
            yield _mistake(f"{shortened(instance)} does not match {pattern}")


def _pattern_properties(validator: Any, patterns: Any, instance: Any, schema: Any) -> Iterator[ValidationError]:
    for name, value in instance.items() if isinstance(instance, dict) else ():
        if len(name) > LONGEST:
            yield _mistake(f"has a key longer than the {LONGEST} characters that a pattern is tried with")
            continue
        for pattern, inner in patterns.items():
            if found(pattern, name):
                yield from validator.descend(value, inner, path=name, schema_path=pattern)


def _additional_properties(validator: Any, others: Any, instance: Any, schema: Any) -> Iterator[ValidationError]:
    patterns = schema.get("patternProperties", ())
    for name, value in instance.items() if isinstance(instance, dict) else ():
        if name in schema.get("properties", ()) or (patterns and len(name) > LONGEST):
            continue  # too long a name is told already
        if any(found(pattern, name) for pattern in patterns):
            continue
        if others is False:
            yield _mistake(
                f"has the unknown key {shortened(name)}{hint(name, schema.get('properties', ()), 'its keys are')}"
            )
        else:
            yield from validator.descend(value, others, path=name)


def _unique_items(validator: Any, wanted: Any, instance: Any, schema: Any) -> Iterator[ValidationError]:
    # jsonschema's own compares each with each where items are mappings: that takes minutes for an annotation's worth
    if wanted and isinstance(instance, list) and len(set(map(_canonical, instance))) < len(instance):
        yield _mistake("has an item twice; each must be there once")


def _enum(validator: Any, values: Any, instance: Any, schema: Any) -> Iterator[ValidationError]:
    if _canonical(instance) not in values.known:
        yield _mistake(f"{shortened(instance)} is none of {shortened(list(values))}")


def _any_of(validator: Any, schemas: Any, instance: Any, schema: Any) -> Iterator[ValidationError]:
    # the first mistake by each is enough to know, and to tell
    wrong: list[ValidationError] = []
    for index, inner in enumerate(schemas):
        first = next(validator.descend(instance, inner, schema_path=index), None)
        if first is None:
            return
        wrong.append(first)
    yield _mistake(f"{shortened(instance)} is not valid under any of the given schemas", context=wrong)


def _one_of(validator: Any, schemas: Any, instance: Any, schema: Any) -> Iterator[ValidationError]:
    wrong = [next(validator.descend(instance, inner, schema_path=n), None) for n, inner in enumerate(schemas)]
    fits = wrong.count(None)
    if fits != 1:
        words = "is valid under more than one" if fits else "is not valid under any"
        context = [] if fits else [error for error in wrong if error is not None]
        yield _mistake(f"{shortened(instance)} {words} of the given schemas", context=context)


def _canonical(value: Any) -> str:
    """The same text for values that JSON Schema takes for equal: 1 and 1.0, but not 1 and true.

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
        "oneOf": _one_of,
    }
    return validators.extend(Draft202012Validator, own)  # type: ignore[no-untyped-call]


#: Keywords whose value is a schema, a list of schemas, and a mapping of schemas.
_ONE = frozenset(("items", "additionalProperties", "propertyNames", "contains", "not", "if", "then", "else"))
_LISTS = frozenset(("prefixItems", "anyOf", "oneOf", "allOf"))
_MAPPINGS = frozenset(("properties", "patternProperties"))
#: Those that are looked at first, as they are cheap and bound what the others have to do.
_FIRST = (
    "type", "const", "maxLength", "minLength", "maxItems", "minItems", "maxProperties", "minProperties", "enum",
    "format",
)  # fmt: skip
#: Every keyword there is. References are none: a schema could have the server fetch what it names.
KEYWORDS = frozenset(
    (
        *_ONE, *_LISTS, *_MAPPINGS, *_FIRST, "required", "title", "description", "default", "examples", "deprecated",
        "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "pattern", "uniqueItems",
        "minContains", "maxContains",
    )
)  # fmt: skip


def subschemas(schema: Mapping[str, Any]) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """The schemas right within one, with their paths."""
    for key, value in schema.items():
        if key in _ONE:
            yield (key,), value
        elif key in _LISTS and isinstance(value, list):
            yield from (((key, index), inner) for index, inner in enumerate(value))
        elif key in _MAPPINGS and isinstance(value, Mapping):
            yield from (((key, name), inner) for name, inner in value.items())


class ValueCheck:
    """What checks values against a schema; made of it when the first value comes, and again after unpickling."""

    __slots__ = ("_schema", "_validator")

    def __init__(self, schema: Mapping[str, Any]) -> None:
        self._schema = schema
        self._validator: Any = None

    def __reduce__(self) -> tuple[type[ValueCheck], tuple[Mapping[str, Any]]]:
        return ValueCheck, (self._schema,)

    def errors(self, value: Any) -> Iterator[ValidationError]:
        """What is wrong with a value, cheap checks first."""
        if self._validator is None:
            from referencing import Registry

            self._validator = _validator_class()(
                _ordered(self._schema), format_checker=format_checker(), registry=Registry()
            )
        errors: Iterator[ValidationError] = self._validator.iter_errors(value)
        return errors


def _turn(keyword: str) -> int:
    # required comes last: a misspelled key is unknown and missing, and its author sees the first of the two
    return _FIRST.index(keyword) if keyword in _FIRST else len(_FIRST) + (keyword == "required")


def _ordered(schema: Any) -> Any:
    if not isinstance(schema, Mapping):
        return schema
    made: dict[str, Any] = {}
    for key in sorted(schema, key=_turn):
        value = schema[key]
        if key in _ONE:
            value = _ordered(value)
        elif key in _LISTS:
            value = [_ordered(inner) for inner in value]
        elif key in _MAPPINGS:
            value = {name: _ordered(inner) for name, inner in value.items()}
        made[key] = _Known(value) if key == "enum" else value
    return made


def keyword_values(schema: Any, keyword: str, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Every value of a keyword in a schema with its path."""
    if not isinstance(schema, Mapping):
        return
    if keyword in schema:
        yield (*path, keyword), schema[keyword]
    for steps, inner in subschemas(schema):
        yield from keyword_values(inner, keyword, (*path, *steps))


def patterns_in(schema: Any) -> Iterator[tuple[tuple[Any, ...], str]]:
    """Every regular expression in a schema with its path."""
    yield from keyword_values(schema, "pattern")
    for path, patterns in keyword_values(schema, "patternProperties"):
        yield from (((*path, pattern), pattern) for pattern in patterns)
