"""Templates and what they see, for tests: small, with the parts that a test does not care about filled in."""

from __future__ import annotations

from typing import Any

import yaml

from injector.pods.context import Cluster, Namespace, Workload
from injector.templates.load import load_template
from injector.templates.render import render_files, render_overlay
from injector.templates.template import Template
from injector.templates.variables import Context

POD: dict[str, Any] = {
    "metadata": {"name": "web", "labels": {"app": "web"}},
    "spec": {"containers": [{"name": "web", "image": "example.com/web:1", "ports": [{"containerPort": 8080}]}]},
}


def template(overlay: str, parameters: dict[str, Any] | None = None, **files: str) -> Template:
    """A template with these files; one whose name does not start with `_` is a config file."""
    manifest: dict[str, Any] = {"description": "A test.", "parameters": parameters or {}}
    sources = {"overlay.yaml.j2": overlay}
    configs = {}
    for name, text in files.items():
        sources[name] = text
        if not name.startswith("_"):
            configs[name.removesuffix(".j2")] = {"template": name}
    manifest["files"] = configs
    sources["template.yaml"] = yaml.safe_dump(manifest)
    return load_template("sample", sources)


def context(params: dict[str, Any] | None = None, **more: Any) -> Context:
    """What a template sees, of a pod with one container."""
    seen: dict[str, Any] = {
        "params": params or {},
        "object": POD,
        "namespace": Namespace("shop", {"injection": "enabled"}, {}),
        "workload": Workload("Deployment", "web", None),
        "containers": POD["spec"]["containers"],
        "ports": (8080,),
        "cluster": Cluster(),
        "configmap": "sample-0123456789ab",
    }
    return Context(**{**seen, **more})


def overlay(text: str, params: dict[str, Any] | None = None, **files: str) -> Any:
    """The overlay that a text renders, with these parameters declared as anything."""
    return render_overlay(_declared(text, params, files), context(params)).overlay


def file(name: str, text: str, params: dict[str, Any] | None = None, **files: str) -> str:
    """A config file that a text renders."""
    made = _declared("{}", params, {f"{name}.j2": text, **files})
    return render_files(made, context(params))[name]


def _declared(text: str, params: dict[str, Any] | None, files: dict[str, str]) -> Template:
    parameters = {name.replace("_", "-"): {"type": "string"} for name in params or {}}
    return template(text, parameters, **files)
