"""The value that may be meant by one that a parameter refuses: candidates, of which the first that its schema accepts.

People bring how other programs write values: `{a,b}` and `a=1,b=2` of `--set`, YAML in an annotation, `30s` for a
number of seconds, a list with a line for each item. What is named is spelled as it is typed where it is set: as YAML in
an annotation or the settings, or for a shell.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Any

import msgspec
import yaml

from injector.advice.words import by_word
from injector.names import legal_name, nearest, quotes_help
from injector.pods.context import mapping
from injector.pods.quantity import near_quantities
from injector.templates.kubernetes_yaml import load_manifest
from injector.templates.parameter_values import spelled, spelled_list, value_of
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
#: A range of numbers, and how many are written out.
_RANGE = re.compile(r"(\d{1,5})\s*(?:-|\.\.)\s*(\d{1,5})\Z")
_FEW = 10
#: The port of an instance, as version 1 of the Cloud SQL Auth Proxy has it.
_PROXY_PORT = re.compile(r"=tcp:(?:[\w.]+:)?(\d+)\Z")
#: A pair as `--set` and labels of a shell have it.
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
    if parameter.secret or len(str(raw)) > _LONGEST:
        return ""
    if isinstance(raw, bool | int | float):
        return quotes_help(raw, (parameter.type,))
    try:
        meant = meant_value(raw, parameter.schema, parameter.name)
        plain = isinstance(meant, list) and not any(isinstance(item, list | dict) for item in meant)
        text = spelled_list(list(map(_text, meant))) if plain else _text(meant)
        value_of(parameter, text)
    except (ValueError, RecursionError, yaml.YAMLError):
        return ""
    return f"write {spelled(text, origin, parameter)}" if text not in ("", raw) and len(text) <= _SHOWN else ""


def quantity_help(resource: str, value: Any) -> str:
    """`write QUANTITY`, of the one that is meant by a value of a resource which is none; "" for none."""
    with suppress(ValueError):
        return f"write {meant_value(value, {'type': 'string', 'format': 'quantity'}, resource)}"
    return ""


def meant_value(value: Any, schema: Any, name: str = "") -> Any:
    """The value that a schema accepts and that is meant by one. Raises ValueError where there is none."""
    kind = mapping(schema).get("type")
    if kind == "array":
        return [meant_value(item, schema.get("items"), name) for item in _items(value, schema.get("items"))]
    if kind == "object":
        properties, others = schema.get("properties", {}), schema.get("additionalProperties")
        return {key: meant_value(part, properties.get(key, others), key) for key, part in _pairs(value).items()}
    if not isinstance(kind, str) or value is None:
        return value
    parameter = Parameter(name, schema, check=ValueCheck(schema))
    for text in _scalars(_text(value), schema, name):
        with suppress(ValueError):
            if text:
                return value_of(parameter, text)
    raise ValueError


def _text(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _items(value: Any, schema: Any) -> list[Any]:
    """The items of a list that is written in one text, or as YAML."""
    loaded = load_manifest(value) if isinstance(value, str) else value
    if isinstance(loaded, list):
        return loaded
    kind = mapping(schema).get("type")
    if kind in ("object", "array"):
        return [loaded]
    parts = [part for part in re.split(r"[\s,;|]+", _text(value).strip().strip("{}[]")) if part]
    if kind == "integer" and len(parts) == 1 and (ends := _RANGE.fullmatch(parts[0])):
        numbers = range(int(ends[1]), int(ends[2]) + 1)
        return list(map(str, numbers)) if len(numbers) <= _FEW else parts
    return parts


def _pairs(value: Any) -> dict[str, Any]:
    """`a=1,b=2`, a line for each, YAML, or a list as `env` of a container has it, as a mapping. Raises ValueError."""
    loaded = load_manifest(value) if isinstance(value, str) else value
    if isinstance(loaded, list) and all(isinstance(pair, dict) and {"name", "value"} == pair.keys() for pair in loaded):
        return {pair["name"]: pair["value"] for pair in loaded}
    if isinstance(loaded, dict) and None not in loaded.values():
        return loaded
    parts = [part for part in re.split(r"\n|;|,(?=[^,=:]*[=:])", _text(value).strip().strip("{}")) if part.strip()]
    pairs = [_PAIR.match(part) for part in parts]
    if not all(pairs):
        raise ValueError
    return {pair[1]: pair[2].strip().strip("\"'") for pair in pairs if pair}


def _scalars(raw: str, schema: Mapping[str, Any], name: str) -> Iterator[str]:
    """Texts that may be meant by a value that is no list and no mapping, the likeliest first."""
    text = raw.strip().strip("\"'").strip()
    kind, form = schema.get("type", "string"), schema.get("format")
    yield text
    if form == "quantity":
        yield from near_quantities(text, "cpu" if "cpu" in name else "")
    elif form in _FORMATS:
        yield from _FORMATS[form](text)
    if kind == "boolean":
        yield boolean_of(text)
    elif kind in ("integer", "number"):
        yield from _numbers(text, name)
    elif "enum" in schema:
        yield nearest(text, [str(value) for value in schema["enum"]], cutoff=0.7) or ""
    elif "pattern" in schema:
        plain = text.removeprefix("^").removesuffix("$").replace("\\", "")
        yield from (plain.replace(".*", "*"), plain, plain.removesuffix(".*"), plain.rstrip("/"), f"/{plain}")
        yield from (plain.lower(), _SCHEME.sub("", plain), f"https://{plain}", _PROXY_PORT.sub(r"?port=\1", plain))
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


def _durations(text: str) -> Iterator[str]:
    yield f"{text}s"
    amount, seconds = AMOUNT.fullmatch(text), seconds_in(text)
    if amount and seconds is not None:
        unit = _GO_UNITS.get(seconds_of(amount[2]))
        yield f"{amount[1]}{unit}" if unit else f"{spelled_number(seconds / 3600)}h"
    yield text.replace(" ", "").lower()


def _networks(text: str) -> Iterator[str]:
    with suppress(ValueError):
        yield str(ipaddress.ip_network(text, strict=False))


def _ports(text: str) -> Iterator[str]:
    port = _PORT.match(text)
    yield (port[1] or port[2]) if port else ""


_FORMATS: dict[str, Callable[[str], Iterator[str]]] = {
    "duration": _durations,
    "image": lambda text: iter((_IMAGE_NAME.sub(lambda name: name[0].lower(), text), _SCHEME.sub("", text))),
    "cidr": _networks,
    "port": _ports,
    "dns-label": lambda text: iter((legal_name(text),)),
}


#: A number with a unit.
AMOUNT = re.compile(r"(\d{1,15}(?:\.\d{1,9})?)\s*([a-zA-Z]+)\Z")
#: Seconds of a unit, by how its name begins: the first that fits.
_SECONDS = {"ms": 0.001, "mil": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86400}
_UNIT = re.compile(r"(?:ms|milli\w*|s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?|d|days?)\Z")
_BOOLEANS = by_word({"true t yes y on 1 enabled enable": "true", "false f no n off 0 disabled disable": "false"})


def seconds_of(unit: str) -> float:
    """How many seconds a unit has: `min`, `sec`, `days`; 0 for what is none."""
    name = unit.lower()
    if not _UNIT.match(name):
        return 0
    return next(length for start, length in _SECONDS.items() if name.startswith(start))


def seconds_in(text: str) -> float | None:
    """The seconds of a time such as `5 min`; None for what is none."""
    amount = AMOUNT.fullmatch(text.strip())
    unit = seconds_of(amount[2]) if amount else 0
    return float(amount[1]) * unit if amount and unit else None


def spelled_number(number: float) -> str:
    """A number as people write it: without `.0`."""
    return str(int(number)) if number == int(number) else f"{number:g}"


def boolean_of(text: str) -> str:
    """`true` or `false`, by a word for one of them; "" for any other."""
    return _BOOLEANS.get(text.strip().lower(), "")
