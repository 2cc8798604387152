"""A template's variable that hides one of the app: a warning where the input says so, a note where it may be."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

TEMPLATE = {
    "template.yaml": "description: A proxy's address.\n",
    "overlay.yaml.j2": 'spec: {containers: [{name: "*", env: [{name: HTTP_PROXY, value: "http://127.0.0.1:3128"}]}]}\n',
}
OWN = {"env": [{"name": "HTTP_PROXY", "value": "mine"}]}


def manifest(source: dict[str, object], container: dict[str, object], *objects: dict[str, object]) -> str:
    app = {"name": "app", "image": "a:1", "envFrom": [source], **container}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"}, "spec": {"containers": [app]}}
    return yaml.safe_dump_all([*objects, pod])


def store(kind: str, field: str, key: str, **metadata: str) -> dict[str, object]:
    return {"apiVersion": "v1", "kind": kind, "metadata": {"name": "settings", **metadata}, field: {key: "http://app"}}


CONFIG_MAP, SECRET = {"configMapRef": {"name": "settings"}}, {"secretRef": {"name": "settings"}}
PREFIXED = {**CONFIG_MAP, "prefix": "HTTP_"}


@pytest.mark.parametrize(
    ("text", "is_hidden", "may_be"),
    [
        (manifest(CONFIG_MAP, {}, store("ConfigMap", "data", "HTTP_PROXY")), True, True),
        (manifest(SECRET, {}, store("Secret", "data", "HTTP_PROXY")), True, True),
        (manifest(SECRET, {}, store("Secret", "stringData", "HTTP_PROXY")), True, True),
        (manifest(PREFIXED, {}, store("ConfigMap", "data", "PROXY")), True, True),
        (manifest(PREFIXED, {}, store("ConfigMap", "data", "HTTP_PROXY")), False, True),
        (manifest({**CONFIG_MAP, "prefix": "A_"}, {}, store("ConfigMap", "data", "HTTP_PROXY")), False, False),
        (manifest(CONFIG_MAP, {}, store("ConfigMap", "data", "NO_PROXY")), False, True),
        (manifest(CONFIG_MAP, {}, store("Secret", "data", "HTTP_PROXY")), False, True),
        (manifest(CONFIG_MAP, {}, store("ConfigMap", "data", "HTTP_PROXY", namespace="other")), False, True),
        (manifest(CONFIG_MAP, {}), False, True),
        (manifest(CONFIG_MAP, OWN, store("ConfigMap", "data", "HTTP_PROXY")), False, False),
    ],
)
def test_it_is_told(run: Callable[..., Any], tmp_path: Path, text: str, is_hidden: bool, may_be: bool) -> None:
    folder = tmp_path / "templates" / "proxy"
    folder.mkdir(parents=True)
    for name, content in TEMPLATE.items():
        (folder / name).write_text(content)
    options = ("--templates-dir", str(folder.parent), "--templates", "proxy")
    injected = run("inject", *options, "-", stdin=text)
    assert injected.code == 0 and ("hides the app's own" in injected.err) is is_hidden
    explained = run("explain", *options, "-", stdin=text)
    assert explained.code == 0 and ("hides the app's own" in explained.out) is may_be


def test_a_pod_without_metadata_is_no_fault(run: Callable[..., Any], tmp_path: Path) -> None:
    folder = tmp_path / "templates" / "named"
    folder.mkdir(parents=True)
    (folder / "template.yaml").write_text("description: A name.\n")
    (folder / "overlay.yaml.j2").write_text("metadata: {annotations: {}}\nspec: {hostname: a}\n")
    spec = {"selector": {}, "template": {"spec": {"containers": [{"name": "app", "image": "a:1"}]}}}
    text = yaml.safe_dump({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": spec})
    done = run("inject", "--templates-dir", str(folder.parent), "--templates", "named", "-", stdin=text)
    assert done.code == 0, done.err
