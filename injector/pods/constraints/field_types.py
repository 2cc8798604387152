"""The types of a container's fields, where a template or a parameter can get them wrong.

An environment variable's value that is a number is the classic: YAML makes one of `value: 8080`, and the API server
answers 400. Rules: Kubernetes API reference, Container v1. Null counts as absent, as there; a field that is not in
the table is passed over.
"""

from __future__ import annotations

from typing import Any, Final

from injector.pods.constraints.pod_view import PodView, Violation, Violations, invalid, shown_value

#: A mapping of names to strings, a list of strings, and a number or a name.
_STRINGS: Final[Any] = "strings"
_PORT: Final[Any] = "number or name"

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


#: A place within a container as steps from it: texts are made only where something is wrong.
_Place = tuple[Any, ...]


def find(parts: PodView) -> Violations:
    """Fields of touched containers whose value is not of Kubernetes' type."""
    for container in parts.unproven:
        yield from _mapping((container.path,), container.body, _CONTAINER)


def _mapping(place: _Place, value: dict[str, Any], fields: dict[str, Any]) -> Violations:
    for name, held in value.items():
        shape: Any = fields.get(name)
        if shape is None or held is None:
            continue
        if type(shape) is type:
            if type(held) is not shape:
                yield _wrong(place, name, held, _WANTED[shape])
        elif type(shape) is dict:
            if type(held) is dict:
                yield from _mapping((*place, name), held, shape)
            else:
                yield _wrong(place, name, held, "a mapping")
        elif shape is _PORT:
            if type(held) is not int and type(held) is not str:
                yield _wrong(place, name, held, "a number or a name")
        elif type(held) is not list:
            yield _wrong(place, name, held, "a list")
        else:
            for item in held:
                if shape is _STRINGS:
                    if type(item) is not str:
                        yield _wrong(place, name, item, "a list of strings; put it in quotes")
                elif type(item) is dict:
                    yield from _mapping((*place, name, item), item, shape[0])
                else:
                    yield _wrong(place, name, item, "a list of mappings")


def _wrong(place: _Place, name: str, held: object, wanted: str) -> Violation:
    steps = [place[0]]
    for step in place[1:]:
        label = step.get("name") if type(step) is dict else None
        steps.append(f".{step}" if type(step) is str else f"[{label}]" if type(label) is str else "")
    verb = "has" if wanted.startswith("a list of") else "is"
    return invalid(f"{''.join(steps)}.{name} {verb} {shown_value(held)}; it must be {wanted}")
