"""docs/changing-templates.md, versions.md and team-templates.md are typed on a real API server, and show what comes."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.authoring.pages import blocks, commands, shows
from tests.cluster.api import Object
from tests.cluster.conftest import NamespaceFactory
from tests.cluster.controlplane import ControlPlane
from tests.cluster.installed import Installed
from tests.cluster.objects import deployment, pod
from tests.cluster.processes import eventually
from tests.cluster.server import PROJECT
from tests.silence import needs_words


@needs_words
@pytest.mark.parametrize("page", ["changing-templates.md", "team-templates.md", "versions.md"])
def test_each_step(
    page: str, control_plane: ControlPlane, namespace: NamespaceFactory, room: None, tmp_path: Path
) -> None:
    api = control_plane.api
    (tmp_path / "server").mkdir()
    teams = {"teamTemplates": {"namespaces": {}}} if page.startswith("team") else {}
    installed = Installed(control_plane, tmp_path / "server", **teams)
    installed.install()
    shop = namespace({"injection": "enabled"}, {"sidecar.injector/templates": "logger"}, f"shop-{page[:4]}")
    environment = os.environ | {
        "KUBECONFIG": str(control_plane.kubeconfig),
        "PATH": f"{control_plane.programs}:{Path(sys.executable).parent}:{os.environ['PATH']}",
        "HOME": str(tmp_path),
        "COLUMNS": "160",
    }

    def here(text: str) -> str:
        return text.replace("-n sidecar-injector", f"-n {installed.namespace}").replace("shop", shop)

    def made(obj: Object, **query: Any) -> str:
        return str(api.create(obj, shop, **query))

    try:
        for block in blocks((PROJECT / "docs" / page).read_text()):
            if block.file:
                (tmp_path / block.file).parent.mkdir(exist_ok=True)
                (tmp_path / block.file).write_text(block.text)
                continue
            for command, shown in commands(block.text):
                done = subprocess.run(
                    ["bash", "-c", here(command)],
                    cwd=tmp_path,
                    env=environment,
                    text=True,
                    capture_output=True,
                    timeout=300,
                )
                assert shows(here(shown), done.stdout + done.stderr), f"line {block.line}: {done.stdout}{done.stderr}"
                # what the page takes for granted before the next step
                looks = re.match("injector (templates$|list)", command)
                if looks or done.stdout.endswith("configmap/logger created\n"):
                    image = "logger:2" if "--outdated" in command else "logger:1"
                    eventually("it is in use", lambda image=image: image in made(pod("try"), dry_run=True))
                if looks:
                    if api.exists("Deployment", "web", shop):
                        api.delete("Deployment", "web", shop)
                        eventually("its pods are gone", lambda: not api.list("Pod", shop))
                    made(deployment("web"))
                    eventually("its pod is there", lambda: api.list("Pod", shop))
    finally:
        installed.remove()
