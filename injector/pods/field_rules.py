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
_READ_ONLY = Rules(zero="readOnly")
_NAMED = Rules(zero="name")

RULES: dict[str, Rules] = {
    "AWSElasticBlockStoreVolumeSource": _READ_ONLY,
    "AzureDiskVolumeSource": Rules(defaults={"readOnly": (False,)}),
    "AzureFileVolumeSource": _READ_ONLY,
    "CSIVolumeSource": _READ_ONLY,
    "CephFSVolumeSource": Rules(zero="path readOnly"),
    "CinderVolumeSource": _READ_ONLY,
    "ClusterTrustBundleProjection": Rules(zero="name path"),
    "ConfigMapEnvSource": _NAMED,
    "ConfigMapKeySelector": _NAMED,
    "ConfigMapProjection": _NAMED,
    "ConfigMapVolumeSource": Rules(zero="name", defaults=_MODE),
    "Container": _CONTAINER,
    "ContainerPort": Rules(zero="hostIP hostPort name protocol"),
    "DownwardAPIVolumeFile": Rules(zero="path"),
    "DownwardAPIVolumeSource": Rules(defaults=_MODE),
    "EmptyDirVolumeSource": Rules(zero="medium"),
    "EnvFromSource": Rules(zero="prefix", one_of=("configMapRef", "secretRef")),
    "EnvVar": Rules(zero="name value", one_of=("value", "valueFrom")),
    "EnvVarSource": Rules(one_of=ALL),
    "EphemeralContainer": _CONTAINER,
    "FCVolumeSource": _READ_ONLY,
    "FileKeySelector": Rules(zero="path"),
    "FlexVolumeSource": _READ_ONLY,
    "GCEPersistentDiskVolumeSource": _READ_ONLY,
    "GRPCAction": Rules(zero="service", defaults={"service": ("",)}),
    "GlusterfsVolumeSource": Rules(zero="path readOnly"),
    "HTTPGetAction": Rules(zero="host path scheme", defaults={"path": ("/",), "scheme": ("HTTP",)}),
    "HTTPHeader": Rules(zero="name value"),
    "HostPathVolumeSource": Rules(zero="path", defaults={"type": ("",)}),
    "ISCSIVolumeSource": _READ_ONLY,
    "ImageVolumeSource": Rules(defaults={"pullPolicy": _PULL}),
    "KeyToPath": Rules(zero="path"),
    "LifecycleHandler": Rules(handlers=("exec", "httpGet", "tcpSocket", "sleep")),
    "LocalObjectReference": _NAMED,
    "NFSVolumeSource": Rules(zero="path readOnly"),
    "ObjectFieldSelector": Rules(defaults={"apiVersion": ("v1",)}),
    "ObjectMeta": _NAMED,
    "OwnerReference": _NAMED,
    "PersistentVolumeClaimSpec": Rules(defaults={"volumeMode": ("Filesystem",)}),
    "PersistentVolumeClaimVolumeSource": _READ_ONLY,
    "PodDNSConfigOption": _NAMED,
    "PodOS": _NAMED,
    "PodResourceClaim": Rules(zero="name", one_of=ALL),
    "PodSchedulingGate": _NAMED,
    "PodSpec": Rules(zero="hostIPC hostNetwork hostPID"),
    "PortworxVolumeSource": _READ_ONLY,
    "Probe": Rules(
        zero="failureThreshold initialDelaySeconds periodSeconds successThreshold timeoutSeconds",
        defaults={"timeoutSeconds": (1,), "periodSeconds": (10,), "successThreshold": (1,), "failureThreshold": (3,)},
        handlers=("exec", "httpGet", "tcpSocket", "grpc"),
    ),
    "ProjectedVolumeSource": Rules(defaults=_MODE),
    "QuobyteVolumeSource": _READ_ONLY,
    "RBDVolumeSource": _READ_ONLY,
    "ResourceClaim": _NAMED,
    "ResourceFieldSelector": Rules(defaults={"divisor": ("0", 0)}),
    "ScaleIOVolumeSource": _READ_ONLY,
    "SecretEnvSource": _NAMED,
    "SecretKeySelector": _NAMED,
    "SecretProjection": _NAMED,
    "SecretVolumeSource": Rules(defaults=_MODE),
    "SecurityContext": Rules(defaults={"procMount": ("Default",)}),
    "ServiceAccountTokenProjection": Rules(zero="path", defaults={"expirationSeconds": (3600,)}),
    "StorageOSVolumeSource": _READ_ONLY,
    "Sysctl": Rules(zero="name value"),
    "TCPSocketAction": Rules(zero="host"),
    "Toleration": Rules(zero="value"),
    "TypedLocalObjectReference": _NAMED,
    "TypedObjectReference": _NAMED,
    "Volume": Rules(zero="name", one_of=ALL),
    "VolumeDevice": _NAMED,
    "VolumeMount": Rules(zero="name readOnly subPath subPathExpr"),
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
}
