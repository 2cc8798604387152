"""`injector guard --policy`: what keeps the sidecars of `required` namespaces as they are after their creation."""

from __future__ import annotations

from pathlib import Path

import click

from injector.cli.options import SETTINGS_OPTION, flag, option
from injector.cluster.installation import Installation


@click.command()
@flag("--policy", "Write the ValidatingAdmissionPolicy and its binding.", required=True)
@option("--name", "", "Name of the installation.", default=Installation().name, show_default=True)
@option("--namespace", "", "Where the injector runs.", default=Installation().namespace, show_default=True)
@SETTINGS_OPTION
def guard(policy: bool, name: str, namespace: str, settings_file: Path | None) -> int:
    """Write a policy that refuses changes to running sidecars, as YAML for kubectl apply.

    The policy is for namespaces with the label value `required`. With the policy, the API server refuses another
    image or other resources for a sidecar, changes to the injector's annotations, and ephemeral containers that target
    a sidecar or mount its volumes. If the settings have `required: {resources: any}`, it accepts other resources.

    \b
    injector guard --policy --settings settings.yaml | kubectl apply -f -
    """
    from injector.authoring.manifest_writer import dump_yaml
    from injector.cli.injection_sources import load_settings
    from injector.cluster.update_policy import update_policy

    installation = Installation(name=name, namespace=namespace)
    click.echo("---\n".join(dump_yaml(o) for o in update_policy(load_settings(settings_file), installation)), nl=False)
    return 0
