"""Sidecars of another injector's configs, imported: pods name them as they did there."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import yaml

from injector.authoring.importing.folder import settings_for
from injector.authoring.importing.imports import import_configs
from injector.cluster.entries import entries
from injector.cluster.installation import Installation
from injector.settings import parse_settings
from tests.authoring.importing.test_import_command import NAMED, PLAIN, config_map
from tests.cluster.api import Object
from tests.cluster.conftest import ConfigureWebhooks, NamespaceFactory
from tests.cluster.controlplane import ControlPlane
from tests.cluster.objects import pod
from tests.cluster.server import InjectorServer

REQUEST = "injector.tumblr.com/request"
STATUS = "injector.tumblr.com/status"
Serve = Callable[..., InjectorServer]
#: Two configs in a ConfigMap, as that injector finds them by label; host namespaces are not for the test's node.
CONFIGS = config_map(
    "sidecars", first=NAMED.replace("hostNetwork: true\nhostPID: true\n", ""), second=f"name: web\n{PLAIN}"
)


@pytest.fixture
def imported(
    injector_server: Serve, configure_webhooks: ConfigureWebhooks, namespace: NamespaceFactory
) -> InjectorServer:
    """A server with the imported templates and the settings that the import prints, called by the entries for them."""
    result = import_configs([("configs.yaml", CONFIGS.encode())])
    settings = {**yaml.safe_load(settings_for(result.templates)), "nativeSidecars": "never"}  # as that injector has it
    server = injector_server(settings={**settings, "server": {"drainSeconds": 0}}, start=False)
    for template in result.templates:
        for path, text in template.files.items():
            file = server.templates_dir / template.name / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
    server.start()
    made = entries(parse_settings(settings), Installation()).mutating
    [opted_in] = [entry for entry in made if entry["name"].startswith("opted-in.")]
    configure_webhooks({**opted_in, "clientConfig": server.client_config()})
    return server


@pytest.mark.parametrize("request_", ["Test_1:1.2", "test_1:1.2", "test-1-1-2"])
def test_a_pod_gets_what_it_names_wherever_it_is(
    request_: str, control_plane: ControlPlane, imported: InjectorServer, namespace: NamespaceFactory
) -> None:
    here = namespace()
    control_plane.api.create({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "builder"}}, here)
    made = control_plane.api.create(pod("asks", annotations={REQUEST: request_}), here)
    spec = made["spec"]
    assert made["metadata"]["annotations"][STATUS] == "injected"
    assert [container["name"] for container in spec["containers"]] == ["app", "agent", "other"]
    assert [container["name"] for container in spec["initContainers"]] == ["first"]
    assert [variables(container) for container in spec["containers"]] == ["dc01", "own", "dc01"]
    assert [mounted(container) for container in spec["containers"]] == ["/etc/some-config", "/etc/some-config", "/else"]
    assert spec["serviceAccountName"] == "builder"
    assert spec["hostAliases"] == [{"ip": "1.2.3.4", "hostnames": ["a.example", "b.example"]}]


def test_another_one_gets_another_and_one_that_names_none_gets_none(
    control_plane: ControlPlane, imported: InjectorServer, namespace: NamespaceFactory
) -> None:
    here = namespace()
    other = control_plane.api.create(pod("other", annotations={REQUEST: "web:latest"}), here)
    assert [container["name"] for container in other["spec"]["containers"]] == ["app", "sidecar-nginx"]
    no = {REQUEST: "web", "injector.tumblr.com/inject": "no"}
    for name, notes in (("silent", {}), ("empty", {REQUEST: ""}), ("no", no)):
        made = control_plane.api.create(pod(name, annotations=notes), here)
        assert [container["name"] for container in made["spec"]["containers"]] == ["app"]
        assert STATUS not in made["metadata"].get("annotations", {})
    lost = control_plane.api.create(pod("lost", annotations={REQUEST: "gone:2"}), here)
    assert lost["metadata"]["annotations"][STATUS] == "failed"
    assert 'no template "gone-2"' in lost["metadata"]["annotations"]["injector.tumblr.com/reason"]


def variables(container: Object) -> str:
    return str(next(v["value"] for v in container["env"] if v["name"] == "DATACENTER"))


def mounted(container: Object) -> str:
    return str(next(m["mountPath"] for m in container["volumeMounts"] if m["name"] == "some-config"))
