"""`injector demo`: an injection from the HTTPS request to a request through its Envoy, without a cluster."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from injector.cli.options import flag
from injector.names import cut
from injector.pods.context import Namespace, Object
from injector.reasons import Reason
from injector.settings import Settings

if TYPE_CHECKING:
    from injector.cli.demo_programs import Webhook

#: Fields of an added part that are shown with their values, and characters of a line.
_FIELDS, _WIDTH = 5, 110
#: The label of a namespace with the highest Pod Security level.
_RESTRICTED = "pod-security.kubernetes.io/enforce=restricted"


@click.command()
@flag("--pod only_pod", "Print the pod of the demo as YAML, for other commands to read.")
def demo(only_pod: bool) -> None:
    """Show an injection and a request through its sidecar, without a cluster.

    Starts the webhook with temporary certificates, sends it the pods that an API server would send, shows its decisions
    and what it adds, and then runs Envoy with the configuration that the webhook rendered. Ends after a few seconds.
    """
    from injector.authoring.manifest_writer import dump_yaml
    from injector.cli.demo_programs import NAMESPACE, find_envoy, pass_through, pod_of_deployment, webhook
    from injector.cli.explanation import explanation_of
    from injector.cli.explanation_text import show_explanation
    from injector.cli.injection_sources import gather

    settings, pod = Settings(), pod_of_deployment()
    if only_pod:
        click.echo(dump_yaml(pod), nl=False)
        return
    label = settings.namespace_label
    with tempfile.TemporaryDirectory(prefix="injector-demo-") as name:
        folder = Path(name)
        with webhook(folder) as hook:
            _title(
                f"What the webhook on {hook.url} says of three pods, in a namespace with {label.key}={label.enabled}"
            )
            injected = _reviewed(hook, "web", pod, Reason.INJECTED, settings)
            opted_out = pod_of_deployment(**{settings.inject_key: "false"})
            _reviewed(hook, f'web with {settings.inject_key}: "false"', opted_out, Reason.POD_OPTED_OUT, settings)
            _reviewed(hook, "web with its sidecar", injected, Reason.ALREADY_INJECTED, settings)
        _title("What the sidecar of web consists of (the parts that its receipt names)")
        for line in _added(injected, settings):
            click.secho(f"+ {line}", fg="green")
        _title(f"Why web is refused in a namespace with {label.key}={label.required} and Pod Security restricted")
        level, _, value = _RESTRICTED.partition("=")
        space = Namespace(NAMESPACE, {label.key: label.required, level: value})
        show_explanation([explanation_of(pod, space, gather(), "the demo", [], user={})], "text")
        _title("A request through a real Envoy, with the configuration that was rendered for web")
        for line in pass_through(find_envoy(), pod, folder):
            click.echo(f"  {line}")
    restricted = f"--namespace-label {label.key}={label.required} --namespace-label {_RESTRICTED}"
    own = shutil.which("injector", path=Path(sys.executable).parent)
    command = "injector" if own in (None, shutil.which("injector")) else os.path.relpath(own)
    _title("Next, type")
    click.echo(f"  {command} demo --pod | {command} explain -v -")
    click.echo(f"  {command} demo --pod | {command} inject {restricted} --param envoy.intercept=ports --summary -")


def _title(text: str) -> None:
    click.echo()
    click.secho(f"{text}:", fg="cyan", bold=True)


def _reviewed(hook: Webhook, name: str, pod: Object, expected: Reason, settings: Settings) -> Object:
    """Have a pod reviewed and say in one line what became of it. Returns the pod as it is then.

    Raises ProgramError when the answer is not the one that the demo is about.
    """
    from injector.cli.demo_programs import ProgramError
    from injector.cli.report import parts_of

    annotations, after = hook.review(pod)
    reason = annotations.get("reason", "")
    if reason != str(expected):
        raise ProgramError(f"{name}: the webhook answered {reason}, and should have answered {expected}")
    if expected is Reason.INJECTED:
        config_maps = {v["configMap"]["name"] for v in after["spec"]["volumes"] if "configMap" in v}
        templates = annotations["templates"].partition("@")[0]
        outcome = f"{click.style('injected', fg='green')} with {templates}: "
        outcome += f"{parts_of(after, settings, len(config_maps))}, because {Reason.NAMESPACE_ENABLED.sentence}"
    else:
        outcome = click.style("skipped" if expected is Reason.POD_OPTED_OUT else "unchanged", fg="yellow")
        outcome += f", because {expected.sentence}"
    click.echo(f"  {click.style(name, bold=True)}: {outcome}")
    return after


def _added(pod: Object, settings: Settings) -> Iterator[str]:
    """Each part that a pod's receipt names, a line a field."""
    from injector.authoring.manifest_writer import line_text
    from injector.pods.receipt import read_receipt

    receipt, heading = read_receipt(pod, settings), ""
    for path in sorted(() if receipt is None else receipt.added, key=lambda path: path.startswith("/spec/volumes")):
        *_, field, name = path.split("/")
        [part] = [each for each in pod["spec"][field] if each["name"] == name]
        if field != heading:
            yield f"{field}:"
        heading = field
        for number, key in enumerate(list(part)[:_FIELDS]):
            yield cut(f"{'  ' if number else '- '}{key}: {line_text(part[key])}", _WIDTH)
        if len(part) > _FIELDS:
            yield f"  # {', '.join(list(part)[_FIELDS:])}"
