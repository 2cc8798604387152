"""What is known of each place in a pod: `POD` is the whole, and from there a `Field` leads to each below it.

Types, merge keys and list types are Kubernetes' own (`kubernetes_fields`); what its document does not say, and where a
merge goes another way, stands in `RULES`. Nothing is known of what neither names: such a list is atomic.

Sources of the rules: the API reference of core/v1 ("only one of the following may be specified"), the defaulting
functions (`pkg/apis/core/v1/defaults.go`) and `omitempty` of the Go types. `tests/cluster/test_field_rules.py` holds
them against a real API server.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any, Final, NamedTuple

from injector.pods.kubernetes_fields import TYPES

#: Every field of the type but `name`.
ALL: Final = ("*",)


class Rules(NamedTuple):
    """What holds for a type.

    `defaults`: values that are filled in, by field. `zero`: fields whose zero (false, 0, "") is the same as no value;
    for all others, absent and zero are two things. `one_of`: fields of which one may be set; the object belongs whole
    to one side of a merge. `handlers`: the same, where the object's other fields merge.
    """

    zero: str = ""
    defaults: Mapping[str, tuple[Any, ...]] = {}
    one_of: tuple[str, ...] = ()
    handlers: tuple[str, ...] = ()


_PULL = ("Always", "IfNotPresent")  # by the image's tag, or the plug-in AlwaysPullImages
_MODE = {"defaultMode": (0o644,)}
_CONTAINER = Rules(
    zero="name stdin stdinOnce tty workingDir",
    defaults={
        "imagePullPolicy": _PULL,
        "terminationMessagePath": ("/dev/termination-log",),
        "terminationMessagePolicy": ("File",),
    },
)
#: Types of which this is all there is to say: fields whose zero is the same as no value.
_ZEROS = """\
AWSElasticBlockStoreVolumeSource: readOnly
AzureFileVolumeSource: readOnly
CSIVolumeSource: readOnly
CephFSVolumeSource: path readOnly
CinderVolumeSource: readOnly
ClusterTrustBundleProjection: path
ConfigMapEnvSource: name
ConfigMapKeySelector: name
ConfigMapProjection: name
ContainerPort: hostIP hostPort name protocol
DownwardAPIVolumeFile: path
EmptyDirVolumeSource: medium
FCVolumeSource: readOnly
FileKeySelector: path
FlexVolumeSource: readOnly
GCEPersistentDiskVolumeSource: readOnly
GlusterfsVolumeSource: path readOnly
HTTPHeader: name value
ISCSIVolumeSource: readOnly
KeyToPath: path
LocalObjectReference: name
NFSVolumeSource: path readOnly
ObjectMeta: name
OwnerReference: name
PersistentVolumeClaimVolumeSource: readOnly
PodCertificateProjection: certificateChainPath credentialBundlePath keyPath keyType signerName
PodDNSConfigOption: name
PodOS: name
PodSchedulingGate: name
PodSpec: hostIPC hostNetwork hostPID
PortworxVolumeSource: readOnly
QuobyteVolumeSource: readOnly
RBDVolumeSource: readOnly
ResourceClaim: name
ScaleIOVolumeSource: readOnly
SecretEnvSource: name
SecretKeySelector: name
SecretProjection: name
StorageOSVolumeSource: readOnly
Sysctl: name value
TCPSocketAction: host
Toleration: value
TypedLocalObjectReference: name
TypedObjectReference: name
VolumeDevice: name
VolumeMount: name readOnly subPath subPathExpr
"""

RULES = {
    **{name: Rules(zero) for name, zero in (line.split(": ") for line in _ZEROS.splitlines())},
    "AzureDiskVolumeSource": Rules(defaults={"readOnly": (False,)}),
    "ConfigMapVolumeSource": Rules(zero="name", defaults=_MODE),
    "Container": _CONTAINER,
    "DownwardAPIVolumeSource": Rules(defaults=_MODE),
    "EnvFromSource": Rules(zero="prefix", one_of=("configMapRef", "secretRef")),
    "EnvVar": Rules(zero="name value", one_of=("value", "valueFrom")),
    "EnvVarSource": Rules(one_of=ALL),
    "EphemeralContainer": _CONTAINER,
    "GRPCAction": Rules(zero="service", defaults={"service": ("",)}),
    "HTTPGetAction": Rules(zero="host path scheme", defaults={"path": ("/",), "scheme": ("HTTP",)}),
    "HostPathVolumeSource": Rules(zero="path", defaults={"type": ("",)}),
    "ImageVolumeSource": Rules(defaults={"pullPolicy": _PULL}),
    "LifecycleHandler": Rules(handlers=("exec", "httpGet", "tcpSocket", "sleep")),
    "ObjectFieldSelector": Rules(defaults={"apiVersion": ("v1",)}),
    "PersistentVolumeClaimSpec": Rules(defaults={"volumeMode": ("Filesystem",)}),
    "PodResourceClaim": Rules(zero="name", one_of=ALL),
    "Probe": Rules(
        zero="failureThreshold initialDelaySeconds periodSeconds successThreshold timeoutSeconds",
        defaults={"timeoutSeconds": (1,), "periodSeconds": (10,), "successThreshold": (1,), "failureThreshold": (3,)},
        handlers=("exec", "httpGet", "tcpSocket", "grpc"),
    ),
    "ProjectedVolumeSource": Rules(defaults=_MODE),
    "ResourceFieldSelector": Rules(defaults={"divisor": ("0", 0)}),
    "SecretVolumeSource": Rules(defaults=_MODE),
    "SecurityContext": Rules(defaults={"procMount": ("Default",)}),
    "ServiceAccountTokenProjection": Rules(zero="path", defaults={"expirationSeconds": (3600,)}),
    "Volume": Rules(zero="name", one_of=ALL),
    "VolumeProjection": Rules(one_of=ALL),
}

#: Fields that a merge takes otherwise than the document has them, in its notation, and fields that it does not have.
OURS: dict[str, str] = {
    # Atomic there, but both sides' elements can hold at once: lists that grow by whole elements, as sets do.
    "PodSpec.tolerations": "[Toleration] set",
    "PodSpec.readinessGates": "[PodReadinessGate] set",
    "PodSecurityContext.sysctls": "[Sysctl] set",
    "HostAlias.hostnames": "[string] set",
    "PodDNSConfig.searches": "[string] set",
    "Container.envFrom": "[EnvFromSource] set",
    "EphemeralContainer.envFrom": "[EnvFromSource] set",
    # Atomic there; a pod's own entries and a template's can hold at once as well.
    "PodSpec.nodeSelector": "{string}",
    "NodeAffinity.requiredDuringSchedulingIgnoredDuringExecution": "NodeSelector mapping",
    # Who owns a pod is not a template's to say.
    "ObjectMeta.ownerReferences": "[OwnerReference]",
    # A set there, but within a list that is atomic.
    "ContainerRestartRuleOnExitCodes.values": "[integer]",
    # Newer than the document: Kubernetes 1.37.
    "PodSpec.evictionResponders": "[EvictionResponder] by name",
    "VolumeMount.bindMountOptions": "[string] set",
}


#: The lists of a pod's spec that hold containers, in the order in which their containers start.
CONTAINER_LISTS = ("initContainers", "containers", "ephemeralContainers")

#: The newest Kubernetes with which these rules have been tried: a newer one may have more fields, and other types.
NEWEST: Final = (1, 37)
#: The Python types of a kind's values. Quantities are no matter of types alone.
VALUE_TYPES: Final[Mapping[str, tuple[type, ...]]] = {
    "string": (str,),
    "integer": (int,),
    "boolean": (bool,),
    "IntOrString": (int, str),
    "list": (list,),
    "map": (dict,),
    "mapping": (dict,),
}
_SCALARS = ("string", "integer", "boolean", "Quantity", "IntOrString", "")
_NO_RULES = Rules()


class _Below(dict[str, "Field"]):
    """The fields below a place, each made when it is asked for. There is one for every name."""

    def __init__(self, owner: str, notations: Mapping[str, str], rest: Callable[[str], Field] | None = None) -> None:
        super().__init__()
        self.owner, self.notations, self.rest = owner, notations, rest

    def __missing__(self, name: str) -> Field:
        notation = self.notations.get(name)
        if notation is None:
            return ANY if self.rest is None else self.rest(name)
        self[name] = field = Field(f"{self.owner}.{name}", notation)
        return field


class Field:
    """What is known of the values at one place.

    `address` says which place: `Container.ports` is that field of that type, `Container.ports[]` what is in it. `kind`
    is string, integer, boolean, Quantity, IntOrString, list, map (of any keys), mapping (of fields, of type `type`), or
    "" where nothing is known. `fields[name]` is there for every name, `element` for everything.
    """

    __slots__ = (
        "address",
        "aligned",  # elements of this list are told apart at all; the others are taken or left as a whole
        "defaults",  # values that Kubernetes fills in
        "element",
        "fields",
        "filled_in",  # by LimitRanger, or from limits, whatever the value
        "grows",  # a list that grows by whole elements
        "handlers",  # fields of which one may be set, in a mapping whose other fields merge
        "holds_containers",
        "holds_quantities",  # itself one, or a map of them
        "key_defaults",  # the values of `keys` that are absent
        "keys",  # the fields that name one element of a list
        "kind",
        "name",
        "one_of",  # fields of which one may be set, in a mapping that belongs whole to one side
        "type",
        "whole",  # a mapping that belongs whole to one side of a merge
        "zero_is_absent",
    )

    def __init__(self, address: str, notation: str = "") -> None:
        owner, _, self.name = address.partition(".")
        kind, *marks = notation.split(" ")
        inner = kind.strip("[]{}")
        rules, own = RULES.get(owner, _NO_RULES), _NO_RULES
        self.address = address
        self.type = ""
        self.fields: _Below = _NOTHING_BELOW
        self.element: Field = self if kind == "" else ANY
        self.keys: tuple[str, ...] = ()
        self.key_defaults = {}
        self.holds_containers = False
        if kind[0:1] == "[":
            self.kind = "list"
            self.element = Field(f"{address}[]", inner)
            self.keys = tuple(marks[1:]) if marks[:1] == ["by"] else ()
            self.key_defaults = {key: next(iter(self.element.fields[key].defaults), None) for key in self.keys}
            self.holds_containers = inner.endswith("Container")
        elif kind[0:1] == "{":
            self.kind = "map"
            value = Field(f"{address}[]", inner)
            self.fields = _Below("", {}, lambda _: value)
        elif kind in _SCALARS:
            self.kind = kind
        else:
            self.kind, self.type, own = "mapping", kind, RULES.get(kind, _NO_RULES)
            type_marks, self.fields = _of_type(kind)
            marks += [] if "mapping" in marks else type_marks
        self.grows = "set" in marks
        self.aligned = self.grows or bool(self.keys)
        self.one_of = (
            tuple(name for name in self.fields.notations if name != "name") if own.one_of is ALL else own.one_of
        )
        self.handlers = frozenset(own.handlers)
        self.whole = bool(self.one_of) or "atomic" in marks or "union" in marks
        written = tuple(mark[1:] for mark in marks if mark[0] == "=")
        self.defaults: tuple[Any, ...] = rules.defaults.get(self.name, written)
        self.zero_is_absent = self.name in rules.zero.split()
        self.holds_quantities = inner == "Quantity"
        self.filled_in = owner.endswith("ResourceRequirements") and self.name != "claims"

    def at(self, path: Iterable[str | int]) -> Field:
        """The place to which steps lead from here; elements of lists by their index or their key."""
        field = self
        for step in path:
            field = field.element if field.kind == "list" else field.fields[str(step)]
        return field

    def means_nothing(self, value: Any) -> bool:
        """Whether writing this value into the absent field changes nothing for Kubernetes."""
        kind = type(value)
        if kind is dict:
            return not value and self.kind == "map"  # other empty objects say something: `emptyDir: {}`
        if kind is list:
            return not value
        return value is None or (not value and self.zero_is_absent)

    def is_default(self, value: Any) -> bool:
        """Whether Kubernetes itself fills in this value where the field is absent."""
        return bool(self.defaults) and any(
            value == default and type(value) is type(default) for default in self.defaults
        )


_NOTHING_BELOW = _Below("", {})
#: A place of which nothing is known, and so it is of all below it.
ANY = Field("")


def _types() -> dict[str, tuple[list[str], dict[str, str]]]:
    """The marks of each type, and its fields with the notation of each."""
    types = {}
    for line in TYPES.replace("\n ", "").splitlines():
        head, _, text = line.partition(": ")
        name, *marks = head.split()
        types[name] = (marks, dict(part.split(" ", 1) for part in text.split(", ")))
    for address, notation in OURS.items():
        name, _, field = address.partition(".")
        types[name][1][field] = notation
    return types


_TYPES = _types()


@cache
def _of_type(name: str) -> tuple[list[str], _Below]:
    """The marks of a type and its fields; of a type that nobody knows, none."""
    marks, notations = _TYPES.get(name, ([], {}))
    return marks, _Below(name, notations)


def fields_of(name: str) -> Mapping[str, str]:
    """The fields of a type with the notation of each; of a type that nobody knows, none."""
    return _of_type(name)[1].notations


POD = Field("Pod", "Pod")
SPEC = POD.fields["spec"]
CONTAINER = SPEC.fields["containers"].element
#: The lists of a pod whose elements are told apart, by name.
_LISTS = {
    field: _of_type(name)[1][field]
    for name, (_, notations) in reversed(_TYPES.items())
    for field, notation in notations.items()
    if " by " in notation or notation.endswith(" set")
}
#: An object of any kind, of which nothing is known but that a list with the name of a pod's (in the template of a
#: Deployment, say) has elements that are told apart in the same way.
OBJECT = Field("")
OBJECT.fields = _Below("", {}, lambda name: _LISTS.get(name, OBJECT))
