"""The pods that a template is shown and linted with, each unlike the others where templates trip."""

from __future__ import annotations

from typing import Final, Literal, NamedTuple

from injector.pods.context import Namespace, Object, Workload

#: An ordinary Deployment, as its author writes it.
SAMPLE: Final[Object] = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web"},
    "spec": {
        "template": {
            "metadata": {"labels": {"app": "web"}},
            "spec": {"containers": [{"name": "web", "image": "web:1", "ports": [{"containerPort": 8080}]}]},
        }
    },
}


_WEB: Object = {"name": "web", "image": "example.com/web:1", "ports": [{"containerPort": 8080, "name": "http"}]}
_WORKER: Object = {
    "name": "worker",
    "image": "example.com/worker:1",
    "ports": [{"containerPort": 9090}, {"containerPort": 53, "protocol": "UDP"}],
    "env": [{"name": "A", "value": "b"}, {"name": "IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}],
    "resources": {"requests": {"cpu": "10m"}, "limits": {"memory": "64Mi"}},
    "volumeMounts": [{"name": "data", "mountPath": "/data"}],
}
_META: Object = {"generateName": "web-6d4cf56db6-", "labels": {"app": "web"}}
_ENABLED = Namespace("shop", {"injection": "enabled", "kubernetes.io/metadata.name": "shop"})
_OWNER: Object = {"apiVersion": "apps/v1", "name": "web", "uid": "0b8ad5e2-9f3c-4a43-9d0e-1c0f6a2f7d11"}


class SamplePod(NamedTuple):
    """A pod as the API server would send it; `native` is the setting of native sidecars it is linted under."""

    title: str
    pod: Object
    workload: Workload
    namespace: Namespace = _ENABLED
    native: Literal["auto", "never"] = "auto"


def _of(kind: str) -> Workload:
    return Workload(kind, "web", {**_OWNER, "kind": kind})


#: An ordinary pod, which parameters at their edges are tried with.
STANDARD = SamplePod(
    "a Deployment with port 8080", {"metadata": _META, "spec": {"containers": [_WEB]}}, _of("Deployment")
)

SAMPLE_PODS: tuple[SamplePod, ...] = (
    STANDARD,
    SamplePod("a Deployment where sidecars are plain containers", STANDARD.pod, STANDARD.workload, native="never"),
    SamplePod(
        "a bare Pod without ports",
        {"metadata": {"name": "bare"}, "spec": {"containers": [{"name": "web", "image": "example.com/web:1"}]}},
        Workload("Pod", "bare"),
        Namespace("default", {"injection": "enabled", "kubernetes.io/metadata.name": "default"}),
    ),
    SamplePod(
        "a StatefulSet with two containers, an init container and security contexts",
        {
            "metadata": {**_META, "annotations": {"example.com/note": "a: b\n- c"}},
            "spec": {
                "containers": [{**_WEB, "securityContext": {"readOnlyRootFilesystem": True}}, _WORKER],
                "initContainers": [{"name": "migrate", "image": "example.com/web:1"}],
                "volumes": [{"name": "data", "emptyDir": {}}],
                "securityContext": {"runAsNonRoot": True, "runAsUser": 1000, "fsGroup": 1000},
                "serviceAccountName": "web",
                "terminationGracePeriodSeconds": 60,
            },
        },
        _of("StatefulSet"),
    ),
    SamplePod(
        "a Job",
        {
            "metadata": {"generateName": "web-", "labels": {"job-name": "web"}},
            "spec": {"containers": [{"name": "web", "image": "example.com/web:1"}], "restartPolicy": "Never"},
        },
        _of("Job"),
    ),
    SamplePod(
        "a DaemonSet on its node's network",
        {"metadata": _META, "spec": {"containers": [_WEB], "hostNetwork": True}},
        _of("DaemonSet"),
    ),
)
