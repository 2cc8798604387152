"""Fixtures of the tests that talk to a real Kubernetes API server."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Protocol

import pytest

from tests import parts
from tests.cluster.api import Object
from tests.cluster.builtin import BuiltinInstallation, Install
from tests.cluster.controlplane import ControlPlane, GatedControlPlane
from tests.cluster.installed import Installed
from tests.cluster.objects import (
    config_map,
    deployment,
    wait_until_available,
    wait_until_in_force,
    webhook,
    webhook_configuration,
)
from tests.cluster.outage import Outage
from tests.cluster.rollout_shop import MANIFEST, OURS, OVERLAY, Shop
from tests.cluster.room import make_room
from tests.cluster.server import InjectorServer
from tests.cluster.team import TEAMS, Team, author_in
from tests.corpus.commands import templates_loaded_once

_numbers = itertools.count(1)


class NamespaceFactory(Protocol):
    """`namespace(labels=..., annotations=...)` creates a namespace and returns its name."""

    def __call__(
        self, labels: dict[str, str] | None = None, annotations: dict[str, str] | None = None, name: str | None = None
    ) -> str: ...


class ConfigureWebhooks(Protocol):
    """`configure_webhooks(webhook(...), ...)` puts webhooks in force until the test's end."""

    def __call__(self, *webhooks: Object, validating: bool = False) -> Object: ...


@pytest.fixture(scope="session", autouse=True)
def templates_once() -> Iterator[None]:
    """Commands that run in this process load the gallery once."""
    with templates_loaded_once():
        yield


@pytest.fixture(scope="session")
def control_plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """A real control plane, one for the whole run."""
    programs = parts.require(parts.CONTROL_PLANE)
    with ControlPlane(programs, tmp_path_factory.mktemp("control-plane")) as running:
        yield running


@pytest.fixture(scope="module")
def gated_control_plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """A real control plane of a module's own, with fields of pods that are behind gates before Kubernetes 1.37."""
    programs = parts.require(parts.CONTROL_PLANE)
    with GatedControlPlane(programs, tmp_path_factory.mktemp("gated")) as running:
        yield running


@pytest.fixture
def namespace(control_plane: ControlPlane) -> Iterator[NamespaceFactory]:
    """Creates namespaces that are ready for pods, and deletes them after the test without waiting for it."""
    created: list[str] = []

    def create(
        labels: dict[str, str] | None = None, annotations: dict[str, str] | None = None, name: str | None = None
    ) -> str:
        name = name or f"test-{next(_numbers)}"
        metadata = {"name": name, "labels": labels or {}, "annotations": annotations or {}}
        control_plane.api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})
        created.append(name)
        control_plane.wait_for_default_account(name)
        return name

    yield create
    for name in created:
        if control_plane.api.exists("Namespace", name):
            control_plane.api.delete("Namespace", name)


@pytest.fixture
def room(control_plane: ControlPlane) -> None:
    """An installation of the injector meets nothing that other tests have left."""
    make_room(control_plane)


@pytest.fixture
def configure_webhooks(control_plane: ControlPlane) -> Iterator[ConfigureWebhooks]:
    """Configures webhooks, waits until they are in force, and removes them after the test."""
    made: list[Object] = []

    def configure(*webhooks: Object, validating: bool = False) -> Object:
        configuration = webhook_configuration(f"test-{next(_numbers)}", *webhooks, validating=validating)
        made.append(control_plane.api.create(configuration))
        wait_until_in_force(control_plane, configuration["kind"])
        return made[-1]

    yield configure
    there = [one for one in made if control_plane.api.exists(one["kind"], one["metadata"]["name"])]
    for one in there:
        control_plane.api.delete(one["kind"], one["metadata"]["name"])
    if made:
        wait_until_in_force(control_plane, *{one["kind"] for one in made})


@pytest.fixture
def injector_server(
    control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[..., InjectorServer]]:
    """Starts our server with what InjectorServer takes, waits until it is ready, and stops it after the test.

    With `start=False` it is left to the test to call `start()`.
    """
    servers: list[InjectorServer] = []

    def create(*, start: bool = True, **options: Any) -> InjectorServer:
        server = InjectorServer(control_plane, tmp_path_factory.mktemp("injector"), **options)
        servers.append(server)
        if start:
            server.start()
        return server

    yield create
    for server in servers:
        server.kill()


@pytest.fixture
def install(control_plane: ControlPlane, tmp_path: Path) -> Iterator[Install]:
    """Makes installations with built-in certificates, a short Lease and little time to settle."""
    made: list[BuiltinInstallation] = []

    def create(**certificates: Any) -> BuiltinInstallation:
        settings = {"leaseSeconds": 3, "settleSeconds": 1, **certificates}
        made.append(BuiltinInstallation(control_plane, tmp_path, **settings))
        return made[-1]

    yield create
    for installation in made:
        installation.close()


@pytest.fixture
def shop(
    control_plane: ControlPlane,
    namespace: NamespaceFactory,
    injector_server: Callable[..., InjectorServer],
    configure_webhooks: ConfigureWebhooks,
) -> Iterator[Shop]:
    api, own = control_plane.api, namespace()
    name = namespace(labels={"injection": "enabled"}, annotations={"sidecar.injector/templates": "logger"})
    api.create(config_map("settings", {"settings.yaml": "{}"}, labels=OURS), own)
    files = {"template.yaml": MANIFEST, "overlay.yaml.j2": OVERLAY}
    api.create(config_map("logger", files, labels={"sidecar.injector/template": "true"}), own)
    server = injector_server(arguments=[f"--namespace={own}"])
    api.create(deployment("early", 2), name)
    wait_until_available(api, "early", name)
    ours = webhook("rollout.injector.example", server.client_config(), namespace=name)
    configuration = configure_webhooks(ours)["metadata"]["name"]
    entry = webhook("found.injector.example", {"service": {"namespace": own, "name": "injector"}}, namespace="nowhere")
    found_by = webhook_configuration("rollout", entry)
    found_by["metadata"]["labels"] = OURS
    api.create(found_by)
    yield Shop(control_plane, name, own, ours, configuration)
    api.delete(found_by["kind"], "rollout")


@pytest.fixture(scope="module")
def team_injector(control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installed]:
    """An injector for whom namespaces with a label may have templates of their own."""
    settings = {"teamTemplates": {"namespaces": {"matchLabels": {"teams": "own-templates"}}}, "templates": ["envoy"]}
    injector = Installed(control_plane, tmp_path_factory.mktemp("injector"), **settings)
    injector.install()
    yield injector
    injector.remove()


@pytest.fixture
def team(control_plane: ControlPlane, team_injector: Installed, namespace: NamespaceFactory) -> Team:
    return Team(control_plane, team_injector, *author_in(control_plane, namespace(TEAMS)))


@pytest.fixture
def outage(
    control_plane: ControlPlane, namespace: NamespaceFactory, injector_server: Callable[..., InjectorServer]
) -> Outage:
    own = namespace()
    settings = {"settings.yaml": "{repair: {mode: missing}}"}
    control_plane.api.create(config_map("settings", settings, labels=OURS), own)
    files = {"template.yaml": MANIFEST, "overlay.yaml.j2": OVERLAY}
    control_plane.api.create(config_map("logger", files, labels={"sidecar.injector/template": "true"}), own)
    return Outage(control_plane, namespace, own, injector_server, f"repair-{next(_numbers)}")
