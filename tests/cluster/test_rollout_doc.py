"""docs/rollout.md is typed on a real API server, and shows what really comes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from injector.cli.rollout import rollout
from injector.cluster.rollout import rollout_marks
from tests.authoring.pages import blocks, commands, shows
from tests.cluster.conftest import NamespaceFactory
from tests.cluster.controlplane import ControlPlane
from tests.cluster.installed import Installed
from tests.cluster.objects import config_map, deployment, pod, wait_until_available
from tests.cluster.processes import eventually
from tests.silence import needs_words
from tests.unit.test_docs import code, page, table

PAGE = page("rollout.md")
FILES = {"template.yaml": "description: x\n", "overlay.yaml.j2": "spec: {containers: [{name: logger, image: 'a:1'}]}\n"}
LABEL = {"sidecar.injector/template": "true"}


@needs_words
def test_each_step(control_plane: ControlPlane, namespace: NamespaceFactory, room: None, tmp_path: Path) -> None:
    api = control_plane.api
    (tmp_path / "server").mkdir()
    installed = Installed(control_plane, tmp_path / "server")
    installed.install()
    api.create(config_map("logger", FILES, labels=LABEL), installed.namespace)
    shop = namespace(annotations={"sidecar.injector/templates": "logger"}, name="shop")
    for lonely in (deployment("early"), pod("alone")):
        api.create(lonely, shop)
    wait_until_available(api, "early", shop)
    api.patch("Namespace", shop, {"metadata": {"labels": {"injection": "enabled"}}})
    eventually("it is in use", lambda: "a:1" in str(api.create(pod("try"), shop, dry_run=True)))
    batch = deployment("batch", 2)
    batch["metadata"]["annotations"] = {"argocd.argoproj.io/tracking-id": "shop:apps/Deployment:shop/batch"}
    for workload in (batch, deployment("web", 2)):
        api.create(workload, shop)
        wait_until_available(api, workload["metadata"]["name"], shop)
    changed = {**FILES, "overlay.yaml.j2": FILES["overlay.yaml.j2"].replace("a:1", "a:2")}
    api.patch("ConfigMap", "logger", {"data": changed}, installed.namespace)
    eventually("it is in use", lambda: "a:2" in str(api.create(pod("try"), shop, dry_run=True)))
    path = f"{control_plane.programs}:{Path(sys.executable).parent}:{os.environ['PATH']}"
    environment = os.environ | {"KUBECONFIG": str(control_plane.kubeconfig), "PATH": path, "COLUMNS": "160"}
    try:
        for block in blocks(PAGE):
            for command, shown in commands(block.text):
                done = subprocess.run(
                    ["bash", "-c", command], env=environment, text=True, capture_output=True, timeout=300, check=False
                )
                assert shows(shown, done.stdout + done.stderr), f"line {block.line}: {done.stdout}{done.stderr}"
    finally:
        installed.remove()


def test_options_and_times_are_those_of_the_command() -> None:
    known = {name: option for option in rollout.params for name in option.opts}
    for row in table(PAGE, "option", "default", "what it limits"):
        default = known[code(row[0])[0]].default
        assert row[1] == (f"{default:g}" if default else "no pause")
    assert f"is waited for {rollout_marks.LOST_SECONDS:g} s" in " ".join(PAGE.split())
