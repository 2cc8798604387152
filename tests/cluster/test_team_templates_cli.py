"""Templates of teams at the command line, with a real API server: what commands read, with whose rights."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from injector.cli.main import cli
from tests.cluster.api import Object
from tests.cluster.away import rule, user_with
from tests.cluster.objects import deployment, wait_until_available
from tests.cluster.processes import eventually
from tests.cluster.test_team_templates import NAMED, RECEIPT, Team, container, files, images_of, team

__all__ = ["team"]
#: All that a user reads with these commands but ConfigMaps.
READS = (rule("get list", "pods namespaces"), {"nonResourceURLs": ["*"], "verbs": ["get"]})
WEBHOOKS = {
    "apiGroups": ["admissionregistration.k8s.io"],
    "resources": ["mutatingwebhookconfigurations", "validatingwebhookconfigurations"],
    "verbs": ["get", "list"],
}


def run(team: Team, *args: str, kubeconfig: str = "", **more: Any) -> Result:
    of_injector = ("-n" if args[0] == "check" else "--injector-namespace", team.installed.namespace)
    command = [*args, *of_injector, "--kubeconfig", kubeconfig or str(team.control_plane.kubeconfig)]
    result = CliRunner().invoke(cli, command, standalone_mode=False, **more)
    if result.exception is not None:
        raise result.exception
    return result


def listed(team: Team, *args: str, **more: str) -> Any:
    data = json.loads(run(team, "list", "-n", team.name, "--output", "json", *args, **more).stdout)
    return {row["pod"]: row for row in data["pods"]}


def explained(team: Team, *args: str, **more: str) -> Any:
    [data] = json.loads(run(team, "explain", "--output", "json", *args, **more).stdout)
    return data


def reader(team: Team, *rules: Object) -> str:
    """A kubeconfig of a user who may read pods, namespaces, the injector's ConfigMaps, and what these rules say."""
    user, rbac = user_with(team.control_plane, *READS, WEBHOOKS, *rules), "rbac.authorization.k8s.io"
    subject = {"apiGroup": rbac, "kind": "Group", "name": "system:authenticated"}
    for kind, obj in (
        ("Role", {"rules": [rule("get list", "configmaps")]}),
        ("RoleBinding", {"roleRef": {"apiGroup": rbac, "kind": "Role", "name": "reader"}, "subjects": [subject]}),
    ):
        if not team.control_plane.api.exists(kind, "reader", team.installed.namespace):
            own = {"apiVersion": f"{rbac}/v1", "kind": kind, "metadata": {"name": "reader"}, **obj}
            team.control_plane.api.create(own, team.installed.namespace)
    return user


def break_template(team: Team) -> None:
    """Write what the webhook would refuse, as somebody may whom it does not look at."""
    overlay = {"overlay.yaml.j2": "spec: {containers: [{% endif %}]}"}
    unchecked = {"metadata": {"annotations": {"sidecar.injector/unchecked": "true"}}, "data": overlay}
    team.control_plane.api.patch("ConfigMap", "probe", unchecked, team.name)


@pytest.fixture
def manifest(team: Team, tmp_path: Path) -> str:
    """A manifest of a pod that names a template of its team."""
    file = tmp_path / "pod.yaml"
    obj = team.pod("./probe")
    obj["metadata"]["namespace"] = team.name
    file.write_text(yaml.safe_dump(obj))
    return str(file)


def test_a_manifest_is_injected_as_the_webhook_would(team: Team, manifest: str) -> None:
    team.apply("probe", files(container()))
    result = run(team, "inject", "--from-cluster", manifest)
    made, by_webhook = yaml.safe_load(result.stdout), team.made("./probe")
    assert images_of(made) == images_of(by_webhook)
    receipts = [json.loads(each["metadata"]["annotations"][RECEIPT]) for each in (made, by_webhook)]
    assert receipts[0]["templates"] == receipts[1]["templates"]
    assert receipts[0]["generation"] == receipts[1]["generation"]
    Path(manifest).write_text(result.stdout)
    assert run(team, "inject", "--from-cluster", manifest).stdout == result.stdout, "twice is once"


def test_what_explains_a_manifest_and_what_lives(team: Team, manifest: str) -> None:
    api, offline = team.control_plane.api, explained(team, "--from-cluster", manifest)
    assert offline["reason"] == "unknown-template"
    team.apply("probe", files(container()))
    api.create(deployment("web", annotations={NAMED: "./probe"}), team.name)
    wait_until_available(api, "web", team.name)
    [name] = listed(team)
    for args in (["--from-cluster", manifest], ["deploy/web", "-n", team.name]):
        data = explained(team, *args)
        assert data["reason"] == "injected"
        assert [each["name"] for each in data["templates"]] == ["./probe"]
    assert explained(team, f"pod/{name}", "-n", team.name)["reason"] == "already-injected"
    blind = reader(team, {"apiGroups": ["apps"], "resources": ["deployments"], "verbs": ["get"]})
    for args in (["--from-cluster", manifest], ["deploy/web", "-n", team.name]):
        data = explained(team, *args, kubeconfig=blind)
        assert data["reason"] == "template-failed"
        assert "forbidden" in data["message"]
    break_template(team)
    assert explained(team, "deploy/web", "-n", team.name)["reason"] == "template-failed"


def test_a_pod_is_current_until_its_config_map_changes(team: Team) -> None:
    team.apply("probe", files(container()))
    team.control_plane.api.create(deployment("web", annotations={NAMED: "./probe"}), team.name)
    wait_until_available(team.control_plane.api, "web", team.name)
    [row] = listed(team).values()
    assert (row["state"], list(row["templates"]), row.get("why")) == ("current", ["./probe"], None)
    blind = reader(team)
    [unread] = listed(team, kubeconfig=blind).values()
    assert unread["state"] == "current"
    assert "forbidden" in unread["why"]
    team.apply("probe", files(container(image="probe:2")))
    [row] = listed(team).values()
    assert (row["state"], row["causes"]) == ("outdated", [{"code": "template-changed", "template": "./probe"}])
    [unread] = listed(team, kubeconfig=blind).values()
    assert unread["state"] == "current"
    break_template(team)
    [row] = listed(team).values()
    assert (row["state"], row.get("causes")) == ("current", None)
    assert "[syntax]" in row["why"]
    team.author.delete("ConfigMap", "probe", team.name)
    [row] = listed(team).values()
    assert row["causes"] == [{"code": "template-gone", "template": "./probe"}]


def test_a_rollout_gives_pods_the_newest(team: Team) -> None:
    team.apply("probe", files(container()))
    team.control_plane.api.create(deployment("web", annotations={NAMED: "./probe"}), team.name)
    wait_until_available(team.control_plane.api, "web", team.name)
    told = run(team, "rollout", "-n", team.name, "--dry-run", kubeconfig=reader(team))
    team.apply("probe", files(container(image="probe:2")))
    eventually("the new one is in use", lambda: "probe:2" in images_of(team.made("./probe")))
    assert "./probe" in told.stdout + told.stderr
    assert run(team, "rollout", "-n", team.name, "--yes").return_value == 0
    pods = [obj for obj in team.control_plane.api.list("Pod", team.name) if "deletionTimestamp" not in obj["metadata"]]
    assert ["probe:2" in images_of(obj) for obj in pods] == [True]
    assert {row["state"] for row in listed(team).values()} == {"current"}
