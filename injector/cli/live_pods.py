"""What the pods of an object in a cluster have, beside what a pod that is created now gets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from injector.cli.fleet import Fleet, Row, pods_of, restarts
from injector.cluster.blocking_client import BlockingClient, ClusterError
from injector.cluster.rollout.marked_workload import selector_text
from injector.pods.context import Namespace, Object, filled, mapping_at, mappings_at
from injector.pods.fields import CONTAINER_LISTS
from injector.pods.receipt import read_receipt
from injector.pods.shape import spec_of
from injector.pods.workloads import workload_of_object
from injector.settings import Settings


@dataclass(frozen=True, slots=True)
class LivePods:
    """The pod itself (`of_pod`), with its sidecars and their images, or those of a workload; ended ones have no row."""

    rows: Sequence[Row]
    of_pod: bool = False
    sidecars: Sequence[tuple[str, str]] = ()
    trouble: str = ""  #: why the pods of a workload could not be listed

    @property
    def counts(self) -> dict[str, int]:
        """How many pods are in each state."""
        return dict(Counter(str(row.state) for row in self.rows))

    @property
    def to_do(self) -> list[str]:
        """Commands and sentences: how the pods get what a new one gets."""
        commands, sentences = restarts(self.rows)
        return [*commands, *sentences]

    @property
    def bad(self) -> bool:
        """Whether a pod runs without the sidecar that it should have."""
        return not self.counts.keys().isdisjoint(("missing", "failed"))

    @property
    def warned(self) -> bool:
        """Whether a pod has another sidecar than it should have."""
        return not self.counts.keys().isdisjoint(("outdated", "changed"))

    def as_data(self) -> Object:
        """For a program; keys are stable."""
        if not self.of_pod:
            return {"pods": self.counts, "toDo": self.to_do}
        row: Object = self.rows[0].as_data() if self.rows else {"state": "ended"}
        sidecars = [{"name": name, "image": image} for name, image in self.sidecars]
        return {"pod": {**row, "sidecars": sidecars}, "toDo": self.to_do}


def live_pods(live: BlockingClient, obj: Object, namespace: Namespace, fleet: Fleet) -> LivePods:
    """Those of an object with a pod, which lies in this namespace; `fleet` judges them."""
    if obj.get("kind") == "Pod":
        row = fleet.any_row(obj, namespace)
        return LivePods([row] if row else [], True, _sidecars(obj, fleet.settings))
    workload = workload_of_object(obj)
    selector = mapping_at(mapping_at(obj, "spec"), "selector")
    selected = filled({"selector": selector_text(selector)}) if mapping_at(selector, "matchLabels") else {}
    try:
        judged = [fleet.any_row(pod, of) for pod, of in pods_of(live, namespace.name, **selected)]
    except ClusterError as error:
        return LivePods([], trouble=str(error))
    return LivePods(
        [row for row in judged if row and (row.workload.kind, row.workload.name) == (workload.kind, workload.name)]
    )


def _sidecars(pod: Object, settings: Settings) -> list[tuple[str, str]]:
    """The injected containers that a pod has, with their images."""
    receipt, spec = read_receipt(pod, settings), spec_of(pod)
    names = set() if receipt is None else receipt.containers
    containers = (container for field in CONTAINER_LISTS for container in mappings_at(spec, field))
    return [(c["name"], str(c.get("image"))) for c in containers if c.get("name") in names]
