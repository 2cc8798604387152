"""Where `repair` replaces no pods at the moment, as its Lease says: for `list`, `explain` and `check`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

from injector.cluster.blocking_client import BlockingClient, ClusterError
from injector.cluster.rollout.lease_brake import RESTING_KEY
from injector.cluster.rollout.rollouts import read_brake
from injector.pods.context import Object, mapping_at
from injector.settings import Settings


def rest_notes(live: BlockingClient, settings: Settings, injector_namespace: str, space: str) -> Iterator[str]:
    """Why no pods are replaced in a namespace, or in any (""), as far as one may read the Lease."""
    with suppress(ClusterError):
        if settings.repair.mode != "off" and injector_namespace:
            yield from rests_on(lease_of(live, settings, injector_namespace), space)


def lease_of(live: BlockingClient, settings: Settings, namespace: str) -> Object:
    """The Lease of `repair`, an empty one where there is none. Raises ClusterError."""
    path = f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases/{settings.repair.lease}"
    return live.found(path) or {"metadata": {}}


def rests_on(lease: Object, space: str = "") -> Iterator[str]:
    """In which namespaces a Lease says that `repair` rests; of one of them, or of all ("")."""
    for name, rest in read_brake(mapping_at(lease["metadata"], "annotations").get(RESTING_KEY)).rests.items():
        if space in ("", name):
            workload = rest.of(name).name
            yield f"repair replaces no pods of namespace {name} until {rest.until}: {workload}: {rest.message}"
