"""The label that the injector gives to pods changes nothing for who selects them: real controllers, real API server."""

from __future__ import annotations

from collections.abc import Callable

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
