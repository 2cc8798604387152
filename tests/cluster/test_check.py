"""`injector check` of a real cluster: all good, then one thing after the other broken."""

from __future__ import annotations

import base64
import json
import re
import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from injector.cli.checks import api_server
from injector.cli.checks.check_context import CheckContext
from injector.cli.checks.check_report import look
from injector.cli.checks.granted_permissions import SECTION
from injector.cli.main import cli
from injector.cluster.blocking_client import BlockingClient
from injector.cluster.permissions import Permission, permissions
from injector.cluster.rollout.lease_brake import STOPPED_KEY
from injector.cluster.update_policy import update_policy
from injector.diagnostics import Diagnostic
from injector.settings import Settings
from tests.cluster.api import Object
from tests.cluster.away import rule, user_with
from tests.cluster.certificates import Authority
from tests.cluster.conftest import NamespaceFactory
from tests.cluster.controlplane import ControlPlane
from tests.cluster.installed import OURS, Installed
from tests.cluster.objects import config_map, webhook, webhook_configuration
from tests.cluster.processes import eventually
from tests.cluster.room import unlabel_namespaces
from tests.cluster.server import INJECTOR, PROJECT
from tests.messages import Golden
from tests.silence import Switch, wordless

READS_WEBHOOKS: Object = {
    "apiGroups": ["admissionregistration.k8s.io"],
    "resources": ["mutatingwebhookconfigurations", "validatingwebhookconfigurations"],
    "verbs": ["get", "list"],
}


MARK, UNCHECKED = {"sidecar.injector/template": "true"}, {"sidecar.injector/unchecked": "true"}


@pytest.fixture(scope="module")
def installed(control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installed]:
    made = Installed(control_plane, tmp_path_factory.mktemp("installed"))
    try:
        made.install()
        yield made
    finally:
        made.remove()


def checked(control_plane: ControlPlane, *args: str) -> tuple[int, list[dict[str, Any]]]:
    """Exit code and all lines."""
    command = ["check", "--kubeconfig", str(control_plane.kubeconfig), "--output", "json", *args]
    result = CliRunner().invoke(cli, command, standalone_mode=False)
    if result.exception is not None:
        raise result.exception
    data = json.loads(result.stdout)
    assert data["success"] is (result.return_value == 0)
    return result.return_value, [line for section in data["sections"] for line in section["checks"]]


def test_a_good_installation(control_plane: ControlPlane, namespace: NamespaceFactory, installed: Installed) -> None:
    namespace(labels={"injection": "enabled"})
    namespace(labels={"injection": "required"})
    code, lines = checked(control_plane)
    assert [line for line in lines if line["result"] != "good"] == []
    assert code == 0


def test_a_kubernetes_that_came_later(control_plane: ControlPlane, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api_server, "NEWEST", (1, control_plane.minor - 1))
    with BlockingClient(str(control_plane.kubeconfig)) as live:
        [(_, verdicts)] = look(CheckContext(live), [api_server.SECTION])
    assert [verdict.code for verdict in verdicts if verdict.severity == "warning"] == ["version"]


def failing(control_plane: ControlPlane, *args: str) -> list[str]:
    """The checks that failed, each of which says what to do."""
    code, lines = checked(control_plane, *args)
    failed = [line for line in lines if line["result"] == "failed"]
    assert code == (1 if failed else 0)
    assert all(line["toDo"] for line in failed)
    return [line["check"] for line in failed]


def about(lines: list[dict[str, Any]], check: str, name: str) -> list[str]:
    """The results of the lines of a check that are about something, by their data."""
    return [line["result"] for line in lines if line["check"] == check and name in _names(line)]


def _names(line: dict[str, Any]) -> Iterator[str]:
    for value in line.get("data", {}).values():
        yield from value if isinstance(value, list) else [str(value)]


def warned(lines: list[dict[str, Any]]) -> list[str]:
    """The checks that warn."""
    return [line["check"] for line in lines if line["result"] == "warning"]


@pytest.fixture
def labelled(namespace: NamespaceFactory) -> dict[str, str]:
    """A namespace of `enabled` and one of `required`."""
    return {value: namespace(labels={"injection": value}) for value in ("enabled", "required")}


def test_each_permission_that_is_taken_away_is_named(
    control_plane: ControlPlane, installed: Installed, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the built-in certificates, which need most. The API server takes a moment to see a changed role."""
    monkeypatch.setattr(installed, "lines", permissions(installed.at, "builtin"))
    where, settings = installed.namespace, "certificates: {source: builtin}\n"
    installed.api.patch("ConfigMap", installed.at.name, {"data": {"settings.yaml": settings}}, where)
    for kind in ("ClusterRole", "Role"):
        installed.api.replace(installed.role(kind))
    for line in installed.lines:
        role = installed.role("ClusterRole" if line.everywhere else "Role")
        role["rules"] = [rule for rule in role["rules"] if rule != line.rule()]
        installed.api.replace(role)
        eventually(f"{line.feature} is told", partial(_told, control_plane, line, role["kind"]), every=0.2)
        installed.api.replace(installed.role(role["kind"]))
    eventually("all is well again", partial(_all_allowed, control_plane), every=0.2)
    installed.api.patch("ConfigMap", installed.at.name, {"data": {"settings.yaml": installed.settings}}, where)


def _permissions(control_plane: ControlPlane) -> list[Diagnostic]:
    """This section alone: the others take seconds, and nothing is changed for them."""
    with BlockingClient(str(control_plane.kubeconfig)) as live:
        [(_, found)] = look(CheckContext(live), [SECTION])
    return found


def _all_allowed(control_plane: ControlPlane) -> bool:
    return all(verdict.severity == "note" for verdict in _permissions(control_plane))


def _told(control_plane: ControlPlane, line: Permission, kind: str) -> bool:
    """Whether this line alone is said to be missing, why it matters, and where to add it."""
    wrong = [verdict for verdict in _permissions(control_plane) if verdict.severity != "note"]
    if [verdict.code for verdict in wrong] != [f"permission {line.feature}"]:
        return False
    [verdict] = wrong
    assert verdict.severity == ("warning" if line.optional else "error")
    assert verdict.help and verdict.fields["role"] == kind
    return True


#: What is done to a configuration's first entry.
BROKEN: dict[str, Object] = {
    "timeout": {"timeoutSeconds": 9},
    "selector": {"namespaceSelector": {}},
    "conditions": {"matchConditions": []},
    "reinvocation": {"reinvocationPolicy": "Never"},
    "operations": {
        "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["UPDATE"], "resources": ["pods"]}]
    },
    "pods": {"objectSelector": {"matchLabels": {"a": "b"}}},
}


@pytest.mark.parametrize("what", BROKEN)
def test_an_entry_that_was_changed(control_plane: ControlPlane, installed: Installed, what: str) -> None:
    configuration = installed.webhooks()[0]
    first = configuration["webhooks"][0]
    first |= BROKEN[what]
    installed.put(configuration)
    try:
        code = "object-selector" if what == "pods" else f"entry {first['name'].partition('.')[0]}"
        assert {*failing(control_plane)} == {code}
        [field] = BROKEN[what]
        assert "failed" in about(checked(control_plane)[1], code, field)
    finally:
        installed.put_right(configuration["kind"])


@pytest.mark.parametrize(
    ("prefix", "bound", "result"),
    [
        ("sidecar.injector", True, "good"),
        ("sidecar.injector", False, "warning"),
        ("other.injector", True, "warning"),
    ],
)
def test_the_policy_for_updates(
    control_plane: ControlPlane, installed: Installed, prefix: str, bound: bool, result: str
) -> None:
    made = update_policy(Settings(prefix=prefix), installed.at)[: 2 if bound else 1]
    for one in made:
        installed.api.create(one)
    try:
        [line] = [line for line in checked(control_plane)[1] if line["check"] == "updates"]
        assert line["result"] == result
    finally:
        for one in made:
            installed.api.delete(one["kind"], one["metadata"]["name"])


def test_an_entry_and_a_configuration_that_are_gone(
    control_plane: ControlPlane, installed: Installed, labelled: dict[str, str]
) -> None:
    configuration = installed.webhooks()[1]
    installed.api.delete(configuration["kind"], installed.at.name)
    try:
        assert {"entry guard", "registered", "required-guarded"} <= {*failing(control_plane)}
        _, lines = checked(control_plane)
        assert "entry advice" in warned(lines)
        assert about(lines, "required-guarded", labelled["required"]) == ["failed"]
    finally:
        installed.put_right(configuration["kind"])


def test_labels_that_are_misspelt(
    control_plane: ControlPlane, namespace: NamespaceFactory, installed: Installed
) -> None:
    one, other = namespace(labels={"injection": "enable"}), namespace(labels={"injectoin": "enabled"})
    third, ignored = namespace(labels={"injection": "blue-green"}), installed.namespace
    control_plane.api.patch("Namespace", ignored, {"metadata": {"labels": {"injection": "enabled"}}})
    try:
        code, lines = checked(control_plane)
        assert failing(control_plane) == ["namespace-label"] * 2
        told = {name: about(lines, "namespace-label", name) for name in (one, other, third)}
        assert told == {one: ["failed"], other: ["failed"], third: ["warning"]}
        assert about(lines, "namespace-ignored", ignored) == ["warning"]
        assert code == 1
    finally:
        control_plane.api.patch("Namespace", ignored, {"metadata": {"labels": {"injection": None}}})
        for name in (one, other, third):
            control_plane.api.patch("Namespace", name, {"metadata": {"labels": {"injection": None, "injectoin": None}}})


def test_namespaces_beyond_those_that_the_webhooks_are_limited_to(
    control_plane: ControlPlane, namespace: NamespaceFactory, installed: Installed, labelled: dict[str, str]
) -> None:
    here = namespace(labels={"injection": "enabled", "team": "shop"})
    limited = installed.webhooks()
    for configuration in limited:
        for entry in configuration["webhooks"]:
            if entry["name"] != installed.at.entry_name("sources"):  # it is about the injector's own namespace
                entry["namespaceSelector"]["matchLabels"] = {"team": "shop"}
        installed.put(configuration)

    def told() -> bool:
        _, lines = checked(control_plane)
        wrong = {value: about(lines, "namespace-outside", name) for value, name in labelled.items()}
        right = wrong == {"enabled": ["warning"], "required": ["failed"]}
        others = [line for line in lines if line["result"] != "good" and line["check"] != "namespace-outside"]
        return right and not others and about(lines, "injection", here) == ["good"]

    try:
        eventually("each is named, nothing else is wrong, and a pod is tried where one is injected", told)
    finally:
        for configuration in limited:
            installed.put_right(configuration["kind"])


def test_users_that_openshift_does_not_expect(
    control_plane: ControlPlane, namespace: NamespaceFactory, installed: Installed, labelled: dict[str, str]
) -> None:
    users = {"openshift.io/sa.scc.uid-range": "1000680000/10000"}
    limited = namespace(labels={"injection": "enabled"}, annotations=users)
    namespace(annotations=users)
    _, lines = checked(control_plane)
    [line] = [line for line in lines if line["check"] == "openshift-user-range"]
    assert (line["result"], line["data"]["namespaces"]) == ("warning", [limited])
    key = f"{line['data']['template']}.sidecar.injector/run-as-user"
    assert line["data"]["keys"] == [key]
    own = {key: "1000680000", f"{key.partition('/')[0]}/intercept": "ports"}
    control_plane.api.patch("Namespace", limited, {"metadata": {"annotations": own}})
    _, lines = checked(control_plane)
    assert not [line for line in lines if line["check"] == "openshift-user-range"]


def test_who_replaces_pods_that_lack_their_sidecars(control_plane: ControlPlane, installed: Installed) -> None:
    api, where = installed.api, installed.namespace

    def told() -> dict[str, Any]:
        [line] = [line for line in checked(control_plane)[1] if line["check"] == "repair"]
        return line

    assert not [line for line in checked(control_plane)[1] if line["check"] == "repair"]
    settings = {**json.loads(installed.settings), "repair": {"mode": "missing"}}
    api.patch("ConfigMap", installed.at.name, {"data": {"settings.yaml": json.dumps(settings)}}, where)
    name = "sidecar-injector-repair"
    try:
        assert told()["result"] == "warning"
        api.create({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": name}}, where)
        assert told()["result"] == "warning"
        api.patch(
            "Lease", name, {"spec": {"holderIdentity": "web-0_1", "renewTime": "2020-01-01T00:00:00.000000Z"}}, where
        )
        assert told()["result"] == "warning", "it was killed"
        api.patch("Lease", name, {"spec": {"renewTime": f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%S.%fZ}"}}, where)
        line = told()
        assert (line["result"], line["data"]["holder"]) == ("good", "web-0_1")
        api.patch("Lease", name, {"metadata": {"annotations": {STOPPED_KEY: "shop deployment/web: x"}}}, where)
        line = told()
        assert (line["result"], line["data"]["cause"]) == ("warning", "shop deployment/web: x")
        control_plane.kubectl(*line["data"]["command"].split()[1:])
        assert told()["result"] == "good"
    finally:
        api.delete("Lease", name, where, missing_ok=True)
        api.patch("ConfigMap", installed.at.name, {"data": {"settings.yaml": installed.settings}}, where)


def test_what_is_refused_or_fails_names_the_way_out(
    control_plane: ControlPlane, namespace: NamespaceFactory, installed: Installed
) -> None:
    """That of `injector explain`: here the name of the template that is meant."""
    for value in ("enabled", "required"):
        namespace(labels={"injection": value}, annotations={"sidecar.injector/templates": "nginxx"})
    _, lines = checked(control_plane)
    failed = [line for line in lines if line["result"] == "failed"]
    assert [line["check"] for line in failed] == ["injection"] * 2
    assert all(re.search(r"\bnginx\b", line["toDo"]) for line in failed), failed


def test_nobody_asks_for_sidecars(control_plane: ControlPlane, installed: Installed) -> None:
    unlabel_namespaces(control_plane)
    code, lines = checked(control_plane)
    assert code == 0
    assert "injection" in warned(lines)


def test_an_authority_that_is_another(
    control_plane: ControlPlane, installed: Installed, labelled: dict[str, str]
) -> None:
    stranger = base64.b64encode(Authority("stranger").certificate).decode()
    configuration = installed.webhooks()[0]
    for entry in configuration["webhooks"]:
        entry["clientConfig"]["caBundle"] = stranger
    installed.put(configuration)
    try:
        # one pod comes back untouched, the other is refused
        assert sorted(failing(control_plane)) == ["certificate-trusted", *["injection"] * len(labelled)]
    finally:
        installed.put_right(configuration["kind"])


def test_a_certificate_for_another_name_or_soon_over(
    control_plane: ControlPlane, installed: Installed, tmp_path: Path
) -> None:
    name = "sidecar-injector-tls"
    right = installed.api.get("Secret", name, installed.namespace)["data"]

    def stored(certificate: bytes) -> None:
        data = {"tls.crt": base64.b64encode(certificate).decode()}
        installed.api.patch("Secret", name, {"data": data}, installed.namespace)

    try:
        stored(installed.authority.for_server("elsewhere.svc").certificate)
        assert failing(control_plane) == ["certificate-name"]
        ended = installed.authority.for_server(f"sidecar-injector.{installed.namespace}.svc", days=-0.0002)
        stored(ended.certificate)
        assert failing(control_plane) == ["certificate-days"]
        stored(b"no certificate")
        assert failing(control_plane) == ["certificate"]
    finally:
        installed.api.patch("Secret", name, {"data": right}, installed.namespace)


def test_nobody_answers(control_plane: ControlPlane, installed: Installed, labelled: dict[str, str]) -> None:
    installed.stop()
    try:
        assert failing(control_plane).count("injection") == len(labelled)
    finally:
        installed.start()
    api = control_plane.api
    api.patch("Deployment", installed.at.name, {"spec": {"replicas": 0}}, installed.namespace)
    try:
        eventually("no endpoint is left", lambda: installed.ready_endpoints() == 0)
        assert "endpoints" in failing(control_plane)
    finally:
        api.patch("Deployment", installed.at.name, {"spec": {"replicas": 2}}, installed.namespace)
        eventually("the endpoints are back", lambda: installed.ready_endpoints() == 2)


def change_settings(installed: Installed, text: str) -> None:
    """Apply settings, also wrong ones, which the injector would refuse by itself."""
    change = {"metadata": {"annotations": UNCHECKED}, "data": {"settings.yaml": text}}
    installed.api.patch("ConfigMap", installed.at.name, change, installed.namespace)


def test_wrong_settings_and_templates(control_plane: ControlPlane, installed: Installed) -> None:
    api, where = control_plane.api, installed.namespace
    change_settings(installed, "podDefalt: skip\n")
    try:
        assert failing(control_plane) == ["settings"]
        assert about(checked(control_plane)[1], "settings", "podDefalt") == ["failed"]
    finally:
        change_settings(installed, installed.settings)
    files = {"template.yaml": "description: x\n", "overlay.yaml.j2": "spec: {{ params.nothing }}\n"}
    api.create(config_map("broken", files, MARK, UNCHECKED), where)
    try:
        assert failing(control_plane) == ["template"]
        assert about(checked(control_plane)[1], "template", f"configmap/{where}/broken/overlay.yaml.j2:1:17") == [
            "failed"
        ]
    finally:
        api.delete("ConfigMap", "broken", where)


def test_nothing_reads_the_words(
    control_plane: ControlPlane, installed: Installed, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With settings, a template and an entry that are wrong, every check comes to the same without its words."""
    api, where = control_plane.api, installed.namespace
    switch = Switch(monkeypatch)
    configuration = installed.webhooks()[0]
    configuration["webhooks"][0] |= BROKEN["timeout"]
    files = {"template.yaml": "description: x\n", "overlay.yaml.j2": "spec: {{ params.nothing }}\n"}
    api.create(config_map("broken", files, MARK, UNCHECKED), where)
    try:
        for settings in (installed.settings, "podDefalt: skip\n"):
            change_settings(installed, settings)
            installed.put(configuration)
            spoken, silent = switch.both(lambda: checked(control_plane))
            assert spoken[0] == 1
            assert wordless([*silent]) == wordless([*spoken])
    finally:
        api.delete("ConfigMap", "broken", where)
        change_settings(installed, installed.settings)
        installed.put_right(configuration["kind"])


def test_templates_at_paths_of_the_other_type(control_plane: ControlPlane, installed: Installed) -> None:
    paths = {
        "/claims": {"type": "validating", "templates": ["default-storage-class"]},
        "/services": {"templates": ["deny-load-balancer"]},
        "/both": {"templates": ["deny-load-balancer", "default-storage-class"]},
        "/right": {"type": "validating", "templates": ["deny-load-balancer"]},
    }
    values = {"parameters": {"default-storage-class": {"storage-class": "fast"}}, "paths": paths}
    data = {"data": {"settings.yaml": json.dumps(values)}}
    control_plane.api.patch("ConfigMap", installed.at.name, data, installed.namespace)
    try:
        told = [check for check in warned(checked(control_plane)[1]) if check.startswith("path ")]
        assert told == ["path /claims"]
    finally:
        data = {"data": {"settings.yaml": installed.settings}}
        control_plane.api.patch("ConfigMap", installed.at.name, data, installed.namespace)


def test_what_its_pods_need_and_is_not_there(control_plane: ControlPlane, installed: Installed) -> None:
    api, where, name = control_plane.api, installed.namespace, installed.at.name
    [account] = [obj for obj in installed.objects() if obj["kind"] == "ServiceAccount"]
    api.delete("ServiceAccount", name, where)
    try:
        # what a missing account may not is no news
        assert failing(control_plane) == ["service-account"]
        _, lines = checked(control_plane)
        assert about(lines, "service-account", name) == ["failed"]
    finally:
        api.create(account)


def test_a_server_that_goes_on_with_what_it_had(
    control_plane: ControlPlane, installed: Installed, labelled: dict[str, str]
) -> None:
    """One broken template keeps out every other change; the dry-run pod shows with which templates it was made."""
    api, where = control_plane.api, installed.namespace
    overlay = "spec: {{ params.nothing }}\n"
    api.create(
        config_map("broken", {"template.yaml": "description: x\n", "overlay.yaml.j2": overlay}, MARK, UNCHECKED), where
    )
    changed = {
        "template.yaml": "description: x\n",
        "overlay.yaml.j2": "spec: {containers: [{name: envoy, image: e}]}\n",
    }
    api.create(config_map("envoy", changed, MARK), where)
    try:
        _, lines = checked(control_plane)
        behind = [line for line in lines if line["check"] == "template-in-use"]
        assert len(behind) == 2 and all(line["toDo"] for line in behind)
        assert failing(control_plane) == ["template"]
    finally:
        for name in ("broken", "envoy"):
            api.delete("ConfigMap", name, where)


def test_other_webhooks(control_plane: ControlPlane, installed: Installed) -> None:
    api = control_plane.api
    url = {"url": "https://127.0.0.1:1/x", "caBundle": base64.b64encode(installed.authority.certificate).decode()}
    polite = webhook("a.other.example", url, namespace="nowhere", failurePolicy="Ignore")
    rival = webhook("b.other.example", url, failurePolicy="Ignore")
    rival["namespaceSelector"] = {"matchLabels": {"injection": "enabled", "nobody": "has-this"}}
    jailer = webhook("c.other.example", url, namespace=installed.namespace, failurePolicy="Fail")
    made = [
        webhook_configuration("a-before", polite),
        webhook_configuration("rival", rival),
        webhook_configuration("z-jailer", jailer),
    ]
    for left in api.list("MutatingWebhookConfiguration"):  # by tests before this one
        if left["metadata"]["name"] != installed.at.name:
            api.delete("MutatingWebhookConfiguration", left["metadata"]["name"])
    for one in made:
        api.create(one)
    try:
        code, lines = checked(control_plane)
        assert code == 1
        results = [(line["check"], line["result"]) for line in lines]
        assert [result for check, result in results if check == "second-injector"] == ["failed"]
        assert sorted(result for check, result in results if check == "other-webhooks") == ["good", "good", "warning"]
    finally:
        for one in made:
            api.delete(one["kind"], one["metadata"]["name"])


def test_what_one_may_not_look_at_is_said(control_plane: ControlPlane, installed: Installed, golden: Golden) -> None:
    kubeconfig = control_plane.kubeconfig_for("nobody-special")
    result = CliRunner().invoke(
        cli, ["check", "--kubeconfig", str(kubeconfig), "-n", installed.namespace], standalone_mode=False
    )
    assert result.exception is None
    golden(result.stdout)


def test_waiting_until_it_is_well(control_plane: ControlPlane, installed: Installed, labelled: dict[str, str]) -> None:
    installed.stop()
    assert checked(control_plane, "--wait", "0.1")[0] == 1
    command = [*INJECTOR, "check", "--kubeconfig", str(control_plane.kubeconfig), "--wait", "150"]
    with subprocess.Popen(command, cwd=PROJECT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as waiting:
        assert waiting.stderr and waiting.stderr.readline()
        installed.start()
        out, _ = waiting.communicate(timeout=300)
    assert waiting.returncode == 0, out


def test_before_an_installation(control_plane: ControlPlane, namespace: NamespaceFactory, installed: Installed) -> None:
    _, lines = checked(control_plane, "--pre")
    assert "installed" in warned(lines) and "pod-security" not in warned(lines)
    strict = namespace(labels={"pod-security.kubernetes.io/enforce": "baseline"})
    _, lines = checked(control_plane, "--pre")
    assert about(lines, "pod-security", strict) == ["warning"]
    kubeconfig = user_with(control_plane, rule("get list", "namespaces pods"), READS_WEBHOOKS)
    command = ["check", "--pre", "-n", "elsewhere", "--output", "json", "--kubeconfig", kubeconfig]
    result = CliRunner().invoke(cli, command, standalone_mode=False)
    assert result.return_value == 1
    lines = [line for section in json.loads(result.stdout)["sections"] for line in section["checks"]]
    assert about(lines, "may-install", "create clusterroles") == ["failed"]
    assert about(lines, "may-install", "create mutatingwebhookconfigurations") == ["failed"]


def test_of_two_injectors_one_has_to_be_named(
    control_plane: ControlPlane, namespace: NamespaceFactory, installed: Installed
) -> None:
    other = namespace()
    entry = webhook("two.other.example", {"service": {"namespace": other, "name": "x"}}, namespace="nowhere")
    second = webhook_configuration("second", entry)
    second["metadata"]["labels"] = OURS
    control_plane.api.create(second)
    try:
        assert failing(control_plane) == ["cluster"]
        code, lines = checked(control_plane, "-n", installed.namespace)
        assert code == 0 and "other-webhooks" in [line["check"] for line in lines]
        assert "registered" in failing(control_plane, "-n", other)
    finally:
        control_plane.api.delete(second["kind"], "second")
