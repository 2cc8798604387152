"""The admission controller of the Vertical Pod Autoscaler and the injector in one chain of webhooks: docs/sizes.md."""

from __future__ import annotations

import base64
import socket
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest

from tests import parts
from tests.cluster.api import Object
from tests.cluster.certificates import Authority
from tests.cluster.conftest import NamespaceFactory
from tests.cluster.controlplane import ControlPlane
from tests.cluster.exposition import values_of
from tests.cluster.objects import (
    IMAGE,
    deployment,
    pods_of,
    wait_until_available,
    wait_until_in_force,
    webhook,
    webhook_configuration,
)
from tests.cluster.processes import Process, eventually, free_port
from tests.cluster.server import InjectorServer

pytestmark = pytest.mark.programs

ROUNDS = "vpa_updater_execution_latency_seconds_count"
GROUP = "autoscaling.k8s.io"
#: The name that the admission controller's own registration has.
VPA_CONFIGURATION = "vpa-webhook-config"
BEFORE, AFTER = "sidecar-injector", "z-sidecar-injector"
PROXY = """\
spec:
  containers:
  - name: proxy
    image: proxy:1
    resources:
      requests:
        cpu: {{ app.resources.requests.cpu | scale("10%") }}
        memory: {{ app.resources.requests.memory | scale("10%") }}
"""
DECLARED = {"cpu": "1", "memory": "1Gi"}
RECOMMENDED = {"cpu": "3", "memory": "2Gi"}
TEN_PERCENT_OF_DECLARED = {"cpu": "100m", "memory": "107374183"}
TEN_PERCENT_OF_RECOMMENDED = {"cpu": "300m", "memory": "214748365"}
OF_THE_SIDECAR = {"cpu": "7", "memory": "7Gi"}


def definition() -> Object:
    """The custom resource, as far as the API server has to know it."""
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    names = {"kind": "VerticalPodAutoscaler", "plural": "verticalpodautoscalers", "singular": "verticalpodautoscaler"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {
            "name": f"verticalpodautoscalers.{GROUP}",
            "annotations": {"api-approved.kubernetes.io": "https://github.com/kubernetes/kubernetes/pull/63797"},
        },
        "spec": {"group": GROUP, "scope": "Namespaced", "names": names, "versions": [version]},
    }


def autoscaler(mode: str, *policies: Object) -> Object:
    """One for the Deployment `web`, with what its recommender says of the app and, unless that is off, of the sidecar.

    The recommender takes days of measurements, so its answer is written here. It leaves out containers that are off.
    """
    recommended = {"app": RECOMMENDED, "proxy": OF_THE_SIDECAR}
    recommendations = [
        {"containerName": name, "target": amounts, "lowerBound": amounts, "upperBound": amounts}
        for name, amounts in recommended.items()
        if {"containerName": name, "mode": "Off"} not in policies
    ]
    return {
        "apiVersion": f"{GROUP}/v1",
        "kind": "VerticalPodAutoscaler",
        "metadata": {"name": "web"},
        "spec": {
            "targetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
            "updatePolicy": {"updateMode": mode},
            "resourcePolicy": {"containerPolicies": [*policies]},
        },
        "status": {"recommendation": {"containerRecommendations": recommendations}},
    }


APP = {"name": "app", "image": IMAGE, "resources": {"requests": DECLARED}}
OFF = {"containerName": "proxy", "mode": "Off"}


@pytest.fixture(scope="module")
def vpa(control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Process]:
    """The admission controller, in force under its own name for namespaces with the label `vpa`."""
    program = parts.require("vpa-admission-controller")
    folder = tmp_path_factory.mktemp("vpa")
    api, port = control_plane.api, free_port()
    authority = Authority("vpa")
    pair = authority.for_server("localhost", "127.0.0.1")
    for name, content in (("ca", authority.certificate), ("crt", pair.certificate), ("key", pair.key)):
        (folder / f"tls.{name}").write_bytes(content)
    api.create(definition())
    eventually("the API server serves the kind", lambda: api.list("VerticalPodAutoscaler") == [])
    flags = {
        "kubeconfig": control_plane.kubeconfig,
        "client-ca-file": folder / "tls.ca",
        "tls-cert-file": folder / "tls.crt",
        "tls-private-key": folder / "tls.key",
        "port": port,
        "address": f"127.0.0.1:{free_port()}",
        "register-webhook": "false",
    }
    process = Process([program, *(f"--{name}={value}" for name, value in flags.items())], folder / "vpa.log")
    process.wait_until_ready(lambda: is_open(port))
    config = {"url": f"https://127.0.0.1:{port}/", "caBundle": base64.b64encode(authority.certificate).decode()}
    selector = {"matchLabels": {"vpa": "true"}}
    entry = webhook("vpa.k8s.io", config, sideEffects="None", namespaceSelector=selector)
    api.create(webhook_configuration(VPA_CONFIGURATION, entry))
    wait_until_in_force(control_plane)
    yield process
    api.delete("MutatingWebhookConfiguration", VPA_CONFIGURATION)
    process.stop()
    api.delete("CustomResourceDefinition", definition()["metadata"]["name"])


def is_open(port: int) -> bool:
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
        return True
    return False


class Chain:
    """The webhooks in a namespace: the injector by its configuration's name, and the autoscaler's."""

    def __init__(
        self, control_plane: ControlPlane, servers: Callable[..., InjectorServer], namespaces: NamespaceFactory
    ):
        self.control_plane = control_plane
        self._servers, self._namespaces = servers, namespaces
        self.configurations: list[Object] = []
        self.namespace = ""
        self.sized_by = "limit-range"

    def resources(self, name: str, label: str, native: str, *policies: Object, mode: str = "Initial") -> dict[str, Any]:
        """The requests of each container of a new pod of a Deployment that has an autoscaler."""
        api = self.control_plane.api
        settings = {"nativeSidecars": native, "templates": ["proxy"], "required": {"resources": self.sized_by}}
        server = self._servers(settings={**settings, "server": {"drainSeconds": 0}}, start=False)
        folder = server.templates_dir / "proxy"
        folder.mkdir()
        (folder / "template.yaml").write_text("description: A proxy.\n")
        (folder / "overlay.yaml.j2").write_text(PROXY)
        server.start()
        self.namespace = ns = self._namespaces(labels={"injection": label, "vpa": "true"})
        entry = webhook("pods.injector.test", server.client_config(), ns, reinvocationPolicy="IfNeeded")
        self.configurations.append(api.create(webhook_configuration(name, entry)))
        if label == "required":
            guard = webhook("guard.injector.test", server.client_config("/validate"), ns)
            self.configurations.append(api.create(webhook_configuration(name, guard, validating=True)))
        wait_until_in_force(self.control_plane)
        api.create(autoscaler(mode, *policies), ns)
        api.create(deployment("web", containers=[APP]), ns)
        eventually("the autoscaler sizes the app", lambda: self.requests().get("app") == RECOMMENDED, 120)
        return self.requests()

    def pod(self) -> Object:
        """The Deployment's pod; what is on its way out does not count."""
        [pod] = wait_until_available(self.control_plane.api, "web", self.namespace)
        return pod

    def requests(self) -> dict[str, Any]:
        """What the containers of its pod request; one that the autoscaler came too late for is deleted."""
        pod = self.pod()
        containers = [*pod["spec"].get("initContainers", ()), *pod["spec"]["containers"]]
        requests = {container["name"]: container["resources"]["requests"] for container in containers}
        if requests["app"] != RECOMMENDED:
            self.control_plane.api.delete("Pod", pod["metadata"]["name"], self.namespace)
        return requests

    def close(self) -> None:
        """Take the injector out of the chain."""
        for configuration in self.configurations:
            self.control_plane.api.delete(configuration["kind"], configuration["metadata"]["name"])
        wait_until_in_force(self.control_plane)


@pytest.fixture
def chain(
    control_plane: ControlPlane,
    injector_server: Callable[..., InjectorServer],
    namespace: NamespaceFactory,
    vpa: Process,
) -> Iterator[Chain]:
    made = Chain(control_plane, injector_server, namespace)
    yield made
    made.close()


@pytest.mark.parametrize("label", ["enabled", "required"])
def test_after_the_autoscaler_the_sidecar_has_its_share_of_the_recommendation(label: str, chain: Chain) -> None:
    assert chain.resources(AFTER, label, "auto")["proxy"] == TEN_PERCENT_OF_RECOMMENDED


def test_before_it_the_sidecar_has_its_share_of_what_the_app_declares(chain: Chain) -> None:
    assert chain.resources(BEFORE, "enabled", "auto")["proxy"] == TEN_PERCENT_OF_DECLARED


def test_where_it_is_required_the_second_call_makes_the_sidecar_anew(chain: Chain) -> None:
    assert chain.resources(BEFORE, "required", "auto")["proxy"] == TEN_PERCENT_OF_RECOMMENDED


def test_a_plain_sidecar_before_the_autoscaler_is_sized_by_it(chain: Chain) -> None:
    assert chain.resources(BEFORE, "enabled", "never")["proxy"] == OF_THE_SIDECAR


def test_unless_a_policy_says_off(chain: Chain) -> None:
    assert chain.resources(BEFORE, "enabled", "never", OFF)["proxy"] == TEN_PERCENT_OF_DECLARED


def test_a_plain_sidecar_after_the_autoscaler_is_the_templates(chain: Chain) -> None:
    assert chain.resources(AFTER, "enabled", "never", OFF)["proxy"] == TEN_PERCENT_OF_RECOMMENDED


@pytest.fixture
def updater(control_plane: ControlPlane, chain: Chain, tmp_path: Path) -> Iterator[Callable[[], float]]:
    """The autoscaler's updater, which evicts pods; gives how many times it has looked at all of them."""
    address = f"127.0.0.1:{free_port()}"
    flags = {
        "kubeconfig": control_plane.kubeconfig,
        "address": address,
        "updater-interval": "1s",
        "min-replicas": 1,
    }
    program = parts.require("vpa-updater")

    def rounds() -> float:
        with urlopen(f"http://{address}/metrics", timeout=5) as response:
            return sum(values_of(response.read().decode(), ROUNDS, {"step": "total"}))

    process = Process([program, *(f"--{name}={value}" for name, value in flags.items())], tmp_path / "updater.log")
    process.wait_until_ready(lambda: answers(rounds))
    yield rounds
    process.stop()


def answers(call: Callable[[], object]) -> bool:
    with suppress(OSError):
        call()
        return True
    return False


def test_two_who_size_one_sidecar_evict_without_end(chain: Chain, updater: Callable[[], float]) -> None:
    chain.resources(BEFORE, "required", "never", mode="Recreate")
    pods: set[str] = set()

    def replaced_again_and_again() -> bool:
        pods.update(pod["metadata"]["uid"] for pod in pods_of(chain.control_plane.api, "web", chain.namespace))
        return len(pods) > 3

    eventually("its pod is evicted again and again", replaced_again_and_again, 180)


@pytest.mark.parametrize("native", ["auto", "never"])
@pytest.mark.parametrize("name", [BEFORE, AFTER])
def test_with_the_policy_nobody_is_evicted(name: str, native: str, chain: Chain, updater: Callable[[], float]) -> None:
    assert chain.resources(name, "required", native, OFF, mode="Recreate")["proxy"] == TEN_PERCENT_OF_RECOMMENDED
    stays(chain, updater)


def stays(chain: Chain, updater: Callable[[], float]) -> None:
    """The pod is the same after the updater has looked several times."""
    pod, before = chain.pod(), updater()
    eventually("the updater has looked several times", lambda: updater() > before + 5)
    assert chain.pod()["metadata"]["uid"] == pod["metadata"]["uid"]


def test_nor_where_the_autoscaler_alone_sizes_the_sidecar(chain: Chain, updater: Callable[[], float]) -> None:
    chain.sized_by = "any"
    assert chain.resources(BEFORE, "required", "never", mode="Recreate")["proxy"] == OF_THE_SIDECAR
    stays(chain, updater)
