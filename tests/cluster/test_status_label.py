"""The label that the injector gives to pods changes nothing for who selects them: real controllers, real API server."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cluster.conftest import ConfigureWebhooks, NamespaceFactory
from tests.cluster.controlplane import ControlPlane
from tests.cluster.objects import deployment, wait_until_available, webhook
from tests.cluster.processes import eventually
from tests.cluster.server import InjectorServer

LABEL = "sidecar.injector/status"


def test_controllers_count_the_same_pods(
    control_plane: ControlPlane,
    namespace: NamespaceFactory,
    injector_server: Callable[..., InjectorServer],
    configure_webhooks: ConfigureWebhooks,
) -> None:
    api, shop = control_plane.api, namespace(labels={"injection": "enabled"})
    server = injector_server()
    configure_webhooks(webhook("label.injector.example", server.client_config(), namespace=shop))
    selector = {"matchLabels": {"app": "web"}}
    api.create(
        {
            "apiVersion": "policy/v1",
            "kind": "PodDisruptionBudget",
            "metadata": {"name": "web"},
            "spec": {"maxUnavailable": 1, "selector": selector},
        },
        shop,
    )
    ports = [{"port": 80, "targetPort": 80}]
    api.create(
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": "web"},
            "spec": {"selector": {"app": "web"}, "ports": ports},
        },
        shop,
    )
    api.create(deployment("web", 3), shop)
    pods = wait_until_available(api, "web", shop)
    assert {found["metadata"]["labels"][LABEL] for found in pods} == {"injected"}
    [replica_set] = api.list("ReplicaSet", shop)
    assert LABEL not in str(replica_set["spec"])
    eventually(
        "the budget counts them",
        lambda: api.get("PodDisruptionBudget", "web", shop).get("status", {}).get("expectedPods") == 3,
    )
    eventually(
        "the Service leads to them",
        lambda: sum(len(one.get("endpoints") or ()) for one in api.list("EndpointSlice", shop)) == 3,
    )
    # somebody takes the label off: nobody makes other pods of it, and the Deployment goes on scaling
    name = pods[0]["metadata"]["name"]
    api.patch("Pod", name, {"metadata": {"labels": {LABEL: None}}}, shop)
    control_plane.kubectl("scale", "deployment", "web", "-n", shop, "--replicas=2")
    wait_until_available(api, "web", shop)
    stateful = {**deployment("db", 2), "kind": "StatefulSet", "metadata": {"name": "db"}}
    stateful["spec"]["serviceName"] = "db"
    api.create(stateful, shop)
    eventually(
        "both pods of the StatefulSet run",
        lambda: api.get("StatefulSet", "db", shop).get("status", {}).get("readyReplicas") == 2,
    )
    listed = control_plane.kubectl("get", "pods", "-n", shop, "-l", f"{LABEL}=injected", "-o", "name").stdout
    assert len(listed.split()) >= 3


def _metrics_api() -> dict[str, Any]:
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    names = {"plural": "pods", "singular": "pod", "kind": "PodMetrics", "listKind": "PodMetricsList"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {
            "name": "pods.metrics.k8s.io",
            "annotations": {"api-approved.kubernetes.io": "unapproved, it stands for metrics-server"},
        },
        "spec": {
            "group": "metrics.k8s.io",
            "names": names,
            "scope": "Namespaced",
            "versions": [{"name": "v1beta1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}],
        },
    }


@pytest.fixture
def pod_metrics(control_plane: ControlPlane, tmp_path: Path) -> Iterator[Callable[[list[Any], str], None]]:
    """Says of pods what they use. metrics-server asks kubelets, which are not here: objects of its API stand for it."""
    file = tmp_path / "metrics.json"
    control_plane.api.create(_metrics_api())

    def tell(pods: list[Any], memory: str) -> None:
        items = [
            {
                "apiVersion": "metrics.k8s.io/v1beta1",
                "kind": "PodMetrics",
                "metadata": {key: one["metadata"][key] for key in ("name", "namespace", "labels")},
                "timestamp": one["status"]["startTime"],
                "window": "10s",
                "containers": [
                    {"name": container["name"], "usage": {"cpu": "1m", "memory": memory}}
                    for container in one["spec"]["containers"]
                ],
            }
            for one in pods
        ]
        file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
        control_plane.kubectl("apply", "-f", str(file))

    yield tell
    control_plane.api.delete("CustomResourceDefinition", "pods.metrics.k8s.io")


def test_the_autoscaler_and_policies_choose_the_same_pods(
    control_plane: ControlPlane,
    namespace: NamespaceFactory,
    injector_server: Callable[..., InjectorServer],
    configure_webhooks: ConfigureWebhooks,
    pod_metrics: Callable[[list[Any], str], None],
) -> None:
    """Beside the same pods without the label: a NetworkPolicy is made and read by the API server, and not enforced."""
    api = control_plane.api
    chosen = {}
    for key in ("label", "none"):
        shop = namespace(labels={"injection": "enabled"})
        server = injector_server(settings={} if key == "label" else {"statusLabel": ""})
        configure_webhooks(webhook(f"{key}.injector.example", server.client_config(), namespace=shop))
        api.create(deployment("web", 2), shop)
        api.create(deployment("other", 1), shop)
        pods = wait_until_available(api, "web", shop)
        assert {LABEL in one["metadata"]["labels"] for one in pods} == {key == "label"}
        metric = {"name": "memory", "target": {"type": "AverageValue", "averageValue": "50Mi"}}
        api.create(
            {
                "apiVersion": "autoscaling/v2",
                "kind": "HorizontalPodAutoscaler",
                "metadata": {"name": "web"},
                "spec": {
                    "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
                    "maxReplicas": 9,
                    "metrics": [{"type": "Resource", "resource": metric}],
                },
            },
            shop,
        )
        pod_metrics(pods, f"{100 // len(pods[0]['spec']['containers'])}Mi")

        def scaled(shop: str = shop) -> bool:
            autoscaler = api.get("HorizontalPodAutoscaler", "web", shop)
            return bool(autoscaler.get("status", {}).get("currentReplicas") == 4)

        eventually("the autoscaler has its four pods", scaled)
        policy = {
            "apiVersion": "networking.k8s.io/v1",
            "kind": "NetworkPolicy",
            "metadata": {"name": "web"},
            "spec": {"podSelector": {"matchLabels": {"app": "web"}}, "policyTypes": ["Ingress"]},
        }
        api.create(policy, shop)
        selector = api.get("NetworkPolicy", "web", shop)["spec"]["podSelector"]["matchLabels"]
        listed = api.list("Pod", shop, labelSelector=",".join(f"{name}={value}" for name, value in selector.items()))
        chosen[key] = len(listed), api.get("HorizontalPodAutoscaler", "web", shop)["status"]["desiredReplicas"]
    assert chosen["label"] == chosen["none"] == (4, 4)
