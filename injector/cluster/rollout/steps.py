"""The way of one workload: its own pod is tried, its pods are replaced, and each successor is looked at."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from injector.cluster.api_error import ApiError
from injector.cluster.client import Client
from injector.cluster.rollout.dry_run import NewPod
from injector.cluster.rollout.plan import PlannedWorkload
from injector.cluster.rollout.rollout_marks import (
    MANAGER,
    RESTARTED_AT,
    SIGN_SECONDS,
    RolloutMark,
    digest_of,
    mark_key,
    read_mark,
    spoken_time,
)
from injector.cluster.rollout.workload_health import (
    crash_looping,
    given_up,
    is_live,
    is_ready,
    lacking,
    not_ready,
    unfinished,
)
from injector.diagnostics import Diagnostic
from injector.errors import InjectorError
from injector.pods.context import Object, mapping_at, mappings_at
from injector.pods.workloads import workload_of_pod
from injector.settings import Settings

#: What a pod of a workload would get now, as a function of the workload's object and of one of its pods.
Expect = Callable[[Object, Object], Awaitable[NewPod]]
#: Who is told of what happens.
Tell = Callable[[Diagnostic], None]

#: Seconds between two looks at a workload; between two tries of an eviction that a budget forbids.
LOOK_SECONDS, BUDGET_SECONDS = 0.5, 2.0
#: How often a change is tried when somebody else changes the object at the same time.
_TRIES = 8
_MERGE = "application/merge-patch+json"


class RolloutStopError(InjectorError):
    """No further workload may be touched; `diagnostic` says why."""

    def __init__(self, diagnostic: Diagnostic) -> None:
        super().__init__(diagnostic.sentence)
        self.diagnostic = diagnostic


class SkippedError(InjectorError):
    """This workload cannot be done, and nothing was hurt: the others go on. `diagnostic` says why."""

    def __init__(self, diagnostic: Diagnostic) -> None:
        super().__init__(diagnostic.sentence)
        self.diagnostic = diagnostic


class WorkloadStep:
    """One workload on its way. `run` and `by` say whose rollout it is; `timeout` is in seconds."""

    def __init__(
        self,
        client: Client,
        planned: PlannedWorkload,
        settings: Settings,
        expect: Expect,
        tell: Tell,
        *,
        run: str,
        by: str = "",
        timeout: float = 600.0,
    ) -> None:
        self.planned = planned
        #: What the workload waits for, in words.
        self.waits_for = ""
        self._client, self._settings, self._expect, self._tell = client, settings, expect, tell
        self._mark = RolloutMark(run, "", "", by)
        self._timeout = timeout
        self._signed = 0.0
        self._may_mark = True
        self._known: set[str] = set()  # the pods that were there before, by uid

    async def go(self) -> None:
        """All of it. Raises RolloutStopError, SkippedError and ApiError."""
        earlier = await self._earlier(await self._client.get(self.planned.path))
        obj, pods = await self._look()
        affected = [pod for pod in pods if self._is_affected(pod)]
        if not affected and not (earlier and pods):
            await self._unmark()
            return self._say("current", "note", "its pods were replaced meanwhile")
        new_pod = await self._expect(obj, (affected or pods)[0])
        self._refuse(new_pod, affected)
        assert new_pod.receipt is not None  # noqa: S101 - else it is refused
        expects = digest_of(new_pod.receipt)
        resumed = earlier is not None and earlier.expects == expects
        since = earlier.started if earlier and resumed else ""
        self._known = {pod["metadata"]["uid"] for pod in pods if not since or created(pod) <= since}
        self._mark = msgspec.structs.replace(
            self._mark, started=since or spoken_time(self._client.now()), expects=expects
        )
        if resumed:
            self._say("resumed", "note", "an earlier rollout has begun with it")
        try:
            if self.planned.method == "evict":
                await self._evict_all(affected, new_pod)
            elif not (resumed and earlier and earlier.has_restarted(obj)):
                await self._restart()
            else:
                await self._sign(restarted=True)
            await self._settle(new_pod)
            obj, pods = await self._look()
            await self._check_successors(obj, [pod for pod in pods if self._is_affected(pod)], new_pod)
        except RolloutStopError as stop:
            if stop.diagnostic.code == "successor-without-sidecar":
                await self._unmark()  # whoever begins anew begins with it
            raise
        await self._unmark()
        self._say("current", "note", "its pods have the current sidecars")
        return None

    # ------------------------------------------------------------------------------------- before anything is killed

    async def _earlier(self, obj: Object) -> RolloutMark | None:
        """The mark of a rollout that ended on its way. One that is alive is waited for: it gives another sign, and
        this one stops, or it was killed.
        """
        first = mark = read_mark(obj, self._settings)
        while mark is not None and mark.run != self._mark.run and mark.is_alive(self._client.now()):
            who = f" of {mark.by}" if mark.by else ""
            if first is not None and mark.seen != first.seen:
                text = f"another rollout{who} works on it, and gave a sign of life at {mark.seen}"
                raise self._stop("rollout-under-way", text, "wait until it has ended, or end it")
            self.waits_for = f"another rollout{who} may work on it; it gave a sign of life at {mark.seen}"
            await asyncio.sleep(LOOK_SECONDS)
            mark = read_mark(await self._client.get(self.planned.path), self._settings)
        return mark

    def _refuse(self, new_pod: NewPod, affected: list[Object]) -> None:
        """Stop if the injector does not do its work, or skip a workload whose pods it would not help."""
        if new_pod.why:
            raise self._skip("would-fail", f"a pod that is created now would have no sidecar: {new_pod.why}")
        if new_pod.differing:
            raise self._stop(
                "replicas-differ",
                "pods that are created now (dry run) get different sidecars: the injector's replicas do not use the "
                "same settings and templates",
                "wait some seconds, then run the command again; if this remains, run injector check",
            )
        if new_pod.receipt is None:
            raise self._stop(
                "not-injected",
                "a pod that is created now (dry run) comes back without a sidecar: nothing was touched",
                "run injector check, which says what is wrong",
            )
        if affected and not any(new_pod.differs(pod, self._settings) for pod in affected):
            raise self._stop(
                "injector-behind",
                "a pod that is created now (dry run) has what its pods have: the injector does not use the newest "
                "settings and templates yet",
                "wait some seconds, then run the command again; if this remains, run injector check",
            )

    # ------------------------------------------------------------------------------------------- pods are replaced

    async def _restart(self) -> None:
        """Change the template, and mark the workload in the same request: so it happens once."""
        started = self._mark.started
        if self.planned.method == "restartAt":
            change: Object = {"restartAt": started}
        else:
            change = {"template": {"metadata": {"annotations": {RESTARTED_AT: started}}}}
        await self._sign(restarted=True, spec=change)
        self._say("restarted", "note", f"restarted ({self.planned.affected.state})")

    async def _evict_all(self, affected: list[Object], new_pod: NewPod) -> None:
        """One pod after the other, first those that are not ready; the next goes when the successor is right."""
        await self._sign()
        for pod in sorted(affected, key=is_ready):
            await self._settle(new_pod, ready=is_ready(pod))
            await self._evict(pod["metadata"])

    async def _evict(self, metadata: Object) -> None:
        name, end = metadata["name"], time.monotonic() + self._timeout
        path = f"/api/v1/namespaces/{metadata['namespace']}/pods/{name}/eviction"
        body = {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"name": name, "namespace": metadata["namespace"]},
            "deleteOptions": {"preconditions": {"uid": metadata["uid"]}},
        }
        while True:
            try:
                await self._client.create(path, body)
            except ApiError as error:
                if error.status in (404, 409):  # it is gone, or another one has its name
                    return
                if error.status != 429:
                    raise
                if time.monotonic() > end:
                    await self._unmark()
                    text = f"pod {name} was not evicted within {self._timeout:g} s: {error.message}"
                    raise self._skip("blocked", text, pod=name) from None
                self.waits_for = f"its PodDisruptionBudget forbids to evict {name}"
                await asyncio.sleep(max(BUDGET_SECONDS, min(error.retry_after, self._timeout)))
                await self._keep_alive()
                continue
            self._say("evicted", "note", f"pod {name} evicted ({self.planned.affected.state})", pod=name)
            return

    # ------------------------------------------------------------------------------------------ successors are seen

    async def _settle(self, new_pod: NewPod, *, ready: bool = True) -> None:
        """Wait until the workload has all its pods, and if asked for until these are ready; each new one is looked at
        as soon as it is there.
        """
        end = time.monotonic() + self._timeout
        while True:
            obj, pods = await self._look()
            successors = [pod for pod in pods if pod["metadata"]["uid"] not in self._known]
            await self._check_successors(obj, successors, new_pod)
            self.waits_for = unfinished(obj, self.planned.method, pods) if ready else lacking(obj, pods)
            if not self.waits_for:
                return
            self._check_health(obj, pods, successors, late=time.monotonic() > end)
            await asyncio.sleep(LOOK_SECONDS)
            await self._keep_alive()

    async def _check_successors(self, obj: Object, successors: list[Object], new_pod: NewPod) -> None:
        """Stop at a new pod that lacks what it should have, unless that is what pods get by now."""
        for pod in successors:
            if not new_pod.differs(pod, self._settings):
                continue
            if (await self._expect(obj, pod)).differs(pod, self._settings):
                name = pod["metadata"]["name"]
                raise self._stop(
                    "successor-without-sidecar",
                    f"its new pod {name} does not have the sidecars that it should have, although a dry run gave them",
                    "run injector check, and injector explain for this pod",
                    pod=name,
                )

    def _check_health(self, obj: Object, pods: list[Object], successors: list[Object], *, late: bool) -> None:
        """Stop if the workload does not become healthy, or not in time."""
        sick = crash_looping(successors)
        cause = given_up(obj) if self.planned.method == "restart" else ""
        if not (sick or cause or late):
            return
        sick = sick or not_ready(successors) or not_ready(pods)
        because = cause or ("" if not late else f"not within {self._timeout:g} s")
        text = f"it does not become healthy: {self.waits_for}" + (f" ({because})" if because else "")
        namespace, name = self.planned.key
        command, fields = f"kubectl describe {name} -n {namespace}", {}
        if sick:
            text += f"; pod {sick.pod}, container {sick.container or '-'}: {sick.reason}"
            command = sick.log_command(namespace)
            fields = {"pod": sick.pod, "container": sick.container, "reason": sick.reason}
        raise self._stop("unhealthy", text, f"to see why: {command}", command=command, **fields)

    # -------------------------------------------------------------------------------------------- the API server

    async def _look(self) -> tuple[Object, list[Object]]:
        """The workload's object, and its live pods."""
        planned = self.planned
        obj = await self._client.get(planned.path)
        query = {}
        selector = mapping_at(mapping_at(obj, "spec"), "selector")
        if selector and planned.affected.workload.kind != "ReplicationController":
            query = {"labelSelector": selector_text(selector)}
        path, page, pods = f"/api/v1/namespaces/{planned.affected.namespace}/pods", "", []
        while True:
            listing = await self._client.list(path, query, page=page)
            pods += listing.items or []
            page = listing.metadata.next_page
            if not page:
                break
        of = planned.affected.workload
        return obj, [
            pod
            for pod in pods
            if is_live(pod) and (owner := workload_of_pod(pod)).kind == of.kind and owner.name == of.name
        ]

    def _is_affected(self, pod: Object) -> bool:
        return self.planned.affected.pods.get(pod["metadata"]["name"]) == created(pod)

    async def _keep_alive(self) -> None:
        if time.monotonic() - self._signed > SIGN_SECONDS:
            await self._sign(restarted=self._mark.restarted)

    async def _sign(self, *, restarted: bool = False, spec: Object | None = None) -> None:
        """Write the mark with the time, and `spec` beside it; the object must not be changed by another rollout."""
        for left in reversed(range(_TRIES)):
            obj = await self._client.get(self.planned.path)
            await self._earlier(obj)
            self._mark = msgspec.structs.replace(self._mark, seen=spoken_time(self._client.now()), restarted=restarted)
            text = msgspec.json.encode(self._mark).decode()
            try:
                await self._write(text, {"spec": spec} if spec else {}, obj["metadata"]["resourceVersion"])
            except ApiError as error:
                if error.status == 409 and left:
                    continue
                if error.status == 403 and spec is None and not restarted:
                    self._may_mark = False  # to evict is allowed without
                    self._signed = time.monotonic()
                    return
                raise
            self._signed = time.monotonic()
            return

    async def _unmark(self) -> None:
        """Take the mark away; of a workload that is gone there is none."""
        try:
            await self._write(None, {}, "")
        except ApiError as error:
            if error.status != 404 and self._may_mark:
                raise

    async def _write(self, text: str | None, more: Object, version: str) -> None:
        metadata: Object = {"annotations": {mark_key(self._settings): text}}
        if version:
            metadata["resourceVersion"] = version
        await self._client.request(
            "PATCH",
            self.planned.path,
            {"metadata": metadata, **more},
            {"fieldManager": MANAGER},
            content_type=_MERGE,
        )

    # ------------------------------------------------------------------------------------------------ what is said

    def _diagnostic(self, code: str, severity: Any, text: str, to_do: str = "", **fields: Any) -> Diagnostic:
        namespace, name = self.planned.key
        return Diagnostic(code, severity, text, to_do, fields={"namespace": namespace, "workload": name, **fields})

    def _say(self, code: str, severity: Any, text: str, **fields: Any) -> None:
        self._tell(self._diagnostic(code, severity, text, **fields))

    def _stop(self, code: str, text: str, to_do: str = "", **fields: Any) -> RolloutStopError:
        return RolloutStopError(self._diagnostic(code, "error", text, to_do, **fields))

    def _skip(self, code: str, text: str, **fields: Any) -> SkippedError:
        return SkippedError(self._diagnostic(code, "warning", text, **fields))


def created(pod: Object) -> str:
    """When a pod was created."""
    return str(pod["metadata"].get("creationTimestamp") or "")


def selector_text(selector: Object) -> str:
    """A label selector as a query has it.

    https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#label-selectors
    """
    parts = [f"{key}={value}" for key, value in mapping_at(selector, "matchLabels").items()]
    for expression in mappings_at(selector, "matchExpressions"):
        key, values = expression["key"], f"({','.join(expression.get('values') or ())})"
        words = {"In": f"{key} in {values}", "NotIn": f"{key} notin {values}", "Exists": key}
        parts.append(words.get(expression["operator"], f"!{key}"))
    return ",".join(parts)
