"""Controllers that wait to create pods again, as the injector did not answer, and how to have them try at once."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from injector.cluster.blocking_client import BlockingClient, ClusterError
from injector.cluster.retries import FAILED_CREATE, RefusedCreation, events_path, missing_pods, refused_creation


@dataclass(frozen=True, slots=True)
class WaitingController:
    """One of them, and how many pods it has still to create."""

    creation: RefusedCreation
    missing: int

    @property
    def words(self) -> str:
        """`ReplicaSet web-6d4cf56db6 (3 pods missing, refused at 12:03:04 UTC)`."""
        pods = f"{self.missing} pod{'s' if self.missing > 1 else ''} missing"
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
        at = f"{creation.at:%Y-%m-%dT%H:%M:%SZ}"
        return {
            "namespace": creation.namespace,
            "controller": f"{creation.kind.lower()}/{creation.name}",
            "missingPods": self.missing,
            "refusedAt": at,
            "retry": self.command,
        }


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
        try:
            controller = live.get(creation.path)
        except ClusterError as error:
            if error.status != 404:  # else it is gone
                raise
            continue
        missing = missing_pods(controller)
        if missing and controller["metadata"]["uid"] == creation.uid:
            waiting.append(WaitingController(creation, missing))
    return sorted(waiting, key=lambda w: (w.creation.namespace, w.creation.kind, w.creation.name))
