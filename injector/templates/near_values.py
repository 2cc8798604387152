"""The value that may be meant by a value that a parameter does not allow: each is tried before it is named.

People bring how other programs write values: `{a,b}` and `a=1,b=2` of `--set`, YAML in an annotation, `30s` for a
number of seconds, a list with a line for each item. What is named is spelled as it is typed where it is set: as YAML in
an annotation or the settings, or for a shell.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
import yaml

from injector.names import legal_name, nearest, quotes_help
from injector.pods.quantity import SIZE, near_quantities
from injector.templates.kubernetes_yaml import load_manifest
from injector.templates.near_formats import AMOUNT, SCHEME, near_value, seconds_of, spelled_number
from injector.templates.parameter_keywords import FORMATS
from injector.templates.parameter_values import value_of
from injector.templates.template import Parameter
from injector.templates.value_check import ValueCheck

#: Types whose values the settings have without quotes.
_BARE = ("integer", "number", "boolean")
#: Characters of a value that is looked at, and of one that is named.
_LONGEST = 1000
_SHOWN = 160
#: Words for yes and no elsewhere, by what is written here.
_BOOLEANS = {
    **dict.fromkeys(("true", "t", "yes", "y", "on", "1", "enabled", "enable"), "true"),
    **dict.fromkeys(("false", "f", "no", "n", "off", "0", "disabled", "disable"), "false"),
}
#: The end of a parameter's name that says what its number counts, in seconds or bytes.
_COUNTED = {"milliseconds": 0.001, "ms": 0.001, "seconds": 1, "minutes": 60, "hours": 3600, "days": 86400}
_BYTES = {"bytes": 1, "kilobytes": 1024, "kibibytes": 1024, "megabytes": 1024**2, "mebibytes": 1024**2}
_POWERS = {letter: 1024 ** (power + 1) for power, letter in enumerate("kmgtpe")}
#: What may stand behind a number that has its unit in the parameter's name or in none.
_BEHIND = re.compile(r"([+-]?\d+(?:\.\d+)?)\s*(?:%|r/s|r/m|/s|rps|req/s|x|/tcp|/udp|s|ms)\Z", re.IGNORECASE)
#: A name but for capital letters, blanks and what joins its words.
_WORD = re.compile(r"[A-Za-z0-9][-A-Za-z0-9_. ]*")
#: The port of an instance, as version 1 of the Cloud SQL Auth Proxy has it.
_PROXY_PORT = re.compile(r"=tcp:(?:[\w.]+:)?(\d+)\Z")
_RANGE = re.compile(r"(\d{1,5})\s*(?:-|\.\.)\s*(\d{1,5})\Z")
#: Numbers of a range that are written out.
_FEW = 10
_PATH = re.compile(r"[\w.-]+(?:/[\w.-]+)+")
#: A pair as `--set` and labels of a shell have it, and where the next one begins.
_PAIR = re.compile(r"""\s*["']?([^=:{}"'\s]+)["']?\s*(?:=|:\s?)\s*(.*)\Z""", re.DOTALL)


def value_help(parameter: Parameter, raw: Any, origin: str = "") -> str:
    """`write VALUE`, of a value that a parameter allows and that is meant by one which it refuses; "" for none.

    It is spelled as in the place that `origin` names.
    """
    if parameter.secret:
        return ""
    if not isinstance(raw, str) or raw.lstrip()[:1] in ("[", "{"):
        within = _help_within(parameter, raw)
        if within or not isinstance(raw, str):
            return within
    for text in dict.fromkeys(_nearby(raw, parameter)) if len(raw) <= _LONGEST else ():
        if text and text != raw and len(text) <= _SHOWN and _is_allowed(parameter, text):
            if parameter.type == "array" and text[0] == "{":
                continue  # JSON that is cut at its blanks
            joined = parameter.type == "array" and text[0] != "[" and text.count(",") > raw.count(",")
            return f"{'separate items with commas: ' if joined else ''}write {spelled(text, origin, parameter)}"
    return _without_value(parameter, raw)


def _without_value(parameter: Parameter, raw: str) -> str:
    """What to do where no value can be named; "" for nothing."""
    items = parameter.schema.get("items")
    if isinstance(items, Mapping) and items.get("type") == "integer" and any(map(_RANGE.search, raw.split(","))):
        return "list each number: a range is not available"
    if parameter.schema.get("format") == "image" and raw.rstrip().endswith(":"):
        return "write a tag after the colon"
    return ""


def _help_within(parameter: Parameter, raw: Any) -> str:
    """What to do about the first mistake in a list or a mapping, or about a value that is no string."""
    try:
        value = msgspec.json.decode(raw) if isinstance(raw, str) else raw
        error = next(parameter.check.errors(value), None)
    except (msgspec.DecodeError, RecursionError):
        return ""
    if error is None or not isinstance(error.schema, Mapping):
        return ""
    kind, form = error.schema.get("type"), error.schema.get("format")
    quotes = quotes_help(error.instance, kind if isinstance(kind, list) else [str(kind)])
    near = near_value(form, error.instance) if form in FORMATS else ""
    return quotes or (f"write {near}" if near else "")


def _is_allowed(parameter: Parameter, text: str) -> bool:
    try:
        value_of(parameter, text)
    except ValueError:
        return False
    return True


def _nearby(raw: str, parameter: Parameter) -> Iterator[str]:
    """Texts that may be meant, the likeliest first."""
    schema = parameter.schema
    if parameter.type == "array":
        yield from _lists(raw, schema.get("items", {}), parameter.name)
    elif parameter.type == "object":
        yield from _mappings(raw, schema)
    else:
        yield from _single(raw, schema, parameter.name)


def _single(raw: str, schema: Mapping[str, Any], name: str = "") -> Iterator[str]:
    """The same of a value that is no list and no mapping."""
    text = raw.strip().strip("\"'").strip()
    kind, form = schema.get("type", "string"), schema.get("format")
    yield text
    if form == "quantity" and "cpu" in name:
        yield from near_quantities(text, "cpu")
    if form in FORMATS and (near := near_value(str(form), text)):
        yield near
    if kind == "boolean":
        yield _BOOLEANS.get(text.lower(), "")
    elif kind in ("integer", "number"):
        yield from _numbers(text, name)
    elif "enum" in schema:
        choices = [str(value) for value in schema["enum"]]
        yield nearest(text, choices, cutoff=0.7) or ""
    elif "pattern" in schema:
        plain = text.removeprefix("^").removesuffix("$").replace("\\", "")
        yield from (plain.replace(".*", "*"), plain, plain.removesuffix(".*"), plain.rstrip("/"), f"/{plain}")
        yield from (plain.lower(), SCHEME.sub("", plain), f"https://{plain}")
        yield _PROXY_PORT.sub(r"?port=\1", plain)
        if _WORD.fullmatch(plain):
            yield legal_name(plain)


def _numbers(text: str, name: str) -> Iterator[str]:
    unit = name.rpartition("-")[2]
    amount = AMOUNT.fullmatch(text)
    if amount and unit in _COUNTED and (seconds := seconds_of(amount[2])):
        yield spelled_number(float(amount[1]) * seconds / _COUNTED[unit])
    elif amount and unit in _BYTES and (size := SIZE.match(text)):
        yield spelled_number(float(size[1]) * _POWERS[size[2].lower()] / _BYTES[unit])
    elif unit not in _COUNTED and (behind := _BEHIND.match(text)):
        yield behind[1]
    yield re.sub(r"(?<=\d)[,_ '](?=\d{3}(?!\d))", "", text)
    if re.fullmatch(r"[+-]?\d+\.0+", text):
        yield text.partition(".")[0]


def _lists(raw: str, items: Any, name: str) -> Iterator[str]:
    inner = {"type": "string", **items} if isinstance(items, Mapping) else {"type": "string"}
    if inner.get("type") in ("object", "array"):
        found = _loaded(raw)
        yield _json(found) if isinstance(found, list) else _json([found]) if isinstance(found, dict) else ""
        return
    found = _loaded(raw)
    if isinstance(found, list) and all(isinstance(one, str | int | float) for one in found):
        parts = [one if isinstance(one, str) else _json(one) for one in found]
    else:
        bare = raw.strip().removeprefix("{").removesuffix("}").removeprefix("[").removesuffix("]")
        parts = re.split(r"[\s,;|]+", bare)
    parts = [part.strip().strip("\"'") for part in parts if part.strip()]
    yield ",".join(parts)
    one = Parameter(name, inner, check=ValueCheck(inner))
    mended: list[str] = []
    for part in parts:
        numbers = _RANGE.fullmatch(part) if inner.get("type") == "integer" else None
        if numbers and 0 < int(numbers[2]) - int(numbers[1]) < _FEW:
            mended += map(str, range(int(numbers[1]), int(numbers[2]) + 1))
            continue
        mended.append(next((text for text in _single(part, inner) if text and _fits(one, text)), part))
    yield ",".join(mended)


def _fits(parameter: Parameter, text: str) -> bool:
    return "," not in text and _is_allowed(parameter, text)


def _mappings(raw: str, schema: Mapping[str, Any]) -> Iterator[str]:
    found = _loaded(raw)
    if isinstance(found, list) and all(isinstance(one, dict) and {"name", "value"} == one.keys() for one in found):
        found = {one["name"]: one["value"] for one in found}  # as `env` of a container has it
    for pairs in (found, _pairs(raw), _named_paths(raw, schema)):
        if isinstance(pairs, dict) and pairs:
            yield _json(pairs)
            yield _json({key: value if isinstance(value, str) else _json(value) for key, value in pairs.items()})
            yield _json({key: _typed(value) for key, value in pairs.items()})


def _pairs(raw: str) -> dict[str, str]:
    """`a=1,b=2`, `a: 1; b: 2`, or a line for each, as a mapping; {} for what is neither."""
    bare = raw.strip().removeprefix("{").removesuffix("}").strip()
    parts = [part for part in re.split(r"\n|;|,(?=[^,=:]*[=:])", bare) if part.strip()]
    pairs = [_PAIR.match(part) for part in parts]
    return {pair[1]: pair[2].strip().strip("\"'") for pair in pairs if pair} if all(pairs) else {}


def _named_paths(raw: str, schema: Mapping[str, Any]) -> dict[str, str]:
    """Paths, each with its last part as its name; {} for a parameter whose example does not have such names."""
    example = next(iter(schema.get("examples", ())), None)
    if not isinstance(example, dict) or not all(str(value).endswith(f"/{key}") for key, value in example.items()):
        return {}
    parts = [part.strip() for part in raw.split(",")]
    return {part.rpartition("/")[2]: part for part in parts} if all(map(_PATH.fullmatch, parts)) else {}


def _typed(value: Any) -> Any:
    found = _loaded(value) if isinstance(value, str) else value
    return found if isinstance(found, bool | int | float) else value


def _loaded(text: str) -> Any:
    """What a text says as YAML, None where it is none."""
    try:
        return load_manifest(text)
    except (yaml.YAMLError, ValueError, RecursionError):
        return None


def _json(value: Any) -> str:
    try:
        return msgspec.json.encode(value).decode()
    except (TypeError, ValueError, OverflowError, msgspec.MsgspecError):
        return ""


def spelled(text: str, origin: str, parameter: Parameter) -> str:
    """A value as it may be pasted in the place that `origin` names: with quotes where YAML or a shell needs them."""
    if origin.startswith("--param "):
        return shlex.quote(text)
    if origin.startswith("setting "):
        return text if parameter.type in _BARE or text[:1] in ("[", "{") else _string(text)
    return _string(text) if " annotation " in origin else text


def spelled_list(items: list[str]) -> str:
    """A list of strings in one text: with commas, or as JSON where an item would not survive that."""
    apart = any("," in item or item != item.strip() or not item or item[:1] == "[" for item in items)
    return msgspec.json.encode(items).decode() if apart else ",".join(items)


def _string(text: str) -> str:
    """A text that YAML reads as this string."""
    try:
        if load_manifest(text) == text:
            return text
    except (yaml.YAMLError, ValueError, RecursionError):
        pass
    if '"' in text or "\\" in text:
        return "'{}'".format(text.replace("'", "''"))
    return f'"{text}"'
