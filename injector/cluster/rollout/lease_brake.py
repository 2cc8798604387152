"""The brake of `repair`, as annotations of its Lease: whoever leads knows it, and people see it."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

import structlog

from injector.cluster.api_error import ApiError, own_result
from injector.cluster.client import Client
from injector.cluster.events import About, Events
from injector.cluster.rollout.marked_workload import unavailable
from injector.cluster.rollout.plan import RESTARTED, AffectedWorkload, workload_path
from injector.cluster.rollout.pod_states import RUNNING, MissingPods
from injector.cluster.rollout.rollouts import Brake, BrakeState, Rest, read_brake, write_brake
from injector.cluster.rollout.steps import BARE_SUCCESSOR, created
from injector.diagnostics import Diagnostic
from injector.pods.context import Namespace, Object, filled, mapping_at
from injector.pods.workloads import API_VERSIONS

_log = structlog.get_logger(__name__)

#: Why nothing is evicted any more, and the namespaces that rest.
STOPPED_KEY: Final = "sidecar.injector/repair-stopped"
RESTING_KEY: Final = "sidecar.injector/repair-resting"
#: Seconds between two Events about a namespace that rests.
_HOUR = 3600.0
#: Pods that a look reads for the end of a rest.
_SAMPLE = 20


class LeaseBrake:
    """`now` is the brake; `read()` and `write()` keep it and the Lease at `path` the same."""

    def __init__(
        self,
        client: Client,
        path: str,
        missing: MissingPods,
        namespace_of: Callable[[str], Namespace | None],
        events: Events,
    ) -> None:
        self.now = Brake()
        self._client, self._path, self._missing = client, path, missing
        self._namespace_of, self._events = namespace_of, events
        self._written = BrakeState()
        self._fault = ""  # what stopped all, as long as the Lease does not say so
        self._told: dict[str, float] = {}  # when people of a namespace are told next

    def forget(self) -> None:
        """Another replica leads: what the Lease says counts."""
        self.now, self._written, self._fault = Brake(), BrakeState(), ""

    async def read(self) -> str:
        """Why nothing is evicted; "" where nothing speaks against it. Who may change the Lease may end a rest, too."""
        await self.write()
        lease = await self._client.get(self._path)
        annotations = mapping_at(lease["metadata"], "annotations")
        state = read_brake(annotations.get(RESTING_KEY))
        if state != self._written:
            self.now, self._written = Brake(state), state
        return str(annotations.get(STOPPED_KEY) or "")

    async def write(self) -> None:
        """Have the Lease say what is new."""
        state = self.now.state
        if not self._fault and state == self._written:
            return
        annotations = {RESTING_KEY: write_brake(state)} | filled({STOPPED_KEY: self._fault})
        body = {"metadata": {"annotations": annotations}}
        await self._client.request("PATCH", self._path, body, content_type="application/merge-patch+json")
        self._fault, self._written = "", state

    def stop_all(self, diagnostic: Diagnostic, namespace: str, name: str) -> None:
        """Stop for good: on the Lease of that name, as an Event and in the log. Then no namespace rests any more."""
        fields = diagnostic.fields
        self._fault = f"{fields['namespace']} {fields['workload']}: {diagnostic.message}"
        self.now = Brake()
        lease = About("coordination.k8s.io/v1", "Lease", name, "", namespace)
        note = f"{self._fault}; when that is mended, remove the annotation {STOPPED_KEY} from this Lease"
        self._events.tell(lease, "repair-stopped", note, action="Evict")
        _log.error("repair-stopped", why=self._fault)

    async def look_at_rests(self) -> None:
        """End the rest of each namespace in which all is well again; tell the others' people, once an hour."""
        for space, rest in self.now.state.rests.items():
            with own_result("rest-not-judged", namespace=space):
                path, obj = await object_of(self._client, rest.of(space))
                if await self._is_over(space, rest, path, obj):
                    self.now.end_rest(space)
                elif obj and path and time.monotonic() >= self._told.get(space, 0):
                    self._told[space] = time.monotonic() + _HOUR
                    version = (API_VERSIONS | RESTARTED)[rest.kind]
                    about = About(version, rest.kind, rest.name, obj["metadata"]["uid"], space)
                    note = f"until {rest.until} no pods that lack their sidecars are replaced here: {rest.message}"
                    self._events.tell(about, "repair-rests", note, action="Evict")
        self.now.try_again(self._client.now())

    async def _is_over(self, space: str, rest: Rest, path: str, obj: Object | None) -> bool:
        """Whether the workload is healthy again or gone; after a bare successor, whether a younger pod of the namespace
        has its sidecar in its containers: an app without one is healthy, too.
        """
        if rest.code != BARE_SUCCESSOR:
            return obj is None or bool(path and not unavailable(obj))
        namespace = self._namespace_of(space)
        if namespace is None:
            return True
        path, page, reads = f"/api/v1/namespaces/{space}/pods", "", 0
        while reads < _SAMPLE:
            listing = await self._client.list(path, RUNNING, page=page, metadata_only=True)
            for metadata in (pod["metadata"] for pod in listing.items or () if created(pod) > rest.since):
                reads += 1
                pod = await self._client.find(f"{path}/{metadata['name']}") if reads <= _SAMPLE else None
                if pod and await self._missing.has_sidecar(pod, namespace):
                    return True
            page = listing.metadata.next_page
            if not page:
                break
        return False


async def object_of(client: Client, affected: AffectedWorkload) -> tuple[str, Object | None]:
    """Where a workload's object is, and itself, None where it is gone; no path and an empty one where it may not be
    read. Raises ApiError.
    """
    path = workload_path(affected)
    try:
        return path, await client.find(path) if path else {"metadata": {}}
    except ApiError as error:
        if error.is_of_server:
            raise
        return "", {"metadata": {}}
