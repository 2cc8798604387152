"""The way of one workload: its own pod is tried, its pods are replaced, and each successor is looked at.

What its own pod would get now is tried by server-side dry run, with everything but the storing.
https://kubernetes.io/docs/reference/using-api/api-concepts/#dry-run
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, NamedTuple

from injector.cluster.api_error import ApiError
from injector.cluster.client import Client
from injector.cluster.rollout.marked_workload import (
    MarkedWorkload,
    TakenError,
    crash_looping,
    given_up,
    is_ready,
    lacking,
    not_ready,
    unavailable,
    unfinished,
)
from injector.cluster.rollout.plan import PlannedWorkload
from injector.cluster.rollout.rollout_marks import RolloutMark, digest_of
from injector.diagnostics import Diagnostic, Severity
from injector.errors import InjectorError
from injector.pods.conformance import lacks_parts, parts_of_containers
from injector.pods.context import Object, filled, mapping_at, without
from injector.pods.receipt import Receipt, read_receipt, take_off
from injector.pods.shape import string_map
from injector.pods.workloads import pod_template, workload_of_pod
from injector.settings import Settings

#: Pods that are tried at the same time.
_TRIES = 3
#: What the controllers put on a pod beside the template's labels, and what an injector's choice may depend on.
_OF_CONTROLLERS = ("pod-template-hash", "rollouts-pod-template-hash", "controller-revision-hash")


class NewPod(NamedTuple):
    """What a pod that is created now gets: a receipt, or what refuses it to the pod.

    `refusal` is empty where the injector was not called, or has nothing to give.
    `differing`: not all tries gave the same. `any_version`: what counts is that a pod has sidecars, not which.
    """

    receipt: Receipt | None
    refusal: str = ""
    differing: bool = False
    any_version: bool = False

    def lacks(self, pod: Object, settings: Settings) -> bool:
        """Whether a pod has not all that this one gets in its containers: nobody can change that in a running pod. The
        mark tells where it gets nothing there.
        """
        if self.receipt is None:
            return False
        parts = parts_of_containers(self.receipt)
        return lacks_parts(pod, parts) if parts else injected_receipt(pod, settings) is None

    def differs(self, pod: Object, settings: Settings) -> bool:
        """Whether a pod has other sidecars than this one."""
        if self.any_version:
            return self.lacks(pod, settings)
        receipt = injected_receipt(pod, settings)
        if receipt is None or self.receipt is None:
            return receipt is not self.receipt
        return digest_of(receipt) != digest_of(self.receipt)


def injected_receipt(pod: Object, settings: Settings) -> Receipt | None:
    """The receipt of a pod that is marked as injected."""
    injected = string_map(pod, "annotations").get(settings.status_key) == "injected"
    return read_receipt(pod, settings) if injected else None


async def try_pod(client: Client, obj: Object, pod: Object, settings: Settings) -> NewPod:
    """What the next pod of a workload gets, `pod` being one that it has. Several are tried at the same time, so that
    more than one replica of the injector answers. Raises ApiError unless it is the pod that the API server refuses.
    """
    path, body = f"/api/v1/namespaces/{pod['metadata']['namespace']}/pods", next_pod(obj, pod, settings)
    tries = (client.create(path, body, {"dryRun": "All"}) for _ in range(_TRIES))
    answers = await asyncio.gather(*tries, return_exceptions=True)
    pods = [answer for answer in answers if not isinstance(answer, BaseException)]
    for error in answers:
        if isinstance(error, ApiError) and error.status in (400, 403, 422) and error.denial != "no-permission":
            return NewPod(None, error.message)
        if isinstance(error, BaseException):
            raise error
    failed = [pod for pod in pods if string_map(pod, "annotations").get(settings.status_key) == "failed"]
    if failed:
        return NewPod(None, string_map(failed[0], "annotations").get(settings.reason_key) or "failed")
    receipts = [injected_receipt(pod, settings) for pod in pods]
    digests = {digest_of(receipt) if receipt else "" for receipt in receipts}
    return NewPod(receipts[0], differing=len(digests) > 1)


def next_pod(obj: Object, pod: Object, settings: Settings) -> Object:
    """The pod that a workload's controller would create next, by its template and one of its pods."""
    metadata, workload = pod["metadata"], workload_of_pod(pod)
    template: Mapping[str, Any] = pod_template(obj) or {}
    if not template:
        bare = take_off(pod, read_receipt(pod, settings), settings)
        spec = without(bare["spec"], ("nodeName", "hostname"))
        template = {"metadata": bare["metadata"], "spec": spec}
    labels = {key: value for key, value in string_map(pod, "labels").items() if key in _OF_CONTROLLERS}
    own = mapping_at(template, "metadata")
    fields = {
        "generateName": metadata.get("generateName") or f"{workload.name}-",
        "labels": {**labels, **mapping_at(own, "labels")},
        "annotations": mapping_at(own, "annotations"),
        "ownerReferences": metadata.get("ownerReferences"),
    }
    return {"apiVersion": "v1", "kind": "Pod", "metadata": filled(fields), "spec": template["spec"]}


#: What a pod of a workload would get now, as a function of the workload's object and of one of its pods.
NewPodOf = Callable[[Object, Object], Awaitable[NewPod]]
#: Who is told of what happens.
Tell = Callable[[Diagnostic], None]

#: Seconds between two looks at a workload, and in which it has to become healthy where nobody says otherwise.
LOOK_SECONDS, TIMEOUT_SECONDS = 0.5, 600.0
#: Codes of what is tried again: a PodDisruptionBudget forbids it, or another rollout has the workload in hand.
BLOCKED, TAKEN = "blocked", "rollout-under-way"
#: Codes of what counts as harm.
BARE_SUCCESSOR, UNHEALTHY = "successor-without-sidecar", "unhealthy"
HARM = frozenset((BARE_SUCCESSOR, UNHEALTHY))
_AGAIN = "wait some seconds, then run the command again; if this remains, run injector check"
#: Why no pod may be replaced, by what a dry run shows, and what to do.
_FAULTS = {
    "replicas-differ": (
        "pods that are created now (dry run) get different sidecars: the injector's replicas do not use the same "
        "settings and templates",
        _AGAIN,
    ),
    "not-injected": (
        "a pod that is created now (dry run) comes back without a sidecar: nothing was touched",
        "run injector check, which says what is wrong",
    ),
    "injector-behind": (
        "a pod that is created now (dry run) has what its pods have: the injector does not use the newest settings "
        "and templates yet",
        _AGAIN,
    ),
}


class StepError(InjectorError):
    """A workload could not be finished; `diagnostic` says why. After a warning nothing was hurt."""

    def __init__(self, diagnostic: Diagnostic) -> None:
        super().__init__(diagnostic.sentence)
        self.diagnostic = diagnostic


class WorkloadStep:
    """One workload on its way. `timeout`, in seconds, is for each time that it is waited for, and `look_seconds`
    passes between two looks.
    """

    def __init__(
        self, planned: PlannedWorkload, marked: MarkedWorkload, settings: Settings, new_pod_of: NewPodOf, tell: Tell
    ) -> None:
        self.planned = planned
        self.timeout = TIMEOUT_SECONDS
        self.look_seconds = LOOK_SECONDS
        #: Whether a new pod was seen, and what the workload waits for, in words.
        self.has_successors = False
        self.waits_for = ""
        self._marked, self._settings, self._new_pod_of, self._tell = marked, settings, new_pod_of, tell
        self._was_sick = False  # before: then it need not become healthy, and that is no error
        self._before: set[str] = set()  # the pods that were there before, by uid
        self._count = 0  # how many there were in the beginning

    async def run(self) -> None:
        """All of it. Raises StepError and ApiError."""
        try:
            earlier = await self._marked.earlier()
            obj, pods = await self._marked.look()
            self._was_sick = bool(unavailable(obj))
            affected = [pod for pod in pods if self._is_affected(pod)]
            if affected or (earlier and pods):
                await self._replace(obj, pods, affected, earlier)
            await self._marked.unmark()
        except TakenError as error:
            raise self._error(TAKEN, str(error), "wait until it has ended", severity="warning") from None
        except StepError as error:
            if error.diagnostic.code in (BARE_SUCCESSOR, BLOCKED, "undone"):
                await self._marked.unmark()  # the next rollout begins anew with it
            elif error.diagnostic.code == UNHEALTHY:
                await self._marked.leave()  # the next one does not restart it once more
            raise
        self._say("current", "its pods have the current sidecars")

    async def _replace(self, obj: Object, pods: list[Object], affected: list[Object], mark: RolloutMark | None) -> None:
        """Replace the affected pods, unless a rollout that left its mark has done it, and look at the new ones."""
        self._count = len(pods)
        new_pod = await self._new_pod_of(obj, (affected or pods)[0])
        expects = self._expectation(new_pod, affected)
        # Affected pods that are younger than the mark are of something that has happened since: it begins anew.
        goes_on = mark and mark.expects == expects and all(created(pod) <= mark.started for pod in affected)
        earlier = mark if goes_on else None
        self._before = {pod["metadata"]["uid"] for pod in pods if not earlier or created(pod) <= earlier.started}
        self._marked.begin(expects, earlier)
        if earlier:
            self._say("resumed", "an earlier rollout has begun with it")
        if self.planned.method == "evict":
            await self._evict(affected, new_pod)
        elif affected and not (earlier and earlier.has_restarted(obj)):
            await self._marked.restart()
            self._say("restarted", f"restarted ({self.planned.affected.state})")
        else:
            await self._marked.sign()
        _, pods = await self._settle(new_pod)
        if left := [pod for pod in pods if self._is_affected(pod)]:
            name = left[0]["metadata"]["name"]
            text = f"pod {name} was not replaced: somebody has undone the restart"
            raise self._error("undone", text, "choose --method evict", severity="warning", pod=name)

    def _expectation(self, new_pod: NewPod, affected: list[Object]) -> str:
        """The digest of what new pods should have; an error if the injector would not help this workload."""
        if new_pod.refusal:
            text = f"a pod that is created now would have no sidecar: {new_pod.refusal}"
            raise self._error("would-fail", text, severity="warning")
        is_behind = affected and not any(new_pod.differs(pod, self._settings) for pod in affected)
        code = "replicas-differ" if new_pod.differing else "injector-behind" if is_behind else ""
        if new_pod.receipt is None or code:
            code = code if new_pod.receipt else "not-injected"
            raise self._error(code, *_FAULTS[code], severity="warning")
        return digest_of(new_pod.receipt)

    async def _evict(self, affected: list[Object], new_pod: NewPod) -> None:
        """One pod after the other, first those that are not ready; the next goes when the successor is right."""
        await self._marked.sign()
        for pod in sorted((pod for pod in affected if new_pod.differs(pod, self._settings)), key=is_ready):
            await self._settle(new_pod, ready=is_ready(pod))
            name = pod["metadata"]["name"]
            if refusal := await self._marked.evict(pod):
                text = f"pod {name} may not be evicted: {refusal.message}"
                raise self._error(BLOCKED, text, severity="warning", pod=name)
            self._say("evicted", f"pod {name} evicted ({self.planned.affected.state})", pod=name)

    # ------------------------------------------------------------------------------------------ successors are seen

    async def _settle(self, new_pod: NewPod, *, ready: bool = True) -> tuple[Object, list[Object]]:
        """Wait until the workload has all its pods, and if asked for until these are ready; each new one is looked at
        as soon as it is there. An API server that is away for a while is waited for.
        """
        end = time.monotonic() + self.timeout
        while True:
            late = time.monotonic() > end
            try:
                obj, pods = await self._marked.look()
                successors = [pod for pod in pods if pod["metadata"]["uid"] not in self._before]
                await self._check_successors(obj, successors, new_pod)
                self.has_successors |= bool(successors)
                self.waits_for = (
                    unfinished(obj, self.planned.method, pods, self._count)
                    if ready
                    else lacking(obj, pods, self._count)
                )
                if not self.waits_for:
                    return obj, pods
                self._check_health(obj, pods, late=late)
                await self._marked.keep_alive()
            except ApiError as error:
                if late or 0 < error.status < 429:
                    raise
                self.waits_for = str(error)
            await asyncio.sleep(self.look_seconds)

    async def _check_successors(self, obj: Object, successors: list[Object], new_pod: NewPod) -> None:
        """An error at a new pod that lacks what it should have, unless that is what pods get by now. A receipt alone
        shows no harm: whoever may change the pod can change that.
        """
        for pod in successors:
            if not new_pod.differs(pod, self._settings):
                continue
            newest = await self._new_pod_of(obj, pod)
            if newest.differs(pod, self._settings):
                name = pod["metadata"]["name"]
                text = f"its new pod {name} does not have the sidecars that a pod created now should have"
                to_do = "run injector check, and injector explain for this pod"
                severity: Severity = "error" if newest.lacks(pod, self._settings) else "warning"
                raise self._error(BARE_SUCCESSOR, text, to_do, severity=severity, pod=name)

    def _check_health(self, obj: Object, pods: list[Object], *, late: bool) -> None:
        """An error if the workload does not become healthy, or not in time: with the pod, and what shows why."""
        unaffected = [pod for pod in pods if not self._is_affected(pod)]
        sick, deadline = crash_looping(unaffected), given_up(obj)
        if not (sick or deadline or late):
            return
        namespace, name = self.planned.key
        text = f"it does not become healthy: {self.waits_for}"
        text += f" within {self.timeout:g} s" if late else f" ({deadline})" if deadline else ""
        command = f"kubectl describe {name} -n {namespace}"
        pod = container = reason = ""
        if sick := sick or not_ready(unaffected) or not_ready(pods):
            text += f"; pod {sick.pod}, container {sick.container or '-'}: {sick.reason}"
            command = sick.log_command(namespace)
            pod, container, reason = sick.pod, sick.container, sick.reason
        severity: Severity = "warning" if self._was_sick else "error"
        fields = {"command": command, "pod": pod, "container": container, "reason": reason}
        raise self._error(UNHEALTHY, text, f"to see why: {command}", severity=severity, **fields)

    def _is_affected(self, pod: Object) -> bool:
        return self.planned.affected.pods.get(pod["metadata"]["name"]) == created(pod)

    # ------------------------------------------------------------------------------------------------ what is said

    def _say(self, code: str, text: str, **fields: str) -> None:
        self._tell(self._diagnostic(code, "note", text, "", fields))

    def _error(
        self, code: str, text: str, to_do: str = "", *, severity: Severity = "error", **fields: str
    ) -> StepError:
        return StepError(self._diagnostic(code, severity, text, to_do, fields))

    def _diagnostic(self, code: str, severity: Severity, text: str, to_do: str, fields: dict[str, str]) -> Diagnostic:
        namespace, name = self.planned.key
        return Diagnostic(
            code, severity, text, to_do, fields={"namespace": namespace, "workload": name, **filled(fields)}
        )


def created(pod: Object) -> str:
    """When a pod was created."""
    return str(pod["metadata"].get("creationTimestamp") or "")
