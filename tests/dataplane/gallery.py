"""Pods injected with the gallery's own templates, as the injector would, ready to be run."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from injector.inject import inject
from injector.injection import Injection
from injector.loading.shipped import load_shipped
from injector.loading.template_folders import read_folder
from injector.pods.context import Cluster, Namespace, Object, Workload
from injector.settings import Settings
from injector.templates.snapshot import Snapshot, build_snapshot
from injector.templates.template import Template

GALLERY = Path(__file__).parents[2] / "templates"
ENABLED = Namespace("default", {"injection": "enabled"})
#: The interpreter itself: a virtual environment may lie where the app's container does not see it, in /tmp say.
PYTHON = str(Path(sys.executable).resolve())
APP = Path(__file__).with_name("app.py")
#: The app's ports: HTTP, gRPC, and a server that speaks first.
HTTP_PORT, GRPC_PORT, GREETING_PORT = 8080, 9000, 2525
APP_FILES = {"app": {"app.py": APP.read_text()}}


@cache
def gallery_template(name: str) -> Template:
    """A template of the gallery."""
    return load_shipped(name, read_folder(GALLERY / name))


@cache
def snapshot(*templates: str, native: bool = True) -> Snapshot:
    """A snapshot with templates of the gallery, in this order."""
    settings = Settings(templates=templates, native_sidecars="always" if native else "never")
    sources = {template: read_folder(GALLERY / template) for template in templates}
    return build_snapshot(settings, sources, Cluster(), load=load_shipped)


def app_pod(**fields: Any) -> Object:
    """A pod with the app of `app.py`, its probes and ports declared; `fields` go into its container."""
    ports = [HTTP_PORT, GRPC_PORT, GREETING_PORT]
    container = {
        "name": "app",
        "image": "example.com/app:1",
        "command": [PYTHON, "/app/app.py", *map(str, ports)],
        "ports": [{"containerPort": port} for port in ports],
        "volumeMounts": [{"name": "app", "mountPath": "/app"}],
        "readinessProbe": {"httpGet": {"path": "/", "port": HTTP_PORT}},
        "livenessProbe": {"tcpSocket": {"port": HTTP_PORT}},
        "startupProbe": {"tcpSocket": {"port": GREETING_PORT}},
        **fields,
    }
    volume = {"name": "app", "configMap": {"name": "app"}}
    return {
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {"containers": [container], "volumes": [volume]},
    }


def injected(
    template: str,
    parameters: dict[str, Any] | None = None,
    pod: Object | None = None,
    namespace: Namespace = ENABLED,
    native: bool = True,
    workload: Workload | None = None,
    bare: bool = False,
    also: Mapping[str, dict[str, Any]] | None = None,
) -> Injection:
    """What the injector makes of a pod with a template and parameters. A bare one has no workload.

    `also` are parameters of other templates, which come after this one.
    """
    return inject(
        pod or app_pod(),
        namespace,
        snapshot(template, *(also or {}), native=native),
        overrides={template: parameters or {}, **(also or {})},
        workload=None if bare else workload or Workload("Deployment", "web"),
    )


def config_maps(injection: Injection) -> dict[str, dict[str, str]]:
    """The files of an injected app pod, by ConfigMap."""
    assert injection.effect.value == "inject", injection.message
    return {**APP_FILES, **{made.name: dict(made.data) for made in injection.files}}
