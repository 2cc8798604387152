"""Values of another shape than Kubernetes has at a place, as in `hostPath: /data`: what to write here."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from typing import Any

from injector.diagnostics import Path
from injector.names import WANTED, flow_value, kind_of, nearest, quotes_help
from injector.pods.fields import POD, Field
from injector.pods.foreign_fields import renamed_field
from injector.pods.overlay import Overlay, bare_value

#: By type: the field that people mean who write a plain value in place of the mapping.
_SHORT = {
    "HostPathVolumeSource": "path", "SecretVolumeSource": "secretName", "ConfigMapVolumeSource": "name",
    "PersistentVolumeClaimVolumeSource": "claimName", "EmptyDirVolumeSource": "sizeLimit", "ExecAction": "command",
    "TCPSocketAction": "port", "GRPCAction": "port", "SleepAction": "seconds", "SeccompProfile": "type",
    "ObjectFieldSelector": "fieldPath", "LocalObjectReference": "name", "SecretEnvSource": "name", "PodOS": "name",
    "ConfigMapEnvSource": "name", "ResourceFieldSelector": "resource", "PodReadinessGate": "conditionType",
    "HostAlias": "ip", "Sysctl": "name", "TopologySpreadConstraint": "topologyKey",
}  # fmt: skip
#: By the type of an item: the fields of it that are the key and the value where people write a mapping.
_PAIRS = {
    "EnvVar": ("name", "value"), "ContainerPort": ("name", "containerPort"), "VolumeMount": ("name", "mountPath"),
    "KeyToPath": ("key", "path"), "Sysctl": ("name", "value"),
}  # fmt: skip
#: The types of JSON Schema for kinds that are called otherwise here.
_JSON_TYPES = {"Quantity": "string"}
#: Characters of a value that is written as it should be in a message.
_LONGEST = 80
_DURATION = re.compile(r"(\d{1,9})\s?(s|sec|seconds?|m|min|minutes?|h|hours?)\Z")
_SECONDS = {"s": 1, "m": 60, "h": 3600}
_BOOLEANS = dict.fromkeys(("yes", "on", "true"), "true") | dict.fromkeys(("no", "off", "false"), "false")
_PORT = re.compile(r"(?:\d+:)?(\d{1,5})(?:/(tcp|udp|sctp))?\Z", re.IGNORECASE)
_JSON = re.compile(r"\[.*\]\s*\Z|\{.*\}\s*\Z", re.DOTALL)
_SIZE = re.compile(r"\d+(?:\.\d+)?[KMGT]i?\Z")


#: The Python types of a kind's values, and what to say of a value of another type. Quantities have no one type.
_TYPES: dict[str, tuple[tuple[type, ...], str]] = {
    "string": ((str,), WANTED["string"]),
    "integer": ((int,), WANTED["integer"]),
    "boolean": ((bool,), WANTED["boolean"]),
    "list": ((list,), WANTED["array"]),
    "map": ((dict,), WANTED["object"]),
    "mapping": ((dict,), WANTED["object"]),
}


def misshapen(overlay: Overlay, field: Field = POD, path: Path = ()) -> Iterator[tuple[Path, str]]:
    """The values in an overlay that are of another type than Kubernetes has there, each with what is wrong."""
    value = bare_value(overlay)
    if value is None or field.kind not in _TYPES:
        return
    types, wanted = _TYPES[field.kind]
    if type(value) not in types:
        in_list = bool(path) and isinstance(path[-1], int)
        name = f"an item of {field.address.partition('.')[2].removesuffix('[]')}" if in_list else field.name
        to_do = item_help(value, POD.at(path[:-1])) if in_list else shape_help(value, field)
        yield path, "; ".join(filter(None, (f"{name} is {kind_of(value)}", f"it has to be {wanted}", to_do)))
    elif field.kind == "mapping":
        for name, held in value.items():
            if path or name in ("spec", "metadata"):
                yield from misshapen(held, field.fields[name], (*path, name))
    elif field.kind == "list":
        for index, held in enumerate(value):
            yield from misshapen(held, field.element, (*path, index))


def shape_help(value: object, field: Field) -> str:
    """What to do about a value of another type than the field's; "" where that is plain from the type."""
    if not isinstance(value, str | int | float | list | dict) or (isinstance(value, str) and len(value) > _LONGEST):
        return ""
    if field.kind in ("list", "mapping", "map") and isinstance(value, str) and _JSON.match(value):
        return "write it without quotes (and in a template without `| tojson`)"
    if field.kind == "list":
        return _list_help(value, field)
    if field.kind in ("mapping", "map"):
        return _mapping_help(value, field)
    if isinstance(value, dict) and field.kind == "string":
        return _string_help(value, field)
    if field.kind == "integer" and isinstance(value, str):
        if found := _DURATION.match(value):
            return f"write {int(found[1]) * _SECONDS[found[2][0]]}"
        if field.name in ("runAsUser", "runAsGroup", "fsGroup") and not value.isdecimal():
            return "write the number of the user or group, such as 101"
    if field.kind == "boolean" and isinstance(value, str) and value.lower() in _BOOLEANS:
        return f"write {_BOOLEANS[value.lower()]}, without quotes"
    return quotes_help(value, (_JSON_TYPES.get(field.kind, field.kind),))


def item_fault(item: object, field: Field) -> str:
    """What is wrong with an item of a list that its merge key does not name: `has no name`, `is a string`."""
    if not isinstance(item, dict):
        return f"is {kind_of(item)}"
    keys = [key for key, default in field.key_defaults.items() if default is None]
    for key in keys:
        if not isinstance(item.get(key, ""), str | int) or isinstance(item.get(key), bool):
            return f"has {kind_of(item[key])} as its {key}"
    return f"has no {' and '.join(keys)}"


def item_help(item: object, field: Field) -> str:
    """What to do about an item of a list that is not a mapping, or lacks its merge key; "" for nothing.

    What is in a variable may be secret, and is not shown.
    """
    kind = field.element.type
    if isinstance(item, dict) and field.element.kind == "string" and len(item) == 1:
        [(key, rest)] = item.items()
        text = f"{key}: {rest}"
        if isinstance(rest, str | int | float) and not isinstance(rest, bool) and len(text) <= _LONGEST:
            return f"`: ` makes a mapping of it; put it in quotes: {json.dumps(text, ensure_ascii=False)}"
        return "`: ` makes a mapping of it; put it in quotes"
    if isinstance(item, dict):
        for name, value in item.items():
            if name in field.keys and value is not None:
                return quotes_help(value, ("string",))
            if isinstance(name, str) and (near := nearest(name, field.keys, cutoff=0.8)):
                return f"write {near} in place of {name}"
        for key, default in field.key_defaults.items():
            if default is None and (help_ := renamed_field(item, field.element, key)):
                return help_
        if kind == "EnvVar" and len(item) == 1 and "name" not in item and "value" not in item:
            return f"write {{name: {_flow(next(iter(item)))}, value: ...}}"
        return ""
    if not isinstance(item, str | int | float) or not kind:
        return quotes_help(item, (field.element.kind,))
    text = str(item)
    key, colon, rest = text.partition(":")
    if kind == "EnvVar" and "=" in text:
        return f"write {{name: {_flow(text.partition('=')[0])}, value: ...}}"
    if kind == "ContainerPort" and (found := _PORT.match(text)):
        protocol = f", protocol: {found[2].upper()}" if found[2] else ""
        return f"write {{containerPort: {found[1]}{protocol}}}"
    if kind == "VolumeMount" and colon:
        return f"write {{name: {_flow(key)}, mountPath: {_flow(rest.partition(':')[0])}}}"
    if kind == "EnvFromSource":
        return f"write {{configMapRef: {{name: {_flow(text)}}}}}, or secretRef for a Secret"
    if kind == "KeyToPath":
        return f"write {{key: {_flow(text)}, path: {_flow(text)}}}"
    if kind in _SHORT:
        return f"write {{{_SHORT[kind]}: {_flow(item)}}}"
    return f"begin each item with `- {field.keys[0]}: `" if field.keys else ""


def _list_help(value: object, field: Field) -> str:
    if isinstance(value, dict) and (field.keys or field.element.type in _PAIRS):
        first = next(iter(value), None)
        if first in field.element.fields.notations:
            return f"begin each item with `- {field.keys[0]}: `" if field.keys else "write `- ` in front of it"
        pair = _PAIRS.get(field.element.type)
        if pair and first is not None and not isinstance(value[first], dict | list):
            shown = "..." if field.element.type == "EnvVar" else _flow(value[first])
            return f"write an item for each, as in `- {{{pair[0]}: {_flow(first)}, {pair[1]}: {shown}}}`"
        return f"begin each item with `- {field.keys[0]}: `" if field.keys else ""
    if isinstance(value, dict) and field.element.kind == "mapping":
        return "write `- ` in front of it"
    if isinstance(value, str) and field.element.kind == "mapping":
        to_do = item_help(value, field)
        return f"write `- {to_do[6:]}`" if to_do.startswith("write {") and to_do.endswith("}") else to_do
    if isinstance(value, str):
        words = _words_of(value) if field.name in ("command", "args") else [value]
        return f"write {json.dumps(words, ensure_ascii=False)}" if words else ""
    return ""


def _mapping_help(value: object, field: Field) -> str:
    if isinstance(value, list):
        if field.type == "Capabilities" and all(isinstance(one, str) for one in value):
            verb = "drop" if value == ["ALL"] else "add"
            return f"write {field.name}: {{{verb}: {_flow(value)}}}"
        if field.type == "ExecAction":
            return f"write {field.name}: {{command: [...]}}"
        if value and all(isinstance(one, dict) for one in value):
            return "write its keys without `- `"
        return f"write {field.name}: {{key: value}}" if field.kind == "map" else ""
    if field.holds_quantities and isinstance(value, str | int):
        return f"write {field.name}: {{{'memory' if _SIZE.match(str(value)) else 'cpu'}: {value}}}"
    if field.type == "EmptyDirVolumeSource" and not _SIZE.match(str(value)):
        return f"write {field.name}: {{}}"
    if field.type == "HTTPGetAction":
        path = value if isinstance(value, str) and value.startswith("/") else "/"
        return f"write {field.name}: {{path: {path}, port: 8080}}"
    if field.type == "Capabilities":
        return f"write {field.name}: {{drop: [{value}]}}"
    if field.type == "Probe":
        return f"write {field.name}: {{httpGet: {{path: /, port: 8080}}}}"
    if field.type == "ExecAction" and isinstance(value, str):
        return f"write {field.name}: {{command: {json.dumps(_words_of(value) or [value], ensure_ascii=False)}}}"
    if short := _SHORT.get(field.type):
        return f"write {field.name}: {{{short}: {_flow(value)}}}"
    return f"write {field.name}: {{key: value}}" if field.kind == "map" else ""


def _string_help(value: dict[Any, Any], field: Field) -> str:
    parts = [value.get(key) for key in ("repository", "name", "image")]
    image = next((part for part in parts if isinstance(part, str)), None)
    if field.name == "image" and image:
        tag = value.get("tag") or value.get("version")
        return f"write image: {json.dumps(f'{image}:{tag}' if tag else image)}"
    only = next(iter(value.values())) if len(value) == 1 else None
    if field.name in ("serviceAccount", "serviceAccountName", "priorityClassName") and isinstance(only, str):
        return f"write {field.name.removesuffix('Name')}Name: {_flow(only)}"
    return ""


def _flow(value: object) -> str:
    """A value within `{...}` of YAML; a text in quotes where it needs them, and "..." for a long one."""
    if isinstance(value, str) and len(value) > _LONGEST:
        return "..."
    return flow_value(value)


def _words_of(command: str) -> list[str]:
    """The words of a command as a shell reads them; none of one that it does not read."""
    try:
        return shlex.split(command)
    except ValueError:
        return []
