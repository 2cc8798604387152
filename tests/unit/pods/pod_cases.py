"""Pods and overlays for the tests of merge, patch and receipt: usual ones, and strategies for unusual ones."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

from hypothesis import strategies as st

from injector.pods.fields import POD, Field
from injector.pods.overlay import Append, Replace

TOKEN_MOUNT = {
    "name": "kube-api-access-x7k2p",
    "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount",
    "readOnly": True,
}
#: As the ServiceAccount plugin makes it.
TOKEN_VOLUME: dict[str, Any] = {
    "name": "kube-api-access-x7k2p",
    "projected": {
        "defaultMode": 420,
        "sources": [
            {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
            {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
            {
                "downwardAPI": {
                    "items": [
                        {"path": "namespace", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}}
                    ]
                }
            },
        ],
    },
}


def app_pod(**spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "web", "labels": {"app": "web"}},
        "spec": {
            "containers": [{"name": "app", "image": "web:1", "ports": [{"containerPort": 8080, "protocol": "TCP"}]}],
            **spec,
        },
    }


def envoy_overlay() -> dict[str, Any]:
    return {
        "metadata": {"annotations": {"scrape": "yes"}},
        "spec": {
            "initContainers": [{"name": "setup", "image": "iptables:1", "args": ["-p", "15001"]}],
            "containers": [
                {
                    "name": "envoy",
                    "image": "envoy:1",
                    "args": ["-c", "/etc/envoy/envoy.yaml"],
                    "stdin": False,
                    "env": [
                        {"name": "POD", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
                        {"name": "ID", "value": "$(POD)-x"},
                        {"name": "EMPTY", "value": ""},
                    ],
                    "ports": [{"containerPort": 15006, "name": "in"}],
                    "resources": {"requests": {"cpu": 0.5, "memory": "64Mi"}},
                    "startupProbe": {"httpGet": {"path": "/ready", "port": 15021}, "initialDelaySeconds": 0},
                    "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
                    "volumeMounts": [{"name": "conf", "mountPath": "/etc/envoy", "readOnly": True}],
                },
                {
                    "name": "*",
                    "env": [{"name": "HTTP_PROXY", "value": "http://127.0.0.1:15001"}],
                    "volumeMounts": [{"name": "conf", "mountPath": "/etc/conf"}],
                    "imagePullPolicy": Replace("Always"),
                },
            ],
            "volumes": [
                {"name": "conf", "configMap": {"name": "conf-1"}},
                {
                    "name": "info",
                    "downwardAPI": {"items": [{"path": "l", "fieldRef": {"fieldPath": "metadata.labels"}}]},
                },
            ],
        },
    }


def as_api_server_returns(pod: dict[str, Any]) -> dict[str, Any]:
    """The pod after the API server's defaulting, LimitRanger and the ServiceAccount plugin, zero values left out."""
    pod = copy.deepcopy(pod)
    spec = pod["spec"]
    spec |= {"dnsPolicy": "ClusterFirst", "restartPolicy": "Always", "enableServiceLinks": True}
    spec.setdefault("securityContext", {})
    spec.setdefault("volumes", []).insert(0, TOKEN_VOLUME)
    for volume in spec["volumes"]:
        for source in ("configMap", "downwardAPI"):
            if source in volume:
                volume[source]["defaultMode"] = 420
        for item in volume.get("downwardAPI", {}).get("items", []):
            item["fieldRef"]["apiVersion"] = "v1"
    for container in spec["containers"] + spec.get("initContainers", []):
        container.setdefault("imagePullPolicy", "IfNotPresent")
        container |= {"terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File"}
        container.setdefault("volumeMounts", []).append(TOKEN_MOUNT)
        limits = container.setdefault("resources", {}).setdefault("limits", {})
        limits.setdefault("memory", "1Gi")
        requests = container["resources"].setdefault("requests", {"memory": "1Gi"})
        if "cpu" in requests:
            requests["cpu"] = "500m"
        if container.get("stdin") is False:
            del container["stdin"]
        for port in container.get("ports", []):
            port.setdefault("protocol", "TCP")
        for variable in container.get("env", []):
            if variable.get("value") == "":
                del variable["value"]
            if "fieldRef" in variable.get("valueFrom", {}):
                variable["valueFrom"]["fieldRef"]["apiVersion"] = "v1"
        if probe := container.get("startupProbe"):
            probe |= {"timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3}
            probe["httpGet"]["scheme"] = "HTTP"
            probe.pop("initialDelaySeconds", None)
    return pod


names = st.sampled_from(["a", "b", "c/d", "e~f", "app", "envoy", "A#2"])
scalars = st.one_of(st.none(), st.booleans(), st.sampled_from([0, 1, 2]), st.sampled_from([1.0, 0.5, ""]), names)
_POD_FIELDS = ("metadata", "annotations", "labels", "spec", "containers", "initContainers", "volumes", "tolerations")
_CONTAINER_FIELDS = (
    "name",
    "env",
    "ports",
    "containerPort",
    "protocol",
    "volumeMounts",
    "mountPath",
    "args",
    "resources",
)


def _known(field: Field = POD) -> Iterator[Field]:
    """Every place of a pod that has a name."""
    for name in field.fields.notations:
        yield field.fields[name]
        yield from _known(field.fields[name])
    if field.kind == "list":
        yield from _known(field.element)


#: A pod's lists with their merge keys, and those that grow by whole elements, by name.
KEYS = {field.name: field.keys for field in _known() if field.keys}
GROWING = {field.name for field in _known() if field.grows}
fields = st.sampled_from((*_POD_FIELDS, *_CONTAINER_FIELDS, "limits", "c/d", "e~f"))
json_values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(fields, inner, max_size=4), max_leaves=25
)
json_objects = st.dictionaries(fields, json_values, max_size=5)

_env = st.lists(
    st.fixed_dictionaries(
        {"name": names}, optional={"value": names, "valueFrom": st.just({"fieldRef": {"fieldPath": "x"}})}
    ),
    max_size=4,
)
_ports = st.lists(
    st.fixed_dictionaries(
        {"containerPort": st.sampled_from([80, 81])},
        optional={"protocol": st.sampled_from(["TCP", "UDP"]), "name": names},
    ),
    max_size=3,
)
_quantities = st.dictionaries(
    st.sampled_from(["cpu", "memory"]), st.sampled_from(["1", "2", "500m", "1Gi"]), max_size=2
)
_containers = st.lists(
    st.fixed_dictionaries(
        {"name": names},
        optional={
            "image": names,
            "args": st.lists(names, max_size=2),
            "env": _env,
            "ports": _ports,
            "resources": st.fixed_dictionaries({}, optional={"requests": _quantities, "limits": _quantities}),
            "livenessProbe": st.sampled_from(
                [{"exec": {"command": ["x"]}}, {"httpGet": {"port": 1}}, {"periodSeconds": 3}]
            ),
        },
    ),
    max_size=4,
    unique_by=lambda container: container["name"],
)


def _pods(least: int) -> st.SearchStrategy[dict[str, Any]]:
    spec = st.fixed_dictionaries(
        {"containers": _containers} if least else {},
        optional={
            **({} if least else {"containers": _containers}),
            "volumes": st.lists(
                st.sampled_from([{"name": n, k: {}} for n in ("a", "b") for k in ("emptyDir", "secret")]),
                max_size=3,
                unique_by=lambda volume: volume["name"],
            ),
            "tolerations": st.lists(st.sampled_from([{"key": "a"}, {"key": "b", "operator": "Exists"}]), max_size=3),
            "nodeSelector": st.dictionaries(names, names, max_size=2),
            "hostNetwork": st.booleans(),
        },
    )
    metadata = st.fixed_dictionaries(
        {}, optional={key: st.dictionaries(names, names, max_size=2) for key in ("annotations", "labels")}
    )
    return st.fixed_dictionaries({"spec": spec}, optional={"metadata": metadata})


pods = _pods(1)


#: Some items are a part of another one, or hold what stands between them.
_appends = st.builds(
    lambda separator, item: Append({"separator": separator, "item": item}),
    st.sampled_from([" ", ",", "::"]),
    st.sampled_from(["-Dx", "-Dxy", "-Dx -Dy", "a", "a,b", " ", "::", ":a"]),
)


@st.composite
def overlays(draw: st.DrawFn) -> dict[str, Any]:
    """Overlays with a `"*"` container and a tag here and there."""
    overlay = draw(_pods(0))
    spec = overlay["spec"]
    if draw(st.booleans()):
        every = {"name": "*", "env": draw(_env), "imagePullPolicy": draw(st.sampled_from(["Never", Replace("Always")]))}
        spec["containers"] = [*spec.get("containers", []), every]
    for container in spec.get("containers", []):
        for field in ("image", "args", "env", "resources"):
            if field in container and draw(st.integers(0, 7)) == 0:
                container[field] = Replace(container[field])
        for variable in container.get("env", []) if container["name"] == "*" and type(container["env"]) is list else []:
            if variable.keys() == {"name", "value"} and draw(st.booleans()):
                variable["value"] = draw(_appends)
    return overlay
