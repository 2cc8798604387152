"""What `RULES` says of defaults, of zeros and of fields that exclude one another is what the API server does."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from injector.pods.context import Object
from injector.pods.fields import POD, RULES, Field
from tests.cluster.api import ApiError
from tests.cluster.controlplane import ControlPlane

_KEY = {"name": "a", "key": "a"}
_SELECTOR = {"fieldPath": "metadata.name"}
_CONTAINER = "spec.containers.0"
_VOLUME = "spec.volumes.0"
_PROJECTED = f"{_VOLUME}.projected.sources.0"
_CLAIM = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}

#: A place of each type in a pod, and what has to stand there for the API server to take the pod.
PLACES: dict[str, tuple[str, Object]] = {
    "AWSElasticBlockStoreVolumeSource": (f"{_VOLUME}.awsElasticBlockStore", {"volumeID": "a"}),
    "AzureDiskVolumeSource": (
        f"{_VOLUME}.azureDisk",
        {"diskName": "a", "diskURI": "https://a.blob.core.windows.net/a"},
    ),
    "AzureFileVolumeSource": (f"{_VOLUME}.azureFile", {"secretName": "a", "shareName": "a"}),
    "CSIVolumeSource": (f"{_VOLUME}.csi", {"driver": "a"}),
    "CephFSVolumeSource": (f"{_VOLUME}.cephfs", {"monitors": ["a"]}),
    "CinderVolumeSource": (f"{_VOLUME}.cinder", {"volumeID": "a"}),
    "ClusterTrustBundleProjection": (f"{_PROJECTED}.clusterTrustBundle", {"signerName": "a.example/a", "path": "a"}),
    "ConfigMapEnvSource": (f"{_CONTAINER}.envFrom.0.configMapRef", {"name": "a"}),
    "ConfigMapKeySelector": (f"{_CONTAINER}.env.0.valueFrom.configMapKeyRef", _KEY),
    "ConfigMapProjection": (f"{_PROJECTED}.configMap", {"name": "a"}),
    "ConfigMapVolumeSource": (f"{_VOLUME}.configMap", {"name": "a"}),
    "Container": (_CONTAINER, {}),
    "ContainerPort": (f"{_CONTAINER}.ports.0", {"containerPort": 80}),
    "DownwardAPIVolumeFile": (f"{_VOLUME}.downwardAPI.items.0", {"path": "a", "fieldRef": _SELECTOR}),
    "DownwardAPIVolumeSource": (f"{_VOLUME}.downwardAPI", {}),
    "EmptyDirVolumeSource": (f"{_VOLUME}.emptyDir", {}),
    "EnvFromSource": (f"{_CONTAINER}.envFrom.0", {"configMapRef": {"name": "a"}}),
    "EnvVar": (f"{_CONTAINER}.env.0", {"name": "A"}),
    "EnvVarSource": (f"{_CONTAINER}.env.0.valueFrom", {"fieldRef": _SELECTOR}),
    "EphemeralContainer": (_CONTAINER, {}),  # these come with a running pod only, and are containers in all this
    "FCVolumeSource": (f"{_VOLUME}.fc", {"targetWWNs": ["a"], "lun": 1}),
    "FileKeySelector": (f"{_CONTAINER}.env.0.valueFrom.fileKeyRef", {"key": "a", "path": "a", "volumeName": "volume"}),
    "FlexVolumeSource": (f"{_VOLUME}.flexVolume", {"driver": "a/b"}),
    "GCEPersistentDiskVolumeSource": (f"{_VOLUME}.gcePersistentDisk", {"pdName": "a"}),
    "GRPCAction": (f"{_CONTAINER}.livenessProbe.grpc", {"port": 80}),
    "GlusterfsVolumeSource": (f"{_VOLUME}.glusterfs", {"endpoints": "a", "path": "a"}),
    "HTTPGetAction": (f"{_CONTAINER}.livenessProbe.httpGet", {"port": 80}),
    "HTTPHeader": (f"{_CONTAINER}.livenessProbe.httpGet.httpHeaders.0", {"name": "a", "value": "a"}),
    "HostPathVolumeSource": (f"{_VOLUME}.hostPath", {"path": "/a"}),
    "ISCSIVolumeSource": (f"{_VOLUME}.iscsi", {"targetPortal": "a", "iqn": "iqn.2000-01.com.example:a", "lun": 0}),
    "ImageVolumeSource": (f"{_VOLUME}.image", {"reference": "a:1"}),
    "KeyToPath": (f"{_VOLUME}.secret.items.0", {"key": "a", "path": "a"}),
    "LifecycleHandler": (f"{_CONTAINER}.lifecycle.preStop", {"sleep": {"seconds": 1}}),
    "LocalObjectReference": ("spec.imagePullSecrets.0", {"name": "a"}),
    "NFSVolumeSource": (f"{_VOLUME}.nfs", {"server": "a", "path": "/a"}),
    "ObjectFieldSelector": (f"{_CONTAINER}.env.0.valueFrom.fieldRef", _SELECTOR),
    "PersistentVolumeClaimSpec": (f"{_VOLUME}.ephemeral.volumeClaimTemplate.spec", _CLAIM),
    "PersistentVolumeClaimVolumeSource": (f"{_VOLUME}.persistentVolumeClaim", {"claimName": "a"}),
    "PodCertificateProjection": (
        f"{_PROJECTED}.podCertificate",
        {
            "signerName": "a.example/a",
            "keyType": "ED25519",
            "keyPath": "a",
            "certificateChainPath": "b",
        },
    ),
    "PodDNSConfigOption": ("spec.dnsConfig.options.0", {"name": "a"}),
    "PodOS": ("spec.os", {"name": "linux"}),
    "PodResourceClaim": ("spec.resourceClaims.0", {"name": "a", "resourceClaimName": "a"}),
    "PodSchedulingGate": ("spec.schedulingGates.0", {"name": "a.example/b"}),
    "PodSpec": ("spec", {}),
    "PortworxVolumeSource": (f"{_VOLUME}.portworxVolume", {"volumeID": "a"}),
    "Probe": (f"{_CONTAINER}.livenessProbe", {"tcpSocket": {"port": 80}}),
    "ProjectedVolumeSource": (f"{_VOLUME}.projected", {}),
    "QuobyteVolumeSource": (f"{_VOLUME}.quobyte", {"registry": "a:1", "volume": "a"}),
    "RBDVolumeSource": (f"{_VOLUME}.rbd", {"monitors": ["a"], "image": "a"}),
    "ResourceFieldSelector": (f"{_CONTAINER}.env.0.valueFrom.resourceFieldRef", {"resource": "limits.cpu"}),
    "ScaleIOVolumeSource": (f"{_VOLUME}.scaleIO", {"gateway": "a", "system": "a", "volumeName": "a"}),
    "SecretEnvSource": (f"{_CONTAINER}.envFrom.0.secretRef", {"name": "a"}),
    "SecretKeySelector": (f"{_CONTAINER}.env.0.valueFrom.secretKeyRef", _KEY),
    "SecretProjection": (f"{_PROJECTED}.secret", {"name": "a"}),
    "SecretVolumeSource": (f"{_VOLUME}.secret", {"secretName": "a"}),
    "SecurityContext": (f"{_CONTAINER}.securityContext", {}),
    "ServiceAccountTokenProjection": (f"{_PROJECTED}.serviceAccountToken", {"path": "a"}),
    "StorageOSVolumeSource": (f"{_VOLUME}.storageos", {"volumeName": "a"}),
    "Sysctl": ("spec.securityContext.sysctls.0", {"name": "kernel.shm_rmid_forced", "value": "1"}),
    "TCPSocketAction": (f"{_CONTAINER}.livenessProbe.tcpSocket", {"port": 80}),
    "Toleration": ("spec.tolerations.0", {"key": "a"}),
    "Volume": (_VOLUME, {"emptyDir": {}}),
    "VolumeMount": (f"{_CONTAINER}.volumeMounts.0", {"name": "volume", "mountPath": "/a"}),
    "VolumeProjection": (_PROJECTED, {"configMap": {"name": "a"}}),
}
#: Types of which a pod has one only beside others, or behind a gate that the server keeps closed.
NOT_HERE = {
    "ObjectMeta",
    "OwnerReference",
    "ResourceClaim",
    "TypedLocalObjectReference",
    "TypedObjectReference",
    "VolumeDevice",
}
#: Members of unions that are no place of the table above.
VALUES: dict[str, Any] = {
    "value": "a",
    "valueFrom": {"fieldRef": _SELECTOR},
    "resourceClaimName": "a",
    "resourceClaimTemplateName": "a",
    "exec": {"command": ["a"]},
    "sleep": {"seconds": 1},
    "tcpSocket": {"port": 80},
    "httpGet": {"port": 80},
    "configMapRef": {"name": "a"},
    "ephemeral": {"volumeClaimTemplate": {"spec": _CLAIM}},
    "downwardAPI": {"items": [{"path": "a", "fieldRef": _SELECTOR}]},
}
#: A default of older servers, which the field has today without being filled in.
NOT_FILLED = {"SecurityContext.procMount"}
#: The server keeps this zero, and a kubelet takes it as no value.
KEPT = {"CSIVolumeSource.readOnly"}
ZEROS = {"string": "", "integer": 0, "boolean": False}


@pytest.fixture(scope="module")
def control_plane(gated_control_plane: ControlPlane) -> ControlPlane:
    """One that has the fields which are behind gates before Kubernetes 1.37."""
    return gated_control_plane


def place(name: str) -> Field:
    return POD.at(PLACES[name][0].split("."))


def members(name: str) -> list[str]:
    return sorted(place(name).one_of or place(name).handlers)


def pod(name: str, value: Object) -> Object:
    """A pod with this object in the place of the type."""
    container, volume = {"name": "app", "image": "web:1"}, {"name": "volume"}
    spec: Object = {"containers": [container], "volumes": [volume], "automountServiceAccountToken": False}
    made: Object = {"apiVersion": "v1", "kind": "Pod", "metadata": {"generateName": "web-"}, "spec": spec}
    here: Any = made
    for step, following in itertools.pairwise([*PLACES[name][0].split("."), ""]):
        empty: Any = [{}] if following == "0" else {}
        here = here[0] if step == "0" else here.setdefault(step, empty)
    here.update(value)
    for variable in container.get("env", ()):
        variable.setdefault("name", "A")  # type: ignore[attr-defined]
    if len(volume) == 1:
        volume["emptyDir"] = {}  # type: ignore[assignment]
    return made


def made_of(control_plane: ControlPlane, name: str, value: Object | None = None) -> Any:
    """What the API server makes of the object; where it does not take the pod, the words of its refusal."""
    value = PLACES[name][1] if value is None else value
    try:
        answer: Any = control_plane.api.create(pod(name, value), "default", dry_run=True)
    except ApiError as error:
        return error.message
    for step in PLACES[name][0].split("."):
        answer = answer[int(step) if step.isdigit() else step]
    return answer


def test_the_places_are_of_the_types() -> None:
    assert {name: place(name).type for name in PLACES} == {
        name: name if name != "EphemeralContainer" else "Container" for name in PLACES
    }
    assert PLACES.keys() | NOT_HERE == RULES.keys()


def refused(answer: Object | str) -> bool:
    return isinstance(answer, str)


@pytest.mark.parametrize("name", [name for name in PLACES if RULES[name].defaults])
def test_defaults_are_filled_in(name: str, control_plane: ControlPlane) -> None:
    answer = made_of(control_plane, name)
    for field, values in RULES[name].defaults.items():
        assert f"{name}.{field}" in NOT_FILLED or answer[field] in values


@pytest.mark.parametrize("name", [name for name in PLACES if RULES[name].zero])
def test_a_zero_is_the_same_as_no_value(name: str, control_plane: ControlPlane) -> None:
    for field in RULES[name].zero.split():
        without = {key: value for key, value in PLACES[name][1].items() if key != field}
        zero = ZEROS[place(name).fields[field].kind]
        answer, other = made_of(control_plane, name, without | {field: zero}), made_of(control_plane, name, without)
        if f"{name}.{field}" not in KEPT and not (field == "name" and refused(answer)):  # most have to have a name
            assert answer == other or (refused(answer) and refused(other)), field


@pytest.mark.parametrize("name", [name for name in PLACES if RULES[name].one_of or RULES[name].handlers])
def test_of_a_union_one_member_is_set(name: str, control_plane: ControlPlane) -> None:
    path, value = PLACES[name]
    values = {at.removeprefix(f"{path}."): PLACES[other][1] for other, (at, _) in PLACES.items()} | VALUES
    rest = {key: given for key, given in value.items() if key not in members(name)}
    known = [key for key in members(name) if key in values]
    alone = [key for key in known if not refused(made_of(control_plane, name, rest | {key: values[key]}))]
    assert len(alone) > len(members(name)) / 2
    for pair in itertools.pairwise(alone):
        assert refused(made_of(control_plane, name, rest | {key: values[key] for key in pair})), pair
