"""What became of a template's ConfigMap is seen on it and in `injector templates`, with three replicas and the real
API server.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

from click.testing import CliRunner

from injector.cli.main import cli
from tests.cluster.api import Object
from tests.cluster.conftest import NamespaceFactory
from tests.cluster.controlplane import ControlPlane
from tests.cluster.objects import config_map, events_about
from tests.cluster.processes import eventually
from tests.cluster.server import InjectorServer

LABEL = {"sidecar.injector/template": "true"}
OURS = {"app.kubernetes.io/name": "sidecar-injector"}
WRONG = "spec: {containers: [{name: logger, image: '{{ nothing }}'}]}\n"
REPLICAS = 3


def files(image: str) -> dict[str, str]:
    overlay = f"spec: {{containers: [{{name: logger, image: '{image}'}}]}}\n"
    return {"template.yaml": "description: Ships logs.\n", "overlay.yaml.j2": overlay}


def listed(control_plane: ControlPlane, own: str) -> dict[tuple[str, str], Any]:
    command = ["templates", "--kubeconfig", str(control_plane.kubeconfig), "-n", own, "-o", "json"]
    result = CliRunner().invoke(cli, command, standalone_mode=False)
    if result.exception is not None:
        raise result.exception
    return {(row["name"], row["state"]): row for row in json.loads(result.stdout)["templates"]}


def test_what_became_of_a_template(
    control_plane: ControlPlane, namespace: NamespaceFactory, injector_server: Callable[..., InjectorServer]
) -> None:
    api, own = control_plane.api, namespace()
    shop = namespace(annotations={"sidecar.injector/templates": "logger, envoy"})
    api.create(config_map("settings", {"settings.yaml": "templates: [logger]\n"}, labels=OURS), own)
    api.create(config_map("logger", files("logger:1"), labels=LABEL), own)
    api.create(config_map("nginx", files("nginx:1"), labels=LABEL), own)
    servers = [injector_server(start=False, arguments=[f"--namespace={own}"]) for _ in range(REPLICAS)]
    for server in servers:
        server.start(wait=False)
    for server in servers:
        server.wait_until_ready()

    def told(name: str = "logger") -> list[Object]:
        return sorted(events_about(api, own, name), key=lambda event: str(event["eventTime"]))

    def change(data: dict[str, str], each: int) -> list[Object]:
        """The Events about the ConfigMap, once each replica has written so many Events, or found them written."""
        before, expected = len(told()), [written(server) + each for server in servers]
        api.patch("ConfigMap", "logger", {"data": data}, own)
        eventually("each replica has told", lambda: [written(server) for server in servers] == expected)
        after = told()
        assert len(after) == before + 1, "once for all replicas"
        return after

    def written(server: InjectorServer) -> float:
        counted = [line for line in server.metrics().splitlines() if line.startswith("injector_events_total{")]
        return sum(float(line.split()[-1]) for line in counted if '"sent"' in line or '"repeated"' in line)

    first = listed(control_plane, own)
    assert not told() and not told("nginx"), "a replica that starts has accepted nothing new"
    logger = first["logger", "current"]
    assert (logger["source"], logger["namespaces"], logger["settings"]) == ("configmap/logger", [shop], ["templates"])
    assert first["nginx", "current"]["version"] != first["nginx", "shadowed"]["version"]
    assert (first["envoy", "current"]["source"], first["envoy", "current"]["namespaces"]) == ("shipped", [shop])

    [accepted] = change(files("logger:2"), 1)
    uid = api.get("ConfigMap", "logger", own)["metadata"]["uid"]
    assert (accepted["reason"], accepted["type"]) == ("template-accepted", "Normal")
    assert accepted["involvedObject"]["uid"] == uid
    version = listed(control_plane, own)["logger", "current"]["version"]
    assert version in accepted["message"] and version != logger["version"]
    for server in servers:
        assert server.metric("injector_template_info", template="logger", version=version) == 1
        assert f'version="{logger["version"]}"' not in server.metrics()

    time.sleep(1.1)  # so that the times of the two changes differ, which have seconds
    _, refused = change({"overlay.yaml.j2": WRONG}, 2)  # and on its own pod
    assert (refused["reason"], refused["type"]) == ("template-refused", "Warning")
    assert f"configmap/{own}/logger/overlay.yaml.j2:1:" in refused["message"]
    described = control_plane.kubectl("describe", "configmap/logger", "-n", own).stdout
    assert "template-refused" in described[described.index("Events:") :]
    time.sleep(1.1)
    api.patch("ConfigMap", "nginx", {"data": files("nginx:2")}, own)
    rows = listed(control_plane, own)
    broken, waiting = rows["logger", "refused"], rows["nginx", "tried"]
    assert (broken["code"], broken["source"], broken["version"]) == ("name", "configmap/logger", "")
    assert broken["since"] > logger["since"]
    assert not told("nginx"), "it waits until all are right"

    api.patch("ConfigMap", "logger", {"metadata": {"annotations": {"by": "somebody"}}}, own)
    again = injector_server(arguments=[f"--namespace={own}"])
    eventually("it has told what is wrong", lambda: written(again) == 2)
    api.patch("ConfigMap", "logger", {"data": files("logger:3")}, own)
    [event] = eventually("the other one is in use as well", lambda: told("nginx"))
    assert event["reason"] == "template-accepted" and waiting["version"] in event["message"]
    assert listed(control_plane, own)["nginx", "current"]["version"] == waiting["version"]
    managers = {entry["manager"] for entry in api.get("ConfigMap", "logger", own)["metadata"]["managedFields"]}
    assert len(managers) == 1, "the injector wrote nothing into it"
