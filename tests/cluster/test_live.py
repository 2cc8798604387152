"""What the command line reads from a real cluster."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from injector.cluster.blocking_client import BlockingClient, ClusterError
from injector.cluster.connection import NoClusterError
from injector.errors import DocumentError
from injector.settings import Settings
from tests.cluster.api import Object
from tests.cluster.away import rule, user_with
from tests.cluster.conftest import NamespaceFactory
from tests.cluster.controlplane import ControlPlane
from tests.cluster.objects import config_map, deployment, pod, webhook, webhook_configuration

OURS = {"app.kubernetes.io/name": "sidecar-injector"}


@pytest.fixture
def live(control_plane: ControlPlane) -> Iterator[BlockingClient]:
    with BlockingClient(str(control_plane.kubeconfig)) as opened:
        yield opened


def configured(control_plane: ControlPlane, name: str, namespace: str, validating: bool = False) -> Object:
    service = {"service": {"namespace": namespace, "name": "injector"}}
    entry = webhook(f"{name}.injector.example", service, namespace="nobody-lives-here")
    configuration = webhook_configuration(name, entry, validating=validating)
    configuration["metadata"]["labels"] = OURS
    return control_plane.api.create(configuration)


def test_a_workload_its_namespace_and_the_version(
    control_plane: ControlPlane, namespace: NamespaceFactory, live: BlockingClient
) -> None:
    ns = namespace(labels={"injection": "enabled"})
    control_plane.api.create(deployment("web"), ns)
    control_plane.api.create(pod("one"), ns)
    hard = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q"}, "spec": {"hard": {"pods": "3"}}}
    control_plane.api.create(hard, ns)
    for target in ("deploy/web", "deployment/web", "Deployments/web"):
        found = live.find(target, ns)[0]
        assert (found["kind"], found["apiVersion"], found["metadata"]["name"]) == ("Deployment", "apps/v1", "web")
    assert live.find("pod/one", ns)[0]["kind"] == "Pod"
    assert live.namespace(ns).labels["injection"] == "enabled"
    assert live.namespace(ns).quotas[0]["spec"]["hard"] == {"pods": "3"}
    assert live.cluster().version >= (1, 30)
    assert live.default_namespace == "default"
    assert live.host == control_plane.server
    assert {obj["metadata"]["name"] for obj in live.objects(f"/api/v1/namespaces/{ns}/pods")} >= {"one"}


def test_what_is_not_there_or_not_allowed(control_plane: ControlPlane, live: BlockingClient) -> None:
    with pytest.raises(ClusterError, match='pod/nope in namespace default: pods "nope" not found'):
        live.find("pod/nope")
    with pytest.raises(ClusterError, match='namespace nope: namespaces "nope" not found'):
        live.namespace("nope")
    for target in ("nope", "pod/", "/x"):
        with pytest.raises(DocumentError, match="not KIND/NAME such as deploy/web"):
            live.find(target)
    for target in ("gadget/x", "service.apps/x", "pod.nowhere.example/x.y"):
        with pytest.raises(DocumentError, match="has no kind"):
            live.find(target)
    with pytest.raises(ClusterError, match='services "x" not found'):
        live.find("svc/x")
    with BlockingClient(user_with(control_plane, rule("get", "namespaces"))) as limited:
        assert limited.namespace("default").quotas == ()  # one may not read them
        with pytest.raises(ClusterError, match=r"web in namespace default: .* cannot get resource"):
            limited.find("deploy/web")
    with pytest.raises(NoClusterError, match="/nowhere is not a file"), BlockingClient("/nowhere"):
        pass


@pytest.mark.parametrize(
    ("target", "kind", "resource"),
    [
        ("svc/kubernetes", "Service", ("", "v1", "services")),
        ("Service/kubernetes", "Service", ("", "v1", "services")),
        ("ns/default", "Namespace", ("", "v1", "namespaces")),
        ("priorityclass/system-node-critical", "PriorityClass", ("scheduling.k8s.io", "v1", "priorityclasses")),
        ("pc.scheduling/system-node-critical", "PriorityClass", ("scheduling.k8s.io", "v1", "priorityclasses")),
    ],
)
def test_any_kind_is_found_as_kubectl_finds_it(
    live: BlockingClient, target: str, kind: str, resource: tuple[str, str, str]
) -> None:
    obj, found = live.find(target)
    assert (obj["kind"], obj["metadata"]["name"]) == (kind, target.partition("/")[2])
    assert tuple(found) == resource


def test_how_the_injector_is_set_up(
    control_plane: ControlPlane, namespace: NamespaceFactory, live: BlockingClient
) -> None:
    with pytest.raises(ClusterError, match="no webhooks of an injector"):
        live.installation()
    ns, api = namespace(), control_plane.api
    assert live.settings_text(ns) is None
    api.create(config_map("injector", {"settings.yaml": "prefix: a.example\n"}, labels=OURS), ns)
    api.create(config_map("envoy", {"template.yaml": "x"}, labels={"a.example/template": "true"}), ns)
    made = [configured(control_plane, "ours", ns), configured(control_plane, "ours", ns, validating=True)]
    try:
        assert [(obj["kind"], obj["metadata"]["name"]) for obj in live.webhooks()] == [
            ("MutatingWebhookConfiguration", "ours"),
            ("ValidatingWebhookConfiguration", "ours"),
        ]
        assert live.installation() == ns
        assert live.settings_text(ns) == "prefix: a.example\n"
        assert live.templates(ns, Settings(prefix="a.example")) == {"envoy": {"template.yaml": "x"}}
        assert live.templates(ns, Settings()) == {}
        made.append(configured(control_plane, "another", "elsewhere"))
        with pytest.raises(
            ClusterError, match=f"injectors in namespaces elsewhere, {ns} .*name one of these namespaces"
        ):
            live.installation()
    finally:
        for obj in made:
            api.delete(obj["kind"], obj["metadata"]["name"])
