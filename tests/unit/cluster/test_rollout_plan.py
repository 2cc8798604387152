"""Which workloads a rollout touches, by what means, in what order; and what makes a workload sick."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from injector.cluster.rollout.marked_workload import crash_looping, given_up, not_ready, selector_text, unfinished
from injector.cluster.rollout.plan import (
    AffectedWorkload,
    Plan,
    grouped,
    limits_of,
    method_for,
    pods_of_share,
    why_left_alone,
    workload_path,
)
from injector.cluster.rollout.rollout_marks import RolloutMark, mark_key, read_mark
from injector.cluster.rollout.steps import NewPod, next_pod
from injector.pods.context import Workload
from injector.pods.receipt import Receipt
from injector.settings import Settings

SETTINGS = Settings()
OWNER = {"kind": "Shop", "name": "own", "controller": True}
FLUX = {"kustomize.toolkit.fluxcd.io/name": "apps"}


def workload(metadata=(), **spec):
    return {"metadata": {"name": "web", "generation": 2, **dict(metadata)}, "spec": {"replicas": 3, **spec}}


def on_delete():
    return workload(updateStrategy={"type": "OnDelete"})


def partition():
    return workload(updateStrategy={"rollingUpdate": {"partition": 2}})


@pytest.mark.parametrize(
    ("kind", "obj", "method", "explained"),
    [
        ("Deployment", workload(), "restart", False),
        ("StatefulSet", workload(), "restart", False),
        ("DaemonSet", workload(), "restart", False),
        ("Rollout", workload(), "restartAt", False),
        ("ReplicaSet", workload(), "evict", True),
        ("CloneSet", workload(), "evict", True),
        ("DaemonSet", on_delete(), "evict", True),
        ("StatefulSet", partition(), "evict", True),
        ("Deployment", workload({"ownerReferences": [OWNER]}), "evict", True),
        ("Deployment", workload({"annotations": {"argocd.argoproj.io/tracking-id": "x"}}), "evict", True),
        ("Deployment", workload({"labels": FLUX}), "evict", True),
        ("Deployment", workload({"labels": {"app.kubernetes.io/managed-by": "Helm"}}), "restart", False),
    ],
)
def test_auto_chooses_and_explains(kind, obj, method, explained):
    chosen, reason = method_for(kind, obj, "auto")
    assert (chosen, bool(reason)) == (method, explained)
    assert method_for(kind, obj, "evict") == ("evict", "")


def test_who_insists_on_a_restart_gets_one_where_it_replaces_pods():
    tracked = workload({"labels": FLUX})
    assert method_for("Deployment", tracked, "restart") == ("restart", "")
    assert not why_left_alone("Deployment", tracked, "restart")
    for kind, obj in (("CloneSet", workload()), ("DaemonSet", on_delete()), ("StatefulSet", partition())):
        assert why_left_alone(kind, obj, "restart") and not why_left_alone(kind, obj, "auto")


@pytest.mark.parametrize(
    ("kind", "obj"),
    [
        ("Job", workload()),
        ("CronJob", workload()),
        ("Pod", workload()),
        ("Node", None),
        ("Deployment", None),
        ("Deployment", workload(paused=True)),
        ("Deployment", workload(replicas=0)),
        ("Deployment", workload({"deletionTimestamp": "2026-11-28T00:00:00Z"})),
    ],
)
def test_what_is_left_alone(kind, obj):
    plan = Plan()
    plan.add(AffectedWorkload("shop", Workload(kind, "web"), "missing", {"a": ""}), obj, "/x", "auto", None)
    assert not plan.workloads
    [left] = plan.left_alone
    assert left.as_data().keys() == {"namespace", "workload", "why"} and left.cause


def test_the_most_urgent_goes_first():
    rows = [
        ("b", Workload("Deployment", "web"), "outdated", "web-1", "t", "changed"),
        ("a", Workload("Deployment", "api"), "outdated", "api-1", "t", "changed"),
        ("a", Workload("Deployment", "job"), "outdated", "job-1", "t", "changed"),
        ("a", Workload("Deployment", "bad"), "missing", "bad-1", "t", "not called"),
        ("b", Workload("Deployment", "web"), "missing", "web-2", "u", "not called"),
    ]
    plan, start = Plan(), "2026-11-28T00:00:00Z"
    marks = {"job": RolloutMark("1", start, start), "bad": RolloutMark("1", start, "")}  # killed at one, stopped at one
    for affected in grouped(rows):
        plan.add(affected, workload(), workload_path(affected), "auto", marks.get(affected.workload.name))
    plan.sort()
    assert [planned.key for planned in plan.workloads] == [
        ("a", "deployment/job"),
        ("b", "deployment/web"),
        ("a", "deployment/api"),
        ("a", "deployment/bad"),
    ]
    web = plan.workloads[1]
    assert (web.affected.state, web.affected.cause, dict(web.affected.pods)) == (
        "missing",
        "not called",
        {"web-1": "t", "web-2": "u"},
    )
    assert web.path == "/apis/apps/v1/namespaces/b/deployments/web"


def test_limits_are_those_of_the_strategy(golden):
    recreate = workload(strategy={"type": "Recreate"})
    no_surge = workload(replicas=1, strategy={"rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}})
    golden(
        *(
            f"{kind} {method}: {limits_of(kind, obj, method)}"
            for kind, obj, method in [
                ("Deployment", workload(), "restart"),
                ("Deployment", workload(replicas=10), "restart"),
                ("Deployment", workload(replicas=1), "restart"),
                ("Deployment", no_surge, "restart"),
                ("Deployment", recreate, "restart"),
                ("StatefulSet", workload(), "restart"),
                ("StatefulSet", workload(replicas=1), "restart"),
                ("DaemonSet", workload(), "restart"),
                ("Rollout", workload(replicas=8), "restartAt"),
                ("Deployment", workload(), "evict"),
                ("Deployment", workload(replicas=1), "evict"),
            ]
        )
    )


def test_shares_are_rounded_as_kubernetes_does():
    assert [pods_of_share("25%", 3, up=up) for up in (False, True)] == [0, 1]
    assert pods_of_share(2, 3, up=True) == pods_of_share("2", 3, up=False) == 2


def pod(name="web-1", *, ready=True, **container):
    status = {
        "phase": "Running",
        "conditions": [{"type": "Ready", "status": str(ready)}],
        "containerStatuses": [{"name": "app", "ready": ready, **container}],
    }
    return {"metadata": {"name": name, "namespace": "shop"}, "status": status}


WAITING = {"waiting": {"reason": "CrashLoopBackOff"}}


def test_a_workload_is_finished_when_all_is_new_and_available():
    status = {"observedGeneration": 2, "updatedReplicas": 3, "replicas": 3, "availableReplicas": 3}
    pods = [pod(f"web-{number}") for number in range(3)]
    obj = workload()
    assert unfinished({**obj, "status": status}, "restart", pods, 3) == ""
    for other in (
        {"observedGeneration": 1},
        {"updatedReplicas": 2},
        {"replicas": 4},
        {"availableReplicas": 2},
    ):
        assert unfinished({**obj, "status": {**status, **other}}, "restart", pods, 3)
    assert unfinished({**obj, "status": status}, "evict", pods[:2], 3)
    assert unfinished({**obj, "status": {}}, "evict", pods, 3) == ""
    daemons = {"observedGeneration": 2, "desiredNumberScheduled": 3, "updatedNumberScheduled": 3, "numberAvailable": 3}
    assert unfinished({"metadata": {"generation": 2}, "spec": {}, "status": daemons}, "restart", pods, 3) == ""
    rollout = workload(restartAt="2026-11-28T00:00:01Z")
    for restarted, words in (("2026-11-28T00:00:00Z", True), ("2026-11-28T00:00:01Z", False)):
        status = {"availableReplicas": 3, "restartedAt": restarted}
        assert bool(unfinished({**rollout, "status": status}, "restartAt", pods, 3)) is words


def test_the_sick_pod_its_container_and_the_command_are_named():
    assert crash_looping([pod(), pod("slow", ready=False)]) is None
    assert crash_looping([pod("young", ready=False, restartCount=1, state=WAITING)]) is None
    sick = crash_looping([pod(), pod("web-2", ready=False, restartCount=3, state=WAITING)])
    assert (sick.pod, sick.container, sick.reason) == ("web-2", "app", "CrashLoopBackOff")
    assert sick.log_command("shop").split()[1:] == ["logs", "web-2", "-n", "shop", "-c", "app", "--previous"]
    late = not_ready([pod(), pod("web-3", ready=False)])
    assert late.log_command("shop").split()[1:] == ["logs", "web-3", "-n", "shop", "-c", "app"]
    pulled = not_ready([pod("web-4", ready=False, state={"waiting": {"reason": "ImagePullBackOff"}})])
    assert (pulled.reason, pulled.log_command("shop").split()[1]) == ("ImagePullBackOff", "describe")
    condition = {"reason": "ProgressDeadlineExceeded", "status": "False"}
    assert given_up({**workload(), "status": {"observedGeneration": 2, "conditions": [condition]}})
    assert not given_up({**workload(), "status": {"observedGeneration": 1, "conditions": [condition]}})


NOW = datetime(2026, 11, 28, 0, 1, tzinfo=UTC)


def test_marks():
    key = mark_key(SETTINGS)
    text = '{"run":"1","started":"2026-11-28T00:00:00Z","renewed":"2026-11-28T00:00:10Z","restarted":true}'
    mark = read_mark(workload({"annotations": {key: text}}), SETTINGS, NOW)
    assert mark == RolloutMark("1", "2026-11-28T00:00:00Z", "2026-11-28T00:00:10Z", restarted=True)
    assert [mark.is_alive(datetime(2026, 11, 28, 0, 0, second, tzinfo=UTC)) for second in (20, 40)] == [True, False]
    annotations = {"kubectl.kubernetes.io/restartedAt": mark.started}
    assert mark.has_restarted(workload(template={"metadata": {"annotations": annotations}}))
    assert mark.has_restarted(workload(restartAt=mark.started))
    assert not mark.has_restarted(workload())  # undone since


@pytest.mark.parametrize("time", ["", "x", "2199-01-01T00:00:00Z", "2026-11-28T00:00:00", "0001-01-01T00:00:00+23:00"])
@pytest.mark.parametrize("field", ["started", "renewed"])
def test_times_that_nobody_can_have_written(time, field):
    times = {"started": "2026-11-28T00:00:00Z", "renewed": "2026-11-28T00:00:10Z", field: time}
    text = json.dumps({"run": "1", **times})
    mark = read_mark(workload({"annotations": {mark_key(SETTINGS): text}}), SETTINGS, NOW)
    assert mark is None or (field == "renewed" and not time and not mark.is_alive(NOW))


@pytest.mark.parametrize("text", [None, 1, [], "", "{}", "[]", '{"run":1}', '{"run":"' + 2_000_000 * "x" + '"}'])
def test_what_is_no_mark(text):
    assert read_mark(workload({"annotations": {mark_key(SETTINGS): text}}), SETTINGS, NOW) is None


def test_the_next_pod_of_a_workload():
    owner = {"kind": "ReplicaSet", "name": "web-6d4", "controller": True, "uid": "u", "apiVersion": "apps/v1"}
    labels = {"app": "web", "pod-template-hash": "6d4", "of": "somebody"}
    metadata = {"name": "web-6d4-x", "generateName": "web-6d4-", "labels": labels, "ownerReferences": [owner]}
    spec = {"containers": [{"name": "app"}]}
    sample = {"metadata": metadata, "spec": {**spec, "nodeName": "node", "hostname": "x"}}
    template = {"metadata": {"labels": {"app": "web"}, "annotations": {"a": "b"}}, "spec": spec}
    made = next_pod({"kind": "Deployment", "apiVersion": "apps/v1", **workload(template=template)}, sample, SETTINGS)
    assert made["metadata"] == {
        "generateName": "web-6d4-",
        "labels": {"pod-template-hash": "6d4", "app": "web"},
        "annotations": {"a": "b"},
        "ownerReferences": [owner],
    }
    assert made["spec"] == spec
    assert next_pod({"kind": "Shop", "spec": {}}, sample, SETTINGS)["spec"] == spec


def test_other_sidecars_differ():
    receipt = Receipt(1, "g", {"logger": "a"})
    bare = {"metadata": {}}
    assert NewPod(receipt).differs(bare, SETTINGS)
    marked = {"metadata": {"annotations": {SETTINGS.status_key: "injected"}}}
    marked["metadata"]["annotations"][SETTINGS.receipt_key] = (
        '{"version":1,"generation":"h","templates":{"logger":"a"}}'
    )
    assert not NewPod(receipt).differs(marked, SETTINGS)
    assert NewPod(Receipt(1, "g", {"logger": "b"})).differs(marked, SETTINGS)
    assert NewPod(Receipt(1, "g", {"logger": "a"}, values={"logger": {"level": "x"}})).differs(marked, SETTINGS)


def test_selectors_are_written_as_queries():
    expressions = [
        {"key": "a", "operator": "In", "values": ["b", "c"]},
        {"key": "d", "operator": "NotIn", "values": ["e"]},
        {"key": "f", "operator": "Exists"},
        {"key": "g", "operator": "DoesNotExist"},
    ]
    selector = {"matchLabels": {"app": "web"}, "matchExpressions": expressions}
    assert selector_text(selector) == "app=web,a in (b,c),d notin (e),f,!g"
