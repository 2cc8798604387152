"""Fields as people call them elsewhere, in Compose or in another kind of volume: what to write here."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from injector.names import hint, nearest
from injector.pods.fields import ANY, Field, fields_of

_CONDITION = (
    "to write a part only for some pods, put {% if params.x %} and {% endif %} on lines of their own around this part"
)
_LOOP = "put {% for item in params.list %} and {% endfor %} on lines of their own around the part that repeats"
_OF_WORKLOAD = "it is a field of the workload, and a template changes only pods: leave it out"
#: Words of other tools, wherever they stand.
_ANYWHERE = {
    **dict.fromkeys(("when", "if", "unless", "enabled", "enable", "condition", "disabled"), _CONDITION),
    **dict.fromkeys(("loop", "for", "foreach", "for_each", "with_items", "range", "count", "repeat"), _LOOP),
}
_PATH = dict.fromkeys(("path", "target", "destination", "containerPath", "mount", "dir"), "mountPath")
_KEY = dict.fromkeys(("field", "item", "property"), "key")
_ENV = "env, with an item `- {name: A, value: b}` for each variable"
_OF_POD = "it is a field of the whole pod (spec.securityContext), where it applies to the app as well:"
_PROBE = "livenessProbe, readinessProbe or startupProbe, as in startupProbe: {httpGet: {path: /, port: 8080}}"
_USER = "securityContext: {runAsUser: 101}"
#: By the type of the place: names that people give a field there, and what to write. What has blanks is a sentence.
_MEANT: dict[str, dict[str, str]] = {
    "Container": {
        **dict.fromkeys(("environment", "envs", "envVars", "env_vars", "variables", "environmentVariables"), _ENV),
        **dict.fromkeys(("healthcheck", "healthCheck", "probe", "health"), _PROBE),
        **dict.fromkeys(("depends_on", "dependsOn"), "leave it out: a native sidecar starts before the app"),
        **dict.fromkeys(("cpu", "cpus"), "resources: {requests: {cpu: ...}}"),
        **dict.fromkeys(("memory", "mem_limit", "mem"), "resources: {limits: {memory: ...}}"),
        **dict.fromkeys(("repository", "tag", "version", "digest", "registry"), 'image: "repository:tag"'),
        **dict.fromkeys(("port", "expose"), "ports: [{containerPort: 8080}]"),
        **dict.fromkeys(("user", "uid"), _USER),
        **dict.fromkeys(("mounts", "mount"), "volumeMounts: [{name: ..., mountPath: ...}]"),
        "volumes": "volumeMounts here, and the volumes below `spec:`, beside `containers:`",
        "entrypoint": "command",
        "cmd": "args",
        "cap_add": "securityContext: {capabilities: {add: [NET_ADMIN]}}",
        "cap_drop": "securityContext: {capabilities: {drop: [ALL]}}",
        "script": "command: [sh, -c, ...]",
        **dict.fromkeys(("exclude", "excludes", "excluding", "skip"), 'except: [name], in the container "*"'),
        **dict.fromkeys(("include", "includes", "including"), 'only: [name], in the container "*"'),
    },
    "PodSpec": {
        **dict.fromkeys(("sidecars", "sidecar", "container"), "containers"),
        **dict.fromkeys(("replicas", "strategy", "selector", "minReadySeconds", "serviceName"), _OF_WORKLOAD),
    },
    "VolumeMount": {**_PATH, **dict.fromkeys(("volume", "source", "from"), "name")},
    "ContainerPort": {
        **dict.fromkeys(("port", "number", "targetPort", "target"), "containerPort"),
        "published": "hostPort",
    },
    "EnvVar": {
        **dict.fromkeys(("key", "var", "variable"), "name"),
        **dict.fromkeys(("val", "default"), "value"),
        "secret": "valueFrom: {secretKeyRef: {name: ..., key: ...}}",
        "configMap": "valueFrom: {configMapKeyRef: {name: ..., key: ...}}",
    },
    "EnvVarSource": {
        **dict.fromkeys(("secret", "secretRef"), "secretKeyRef"),
        **dict.fromkeys(("configMap", "configMapRef"), "configMapKeyRef"),
    },
    "EnvFromSource": dict.fromkeys(("name", "configMapName"), "configMapRef: {name: ...}")
    | dict.fromkeys(("secretName",), "secretRef: {name: ...}"),
    "SecretKeySelector": {**_KEY, "secret": "name"},
    "ConfigMapKeySelector": {**_KEY, **dict.fromkeys(("configMap", "configmap"), "name")},
    "KeyToPath": {**_KEY, **dict.fromkeys(("file", "name", "filename"), "path")},
    "Volume": {
        **dict.fromkeys(("pvc", "claim", "persistentVolume"), "persistentVolumeClaim: {claimName: ...}"),
        **dict.fromkeys(("size", "tmpfs"), "emptyDir: {sizeLimit: 16Mi}"),
        **dict.fromkeys(("path", "host"), "hostPath: {path: ...}"),
        "configMapName": "configMap: {name: ...}",
        "secretName": "secret: {secretName: ...}",
    },
    "Probe": {
        **dict.fromkeys(("interval", "period", "every"), "periodSeconds"),
        **dict.fromkeys(("retries", "threshold", "failures"), "failureThreshold"),
        **dict.fromkeys(("delay", "start_period", "startPeriod"), "initialDelaySeconds"),
        **dict.fromkeys(("http", "url", "path"), "httpGet: {path: /, port: 8080}"),
        **dict.fromkeys(("test", "cmd", "command"), "exec: {command: [...]}"),
        **dict.fromkeys(("tcp", "port"), "httpGet: {path: /, port: ...} or tcpSocket: {port: ...}"),
    },
    "LifecycleHandler": {
        **dict.fromkeys(("command", "cmd"), "exec: {command: [...]}"),
        "seconds": "sleep: {seconds: ...}",
    },
    "HTTPGetAction": dict.fromkeys(("url", "uri", "endpoint"), "path: / and port: 8080"),
    "ExecAction": {"args": "the arguments into command as well", "cmd": "command"},
    "SecurityContext": {
        **dict.fromkeys(("user", "uid"), "runAsUser"),
        **dict.fromkeys(("group", "gid"), "runAsGroup"),
        **dict.fromkeys(("fsGroup", "supplementalGroups"), f"{_OF_POD} leave it out, or write runAsGroup here"),
        **dict.fromkeys(("fsGroupChangePolicy", "supplementalGroupsPolicy", "sysctls"), f"{_OF_POD} leave it out"),
    },
    "ResourceRequirements": {
        name: f"requests: {{{name}: ...}}" for name in ("cpu", "memory", "ephemeral-storage")
    },
}  # fmt: skip
_MEANT["EphemeralContainer"] = _MEANT["Container"]
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


def unknown_field(name: str, known: Iterable[str], place: Field = ANY, value: object = None) -> str:
    """What to say of a field that a place does not have, with this value; `known` are those that it has."""
    if name.startswith("$"):
        item = place.address.endswith("[]")
        return f"there is no field `{name}` here; {removal_help(name, value, place, item=item)}"
    return f"there is no field `{name}` here; {field_help(name, list(known), place)}"


def clear_help(name: str, place: Field) -> str:
    """What to do about a field of an app's own pod that a place does not have; "" unless that is beyond doubt.

    The field may be of a Kubernetes that is newer than those known here, so only what people write elsewhere, another
    spelling or another place counts.
    """
    known, meant = list(place.fields.notations), _MEANT.get(place.type, {}).get(name, "")
    if meant == _OF_WORKLOAD:
        return "it belongs in the spec of the workload (beside `template`)"
    if meant and not meant.startswith(("leave ", "it is ")):
        return f"write {meant}"
    if near := nearest(name, known, cutoff=0.86):
        return f"did you mean {near}?"
    homes = [] if meant else list(_homes(name, known, place))
    return f"it belongs in {' or in '.join(homes)}" if homes else ""


def meant_field(name: str, place: Field) -> str:
    """The field of a place that people mean by a name that it does not have; "" where no other tool has such a name."""
    meant = _MEANT.get(place.type, {}).get(name, "")
    return meant if meant in place.fields.notations else ""


def renamed_field(value: Mapping[str, object], place: Field, wanted: str) -> str:
    """What to write where a mapping lacks a field and has one that people take for it; "" for nothing."""
    known = list(place.fields.notations)
    for name in value:
        if isinstance(name, str) and name not in known and _meant(name, known, place) == wanted:
            return f"write {wanted} in place of {name}"
    return ""


def _meant(name: str, known: list[str], place: Field) -> str:
    """The known field that another name stands for: in other tools, or as the end of it; "" for none."""
    if meant := meant_field(name, place):
        return meant
    ends = [one for one in known if one.lower().endswith(name.lower()) or name.lower().endswith(one.lower())]
    return ends[0] if len(ends) == 1 and len(name) > 2 else ""


def field_help(name: str, known: list[str], place: Field) -> str:
    """What to write in place of a field that a place does not have; `known` are those that it has."""
    if meant := _MEANT.get(place.type, {}).get(name):
        return meant if meant.startswith(("leave ", "it is ")) else f"write {meant}"
    if name in _ANYWHERE:
        return _ANYWHERE[name]
    if near := nearest(name, known, cutoff=0.8):
        return f"did you mean {near}?"
    if homes := list(_homes(name, known, place)):
        return f"it belongs in {' or in '.join(homes)}"
    if meant := _meant(name, known, place):
        return f"write {meant}"
    if nearest(name, known) or len(known) <= _FEW:
        return hint(name, known).removeprefix("; ")
    return "Kubernetes has no field of that name here and drops it; leave it out"


def _homes(name: str, known: list[str], place: Field) -> Iterator[str]:
    """Where a field belongs that stands at a place: outside of it, or in a field of it."""
    below = [one for one in known if name in place.fields[one].fields.notations]
    if name not in _COMMON:
        kinds: Iterable[str] = () if below and place.type == "Pod" else ("PodSpec",) if below else _HOMES
        above = [_HOMES[kind] for kind in kinds if kind != place.type and name in fields_of(kind)]
        yield from above
        if not below and not above:
            lists = [one for one in known if name in place.fields[one].element.fields.notations]
            below = [f"an item of {one}" for one in (["containers"] if "containers" in lists else lists)]
    if below:
        yield " or ".join(filter(None, (", ".join(below[:-1]), below[-1])))


def removal_help(name: str, value: object, place: Field, *, item: bool) -> str:
    """What to write in place of `$patch` and other directives of Kustomize's, at a place or in an `item` of a list."""
    ours = "a template cannot use Kustomize's directives"
    if name != "$patch" or value not in ("delete", "replace") or place.type in ("Pod", "PodSpec", "ObjectMeta"):
        return f"{ours}; leave it out: lists are merged by their keys"
    if value == "replace":
        return f"{ours}; to replace what the pod has, write `!replace` in front of the value"
    if place.type == "EnvVar":
        return f"{ours}, and a template cannot take a variable away: leave this item out"
    if item:
        return f"{ours}, and cannot remove an item from a list: leave this item out"
    return f"{ours}; to take {place.name or 'a value'} away, write `{place.name or 'key'}: !replace null`"
