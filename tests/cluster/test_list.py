"""`injector list` of a real cluster: current, outdated, failed and missing pods, and what to restart."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import yaml
from click.testing import CliRunner

from injector.cli.main import cli
from tests.cluster.conftest import ConfigureWebhooks, NamespaceFactory
from tests.cluster.controlplane import ControlPlane
from tests.cluster.objects import config_map, deployment, pod, wait_until_available, webhook, webhook_configuration
from tests.cluster.processes import eventually
from tests.cluster.server import InjectorServer

LEVEL = "logger.sidecar.injector/level"
SETTINGS = "templates: [{}]\nparameters: {{logger: {{level: debug}}}}\n"
OURS = {"app.kubernetes.io/name": "sidecar-injector"}
MANIFEST = "description: Ships logs.\nparameters: {level: {type: string, enum: [info, debug], default: info}}\n"
OVERLAY = "spec: {containers: [{name: logger, image: 'logger:1', args: ['{{ params.level }}']}]}\n"


def listed(control_plane: ControlPlane, *args: str) -> Any:
    command = ["list", "--kubeconfig", str(control_plane.kubeconfig), "--output", "json", *args]
    result = CliRunner().invoke(cli, command, standalone_mode=False)
    if result.exception is not None:
        raise result.exception
    return json.loads(result.stdout)


def test_a_fleet(
    control_plane: ControlPlane,
    namespace: NamespaceFactory,
    injector_server: Callable[..., InjectorServer],
    configure_webhooks: ConfigureWebhooks,
) -> None:
    api, own = control_plane.api, namespace()
    defaults = {"sidecar.injector/templates": "logger", "logger.sidecar.injector/level": "info"}
    shop = namespace(labels={"injection": "enabled"}, annotations=defaults)
    other = namespace()
    api.create(config_map("settings", {"settings.yaml": "templates: [logger]\n"}, labels=OURS), own)
    files = {"template.yaml": MANIFEST, "overlay.yaml.j2": OVERLAY}
    api.create(config_map("logger", files, labels={"sidecar.injector/template": "true"}), own)
    server = injector_server(arguments=[f"--namespace={own}"])
    # made before the webhook: nobody asked the injector about it
    api.create(deployment("early", 2), shop)
    wait_until_available(api, "early", shop)
    api.create(pod("says-no", annotations={"sidecar.injector/inject": "no"}), shop)
    configure_webhooks(webhook("list.injector.example", server.client_config(), namespace=shop))
    # by this one, which calls nobody, the command finds the injector's namespace
    entry = webhook("found.injector.example", {"service": {"namespace": own, "name": "injector"}}, namespace="nowhere")
    found_by = webhook_configuration("listed", entry)
    found_by["metadata"]["labels"] = OURS
    api.create(found_by)
    try:
        api.create(deployment("web", 3), shop)
        wait_until_available(api, "web", shop)
        api.create(pod("elsewhere"), other)
        first = listed(control_plane, "-n", shop)
        states = {(row["workload"], row["state"]) for row in first["pods"]}
        assert ("deployment/web", "current") in states and ("deployment/early", "missing") in states
        assert not [row for row in first["pods"] if row["pod"] == "says-no"]
        [digest] = {row["templates"]["logger"] for row in first["pods"] if row["workload"] == "deployment/web"}
        restart = "kubectl rollout restart deployment/{0} -n {1} && kubectl rollout status deployment/{0} -n {1}"
        assert first["restart"] == [restart.format("early", shop)]

        changed = {**files, "overlay.yaml.j2": OVERLAY.replace("logger:1", "logger:2")}
        api.patch("ConfigMap", "logger", {"data": changed}, own)
        second = listed(control_plane, "-A", "--outdated")
        ours = [row for row in second["pods"] if row["namespace"] == shop]
        assert {row["workload"] for row in ours} >= {"deployment/web"}
        assert all(row["state"] == "outdated" and row["templates"]["logger"] == digest for row in ours)
        assert restart.format("web", shop) in second["restart"]

        # what it prints is done, and the list says so
        generation = "the server has the new template"
        eventually(generation, lambda: "logger:2" in str(api.create(pod("try"), shop, dry_run=True)))
        for name in ("web", "early"):
            printed = restart.format(name, shop)  # both were found in the answers above
            control_plane.kubectl(*printed.split(" && ")[0].split()[1:])
            wait_until_available(api, name, shop)

        def up_to_date() -> bool:
            rows = listed(control_plane, "-n", shop)["pods"]
            ours = [row for row in rows if row["workload"] in ("deployment/web", "deployment/early")]
            assert len(ours) == 5 and {row["state"] for row in ours} == {"current"}, ours
            return True

        eventually("all are current", up_to_date, every=0.3)
    finally:
        api.delete(found_by["kind"], "listed")


def test_what_failed_and_what_cannot_be_restarted(
    control_plane: ControlPlane,
    namespace: NamespaceFactory,
    injector_server: Callable[..., InjectorServer],
    configure_webhooks: ConfigureWebhooks,
) -> None:
    api = control_plane.api
    shop = namespace(labels={"injection": "enabled"}, annotations={"sidecar.injector/templates": "nginx"})
    api.create(pod("bare"), shop)
    server = injector_server()
    configure_webhooks(webhook("failed.injector.example", server.client_config(), namespace=shop))
    api.create(pod("wrong", annotations={"sidecar.injector/templates": "enovy"}), shop)
    found = listed(control_plane, "-n", shop, "--failed")
    [row] = found["pods"]
    assert (row["pod"], row["state"]) == ("wrong", "failed")
    assert "enovy" in row["why"] and not found["restart"]
    assert any("default settings" in note for note in found["notes"])
    missing = listed(control_plane, "-n", shop, "--missing")
    assert "bare" in [row["pod"] for row in missing["pods"]]
    assert any(line.startswith(f"Pod {shop}/bare: ") for line in missing["otherwise"])
    text = (
        CliRunner()
        .invoke(cli, ["list", "--kubeconfig", str(control_plane.kubeconfig), "-n", shop], standalone_mode=False)
        .stdout
    )
    assert "failed" in text and "enovy" in text


def test_values_that_have_changed_are_named(
    control_plane: ControlPlane,
    namespace: NamespaceFactory,
    injector_server: Callable[..., InjectorServer],
    configure_webhooks: ConfigureWebhooks,
) -> None:
    """Of the namespace and of the settings; a pod that sets the value itself is as it was."""
    api, own = control_plane.api, namespace()
    shop = namespace(labels={"injection": "enabled"}, annotations={LEVEL: "info"})
    api.create(config_map("settings", {"settings.yaml": "templates: [logger]\n"}, labels=OURS), own)
    for name in ("logger", "other"):
        files = {"template.yaml": MANIFEST, "overlay.yaml.j2": OVERLAY.replace("logger", name)}
        api.create(config_map(name, files, labels={"sidecar.injector/template": "true"}), own)
    server = injector_server(settings={"templates": ["logger"]}, arguments=[f"--namespace={own}"])
    configure_webhooks(webhook("values.injector.example", server.client_config(), namespace=shop))
    api.create(deployment("web", 2), shop)
    wait_until_available(api, "web", shop)
    api.create(pod("own", annotations={LEVEL: "debug"}), shop)

    def outdated(*args: str) -> dict[str, list[Any]]:
        found = listed(control_plane, "-n", shop, "--injector-namespace", own, "--outdated", *args)["pods"]
        return {row["pod"]: [(c["code"], c.get("parameter")) for c in row["causes"]] for row in found if row["since"]}

    def annotate(level: str | None) -> None:
        api.patch("Namespace", shop, {"metadata": {"annotations": {LEVEL: level}}})

    replicas = {obj["metadata"]["name"] for obj in api.list("Pod", shop)} - {"own"}
    assert outdated() == {}
    annotate("debug")
    level = [("parameter-changed", "level")]
    assert outdated() == dict.fromkeys(replicas, level)
    assert outdated("-l", "app=nobody") == {}
    annotate(None)  # the template's default is the same
    assert outdated() == {}
    api.patch("ConfigMap", "settings", {"data": {"settings.yaml": SETTINGS.format("logger")}}, own)
    assert outdated() == dict.fromkeys(replicas, level)
    annotate("info")  # which has the say
    assert outdated() == {}
    api.patch("ConfigMap", "settings", {"data": {"settings.yaml": SETTINGS.format("logger, other")}}, own)
    assert outdated() == {name: [("templates-changed", None)] for name in (*replicas, "own")}

    command = [sys.executable, "-m", "injector", "list", "--kubeconfig", str(control_plane.kubeconfig), "-n", shop]
    command += ["--injector-namespace", own, "-o"]
    assert set(subprocess.check_output([*command, "name"], text=True).split()) == {
        f"pod/{p}" for p in (*replicas, "own")
    }
    wide = subprocess.check_output([*command, "wide"], text=True)
    assert len(re.findall(r"deployment/web +20\d\d-\d\d-\d\dT", wide)) == 2
    assert len(yaml.safe_load(subprocess.check_output([*command, "yaml"], text=True))["pods"]) == 3
    with subprocess.Popen([*command, "name", "-w", "-l", "watched"], stdout=subprocess.PIPE, text=True) as watching:
        assert watching.stdout is not None
        for name in ("first", "later"):
            api.create(pod(name, labels={"watched": "yes"}), shop)
            assert watching.stdout.readline() == f"pod/{name}\n"
        watching.send_signal(signal.SIGINT)
    assert watching.returncode == 130


def test_either_one_namespace_or_all() -> None:
    assert CliRunner().invoke(cli, ["list", "-A", "-n", "shop"]).exit_code == 2
