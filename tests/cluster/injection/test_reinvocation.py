"""Another webhook changes the pod after the injector did: the API server calls again, and all is completed."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cluster import stand_in
from tests.cluster.api import Object
from tests.cluster.conftest import ConfigureWebhooks, NamespaceFactory
from tests.cluster.controlplane import ControlPlane
from tests.cluster.injection.installation import LABELLED, RECEIPT, TEMPLATES, Log, container, env, names, notes
from tests.cluster.objects import deployment, pod, wait_until_available, webhook
from tests.cluster.server import InjectorServer


@pytest.fixture
def meddled(
    control_plane: ControlPlane,
    injector: InjectorServer,
    injector_server: Callable[..., InjectorServer],
    namespace: NamespaceFactory,
    configure_webhooks: ConfigureWebhooks,
) -> Callable[[str], str]:
    """A namespace with this label into whose pods a second webhook puts the container `sidecar`, after the injector.

    Configurations are called in the order of their names; `injector` comes before `test-1`.
    """
    other = injector_server(command=[sys.executable, str(Path(stand_in.__file__))])

    def create(label: str) -> str:
        ns = namespace(labels={"injection": label}, annotations={TEMPLATES: "proxy,logger"})
        configure_webhooks(webhook("another.webhook.test", other.client_config(), ns))
        return ns

    return create


def _complete(made: Object) -> None:
    assert names(made, "initContainers") == ["proxy", "logger"]
    assert names(made) == ["app", "sidecar"]
    for name in ("app", "sidecar"):
        assert env(container(made, name)) == {"PROXY": "127.0.0.1:15999", "PROXY_URL": "http://$(PROXY)/$(ZONE)"}
        assert container(made, name)["imagePullPolicy"] == "Always"
    assert "PROXY" not in env(container(made, "proxy"))
    assert "/spec/containers/sidecar/env" in notes(made)[RECEIPT]


@pytest.mark.parametrize("label", ["enabled", "required"])
def test_a_container_that_came_later_is_patched_too(
    label: str, control_plane: ControlPlane, meddled: Callable[[str], str], log: Log
) -> None:
    ns = meddled(label)
    before = control_plane.webhook_calls(LABELLED)
    _complete(control_plane.api.create(pod("app"), ns))
    assert control_plane.webhook_calls(LABELLED) == before + 2
    assert log.reason(ns, "app") == "injected"


def test_so_are_those_of_a_deployment(control_plane: ControlPlane, meddled: Callable[[str], str]) -> None:
    ns = meddled("required")
    control_plane.api.create(deployment("web", 3), ns)
    for made in wait_until_available(control_plane.api, "web", ns):
        _complete(made)


def test_defaults_and_limits_in_between(control_plane: ControlPlane, meddled: Callable[[str], str], log: Log) -> None:
    """Between two calls LimitRanger and the service account's plugin fill in; nothing of that counts as a change."""
    ns, api = meddled("required"), control_plane.api
    limits = {"default": {"cpu": "1", "memory": "1Gi"}, "defaultRequest": {"memory": "8Mi"}, "type": "Container"}
    api.create(
        {"apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "some"}, "spec": {"limits": [limits]}}, ns
    )
    made = api.create(pod("app"), ns)
    _complete(made)
    for name in ("app", "sidecar", "proxy", "logger"):
        assert container(made, name)["resources"]["requests"]["memory"] == "8Mi"
        assert any("serviceaccount" in mount["mountPath"] for mount in container(made, name)["volumeMounts"])
    assert log.reason(ns, "app", "validate") == "already-injected"


def test_a_second_call_that_finds_all_in_place_changes_nothing(
    control_plane: ControlPlane, enabled: str, configure_webhooks: ConfigureWebhooks, injector: InjectorServer
) -> None:
    """The same injector, registered twice by mistake."""
    configure_webhooks(webhook("twice.injector.test", injector.client_config(), enabled))
    made = control_plane.api.create(pod("app"), enabled)
    assert names(made, "initContainers") == ["proxy"]
    assert env(container(made, "app")) == {"PROXY": "127.0.0.1:15999", "PROXY_URL": "http://$(PROXY)/$(ZONE)"}
    reasons = [line["reason"] for line in Log(injector).reviews(enabled, pod="app")]
    assert set(reasons[1:]) <= {"already-injected"}
