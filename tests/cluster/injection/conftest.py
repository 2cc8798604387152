"""One installation of the injector for all of these tests, and what they need besides."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.cluster.api import Object
from tests.cluster.conftest import NamespaceFactory
from tests.cluster.controlplane import ControlPlane
from tests.cluster.injection import gallery
from tests.cluster.injection.installation import (
    ASKED,
    GUARD,
    INJECT,
    LABELLED,
    TEMPLATES,
    Log,
    configurations,
    remove_rights,
    service_account,
)
from tests.cluster.objects import pod, wait_until_called, wait_until_not_called
from tests.cluster.processes import eventually
from tests.cluster.server import InjectorServer

HOME = "injector-home"
_PROBES = {LABELLED: "enabled", ASKED: "", GUARD: "required"}


@pytest.fixture(scope="package")
def injector(control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[InjectorServer]:
    """The injector in force for every namespace with its label, as long as the tests of this folder run."""
    api = control_plane.api
    spaces = {name: f"probe-{label or 'nothing'}" for name, label in _PROBES.items()}
    for name in (HOME, *spaces.values()):  # modules of another folder may have come between those of this one
        eventually(f"namespace {name} is nobody's", lambda name=name: not api.exists("Namespace", name), 120)  # type: ignore[misc]
    _namespace(control_plane, HOME)
    server = InjectorServer(
        control_plane,
        tmp_path_factory.mktemp("injector"),
        settings={"server": {"drainSeconds": 0}, "exemptSelector": {"matchLabels": {"exempt": "true"}}},
        arguments=[f"--namespace={HOME}"],
        kubeconfig=service_account(control_plane, HOME),
    )
    gallery.write(server.templates_dir, **gallery.ALL)
    process = server.start()
    made = [api.create(configuration) for configuration in configurations(server)]
    for name, label in _PROBES.items():
        _namespace(control_plane, spaces[name], {"injection": label} if label else {})
        wait_until_called(control_plane, name, spaces[name], _probe())
    yield server
    for configuration in made:
        api.delete(configuration["kind"], configuration["metadata"]["name"])
    for name, space in spaces.items():
        wait_until_not_called(control_plane, name, space, _probe())
        api.delete("Namespace", space)
    process.stop()
    remove_rights(control_plane, HOME)
    api.delete("Namespace", HOME)


def _probe() -> Object:
    return pod("probe", annotations={INJECT: "yes"})


def _namespace(control_plane: ControlPlane, name: str, labels: dict[str, str] | None = None) -> None:
    metadata = {"name": name, "labels": labels or {}}
    control_plane.api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})
    control_plane.wait_for_default_account(name)


@pytest.fixture
def log(injector: InjectorServer) -> Log:
    """What the installation has logged."""
    return Log(injector)


@pytest.fixture
def enabled(injector: InjectorServer, namespace: NamespaceFactory) -> str:
    """A namespace with the label `enabled` whose pods get the template `proxy`."""
    return namespace(labels={"injection": "enabled"}, annotations={TEMPLATES: "proxy"})


@pytest.fixture
def required(injector: InjectorServer, namespace: NamespaceFactory) -> str:
    """A namespace with the label `required` whose pods get the templates `proxy` and `logger`."""
    return namespace(labels={"injection": "required"}, annotations={TEMPLATES: "proxy,logger"})
