"""An upgrade to an image with another gallery: no sidecar changes until somebody asks for it."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from injector import __version__
from tests.cluster.api import Object
from tests.cluster.conftest import NamespaceFactory
from tests.cluster.objects import pod
from tests.cluster.processes import eventually
from tests.cluster.test_kept_gallery import NAME as KEPT
from tests.cluster.test_versions import STAGE
from tests.deploy.helm import NAME
from tests.node import images
from tests.node.calls import ENABLED, app
from tests.node.installation import Installation

OTHER = "registry.example/envoy:another"


def test_another_gallery(
    injector: Installation, namespace: NamespaceFactory, image: Callable[[Path, str], None], tmp_path: Path
) -> None:
    """an image with another gallery: new pods get what they got before, and the other one once that is asked"""
    space, api = namespace(labels=ENABLED, annotations={"sidecar.injector/templates": "envoy"}), injector.api

    def envoy() -> str:
        made = api.create(pod("web", containers=[app()]), space, dry_run=True)
        return next(str(c["image"]) for c in made["spec"].get("initContainers", ()) if c["name"] == "envoy-sidecar")

    def stage(share: str | None) -> Object:
        return api.patch("ConfigMap", KEPT, {"metadata": {"annotations": {STAGE: share}}}, NAME)

    before = envoy()
    images.copy_sources(tmp_path)
    manifest = tmp_path / "templates" / "envoy" / "template.yaml"
    text = re.sub(r"(?<=\n  image:\n)(.*?default: )\S+", rf"\g<1>{OTHER}", manifest.read_text(), count=1, flags=re.S)
    manifest.write_text(text)
    image(tmp_path, f"{__version__}-gallery")
    assert {envoy() for _ in range(20)} == {before}
    stage("0.0.1:100%")
    assert {envoy() for _ in range(20)} == {before}
    stage(f"{__version__}:100%")
    eventually("every replica gives the other one", lambda: {envoy() for _ in range(20)} == {OTHER})
    stage(None)
    eventually("every replica gives the one before", lambda: {envoy() for _ in range(20)} == {before})
