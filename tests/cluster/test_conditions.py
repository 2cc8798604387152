"""The entries' matchConditions, evaluated by a real API server over odd objects: none may end in an error.

An error under `Fail` refuses the pod, under `Ignore` it lets it start without. Nobody listens where these entries point
to, and all of them fail closed, so that the API server itself says which way it went.
"""

from __future__ import annotations

import http.client
from typing import Any

import pytest

from injector.cluster.entries import Entry, entries
from injector.cluster.installation import Installation
from injector.settings import parse_settings
from tests.cluster.api import Api, ApiError, Object
from tests.cluster.conftest import ConfigureWebhooks, NamespaceFactory
from tests.cluster.controlplane import ControlPlane
from tests.cluster.objects import deployment, pod
from tests.cluster.processes import eventually

KEY = "sidecar.injector/inject"
ALWAYS = {
    "matchLabels": {"tier": "edge"},
    "matchExpressions": [
        {"key": "a", "operator": "In", "values": ["x", "it's"]},
        {"key": "b", "operator": "NotIn", "values": ["z"]},
        {"key": "c", "operator": "Exists"},
        {"key": "d", "operator": "DoesNotExist"},
    ],
}
SETTINGS = parse_settings({"alwaysSelector": ALWAYS, "neverSelector": {"matchLabels": {"tier": "none"}}}, "test")
NOWHERE = {"url": "https://127.0.0.1:1/nobody"}


def bare(**metadata: Any) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"generateName": "odd-", **metadata},
        "spec": pod("x")["spec"],
    }


#: The pod, and which entries are called for it.
PODS: dict[str, tuple[Object, str]] = {
    "nothing": (bare(), "enabled required"),
    "null": (bare(annotations=None, labels=None), "enabled required"),
    "empty": (bare(annotations={}, labels={}), "enabled required"),
    "null value": (bare(annotations={KEY: None}, labels={KEY: None}), "enabled required"),
    "an empty key": (bare(annotations={"": ""}, labels={"": ""}), "enabled required"),
    "odd keys": (bare(annotations={"it's\\\"": "x", "a b/c/d": "\u0000", "ключ": "й"}), "enabled required"),
    "a no in capitals": (bare(annotations={KEY: "FALSE"}), "required"),
    "a no of a label": (bare(labels={KEY: "Off"}), "required"),
    "a yes": (bare(annotations={KEY: "On"}), "enabled required opted-in"),
    "a yes in other letters": (bare(annotations={KEY: "\u212aES, ｙｅｓ, İ"}), "enabled required"),
    "a long value": (bare(annotations={KEY: "N" * 250_000}), "enabled required"),
    "many": (bare(labels={f"l{n}": "x" for n in range(5000)}), "enabled required"),
    "selected": (bare(labels={"tier": "edge", "a": "it's", "c": ""}), "enabled required opted-in"),
    "not selected": (bare(labels={"tier": "edge", "a": "it's", "c": "", "d": ""}), "enabled required"),
    "a mirror": (bare(annotations={"kubernetes.io/config.mirror": ""}), ""),
}  # fmt: skip


def entry(name: str, namespace: str) -> Entry:
    """The entry of that name, for this namespace alone, failing closed where nobody listens."""
    made = entries(SETTINGS, Installation())
    found = next(one for group in made for one in group if one["name"].startswith(f"{name}."))
    selector = {"matchLabels": {"kubernetes.io/metadata.name": namespace}}
    return {
        **found,
        "name": f"{name}.{namespace}.example",
        "clientConfig": NOWHERE,
        "failurePolicy": "Fail",
        "namespaceSelector": selector,
        "timeoutSeconds": 1,
    }


def said_of(control_plane: ControlPlane, obj: Object, namespace: str) -> str:
    """What the API server says of a creation: nothing when it goes well."""
    try:
        control_plane.api.create(obj, namespace, dry_run=True)
    except ApiError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("name", ["enabled", "required", "opted-in"])
def test_no_pod_is_too_odd(
    control_plane: ControlPlane, namespace: NamespaceFactory, configure_webhooks: ConfigureWebhooks, name: str
) -> None:
    where = namespace()
    configure_webhooks(entry(name, where))
    for kind, (obj, expected) in PODS.items():
        said = said_of(control_plane, obj, where)
        called = name in expected.split()
        assert ("failed calling webhook" in said) is called, f"{kind}: {said}"
        assert "atchCondition" not in said and "match condition" not in said, f"{kind}: {said}"


def test_no_workload_is_too_odd(
    control_plane: ControlPlane, namespace: NamespaceFactory, configure_webhooks: ConfigureWebhooks
) -> None:
    where = namespace()
    api = control_plane.api
    large = {"env": [{"name": f"V{n}", "value": "x" * 300} for n in range(2500)], "name": "app", "image": "x"}
    api.create(deployment("large", containers=[large], replicas=0), where)
    controlled = deployment("controlled")
    owner = {"apiVersion": "v1", "kind": "Thing", "name": "x", "uid": "y"}
    controlled["metadata"]["ownerReferences"] = [owner, {**owner, "uid": "z", "controller": True}]
    owned = deployment("owned")
    owned["metadata"]["ownerReferences"] = [owner]
    advice = entry("advice", where)
    configure_webhooks(advice, validating=True)
    assert said_of(control_plane, controlled, where) == ""
    assert "failed calling webhook" in said_of(control_plane, owned, where)
    found = eventually("its controller does not write between", lambda: replaced_by_itself(api, where), unless=ApiError)
    found["spec"]["template"]["spec"]["containers"][0]["env"][-1]["value"] = "y"
    del found["metadata"]["resourceVersion"]  # whatever its controller writes meanwhile
    with pytest.raises(ApiError, match="failed calling webhook"):
        api.replace(found)


def replaced_by_itself(api: Api, where: str) -> Object | None:
    """The Deployment, after nothing new was put into its place, so that nobody is called; None where it is new."""
    found = {**api.get("Deployment", "large", where), "apiVersion": "apps/v1", "kind": "Deployment"}
    try:
        return api.replace(found)
    except ApiError as error:
        if error.code != http.client.CONFLICT:
            raise
        return None
