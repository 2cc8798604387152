r"""The keywords of parameters' schemas: our formats, each with its words, and regular expressions read by RE2.

A pod's author chooses the text, so a pattern that some text makes slow would let one pod stop the server. RE2's dialect
is JSON Schema's (ECMA-262) in what both have: `$` is the very end, `\d` and `\w` are ASCII. It has no look-around and
no references to groups. https://github.com/google/re2/wiki/Syntax
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, NamedTuple

import re2

from injector.budget import charge
from injector.caches import Memo
from injector.diagnostics import Path
from injector.library_messages import re2_message
from injector.names import is_dns_label

#: Kubernetes API reference, Quantity: a decimal number with a binary or decimal suffix or an exponent.
_QUANTITY = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[KMGTPE]i|[numkMGTPE]|[eE][+-]?\d+)?\Z"
#: Go's time.ParseDuration, which Envoy's and Kubernetes' durations are subsets of.
_DURATION = r"(?:\d+(?:\.\d+)?(?:ns|us|µs|ms|s|m|h))+\Z"
#: The reference grammar of the OCI distribution specification: domain, path, tag, digest.
_DOMAIN = (
    r"(?:[a-zA-Z0-9](?:[-a-zA-Z0-9]*[a-zA-Z0-9])?(?:\.[a-zA-Z0-9](?:[-a-zA-Z0-9]*[a-zA-Z0-9])?)*|\[[a-fA-F0-9:]+\])"
)
_PART = r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*"
_IMAGE = (
    rf"(?:{_DOMAIN}(?::[0-9]+)?/)?{_PART}(?:/{_PART})*"
    r"(?::[A-Za-z0-9_][-A-Za-z0-9_.]{0,127})?"
    r"(?:@[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,})?\Z"
)


class Format(NamedTuple):
    """A format: `allows(value)` for a value of the schema's type, and what it takes, to follow "must be"."""

    words: str
    allows: Callable[[object], bool]


def _text(pattern: str, longest: int = 1024) -> Callable[[object], bool]:
    return lambda text: isinstance(text, str) and len(text) <= longest and bool(re.match(pattern, text, re.ASCII))


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


FORMATS = {
    "quantity": Format("a Kubernetes quantity such as 100m, 0.5 or 64Mi", _quantity),
    "duration": Format("a duration such as 500ms, 10s or 1h30m", _text(_DURATION, 64)),
    "cidr": Format("an address range such as 10.0.0.0/8 or fd00::/8", _cidr),
    "port": Format("a port from 1 to 65535", _port),
    "dns-label": Format(
        "a DNS label (up to 63 characters of a-z, 0-9 and -, without a - at the beginning or the end)", is_dns_label
    ),
    "image": Format("an image reference such as envoyproxy/envoy:v1.36.0", _text(_IMAGE, 512)),
}

#: Characters that a text may have where a pattern is tried.
LONGEST = 2048
#: Characters that a pattern may have itself: RE2 takes its time for a very long one.
_LONGEST_PATTERN = 4096

_TOO_OFTEN = "a repetition above 1000, or with the larger number first, as in {5,3}"
_FAR_TOO_OFTEN = re.compile(r"(?<!\\)\{[0-9]*,?[0-9]{5}")
#: What others have and RE2 has not, in the words of those who write patterns.
_WORDS = {
    "no-look-around": "there is no look-ahead and no look-behind; use `allOf` and `not`",
    "no-escape": "an unknown escape, or a reference to a group",
    "too-often": _TOO_OFTEN,
    "too-large": "it is too large",
}

_OPTIONS = re2.Options()
_OPTIONS.log_errors = False  # they would go to standard error
_OPTIONS.max_mem = 2 * 1024 * 1024  # of one pattern; a team's template may have hundreds
#: Bytes that compiled patterns may take, of each about so many for what matching needs and for an instruction.
_PATTERNS: Final[Memo[Any]] = Memo(16 * 1024 * 1024)
_MATCHING, _INSTRUCTION = 16 * 1024, 24
#: Instructions of a pattern's program that are compiled and run within a unit of work.
_INSTRUCTIONS_A_UNIT = 8


def compiled(pattern: str) -> Any:
    """A pattern of JSON Schema, to `search` with. Remembered while there is room.

    Raises ValueError for one that RE2 does not support: the reason, and the rule `limit` if another dialect supports
    it.
    """
    program = _PATTERNS.get(pattern)
    if program is None:
        program = _compile(pattern)
        _PATTERNS.put(pattern, program, _MATCHING + _INSTRUCTION * program.programsize)
    return program


def _compile(pattern: str) -> Any:
    if len(pattern) > _LONGEST_PATTERN:
        raise ValueError(f"is not supported: it has more than {_LONGEST_PATTERN} characters", "limit")
    if _FAR_TOO_OFTEN.search(pattern):  # RE2 takes this for characters
        raise ValueError(f"is not supported: {_TOO_OFTEN}", "limit")
    try:
        return re2.compile(pattern, _OPTIONS)
    except UnicodeEncodeError:
        raise ValueError(
            "is not supported: it holds an incomplete character (half of a surrogate pair)", "limit"
        ) from None
    except re2.error as error:
        reported = error.args[0].decode(errors="replace")
        explanation = _WORDS.get(re2_message(reported).kind)
        if explanation is None:
            raise ValueError(f"is not a regular expression: {reported[:80]}") from None
        raise ValueError(f"is not supported: {explanation}", "limit") from None


def found(pattern: str, text: str) -> bool:
    """Whether a pattern is in a text of at most `LONGEST` characters. Raises ValueError as `compiled` does."""
    program = compiled(pattern)
    charge(program.programsize // _INSTRUCTIONS_A_UNIT)
    try:
        return program.search(text) is not None
    except UnicodeEncodeError:
        return False  # half of a surrogate pair is not a character


#: Keywords whose value is a schema, a list of schemas, and a mapping of schemas.
ONE = frozenset(("items", "additionalProperties", "propertyNames", "contains", "not", "if", "then", "else"))
LISTS = frozenset(("prefixItems", "anyOf", "oneOf", "allOf"))
MAPPINGS = frozenset(("properties", "patternProperties"))
#: Those that are looked at first, as they are cheap and bound what the others have to do.
FIRST = (
    "type", "const", "maxLength", "minLength", "maxItems", "minItems", "maxProperties", "minProperties", "enum",
    "format",
)  # fmt: skip
#: The keywords that say something of numbers alone.
OF_NUMBERS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")
#: Every keyword there is. References are none: a schema could have the server fetch what it names.
KEYWORDS = frozenset(
    (
        *ONE, *LISTS, *MAPPINGS, *FIRST, *OF_NUMBERS, "required", "title", "description", "default", "examples",
        "deprecated", "pattern", "uniqueItems",
        "minContains", "maxContains",
    )
)  # fmt: skip


def subschemas(schema: Mapping[str, Any]) -> Iterator[tuple[Path, Any]]:
    """The schemas right within one, with their paths."""
    for key, value in schema.items():
        if key in ONE:
            yield (key,), value
        elif key in LISTS and isinstance(value, list):
            yield from (((key, index), inner) for index, inner in enumerate(value))
        elif key in MAPPINGS and isinstance(value, Mapping):
            yield from (((key, name), inner) for name, inner in value.items())


def keyword_values(schema: Any, keyword: str, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Every value of a keyword in a schema with its path."""
    if not isinstance(schema, Mapping):
        return
    if keyword in schema:
        yield (*path, keyword), schema[keyword]
    for steps, inner in subschemas(schema):
        yield from keyword_values(inner, keyword, (*path, *steps))


def patterns_in(schema: Any) -> Iterator[tuple[Path, str]]:
    """Every regular expression in a schema with its path."""
    yield from keyword_values(schema, "pattern")
    for path, patterns in keyword_values(schema, "patternProperties"):
        yield from (((*path, pattern), pattern) for pattern in patterns)
