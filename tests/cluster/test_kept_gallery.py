"""An upgrade to an injector with another gallery, on a real API server: no sidecar changes until that is asked."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml
from click.testing import CliRunner

from injector import __version__
from injector.cli.checks.check_context import CheckContext
from injector.cli.checks.settings_and_templates import kept_gallery
from injector.cli.main import cli
from injector.cluster.blocking_client import BlockingClient
from injector.loading.kept_gallery import gallery_data
from injector.loading.template_folders import gallery_path, read_gallery
from tests.cluster.api import Object
from tests.cluster.conftest import ConfigureWebhooks, NamespaceFactory
from tests.cluster.controlplane import ControlPlane
from tests.cluster.objects import config_map, deployment, webhook, webhook_configuration
from tests.cluster.processes import INJECTOR, eventually
from tests.cluster.server import PROJECT, InjectorServer
from tests.cluster.test_versions import OURS, RECEIPT, STAGE, comparable, is_at, of_workload

NAME = "sidecar-injector-gallery"
NAMES = [f"web-{number}" for number in range(40)]
OLD_IMAGE = "registry.example/envoy:before"
#: Runs the package that PYTHONPATH leads to, and not that of the folder in which it runs.
WHEEL = (sys.executable, "-P", "-m", "injector")
NEXT = f"envoy-{__version__.replace('.', '-')}"


@pytest.fixture(scope="module")
def old_release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel of an earlier release, as it is installed: its envoy has another image, it has a template more, and lacks
    one.
    """
    source, dist, installed = (tmp_path_factory.mktemp(name) for name in ("source", "dist", "installed"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(PROJECT / name, source)
    for name in ("injector", "docs", "templates"):
        shutil.copytree(PROJECT / name, source / name, ignore=shutil.ignore_patterns("__pycache__", "shipped", "built"))
    (source / "injector" / "authoring" / "workbench" / "built").mkdir()
    (source / "templates" / "nginx").rename(source / "templates" / "of-before")
    manifest = source / "templates" / "envoy" / "template.yaml"
    text = manifest.read_text()
    manifest.write_text(re.sub(r"(?<=\n  image:\n)(.*?default: )\S+", rf"\g<1>{OLD_IMAGE}", text, count=1, flags=re.S))
    denial = source / "templates" / "deny-load-balancer" / "template.yaml"
    denial.write_text(denial.read_text() + "# of before\n")
    version = source / "injector" / "__init__.py"
    version.write_text(version.read_text().replace(__version__, "0.1.9"))
    subprocess.run([sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(dist)], cwd=source, check=True)
    with zipfile.ZipFile(next(dist.iterdir())) as wheel:
        wheel.extractall(installed)
    return installed


class Upgrade(NamedTuple):
    """A cluster whose injector is of an earlier release at first."""

    control_plane: ControlPlane
    own: str
    shop: str
    server: InjectorServer

    def upgrade(self) -> None:
        """The same installation with the image of today."""
        self.server.stop()
        self.server.command[: len(WHEEL)] = INJECTOR
        del self.server.env["PYTHONPATH"], self.server.env["PYTHONSAFEPATH"]
        self.server.start()

    def made(self, name: str = NAMES[0]) -> Object:
        return self.control_plane.api.create(of_workload(name), self.shop, dry_run=True)

    def made_by_all(self) -> list[tuple[Any, ...]]:
        """What differs between the pods of the same Deployment is left out: seal and generation in the receipt."""
        pods = [comparable(self.made(name)) for name in NAMES]
        return [(*rest, receipt | {"generation": ""}) for *rest, receipt in pods]

    def kept(self) -> Object:
        return self.control_plane.api.get("ConfigMap", NAME, self.own)

    def stage(self, share: str) -> None:
        annotations = {"metadata": {"annotations": {STAGE: f"{__version__}:{share}"}}}
        self.control_plane.api.patch("ConfigMap", NAME, annotations, self.own)
        eventually(f"the gallery is at {share}", partial(is_at, self.server, f"{share} of the workloads", NEXT))

    def run(self, *args: str) -> str:
        """The standard output of a command about this cluster."""
        command = [*args, "--kubeconfig", str(self.control_plane.kubeconfig)]
        result = CliRunner().invoke(cli, command, standalone_mode=False)
        if result.exception is not None:
            raise result.exception
        return result.stdout


def envoy_image(made: Object) -> str:
    spec = made["spec"]
    containers = [*spec["containers"], *spec.get("initContainers", ())]
    image: str = next(c["image"] for c in containers if c["name"] == "envoy-sidecar")
    return image


@pytest.fixture
def before(
    control_plane: ControlPlane,
    namespace: NamespaceFactory,
    injector_server: Callable[..., InjectorServer],
    configure_webhooks: ConfigureWebhooks,
    old_release: Path,
) -> Iterator[Upgrade]:
    api, own = control_plane.api, namespace()
    shop = namespace({"injection": "required"}, {"sidecar.injector/templates": "envoy"})
    api.create(config_map("settings", {"settings.yaml": "{}"}, labels=OURS), own)
    env = {"PYTHONPATH": str(old_release), "PYTHONSAFEPATH": "1"}
    server = injector_server(arguments=[f"--namespace={own}"], command=WHEEL, env=env)
    configure_webhooks(webhook("gallery.injector.example", server.client_config(), namespace=shop))
    configure_webhooks(
        webhook("gallery-guard.injector.example", server.client_config("/validate"), namespace=shop), validating=True
    )
    entry = webhook("found.injector.example", {"service": {"namespace": own, "name": "injector"}}, namespace="nowhere")
    found_by = webhook_configuration("gallery", entry)
    found_by["metadata"]["labels"] = OURS
    api.create(found_by)
    upgrade = Upgrade(control_plane, own, shop, server)
    eventually("the gallery is kept", upgrade.kept)
    yield upgrade
    api.delete("MutatingWebhookConfiguration", "gallery")


def test_an_upgrade_changes_nobody_until_asked(before: Upgrade, tmp_path: Path) -> None:
    kept, pods = before.kept(), before.made_by_all()
    assert envoy_image(before.made()) == OLD_IMAGE
    before.upgrade()
    assert before.made_by_all() == pods
    assert before.kept() == kept
    templates = {row["name"]: row for row in json.loads(before.run("templates", "-o", "json"))["templates"]}
    assert templates[NEXT]["state"] == "next"
    assert templates["envoy"]["state"] == templates["of-before"]["state"] == templates["nginx"]["state"] == "current"

    with BlockingClient(str(before.control_plane.kubeconfig)) as live:
        (note,) = kept_gallery(CheckContext(live, before.own))
    assert (note.code, note.severity) == ("kept-gallery", "warning")
    assert note.fields["templates"] == ["deny-load-balancer", "envoy", "of-before"]

    before.stage("50%")
    images = {name: envoy_image(before.made(name)) for name in NAMES}
    assert len(set(images.values())) == 2
    manifests = tmp_path / "web.yaml"
    manifests.write_text(yaml.safe_dump_all([deployment(name) for name in NAMES]))
    text = before.run("inject", str(manifests), "--from-cluster", "--namespace", before.shop)
    injected = [obj for obj in yaml.safe_load_all(text) if obj and obj["kind"] == "Deployment"]
    assert {obj["metadata"]["name"]: envoy_image(obj["spec"]["template"]) for obj in injected} == images

    before.stage("100%")
    new = before.made_by_all()
    receipt = json.loads(before.made()["metadata"]["annotations"][RECEIPT])
    assert receipt["versions"] == {"envoy": NEXT}
    before.stage("0%")
    assert before.made_by_all() == pods
    before.stage("100%")

    before.control_plane.api.delete("ConfigMap", NAME, before.own)
    shipped = gallery_data(read_gallery(gallery_path()))
    eventually("the new gallery is kept", lambda: before.kept()["data"] == shipped)
    eventually("nothing is next", partial(is_at, before.server, "", NEXT))
    assert [spec for spec, *_ in before.made_by_all()] == [spec for spec, *_ in new]
    assert OLD_IMAGE not in {envoy_image(before.made(name)) for name in NAMES}
