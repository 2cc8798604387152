"""Which workloads of a cluster have pods that a rollout mends, and the plan for these."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from functools import partial
from typing import NamedTuple

from injector.cli.fleet import Fleet, Row, pods_of
from injector.cli.live_setup import live_sources
from injector.cluster.blocking_client import BlockingClient, ClusterError
from injector.cluster.rollout.dry_run import NewPod, receipt_of, try_pod
from injector.cluster.rollout.plan import (
    RESTARTED,
    ROLLOUT_API,
    AffectedWorkload,
    Plan,
    collection_path,
    grouped,
    path_of,
)
from injector.cluster.rollout.rollout_marks import read_mark
from injector.cluster.rollout.workload_health import is_live
from injector.errors import DocumentError
from injector.pods.context import Object, Workload
from injector.pods.shape import string_map
from injector.pods.workloads import workload_of_object, workload_of_pod
from injector.settings import Settings


class Wanted(NamedTuple):
    """What a user asks for: the namespace ("" for all), labels of pods, states, a template, and the method."""

    space: str
    selector: str | None
    states: Collection[str]
    template: str | None
    method: str

    @property
    def whole(self) -> bool:
        """Whether every workload of the namespace is meant."""
        return not (self.selector or self.template)

    def covers(self, row: Row) -> bool:
        """Whether a pod is meant."""
        if self.template is None:
            return row.state in self.states
        names = [name for cause in row.causes for name in (cause.fields.get("template"), *_templates(cause.fields))]
        return row.state in self.states and self.template in names


def _templates(fields: Mapping[str, object]) -> Collection[object]:
    names = fields.get("templates")
    return names if isinstance(names, list) else ()


def plan_rollout(
    live: BlockingClient, wanted: Wanted, injector_namespace: str | None
) -> tuple[Plan, Settings, list[str]]:
    """The plan, the injector's settings, and notes for the user. Raises ClusterError."""
    sources, notes = live_sources(live, injector_namespace)
    if sources.injector_namespace:
        fleet = Fleet(sources.snapshot)
        rows = (row for pod, of in pods_of(live, wanted.space, wanted.selector) if (row := fleet.row(pod, of)))
        affected = [*grouped(_pod(row) for row in rows if row.state != "current" and wanted.covers(row))]
    else:
        notes.append("which pods are outdated is found by dry runs, which create nothing")
        affected = [*grouped(_by_dry_runs(live, wanted, sources.settings))]
    plan, objects = Plan(), _objects(live, wanted, affected, notes)
    known = {(each.namespace, each.workload.kind, each.workload.name) for each in affected}
    for each in affected:
        path, obj = path_of(each), objects.get((each.namespace, each.workload.kind, each.workload.name))
        if obj is None:
            path, obj = _object_of(live, each, path)
        plan.add(each, obj, path, wanted.method, resumed=bool(obj and read_mark(obj, sources.settings)))
    for (namespace, kind, name), obj in objects.items():
        if wanted.whole and (namespace, kind, name) not in known and read_mark(obj, sources.settings):
            each = AffectedWorkload(
                namespace, Workload(kind, name), "outdated", {}, "an earlier rollout has begun with it"
            )
            plan.add(each, obj, path_of(each), wanted.method, resumed=True)
    plan.sort()
    return plan, sources.settings, notes


def _pod(row: Row) -> tuple[str, Workload, str, str, str, str]:
    return row.namespace, row.workload, row.state, row.pod, row.created, row.why


def _by_dry_runs(
    live: BlockingClient, wanted: Wanted, settings: Settings
) -> Iterator[tuple[str, Workload, str, str, str, str]]:
    """Pods that are not as a pod of their workload that is created now: for who may not read the injector's settings.

    Raises ClusterError.
    """
    new_pods: dict[tuple[str, str, str], NewPod] = {}
    for pod, namespace in pods_of(live, wanted.space, wanted.selector):
        workload = workload_of_pod(pod)
        if not is_live(pod) or workload.kind not in (*RESTARTED, "Rollout", "ReplicaSet"):
            continue
        key = (namespace.name, workload.kind, workload.name)
        failed = string_map(pod, "annotations").get(settings.status_key) == "failed"
        if key not in new_pods:
            affected = AffectedWorkload(namespace.name, workload, "", {})
            _, obj = _object_of(live, affected, path_of(affected))
            new_pods[key] = NewPod(None)
            if obj is not None:
                trial = partial(try_pod, obj=obj, pod=pod, settings=settings)
                new_pods[key] = live.run(trial, f"dry run of a pod of {affected.name} in namespace {namespace.name}")
        bare = receipt_of(pod, settings) is None
        state = "failed" if failed else "missing" if bare else "outdated"
        if failed or (new_pods[key].receipt is not None and new_pods[key].differs(pod, settings)):
            why = string_map(pod, "annotations").get(settings.reason_key) or "a pod created now has other sidecars"
            if state in wanted.states:
                metadata = pod["metadata"]
                yield namespace.name, workload, state, metadata["name"], metadata["creationTimestamp"], why


def _objects(
    live: BlockingClient, wanted: Wanted, affected: list[AffectedWorkload], notes: list[str]
) -> dict[tuple[str, str, str], Object]:
    """The objects of workloads of the usual kinds that are affected or that a rollout has begun with."""
    kinds = dict(RESTARTED)
    if any(each.workload.kind == "Rollout" for each in affected):
        kinds["Rollout"] = ROLLOUT_API
    keys = {(each.namespace, each.workload.kind, each.workload.name) for each in affected}
    found = {}
    for kind, version in kinds.items():
        try:
            for obj in live.objects(collection_path(version, kind, wanted.space)):
                key = (obj["metadata"]["namespace"], kind, obj["metadata"]["name"])
                if key in keys or any("/rollout" in name for name in string_map(obj, "annotations")):
                    found[key] = {"kind": kind, "apiVersion": version, **obj}
        except ClusterError as error:
            notes.append(str(error))
    return found


def _object_of(live: BlockingClient, affected: AffectedWorkload, path: str) -> tuple[str, Object | None]:
    """Where a workload's object is, and the object; None where it is gone, or may not be read."""
    owner, namespace = affected.workload.owner or {}, affected.namespace
    try:
        if path:
            return path, live.found(path, affected.name)
        group, _, version = str(owner.get("apiVersion")).rpartition("/")
        kind = f"{affected.workload.kind.lower()}.{group}" if group else affected.workload.kind
        obj, resource = live.find(f"{kind}/{affected.workload.name}", namespace)
        api = f"/apis/{group}/{version}" if group else f"/api/{version}"
        return f"{api}/namespaces/{namespace}/{resource.name}/{workload_of_object(obj).name}", obj
    except (ClusterError, DocumentError):
        return "", None
