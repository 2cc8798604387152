"""Kubernetes objects that tests create, and waiting for what becomes of them."""

from __future__ import annotations

import itertools
from typing import Any

from tests.cluster.api import Api, ApiError, Object
from tests.cluster.controlplane import NODE, ControlPlane
from tests.cluster.processes import eventually

IMAGE = "registry.example/app:1"
_numbers = itertools.count(1)
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


def config_map(
    name: str,
    data: dict[str, str],
    labels: dict[str, str] | None = None,
    annotations: dict[str, str] | None = None,
) -> Object:
    """A ConfigMap."""
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": _metadata(name, labels, annotations), "data": data}


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


def wait_until_in_force(control_plane: ControlPlane, *kinds: str) -> None:
    """Wait until all changes so far to webhook configurations of these kinds (without any: of both) are in force.

    A configuration has no status. The API server sees changes in their order, so another one is made, whose webhook
    nobody answers: when a dry run is refused for it, those before it are in force too.
    """
    for kind in kinds or CONFIGURATIONS:
        number = next(_numbers)
        label, name = {"in-force-beacon": str(number)}, f"beacon-{number}.in-force.internal"
        rules = [{"apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"], "operations": ["CREATE"]}]
        entry = webhook(name, {"url": "https://127.0.0.1:1/"}, "default", rules=rules,
                        objectSelector={"matchLabels": label})  # fmt: skip
        configuration = webhook_configuration(name, entry, validating=kind.startswith("Validating"))
        control_plane.api.create(configuration)
        eventually(f"a {kind} is in force", lambda: _is_refused(control_plane.api, label, name))  # noqa: B023
        control_plane.api.delete(kind, name)


def _is_refused(api: Api, labels: dict[str, str], webhook_name: str) -> bool:
    try:
        api.create(config_map("probe", {}, labels), "default", dry_run=True)
    except ApiError as error:
        return webhook_name in error.message
    return False


def remove_configurations(control_plane: ControlPlane, name: str) -> None:
    """Delete the webhook configurations of this name, where there are any, and wait until nobody is called any more."""
    there = [kind for kind in CONFIGURATIONS if control_plane.api.exists(kind, name)]
    for kind in there:
        control_plane.api.delete(kind, name)
    if there:
        wait_until_in_force(control_plane, *there)


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
