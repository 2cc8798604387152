"""The values of `--param` by template and parameter."""

from __future__ import annotations

from collections.abc import Iterable

import click

from injector.names import hint, shortened
from injector.settings import Settings
from injector.templates.families import declared_parameter, similar_names
from injector.templates.snapshot import Snapshot


def read_parameters(params: Iterable[str], snapshot: Snapshot, template: str = "") -> dict[str, dict[str, str]]:
    """The values by template; `template` is the default where `--param` names none.

    Raises click.UsageError for what is not NAME=VALUE, and for a template or a parameter that there is not.
    """
    parameters: dict[str, dict[str, str]] = {}
    for text in params:
        key, equals, value = text.partition("=")
        name, parameter = _named(key, snapshot.settings)
        name = name or template
        if not (equals and name):
            raise click.UsageError(f"--param {shortened(text)} is not TEMPLATE.PARAMETER=VALUE (envoy.cpu-limit=500m)")
        owner = snapshot.catalog.get(name)
        if owner is None:
            near = hint(name, snapshot.catalog.names, "there are")
            raise click.UsageError(f"--param {key}: there is no template {shortened(name)}{near}")
        if declared_parameter(owner.parameters, parameter) is None:
            near = hint(parameter, similar_names(owner.parameters, parameter), "there are")
            raise click.UsageError(f"--param {key}: template {name} has no parameter `{parameter}`{near}")
        parameters.setdefault(name, {})[parameter] = value
    return parameters


def _named(key: str, settings: Settings) -> tuple[str, str]:
    """Template and parameter of a key; that of an annotation, `envoy.sidecar.injector/app-port`, is one too."""
    owner, at, parameter = key.strip().partition(f".{settings.prefix}/")
    if at:
        return owner, parameter
    owner, _, parameter = key.strip().rpartition(".")
    return owner, parameter
