"""Kubernetes objects that tests create, and waiting for what becomes of them."""

from __future__ import annotations

import contextlib
from typing import Any

from tests.cluster.api import Api, ApiError, Object
from tests.cluster.controlplane import NODE, ControlPlane
from tests.cluster.processes import eventually

IMAGE = "registry.example/app:1"
CONFIGURATIONS = ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")
ANY_PODS_CREATION = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}


def _metadata(name: str, labels: dict[str, str] | None, annotations: dict[str, str] | None) -> Object:
    return {"name": name, "labels": labels or {}, "annotations": annotations or {}}


def pod_spec(**fields: Any) -> Object:
    """A pod's spec with one container, named app, on the node that there is."""
    return {"nodeName": NODE, "containers": [{"name": "app", "image": IMAGE}], **fields}


def pod(
    name: str, labels: dict[str, str] | None = None, annotations: dict[str, str] | None = None, **spec: Any
) -> Object:
    """A pod; `spec` adds to its spec or replaces what is there."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": _metadata(name, labels, annotations),
        "spec": pod_spec(**spec),
    }


def deployment(
    name: str,
    replicas: int = 1,
    labels: dict[str, str] | None = None,
    annotations: dict[str, str] | None = None,
    **spec: Any,
) -> Object:
    """A Deployment; labels, annotations and `spec` are those of its pods."""
    selector = {"app": name}
    template = {"metadata": {"labels": {**selector, **(labels or {})}, "annotations": annotations or {}}}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": selector},
            "template": {**template, "spec": pod_spec(**spec)},
        },
    }


def job(
    name: str, labels: dict[str, str] | None = None, annotations: dict[str, str] | None = None, **spec: Any
) -> Object:
    """A Job; labels, annotations and `spec` are those of its pod. Its container app ends at once."""
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name},
        "spec": {
            "backoffLimit": 0,
            "template": {
                "metadata": {"labels": labels or {}, "annotations": annotations or {}},
                "spec": pod_spec(restartPolicy="Never", **spec),
            },
        },
    }


def config_map(name: str, data: dict[str, str], labels: dict[str, str] | None = None) -> Object:
    """A ConfigMap."""
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": _metadata(name, labels, None), "data": data}


def service(name: str, port: int) -> Object:
    """A Service. As there is nothing behind it, who listens on its ClusterIP and port gets what is sent to it."""
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name},
        "spec": {"ports": [{"name": "https", "port": port, "targetPort": port}]},
    }


def webhook(name: str, client_config: Object, namespace: str | None = None, **fields: Any) -> Object:
    """One webhook of a configuration, by default called for new pods and failing closed.

    The name must have three parts, as in `pods.injector.example`, and be the test's own. With
    `namespace` only that namespace's pods are its business, so that tests do not meet each other.
    """
    entry: Object = {
        "name": name,
        "clientConfig": client_config,
        "rules": [ANY_PODS_CREATION],
        "admissionReviewVersions": ["v1"],
        "sideEffects": "NoneOnDryRun",
        "failurePolicy": "Fail",
        "timeoutSeconds": 5,
    }
    if namespace:
        entry["namespaceSelector"] = {"matchLabels": {"kubernetes.io/metadata.name": namespace}}
    return {**entry, **fields}


def webhook_configuration(name: str, *webhooks: Object, validating: bool = False) -> Object:
    """A MutatingWebhookConfiguration, or a validating one."""
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration" if validating else "MutatingWebhookConfiguration",
        "metadata": {"name": name},
        "webhooks": list(webhooks),
    }


def wait_until_called(control_plane: ControlPlane, webhook_name: str, namespace: str, probe: Object) -> None:
    """Wait until the API server calls a webhook that was just configured.

    A configuration has no status, and is in force only some milliseconds after its creation. So
    pods like `probe` are created as a dry run until the API server has counted a call. Whether the
    call succeeds is another matter.
    """
    before = control_plane.webhook_calls(webhook_name)
    eventually(
        f"the API server calls {webhook_name}",
        lambda: _probe(control_plane.api, namespace, probe) and control_plane.webhook_calls(webhook_name) > before,
    )


def wait_until_not_called(control_plane: ControlPlane, webhook_name: str, namespace: str, probe: Object) -> None:
    """Wait until the API server has noticed that a webhook's configuration is gone."""

    def not_called() -> bool:
        before = control_plane.webhook_calls(webhook_name)
        return _probe(control_plane.api, namespace, probe) and control_plane.webhook_calls(webhook_name) == before

    eventually(f"the API server no longer calls {webhook_name}", not_called)


def wait_until_in_force(control_plane: ControlPlane, kind: str) -> None:
    """Wait until all changes so far to webhook configurations of this kind count.

    The API server sees them in their order: when it calls a webhook that was configured after them, they count too.
    """
    name = "beacon.in-force.internal"
    rules = [{"apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"], "operations": ["CREATE"]}]
    nobody = {"url": "https://127.0.0.1:1/"}
    entry = webhook(name, nobody, "default", rules=rules, failurePolicy="Ignore", sideEffects="None")
    configuration = webhook_configuration("in-force-beacon", entry, validating=kind.startswith("Validating"))
    control_plane.api.create(configuration)
    wait_until_called(control_plane, name, "default", config_map("probe", {}))
    control_plane.api.delete(kind, "in-force-beacon")


def remove_configurations(control_plane: ControlPlane, name: str) -> None:
    """Delete the webhook configurations of this name, where there are any, and wait until nobody is called any more."""
    for kind in CONFIGURATIONS:
        if control_plane.api.exists(kind, name):
            control_plane.api.delete(kind, name)
            wait_until_in_force(control_plane, kind)


def _probe(api: Api, namespace: str, probe: Object) -> bool:
    with contextlib.suppress(ApiError):  # a refusal is counted too
        api.create(probe, namespace, dry_run=True)
    return True


def wait_until_available(api: Api, name: str, namespace: str, timeout: float = 90) -> list[Object]:
    """Wait until all of a Deployment's pods run, and return them."""

    def available() -> bool:
        current = api.get("Deployment", name, namespace)
        status, wanted = current["status"], current["spec"]["replicas"]
        seen = status.get("observedGeneration") == current["metadata"]["generation"]
        counts = (status.get(field, 0) for field in ("replicas", "updatedReplicas", "availableReplicas"))
        return seen and all(count == wanted for count in counts)

    eventually(f"deployment {name} is available", available, timeout)
    return [pod for pod in pods_of(api, name, namespace) if "deletionTimestamp" not in pod["metadata"]]


def pods_of(api: Api, name: str, namespace: str) -> list[Object]:
    """The pods of a Deployment that was made here."""
    return api.list("Pod", namespace, labelSelector=f"app={name}")


def events_about(api: Api, namespace: str, name: str) -> list[Object]:
    """The Events about the object of that name."""
    return api.list("Event", namespace, fieldSelector=f"involvedObject.name={name}")
