"""The types of a container's fields, where a template or a parameter can get them wrong.

An environment variable's value that is a number is the classic: YAML makes one of `value: 8080`, and the API server
answers 400. Rules: Kubernetes API reference, Container v1. Null counts as absent, as there; a field that is not in
the table is passed over.
"""

from __future__ import annotations

from typing import Any, Final

from injector.pods.constraints.parts import Parts, Violations, invalid, shown

#: A mapping of names to strings, a list of strings, and a number or a name.
_STRINGS: Final = "strings"
_PORT: Final = "number or name"

_REFERENCE = {"name": str, "key": str, "optional": bool}
_ACTIONS = {
    "exec": {"command": _STRINGS},
    "httpGet": {
        "host": str,
        "path": str,
        "port": _PORT,
        "scheme": str,
        "httpHeaders": [{"name": str, "value": str}],
    },
    "tcpSocket": {"host": str, "port": _PORT},
}
_PROBE = {
    **_ACTIONS,
    "grpc": {"port": int, "service": str},
    "initialDelaySeconds": int,
    "periodSeconds": int,
    "timeoutSeconds": int,
    "successThreshold": int,
    "failureThreshold": int,
    "terminationGracePeriodSeconds": int,
}
_HOOK = {**_ACTIONS, "sleep": {"seconds": int}}
_CONTAINER: dict[str, Any] = {
    "image": str,
    "imagePullPolicy": str,
    "workingDir": str,
    "restartPolicy": str,
    "command": _STRINGS,
    "args": _STRINGS,
    "stdin": bool,
    "stdinOnce": bool,
    "tty": bool,
    "env": [
        {
            "name": str,
            "value": str,
            "valueFrom": {
                "configMapKeyRef": _REFERENCE,
                "secretKeyRef": _REFERENCE,
                "fieldRef": {"fieldPath": str},
                "resourceFieldRef": {"resource": str, "containerName": str},
            },
        }
    ],
    "envFrom": [{"prefix": str, "configMapRef": _REFERENCE, "secretRef": _REFERENCE}],
    "ports": [{"containerPort": int, "hostPort": int, "name": str, "protocol": str, "hostIP": str}],
    "volumeMounts": [{"name": str, "mountPath": str, "readOnly": bool, "subPath": str, "mountPropagation": str}],
    "volumeDevices": [{"name": str, "devicePath": str}],
    "livenessProbe": _PROBE,
    "readinessProbe": _PROBE,
    "startupProbe": _PROBE,
    "lifecycle": {"postStart": _HOOK, "preStop": _HOOK, "stopSignal": str},
    "resources": {"requests": {}, "limits": {}},
    "securityContext": {
        "allowPrivilegeEscalation": bool,
        "appArmorProfile": {"type": str, "localhostProfile": str},
        "capabilities": {"add": _STRINGS, "drop": _STRINGS},
        "privileged": bool,
        "procMount": str,
        "readOnlyRootFilesystem": bool,
        "runAsGroup": int,
        "runAsNonRoot": bool,
        "runAsUser": int,
        "seLinuxOptions": {"level": str, "role": str, "type": str, "user": str},
        "seccompProfile": {"type": str, "localhostProfile": str},
    },
}
_WANTED = {str: "a string; put it in quotes", int: "a whole number", bool: "true or false"}


def find(parts: Parts) -> Violations:
    """Fields of touched containers whose value is not of Kubernetes' type."""
    for container in parts.touched:
        yield from _mapping(container.path, container.body, _CONTAINER)


def _mapping(where: str, value: dict[str, Any], fields: dict[str, Any]) -> Violations:
    for name, held in value.items():
        shape = fields.get(name)
        if shape is None or held is None:
            continue
        if type(shape) is type:
            if type(held) is not shape:
                yield invalid(f"{where}.{name} is {shown(held)}; it must be {_WANTED[shape]}")
        elif type(shape) is dict:
            if type(held) is dict:
                yield from _mapping(f"{where}.{name}", held, shape)
            else:
                yield invalid(f"{where}.{name} is {shown(held)}; it must be a mapping")
        elif shape is _PORT:
            if type(held) is not int and type(held) is not str:
                yield invalid(f"{where}.{name} is {shown(held)}; it must be a number or a name")
        elif type(held) is not list:
            yield invalid(f"{where}.{name} is {shown(held)}; it must be a list")
        else:
            yield from _list(f"{where}.{name}", held, shape)


def _list(where: str, value: list[Any], shape: Any) -> Violations:
    for item in value:
        if shape is _STRINGS:
            if type(item) is not str:
                yield invalid(f"{where} has {shown(item)}, which is no string; put it in quotes")
        elif type(item) is dict:
            name = item.get("name")
            yield from _mapping(f"{where}[{name}]" if type(name) is str else where, item, shape[0])
        else:
            yield invalid(f"{where} has {shown(item)}; it must be a list of mappings")
