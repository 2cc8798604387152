"""The leader at work: it looks for missing pods, has them evicted one after the other, and stops where it hurts.

In which namespaces it stopped, and what stopped it in all, stands in annotations of its Lease. So it stays stopped
whoever leads.
"""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable

import structlog

from injector.cluster.api_error import ApiError, own_result
from injector.cluster.client import Client
from injector.cluster.events import About, Events
from injector.cluster.installation import configuration_path
from injector.cluster.lease import Lease
from injector.cluster.rollout.lease_brake import LeaseBrake, object_of
from injector.cluster.rollout.marked_workload import MarkedWorkload, unavailable, unsettled
from injector.cluster.rollout.plan import AffectedWorkload, Plan, PlannedWorkload, workload_path
from injector.cluster.rollout.pod_states import MissingPods, Replay, is_called
from injector.cluster.rollout.rollout_marks import RolloutMark
from injector.cluster.rollout.rollouts import Limits, RolloutResult, Rollouts
from injector.cluster.rollout.steps import NewPod, StepError, WorkloadStep, next_pod
from injector.cluster.tasks import Background, jittered
from injector.diagnostics import Diagnostic
from injector.pods.context import Namespace, Object
from injector.pods.receipt import read_receipt
from injector.pods.workloads import workload_of_pod
from injector.reasons import Effect
from injector.settings import Settings
from injector.telemetry import Metrics

_log = structlog.get_logger(__name__)

#: Seconds between two looks at all pods, and at a workload that is worked on; this process has other work to do.
_LOOK_SECONDS, _WORKLOAD_SECONDS = 30.0, 2.0
#: Seconds between two looks at whether this is still the leader.
_TICK = 1.0
#: For how long all replicas have to be ready: until then not every API server may know where they are.
_SETTLED_SECONDS = 15.0


#: Evicts a pod; the refusal of a PodDisruptionBudget is returned.
_Evict = Callable[[], Awaitable[ApiError | None]]


class Repair(Background):
    """Takes part in the choice of a leader, and works while it leads and `ready()`. `start()` it, then `stop()`.

    `own` is the injector's namespace, and `pod_name` its pod. `namespace_of`, `settings_now` and `replay` tell what the
    server knows and uses at that moment; `settings` are those of its start.
    """

    def __init__(
        self,
        client: Client,
        own: str,
        pod_name: str,
        settings: Settings,
        ready: Callable[[], bool],
        namespace_of: Callable[[str], Namespace | None],
        settings_now: Callable[[], Settings],
        replay: Replay,
        events: Events,
        metrics: Metrics,
    ) -> None:
        self._client, self._own, self._settings, self._ready = client, own, settings, ready
        self._namespace_of, self._replay, self._pod_name = namespace_of, replay, pod_name
        self._events, self._metrics = events, metrics
        self._missing = MissingPods(client, own, namespace_of, settings_now, replay)
        self._lease = Lease(client, own, settings.repair.lease)
        self._brake = LeaseBrake(client, self._lease.path, self._missing, namespace_of, events)
        self._rollouts: Rollouts | None = None
        # A namespace has one place in the queue for evictions, so all have the same share of them.
        self._pace, self._places = asyncio.Lock(), defaultdict[str, asyncio.Lock](asyncio.Lock)
        self._next_eviction = 0.0
        self._ready_since = 0.0  # since when all replicas were seen to be ready; 0 for not

    def start(self) -> None:
        """Begin."""
        self._lease.start()
        super().start()

    async def stop(self) -> None:
        """End, and let another replica lead."""
        await super().stop()
        await self._end_rollouts()
        await self._lease.stop()

    @property
    def _active(self) -> bool:
        return self._lease.leading and self._ready()

    async def _run(self) -> None:
        next_look = 0.0
        while True:
            if not self._active:
                for gauge in (self._metrics.repair_missing, self._metrics.repair_stopped):
                    gauge.cell().value = 0  # the leader's, and no longer this one's
                await self._end_rollouts()
                self._brake.forget()
                next_look = 0.0
                await asyncio.sleep(_TICK)
                continue
            try:
                if time.monotonic() >= next_look:
                    pause = _LOOK_SECONDS if self._settled else _SETTLED_SECONDS / 3
                    next_look = time.monotonic() + jittered(pause, 0.1)
                    await self._look()
                await self._turn()
                continue
            except ApiError as error:
                _log.warning("repair-trouble", why=str(error), effect="looks again soon")
            except Exception:  # a mistake of ours must not end it for good
                _log.exception("repair-failed")
            await asyncio.sleep(_TICK)

    async def _turn(self) -> None:
        """Go on with what is in hand. No workload is begun before the Lease says what the brake has to remember."""
        await self._brake.write()
        if self._rollouts is None:
            await asyncio.sleep(_TICK)
            return
        await self._rollouts.turn()
        if stopped := self._brake.now.stopped:
            self._metrics.repair_stopped.cell().value = 1
            self._brake.stop_all(stopped, self._own, self._settings.repair.lease)
            await self._end_rollouts()
        await self._brake.write()

    async def _end_rollouts(self) -> None:
        if self._rollouts:
            await self._rollouts.cancel()
        self._rollouts = None

    async def _look(self) -> None:
        """Look at all pods once, and offer what is missing to the rollouts."""
        configuration = await self._configuration()
        affected = await self._missing.find(configuration)
        self._metrics.repair_missing.cell().value = sum(len(each.pods) for each in affected)
        stopped, fault = await self._brake.read(), await self._replicas_fault()
        self._metrics.repair_stopped.cell().value = int(bool(stopped))
        if stopped or fault or not self._settled:
            if self._rollouts:
                self._rollouts.stop()
            return
        await self._brake.look_at_rests()
        plan, sick = Plan(), set[tuple[str, str]]()
        for each in affected:
            with own_result("workload-not-planned", namespace=each.namespace, workload=each.name):
                path, obj = await object_of(self._client, each)
                plan.add(each, obj, path, "evict")
                if obj and unavailable(obj):
                    sick.add((each.namespace, each.name))
        plan.workloads.sort(key=lambda planned: (planned.key in sick, planned.key))
        if self._rollouts is None or self._rollouts.brake is not self._brake.now:
            await self._end_rollouts()
            limits = Limits(self._settings.repair.max_unavailable_workloads, self._settings.repair.per_namespace)
            self._rollouts = Rollouts(RolloutResult(), limits, self._brake.now, self._step_of, _tell, self._client.now)
        self._rollouts.offer(plan.workloads)

    def _step_of(self, planned: PlannedWorkload) -> WorkloadStep:
        marked = _EvictedWorkload(self._client, planned, self._settings, self._evicted)
        step = WorkloadStep(planned, marked, self._settings, self._new_pod_of, _tell)
        step.look_seconds = _WORKLOAD_SECONDS
        return step

    @property
    def _settled(self) -> bool:
        return bool(self._ready_since) and time.monotonic() - self._ready_since >= _SETTLED_SECONDS

    async def _replicas_fault(self) -> str:
        """Why a pod that is created now may miss the injector: not all replicas are ready, and of one version."""
        pod = await self._client.find(f"/api/v1/namespaces/{self._own}/pods/{self._pod_name}")
        path = pod and workload_path(AffectedWorkload(self._own, workload_of_pod(pod), "", {}))
        fault = unsettled(await self._client.get(path)) if path else ""
        self._ready_since = 0.0 if fault else self._ready_since or time.monotonic()
        return fault

    async def _new_pod_of(self, obj: Object, pod: Object) -> NewPod:
        namespace = self._namespace_of(pod["metadata"]["namespace"])
        if namespace is None:
            return NewPod(None, "its namespace is not known")
        replay = await self._replay(next_pod(obj, pod, self._settings), namespace)
        if replay.effect is not Effect.INJECT:
            return NewPod(None, str(replay.reason))
        return NewPod(read_receipt(replay.object, self._settings), any_version=True)

    # ------------------------------------------------------------------------------------------------ evictions

    async def _evicted(self, pod: Object, evict: _Evict) -> ApiError | None:
        """Evict a pod when it is its turn, if this is still the leader, and the injector is not paused."""
        async with self._places[pod["metadata"]["namespace"]], self._pace:
            await asyncio.sleep(max(0.0, self._next_eviction - time.monotonic()))
            namespace = self._namespace_of(pod["metadata"]["namespace"])
            configuration = await self._configuration()
            if (fault := await self._replicas_fault()) or not self._active:
                raise StepError(Diagnostic("injector-not-ready", "error", f"the injector is not ready: {fault}"))
            if namespace is None or not is_called(configuration, namespace, pod):
                raise StepError(Diagnostic("not-called", "warning", "the injector is not called for this pod"))
            if refusal := await evict():
                return refusal
            self._next_eviction = time.monotonic() + 60 / self._settings.repair.per_minute
        self._metrics.repair_evictions.cell().value += 1
        metadata = pod["metadata"]
        about = About("v1", "Pod", metadata["name"], metadata["uid"], metadata["namespace"])
        note = "evicted, as it has no sidecar: the injector was not called when it was created"
        self._events.tell(about, "sidecar-missing", note, action="Evict", event_type="Normal")
        return None

    async def _configuration(self) -> Object:
        path = configuration_path("MutatingWebhookConfiguration", self._settings.certificates.webhooks)
        return await self._client.get(path)


class _EvictedWorkload(MarkedWorkload):
    """A workload on which no mark is written, as evictions need none; each is made by `evicted(pod, evict)`."""

    def __init__(
        self,
        client: Client,
        planned: PlannedWorkload,
        settings: Settings,
        evicted: Callable[[Object, _Evict], Awaitable[ApiError | None]],
    ) -> None:
        super().__init__(client, planned, settings, "", "repair")
        self._evicted = evicted

    async def earlier(self) -> RolloutMark | None:
        """None: nothing is left of an earlier one, as no mark is written."""
        await super().earlier()
        return None

    async def sign(self, **more: Object) -> None:
        pass

    async def _end(self, mark: str | None) -> None:
        pass

    async def evict(self, pod: Object) -> ApiError | None:
        """Evict a pod; the refusal of a PodDisruptionBudget is returned."""
        return await self._evicted(pod, lambda: MarkedWorkload.evict(self, pod))


def _tell(diagnostic: Diagnostic) -> None:
    level = {"error": _log.error, "warning": _log.warning}.get(diagnostic.severity, _log.info)
    level(f"repair-{diagnostic.code}", **diagnostic.fields, message=diagnostic.message)
