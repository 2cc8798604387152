"""The pipeline: each line of the table of reasons as it ends for a pod, the ways past `required`, and the guard."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any

import jsonpatch
import pytest

from injector.diagnostics import Place
from injector.inject import guard, inject, uninject
from injector.injection import Injection
from injector.pods.context import Cluster, Namespace, Object, Request
from injector.pods.decision import MIRROR_ANNOTATION
from injector.pods.fields import NEWEST
from injector.pods.receipt import read_receipt
from injector.reasons import Effect, Reason
from injector.settings import Settings
from injector.templates.snapshot import Snapshot, build_snapshot
from tests.messages import Golden
from tests.unit.support import ENABLED, REQUIRED, named, names, snapshot, stored, web

INJECT, STATUS, RECEIPT = "sidecar.injector/inject", "sidecar.injector/status", "sidecar.injector/receipt"
TEMPLATES = "sidecar.injector/templates"


def marked(injection: Injection) -> str | None:
    """The mark that the pod ends with."""
    metadata = injection.object.get("metadata") or {}
    status: str | None = (metadata.get("annotations") or {}).get(STATUS)
    return status


# ------------------------------------------------------------------------------------------------- the table

_LABELLED: dict[str, dict[str, str]] = {
    "enabled": {"injection": "enabled"},
    "required": {"injection": "required"},
    "disabled": {"injection": "disabled"},
    "unlabelled": {},
}
_BATCH = {"never_selector": {"matchLabels": {"app": "web"}}}
_ALWAYS = {"always_selector": {"matchLabels": {"app": "web"}}}
_EXEMPT = {"exempt_selector": {"matchLabels": {"app": "web"}}}
_SKIP = {"pod_default": "skip"}
#: The annotation by which pods name templates, as another injector has it.
REQUEST = "injector.example.com/request"
_NAMED = {"pod_default": "named", "named_by": REQUEST}

#: Labels of the namespace, annotations of the pod, settings; the reason that decides, and whether it is injected.
DECISIONS: list[tuple[str, dict[str, str], dict[str, Any], Reason, bool]] = [
    ("enabled", {}, {}, Reason.NAMESPACE_ENABLED, True),
    ("required", {}, {}, Reason.NAMESPACE_REQUIRED, True),
    ("disabled", {}, {}, Reason.NAMESPACE_DISABLED, False),
    ("unlabelled", {}, {}, Reason.NOT_REQUESTED, False),
    ("enabled", {INJECT: "no"}, {}, Reason.POD_OPTED_OUT, False),
    ("required", {INJECT: "no"}, {}, Reason.NAMESPACE_REQUIRED, True),
    ("disabled", {INJECT: "yes"}, {}, Reason.NAMESPACE_DISABLED, False),
    ("unlabelled", {INJECT: "yes"}, {}, Reason.POD_OPTED_IN, True),
    ("unlabelled", {INJECT: "perhaps"}, {}, Reason.NOT_REQUESTED, False),
    ("enabled", {}, _BATCH, Reason.NEVER_SELECTOR, False),
    ("enabled", {INJECT: "yes"}, _BATCH, Reason.NEVER_SELECTOR, False),
    ("required", {}, _BATCH, Reason.NAMESPACE_REQUIRED, True),
    ("unlabelled", {}, _ALWAYS, Reason.ALWAYS_SELECTOR, True),
    ("unlabelled", {INJECT: "no"}, _ALWAYS, Reason.POD_OPTED_OUT, False),
    ("disabled", {}, _ALWAYS, Reason.NAMESPACE_DISABLED, False),
    ("enabled", {}, {**_ALWAYS, **_BATCH}, Reason.NEVER_SELECTOR, False),
    ("enabled", {}, _SKIP, Reason.POD_NOT_OPTED_IN, False),
    ("enabled", {INJECT: "on"}, _SKIP, Reason.POD_OPTED_IN, True),
    ("required", {}, _SKIP, Reason.NAMESPACE_REQUIRED, True),
    ("unlabelled", {}, _SKIP, Reason.NOT_REQUESTED, False),
    ("enabled", {}, _NAMED, Reason.POD_NOT_OPTED_IN, False),
    ("enabled", {REQUEST: "logger"}, _NAMED, Reason.POD_OPTED_IN, True),
    ("enabled", {INJECT: "no", REQUEST: "logger"}, _NAMED, Reason.POD_OPTED_OUT, False),
    ("enabled", {INJECT: "yes"}, _NAMED, Reason.POD_OPTED_IN, True),
    ("enabled", {REQUEST: " , "}, _NAMED, Reason.POD_NOT_OPTED_IN, False),
    ("required", {}, _NAMED, Reason.NAMESPACE_REQUIRED, True),
    ("disabled", {REQUEST: "logger"}, _NAMED, Reason.NAMESPACE_DISABLED, False),
    ("unlabelled", {REQUEST: "logger"}, _NAMED, Reason.POD_OPTED_IN, True),
    ("unlabelled", {}, _NAMED, Reason.NOT_REQUESTED, False),
    ("enabled", {REQUEST: "logger"}, {**_SKIP, "named_by": REQUEST}, Reason.POD_NOT_OPTED_IN, False),
    ("enabled", {}, _EXEMPT, Reason.EXEMPT, False),
    ("required", {INJECT: "yes"}, _EXEMPT, Reason.EXEMPT, False),
    ("required", {MIRROR_ANNOTATION: "x"}, {}, Reason.MIRROR_POD, False),
    ("enabled", {MIRROR_ANNOTATION: ""}, {}, Reason.MIRROR_POD, False),
]


@pytest.mark.parametrize(("label", "annotations", "settings", "reason", "injected"), DECISIONS)
def test_decisions(
    label: str, annotations: dict[str, str], settings: dict[str, Any], reason: Reason, injected: bool
) -> None:
    current = snapshot("logger", **settings)
    pod = web(annotations)
    result = inject(pod, Namespace("shop", _LABELLED[label]), current)
    assert result.decision.reason is reason
    assert result.decision.required == (label == "required")
    assert result.decision.trail[-1].reason is (
        reason if reason is not Reason.NOT_REQUESTED else Reason.NAMESPACE_REQUIRED
    )
    if injected:
        assert (result.reason, result.effect, marked(result)) == (Reason.INJECTED, Effect.INJECT, "injected")
    else:
        assert (result.reason, result.effect, result.patch) == (reason, Effect.SKIP, ())
        assert result.object is pod
        assert result.message == reason.sentence


@pytest.mark.parametrize(
    "asked", ["Logger", "logger:", "logger:latest", "LOGGER:Latest", "logger,Logger:latest", "_logger"]
)
def test_names_as_another_injector_s_configs_have_them(asked: str) -> None:
    current = snapshot("logger", named_by=REQUEST)
    for namespace in (ENABLED, REQUIRED):
        result = inject(web({REQUEST: asked}), namespace, current)
        assert (result.reason, [name for name, _ in result.templates]) == (Reason.INJECTED, ["logger"])


def test_a_version_is_a_part_of_the_name(golden: Golden) -> None:
    result = inject(web({REQUEST: "logger:1.2"}), ENABLED, snapshot("logger", named_by=REQUEST))
    assert result.reason is Reason.UNKNOWN_TEMPLATE
    golden(result.message)


@pytest.mark.parametrize(
    ("asked", "several"),
    [
        ("logger;nginx", "logger,nginx"),
        ("envoy logger", "envoy,logger"),
        ("logger | envoy", "logger,envoy"),
    ],
)
def test_names_without_a_comma_between_them(asked: str, several: str, golden: Golden) -> None:
    result = inject(web({REQUEST: asked}), ENABLED, snapshot("logger", "envoy", "nginx", named_by=REQUEST))
    assert result.diagnostic is not None
    assert (result.diagnostic.code, result.diagnostic.fields["nearest"]) == ("unknown-template", several)
    golden(result.message)


def test_names_of_the_command_line_without_a_comma() -> None:
    result = inject(web(), ENABLED, snapshot("logger", "envoy"), names=["logger envoy"])
    assert result.diagnostic is not None
    assert result.diagnostic.fields["nearest"] == "logger,envoy"


def test_the_usual_annotation_is_not_counted_where_the_settings_have_another(golden: Golden) -> None:
    result = inject(web({"sidecar.injector/templates": "nope"}), ENABLED, snapshot("logger", named_by=REQUEST))
    assert result.reason is Reason.INJECTED
    golden(result.warning_lines)


@pytest.mark.parametrize("value", ["true", "TRUE", "Yes", "y", "On", " enabled ", "ENABLED"])
@pytest.mark.parametrize("where", ["labels", "annotations"])
def test_yes_in_any_case(value: str, where: str) -> None:
    pod = web()
    pod["metadata"][where] = {**pod["metadata"][where], INJECT: value}
    assert inject(pod, Namespace("shop"), snapshot("logger")).reason is Reason.INJECTED


@pytest.mark.parametrize("value", ["false", "FALSE", "No", "n", "oFF", " disabled ", "DISABLED"])
@pytest.mark.parametrize("other", [None, "yes"])
def test_any_no_beats_any_yes(value: str, other: str | None) -> None:
    pod = web({INJECT: value})
    if other:
        pod["metadata"]["labels"][INJECT] = other
    assert inject(pod, ENABLED, snapshot("logger")).reason is Reason.POD_OPTED_OUT


@pytest.mark.parametrize(
    "request_",
    [Request(operation="UPDATE"), Request(resource="deployments", group="apps"), Request(sub_resource="exec")],
)
def test_only_creations_of_pods(request_: Request) -> None:
    for namespace in (ENABLED, REQUIRED):
        result = inject(web(), namespace, snapshot("logger"), request_)
        assert (result.reason, result.effect, result.patch) == (Reason.NOT_A_POD_CREATION, Effect.SKIP, ())
        assert guard(web(), namespace, snapshot("logger"), request_).effect is Effect.SKIP


@pytest.mark.parametrize("name", ["kube-system", "kube-public", "kube-node-lease"])
def test_ignored_namespaces_whatever_their_label(name: str) -> None:
    for label in ("enabled", "required"):
        result = inject(web({INJECT: "yes"}), Namespace(name, {"injection": label}), snapshot("logger"))
        assert (result.reason, result.effect) == (Reason.NAMESPACE_IGNORED, Effect.SKIP)


def _with(**spec: Any) -> Object:
    return web(None, **spec)


def _on_nodes(*terms: tuple[str, str, Any], **spec: Any) -> Object:
    """A pod with a required node affinity: of each term an operator, a label and its value, or what stands there."""
    selectors = [
        {"matchExpressions": [{"key": key, "operator": op, "values": [value] if type(value) is str else value}]}
        for op, key, value in terms
    ]
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": selectors}}
    return _with(affinity={"nodeAffinity": required}, **spec)


_OS, _OLD_OS = "kubernetes.io/os", "beta.kubernetes.io/os"
_GMSA = {"securityContext": {"windowsOptions": {"gmsaCredentialSpecName": "shop"}}}
_EMPTY = {"securityContext": {"windowsOptions": {"runAsUserName": None}}}


@pytest.mark.parametrize(
    ("pod", "reason"),
    [
        (_on_nodes(("In", _OS, "windows")), Reason.WINDOWS),
        (_on_nodes(("In", _OLD_OS, "windows")), Reason.WINDOWS),
        (_on_nodes(("NotIn", _OS, "linux")), Reason.WINDOWS),
        (_on_nodes(("In", _OS, "windows"), ("In", _OS, "linux")), Reason.INJECTED),
        (_on_nodes(("In", _OLD_OS, "windows"), ("In", _OS, "linux")), Reason.INJECTED),
        (_on_nodes(("In", _OS, "windows"), ("In", "zone", "a")), Reason.INJECTED),
        (_on_nodes(("NotIn", _OS, "windows")), Reason.INJECTED),
        (_on_nodes(("In", "zone", "a")), Reason.INJECTED),
        (_with(nodeSelector={_OS: "windows"}), Reason.WINDOWS),
        (_with(nodeSelector={_OLD_OS: "windows"}), Reason.WINDOWS),
        (_with(**_GMSA), Reason.WINDOWS),
        (_with(containers=[{"name": "app", "image": "app", **_GMSA}]), Reason.WINDOWS),
        (_with(initContainers=[{"name": "setup", "image": "setup", **_GMSA}]), Reason.WINDOWS),
        (_with(**_EMPTY), Reason.INJECTED),
        (_with(os={"name": "linux"}, nodeSelector={_OS: "windows"}), Reason.INJECTED),
        (_with(nodeSelector={_OS: "linux"}, **_GMSA), Reason.INJECTED),
        (_with(nodeSelector={_OLD_OS: "linux"}, **_GMSA), Reason.INJECTED),
        (_with(nodeSelector={"zone": "a"}, **_GMSA), Reason.WINDOWS),
        (_on_nodes(("In", _OS, "linux"), nodeSelector={_OS: "windows"}), Reason.INJECTED),
        (_on_nodes(("In", _OLD_OS, "linux"), **_GMSA), Reason.INJECTED),
        (_on_nodes(("NotIn", _OS, "windows"), **_GMSA), Reason.INJECTED),
        (_on_nodes(("In", "zone", "a"), **_GMSA), Reason.WINDOWS),
        (_on_nodes(("In", _OS, 1)), Reason.INJECTED),
    ],
)
def test_a_pod_is_for_windows_by_any_of_its_marks_unless_one_says_linux(pod: Object, reason: Reason) -> None:
    assert inject(pod, ENABLED, snapshot("logger")).reason is reason
    required = inject(pod, REQUIRED, snapshot("logger"))
    assert (required.reason, required.allowed) == (reason, reason is Reason.INJECTED)


#: A pod, default templates; the reason why it cannot be injected.
FAILURES: list[tuple[str, Object, tuple[str, ...], Reason]] = [
    ("a template that is not there", web({TEMPLATES: "nobody"}), ("logger",), Reason.UNKNOWN_TEMPLATE),
    ("host network", _with(hostNetwork=True), ("logger",), Reason.HOST_NETWORK),
    ("Windows", _with(os={"name": "windows"}), ("logger",), Reason.WINDOWS),
    ("a denial", _with(containers=[{"name": "a", "image": "elsewhere.example/a"}]), ("policy",), Reason.DENIED),
    ("a bad parameter", web({"logger.sidecar.injector/keep": "x"}), ("logger",), Reason.BAD_PARAMETER),
    ("no port", _with(containers=[{"name": "a", "image": "a"}]), ("nginx",), Reason.NOT_SERVED),
    (
        "its port",
        web(None, {"name": "b", "image": "b", "ports": [{"containerPort": 15021}]}),
        ("envoy",),
        Reason.CONFLICT,
    ),
    ("only a sidecar", _with(containers=[{"name": "logger", "image": "a"}]), ("logger",), Reason.CONFLICT),
    ("no list", _with(containers="app"), ("logger",), Reason.MALFORMED_POD),
    ("no container", _with(containers=[]), ("logger",), Reason.MALFORMED_POD),
    ("no name", _with(containers=[{"image": "a"}]), ("logger",), Reason.MALFORMED_POD),
    ("too much", web({"note": "x" * 262_000}), ("noted",), Reason.TOO_LARGE),
]


@pytest.mark.parametrize(("pod", "templates", "reason"), [f[1:] for f in FAILURES], ids=[f[0] for f in FAILURES])
@pytest.mark.parametrize("namespace", [ENABLED, REQUIRED], ids=["enabled", "required"])
def test_what_cannot_be_injected_goes_by_the_table(
    pod: Object, templates: tuple[str, ...], reason: Reason, namespace: Namespace
) -> None:
    result = inject(pod, namespace, snapshot(*templates))
    effect = reason.effect(required=namespace is REQUIRED)
    assert (result.reason, result.effect) == (reason, effect)
    assert result.message.startswith(f"{reason}: ")
    assert result.files == ()
    assert result.object["spec"] is pod["spec"]
    assert result.allowed == (effect is not Effect.REFUSE)
    if effect is Effect.MARK:
        annotations = result.object["metadata"]["annotations"]
        assert annotations[STATUS] == "failed"
        assert annotations["sidecar.injector/reason"].startswith(f"{reason}: ")
        assert RECEIPT not in annotations
    else:
        assert result.patch == ()
    assert any(str(reason) in warning for warning in result.warning_lines) == result.allowed


def test_a_failure_that_is_over_leaves_no_mark() -> None:
    current = snapshot("logger")
    failed = inject(web({"logger.sidecar.injector/keep": "x"}), ENABLED, current).object
    annotations = {**failed["metadata"]["annotations"], "logger.sidecar.injector/keep": "3"}
    mended = {**failed, "metadata": {**failed["metadata"], "annotations": annotations}}
    result = inject(mended, ENABLED, current)
    assert result.reason is Reason.INJECTED
    assert "sidecar.injector/reason" not in result.object["metadata"]["annotations"]
    assert marked(result) == "injected"


# ------------------------------------------------------------------------------------------------- results


def test_what_an_injection_tells(golden: Golden) -> None:
    pod = web({TEMPLATES: "logger, agent", "agent.sidecar.injector/nope": "1"})
    current = snapshot("envoy")
    result = inject(pod, ENABLED, current)
    assert [name for name, _ in result.templates] == ["logger", "agent"]
    assert result.generation == current.generation
    assert result.templates_source == f"pod annotation {TEMPLATES}"
    golden(result.message)
    golden(result.warning_lines)
    assert names(result.object) == ["app"]
    assert names(result.object, "initContainers") == ["logger", "agent"]
    (file,) = result.files
    assert set(file.data) == {"agent.yaml", "agent.env"}
    assert file.namespace == "shop"
    assert file.owner == {k: v for k, v in pod["metadata"]["ownerReferences"][0].items() if k != "controller"}
    receipt = read_receipt(result.object, current.settings)
    assert receipt is not None
    assert receipt.templates == dict(result.templates)
    assert jsonpatch.JsonPatch(list(result.patch)).apply(copy.deepcopy(pod)) == result.object


def test_the_command_line_overrides_templates_and_parameters(golden: Golden) -> None:
    pod = web({TEMPLATES: "nginx", "logger.sidecar.injector/keep": "3"})
    result = inject(pod, ENABLED, snapshot("envoy"), names=["logger"], overrides={"logger": {"keep": "9"}})
    assert named(result.object, "logger")["args"][0] == "--keep=9d"
    golden(result.templates_source)


def test_a_pod_without_a_controller_has_its_files_in_annotations() -> None:
    pod = web()
    del pod["metadata"]["ownerReferences"]
    result = inject(pod, ENABLED, snapshot("agent"))
    assert result.files == ()
    volume = result.object["spec"]["volumes"][0]
    paths = {item["path"]: item["fieldRef"]["fieldPath"] for item in volume["downwardAPI"]["items"]}
    assert paths["agent.env"] == "metadata.annotations['sidecar.injector/agent.agent.env']"
    assert result.object["metadata"]["annotations"]["sidecar.injector/agent.agent.env"] == "INTERVAL=10s\n"


@pytest.mark.parametrize(
    ("setting", "version", "native"),
    [
        ("auto", (1, 31), False),
        ("auto", (1, 32), True),
        ("auto", (2, 0), True),
        ("always", (1, 29), True),
        ("never", (1, 36), False),
    ],
)
def test_native_sidecars_by_setting_and_version(setting: str, version: tuple[int, int], native: bool) -> None:
    result = inject(web(), ENABLED, snapshot("logger", version=version, native_sidecars=setting))
    assert names(result.object, "initContainers" if native else "containers")[-1] == "logger"
    assert ("restartPolicy" in named(result.object, "logger")) == native


def test_the_snapshot_of_the_receipt_is_used_again_while_it_is_the_last() -> None:
    """A reload between two calls for one pod changes nothing of it."""
    first = snapshot("logger")
    sources = {t.name: dict(t.sources) for t in first.catalog}
    sources["logger"]["overlay.yaml.j2"] = sources["logger"]["overlay.yaml.j2"].replace("logger:1", "logger:2")
    second = build_snapshot(first.settings, sources, first.cluster, first)
    injected = inject(web(), ENABLED, first).object
    again = inject(injected, ENABLED, second)
    assert (again.reason, again.generation) == (Reason.ALREADY_INJECTED, first.generation)
    assert inject(web(), ENABLED, second).generation == second.generation
    assert named(inject(web(), ENABLED, second).object, "logger")["image"] == "registry.example/logger:2"


def test_reinvocation_gives_a_container_that_came_later_its_part_only() -> None:
    current = snapshot("logger")
    pod = stored(inject(web(), ENABLED, current).object)
    pod["spec"]["containers"].append({"name": "late", "image": "late:1"})
    result = inject(pod, ENABLED, current)
    assert result.reason is Reason.INJECTED
    assert named(result.object, "late")["env"] == [{"name": "LOG_DIR", "value": "/var/log/app"}]
    touched = {step["path"].split("/")[1] for step in result.patch}
    assert touched <= {"spec", "metadata"}
    assert named(result.object, "app") == named(pod, "app")
    assert named(result.object, "logger") == named(pod, "logger")
    taken = uninject(result.object, current.settings)
    assert names(taken) == ["app", "late"]
    assert "env" not in named(taken, "late")


def test_a_pod_that_is_completed_keeps_no_mark_of_a_failure() -> None:
    current = snapshot("logger")
    pod = stored(inject(web(), ENABLED, current).object)
    pod["metadata"]["annotations"] |= {STATUS: "failed", "sidecar.injector/reason": "not-served: no"}
    result = inject(pod, ENABLED, current)
    assert (result.reason, marked(result)) == (Reason.INJECTED, "injected")
    assert "sidecar.injector/reason" not in result.object["metadata"]["annotations"]


@pytest.mark.parametrize("part", ["logger", "env", "volumeMounts", "volumes"])
def test_a_part_that_somebody_took_off_comes_back(part: str) -> None:
    current = snapshot("logger")
    whole = inject(web(), ENABLED, current).object
    pod = stored(whole)
    if part == "logger":
        pod["spec"]["initContainers"] = []
    elif part == "volumes":
        pod["spec"]["volumes"] = [v for v in pod["spec"]["volumes"] if v["name"] != "logs"]
    else:
        del named(pod, "app")[part]
    result = inject(pod, ENABLED, current)
    assert result.reason is Reason.INJECTED
    assert {"name": "logs", "emptyDir": {"sizeLimit": "100Mi"}} in result.object["spec"]["volumes"]
    assert named(result.object, "app")["env"] == named(whole, "app")["env"]
    assert {"name": "logs", "mountPath": "/var/log/app"} in named(result.object, "app")["volumeMounts"]
    assert named(result.object, "logger")["image"] == "registry.example/logger:1"


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("image", "mirror.example/logger:1"),
        ("imagePullPolicy", "Always"),
        ("resources", {"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"cpu": "1", "memory": "1Gi"}}),
        ("terminationMessagePath", "/x"),
    ],
)
def test_what_others_rewrote_is_not_missing(field: str, value: Any) -> None:
    current = snapshot("logger")
    pod = stored(inject(web(), ENABLED, current).object)
    named(pod, "logger")[field] = value
    result = inject(pod, ENABLED, current)
    assert (result.reason, result.patch) == (Reason.ALREADY_INJECTED, ())


# ------------------------------------------------------------------------------------------------- past `required`


def _forged(pod: Object, **claims: Any) -> Object:
    """A mark and a receipt that somebody wrote by hand."""
    receipt = {"version": 1, "generation": "x", "templates": {"logger": "x"}, **claims}
    pod["metadata"]["annotations"] |= {STATUS: "injected", RECEIPT: json.dumps(receipt)}
    return pod


#: Ways past a required namespace that must end with every part of the sidecar in place.
OVERCOME: dict[str, Callable[[], Object]] = {
    "its own no": lambda: web({INJECT: "false"}),
    "its own no as a label": lambda: {**web(), "metadata": {**web()["metadata"], "labels": {INJECT: "no"}}},
    "an empty list of templates": lambda: web({TEMPLATES: ""}),
    "a shorter list of templates": lambda: web({TEMPLATES: "placement"}),
    "a forged mark": lambda: web({STATUS: "injected"}),
    "a forged failure": lambda: web({STATUS: "failed", "sidecar.injector/reason": "not-served: no"}),
    "a forged receipt": lambda: _forged(web()),
    "a receipt that claims the sidecar": lambda: _forged(
        web(), added=["/spec/initContainers/logger", "/spec/volumes/logs"]
    ),
    "a receipt that claims the app": lambda: _forged(web(), added=["/spec/containers/app"]),
    "a receipt that claims everything": lambda: _forged(web(), added=["/spec/containers", "/spec", "/metadata"]),
    "a receipt that replaces": lambda: _forged(web(), replaced={"/spec/containers": [], "/spec/hostNetwork": True}),
    "a receipt that is garbage": lambda: web({STATUS: "injected", RECEIPT: "{"}),
    "a receipt of another version": lambda: _forged(web(), version=99),
}


@pytest.mark.parametrize("way", OVERCOME)
@pytest.mark.parametrize("version", [(1, 30), (1, 36)])
def test_no_way_past_required(way: str, version: tuple[int, int]) -> None:
    current = snapshot("logger", version=version)
    pod = OVERCOME[way]()
    assert guard(pod, REQUIRED, current).effect is Effect.REFUSE, "the guard alone would have seen it"
    result = inject(pod, REQUIRED, current)
    assert (result.reason, result.effect) == (Reason.INJECTED, Effect.INJECT), result.message
    assert named(result.object, "logger")["image"] == "registry.example/logger:1"
    assert named(result.object, "app") == {
        **named(pod, "app"),
        **{k: named(result.object, "app")[k] for k in ("env", "volumeMounts")},
    }
    assert {"name": "logs", "emptyDir": {"sizeLimit": "100Mi"}} in result.object["spec"]["volumes"]
    assert jsonpatch.JsonPatch(list(result.patch)).apply(copy.deepcopy(pod)) == result.object
    assert guard(stored(result.object), REQUIRED, current).effect is Effect.SKIP
    assert inject(stored(result.object), REQUIRED, current).reason is Reason.ALREADY_INJECTED


_SLEEP = {"name": "logger", "image": "registry.example/logger:1", "command": ["sleep", "inf"]}

#: Ways past a required namespace that must be refused: the pod's own parts stand in the way.
REFUSED: dict[str, Callable[[], Object]] = {
    "a container of its name": lambda: web(None, _SLEEP),
    "a container of its name with another image": lambda: web(None, {"name": "logger", "image": "evil"}),
    "an init container of its name": lambda: _with(initContainers=[{**_SLEEP, "command": ["true"]}]),
    "a volume of its name": lambda: _with(volumes=[{"name": "logs", "hostPath": {"path": "/"}}]),
    "a variable of its name": lambda: _with(
        containers=[{"name": "app", "image": "a", "env": [{"name": "LOG_DIR", "value": "/dev/null"}]}]
    ),
    "a mount in its place": lambda: _with(
        containers=[{"name": "app", "image": "a", "volumeMounts": [{"name": "own", "mountPath": "/var/log/app"}]}],
        volumes=[{"name": "own", "emptyDir": {}}],
    ),
    "host network": lambda: _with(hostNetwork=True),
    "a bad parameter": lambda: web({"logger.sidecar.injector/keep": "0"}),
    "a forged receipt over an impostor": lambda: _forged(web(None, _SLEEP), added=["/spec/volumes/logs"]),
}


@pytest.mark.parametrize("way", REFUSED)
@pytest.mark.parametrize("version", [(1, 30), (1, 36)])
def test_what_stands_in_the_way_is_refused(way: str, version: tuple[int, int]) -> None:
    current = snapshot("logger", version=version)
    pod = REFUSED[way]()
    for result in (inject(pod, REQUIRED, current), guard(pod, REQUIRED, current)):
        assert (result.effect, result.allowed, result.patch) == (Effect.REFUSE, False, ())
        assert result.message
    assert inject(pod, ENABLED, current).allowed


#: What is done to an injected pod on its way to storage, after the mutating webhook.
TAMPERED: dict[str, Callable[[Object], Any]] = {
    "the sidecar is gone": lambda p: p["spec"]["initContainers"].clear(),
    "another image": lambda p: named(p, "logger").update(image="evil"),
    "another command": lambda p: named(p, "logger").update(command=["sleep", "inf"]),
    "another argument": lambda p: named(p, "logger")["args"].append("--off"),
    "one more variable": lambda p: named(p, "logger")["env"].append({"name": "LD_PRELOAD", "value": "/x"}),
    "it ends": lambda p: named(p, "logger").pop("restartPolicy"),
    "no mount": lambda p: named(p, "logger")["volumeMounts"].clear(),
    "the volume is gone": lambda p: p["spec"]["volumes"].clear(),
    "another volume": lambda p: p["spec"]["volumes"][0].update(emptyDir={"medium": "Memory"}),
    "the app's variable is gone": lambda p: named(p, "app")["env"].clear(),
    "the app's mount is gone": lambda p: named(p, "app")["volumeMounts"].clear(),
    "a container without its part": lambda p: p["spec"]["containers"].append({"name": "late", "image": "late"}),
    "privileged": lambda p: named(p, "logger").update(securityContext={"privileged": True}),
}


@pytest.mark.parametrize("what", TAMPERED)
def test_the_guard_sees_what_was_changed_after_the_injection(what: str) -> None:
    current = snapshot("logger")
    pod = json.loads(json.dumps(inject(web(), REQUIRED, current).object))
    assert guard(pod, REQUIRED, current).reason is Reason.ALREADY_INJECTED
    TAMPERED[what](pod)
    result = guard(pod, REQUIRED, current)
    assert (result.reason, result.effect) == (Reason.NOT_INJECTED, Effect.REFUSE)
    assert guard(pod, ENABLED, current).effect is Effect.SKIP


@pytest.mark.parametrize("namespace", [ENABLED, Namespace("shop"), Namespace("kube-system", REQUIRED.labels)])
def test_the_guard_minds_required_namespaces_only(namespace: Namespace) -> None:
    result = guard(web(), namespace, snapshot("logger"))
    assert (result.effect, result.patch) == (Effect.SKIP, ())


def test_the_guard_lets_pass_what_is_exempt() -> None:
    current = snapshot("logger", exempt_selector={"matchLabels": {"app": "web"}})
    assert guard(web(), REQUIRED, current).reason is Reason.EXEMPT
    mirror = web({MIRROR_ANNOTATION: "x"})
    assert guard(mirror, REQUIRED, current).reason is Reason.MIRROR_POD


def test_pods_may_add_templates_in_required_namespaces_but_not_drop_them() -> None:
    result = inject(web({TEMPLATES: "agent"}), REQUIRED, snapshot("logger"))
    assert [name for name, _ in result.templates] == ["logger", "agent"]


def test_a_parameter_of_no_template_is_told_of(golden: Golden) -> None:
    current = snapshot("logger")
    assert inject(web({"agent.sidecar.injector/nothing": "x"}), ENABLED, current).warning_lines == ()
    pod = web({"loger.sidecar.injector/level": "debug"})
    namespace = Namespace("shop", ENABLED.labels, {"zzzzz.sidecar.injector/level": "debug"})
    warnings = inject(pod, namespace, current).warning_lines
    golden(warnings[0])
    golden(warnings[1])


def test_what_is_overridable_may_be_set_in_a_required_namespace() -> None:
    own = {"name": "logger", "resources": {"requests": {"cpu": "20m", "memory": "40Mi"}, "limits": {"memory": "50Mi"}}}
    current = snapshot("logger")
    result = inject(web(None, own), REQUIRED, current)
    assert result.reason is Reason.INJECTED, result.message
    assert named(result.object, "logger")["resources"] == own["resources"]
    assert "LOG_DIR" not in [v["name"] for v in named(result.object, "logger")["env"]]
    assert guard(result.object, REQUIRED, current).reason is Reason.ALREADY_INJECTED
    assert uninject(result.object, current.settings) == web(None, own)


def test_nothing_depends_on_the_time_of_day_or_on_what_was_asked_before() -> None:
    """The same question has the same answer, byte for byte, and from another snapshot of the same content too."""

    def answer(current: Snapshot) -> str:
        result = inject(web({TEMPLATES: "envoy,nginx"}), ENABLED, current)
        return json.dumps(
            [result.patch, result.warning_lines, [f.to_object() for f in result.files], result.generation]
        )

    first = snapshot()
    for label in ("enabled", "required"):
        inject(web(None, {"name": "x", "image": "x"}), Namespace("other", {"injection": label}), first)
    fresh = build_snapshot(Settings(), {t.name: dict(t.sources) for t in first.catalog}, first.cluster)
    assert answer(first) == answer(first) == answer(fresh)


# -------------------------------------------------------------------------------- templates without a sidecar


def sources_of(overlay: str, manifest: str = "description: Test.\n") -> dict[str, str]:
    return {"template.yaml": manifest, "overlay.yaml.j2": overlay}


def of_one(overlay: str) -> Snapshot:
    sources = {"mine": sources_of(overlay)}
    return build_snapshot(Settings(templates=("mine",)), sources, Cluster())


POLICY = '{% if "vip" in object.metadata.labels %}{{ deny("no vips") }}{% endif %}\n'
ALWAYS = """\
spec:
  containers:
  - {name: "*", imagePullPolicy: !replace Always}
  initContainers:
  - {name: "*", imagePullPolicy: !replace Always}
"""


@pytest.mark.parametrize("namespace", [ENABLED, REQUIRED])
def test_a_pod_that_passes_a_policy_stays_as_it_is(namespace: Namespace) -> None:
    current, pod = of_one(POLICY), web()
    result = inject(pod, namespace, current)
    assert (result.reason, result.effect, result.patch) == (Reason.NOTHING_TO_ADD, Effect.SKIP, ())
    assert result.object is pod
    assert [name for name, _ in result.templates] == ["mine"]
    if namespace is REQUIRED:
        assert guard(pod, REQUIRED, current).reason is Reason.NOTHING_TO_ADD
    pod["metadata"]["labels"]["vip"] = "yes"
    assert inject(pod, namespace, current).reason is Reason.DENIED
    assert namespace is ENABLED or guard(pod, REQUIRED, current).effect is Effect.REFUSE


@pytest.mark.parametrize("namespace", [ENABLED, REQUIRED])
def test_a_denial_has_the_code_that_its_template_names(namespace: Namespace) -> None:
    current, pod = of_one(POLICY.replace(")", ", code=402)")), web()
    pod["metadata"]["labels"]["vip"] = "yes"
    result = inject(pod, namespace, current)
    assert (result.reason, result.effect, result.code) == (Reason.DENIED, Effect.REFUSE, 402)
    if namespace is REQUIRED:
        assert guard(pod, REQUIRED, current).code == 402
    assert inject(pod, namespace, of_one(POLICY)).code == 403


def test_a_template_that_fails_says_where_and_with_which_value(golden: Golden) -> None:
    parameters = "parameters:\n  note: {type: string}\n  port: {type: integer, default: 80}\n"
    overlay = "spec:\n  containers:\n  - name: x\n    args: ['{{ params.note }} {{ params.port + none }}']\n"
    sources = {"mine": {"template.yaml": parameters, "overlay.yaml.j2": overlay}}
    current = build_snapshot(Settings(templates=("mine",)), sources, Cluster(), origins={"mine": "a/mine"})
    pod = web()
    pod["metadata"].setdefault("annotations", {})["mine.sidecar.injector/port"] = "81"
    failed = inject(pod, ENABLED, current)
    assert failed.reason is Reason.TEMPLATE_FAILED
    golden(failed.message)
    assert failed.mistake is not None
    golden(str(failed.mistake))
    assert failed.mistake.place == Place("overlay.yaml.j2", 4, 34, overlay.split("\n")[3])


@pytest.mark.parametrize("mark", ["failed", "injected"])
def test_a_policy_leaves_no_foreign_mark(mark: str) -> None:
    current = of_one(POLICY)
    result = inject(web({STATUS: mark}), ENABLED, current)
    assert (result.reason, marked(result)) == (Reason.INJECTED, "injected")
    assert inject(stored(result.object), ENABLED, current).reason is Reason.ALREADY_INJECTED


@pytest.mark.parametrize("namespace", [ENABLED, REQUIRED])
def test_a_pod_of_which_one_field_is_replaced(namespace: Namespace) -> None:
    current, pod = of_one(ALWAYS), web()
    pod["spec"]["containers"][0]["imagePullPolicy"] = "Never"
    pod["spec"]["initContainers"] = [
        {"name": "own-sidecar", "image": "own:1", "restartPolicy": "Always", "imagePullPolicy": "IfNotPresent"},
        {"name": "migrate", "image": "own:1"},
    ]
    result = inject(pod, namespace, current)
    assert (result.reason, marked(result)) == (Reason.INJECTED, "injected")
    spec = result.object["spec"]
    assert {c["imagePullPolicy"] for c in spec["containers"] + spec["initContainers"]} == {"Always"}
    receipt = read_receipt(result.object, current.settings)
    assert receipt is not None
    assert sorted(receipt.replaced.values()) == ["IfNotPresent", "Never"]
    again = inject(stored(result.object), namespace, current)
    assert (again.reason, again.patch) == (Reason.ALREADY_INJECTED, ())
    assert uninject(result.object, current.settings) == pod
    changed = copy.deepcopy(result.object)
    changed["spec"]["initContainers"][0]["imagePullPolicy"] = "Never"  # by a later webhook
    restored = inject(changed, namespace, current).object["spec"]
    assert {c["imagePullPolicy"] for c in restored["containers"] + restored["initContainers"]} == {"Always"}
    if namespace is REQUIRED:
        assert guard(stored(result.object), REQUIRED, current).reason is Reason.ALREADY_INJECTED
        assert guard(changed, REQUIRED, current).reason is Reason.NOT_INJECTED


def test_a_pod_that_has_every_replaced_value_already_stays_as_it_is() -> None:
    pod = web()
    for container in pod["spec"]["containers"]:
        container["imagePullPolicy"] = "Always"
    result = inject(pod, ENABLED, of_one(ALWAYS))
    assert (result.reason, result.object) == (Reason.NOTHING_TO_ADD, pod)


def test_a_clash_of_ports_names_the_annotation_that_moves_the_sidecars() -> None:
    sources = {
        "template.yaml": "description: x\nparameters:\n  health-port: {type: integer, format: port, default: 9000}\n",
        "overlay.yaml.j2": (
            "spec:\n  containers:\n  - name: side\n    image: side:1\n"
            "    ports: [{containerPort: {{ params.health_port }}}]\n"
        ),
    }
    snapshot = build_snapshot(Settings(), {"side": sources}, Cluster())
    app = {"name": "web", "image": "web:1", "ports": [{"containerPort": 9000}]}
    pod = {"metadata": {"name": "web"}, "spec": {"containers": [app]}}
    made = inject(pod, Namespace("shop", {"injection": "enabled"}, {}), snapshot, names=["side"])
    assert made.reason is Reason.CONFLICT
    assert made.failures[0].fields["parameters"] == ["side.sidecar.injector/health-port"]


@pytest.mark.parametrize("namespace", [ENABLED, REQUIRED])
def test_a_pod_of_which_the_api_server_keeps_nothing_is_not_marked_as_injected(namespace: Namespace) -> None:
    files = {"template.yaml": "description: x\n", "overlay.yaml.j2": "spec: {container: [{name: x, image: y}]}\n"}
    settings = Settings(templates=("lost",))
    lost = build_snapshot(settings, {"lost": files}, Cluster())
    injection = inject(web(), namespace, lost)
    assert injection.reason is Reason.TEMPLATE_FAILED and marked(injection) != "injected"
    assert injection.allowed is (namespace is ENABLED)
    newer = build_snapshot(settings, {"lost": files}, Cluster((NEWEST[0], NEWEST[1] + 1)))
    assert inject(web(), ENABLED, newer).reason is Reason.INJECTED  # it may keep it
    files["overlay.yaml.j2"] = "spec: {container: [], hostNetwork: false, priorityClassName: x}\n"
    some = build_snapshot(settings, {"lost": files}, Cluster())
    assert inject(web(), ENABLED, some).reason is Reason.INJECTED
