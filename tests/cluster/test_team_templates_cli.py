"""Templates of teams at the command line, with a real API server: what commands read, with whose rights."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from injector.cli.main import cli
from injector.cluster.blocking_client import ClusterError
from injector.templates.load import content_digest
from tests.cluster.api import Object
from tests.cluster.away import rule, user_with
from tests.cluster.objects import config_map, deployment, wait_until_available
from tests.cluster.processes import eventually
from tests.cluster.team import NAMED, RECEIPT, Team, container, files, images_of

#: All that a user reads with these commands but ConfigMaps.
READS = (rule("get list", "pods namespaces"), {"nonResourceURLs": ["*"], "verbs": ["get"]})
WEBHOOKS = {
    "apiGroups": ["admissionregistration.k8s.io"],
    "resources": ["mutatingwebhookconfigurations", "validatingwebhookconfigurations"],
    "verbs": ["get", "list"],
}


def run(team: Team, *args: str, kubeconfig: str = "", **more: Any) -> Result:
    of_injector = ("-n" if args[0] in ("check", "templates") else "--injector-namespace", team.injector.namespace)
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


def templates_of(team: Team, namespace: str, **more: str) -> Any:
    result = run(team, "templates", "--team", namespace, "--output", "json", **more)
    return {row["name"]: row for row in json.loads(result.stdout)["templates"]}


def checked(team: Team) -> Any:
    sections = json.loads(run(team, "check", "--output", "json").stdout)["sections"]
    return {line["check"]: line for section in sections for line in section["checks"]}


def writers_of(team: Team) -> Any:
    return checked(team)["team-template-writers"]


def reader(team: Team, *rules: Object) -> str:
    """A kubeconfig of a user who may read pods, namespaces, the injector's ConfigMaps, and what these rules say."""
    user, rbac = user_with(team.control_plane, *READS, WEBHOOKS, *rules), "rbac.authorization.k8s.io"
    subject = {"apiGroup": rbac, "kind": "Group", "name": "system:authenticated"}
    for kind, obj in (
        ("Role", {"rules": [rule("get list", "configmaps")]}),
        ("RoleBinding", {"roleRef": {"apiGroup": rbac, "kind": "Role", "name": "reader"}, "subjects": [subject]}),
    ):
        if not team.control_plane.api.exists(kind, "reader", team.injector.namespace):
            own = {"apiVersion": f"{rbac}/v1", "kind": kind, "metadata": {"name": "reader"}, **obj}
            team.control_plane.api.create(own, team.injector.namespace)
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
    again = run(team, "inject", "--from-cluster", "--reinject", manifest)
    assert yaml.safe_load(again.stdout) == made


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


def test_a_pod_that_pins_what_there_was_is_no_pod_to_restart(team: Team) -> None:
    pin = content_digest(team.apply("probe", files(container()))["data"])
    team.control_plane.api.create(deployment("web", annotations={NAMED: f"./probe@{pin}"}), team.name)
    wait_until_available(team.control_plane.api, "web", team.name)
    [row] = listed(team).values()
    assert (row["state"], row.get("why")) == ("current", None)
    team.apply("probe", files(container(image="probe:2")))
    [row] = listed(team).values()
    assert (row["state"], row.get("causes")) == ("current", None)
    assert "./probe" in row["why"]
    assert explained(team, "deploy/web", "-n", team.name)["reason"] == "template-not-allowed"


def test_a_rollout_gives_pods_the_newest(team: Team) -> None:
    team.apply("probe", files(container()))
    team.control_plane.api.create(deployment("web", annotations={NAMED: "./probe"}), team.name)
    wait_until_available(team.control_plane.api, "web", team.name)
    unread = run(team, "rollout", "-n", team.name, "--dry-run", kubeconfig=reader(team))
    team.apply("probe", files(container(image="probe:2")))
    eventually("the new one is in use", lambda: "probe:2" in images_of(team.made("./probe")))
    assert f"configmap/{team.name}/probe" in unread.stderr
    assert run(team, "rollout", "-n", team.name, "--yes").return_value == 0
    pods = [obj for obj in team.control_plane.api.list("Pod", team.name) if "deletionTimestamp" not in obj["metadata"]]
    assert ["probe:2" in images_of(obj) for obj in pods] == [True]
    assert {row["state"] for row in listed(team).values()} == {"current"}


def test_the_templates_of_a_namespace(team: Team) -> None:
    api = team.control_plane.api
    made = team.apply("probe", files(container()))
    team.apply("other", files(container(name="other")))
    api.create(config_map("mine", {"a": "b"}), team.name)
    rows = templates_of(team, team.name)
    assert {name: row["state"] for name, row in rows.items()} == {"./probe": "current", "./other": "current"}
    row = rows["./probe"]
    assert row["pin"] == content_digest(made["data"])
    assert row["source"] == f"configmap/{team.name}/probe"
    assert row["namespaces"] == [team.name]
    assert "probe:1" in images_of(team.made(f"./probe@{row['pin'][:32]}"))
    receipt = json.loads(team.made("./probe")["metadata"]["annotations"][RECEIPT])
    assert receipt["templates"] == {"./probe": row["version"]}
    break_template(team)
    row = templates_of(team, team.name)["./probe"]
    assert (row["state"], row["code"]) == ("refused", "syntax")
    with pytest.raises(ClusterError):
        templates_of(team, "default")
    with pytest.raises(ClusterError) as error:
        templates_of(team, team.name, kubeconfig=reader(team))
    assert error.value.no_permission


def test_the_check_names_who_writes_templates(team: Team) -> None:
    api, rbac = team.control_plane.api, "rbac.authorization.k8s.io"
    before = writers_of(team)
    assert f"ServiceAccount/{team.name}/default in {team.name}" in before["data"]["others"]
    assert not [each for each in before["data"]["everywhere"] if team.injector.namespace in each or "system:" in each]
    user = Path(user_with(team.control_plane, rule("patch", "configmaps"))).stem
    subject = {"apiGroup": rbac, "kind": "Group", "name": "scribes"}
    writing = {"rules": [rule("update", "configmaps")]}
    api.create({"apiVersion": f"{rbac}/v1", "kind": "Role", "metadata": {"name": "scribe"}, **writing}, team.name)
    reference = {"apiGroup": rbac, "kind": "Role", "name": "scribe"}
    binding = {"kind": "RoleBinding", "metadata": {"name": "scribe"}, "roleRef": reference, "subjects": [subject]}
    api.create({"apiVersion": f"{rbac}/v1", **binding}, team.name)
    api.create({"apiVersion": f"{rbac}/v1", **binding, "subjects": [{**subject, "name": "elsewhere"}]}, "default")
    after = writers_of(team)
    assert after["result"] == "warning"
    assert after["toDo"]
    lacking = {*after["data"]["withoutPods"]} - {*before["data"].get("withoutPods", ())}
    assert len(lacking) == 2
    assert f"Group/scribes in {team.name}" in lacking
    assert any(each.startswith("User/") and user.endswith(each.removeprefix("User/")) for each in lacking)
    assert f"ServiceAccount/{team.name}/default in {team.name}" not in after["data"]["withoutPods"]
    api.delete("RoleBinding", "scribe", "default")


def test_the_check_knows_the_entry_and_the_permission(team: Team) -> None:
    api, name = team.control_plane.api, team.injector.at.name
    lines = checked(team)
    assert lines["entry team-sources"]["result"] == lines["permission teams' templates"]["result"] == "good"
    for kind in ("ValidatingWebhookConfiguration", "ClusterRole"):
        obj = api.get(kind, name)
        field = "webhooks" if kind != "ClusterRole" else "rules"
        obj[field] = [each for each in obj[field] if not _of_teams(each)]
        api.replace(obj)
    lines = checked(team)
    for kind in ("ValidatingWebhookConfiguration", "ClusterRole"):
        team.injector.put_right(kind)
    assert lines["entry team-sources"]["result"] == lines["permission teams' templates"]["result"] == "warning"


def _of_teams(part: Object) -> bool:
    """Whether a webhook entry or a rule is there for templates of teams alone."""
    return "team-sources" in part.get("name", "") or (
        part.get("resources") == ["configmaps"] and "list" in part["verbs"]
    )
