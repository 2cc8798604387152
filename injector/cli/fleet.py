"""Which pods of a cluster have which templates at which version, which lack them, and how to bring them up to date.

And controllers that wait to create pods again, as the injector did not answer.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

from injector.cli.report import counted
from injector.cluster.blocking_client import BlockingClient, ClusterError
from injector.cluster.namespaces import namespace_of
from injector.cluster.retries import FAILED_CREATE, RefusedCreation, events_path, missing_pods, refused_creation
from injector.inject import inject
from injector.pods.context import Namespace, Object, Workload, filled
from injector.pods.receipt import read_receipt
from injector.pods.shape import string_map
from injector.pods.workloads import workload_of_pod
from injector.reasons import Effect
from injector.templates.snapshot import Snapshot

#: Kinds that kubectl can restart: https://kubernetes.io/docs/reference/kubectl/generated/kubectl_rollout/.
_RESTARTED = {"Deployment": "deployment", "StatefulSet": "statefulset", "DaemonSet": "daemonset"}


#: What is to be said of a pod's sidecars.
State = Literal["current", "outdated", "failed", "missing"]


@dataclass(frozen=True, slots=True)
class Row:
    """One pod: its templates with the digests that its receipt has, and why it is in that state."""

    namespace: str
    pod: str
    state: State
    workload: Workload
    templates: dict[str, str]
    why: str = ""

    def as_data(self) -> dict[str, Any]:
        """For a program; keys are stable."""
        return {
            "namespace": self.namespace,
            "pod": self.pod,
            "state": self.state,
            "workload": f"{self.workload.kind.lower()}/{self.workload.name}",
            "templates": self.templates,
        } | filled({"why": self.why})


class Fleet:
    """Looks at one pod after the other; replicas that lack a sidecar are judged once."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._digests = {template.name: template.digest for template in snapshot.catalog}
        self._judged: dict[tuple[str, str], str] = {}

    def row(self, pod: Object, namespace: Namespace) -> Row | None:
        """The pod's row; None for a pod that has no sidecars and should have none, or that has ended or is being
        deleted.
        """
        metadata, settings = pod["metadata"], self._snapshot.settings
        if "deletionTimestamp" in metadata or pod.get("status", {}).get("phase") in ("Succeeded", "Failed"):
            return None
        annotations, receipt = string_map(pod, "annotations"), read_receipt(pod, settings)
        state: State
        templates = receipt.templates if receipt else {}
        match annotations.get(settings.status_key):
            case "failed":
                state, reason = "failed", annotations.get(settings.reason_key, "")
            case "injected" if receipt:
                reason = "; ".join(self._changed(templates))
                state = "outdated" if reason else "current"
            case _:
                state, reason = "missing", self._lacking(pod, namespace)
                if not reason:
                    return None
        return Row(namespace.name, metadata["name"], state, workload_of_pod(pod), templates, reason)

    def _changed(self, templates: dict[str, str]) -> Iterator[str]:
        for name, digest in templates.items():
            now = self._digests.get(name)
            if now is None:
                yield f"there is no template {name} any more"
            elif now != digest:
                yield f"{name} now has version {now}"

    def _lacking(self, pod: Object, namespace: Namespace) -> str:
        """Why a pod without a mark should have sidecars, by a replay; "" when it should have none."""
        owners = pod["metadata"].get("ownerReferences") or ()
        key = (namespace.name, owners[0]["uid"] if owners else pod["metadata"]["name"])
        if key not in self._judged:
            replay = inject(pod, namespace, self._snapshot)
            self._judged[key] = ""
            if replay.effect in (Effect.INJECT, Effect.MARK, Effect.REFUSE):
                self._judged[key] = f"the injector was not called; the result for a pod created now: {replay.reason}"
        return self._judged[key]


def restarts(rows: Iterable[Row]) -> tuple[list[str], list[str]]:
    """How to give pods that are outdated or lack their sidecars new ones: commands, and sentences for the rest.

    A restart replaces pods a few at a time, as the workload's own update strategy allows; so do one and wait for it.
    """
    commands: dict[str, None] = {}
    sentences: dict[str, None] = {}
    for row in rows:
        if row.state not in ("outdated", "missing"):
            continue
        kind, name = row.workload.kind, row.workload.name
        if kind in _RESTARTED:
            target = f"{_RESTARTED[kind]}/{name} -n {row.namespace}"
            commands[f"kubectl rollout restart {target} && kubectl rollout status {target}"] = None
        elif kind in ("Job", "CronJob"):
            sentences[f"{kind} {row.namespace}/{name}: its next pods get the new sidecars by themselves"] = None
        else:
            sentences[f"{kind} {row.namespace}/{name}: delete its pods, or restart it as its controller requires"] = (
                None
            )
    return list(commands), list(sentences)


def pods_of(live: BlockingClient, namespace: str) -> Iterator[tuple[Object, Namespace]]:
    """The pods of a namespace, or of all ("") with their namespaces, a page at a time. Raises ClusterError."""
    if namespace:
        spaces, path = {namespace: live.namespace(namespace)}, f"/api/v1/namespaces/{namespace}/pods"
    else:
        spaces = {space.name: space for space in map(namespace_of, live.objects("/api/v1/namespaces"))}
        path = "/api/v1/pods"
    for pod in live.objects(path):
        space = spaces.get(pod["metadata"]["namespace"])
        if space is not None:  # else it is younger than the list of namespaces
            yield pod, space


@dataclass(frozen=True, slots=True)
class WaitingController:
    """One of them, and how many pods it has still to create."""

    creation: RefusedCreation
    missing: int

    @property
    def words(self) -> str:
        """`ReplicaSet web-6d4cf56db6 (3 pods missing, refused at 12:03:04 UTC)`."""
        pods = counted(self.missing, "pod", "missing")
        return f"{self.creation.kind} {self.creation.name} ({pods}, refused at {self.creation.at:%H:%M:%S} UTC)"

    @property
    def command(self) -> str:
        """What has it try at once: any change of its object does, and this one is taken back."""
        creation = self.creation
        change = (
            f"kubectl annotate {creation.kind.lower()}/{creation.name} -n {creation.namespace} sidecar.injector/retry"
        )
        return f"{change}=now --overwrite && {change}-"

    def as_data(self) -> dict[str, Any]:
        """For a program; keys are stable."""
        creation = self.creation
        return {
            "namespace": creation.namespace,
            "controller": f"{creation.kind.lower()}/{creation.name}",
            "missingPods": self.missing,
            "refusedAt": f"{creation.at:%Y-%m-%dT%H:%M:%SZ}",
            "retry": self.command,
        }


def waiting_or_why_not(live: BlockingClient, namespace: str) -> tuple[list[WaitingController], list[str]]:
    """Controllers that wait, and a note where that cannot be found out."""
    try:
        names = {configuration["metadata"]["name"] for configuration in live.webhooks()}
        return waiting_controllers(live, names, namespace), []
    except ClusterError as error:
        if error.status != 403:
            raise
        return [], [f"could not look for controllers that wait: {error}"]


def waiting_controllers(
    live: BlockingClient, webhooks: Collection[str], namespace: str = ""
) -> list[WaitingController]:
    """Those that no entry of the configurations of these names answered, in one namespace or in all.

    Raises ClusterError.
    """
    events = live.objects(events_path(namespace), FAILED_CREATE)
    heard = (refused_creation(event, name) for event in events for name in webhooks)
    waiting = []
    for creation in {creation.uid: creation for creation in heard if creation}.values():
        controller = live.found(creation.path)
        if controller and controller["metadata"]["uid"] == creation.uid and (missing := missing_pods(controller)):
            waiting.append(WaitingController(creation, missing))
    return sorted(waiting, key=lambda w: (w.creation.namespace, w.creation.kind, w.creation.name))
