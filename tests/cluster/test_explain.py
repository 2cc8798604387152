"""`injector explain` of what lives in a real cluster: with its settings, templates, webhooks and ages."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from injector.cli.main import cli
from injector.cluster.installation import NOTHING
from tests import command
from tests.authoring.pages import blocks
from tests.cluster.away import user_with
from tests.cluster.conftest import NamespaceFactory
from tests.cluster.controlplane import ControlPlane
from tests.cluster.objects import config_map, deployment, pod, wait_until_available, webhook, webhook_configuration
from tests.command import ROOT

OURS = {"app.kubernetes.io/name": "sidecar-injector"}
TEMPLATE = {
    "template.yaml": "description: Ships logs.\n",
    "overlay.yaml.j2": "spec: {containers: [{name: logger, image: 'logger:1'}]}\n",
}


@pytest.fixture
def installed(control_plane: ControlPlane, namespace: NamespaceFactory) -> Iterator[str]:
    """An injector's namespace with settings, a template and a webhook that asks for a label."""
    ns = namespace()
    api = control_plane.api
    api.create(config_map("settings", {"settings.yaml": "templates: [logger]\n"}, labels=OURS), ns)
    api.create(config_map("logger", TEMPLATE, labels={"sidecar.injector/template": "true"}), ns)
    entry = webhook("pods.injector.example", {"service": {"namespace": ns, "name": "injector"}}, namespace="nowhere")
    entry["namespaceSelector"] = {"matchLabels": {"injection": "enabled"}}
    entry["failurePolicy"] = "Ignore"
    configuration = webhook_configuration("explained", entry)
    configuration["metadata"]["labels"] = OURS
    api.create(configuration)
    yield ns
    api.delete(configuration["kind"], "explained")


def explained(control_plane: ControlPlane, *args: str) -> Any:
    command = ["explain", "--kubeconfig", str(control_plane.kubeconfig), "--output", "json", *args]
    result = CliRunner().invoke(cli, command, standalone_mode=False)
    if result.exception is not None:
        raise result.exception
    return json.loads(result.stdout)[0]


def test_a_pod_that_is_older_than_its_namespace_s_label(
    control_plane: ControlPlane, namespace: NamespaceFactory, installed: str
) -> None:
    ns = namespace()
    control_plane.api.create(pod("old"), ns)
    before = explained(control_plane, "pod/old", "-n", ns)
    assert before["reason"] == "not-requested"
    assert any("pods.injector.example: not called" in note and ns in note for note in before["notes"])
    time.sleep(1.1)  # times of the API have whole seconds
    control_plane.api.patch("Namespace", ns, {"metadata": {"labels": {"injection": "enabled"}}})
    after = explained(control_plane, "pod/old", "-n", ns)
    assert (after["reason"], after["namespace"]) == ("injected", ns)
    assert [t["name"] for t in after["templates"]] == ["logger"]
    notes = " | ".join(after["notes"])
    assert "pods.injector.example: called; failurePolicy: Ignore" in notes
    assert after["pod"]["state"] == "missing"
    assert [cause["code"] for cause in after["pod"]["causes"]] == ["namespace-later"]


def test_what_a_pod_has_comes_first(
    control_plane: ControlPlane, namespace: NamespaceFactory, installed: str, tmp_path: Path
) -> None:
    """Of a pod that nobody injected, as nothing listens at the webhook's Service; and of one that has its sidecar."""
    api, ns = control_plane.api, namespace(labels={"injection": "enabled"})
    time.sleep(1.1)
    for name in ("alone", "other"):
        api.create(pod(name), ns)
    api.create(deployment("web", 2), ns)
    wait_until_available(api, "web", ns)
    (tmp_path / "templates" / "logger").mkdir(parents=True)
    for name, text in TEMPLATE.items():
        (tmp_path / "templates" / "logger" / name).write_text(text)
    (tmp_path / "own.yaml").write_text(yaml.safe_dump(pod("own")))
    own = ("--templates-dir", tmp_path / "templates", "--templates", "logger", tmp_path / "own.yaml")
    api.create(yaml.safe_load(command.run("inject", *own).out), ns)
    asked = ("--kubeconfig", control_plane.kubeconfig, "-n", ns, "--output", "json")

    done = command.run("explain", "pod/alone", *asked)
    [found] = json.loads(done.out)
    assert (done.code, found["reason"], found["called"]) == (1, "injected", True)
    assert (found["pod"]["state"], found["pod"]["sidecars"]) == ("missing", [])
    assert [cause["code"] for cause in found["pod"]["causes"]] == ["injector-not-called"]
    assert len(found["toDo"]) == 1 and "kubectl" not in found["toDo"][0]

    done = command.run("explain", "deploy/web", *asked)
    [found] = json.loads(done.out)
    assert (done.code, found["pods"]) == (1, {"missing": 2})
    assert found["toDo"][0].startswith(f"kubectl rollout restart deployment/web -n {ns}")

    done = command.run("explain", "pod/own", *asked)
    [found] = json.loads(done.out)
    assert (done.code, found["pod"]["state"]) == (0, "current")
    assert found["pod"]["sidecars"] == [{"name": "logger", "image": "logger:1"}]
    control_plane.kubectl("set", "image", "pod/own", "logger=logger:9", "-n", ns)
    [found] = json.loads(command.run("explain", "pod/own", *asked).out)
    assert (found["pod"]["state"], found["pod"]["causes"][0]["by"]) == ("changed", "kubectl-set")

    kind = "MutatingWebhookConfiguration"
    [entry] = api.get(kind, "explained")["webhooks"]
    api.patch(kind, "explained", {"webhooks": [{**entry, "objectSelector": NOTHING}]})
    [found] = json.loads(command.run("explain", "deploy/web", *asked).out)
    assert (found["reason"], found["called"]) == ("injected", False)


def test_a_pod_of_the_injectors_own_namespace_is_left_alone(control_plane: ControlPlane, installed: str) -> None:
    control_plane.api.create(pod("injector", annotations={"sidecar.injector/inject": "yes"}), installed)
    assert explained(control_plane, "pod/injector", "-n", installed)["reason"] == "namespace-ignored"


def test_a_deployment_s_pod_template_and_an_annotation_out_of_place(
    control_plane: ControlPlane, namespace: NamespaceFactory, installed: str
) -> None:
    ns = namespace(labels={"injection": "enabled"})
    obj = deployment("web")
    obj["metadata"]["annotations"] = {"sidecar.injector/inject": "false"}
    control_plane.api.create(obj, ns)
    found = explained(control_plane, "deploy/web", "-n", ns)
    assert (found["object"], found["reason"]) == ("deployment/web", "injected")
    assert any("deployment/web" in note for note in found["notes"])


def test_a_wrong_template_is_noted_and_no_end_of_the_explanation(
    control_plane: ControlPlane, namespace: NamespaceFactory, installed: str
) -> None:
    ns = namespace(labels={"injection": "enabled"})
    control_plane.api.create(deployment("web"), ns)
    broken = {**TEMPLATE, "overlay.yaml.j2": "spec: {{ params.nothing }}\n"}
    labels = {"sidecar.injector/template": "true"}
    control_plane.api.create(config_map("broken", broken, labels=labels), installed)
    found = explained(control_plane, "deployment.apps/web", "-n", ns)
    assert found["reason"] == "injected"
    broken_at = f"configmap/{installed}/broken/overlay.yaml.j2:1:17: error: "
    assert any(broken_at in note for note in found["notes"]), found["notes"]


def test_without_an_injector_the_shipped_templates_count_and_that_is_said(
    control_plane: ControlPlane, namespace: NamespaceFactory
) -> None:
    ns = namespace(labels={"injection": "enabled"})
    control_plane.api.create(pod("one"), ns)
    found = explained(control_plane, "pod/one", "-n", ns)
    assert [t["name"] for t in found["templates"]] == ["envoy"]
    notes = " | ".join(found["notes"])
    assert len(found["notes"]) >= 2 and "webhook" in notes


def test_the_rights_of_the_page_are_enough_to_ask_a_cluster(
    control_plane: ControlPlane, namespace: NamespaceFactory, installed: str, tmp_path: Path
) -> None:
    [block] = [b.text for b in blocks((ROOT / "docs/getting.md").read_text()) if "ClusterRole" in b.text]
    rules = [rule for role in yaml.safe_load_all(block) for rule in role["rules"]]
    ns = namespace(labels={"injection": "enabled"})
    file = tmp_path / "web.yaml"
    file.write_text(yaml.safe_dump(pod("web")))
    asked = ("--from-cluster", "--kubeconfig", user_with(control_plane, *rules), "--namespace")
    done = command.run("inject", file, *asked, ns)
    assert (done.code, "name: logger" in done.out) == (0, True), done.err
    assert command.run("inject", file, *asked, namespace()).out == file.read_text()  # a namespace without the label
    assert command.run("inject", file, *asked, "not-there").code == 1
    [refused, *_] = [rules[:at] + rules[at + 1 :] for at in range(len(rules))]
    assert command.run("inject", file, *asked[:2], user_with(control_plane, *refused), "--namespace", ns).code == 1


def test_a_sidecar_that_keeps_its_pod_from_running(
    control_plane: ControlPlane, namespace: NamespaceFactory, installed: str, tmp_path: Path
) -> None:
    file = tmp_path / "pod.yaml"
    file.write_text(yaml.safe_dump(pod("web", nodeName=None)))  # on no node, so that nothing else writes its status
    made = yaml.safe_load(command.run("inject", "--templates", "envoy", file).out)
    ns = namespace()
    uid = control_plane.api.create(made, ns)["metadata"]["uid"]
    waiting = {"reason": "CrashLoopBackOff", "message": "back-off 40s restarting failed container=envoy-sidecar"}
    ended = {"exitCode": 137, "reason": "OOMKilled", "containerID": "containerd://1"}
    container = {"name": "envoy-sidecar", "image": "x", "imageID": "", "ready": False, "restartCount": 3}
    states = {"state": {"waiting": waiting}, "lastState": {"terminated": ended}}
    body = {"status": {"phase": "Pending", "initContainerStatuses": [{**container, **states}]}}
    at = f"/api/v1/namespaces/{ns}/pods/web/status"
    control_plane.api.call("PATCH", at, body, "application/merge-patch+json")
    about = {"kind": "Pod", "namespace": ns, "name": "web", "uid": uid, "apiVersion": "v1"}
    for number, (kind, reason) in enumerate((("Warning", "FailedPostStartHook"), ("Normal", "Pulled"))):
        event = {"type": kind, "reason": reason, "message": "x", "involvedObject": about}
        control_plane.api.create({"apiVersion": "v1", "kind": "Event", "metadata": {"name": f"e{number}"}, **event}, ns)
    asked = ("explain", "pod/web", "-n", ns, "--output", "json", "--kubeconfig")
    done = command.run(*asked, control_plane.kubeconfig)
    [found] = json.loads(done.out)
    [problem] = found["unready"]
    assert (done.code, problem["container"], problem["reason"]) == (1, "envoy-sidecar", "CrashLoopBackOff")
    assert (problem["lastReason"], problem["exitCode"], problem["restarts"]) == ("OOMKilled", 137, 3)
    assert [note for note in found["notes"] if "FailedPostStartHook" in note]
    assert not [note for note in found["notes"] if "Pulled" in note]
    rules = [{"apiGroups": ["*"], "resources": ["pods", "namespaces", "configmaps"], "verbs": ["get", "list"]}]
    [found] = json.loads(command.run(*asked, user_with(control_plane, *rules)).out)
    assert [problem["container"] for problem in found["unready"]] == ["envoy-sidecar"]
