"""Objects of every kind, the pod they hold, and the workload that a pod belongs to."""

import copy

import pytest

from injector.pods.context import Workload
from injector.pods.workloads import (
    pod_template,
    pod_template_path,
    with_pod_template,
    workload_of_object,
    workload_of_pod,
)

#: What controllers add to the spec of a pod, by the rest of the object.
CLAIM = {"metadata": {"name": "data"}, "spec": {"accessModes": ["ReadWriteOnce"]}}
INDEX = {
    "name": "JOB_COMPLETION_INDEX",
    "valueFrom": {"fieldRef": {"fieldPath": "metadata.labels['batch.kubernetes.io/job-completion-index']"}},
}
TEMPLATE = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "app"}]}}
CRON_JOB = {"kind": "CronJob", "spec": {"schedule": "* * * * *", "jobTemplate": {"spec": {"template": TEMPLATE}}}}


@pytest.mark.parametrize(
    ("obj", "path"),
    [
        ({"kind": "Pod", **TEMPLATE}, ()),
        ({"kind": "Pod"}, ()),
        ({"kind": "Deployment", "spec": {"template": TEMPLATE}}, ("spec", "template")),
        (
            {"kind": "Rollout", "apiVersion": "argoproj.io/v1alpha1", "spec": {"template": TEMPLATE}},
            ("spec", "template"),
        ),
        (CRON_JOB, ("spec", "jobTemplate", "spec", "template")),
        ({"kind": "PodTemplate", "template": TEMPLATE}, ("template",)),
        ({"kind": "ConfigMap", "data": {}}, None),
        ({"kind": "SealedSecret", "spec": {"template": {"metadata": {}, "type": "Opaque"}}}, None),
        ({"kind": "MachineDeployment", "spec": {"template": {"spec": {"clusterName": "a"}}}}, None),
        ({"kind": "Deployment", "spec": {"template": {"spec": {"containers": "app"}}}}, ("spec", "template")),
        ({"kind": "Deployment", "spec": {"template": {"spec": {"container": []}}}}, ("spec", "template")),
        ({"kind": "Deployment", "spec": {"template": {"spec": {}}}}, None),
        ({"kind": "Deployment", "spec": {"template": []}}, None),
        ({"kind": "Deployment", "spec": 3}, None),
        ({}, None),
    ],
)
def test_pod_template_path(obj, path):
    assert pod_template_path(obj) == path


def test_pod_template_is_put_back_without_touching_the_object():
    before = copy.deepcopy(CRON_JOB)
    pod = {"spec": {"containers": [{"name": "other"}]}}
    after = with_pod_template(CRON_JOB, pod)
    assert before == CRON_JOB
    assert pod_template(after) is pod
    assert after["spec"]["schedule"] == "* * * * *"
    assert with_pod_template(after, TEMPLATE) == before
    assert with_pod_template({"kind": "Pod", "spec": {}}, pod) is pod


def test_an_object_without_a_pod_has_no_place_for_one(golden):
    assert pod_template({"kind": "Service"}) is None
    with pytest.raises(ValueError) as caught:
        with_pod_template({"kind": "Service"}, TEMPLATE)
    golden(caught.value)


def owned(kind, name, labels=None, controller=True):
    owner = {"apiVersion": "x/v1", "kind": kind, "name": name, "uid": "1", "controller": controller}
    return {"metadata": {"generateName": f"{name}-", "labels": labels or {}, "ownerReferences": [owner]}}


@pytest.mark.parametrize(
    ("pod", "kind", "name"),
    [
        (owned("ReplicaSet", "web-6d4cf56db6", {"pod-template-hash": "6d4cf56db6"}), "Deployment", "web"),
        (owned("ReplicaSet", "web-6d4cf56db6", {"rollouts-pod-template-hash": "6d4cf56db6"}), "Rollout", "web"),
        (owned("ReplicaSet", "web-6d4cf56db6", {"pod-template-hash": "other"}), "ReplicaSet", "web-6d4cf56db6"),
        (owned("ReplicaSet", "web-6d4cf56db6", {"pod-template-hash": 6}), "ReplicaSet", "web-6d4cf56db6"),
        (owned("ReplicaSet", "x--abc", {"pod-template-hash": "abc"}), "ReplicaSet", "x--abc"),
        (owned("ReplicaSet", "web"), "ReplicaSet", "web"),
        (owned("Job", "report-29912345"), "CronJob", "report"),
        (owned("Job", "report-20261121"), "Job", "report-20261121"),
        (owned("Job", "report-299123456"), "Job", "report-299123456"),
        (owned("StatefulSet", "db"), "StatefulSet", "db"),
        (owned("DaemonSet", "agent"), "DaemonSet", "agent"),
    ],
)
def test_workload_of_owned_pod(pod, kind, name):
    assert workload_of_pod(pod) == Workload(kind, name, pod["metadata"]["ownerReferences"][0])


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("Deployment", "${env:AUTH_HEADER}"),
        ("Deployment", "$(POD_NAME)"),
        ("Deployment", "web\n"),
        ("Deployment", "Web"),
        ("Deployment", ".."),
        ("Deployment", ""),
        ("Deployment", "a" * 254),
        ("ReplicaSet", "-abc"),
        ("Deployment ${SHARED_KEY}", "web"),
        ("1Deployment", "web"),
        ("", "web"),
        ("K" * 64, "web"),
    ],
)
def test_what_cannot_be_an_owner_is_none(kind, name):
    pod = owned(kind, name, {"pod-template-hash": "abc"})
    pod["metadata"]["generateName"] = "mine-"
    assert workload_of_pod(pod) == Workload("Pod", "mine")
    assert workload_of_object({"kind": "ReplicaSet", **pod}) == Workload("ReplicaSet", "mine", settled=False)


def test_only_the_controller_owns():
    pod = owned("ReplicaSet", "web-1", controller=False)
    assert workload_of_pod(pod) == Workload("Pod", "web-1")
    pod["metadata"]["ownerReferences"].append({"kind": "StatefulSet", "name": "db", "controller": True})
    assert workload_of_pod(pod).name == "db"


@pytest.mark.parametrize(
    ("metadata", "name"),
    [
        ({"name": "web"}, "web"),
        ({"generateName": "web-"}, "web"),
        ({"name": "", "generateName": "web-"}, "web"),
        ({"name": "web-x7k2p", "generateName": "web-"}, "web"),  # the same pod, when the guard looks at it
        ({"name": "db", "generateName": "web-"}, "db"),
        ({"name": "db", "generateName": ""}, "db"),
        ({}, ""),
        (None, ""),
        ([], ""),
        ({"name": 3}, ""),
        ({"name": "${env:KEY}"}, ""),
        ({"generateName": "$(KEY)-"}, ""),
        ({"name": "a", "ownerReferences": {}}, "a"),
        ({"name": "a", "ownerReferences": [None, 3, {"controller": True}]}, "a"),
        ({"name": "a", "ownerReferences": [{"controller": True, "kind": ["x"], "name": 1}]}, "a"),
    ],
)
def test_pod_of_its_own(metadata, name):
    assert workload_of_pod({"metadata": metadata}) == Workload("Pod", name)


@pytest.mark.parametrize(
    ("obj", "expected"),
    [
        ({"kind": "Deployment", "metadata": {"name": "web"}}, Workload("Deployment", "web")),
        ({"kind": "ReplicaSet", **owned("Deployment", "web")}, Workload("Deployment", "web")),
        ({"kind": "Job", "metadata": {"generateName": "once-"}}, Workload("Job", "once", settled=False)),
        (
            {"kind": "StatefulSet", "metadata": {**owned("Database", "db")["metadata"], "name": "db-0"}},
            Workload("StatefulSet", "db-0"),
        ),
        ({"kind": "Pod", "metadata": {"name": "p"}}, Workload("Pod", "p")),
        ({"metadata": 3}, Workload("", "", settled=False)),
        ({"kind": "${KEY}", "metadata": {"name": "a b"}}, Workload("", "", settled=False)),
    ],
)
def test_workload_of_object(obj, expected):
    assert workload_of_object(obj) == expected


def claimed(name):
    return {"name": "data", "persistentVolumeClaim": {"claimName": name}}


@pytest.mark.parametrize(
    ("obj", "spec", "added"),
    [
        (
            {"kind": "StatefulSet", "metadata": {"name": "db"}},
            {"serviceName": "db", "volumeClaimTemplates": [CLAIM]},
            {"volumes": [claimed("data-db-0")], "hostname": "db-0", "subdomain": "db"},
        ),
        (
            {"kind": "CloneSet", "apiVersion": "apps.kruise.io/v1alpha1", "metadata": {"name": "db"}},
            {"volumeClaimTemplates": [CLAIM]},
            {"volumes": [claimed("data-db-0")]},
        ),
        (
            {"kind": "Job", "metadata": {"name": "sum"}},
            {"completionMode": "Indexed"},
            {"hostname": "sum-0", "containers": [{"name": "app", "env": [INDEX]}]},
        ),
        (
            {"kind": "DaemonSet"},
            {},
            {
                "tolerations": [
                    {"key": f"node.kubernetes.io/{taint}", "operator": "Exists", "effect": effect}
                    for taint, effect in (
                        ("not-ready", "NoExecute"),
                        ("unreachable", "NoExecute"),
                        ("disk-pressure", "NoSchedule"),
                        ("memory-pressure", "NoSchedule"),
                        ("pid-pressure", "NoSchedule"),
                        ("unschedulable", "NoSchedule"),
                    )
                ]
            },
        ),
        ({"kind": "Deployment"}, {"volumeClaimTemplates": []}, {}),
    ],
)
def test_what_a_controller_adds_is_seen_and_not_written(obj, spec, added):
    workload = {**obj, "spec": {**spec, "template": TEMPLATE}}
    pod = pod_template(workload)
    assert pod == {**TEMPLATE, "spec": {**TEMPLATE["spec"], **added}}
    assert with_pod_template(workload, pod) == workload
    changed = copy.deepcopy(pod)
    changed["spec"]["volumes"] = [*changed["spec"].get("volumes", []), {"name": "more"}]
    changed["spec"]["containers"][0].setdefault("env", []).append({"name": "MORE"})
    put = with_pod_template(workload, changed)["spec"]["template"]["spec"]
    assert put == {"containers": [{"name": "app", "env": [{"name": "MORE"}]}], "volumes": [{"name": "more"}]}


def test_a_volume_that_a_claim_replaces_comes_back():
    template = {"spec": {"containers": [], "volumes": [{"name": "a"}, {"name": "data", "emptyDir": {}}]}}
    workload = {"kind": "StatefulSet", "spec": {"volumeClaimTemplates": [CLAIM], "template": template}}
    pod = pod_template(workload)
    assert [volume["name"] for volume in pod["spec"]["volumes"]] == ["data", "a"]
    assert with_pod_template(workload, pod) == workload


def test_a_container_of_knative_has_a_name():
    template = {"spec": {"containers": [{"image": "app"}]}}
    workload = {"kind": "Service", "apiVersion": "serving.knative.dev/v1", "spec": {"template": template}}
    pod = pod_template(workload)
    assert pod["spec"]["containers"] == [{"name": "user-container", "image": "app"}]
    pod["spec"]["containers"].append({"name": "proxy"})
    put = with_pod_template(workload, pod)["spec"]["template"]["spec"]
    assert put == {"containers": [{"image": "app"}, {"name": "proxy"}]}
