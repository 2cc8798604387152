"""Which field names the elements of a list, and how a place in a pod is written down.

The keys are those of the Kubernetes API's own schema (`x-kubernetes-list-map-keys` of the OpenAPI description,
io.k8s.api.core.v1, Kubernetes 1.37). A list that is not in the table is atomic: it belongs whole to one side.

A *keyed pointer* is a JSON pointer (RFC 6901) whose list steps are the elements' keys, so that it still finds its
element when others were inserted before it: `/spec/containers/app/ports/8080,TCP/name`.
"""

from __future__ import annotations

from typing import Any

import msgspec

_NAME = ("name",)

#: List field to the fields that name one element.
KEYS: dict[str, tuple[str, ...]] = {
    "containers": _NAME,
    "initContainers": _NAME,
    "ephemeralContainers": _NAME,
    "volumes": _NAME,
    "env": _NAME,
    "imagePullSecrets": _NAME,
    "resourceClaims": _NAME,
    "schedulingGates": _NAME,
    "evictionResponders": _NAME,
    "claims": _NAME,
    "ports": ("containerPort", "protocol"),
    "volumeMounts": ("mountPath",),
    "volumeDevices": ("devicePath",),
    "hostAliases": ("ip",),
    "topologySpreadConstraints": ("topologyKey", "whenUnsatisfiable"),
}

#: Key fields that the API server fills in when they are absent.
KEY_DEFAULTS = {"protocol": "TCP"}

#: Lists that grow by whole elements. Kubernetes calls them atomic or sets; both sides' elements can hold at once.
UNIONS = frozenset({"tolerations", "envFrom", "readinessGates", "sysctls", "finalizers"})

#: The lists of a pod's spec that hold containers.
CONTAINER_LISTS = ("containers", "initContainers", "ephemeralContainers")


def is_aligned(field: str) -> bool:
    """Whether elements of this list are told apart at all; the others are taken or left as a whole."""
    return field in KEYS or field in UNIONS


def step_of(item: Any, field: str) -> str:
    """One element's step in a keyed pointer, not yet escaped: its key, or its canonical JSON where it has none."""
    keys = KEYS.get(field)
    if keys is not None and type(item) is dict:
        if len(keys) == 1:
            name = item.get(keys[0])
            if type(name) is str:
                return name
        else:
            parts = [item.get(key, KEY_DEFAULTS.get(key)) for key in keys]
            if all(type(part) in (str, int) for part in parts):
                return ",".join(map(str, parts))
    return _canonical(item)


def steps_of(items: list[Any], field: str) -> list[str]:
    """The steps of all elements, each different: the second `A` is `A#2` (Kubernetes allows two variables `A`)."""
    keys = KEYS.get(field)
    if keys is not None and len(keys) == 1:
        key = keys[0]
        try:
            steps = [item[key] for item in items]
        except (KeyError, TypeError, IndexError):
            steps = [step_of(item, field) for item in items]
        else:
            if set(map(type, steps)) - {str} or set(map(type, items)) - {dict}:
                steps = [step_of(item, field) for item in items]
    else:
        steps = [step_of(item, field) for item in items]
    return steps if len(set(steps)) == len(steps) else _numbered(steps)


def escape(step: Any) -> str:
    """A step as it stands in a JSON pointer."""
    text = step if type(step) is str else str(step)
    return text.replace("~", "~0").replace("/", "~1") if "~" in text or "/" in text else text


def unescape(step: str) -> str:
    """The step that `escape` was given."""
    return step.replace("~1", "/").replace("~0", "~") if "~" in step else step


def spoken(pointer: str) -> str:
    """A keyed pointer as people read it: `spec.containers[envoy].image`."""
    text, in_list = "", False
    for step in pointer.split("/")[1:]:
        plain = unescape(step)
        if in_list:
            text, in_list = f"{text}[{plain}]", False
        else:
            text, in_list = f"{text}.{plain}" if text else plain, is_aligned(plain)
    return text


def _canonical(item: Any) -> str:
    try:
        return msgspec.json.encode(item, order="sorted").decode()
    except (ValueError, TypeError, RecursionError, OverflowError, msgspec.MsgspecError):
        return "?"  # no JSON text: such an element is only told apart by its place


def _numbered(steps: list[str]) -> list[str]:
    taken = set(steps)
    count: dict[str, int] = {}
    numbered = []
    for step in steps:
        n = count[step] = count.get(step, 0) + 1
        if n > 1:
            name = f"{step}#{n}"
            while name in taken:
                n += 1
                name = f"{step}#{n}"
            count[step] = n
            taken.add(name)
            step = name
        numbered.append(step)
    return numbered
