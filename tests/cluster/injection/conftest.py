"""One installation of the injector for all of these tests, and what they need besides."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.cluster.conftest import NamespaceFactory
from tests.cluster.controlplane import ControlPlane
from tests.cluster.injection import gallery
from tests.cluster.injection.installation import (
    TEMPLATES,
    Log,
    configurations,
    remove_rights,
    service_account,
)
from tests.cluster.objects import wait_until_in_force
from tests.cluster.processes import eventually
from tests.cluster.server import InjectorServer

HOME = "injector-home"


@pytest.fixture(scope="package")
def injector(control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[InjectorServer]:
    """The injector in force for every namespace with its label, as long as the tests of this folder run."""
    api = control_plane.api
    # modules of another folder may have come between those of this one
    eventually("nobody has the namespace", lambda: not api.exists("Namespace", HOME), 300)
    api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": HOME}})
    control_plane.wait_for_default_account(HOME)
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
    wait_until_in_force(control_plane)
    yield server
    for configuration in made:
        api.delete(configuration["kind"], configuration["metadata"]["name"])
    wait_until_in_force(control_plane)
    process.stop()
    remove_rights(control_plane, HOME)
    api.delete("Namespace", HOME)


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
