"""By type: what Kubernetes does with fields but does not say in its OpenAPI document, and where a merge differs.

Sources: the API reference of core/v1 ("only one of the following may be specified"), the defaulting functions
(`pkg/apis/core/v1/defaults.go`) and `omitempty` of the Go types. `tests/cluster/test_field_rules.py` holds them against
a real API server.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

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
