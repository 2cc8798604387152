"""`injector demo`: an injection from the HTTPS request to a request through its Envoy, without a cluster."""

from __future__ import annotations

import difflib
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from rich.console import Console

    from injector.cli.demo_traffic import Passage
    from injector.cli.demo_webhook import DemoAnswer, Webhook
    from injector.pods.context import Object
    from injector.reasons import Reason

#: Characters of a line that are shown; a receipt is longer.
_WIDTH = 110


@click.command()
def demo() -> None:
    """Show an injection and a request through its sidecar, without a cluster.

    Starts the webhook with temporary certificates, sends it the pods that an API server would send, shows its decisions
    and what it adds, and then runs Envoy with the configuration that the webhook rendered. Ends after a few seconds.
    """
    from rich.console import Console

    from injector.cli.demo_traffic import find_envoy, pass_through
    from injector.cli.demo_webhook import NAMESPACE, pod_of_deployment, webhook
    from injector.reasons import Reason
    from injector.settings import Settings

    console = Console(highlight=False, soft_wrap=True)
    settings = Settings()
    with tempfile.TemporaryDirectory(prefix="injector-demo-") as name:
        folder = Path(name)
        with webhook(folder) as hook:
            console.print(f"The webhook listens on {hook.url}, with certificates made a moment ago.")
            label = f"{settings.namespace_label.key}={settings.namespace_label.enabled}"
            _title(console, f"1. A pod of Deployment web, in namespace {NAMESPACE} labelled {label}")
            first = _shown(console, hook, pod_of_deployment(), Reason.INJECTED)
            _title(console, f'2. The same pod, with the annotation {settings.inject_key}: "false"')
            _shown(console, hook, pod_of_deployment(**{settings.inject_key: "false"}), Reason.POD_OPTED_OUT)
            _title(console, "3. The first pod again, which already has its sidecar")
            _shown(console, hook, first.pod, Reason.ALREADY_INJECTED)
        _title(console, "4. The configuration that was rendered, in a real Envoy in front of a small app")
        _show_passage(console, pass_through(find_envoy(), pod_of_deployment(), folder))


def _title(console: Console, text: str) -> None:
    from rich.text import Text

    console.print()
    console.print(Text(text, style="bold cyan"))


def _shown(console: Console, hook: Webhook, pod: Object, expected: Reason) -> DemoAnswer:
    """Have a pod reviewed and show the answer. Raises ProgramError when it is not the one that the demo is about."""
    from injector.cli.demo_webhook import ProgramError

    answer = hook.review(pod)
    _show(console, pod, answer)
    if answer.reason != str(expected):
        raise ProgramError(f"the webhook should have answered with the reason {expected} here")
    return answer


def _show(console: Console, before: Object, answer: DemoAnswer) -> None:
    """The decision as an API server and its audit log see it, then what the patch does to the pod."""
    from rich.syntax import Syntax
    from rich.text import Text

    response = answer.response
    verdict = Text("allowed", "green") if response["allowed"] else Text("refused", "red")
    console.print(Text("   decision: ") + verdict)
    for key, value in (response.get("auditAnnotations") or {}).items():
        console.print(f"   {key}: {value}", markup=False)
    for warning in response.get("warnings") or ():
        console.print(f"   warning: {warning}", markup=False)
    lines = _difference(before, answer.pod)
    if not lines:
        console.print("   the pod stays as it is")
    elif console.is_terminal:
        console.print(Syntax("\n".join(lines), "diff", theme="ansi_dark", background_color="default"))
    else:
        console.print("\n".join(lines), markup=False)


def _difference(before: Object, after: Object) -> list[str]:
    from injector.cli.manifest_writer import dump_yaml
    from injector.names import cut

    old, new = dump_yaml(before).splitlines(), dump_yaml(after).splitlines()
    lines = list(difflib.unified_diff(old, new, "pod as it was sent", "pod with its patch", "", "", 2, ""))
    return [cut(line, _WIDTH) for line in lines]


def _show_passage(console: Console, passage: Passage) -> None:
    from rich.text import Text

    console.print(f"   GET {passage.url} (Envoy) -> 127.0.0.1:{passage.app_port} (app): ", end="")
    console.print(Text(f"{passage.status} OK", "green"))
    for name, value in passage.seen.items():
        console.print(f"   the app saw {name}: {value}", markup=False)
    if passage.access_log:
        console.print(f"   Envoy's access log: {passage.access_log}", markup=False)
    if passage.counted:
        console.print(f"   Envoy's statistics: {passage.counted}", markup=False)
    console.print()
    console.print("Next: `injector inject FILE` does the same to your manifests, `injector explain FILE` says why.")
