"""Declarations in template.yaml as people write them for other tools, and how they are written here."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from injector.names import WANTED, flow_value, kind_of, legal_name
from injector.templates.parameter_keywords import found

_TYPES_OF_LISTS = re.compile(
    r"(?:list|array|set|seq|sequence)\s*[(<\[]\s*(\w+)\s*[)>\]]|\[\](\w+)|(\w+)\[\]", re.IGNORECASE
)
_TYPES_OF_MAPS = re.compile(
    r"(?:map|dict|object|record|hash)\s*[(<\[]\s*(?:string\s*[\]>]|\w+\s*,)?\s*(\w+)\s*[)>\]]?", re.IGNORECASE
)
#: A pattern as JavaScript and Perl have it, and one that can match nothing for it.
_SLASHES = re.compile(r"/(.+)/([a-z]*)\Z", re.DOTALL)
_NEVER = re.compile(r"/\^|.*(?<!\\)\$/[a-z]*\Z", re.DOTALL)
#: Formats of other schemas, with what is said of them.
FORMATS_ELSEWHERE = {
    **dict.fromkeys(("int32", "int64", "float", "double", "password", "byte", "binary"), "leave it out"),
    **dict.fromkeys(("memory", "cpu", "bytes", "size", "resource"), "did you mean quantity?"),
    **dict.fromkeys(("time", "interval", "seconds", "timeout"), "did you mean duration?"),
    **dict.fromkeys(("subnet", "network", "ip-range"), "did you mean cidr?"),
    **dict.fromkeys(("name", "label", "rfc1123", "k8s-name"), "did you mean dns-label?"),
    **dict.fromkeys(
        ("hostname", "host", "idn-hostname", "fqdn", "domain", "ipv4", "ipv6", "ip", "uri", "url", "email", "date"),
        "leave format out, and write a pattern and a maxLength",
    ),
}


def type_help(declaration: Mapping[str, Any]) -> str:
    """What to write for a declaration without a type that there is; "" for nothing."""
    kind = declaration.get("type")
    if kind is None:
        default = declaration.get("default", declaration.get("enum"))
        default = default[0] if isinstance(default, list) and "enum" in declaration and default else default
        return f"write type: {_type_of(default)}"
    if isinstance(kind, list):
        first = next((one for one in kind if one in tuple(WANTED)), "string")
        return f"write type: {first}; a parameter that nobody sets is null"
    if isinstance(kind, str) and (inner := _TYPES_OF_LISTS.fullmatch(kind.strip())):
        of = next(name for name in inner.groups() if name).lower()
        return f"write type: array and items: {{type: {'string' if of == 'str' else of}}}"
    if isinstance(kind, str) and len(kind) < 60 and (inner := _TYPES_OF_MAPS.fullmatch(kind.strip())):
        of = inner[1].lower()
        return f"write type: object and additionalProperties: {{type: {'string' if of == 'str' else of}}}"
    return ""


def _type_of(value: Any) -> str:
    kinds: dict[type, str] = {bool: "boolean", int: "integer", float: "number", list: "array", dict: "object"}
    return kinds.get(type(value), "string")


def nested_help(name: str, declaration: Mapping[str, Any]) -> str:
    """What to write for a parameter below which others are declared; "" where it is none of that kind."""
    inner = [key for key, value in declaration.items() if isinstance(value, Mapping) and "type" in value]
    if not inner or len(inner) < len(declaration):
        return ""
    names = ", ".join(f"{name}-{legal_name(key)}" for key in inner[:5])
    return f"it has no type, and other parameters are declared below it; declare each one separately, as {names}"


def shape_of_keyword(key: str, value: Any) -> str:
    """What to write for the value of a keyword that is of another type than JSON Schema has it; "" for nothing."""
    if key == "enum" and isinstance(value, str):
        return f"write enum: {flow_value([one.strip() for one in re.split('[,|]', value) if one.strip()])}"
    if key == "enum" and isinstance(value, Mapping):
        return f"write enum: {flow_value(list(value))}"
    if key in ("items", "additionalProperties", "propertyNames") and isinstance(value, str):
        return f"write {key}: {{type: {value}}}"
    if key in ("items", "properties") and isinstance(value, list):
        return f"write {key}: {{type: {_type_of(value[0]) if value else 'string'}}}" if key == "items" else ""
    if isinstance(value, str) and re.fullmatch(r"-?\d+(?:\.\d+)?", value):
        return "write it without quotes"
    if key == "pattern" and isinstance(value, list):
        return "put it in quotes"
    return ""


def enum_mistake(schema: Mapping[str, Any], raw: Sequence[str], *, refused: bool) -> str:
    """What is wrong with an enum of values of another type than the schema's; "" for nothing.

    `raw` are its values as they are written, and `refused` says that the default is none of them.
    """
    values, kind = schema.get("enum"), schema.get("type")
    if not isinstance(values, list) or len(raw) != len(values) or kind not in ("string", "integer", "number"):
        return ""
    fits = str if kind == "string" else int | float
    other = [
        index
        for index, one in enumerate(values)
        if not isinstance(one, fits) or (kind != "string" and isinstance(one, bool))
    ]
    if not other or (len(other) < len(values) and not refused) or None in values:
        return ""
    are = " and ".join(raw[index] for index in other[:3])
    what = kind_of(values[other[0]]).removeprefix("a ")
    written = [f'"{word}"' if kind == "string" else word for word in raw]
    plural = f"{are} are {what}s" if len(other) > 1 else f"{are} is a {what}"
    return f"{plural} in YAML, and the type is {kind}; write enum: [{', '.join(written)}]"


def slashes_help(pattern: str, default: Any) -> str:
    """What to say of a pattern with slashes around it that match nothing, or not the default; "" for any other."""
    slashes = _SLASHES.match(pattern)
    if not slashes:
        return ""
    inner = f"(?i){slashes[1]}" if "i" in slashes[2] else slashes[1]
    if not _NEVER.match(pattern) and not _only(pattern, inner, default):
        return ""
    return f"a pattern has no slashes around it, and no flags after it; write {inner}"


def _only(pattern: str, inner: str, default: Any) -> bool:
    """Whether the default matches what is between the slashes, and not with them."""
    try:
        return isinstance(default, str) and not found(pattern, default) and found(inner, default)
    except ValueError:
        return False


def glob_help(pattern: str) -> str:
    """What to write for a pattern that RE2 refuses and that a file's name might have, as in `*.example.com`."""
    if not pattern.startswith(("*", "?")):
        return "write $ in place of \\Z" if "\\Z" in pattern else ""
    escaped = re.escape(pattern).replace(r"\*", ".*").replace(r"\?", ".").replace(r"\-", "-")
    return f"for any text write .*, as in ^{escaped}$"


def words_of_command(command: Any) -> str:
    """A command in one string as the list of its words; "" for anything else."""
    try:
        return f"write {flow_value(shlex.split(command))}" if isinstance(command, str) else ""
    except ValueError:
        return ""


def list_help(value: Any) -> str:
    """What to write for a list of strings that is none; "" for nothing."""
    if isinstance(value, str) and value.strip():
        return f"write {flow_value([one.strip() for one in value.split(',')])}"
    if isinstance(value, Mapping):
        return f"write {flow_value([str(key) for key, one in value.items() if one is not False])}"
    return ""
