"""The value that may be meant by one that a parameter refuses: candidates, of which the first that its schema accepts.

People bring how other programs write values: `{a,b}` and `a=1,b=2` of `--set`, YAML in an annotation, `30s` for a
number of seconds, a list with a line for each item. What is named is spelled as it is typed where it is set: as YAML in
an annotation or the settings, or for a shell.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import Any

import msgspec
import yaml

from injector.advice.units import AMOUNT, boolean_of, seconds_in, seconds_of, spelled_number
from injector.names import legal_name, nearest, quotes_help
from injector.pods.quantity import near_quantities
from injector.templates.kubernetes_yaml import load_manifest
from injector.templates.parameter_keywords import FORMATS
from injector.templates.parameter_values import spelled, value_of
from injector.templates.template import Parameter
from injector.templates.value_check import ValueCheck

#: Characters of a value that is looked at, and of one that is named.
_LONGEST = 1000
_SHOWN = 160
#: The end of a parameter's name that says what its number counts.
_COUNTED = ("milliseconds", "ms", "seconds", "minutes", "hours", "days")
#: What may stand behind a number that has its unit in the parameter's name or in none.
_BEHIND = re.compile(r"([+-]?\d+(?:\.\d+)?)\s*(?:%|/s|x|/tcp|/udp|s|ms)\Z", re.IGNORECASE)
#: A name but for capital letters, blanks and what joins its words.
_WORD = re.compile(r"[A-Za-z0-9][-A-Za-z0-9_. ]*")
_RANGE = re.compile(r"(\d{1,5})\s*(?:-|\.\.)\s*(\d{1,5})\Z")
#: Numbers of a range that are written out.
_FEW = 10
#: The port of an instance, as version 1 of the Cloud SQL Auth Proxy has it.
_PROXY_PORT = re.compile(r"=tcp:(?:[\w.]+:)?(\d+)\Z")
_PATH = re.compile(r"[\w.-]+(?:/[\w.-]+)+")
#: A pair as `--set` and labels of a shell have it, and where the next one begins.
_PAIR = re.compile(r"""\s*["']?([^=:{}"'\s]+)["']?\s*(?:=|:\s?)\s*(.*)\Z""", re.DOTALL)
#: An image reference without its tag and digest, in which capital letters count.
_IMAGE_NAME = re.compile(r"\A.*?(?=(?::[^/:@]*)?(?:@[^/@]*)?\Z)")
#: A port behind a host or a protocol: `:8080`, `0.0.0.0:8080`, `tcp:8080`, `http://web:8080/`.
_PORT = re.compile(r"(?:[a-z]+://)?[^\s/]*:(\d{1,5})/?\Z|(\d{1,5})(?:/(?:tcp|udp)|\.0+)\Z", re.IGNORECASE)
_SCHEME = re.compile(r"[a-z]+://", re.IGNORECASE)
_GO_UNITS = {0.001: "ms", 1: "s", 60: "m", 3600: "h"}


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
    for text in dict.fromkeys(_candidates(raw, parameter)) if len(raw) <= _LONGEST else ():
        if text and text != raw and len(text) <= _SHOWN and _is_allowed(parameter, text):
            if parameter.type == "array" and text[0] == "{":
                continue  # JSON that is cut at its blanks
            joined = parameter.type == "array" and text[0] != "[" and text.count(",") > raw.count(",")
            return f"{'separate items with commas: ' if joined else ''}write {spelled(text, origin, parameter)}"
    items = parameter.schema.get("items")
    if isinstance(items, Mapping) and items.get("type") == "integer" and any(map(_RANGE.search, raw.split(","))):
        return "list each number: a range is not available"
    is_tagless = parameter.schema.get("format") == "image" and raw.rstrip().endswith(":")
    return "write a tag after the colon" if is_tagless else ""


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
    text = error.instance.strip() if isinstance(error.instance, str) else ""
    near = next(
        (candidate for candidate in _of_format(form, text) if candidate and FORMATS[str(form)].allows(candidate)), ""
    )
    return quotes or (f"write {near}" if near else "")


def _is_allowed(parameter: Parameter, text: str) -> bool:
    try:
        value_of(parameter, text)
    except ValueError:
        return False
    return True


def _candidates(raw: str, parameter: Parameter) -> Iterator[str]:
    """Texts that may be meant, the likeliest first."""
    schema = parameter.schema
    if parameter.type == "array":
        yield from _lists(raw, schema.get("items", {}), parameter.name)
    elif parameter.type == "object":
        yield from _mappings(raw, schema)
    else:
        yield from _scalars(raw, schema, parameter.name)


def _scalars(raw: str, schema: Mapping[str, Any], name: str = "") -> Iterator[str]:
    """Texts that may be meant by a value that is no list and no mapping."""
    text = raw.strip().strip("\"'").strip()
    kind, form = schema.get("type", "string"), schema.get("format")
    yield text
    if form == "quantity" and "cpu" in name:
        yield from near_quantities(text, "cpu")
    yield from _of_format(form, text)
    if kind == "boolean":
        yield boolean_of(text)
    elif kind in ("integer", "number"):
        yield from _numbers(text, name)
    elif "enum" in schema:
        yield nearest(text, [str(value) for value in schema["enum"]], cutoff=0.7) or ""
    elif "pattern" in schema:
        plain = text.removeprefix("^").removesuffix("$").replace("\\", "")
        yield from (plain.replace(".*", "*"), plain, plain.removesuffix(".*"), plain.rstrip("/"), f"/{plain}")
        yield from (plain.lower(), _SCHEME.sub("", plain), f"https://{plain}")
        yield _PROXY_PORT.sub(r"?port=\1", plain)
        yield legal_name(plain) if _WORD.fullmatch(plain) else ""


def _numbers(text: str, name: str) -> Iterator[str]:
    unit = name.rpartition("-")[2]
    seconds = seconds_in(text)
    if unit in _COUNTED and seconds is not None:
        yield spelled_number(seconds / seconds_of(unit))
    elif unit not in _COUNTED and (behind := _BEHIND.match(text)):
        yield behind[1]
    yield re.sub(r"(?<=\d)[,_ '](?=\d{3}(?!\d))", "", text)
    yield re.sub(r"\.0+\Z", "", text)


def _of_format(form: Any, text: str) -> Iterator[str]:
    """Texts that may be meant by one that a format refuses."""
    return _FORMATS[form](text) if form in _FORMATS else iter(())


def _durations(text: str) -> Iterator[str]:
    yield f"{text}s"
    amount, seconds = AMOUNT.fullmatch(text), seconds_in(text)
    if amount and seconds is not None:
        unit = _GO_UNITS.get(seconds_of(amount[2]))
        yield f"{amount[1]}{unit}" if unit else f"{spelled_number(seconds / 3600)}h"
    yield text.replace(" ", "").lower()


def _images(text: str) -> Iterator[str]:
    yield _IMAGE_NAME.sub(lambda name: name[0].lower(), text)
    yield _SCHEME.sub("", text)


def _ranges(text: str) -> Iterator[str]:
    first, dash, last = text.partition("-")
    try:
        if not dash:
            yield str(ipaddress.ip_network(text, strict=False))
            return
        ends = ipaddress.ip_address(first.strip()), ipaddress.ip_address(last.strip())
        networks = list(islice(ipaddress.summarize_address_range(*ends), 2))
        yield str(networks[0]) if len(networks) == 1 else ""
    except (ValueError, TypeError):  # of two families
        return


def _ports(text: str) -> Iterator[str]:
    port = _PORT.match(text)
    yield (port[1] or port[2]) if port else ""


_FORMATS: dict[str, Callable[[str], Iterator[str]]] = {
    "duration": _durations,
    "image": _images,
    "quantity": near_quantities,
    "cidr": _ranges,
    "port": _ports,
    "dns-label": lambda text: iter((legal_name(text),)),
}


def _lists(raw: str, items: Any, name: str) -> Iterator[str]:
    inner = {"type": "string", **items} if isinstance(items, Mapping) else {"type": "string"}
    loaded = _loaded(raw)
    if inner.get("type") in ("object", "array"):
        yield _json(loaded) if isinstance(loaded, list) else _json([loaded]) if isinstance(loaded, dict) else ""
        return
    if isinstance(loaded, list) and all(isinstance(item, str | int | float) for item in loaded):
        parts = [item if isinstance(item, str) else _json(item) for item in loaded]
    else:
        bare = raw.strip().removeprefix("{").removesuffix("}").removeprefix("[").removesuffix("]")
        parts = re.split(r"[\s,;|]+", bare)
    parts = [part.strip().strip("\"'") for part in parts if part.strip()]
    yield ",".join(parts)
    item_parameter = Parameter(name, inner, check=ValueCheck(inner))
    mended: list[str] = []
    for part in parts:
        numbers = _RANGE.fullmatch(part) if inner.get("type") == "integer" else None
        if numbers and 0 < int(numbers[2]) - int(numbers[1]) < _FEW:
            mended += map(str, range(int(numbers[1]), int(numbers[2]) + 1))
            continue
        fitting = (text for text in _scalars(part, inner) if text and "," not in text)
        mended.append(next((text for text in fitting if _is_allowed(item_parameter, text)), part))
    yield ",".join(mended)


def _mappings(raw: str, schema: Mapping[str, Any]) -> Iterator[str]:
    loaded = _loaded(raw)
    if isinstance(loaded, list) and all(isinstance(pair, dict) and {"name", "value"} == pair.keys() for pair in loaded):
        loaded = {pair["name"]: pair["value"] for pair in loaded}  # as `env` of a container has it
    for pairs in (loaded, _pairs(raw), _named_paths(raw, schema)):
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
    loaded = _loaded(value) if isinstance(value, str) else value
    return loaded if isinstance(loaded, bool | int | float) else value


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
