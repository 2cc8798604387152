"""The whole pipeline: twice is once, uninject undoes, and no value changes the structure of what is added."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import jsonpatch
import pytest
from hypothesis import HealthCheck, assume, given, settings, strategies as st

from injector.inject import guard, inject, uninject
from injector.injection import Injection
from injector.pods.context import Namespace, Object
from injector.pods.workloads import workload_of_pod
from injector.reasons import Effect, Reason
from injector.settings import Settings
from tests.unit.pods.pod_cases import pods
from tests.unit.support import ENABLED, REQUIRED, snapshot, stored, web
from tests.unit.templates.file_shapes import file_shape, nginx_shape
from tests.unit.templates.hostile import HOSTILE

CONTAINER_LISTS = ("initContainers", "containers")
#: Each way to inject: the templates, and parameters that go with them.
WAYS: dict[str, tuple[tuple[str, ...], dict[str, str]]] = {
    "envoy": (("envoy",), {}),
    "envoy by ports": (("envoy",), {"envoy.sidecar.injector/intercept": "ports"}),
    "nginx": (("nginx",), {}),
}
#: Those that change containers of the app too, or nothing else.
REACHING: dict[str, tuple[tuple[str, ...], dict[str, str]]] = {
    "container": (
        ("container",),
        {"container.sidecar.injector/image": "x:1", "container.sidecar.injector/shared-path": "/run/x"},
    ),
    "without a sidecar": (("always-pull-images", "resource-defaults"), {}),
}
#: As `WAYS` with templates that pass on a free text: into a variable, a path, a config file.
FREE: dict[str, tuple[tuple[str, ...], dict[str, str]]] = {n: ((n,), {}) for n in ("logger", "agent", "noted")}
VERSIONS = ((1, 30), (1, 36))

# ------------------------------------------------------------------------------------------------- twice, and back


@st.composite
def odd_pods(draw: st.DrawFn) -> Object:
    """Pods of every shape that the API server would decode, with containers called as sidecars are now and then."""
    pod = copy.deepcopy(draw(pods))
    metadata = pod.setdefault("metadata", {})
    if draw(st.booleans()):
        extra = draw(st.sampled_from(["setup, logger", "placement,agent", "noted", "envoy", "nginx,envoy", "logger"]))
        metadata["annotations"] = {**metadata.get("annotations", {}), "sidecar.injector/templates": extra}
    if draw(st.booleans()):
        name = draw(st.sampled_from(["logger", "agent", "noted", "setup-fetch", "nginx-sidecar"]))
        where = draw(st.sampled_from(CONTAINER_LISTS))
        pod["spec"].setdefault(where, []).append({"name": name, "image": "own"})
    pod["spec"].setdefault("containers", []).append({"name": "main", "image": "main", "ports": [{"containerPort": 5}]})
    return pod


def without_empty(pod: Object) -> Object:
    """A pod without empty metadata: a mark alone has no receipt that could tell whether there were any."""
    metadata = {k: v for k, v in (pod.get("metadata") or {}).items() if v}
    return {**{k: v for k, v in pod.items() if k != "metadata"}, **({"metadata": metadata} if metadata else {})}


@pytest.mark.parametrize(
    ("version", "templates"),
    [*((version, ("setup", "logger")) for version in VERSIONS), ((1, 36), ("always-pull-images", "resource-defaults"))],
)
@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(pod=odd_pods(), required=st.booleans())
def test_inject_twice_is_once_and_uninject_undoes(
    version: tuple[int, int], templates: tuple[str, ...], pod: Object, required: bool
) -> None:
    current = snapshot(*templates, version=version)
    namespace = REQUIRED if required else ENABLED
    before = copy.deepcopy(pod)
    first = inject(pod, namespace, current)
    assert pod == before, "a pod that is passed in is never changed"
    assume(first.effect is not Effect.SKIP or first.reason is Reason.HOST_NETWORK)
    assert jsonpatch.JsonPatch(list(first.patch)).apply(copy.deepcopy(pod)) == first.object
    if first.reason is not Reason.INJECTED:
        assert without_empty(uninject(first.object, current.settings)) == without_empty(pod)
        assert first.effect in (Effect.MARK, Effect.REFUSE, Effect.SKIP)
        assert first.object["spec"] == pod["spec"]
        return
    assert uninject(first.object, current.settings) == pod
    second = inject(first.object, namespace, current)
    assert (second.reason, second.patch) == (Reason.ALREADY_INJECTED, ())
    assert second.object == first.object
    if required:
        assert guard(first.object, namespace, current).effect is Effect.SKIP


@pytest.mark.parametrize("way", [*WAYS, *REACHING])
@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("namespace", [ENABLED, REQUIRED], ids=["enabled", "required"])
def test_defaults_that_others_fill_in_are_not_missing(way: str, version: tuple[int, int], namespace: Namespace) -> None:
    """Parameters are the namespace's: under `required` a pod may set only those that are open."""
    templates, annotations = {**WAYS, **REACHING}[way]
    current = snapshot(*templates, version=version)
    namespace, guarded = (replace(one, annotations=annotations) for one in (namespace, REQUIRED))
    first = inject(web(), namespace, current)
    handed_on = stored(first.object)
    again = inject(handed_on, namespace, current)
    assert (again.reason, again.patch) == (Reason.ALREADY_INJECTED, ())
    assert guard(handed_on, guarded, current).reason is Reason.ALREADY_INJECTED


# ------------------------------------------------------------------------------------------------- hostile values


def shape(value: Any) -> Any:
    """Keys, lengths of lists and types of a value, without any value."""
    if isinstance(value, dict):
        return {key: shape(item) for key, item in value.items()}
    if isinstance(value, list):
        return [shape(item) for item in value]
    return type(value).__name__


def added(pod: Object, injection: Injection) -> Any:
    """The structure of everything that an injection adds to a pod and puts beside it."""
    spec, before = injection.object["spec"], pod["spec"]
    own = {id(item) for field in (*CONTAINER_LISTS, "volumes") for item in before.get(field) or []}
    lists = {
        field: [shape(item) for item in spec.get(field) or [] if id(item) not in own]
        for field in (*CONTAINER_LISTS, "volumes")
    }
    annotations = injection.object["metadata"]["annotations"].keys() - pod["metadata"]["annotations"].keys()
    files = {
        (file.labels["sidecar.injector/generated"], name): file_shape(name, text)
        for file in injection.files
        for name, text in file.data.items()
    }
    others = {k: v for k, v in spec.items() if k not in (*CONTAINER_LISTS, "volumes")}
    return lists, sorted(annotations), files, others


def check(pod: Object, namespace: Namespace, way: str, expected: Any, version: tuple[int, int] = (1, 36)) -> Reason:
    """A hostile pod gets exactly the structure that a harmless one gets, or nothing at all."""
    current = snapshot(*WAYS[way][0], version=version)
    injection = inject(pod, namespace, current)
    if injection.effect is not Effect.INJECT:
        assert injection.object["spec"] is pod["spec"]
        assert injection.files == ()
        assert injection.reason is not Reason.INTERNAL_ERROR
        return injection.reason
    assert added(pod, injection) == expected
    app = [c for c in injection.object["spec"]["containers"] if c["name"] == pod["spec"]["containers"][0]["name"]]
    assert app[0] == pod["spec"]["containers"][0]
    return injection.reason


def harmless(pod: Object, way: str, namespace: Namespace = ENABLED) -> Any:
    injection = inject(pod, namespace, snapshot(*WAYS[way][0]))
    assert injection.reason is Reason.INJECTED, injection.message
    return added(pod, injection)


def parameters() -> list[tuple[str, str, str]]:
    """Way, template and parameter, for every parameter of the gallery."""
    catalog = snapshot().catalog
    found = []
    for way, (templates, _) in {**WAYS, **FREE}.items():
        for name in templates:
            template = catalog.get(name)
            assert template is not None
            found += [(way, name, parameter) for parameter in template.parameters if parameter != "intercept"]
    return found


#: A harmless value of each parameter that has a structure of its own, or adds one.
EXAMPLES = {
    "clusters": '[{"name": "%s", "host": "%s", "port": 443, "tls": true, "protocol": "http2"}]',
    "xds-server": "%s:18000",
    "exclude-inbound-ranges": "%s",
    "exclude-outbound-ranges": "%s",
    "trusted-proxies": "%s",
}
HARMLESS = {"clusters": "a", "xds-server": "a.example"}
SHORT = tuple(value for value in HOSTILE if len(value) < 2_000)
LONG = tuple(value for value in HOSTILE if len(value) >= 2_000)


def test_there_are_enough_hostile_values() -> None:
    assert len(SHORT) >= 200
    assert any(len(value) >= 1024 * 1024 for value in LONG)


@pytest.mark.parametrize(("way", "template", "parameter"), parameters())
def test_no_parameter_changes_the_structure(way: str, template: str, parameter: str) -> None:
    """As a pod annotation, and (every fifth value) as an annotation of the namespace. The values go by turns: the next
    parameter gets the others.
    """
    base = {**WAYS, **FREE}[way][1]
    key = f"{template}.sidecar.injector/{parameter}"
    pattern = EXAMPLES.get(parameter)
    text = (
        any(word in parameter for word in ("image", "cpu", "memory", "size", "path", "target", "text"))
        or pattern is not None
    )
    values = (*(SHORT[sum(key.encode()) % 2 :: 2] if text else SHORT[::9]), *LONG[-1:])
    expected: dict[str, Any] = {}

    def outcome(value: str, *, of_namespace: bool) -> Reason:
        annotations = {**base, key: value}
        pod = web(base if of_namespace else annotations)
        namespace = Namespace("shop", {"injection": "enabled"}, {key: value} if of_namespace else {})
        return check_parameter(pod, namespace, way, key, value, expected)

    seen = {outcome(value, of_namespace=number % 5 == 0) for number, value in enumerate(values)}
    if pattern:
        quoted = [json.dumps(value)[1:-1] if "{" in pattern else value for value in values]
        seen |= {outcome(pattern.replace("%s", value), of_namespace=False) for value in quoted}
    text_file = {Reason.TEMPLATE_FAILED} if template == "noted" else set()
    allowed = {Reason.INJECTED, Reason.BAD_PARAMETER, Reason.NOT_SERVED, Reason.CONFLICT, Reason.INVALID_POD}
    assert seen <= allowed | text_file
    assert Reason.BAD_PARAMETER in seen


def check_parameter(
    pod: Object, namespace: Namespace, way: str, key: str, value: str, expected: dict[str, Any]
) -> Reason:
    """Numbers and choices may change the structure, as the template's author wants: only text may not."""
    injection = inject(pod, namespace, snapshot(*{**WAYS, **FREE}[way][0]))
    if injection.effect is not Effect.INJECT:
        assert injection.object["spec"] is pod["spec"]
        return injection.reason
    # What was accepted is a value of the parameter's type: the same structure as for another one of its kind.
    value_read = injection.applied[0].parameters.values[key.split("/")[1].replace("-", "_")]
    kind = json.dumps(shape(value_read) if isinstance(value_read, str | list | dict) else value_read)
    found = added(pod, injection)
    assert expected.setdefault(kind, found) == found, value
    return injection.reason


def place(pod: Object, path: tuple[Any, ...], value: Any) -> Object:
    """A copy of a pod with a value at a path; None as the last step makes the value a key."""
    pod = copy.deepcopy(pod)
    node: Any = pod
    for step in path[:-1]:
        node = node[step]
    if path[-1] is None:
        node[value] = "x"
    else:
        node[path[-1]] = value
    return pod


RICH = web(
    {"note": "x"},
    {
        "name": "second",
        "image": "registry.example/second:1",
        "env": [{"name": "A", "value": "b"}],
        "ports": [{"containerPort": 9090}],
    },
    volumes=[{"name": "data", "emptyDir": {}}],
    nodeSelector={"a": "b"},
    serviceAccountName="web",
)
FIELDS: dict[str, tuple[Any, ...]] = {
    "annotation": ("metadata", "annotations", "note"),
    "annotation's key": ("metadata", "annotations", None),
    "label": ("metadata", "labels", "app"),
    "label's key": ("metadata", "labels", None),
    "hash of the ReplicaSet": ("metadata", "labels", "pod-template-hash"),
    "generateName": ("metadata", "generateName"),
    "name": ("metadata", "name"),
    "owner's name": ("metadata", "ownerReferences", 0, "name"),
    "owner's kind": ("metadata", "ownerReferences", 0, "kind"),
    "owner's uid": ("metadata", "ownerReferences", 0, "uid"),
    "container's name": ("spec", "containers", 0, "name"),
    "container's image": ("spec", "containers", 0, "image"),
    "port's name": ("spec", "containers", 0, "ports", 0, "name"),
    "port's protocol": ("spec", "containers", 0, "ports", 0, "protocol"),
    "command": ("spec", "containers", 0, "command"),
    "variable's name": ("spec", "containers", 1, "env", 0, "name"),
    "variable's value": ("spec", "containers", 1, "env", 0, "value"),
    "volume's name": ("spec", "volumes", 0, "name"),
    "volume's source": ("spec", "volumes", 0, None),
    "nodeSelector": ("spec", "nodeSelector", "a"),
    "serviceAccountName": ("spec", "serviceAccountName"),
    "hostname": ("spec", "hostname"),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("field", FIELDS)
def test_no_field_of_the_pod_changes_the_structure(field: str, way: str) -> None:
    """Each value in each field, in one of the ways by turns."""
    base = copy.deepcopy(RICH)
    base["metadata"]["annotations"] |= WAYS[way][1]
    expected = harmless(base, way)
    seen = set()
    for value in SHORT[(list(WAYS).index(way) + list(FIELDS).index(field)) % len(WAYS) :: len(WAYS)]:
        pod = place(base, FIELDS[field], [value] if field == "command" else value)
        seen.add(check_but_for(pod, way, expected_of(pod, base, way, expected)))
    assert Reason.INJECTED in seen
    assert seen <= {Reason.INJECTED, Reason.CONFLICT, Reason.INVALID_POD}
    largest = place(base, FIELDS[field], [LONG[-1]] if field == "command" else LONG[-1])
    seen = {check_but_for(largest, way, expected_of(largest, base, way, expected))}
    assert seen <= {Reason.INJECTED, Reason.INVALID_POD, Reason.TOO_LARGE, Reason.TEMPLATE_FAILED}


def expected_of(pod: Object, base: Object, way: str, expected: Any) -> Any:
    """What is expected of a pod: of one whose owner cannot be one, what a pod without an owner gets."""
    if workload_of_pod(pod).owner is not None:
        return expected
    return harmless({**base, "metadata": {**base["metadata"], "ownerReferences": []}}, way)


def check_but_for(pod: Object, way: str, expected: Any) -> Reason:
    """As `check`; what is the pod's own outside of lists must be there unchanged."""
    lists, annotations, files, _ = expected
    own = {k: v for k, v in pod["spec"].items() if k not in (*CONTAINER_LISTS, "volumes")}
    return check(pod, ENABLED, way, (lists, annotations, files, own))


@pytest.mark.parametrize("way", WAYS)
def test_nothing_of_the_namespace_changes_the_structure(way: str) -> None:
    pod = web(WAYS[way][1])
    expected = harmless(pod, way)
    makers: tuple[Callable[[str], Namespace], ...] = (
        lambda v: Namespace(v, {"injection": "enabled"}),
        lambda v: Namespace("shop", {"injection": "enabled", "team": v}),
        lambda v: Namespace("shop", {"injection": "enabled", v: "x"} if v != "injection" else ENABLED.labels),
        lambda v: Namespace("shop", {"injection": "enabled"}, {"note": v}),
        lambda v: Namespace("shop", {"injection": "enabled"}, {v: "x"}),
    )
    for turn, make in enumerate(makers, list(WAYS).index(way)):
        values = (*SHORT[turn % len(WAYS) :: len(WAYS)], *LONG[-1:])
        assert {check(pod, make(value), way, expected) for value in values} == {Reason.INJECTED}


@settings(max_examples=150, deadline=None)
@given(
    value=st.text(max_size=60)
    | st.text(alphabet="\ufdd0\ufdd1\ufdd2\ufdd30123 \n-:{}[]'\"#&*!|>%@`\\$ax", max_size=40),
    field=st.sampled_from([f for f in FIELDS if f not in ("volume's source",)]),
    way=st.sampled_from(list(WAYS)),
)
def test_no_text_at_all_changes_the_structure(value: str, field: str, way: str) -> None:
    base = copy.deepcopy(RICH)
    base["metadata"]["annotations"] |= WAYS[way][1]
    pod = place(base, FIELDS[field], [value] if field == "command" else value)
    assume("sidecar.injector" not in value)
    check_but_for(pod, way, expected_of(pod, base, way, harmless(base, way)))


def test_the_tokenizer_knows_a_difference() -> None:
    """What the tests above would find: the same number of lines, another structure."""
    assert nginx_shape("a b; c { d 'x;y' \"z}\"; }") == [("a", 2, []), ("c", 1, [("d", 3, [])])]
    assert nginx_shape("a b;\n") != nginx_shape("a b c;\n") != nginx_shape("a b; c;\n")
    assert nginx_shape("# a { b\na b;") == [("a", 2, [])]


@pytest.mark.parametrize("way", WAYS)
def test_settings_can_be_no_more_hostile_than_annotations(way: str) -> None:
    """The names that users may choose are names, and stay outside of what templates add."""
    pod = web()
    current = snapshot(*WAYS[way][0])
    plain = inject(pod, ENABLED, current)
    renamed = inject(pod, ENABLED, snapshot(*WAYS[way][0], prefix="mesh.example"))
    assert plain.object["spec"].keys() == renamed.object["spec"].keys()
    assert uninject(renamed.object, Settings(prefix="mesh.example")) == pod
