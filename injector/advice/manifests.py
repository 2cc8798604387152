"""What people give in place of manifests: files of Kustomize, Helm and Compose."""

from __future__ import annotations

import posixpath
from typing import Any

from injector.names import kind_of, nearest

_HELM = "render the chart first: helm template CHART | injector inject -"
#: What is no manifest by the end of a file's name.
_PROGRAMS = {
    (".tgz", ".tar.gz"): "this is an archive; render a Helm chart first: helm template {} | injector inject -",
    (".tpl", ".gotmpl"): "this is a Helm template; render the chart first: helm template | injector inject -",
    (".j2",): "this is a part of a template; to see what it renders: injector render FOLDER",
}
#: Lists that tell a Kustomization without a kind.
_KUSTOMIZATION = ("resources", "bases", "patches", "patchesStrategicMerge", "configMapGenerator", "secretGenerator")
#: Keys that tell what a document without a kind is.
_KEYS = (
    (("services",), "this is a Compose file; convert it first: kompose convert"),
    (("replicaCount", "nameOverride", "fullnameOverride", "global"), f"these are the values of a Helm chart; {_HELM}"),
    (("cases",), "these are cases of a template; run them with injector test"),
    (
        ("parameters", "files"),
        "this is the template.yaml of a template; to see what it renders: injector render FOLDER",
    ),
    (
        ("prefix", "namespaceLabel", "podDefault", "templates", "neverSelector", "paths"),
        "these are settings of the injector; give them with --settings",
    ),
)


def foreign_source(name: str) -> str:
    """What to say about an input by the end of its name; "" for one that may be a manifest."""
    matching = (text for ends, text in _PROGRAMS.items() if name.lower().endswith(ends))
    return next(matching, "").format(name)


def foreign_object(value: Any, name: str = "") -> str:
    """What to say about a document that is no Kubernetes object; "" for one that is. `name` is its file's."""
    base = posixpath.basename(name).lower()
    if not isinstance(value, dict):
        return f"a manifest is a mapping with apiVersion and kind, and this is {kind_of(value)}"
    version, kind = value.get("apiVersion"), value.get("kind")
    if isinstance(version, str) and version.startswith("kustomize.config.k8s.io/"):
        return f"this is a {kind or 'Kustomization'}, not a manifest; {_build(name)}"
    if kind not in (None, ""):
        return ""
    is_kustomization = base in ("kustomization.yaml", "kustomization.yml")
    if is_kustomization or any(isinstance(value.get(key), list) for key in _KUSTOMIZATION):
        return f"this is a Kustomization, not a manifest; {_build(name)}"
    if base == "chart.yaml":
        return f"this is the Chart.yaml of a Helm chart, not a manifest; {_HELM}"
    image = value.get("image")
    if version is None and ("values" in base or (isinstance(image, dict) and "repository" in image)):
        return f"these are the values of a Helm chart, not a manifest; {_HELM}"
    for keys, text in _KEYS:
        if version is None and any(key in value for key in keys):
            return text
    near = nearest("kind", [key for key in value if isinstance(key, str) and value[key]])
    return (
        f"it has no kind, so it is not a Kubernetes object; {f'write kind, not {near}' if near else _with_kind(value)}"
    )


def _build(name: str) -> str:
    folder = posixpath.dirname(name) or "."
    return f"build it first: kustomize build {folder} | injector inject -"


def _with_kind(value: dict[Any, Any]) -> str:
    spec = value.get("spec")
    fields = spec if isinstance(spec, dict) else {}
    if "containers" in fields:
        return "add apiVersion: v1 and kind: Pod"
    return (
        "add apiVersion: apps/v1 and kind: Deployment" if "template" in fields else "a manifest has apiVersion and kind"
    )
