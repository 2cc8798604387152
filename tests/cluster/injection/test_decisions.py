"""Which pods are injected, as a real API server asks; and what people are told of it."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from tests import command
from tests.cluster.conftest import ConfigureWebhooks, NamespaceFactory
from tests.cluster.controlplane import ControlPlane
from tests.cluster.injection.conftest import HOME
from tests.cluster.injection.installation import (
    ASKED,
    ELSEWHERE,
    INJECT,
    LABELLED,
    REASON,
    STATUS,
    TEMPLATES,
    Log,
    generated,
    names,
    notes,
    says,
)
from tests.cluster.objects import deployment, pod, wait_until_available, webhook
from tests.cluster.processes import eventually
from tests.cluster.server import InjectorServer

Everything = Callable[..., None]
NO = ("no", "NO", "False", "Off", "n", "DISABLED")


def _audited(control_plane: ControlPlane, namespace: str, name: str, webhook: str = LABELLED) -> dict[str, str]:
    """The audit annotations that the injector's webhook left for a pod, by their short names."""

    def annotated() -> dict[str, str]:
        for event in control_plane.audit_events(namespace):
            if (
                event["objectRef"].get("name") == name
                or event.get("requestObject", {}).get("metadata", {}).get("name") == name
            ):
                found = event.get("annotations", {})
                mine = {k.partition("/")[2]: v for k, v in found.items() if k.startswith(f"{webhook}/")}
                if mine:
                    return mine
        return {}

    return eventually(f"the audit log tells of {name}", annotated)


# ------------------------------------------------------------ the pod's own word


@pytest.mark.parametrize("where", ["annotations", "labels"])
def test_a_pod_says_no_in_any_case(where: str, control_plane: ControlPlane, enabled: str, log: Log) -> None:
    for number, value in enumerate(NO):
        wanted = pod(f"pod-{number}", **{where: {INJECT: value}})
        made = control_plane.api.create(wanted, enabled)
        assert names(made, "initContainers") == []
        assert notes(made) == wanted["metadata"]["annotations"]
        assert log.reason(enabled, f"pod-{number}") == "pod-opted-out"


def test_any_no_beats_any_yes(control_plane: ControlPlane, enabled: str) -> None:
    made = control_plane.api.create(pod("both", labels={INJECT: "no"}, annotations={INJECT: "yes"}), enabled)
    assert names(made, "initContainers") == []


@pytest.mark.parametrize("where", ["annotations", "labels"])
def test_a_yes_works_from_a_namespace_without_a_label(
    where: str, control_plane: ControlPlane, injector: InjectorServer, namespace: NamespaceFactory, log: Log
) -> None:
    ns, api = namespace(annotations={TEMPLATES: "proxy"}), control_plane.api
    before = control_plane.webhook_calls(ASKED)
    for value in ("maybe", "no", ""):
        assert names(api.create(pod("app", **{where: {INJECT: value}}), ns, dry_run=True), "initContainers") == []
    assert control_plane.webhook_calls(ASKED) == before, "its matchConditions spare the call"
    made = api.create(pod("app", **{where: {INJECT: "YES"}}), ns)
    assert names(made, "initContainers") == ["proxy"]
    assert log.reason(ns, "app") == "injected"


def test_opted_out_pods_cost_no_call_with_match_conditions(
    control_plane: ControlPlane,
    injector: InjectorServer,
    namespace: NamespaceFactory,
    configure_webhooks: ConfigureWebhooks,
) -> None:
    ns = namespace(labels={"injection": "enabled", ELSEWHERE: ""}, annotations={TEMPLATES: "proxy"})
    name, api = "spared.injector.example", control_plane.api
    unless = {"name": "says-no", "expression": f"!({says(['false', 'no', 'n', 'off', 'disabled'])})"}
    configure_webhooks(webhook(name, injector.client_config(), ns, matchConditions=[unless]))
    before = control_plane.webhook_calls(name)
    for value in NO:
        api.create(pod("app", annotations={INJECT: value}), ns, dry_run=True)
    assert control_plane.webhook_calls(name) == before
    assert names(api.create(pod("app", annotations={INJECT: "yes"}), ns), "initContainers") == ["proxy"]
    assert control_plane.webhook_calls(name) == before + 1


# ------------------------------------------------------------ pods that are left alone


def test_host_network(control_plane: ControlPlane, enabled: str, log: Log) -> None:
    made = control_plane.api.create(pod("node-agent", hostNetwork=True), enabled)
    (warning,) = control_plane.api.warnings
    assert "hostNetwork" in warning
    assert names(made, "initContainers") == []
    assert notes(made) == {}
    assert log.reason(enabled, "node-agent") == "host-network"
    assert _audited(control_plane, enabled, "node-agent")["reason"] == "host-network"


@pytest.fixture
def everything(
    control_plane: ControlPlane, injector: InjectorServer, configure_webhooks: ConfigureWebhooks
) -> Everything:
    """Has the injector called for every pod of some namespaces, whatever their label: nothing is left to selectors."""

    def call(*namespaces: str) -> None:
        these = {"key": "kubernetes.io/metadata.name", "operator": "In", "values": list(namespaces)}
        entry = webhook(f"everything.in-{namespaces[0]}.test", injector.client_config())
        entry["namespaceSelector"] = {"matchExpressions": [these]}
        # a yes needs no second look at the namespace, so the probe leaves nothing behind
        configure_webhooks(entry)

    return call


def test_a_namespace_that_is_disabled(
    control_plane: ControlPlane, namespace: NamespaceFactory, everything: Everything, log: Log
) -> None:
    ns = namespace(labels={"injection": "disabled"})
    everything(ns)
    made = control_plane.api.create(pod("app", annotations={INJECT: "yes"}), ns)
    assert names(made, "initContainers") == []
    assert log.reason(ns, "app") == "namespace-disabled"


def test_kube_system_never(control_plane: ControlPlane, everything: Everything, log: Log) -> None:
    api, ns = control_plane.api, "kube-system"
    control_plane.wait_for_default_account(ns)
    everything(ns)
    try:
        for label in ("enabled", "required"):
            api.patch("Namespace", ns, {"metadata": {"labels": {"injection": label}}})
            made = api.create(pod(f"dns-{label}", annotations={INJECT: "yes"}), ns)
            assert names(made, "initContainers") == []
            assert log.reason(ns, f"dns-{label}") == "namespace-ignored"
            api.delete("Pod", f"dns-{label}", ns)
    finally:
        api.patch("Namespace", ns, {"metadata": {"labels": {"injection": None}}})


def test_its_own_namespace_never(control_plane: ControlPlane, everything: Everything, log: Log) -> None:
    everything(HOME)
    made = control_plane.api.create(pod("injector-1", annotations={INJECT: "yes"}), HOME)
    assert names(made, "initContainers") == []
    assert log.reason(HOME, "injector-1") == "namespace-ignored"


def test_mirror_pods(control_plane: ControlPlane, enabled: str, required: str, log: Log) -> None:
    for ns in (enabled, required):
        static = pod("static-node-0", annotations={"kubernetes.io/config.mirror": "0123456789abcdef"})
        static["spec"] |= {"automountServiceAccountToken": False, "enableServiceLinks": False}
        made = control_plane.api.create(static, ns)
        assert names(made, "initContainers") == []
        assert STATUS not in notes(made)
        assert log.reason(ns, "static-node-0") == "mirror-pod"


# ------------------------------------------------------------ a namespace's label, a moment ago


def test_a_namespace_labelled_a_moment_ago(
    control_plane: ControlPlane, namespace: NamespaceFactory, everything: Everything
) -> None:
    """The API server calls at once; the injector's own view of namespaces may be older, and must not decide."""
    api = control_plane.api
    fresh = [namespace(annotations={TEMPLATES: "proxy"}) for _ in range(12)]
    everything(*fresh)
    for ns in fresh:
        api.patch("Namespace", ns, {"metadata": {"labels": {"injection": "enabled"}}})
        assert names(api.create(pod("at-once"), ns), "initContainers") == ["proxy"]


def test_a_namespace_made_a_moment_ago(
    control_plane: ControlPlane, injector: InjectorServer, namespace: NamespaceFactory
) -> None:
    for _ in range(5):
        ns = namespace(labels={"injection": "enabled"}, annotations={TEMPLATES: "proxy"})
        assert names(control_plane.api.create(pod("first"), ns), "initContainers") == ["proxy"]


# ------------------------------------------------------------ manifests that the command line has injected


def _cli(*arguments: str, stdin: str) -> str:
    done = command.run(*arguments, stdin=stdin, timeout=60)
    assert done.code == 0, done.err
    return done.out


@pytest.mark.parametrize("label", ["enabled", "required"])
def test_a_pod_that_the_command_line_has_injected(
    label: str, control_plane: ControlPlane, injector: InjectorServer, namespace: NamespaceFactory, log: Log
) -> None:
    ns = namespace(labels={"injection": label}, annotations={TEMPLATES: "proxy"})
    folder = str(injector.templates_dir)
    manifest = json.dumps(pod("app", annotations={"note": "mine"}))
    injected = _cli("inject", "--templates-dir", folder, "--templates", "proxy", "-n", ns, "-", stdin=manifest)
    said = control_plane.kubectl("apply", "-n", ns, "-f-", stdin=injected)
    made = control_plane.api.get("Pod", "app", ns)
    assert names(made, "initContainers") == ["proxy"]
    assert log.reason(ns, "app") == "already-injected"
    assert "Warning" not in said.stderr
    assert generated(control_plane, ns) == []


@pytest.mark.parametrize("label", ["enabled", "required"])
def test_a_deployment_that_the_command_line_has_injected(
    label: str, control_plane: ControlPlane, injector: InjectorServer, namespace: NamespaceFactory, log: Log
) -> None:
    ns, api = namespace(labels={"injection": label}, annotations={TEMPLATES: "proxy"}), control_plane.api
    folder = str(injector.templates_dir)
    manifest = json.dumps(deployment("web", 2))
    injected = _cli("inject", "--templates-dir", folder, "--templates", "proxy", "-n", ns, "-", stdin=manifest)
    control_plane.kubectl("apply", "-n", ns, "-f-", stdin=injected)
    pods = wait_until_available(api, "web", ns)
    assert [names(each, "initContainers") for each in pods] == [["proxy"]] * 2
    volumes = [v for each in pods for v in each["spec"]["volumes"] if v["name"] == "proxy-config"]
    there = {files["metadata"]["name"] for files in generated(control_plane, ns)}
    assert {volume["configMap"]["name"] for volume in volumes} <= there


# ------------------------------------------------------------ what people are told


def test_warnings_reach_kubectl(control_plane: ControlPlane, enabled: str) -> None:
    asked = pod("app", annotations={"proxy.sidecar.injector/prot": "80", INJECT: "perhaps"})
    said = control_plane.kubectl("apply", "-n", enabled, "-f-", stdin=json.dumps(asked)).stderr
    assert "Warning:" in said
    assert "proxy.sidecar.injector/prot" in said
    assert INJECT in said


def test_audit_annotations(control_plane: ControlPlane, enabled: str, log: Log) -> None:
    control_plane.api.create(pod("app"), enabled)
    told = _audited(control_plane, enabled, "app")
    assert log.reason(enabled, "app") == told["reason"] == "injected"
    assert told["templates"].startswith("proxy@")
    assert told["generation"] == log.reviews(enabled)[-1]["generation"]


def test_a_value_that_is_not_allowed_starts_the_pod_without(control_plane: ControlPlane, enabled: str) -> None:
    made = control_plane.api.create(pod("app", annotations={"proxy.sidecar.injector/port": "high"}), enabled)
    assert names(made, "initContainers") == []
    assert notes(made)[STATUS] == "failed"
    assert notes(made)[REASON].startswith("bad-parameter: ")
    (warning,) = control_plane.api.warnings
    assert "bad-parameter" in warning


def test_an_unknown_template_starts_the_pod_without(control_plane: ControlPlane, enabled: str) -> None:
    made = control_plane.api.create(pod("app", annotations={TEMPLATES: "prxy"}), enabled)
    assert notes(made)[STATUS] == "failed"
    assert notes(made)[REASON].startswith("unknown-template: ")
