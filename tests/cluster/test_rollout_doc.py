"""docs/rollout.md is typed on a real API server, and shows what really comes."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import msgspec

from injector.cli.rollout import rollout
from injector.cluster.rollout import repair, rollouts
from injector.cluster.rollout.lease_brake import STOPPED_KEY
from injector.settings import RepairSettings
from tests import command
from tests.authoring.pages import blocks, commands, shows
from tests.cluster.conftest import NamespaceFactory
from tests.cluster.controlplane import ControlPlane
from tests.cluster.installed import Installed
from tests.cluster.objects import config_map, deployment, pod, wait_until_available, wait_until_in_force
from tests.cluster.processes import eventually
from tests.cluster.server import INJECTOR, PROJECT
from tests.silence import needs_words
from tests.unit.test_docs import code, page, table

PAGE = page("rollout.md")
FILES = {"template.yaml": "description: x\n", "overlay.yaml.j2": "spec: {containers: [{name: logger, image: 'a:1'}]}\n"}
LABEL = {"sidecar.injector/template": "true"}
RESTRICTED = {"pod-security.kubernetes.io/enforce": "restricted"}
WINDOW = "sidecar-rollout"


def overlay(image: str) -> dict[str, str]:
    """The template's files, with another image."""
    return {**FILES, "overlay.yaml.j2": FILES["overlay.yaml.j2"].replace("a:1", image)}


@needs_words
def test_each_step(control_plane: ControlPlane, namespace: NamespaceFactory, room: None, tmp_path: Path) -> None:
    api = control_plane.api
    (tmp_path / "server").mkdir()
    installed = Installed(control_plane, tmp_path / "server")
    installed.install()
    api.create(config_map("logger", FILES, labels=LABEL), installed.namespace)
    annotations = {"sidecar.injector/templates": "logger"}
    shop = namespace(labels={"injection": "enabled"}, annotations=annotations, name="shop")
    at = ("--kubeconfig", control_plane.kubeconfig)
    assert command.run("pause", *at).code == 0
    wait_until_in_force(control_plane)
    time.sleep(1.1)  # younger than the namespace, by the API server's seconds
    for lonely in (deployment("early"), pod("alone")):
        api.create(lonely, shop)
    wait_until_available(api, "early", shop)
    assert command.run("resume", *at).code == 0
    eventually("it is in use", lambda: "a:1" in str(api.create(pod("try"), shop, dry_run=True)))
    batch = deployment("batch", 2)
    batch["metadata"]["annotations"] = {"argocd.argoproj.io/tracking-id": "shop:apps/Deployment:shop/batch"}
    for workload in (batch, deployment("web", 2)):
        api.create(workload, shop)
        wait_until_available(api, workload["metadata"]["name"], shop)
    api.patch("ConfigMap", "logger", {"data": overlay("a:2")}, installed.namespace)
    eventually("it is in use", lambda: "a:2" in str(api.create(pod("try"), shop, dry_run=True)))
    api.patch("Namespace", installed.namespace, {"metadata": {"labels": RESTRICTED}})
    path = f"{control_plane.programs}:{Path(sys.executable).parent}:{os.environ['PATH']}"
    environment = os.environ | {"KUBECONFIG": str(control_plane.kubeconfig), "PATH": path, "COLUMNS": "160"}
    try:
        for block in blocks(moved(installed.namespace)):
            if block.file:
                (tmp_path / block.file).write_text(block.text)
            for typed, shown in commands(block.text):
                done = subprocess.run(
                    ["bash", "-c", typed],
                    cwd=tmp_path,
                    env=environment,
                    text=True,
                    capture_output=True,
                    timeout=300,
                    check=False,
                )
                assert shows(shown, done.stdout + done.stderr), f"line {block.line}: {done.stdout}{done.stderr}"
        runs_in_a_window(installed, shop)
    finally:
        for kind in ("ClusterRole", "ClusterRoleBinding"):
            api.delete(kind, WINDOW, missing_ok=True)
        installed.remove()


def moved(namespace: str) -> str:
    """The page with the injector in this namespace."""
    return re.sub(r"(-n|namespace:) sidecar-injector\b", rf"\1 {namespace}", PAGE)


def runs_in_a_window(installed: Installed, shop: str) -> None:
    """The Job's pod comes into being, and its command, as its ServiceAccount, replaces what is outdated."""
    api, space = installed.api, installed.namespace
    eventually("the Job has its pod", lambda: api.list("Pod", space, labelSelector="batch.kubernetes.io/job-name=try"))
    [made] = api.list("Pod", space, labelSelector="batch.kubernetes.io/job-name=try")
    [container] = made["spec"]["containers"]
    api.patch("ConfigMap", "logger", {"data": overlay("a:3")}, space)
    eventually("it is in use", lambda: "a:3" in str(api.create(pod("try"), shop, dry_run=True)))
    kubeconfig = installed.control_plane.kubeconfig_for_service_account(space, made["spec"]["serviceAccountName"])
    done = subprocess.run(
        [*INJECTOR, *container["args"]],
        cwd=PROJECT,
        env=os.environ | {"KUBECONFIG": str(kubeconfig)},
        text=True,
        capture_output=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert not done.stderr, "it may read all that it wants to read"
    images = {c["image"] for found in api.list("Pod", shop) for c in found["spec"].get("initContainers", ())}
    assert images == {"a:3"}, done.stdout


def test_options_and_times_are_those_of_the_command() -> None:
    known = {name: option for option in rollout.params for name in option.opts}
    for row in table(PAGE, "option", "default", "what it limits"):
        default = known[code(row[0])[0]].default
        assert row[1] == (f"{default:g}" if default else "no pause")
    assert f"in the limits for the first {rollouts._LOST_SECONDS:g} s," in " ".join(PAGE.split())


def test_repair_is_as_the_page_says() -> None:
    flat, settings = " ".join(PAGE.split()), RepairSettings()
    for name, default in json.loads(msgspec.json.encode(settings)).items():
        if isinstance(default, int):
            assert f"`repair.{name}` ({default})" in flat
    assert f"Every {repair._LOOK_SECONDS:g} s " in flat and f"again after {rollouts._FIRST_PAUSE:g} s," in flat
    assert f"after {rollouts._ALONE_SECONDS:g} s a second one" in flat
    timeout = next(option.default for option in rollout.params if option.name == "timeout")
    assert f"within {timeout / 60:g} minutes" in flat
    assert f"lease {settings.lease} -n sidecar-injector {STOPPED_KEY}-\n" in PAGE
