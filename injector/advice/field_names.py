"""Fields as people call them elsewhere, in Compose or in another kind of volume: what to write here."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from injector.advice.words import by_word
from injector.names import hint, nearest
from injector.pods.fields import ANY, Field, fields_of

_CONDITION = (
    "to write a part only for some pods, put {% if params.x %} and {% endif %} on lines of their own around this part"
)
_LOOP = "put {% for item in params.list %} and {% endfor %} on lines of their own around the part that repeats"
_OF_WORKLOAD = "it is a field of the workload, and a template changes only pods: leave it out"
#: Words of other tools, wherever they stand.
_ANYWHERE = by_word(
    {
        "when if enabled condition": _CONDITION,
        "loop for with_items range": _LOOP,
    }
)
_ENV = "env, with an item `- {name: A, value: b}` for each variable"
_OF_POD = "it is a field of the whole pod (spec.securityContext), where it applies to the app as well: leave it out"
_PROBE = "livenessProbe, readinessProbe or startupProbe, as in startupProbe: {httpGet: {path: /, port: 8080}}"
#: By the type of the place: names that people give a field there, and what to write. What has blanks is a sentence.
_MEANT = by_word(
    {
        kinds: by_word(names)
        for kinds, names in {
            "Container EphemeralContainer": {
                "environment envVars variables": _ENV,
                "healthcheck probe": _PROBE,
                "depends_on dependsOn": "leave it out: a native sidecar starts before the app",
                "cpu cpus": "resources: {requests: {cpu: ...}}",
                "memory mem_limit": "resources: {limits: {memory: ...}}",
                "repository tag": 'image: "repository:tag"',
                "port expose": "ports: [{containerPort: 8080}]",
                "user": "securityContext: {runAsUser: 101}",
                "mounts": "volumeMounts: [{name: ..., mountPath: ...}]",
                "volumes": "volumeMounts here, and the volumes below `spec:`, beside `containers:`",
                "entrypoint": "command",
                "cmd": "args",
                "cap_add": "securityContext: {capabilities: {add: [NET_ADMIN]}}",
                "cap_drop": "securityContext: {capabilities: {drop: [ALL]}}",
                "exclude excludes": 'except: [name], in the container "*"',
                "include includes": 'only: [name], in the container "*"',
            },
            "PodSpec": {
                "sidecars sidecar container": "containers",
                "replicas strategy selector serviceName": _OF_WORKLOAD,
            },
            "VolumeMount": {
                "path target destination": "mountPath",
                "volume source": "name",
            },
            "ContainerPort": {"port targetPort target": "containerPort", "published": "hostPort"},
            "EnvVar": {
                "key": "name",
                "val": "value",
                "secret": "valueFrom: {secretKeyRef: {name: ..., key: ...}}",
                "configMap": "valueFrom: {configMapKeyRef: {name: ..., key: ...}}",
            },
            "EnvVarSource": {
                "secret secretRef": "secretKeyRef",
                "configMap configMapRef": "configMapKeyRef",
            },
            "EnvFromSource": {"name": "configMapRef: {name: ...}", "secretName": "secretRef: {name: ...}"},
            "SecretKeySelector": {"secret": "name"},
            "ConfigMapKeySelector": {"configMap": "name"},
            "Volume": {
                "pvc persistentVolume": "persistentVolumeClaim: {claimName: ...}",
                "tmpfs": "emptyDir: {sizeLimit: 16Mi}",
                "path": "hostPath: {path: ...}",
                "configMapName": "configMap: {name: ...}",
                "secretName": "secret: {secretName: ...}",
            },
            "Probe": {
                "interval": "periodSeconds",
                "retries": "failureThreshold",
                "delay start_period": "initialDelaySeconds",
                "http path": "httpGet: {path: /, port: 8080}",
                "test command": "exec: {command: [...]}",
                "tcp port": "httpGet: {path: /, port: ...} or tcpSocket: {port: ...}",
            },
            "LifecycleHandler": {"command": "exec: {command: [...]}"},
            "HTTPGetAction": {"url": "path: / and port: 8080"},
            "ExecAction": {"args": "the arguments into command as well"},
            "SecurityContext": {
                "user uid": "runAsUser",
                "group gid": "runAsGroup",
                "fsGroup supplementalGroups sysctls": _OF_POD,
            },
            "ResourceRequirements": {"cpu": "requests: {cpu: ...}", "memory": "requests: {memory: ...}"},
        }.items()
    }
)
#: How the sentences begin that say what to do where there is nothing to write.
_NOTHING = ("leave ", "it is ")
#: Where else people look for a field of these types.
_HOMES = {
    "PodSpec": "the pod's spec (beside `containers`)",
    "PodSecurityContext": "the pod's spec.securityContext",
    "Container": "a container",
    "SecurityContext": "a container's securityContext",
    "VolumeMount": "an item of a container's volumeMounts",
    "Probe": "a probe (beside its httpGet, tcpSocket, grpc or exec)",
    "ObjectMeta": "the pod's metadata (beside `spec`)",
}
#: Fields that too many types have.
_COMMON = ("name", "namespace", "value", "key", "path", "type", "uid", "kind")
#: How many known names are listed where none comes near.
_FEW = 12


def unknown_field(name: str, fields: Iterable[str], place: Field = ANY, value: object = None) -> str:
    """What to say of a field that a place does not have, with this value; `fields` are those that it has."""
    if name.startswith("$"):
        item = place.address.endswith("[]")
        return f"there is no field `{name}` here; {directive_help(name, value, place, item=item)}"
    return f"there is no field `{name}` here; {field_help(name, list(fields), place)}"


def clear_help(name: str, place: Field) -> str:
    """What to do about a field of an app's own pod that a place does not have; "" unless that is beyond doubt.

    The field may be of a Kubernetes that is newer than those known here, so only what people write elsewhere, another
    spelling or another place counts.
    """
    habit = _MEANT.get(place.type, {}).get(name, "")
    if habit == _OF_WORKLOAD:
        return "it belongs in the spec of the workload (beside `template`)"
    return "" if habit.startswith(_NOTHING) else _plain_help(name, list(place.fields.notations), place, 0.86)


def renamed_field(value: Mapping[str, object], place: Field, missing: str) -> str:
    """What to write where a mapping lacks a field and has one that people take for it; "" for nothing."""
    fields = list(place.fields.notations)
    for name in value:
        if isinstance(name, str) and name not in fields and _meant(name, fields, place) == missing:
            return f"write {missing} in place of {name}"
    return ""


def _meant(name: str, fields: list[str], place: Field) -> str:
    """The known field that another name stands for: in other tools, or as the end of it; "" for none."""
    if (habit := _MEANT.get(place.type, {}).get(name, "")) in place.fields.notations:
        return habit
    ends = [
        field_name
        for field_name in fields
        if field_name.lower().endswith(name.lower()) or name.lower().endswith(field_name.lower())
    ]
    return ends[0] if len(ends) == 1 and len(name) > 2 else ""


def field_help(name: str, fields: list[str], place: Field) -> str:
    """What to write in place of a field that a place does not have; `fields` are those that it has."""
    if help_ := _plain_help(name, fields, place, 0.8) or _ANYWHERE.get(name):
        return help_
    if habit := _meant(name, fields, place):
        return f"write {habit}"
    if nearest(name, fields) or len(fields) <= _FEW:
        return hint(name, fields).removeprefix("; ")
    return "Kubernetes has no field of that name here and drops it; leave it out"


def _plain_help(name: str, fields: list[str], place: Field, cutoff: float) -> str:
    """What other tools call by this name, a field that is spelled much like it, or where it belongs; else ""."""
    if habit := _MEANT.get(place.type, {}).get(name):
        return habit if habit.startswith(_NOTHING) else f"write {habit}"
    if near := nearest(name, fields, cutoff=cutoff):
        return f"did you mean {near}?"
    homes = [] if name in _ANYWHERE else list(_homes(name, fields, place))
    return f"it belongs in {' or in '.join(homes)}" if homes else ""


def _homes(name: str, fields: list[str], place: Field) -> Iterator[str]:
    """Where a field belongs that stands at a place: outside of it, or in a field of it."""
    below = [field for field in fields if name in place.fields[field].fields.notations]
    if name not in _COMMON:
        kinds: Iterable[str] = () if below and place.type == "Pod" else ("PodSpec",) if below else _HOMES
        above = [_HOMES[kind] for kind in kinds if kind != place.type and name in fields_of(kind)]
        yield from above
        if not below and not above:
            lists = [field for field in fields if name in place.fields[field].element.fields.notations]
            below = [f"an item of {field}" for field in (["containers"] if "containers" in lists else lists)]
    if below:
        yield " or ".join(filter(None, (", ".join(below[:-1]), below[-1])))


def directive_help(name: str, value: object, place: Field, *, item: bool) -> str:
    """What to write in place of `$patch` and other directives of Kustomize's, at a place or in an `item` of a list."""
    if name != "$patch" or value not in ("delete", "replace") or place.type in ("Pod", "PodSpec", "ObjectMeta"):
        return "leave it out: lists are merged by their keys"
    if value == "replace":
        return "to replace what the pod has, write `!replace` in front of the value"
    if item:
        return "leave this item out: a template cannot remove an item from a list"
    return f"to take {place.name or 'a value'} away, write `{place.name or 'key'}: !replace null`"
