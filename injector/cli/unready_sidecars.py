"""Which injected containers keep a pod from running, in the kubelet's own words."""

from __future__ import annotations

import re
from collections.abc import Iterator

from injector.cli.manifest_objects import metadata_of
from injector.diagnostics import Diagnostic, Key, Severity
from injector.names import cut
from injector.pods.context import Object, mapping_at, mappings_at
from injector.pods.fields import CONTAINER_LISTS
from injector.pods.receipt import read_receipt
from injector.pods.shape import spec_of
from injector.settings import Settings

#: What the kubelet writes around an error: the command of a hook, which can be long, and its output a second time.
_AROUND = re.compile(
    r"""^.*[ ]failed[ ]-[ ]error:[ ](?:command[ ]'.*'[ ](?=exited[ ]with[ ]\d))?
    |(?<!:[ ]),[ ]message:[ ]".*"$|:[ ],[ ]message:[ ]""$
    |rpc[ ]error:[ ]code[ ]=[ ]\w+[ ]desc[ ]=[ ]""",
    re.DOTALL | re.VERBOSE,
)


def unready_sidecars(pod: Object, namespace: str, settings: Settings) -> Iterator[Diagnostic]:
    """A Diagnostic of each injected container that is not ready by the status of a pod: an error where it has failed, a
    warning where it may yet become ready.

    Of containers that have only to wait, the first is told, if it is injected. What has ended well is left out, but a
    native sidecar should not end before its pod: one whose hook failed may have.
    """
    own, native, target = _injected(pod, settings), _native(pod), f"-n {namespace} {metadata_of(pod).get('name')}"
    unready = [
        _problem(container, field, target)
        for field in CONTAINER_LISTS
        for container in mappings_at(mapping_at(pod, "status"), f"{field[:-1]}Statuses")
        if not container.get("ready")
        and (
            mapping_at(mapping_at(container, "state"), "terminated").get("exitCode") != 0
            or container.get("name") in native
        )
    ]
    for problem in unready:
        has_to_wait = problem.severity == "warning" and problem.fields["state"] == "waiting"
        if problem.fields["container"] in own and (problem is unready[0] or not has_to_wait):
            yield problem


def _injected(pod: Object, settings: Settings) -> set[str]:
    """The names of the containers whose image is from the injection, except those that have ended with their pod."""
    receipt, status = read_receipt(pod, settings), mapping_at(pod, "status")
    names = set() if receipt is None else receipt.containers
    if status.get("phase") not in ("Succeeded", "Failed"):
        return names
    return names - _native(pod)


def _native(pod: Object) -> set[str]:
    """The names of the pod's native sidecars."""
    return {
        str(c.get("name")) for c in mappings_at(spec_of(pod), "initContainers") if c.get("restartPolicy") == "Always"
    }


def _problem(container: Object, field: str, target: str) -> Diagnostic:
    name, restarts = str(container.get("name")), container.get("restartCount", 0)
    states = mapping_at(container, "state")
    state = next(iter(states), "waiting")
    details, before = mapping_at(states, state), mapping_at(mapping_at(container, "lastState"), "terminated")
    message, command = _spoken(state, details), f"kubectl logs {target} -c {name}"
    if before:
        message += f"; restarts: {restarts}; before: {_spoken('terminated', before)}"
        command += " --previous"
    elif state == "waiting":
        command = f"kubectl describe pod {target}"
        if "message" not in details:
            message += "; while a postStart hook runs, kubectl logs shows nothing"
    fields = {
        "container": name,
        "state": state,
        "reason": details.get("reason", ""),
        "lastReason": before.get("reason", ""),
        "exitCode": details.get("exitCode", before.get("exitCode")),
        "restarts": restarts,
    }
    severity: Severity = "error" if before or state == "terminated" or "message" in details else "warning"
    return Diagnostic("sidecar-not-ready", severity, message, command, ("spec", field, Key(name)), fields=fields)


def _spoken(state: str, details: Object) -> str:
    """A state on one line: `waiting (ErrImagePull): no such image`, `terminated (OOMKilled, exit code 137)`."""
    shown = {"reason": "", "exitCode": "exit code "}
    facts = ", ".join(f"{words}{details[key]}" for key, words in shown.items() if key in details)
    message = " ".join(_AROUND.sub("", str(details.get("message", ""))).split())
    return ": ".join(filter(None, (f"{state} ({facts})".removesuffix(" ()"), cut(message))))
