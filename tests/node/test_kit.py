"""The Dockerfile's target `kit`: what a pipeline types in it, typed in it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests import parts
from tests.node import images
from tests.node.running import missing

_POD = (
    "apiVersion: v1\nkind: Pod\nmetadata: {name: web, namespace: shop}\nspec: {containers: [{name: web, image: w:1}]}\n"
)
_PATHS = "paths: {/mutate/shop: {templates: [mine]}}\n"
_COMMANDS = (
    "injector lint --strict templates",
    "injector test templates",
    "injector check-manifests --strict --templates-dir templates --settings settings.yaml web.yaml",
)


def test_the_kit(tmp_path: Path) -> None:
    """the image for pipelines: lint, test and check-manifests, what is right and what is wrong"""
    if why := missing():
        parts.go_without(parts.NODE, why)
    tmp_path.chmod(0o755)  # the image's user is another one
    (tmp_path / "templates").mkdir()
    subprocess.run([sys.executable, "-m", "injector", "new", "mine"], cwd=tmp_path / "templates", check=True)
    (tmp_path / "web.yaml").write_text(_POD)
    (tmp_path / "settings.yaml").write_text(_PATHS)
    with images.kit(parts.require(parts.NODE)) as kit:
        for command in _COMMANDS:
            kit(tmp_path, command)
        overlay = tmp_path / "templates/mine/overlay.yaml.j2"
        overlay.write_text(overlay.read_text().replace("params.port", "params.prot"))
        for command in _COMMANDS:
            assert kit(tmp_path, f"{command} >/dev/null 2>&1 && echo right || echo wrong") == "wrong\n", command
