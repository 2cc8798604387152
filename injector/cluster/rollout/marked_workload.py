"""What a rollout reads and writes of one workload: its object with the mark, its pods, a restart, an eviction."""

from __future__ import annotations

import time

import msgspec

from injector.cluster.api_error import ApiError
from injector.cluster.client import Client
from injector.cluster.rollout.plan import PlannedWorkload
from injector.cluster.rollout.rollout_marks import (
    MANAGER,
    RESTARTED_AT,
    SIGN_SECONDS,
    RolloutMark,
    mark_key,
    read_mark,
    spoken_time,
)
from injector.cluster.rollout.workload_health import is_live
from injector.pods.context import Object, mapping_at, mappings_at
from injector.pods.workloads import workload_of_pod
from injector.settings import Settings

#: How often a change is tried while others change the object at the same time.
_TRIES = 8
#: The operators of a label selector, as a query has them.
_OPERATORS = {"In": "{0} in ({1})", "NotIn": "{0} notin ({1})", "Exists": "{0}", "DoesNotExist": "!{0}"}


class TakenError(Exception):
    """Another rollout has written its mark on the workload."""


class MarkedWorkload:
    """A workload of which a rollout (`run`) is in hand. Every method raises ApiError."""

    def __init__(self, client: Client, planned: PlannedWorkload, settings: Settings, run: str, by: str) -> None:
        self.mark = RolloutMark(run, "", "", by)
        self._client, self._planned, self._settings = client, planned, settings
        self._signed = 0.0

    async def earlier(self) -> RolloutMark | None:
        """The mark that another rollout has left, or is about to renew; None where there is none."""
        mark = read_mark(await self._object(), self._settings)
        return None if mark is None or mark.run == self.mark.run else mark

    def is_taken(self, mark: RolloutMark | None) -> bool:
        """Whether a mark is that of another rollout which gave a sign of life a moment ago."""
        return mark is not None and mark.run != self.mark.run and mark.is_alive(self._client.now())

    async def look(self) -> tuple[Object, list[Object]]:
        """The workload's object, and its live pods."""
        affected = self._planned.affected
        obj = await self._object()
        selector = mapping_at(mapping_at(obj, "spec"), "selector")
        query = {"labelSelector": selector_text(selector)} if mapping_at(selector, "matchLabels") else {}
        path, page, pods = f"/api/v1/namespaces/{affected.namespace}/pods", "", []
        while True:
            listing = await self._client.list(path, query, page=page)
            for pod in listing.items or ():
                workload = workload_of_pod(pod)
                if is_live(pod) and (workload.kind, workload.name) == (affected.workload.kind, affected.workload.name):
                    pods.append(pod)
            page = listing.metadata.next_page
            if not page:
                return obj, pods

    def begin(self, expects: str, earlier: RolloutMark | None) -> None:
        """What the mark says from now on; `earlier` is that of a rollout which this one goes on with."""
        begun = earlier or msgspec.structs.replace(self.mark, started=spoken_time(self._client.now()))
        self.mark = msgspec.structs.replace(begun, run=self.mark.run, by=self.mark.by, expects=expects)

    async def restart(self) -> None:
        """Change the template, and mark the workload in the same request: so it happens once."""
        annotations = {RESTARTED_AT: self.mark.started}
        template = {"template": {"metadata": {"annotations": annotations}}}
        change = {"restartAt": self.mark.started} if self._planned.method == "restartAt" else template
        self.mark = msgspec.structs.replace(self.mark, restarted=True)
        await self.sign(spec=change)

    async def sign(self, **more: Object) -> None:
        """Write the mark with the time, and `more` of the object beside it. Raises TakenError."""
        for left in reversed(range(_TRIES)):
            obj = await self._client.get(self._planned.path)
            if self.is_taken(read_mark(obj, self._settings)):
                raise TakenError
            self.mark = msgspec.structs.replace(self.mark, renewed=spoken_time(self._client.now()))
            self._signed = time.monotonic()
            text = msgspec.json.encode(self.mark).decode()
            try:
                await self._write(text, more, {"resourceVersion": obj["metadata"]["resourceVersion"]})
            except ApiError as error:
                if error.status == 409 and left:
                    continue
                if error.status != 403 or self._planned.method != "evict":  # who may evict alone does without a mark
                    raise
            return

    async def keep_alive(self) -> None:
        """A sign of life, where it is time for one."""
        if time.monotonic() - self._signed > SIGN_SECONDS:
            await self.sign()

    async def leave(self) -> None:
        """Leave the mark for the next rollout: nobody works on the workload any more."""
        self.mark = msgspec.structs.replace(self.mark, renewed="")
        await self._end(msgspec.json.encode(self.mark).decode())

    async def unmark(self) -> None:
        """Take the mark away."""
        await self._end(None)

    async def _end(self, mark: str | None) -> None:
        """The last write; a workload that is gone, or that one may not mark, has none."""
        try:
            await self._write(mark, {}, {})
        except ApiError as error:
            if error.status not in (403, 404):
                raise

    async def evict(self, pod: Object) -> ApiError | None:
        """Evict a pod that may be gone already; the refusal of a PodDisruptionBudget is returned."""
        name, namespace = pod["metadata"]["name"], pod["metadata"]["namespace"]
        body = {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"name": name, "namespace": namespace},
            "deleteOptions": {"preconditions": {"uid": pod["metadata"]["uid"]}},
        }
        try:
            await self._client.create(f"/api/v1/namespaces/{namespace}/pods/{name}/eviction", body)
        except ApiError as error:
            if error.status == 429:
                return error
            if error.status not in (404, 409):  # it is gone, or another one has its name
                raise
        return None

    async def _object(self) -> Object:
        """The workload's object; an empty one where it is not known where the API server has it."""
        return await self._client.get(self._planned.path) if self._planned.path else {"metadata": {}}

    async def _write(self, mark: str | None, more: Object, metadata: Object) -> None:
        body = {"metadata": {"annotations": {mark_key(self._settings): mark}, **metadata}, **more}
        query, kind = {"fieldManager": MANAGER}, "application/merge-patch+json"
        await self._client.request("PATCH", self._planned.path, body, query, content_type=kind)


def selector_text(selector: Object) -> str:
    """A label selector as a query has it.

    https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#label-selectors
    """
    parts = [f"{key}={value}" for key, value in mapping_at(selector, "matchLabels").items()]
    for expression in mappings_at(selector, "matchExpressions"):
        values = ",".join(expression.get("values") or ())
        parts.append(_OPERATORS[expression["operator"]].format(expression["key"], values))
    return ",".join(parts)
