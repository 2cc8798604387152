"""What a pod's author writes in a `required` namespace: forged receipts, and templates of the author's choice."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from injector.inject import guard, inject
from injector.pods.context import Cluster, Object
from injector.reasons import Effect, Reason
from injector.settings import Settings
from injector.templates.snapshot import build_snapshot
from tests.unit.support import REQUIRED, web

OVERLAY = """
{% for volume in pod.spec.volumes | default([]) %}
{% if volume.hostPath is defined %}{{ deny("host path") }}{% endif %}
{% endfor %}
{% if pod.metadata.labels.team | default("") == "none" %}{{ deny("label") }}{% endif %}
{% if pod.metadata.annotations.bad is defined %}{{ deny("annotation") }}{% endif %}
{% for init in pod.spec.initContainers | default([]) %}
{% if init.name == "mine" %}{{ deny("init container") }}{% endif %}
{% endfor %}
metadata:
  labels: {team: one}
spec:
  containers:
  - {name: side, image: side}
  volumes:
  - {name: side, emptyDir: {}}
"""
SNAPSHOT = build_snapshot(
    Settings(templates=("policy",)),
    {
        "policy": {
            "template.yaml": "description: Denies.\n",
            "overlay.yaml.j2": OVERLAY,
        }
    },
    Cluster(),
)


def _claiming(pod: Object, **claims: Any) -> Object:
    receipt = {"version": 1, "generation": "0", "templates": {}, **claims}
    metadata = pod["metadata"]
    annotations = {**metadata["annotations"], "sidecar.injector/receipt": json.dumps(receipt)}
    return {**pod, "metadata": {**metadata, "annotations": annotations}}


@pytest.mark.parametrize(
    ("pod", "claims", "why"),
    [
        (web(volumes=[{"name": "h", "hostPath": {"path": "/"}}]), {"replaced": {"/spec/volumes": None}}, "host path"),
        (web(initContainers=[{"name": "mine"}]), {"replaced": {"/spec/initContainers": None}}, "init container"),
        (web({"bad": "1"}), {"replaced": {"/metadata/annotations": None}}, "annotation"),
        (web({"bad": "1"}), {"replaced": {"/metadata": None}}, "annotation"),
        (web({"bad": "1"}), {"replaced": {"/spec": None, "/metadata": None}}, "annotation"),
    ],
    ids=["volumes", "init containers", "annotations", "metadata", "all"],
)
def test_what_it_says_was_null(pod: Object, claims: Object, why: str) -> None:
    forged = _claiming(pod, **claims)
    for core in (inject, guard):
        injection = core(forged, REQUIRED, SNAPSHOT)
        assert (injection.reason, injection.effect) == (Reason.DENIED, Effect.REFUSE)
        assert why in injection.message


def test_a_value_of_the_pods_own_where_the_template_adds_one() -> None:
    pod = web()
    pod["metadata"]["labels"]["team"] = "none"
    forged = _claiming(pod, added=["/metadata/labels/team"])
    for core in (inject, guard):
        injection = core(forged, REQUIRED, SNAPSHOT)
        assert injection.effect is Effect.REFUSE, injection.message
        assert injection.reason is Reason.DENIED or core is guard


def test_a_false_of_the_pods_own_where_the_template_adds_true() -> None:
    overlay = """
    {% if not pod.spec.securityContext.runAsNonRoot | default(true) %}{{ deny("root") }}{% endif %}
    spec: {securityContext: {runAsNonRoot: true}, containers: [{name: side, image: side}]}
    """
    sources = {"policy": {"template.yaml": "description: Denies.\n", "overlay.yaml.j2": overlay}}
    snapshot = build_snapshot(Settings(templates=("policy",)), sources, Cluster())
    for claims in (["/spec/securityContext"], ["/spec/securityContext/runAsNonRoot"]):
        forged = _claiming(web(securityContext={"runAsNonRoot": False}), added=claims)
        assert inject(forged, REQUIRED, snapshot).reason is Reason.DENIED
        assert guard(forged, REQUIRED, snapshot).reason is Reason.DENIED


def test_a_true_receipt_counts() -> None:
    """Also for a pod in which these were null: a second time there is nothing to do, and the guard is content."""
    pod = web(volumes=None, initContainers=None)
    pod["metadata"]["annotations"] = None
    once = inject(pod, REQUIRED, SNAPSHOT)
    assert once.reason is Reason.INJECTED
    assert inject(once.object, REQUIRED, SNAPSHOT).reason is Reason.ALREADY_INJECTED
    assert guard(once.object, REQUIRED, SNAPSHOT).reason is Reason.ALREADY_INJECTED


def test_a_template_that_the_pod_adds_frees_no_field_of_another() -> None:
    overlay = "spec: {containers: [{name: side, image: side}]}"
    sources = {
        "one": {"template.yaml": "description: One.\noverridable: [resources]\n", "overlay.yaml.j2": overlay},
        "two": {"template.yaml": "description: Two.\noverridable: [resources, image]\n", "overlay.yaml.j2": overlay},
    }
    snapshot = build_snapshot(Settings(templates=("one",)), sources, Cluster())
    added = web({"sidecar.injector/templates": "two"}, {"name": "side", "image": "mine"})
    assert inject(added, REQUIRED, snapshot).reason is Reason.NOT_OVERRIDABLE
    assert guard(added, REQUIRED, snapshot).effect is Effect.REFUSE
    sized = web({"sidecar.injector/templates": "two"}, {"name": "side", "image": "side", "resources": {}})
    assert inject(sized, REQUIRED, snapshot).reason is Reason.INJECTED


ANNOTATION = {"fieldPath": "metadata.annotations['t']"}
TOKEN = "/var/run/secrets/kubernetes.io/serviceaccount"
OF_THE_PLUGIN = (
    {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
    {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
    {
        "downwardAPI": {
            "items": [{"path": "namespace", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}}]
        }
    },
    {"configMap": {"name": "openshift-service-ca.crt", "items": [{"key": "service-ca.crt", "path": "service-ca.crt"}]}},
)


def _with_token(volume: Object) -> Object:
    mount = {"name": "kube-api-access-mine1", "mountPath": TOKEN, "readOnly": True}
    side = {"name": "side", "image": "side", "volumeMounts": [mount]}
    return web({}, side, volumes=[{"name": "kube-api-access-mine1", **volume}])


def test_the_token_of_the_service_account_plugin_is_no_difference() -> None:
    pod = _with_token({"projected": {"defaultMode": 420, "sources": list(OF_THE_PLUGIN)}})
    assert inject(pod, REQUIRED, SNAPSHOT).reason is Reason.INJECTED
    assert guard(inject(pod, REQUIRED, SNAPSHOT).object, REQUIRED, SNAPSHOT).allowed


@pytest.mark.parametrize(
    "volume",
    [
        {"configMap": {"name": "mine"}},
        {"secret": {"secretName": "mine"}},
        {"emptyDir": {}},
        {"projected": {"sources": []}},
        {"projected": {"sources": [{"configMap": {"name": "mine"}}]}},
        {"projected": {"sources": list(OF_THE_PLUGIN), "defaultMode": 0}},
        {"projected": {"sources": [*OF_THE_PLUGIN[:3], {"clusterTrustBundle": {"name": "mine", "path": "token"}}]}},
        {"projected": {"sources": [{"serviceAccountToken": {"path": "token"}}, *OF_THE_PLUGIN[1:3]]}},
        {
            "projected": {
                "sources": [
                    {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token", "audience": "mine"}},
                    *OF_THE_PLUGIN[1:3],
                ]
            }
        },
        {"projected": {"sources": [*OF_THE_PLUGIN, {"secret": {"name": "mine"}}]}},
        {"projected": {"sources": [{"downwardAPI": {"items": [{"path": "token", "fieldRef": ANNOTATION}]}}]}},
    ],
)
def test_a_volume_of_the_plugin_s_name_gives_the_sidecar_no_other_token(volume: Object) -> None:
    pod = _with_token(volume)
    refused = inject(pod, REQUIRED, SNAPSHOT)
    assert (refused.reason, refused.effect) == (Reason.NOT_OVERRIDABLE, Effect.REFUSE)
    later = copy.deepcopy(inject(web(), REQUIRED, SNAPSHOT).object)
    later["spec"]["volumes"] = [*later["spec"]["volumes"], *pod["spec"]["volumes"]]
    for field in ("containers", "initContainers"):
        for container in later["spec"].get(field, []):
            if container["name"] == "side":
                container["volumeMounts"] = pod["spec"]["containers"][1]["volumeMounts"]
    assert guard(later, REQUIRED, SNAPSHOT).reason is Reason.NOT_INJECTED
