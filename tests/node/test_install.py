"""The injector as it is installed, from its image, on a node."""

from __future__ import annotations

from tests.cluster.conftest import NamespaceFactory
from tests.cluster.objects import pod
from tests.node.calls import app, call, sidecar_names, wait_until_ready
from tests.node.installation import Installation

ENABLED = {"injection": "enabled"}


def test_two_replicas_are_ready_and_check_is_content(injector: Installation, namespace: NamespaceFactory) -> None:
    namespace(labels=ENABLED)
    assert len(injector.wait()) == 2
    assert injector.check() == {}


def test_a_request_reaches_the_app_through_envoy(injector: Installation, namespace: NamespaceFactory) -> None:
    space = namespace(labels=ENABLED)
    injector.api.create(pod("web", containers=[app()]), space)
    made = wait_until_ready(injector.api, space, "web")
    assert sidecar_names(made) == ["envoy-redirect", "envoy-redirect-ipv6", "envoy-sidecar"]
    answer = call(made["status"]["podIP"], "/hello")
    assert answer.code == 200 and "app web /hello" in answer.text
    assert "X-Request-Id" in answer.text, "Envoy gave it one"
