"""Values of another shape than Kubernetes has at a place, as in `hostPath: /data`: what to write here."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from injector.advice.field_names import renamed_field
from injector.advice.values import boolean_of, seconds_in
from injector.advice.words import by_word
from injector.diagnostics import Path
from injector.names import WANTED, flow_value, kind_of, quotes_help, to_write
from injector.pods.fields import POD, Field
from injector.pods.overlay import Overlay
from injector.pods.shape import mistyped_fields

#: By type: the field that people mean who write a plain value in place of the mapping.
_SHORT = by_word(
    {
        "HostPathVolumeSource": "path",
        "SecretVolumeSource": "secretName",
        "ConfigMapVolumeSource LocalObjectReference SecretEnvSource ConfigMapEnvSource Sysctl": "name",
        "PersistentVolumeClaimVolumeSource": "claimName",
        "TCPSocketAction GRPCAction": "port",
        "SleepAction": "seconds",
        "SeccompProfile": "type",
        "ObjectFieldSelector": "fieldPath",
        "ResourceFieldSelector": "resource",
        "HostAlias": "ip",
    }
)
_QUANTITIES = "quantities"
_SIZE = r"(\d+(?:\.\d+)?[KMGT]i?)"
#: By type: how people write a mapping in one text, and what they mean by it.
_IN_ONE_TEXT: dict[str, tuple[tuple[str, str], ...]] = {
    "EnvVar": ((r"([^=]+)=.*", "{name: %s, value: ...}"),),
    "ContainerPort": (
        (r"(?:\d+:)?(\d{1,5})(?:/tcp)?", "{containerPort: %s}"),
        (r"(?:\d+:)?(\d{1,5})/udp", "{containerPort: %s, protocol: UDP}"),
    ),
    "VolumeMount": ((r"([^:]*):([^:]*).*", "{name: %s, mountPath: %s}"),),
    "EnvFromSource": ((r"(.+)", "{configMapRef: {name: %s}}, or secretRef for a Secret"),),
    "EmptyDirVolumeSource": ((_SIZE, "{sizeLimit: %s}"), (r".*", "{}")),
    "HTTPGetAction": ((r"(/.*)", "{path: %s, port: 8080}"), (r".*", "{path: /, port: 8080}")),
    "Probe": ((r".*", "{httpGet: {path: /, port: 8080}}"),),
    "Capabilities": ((r"(.+)", "{drop: [%s]}"),),
    _QUANTITIES: ((_SIZE, "{memory: %s}"), (r"(.+)", "{cpu: %s}")),
    **{kind: ((r"(.+)", f"{{{field}: %s}}"),) for kind, field in _SHORT.items()},
}
#: By the type of an item: the fields of it that are the key and the value where people write a mapping.
_PAIRS = {
    "EnvVar": ("name", "value"), "ContainerPort": ("name", "containerPort"), "VolumeMount": ("name", "mountPath"),
    "KeyToPath": ("key", "path"),
}  # fmt: skip
#: Characters of a value that is written as it should be in a message.
_LONGEST = 80
_JSON = re.compile(r"\[.*\]\s*\Z|\{.*\}\s*\Z", re.DOTALL)
#: What to say of a value of another type than the kind's.
_EXPECTED = {
    **{kind: WANTED[kind] for kind in ("string", "integer", "boolean")},
    "list": WANTED["array"],
    "map": WANTED["object"],
    "mapping": WANTED["object"],
}


def misshapen(overlay: Overlay) -> Iterator[tuple[Path, str]]:
    """The values in an overlay that are of another type than Kubernetes has there, each with what is wrong."""
    for path, field, value in mistyped_fields(overlay):
        if expected := _EXPECTED.get(field.kind):
            in_list = bool(path) and isinstance(path[-1], int)
            name = f"an item of {field.address.partition('.')[2].removesuffix('[]')}" if in_list else field.name
            sentence = (f"{name} is {kind_of(value)}", f"it has to be {expected}", help_at(path, value))
            yield path, "; ".join(filter(None, sentence))


def help_at(path: Path, value: object) -> str:
    """What to do about a value of another type at a path into a pod, which may be an item of a list."""
    if path and isinstance(path[-1], int):
        return item_help(value, POD.at(path[:-1]))
    return shape_help(value, POD.at(path))


def shape_help(value: object, field: Field) -> str:
    """What to do about a value of another type than the field's; "" where that is plain from the type."""
    if not isinstance(value, str | int | float | list | dict) or (isinstance(value, str) and len(value) > _LONGEST):
        return ""
    if field.kind not in ("list", "mapping", "map"):
        return _scalar_help(value, field) or quotes_help(value, (field.kind.replace("Quantity", "string"),))
    if isinstance(value, str) and _JSON.match(value):
        return "write it without quotes (and in a template without `| tojson`)"
    return _list_help(value, field) if field.kind == "list" else _mapping_help(value, field)


def _scalar_help(value: object, field: Field) -> str:
    if isinstance(value, dict):
        return _image_help(value) if field.name == "image" else ""
    if not isinstance(value, str):
        return ""
    if field.kind == "integer" and (seconds_in(value) or 0) >= 1:
        return f"write {int(seconds_in(value) or 0)}"
    if field.name in ("runAsUser", "runAsGroup", "fsGroup") and not value.isdecimal():
        return "write the number of the user or group, such as 101"
    boolean = boolean_of(value) if field.kind == "boolean" else ""
    return to_write(boolean and f"{boolean}, without quotes")


def item_help(item: object, field: Field) -> str:
    """What to do about an item of a list that is not a mapping, or lacks its merge key; "" for nothing.

    What is in a variable may be secret, and is not shown.
    """
    if isinstance(item, dict):
        return _unkeyed_help(item, field)
    if not isinstance(item, str | int | float) or not field.element.type:
        return quotes_help(item, (field.element.kind,))
    written = _in_full(field.element.type, item)
    return to_write(written, _begin_with_key(field))


def _unkeyed_help(item: dict[Any, Any], field: Field) -> str:
    """What to do about a mapping that stands for a text, or lacks its merge key."""
    if field.element.kind == "string" and len(item) == 1:
        text = ": ".join(map(str, *item.items()))
        is_plain = not isinstance(next(iter(item.values())), dict | list | bool) and len(text) <= _LONGEST
        return f"`: ` makes a mapping of it; put it in quotes{f': {_quoted(text)}' if is_plain else ''}"
    for key, default in field.key_defaults.items():
        if default is None and (renamed := renamed_field(item, field.element, key)):
            return renamed
    if field.element.type == "EnvVar" and len(item) == 1 and not item.keys() & {"name", "value"}:
        return f"write {{name: {_flow(next(iter(item)))}, value: ...}}"
    return ""


def _begin_with_key(field: Field) -> str:
    return f"begin each item with `- {field.keys[0]}: `" if field.keys else ""


def _in_full(kind: str, value: object) -> str:
    """The mapping of a type that is meant by one text or number; "" for none."""
    for pattern, written in _IN_ONE_TEXT.get(kind, ()):
        if match := re.fullmatch(pattern, str(value), re.DOTALL | re.IGNORECASE):
            bare = kind in ("ContainerPort", _QUANTITIES) or not isinstance(value, str)
            return written % (match.groups() if bare else tuple(map(_flow, match.groups())))
    return ""


def _list_help(value: object, field: Field) -> str:
    element = field.element
    if isinstance(value, dict):
        first = next(iter(value), None)
        pair = _PAIRS.get(element.type)
        if pair and first not in element.fields.notations and not isinstance(value.get(first), dict | list | None):
            example = "..." if element.type == "EnvVar" else _flow(value[first])
            return f"write an item for each, as in `- {{{pair[0]}: {_flow(first)}, {pair[1]}: {example}}}`"
        return _begin_with_key(field) or ("write `- ` in front of it" if element.kind == "mapping" else "")
    if not isinstance(value, str):
        return ""
    if element.kind == "mapping":
        written = _in_full(element.type, value)
        return f"write `- {written}`" if written.endswith("}") else item_help(value, field)
    return f"write {_quoted(_arguments(value) if field.name in ('command', 'args') else [value])}"


def _mapping_help(value: object, field: Field) -> str:
    if field.type == "ExecAction" and isinstance(value, str | list):
        command = _quoted(_arguments(value)) if isinstance(value, str) else "[...]"
        return f"write {field.name}: {{command: {command}}}"
    if isinstance(value, list) and value and all(isinstance(item, dict) for item in value):
        return "write its keys without `- `"
    written = "" if isinstance(value, list) else _in_full(_QUANTITIES if field.holds_quantities else field.type, value)
    written = written or ("{key: value}" if field.kind == "map" else "")
    return to_write(written and f"{field.name}: {written}")


def _image_help(value: dict[Any, Any]) -> str:
    image = value.get("repository") or value.get("name") or value.get("image")
    tag = value.get("tag") or value.get("version")
    return f"write image: {_quoted(f'{image}:{tag}' if tag else image)}" if isinstance(image, str) else ""


def _flow(value: object) -> str:
    """A value within `{...}` of YAML; a text in quotes where it needs them, and "..." for a long one."""
    return "..." if isinstance(value, str) and len(value) > _LONGEST else flow_value(value)


def _quoted(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _arguments(command: str) -> list[str]:
    """The words of a command as a shell reads them; all of it as one for a command that it does not read."""
    with suppress(ValueError):
        return shlex.split(command)
    return [command]
