"""Which workloads of a cluster have pods that a rollout mends, and the plan for these."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from datetime import UTC, datetime
from functools import partial
from typing import NamedTuple

from injector.cli.fleet import Fleet, Row, pods_of
from injector.cli.live_setup import live_fleet, live_sources
from injector.cli.report import tell
from injector.cluster.blocking_client import BlockingClient, ClusterError
from injector.cluster.rollout.marked_workload import is_live
from injector.cluster.rollout.plan import (
    LEFT_ALONE,
    RESTARTED,
    AffectedWorkload,
    LeftAlone,
    Plan,
    collection_path,
    grouped,
    workload_path,
)
from injector.cluster.rollout.pod_states import Expected, state_of
from injector.cluster.rollout.rollout_marks import read_mark
from injector.cluster.rollout.steps import NewPod, injected_receipt, try_pod
from injector.diagnostics import Diagnostic, printable
from injector.errors import DocumentError
from injector.pods.conformance import parts_of_containers
from injector.pods.context import Namespace, Object, Workload
from injector.pods.receipt import Receipt
from injector.pods.workloads import workload_of_pod
from injector.reasons import Effect, Reason
from injector.settings import Settings


class RolloutScope(NamedTuple):
    """What a user asks for: the namespace ("" for all), labels of pods, states, a template, and the method."""

    space: str
    selector: str | None
    states: Collection[str]
    template: str | None
    method: str

    def covers(self, row: Row) -> bool:
        """Whether a pod is meant."""
        fields = (cause.fields for cause in row.causes)
        names = (name for each in fields for name in (each.get("template"), *each.get("templates", ())))
        return row.state in self.states and (self.template is None or self.template in names)

    def covers_versions(self, receipt: Receipt | None, new_receipt: Receipt | None) -> bool:
        """Whether a pod is meant that has the one receipt, and would have the other."""
        versions = [each.templates.get(self.template or "") for each in (receipt, new_receipt) if each]
        return self.template is None or len({*versions}) > 1


#: A workload's namespace, kind and name.
_Key = tuple[str, str, str]
#: A pod: its namespace, workload, state, name, time of creation, and why it is in that state.
_Pod = tuple[str, Workload, str, str, str, str]


def plan_rollout(live: BlockingClient, scope: RolloutScope, injector_namespace: str | None) -> tuple[Plan, Settings]:
    """The plan, and the injector's settings; what could not be found out is told. Raises ClusterError."""
    sources, notes = live_sources(live, injector_namespace)
    settings, known, spared = sources.settings, set[_Key](), dict[_Key, LeftAlone]()
    pods = _noted(pods_of(live, scope.space, scope.selector), known)
    if sources.injector_namespace:
        rows = _by_replay(pods, live_fleet(live, sources, scope.space), scope, notes, spared)
    else:
        notes.append("which pods are outdated is found by dry runs, which create nothing")
        rows = _by_dry_runs(pods, live, scope, settings)
    affected, plan = {each.key: each for each in grouped(rows)}, Plan()
    now = live.clock or datetime.now(UTC)
    for kind in sorted(RESTARTED.keys() & {kind for _, kind, _ in known}):
        for key, obj in _objects(live, kind, scope.space, notes):
            each = affected.pop(key, None)
            mark = read_mark(obj, settings, now) if key in known else None
            if mark and each is None:
                each = AffectedWorkload(key[0], Workload(*key[1:]), "outdated", {}, "an earlier rollout began with it")
            if each is not None:
                plan.add(each, obj, workload_path(each), scope.method, mark)
    for each in affected.values():
        plan.add(each, *_object_of(live, each, notes), scope.method)
    planned = {each.affected.key for each in plan.workloads}
    plan.left_alone += (left for key, left in spared.items() if key not in planned)
    plan.sort()
    for note in notes:
        tell(printable(note))
    return plan, settings


def _noted(pods: Iterable[tuple[Object, Namespace]], known: set[_Key]) -> Iterator[tuple[Object, Namespace]]:
    """The pods, while their workloads are put into `known`."""
    for pod, namespace in pods:
        workload = workload_of_pod(pod)
        known.add((namespace.name, workload.kind, workload.name))
        yield pod, namespace


def _by_replay(
    pods: Iterable[tuple[Object, Namespace]],
    fleet: Fleet,
    scope: RolloutScope,
    notes: list[str],
    spared: dict[_Key, LeftAlone],
) -> Iterator[_Pod]:
    """Pods that are not as the injector's settings and templates make them now; notes of what could not be compared.

    Those whose successors would get no sidecar are `spared`: none is taken away.
    """
    for pod, namespace in pods:
        row = fleet.row(pod, namespace)
        if row is not None and row.state == "current" and row.why not in notes:
            notes += filter(None, [row.why])
        if row is None or not scope.covers(row):
            continue
        affected = AffectedWorkload(row.namespace, row.workload, row.state, {})
        if any(cause.fields.get("templates") == [] for cause in row.causes):
            spared[affected.key] = LeftAlone(row.namespace, affected.name, row.why)
        else:
            yield row.namespace, row.workload, row.state, row.pod, row.created, row.why


def _by_dry_runs(
    pods: Iterable[tuple[Object, Namespace]], live: BlockingClient, scope: RolloutScope, settings: Settings
) -> Iterator[_Pod]:
    """Pods that are not as a pod of their workload that is created now: for who may not read the injector's settings.

    Raises ClusterError.
    """
    new_pods: dict[_Key, NewPod] = {}
    for pod, namespace in pods:
        workload = workload_of_pod(pod)
        if not is_live(pod) or workload.kind not in (*RESTARTED, "ReplicaSet"):
            continue
        affected = AffectedWorkload(namespace.name, workload, "", {})
        key = affected.key
        if key not in new_pods:
            obj, _ = _object_of(live, affected, [])
            subject = f"dry run of a pod of {affected.name} in namespace {namespace.name}"
            trial = partial(try_pod, obj=obj or {}, pod=pod, settings=settings)
            new_pods[key] = live.run(trial, subject)
        new_pod = new_pods[key]
        expected, compared = partial(_expected, new_pod), partial(_differences, new_pod, pod, settings)
        state = state_of(pod, settings, expected, compared=compared)
        covered = scope.covers_versions(injected_receipt(pod, settings), new_pod.receipt)
        if state.state in scope.states and covered:
            created = pod["metadata"]["creationTimestamp"]
            yield namespace.name, workload, state.state, pod["metadata"]["name"], created, state.why


def _expected(new_pod: NewPod) -> Expected:
    """What a dry run has shown."""
    if new_pod.receipt is None:
        return Expected(Effect.SKIP, new_pod.refusal, None)
    return Expected(Effect.INJECT, str(Reason.INJECTED), parts_of_containers(new_pod.receipt) or None)


def _differences(new_pod: NewPod, pod: Object, settings: Settings, _: Receipt) -> Iterator[Diagnostic]:
    if new_pod.receipt and new_pod.differs(pod, settings):
        yield Diagnostic("other-sidecars", "warning", "a pod created now has other sidecars")


def _objects(live: BlockingClient, kind: str, space: str, notes: list[str]) -> Iterator[tuple[_Key, Object]]:
    """The objects of a kind that can be restarted; a note where they may not be listed."""
    try:
        for obj in live.objects(collection_path(RESTARTED[kind], f"{kind.lower()}s", space)):
            yield (obj["metadata"]["namespace"], kind, obj["metadata"]["name"]), obj
    except ClusterError as error:
        notes.append(str(error))


def _object_of(live: BlockingClient, affected: AffectedWorkload, notes: list[str]) -> tuple[Object | None, str]:
    """A workload's object, and where it is; None where it is gone or may not be read, or where nobody needs it."""
    path, owner, namespace = workload_path(affected), affected.workload.owner or {}, affected.namespace
    if affected.workload.kind in LEFT_ALONE:
        return None, ""
    try:
        if path:
            return live.found(path, affected.name), path
        version, name = str(owner.get("apiVersion")), affected.workload.name
        word = ".".join(filter(None, (affected.workload.kind, version.rpartition("/")[0])))
        obj, resource = live.find(f"{word}/{name}", namespace)
        return obj, f"{collection_path(version, resource.name, namespace)}/{name}"
    except (ClusterError, DocumentError) as error:
        notes.append(str(error))
        return None, ""
