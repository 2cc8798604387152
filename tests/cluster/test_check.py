"""`injector check` of a real cluster: all good, then one thing after the other broken."""

from __future__ import annotations

import base64
import json
import subprocess
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from injector.cli.checks.check_context import CheckContext
from injector.cli.checks.check_report import look
from injector.cli.checks.granted_permissions import SECTION
from injector.cli.main import cli
from injector.cluster.blocking_client import BlockingClient
from injector.cluster.permissions import Permission, permissions
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
from tests.silence import Switch, wordless

READS_WEBHOOKS: Object = {
    "apiGroups": ["admissionregistration.k8s.io"],
    "resources": ["mutatingwebhookconfigurations", "validatingwebhookconfigurations"],
    "verbs": ["get", "list"],
}


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


def failing(control_plane: ControlPlane, *args: str) -> dict[str, str]:
    """The failed lines: text and what to do."""
    code, lines = checked(control_plane, *args)
    found = {line["text"]: line["toDo"] for line in lines if line["result"] == "failed"}
    assert code == (1 if found else 0)
    return found


def warned(lines: list[dict[str, Any]]) -> dict[str, str]:
    return {line["text"]: line["toDo"] for line in lines if line["result"] == "warning"}


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
    assert f"to the injector's {kind}, and" in verdict.help and line.reason in verdict.message
    return True


#: What is done to a configuration's first entry, and what is said about it.
BROKEN = {
    "timeout": ({"timeoutSeconds": 9}, "timeoutSeconds is 9, should be 5"),
    "selector": ({"namespaceSelector": {}}, "namespaceSelector lacks injection In (enabled)"),
    "conditions": ({"matchConditions": []}, "matchConditions lacks not-a-mirror-pod"),
    "reinvocation": ({"reinvocationPolicy": "Never"}, "reinvocationPolicy is Never, should be IfNeeded"),
    "operations": (
        {"rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["UPDATE"], "resources": ["pods"]}]},
        "rules lacks rule",
    ),
    "pods": ({"objectSelector": {"matchLabels": {"a": "b"}}}, "has an objectSelector"),
}


@pytest.mark.parametrize("what", BROKEN)
def test_an_entry_that_was_changed(control_plane: ControlPlane, installed: Installed, what: str) -> None:
    change, words = BROKEN[what]
    configuration = installed.webhooks()[0]
    configuration["webhooks"][0] |= change
    installed.put(configuration)
    try:
        found = failing(control_plane)
        first = configuration["webhooks"][0]["name"]
        assert any(first in text and words in text for text in found), found
        assert all(name not in text for text in found for name in installed.names if name != first)
    finally:
        installed.put_right(configuration["kind"])


@pytest.mark.parametrize(
    ("prefix", "bound", "said"),
    [
        ("sidecar.injector", True, "is as it should be"),
        ("sidecar.injector", False, "has no binding: it has no effect"),
        ("other.injector", True, "does not match these settings"),
    ],
)
def test_the_policy_for_updates(
    control_plane: ControlPlane, installed: Installed, prefix: str, bound: bool, said: str
) -> None:
    made = update_policy(Settings(prefix=prefix), installed.at)[: 2 if bound else 1]
    for one in made:
        installed.api.create(one)
    try:
        [line] = [line for line in checked(control_plane)[1] if line["check"] == "updates"]
        assert line["text"] == f"ValidatingAdmissionPolicy {installed.at.name}-updates {said}"
        assert line["result"] == ("good" if "should" in said else "warning")
    finally:
        for one in made:
            installed.api.delete(one["kind"], one["metadata"]["name"])


def test_an_entry_and_a_configuration_that_are_gone(
    control_plane: ControlPlane, installed: Installed, labelled: dict[str, str]
) -> None:
    configuration = installed.webhooks()[1]
    guard, advice = configuration["webhooks"]
    installed.api.delete(configuration["kind"], installed.at.name)
    try:
        found = failing(control_plane)
        assert f"entry {guard['name']} is missing" in found
        unkept = f"required is not enforced in namespace {labelled['required']}: entry {guard['name']} is missing"
        assert any(text.startswith(unkept) for text in found), found
        assert any("no ValidatingWebhookConfiguration" in text for text in found)
        assert f"entry {advice['name']} is missing" in warned(checked(control_plane)[1])
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
        texts = {line["text"]: line for line in lines}
        wrong = texts[f"namespace {one} has injection=enable, which means nothing: its pods are not injected"]
        assert (wrong["result"], wrong["toDo"]) == (
            "failed",
            f"kubectl label namespace {one} injection=enabled --overwrite",
        )
        assert any(other in text and "the injector's label is injection" in text for text in failing(control_plane))
        assert any(third in text for text in warned(lines))
        assert any(f"namespace {ignored} has injection=enabled, but the injector" in text for text in warned(lines))
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
            entry["namespaceSelector"]["matchLabels"] = {"team": "shop"}
        installed.put(configuration)

    def told() -> bool:
        _, lines = checked(control_plane)
        said = {line["text"]: line for line in lines if line["result"] != "good"}
        expected = {
            f"injection={value} has no effect in namespace {name}: no webhook selects it": result
            for (value, name), result in zip(labelled.items(), ("warning", "failed"), strict=True)
        }
        right = {text: line["result"] for text, line in said.items()} == expected
        return right and any(f"namespace {here} is injected" in line["text"] for line in lines)

    try:
        eventually("each is named, nothing else is wrong, and a pod is tried where one is injected", told)
        assert all("webhooks.namespaceSelector" in to_do for to_do in failing(control_plane).values())
    finally:
        for configuration in limited:
            installed.put_right(configuration["kind"])


def test_nobody_asks_for_sidecars(control_plane: ControlPlane, installed: Installed) -> None:
    unlabel_namespaces(control_plane)
    code, lines = checked(control_plane)
    assert code == 0
    assert any("no pod was tried: no namespace" in text for text in warned(lines))


def test_an_authority_that_is_another(
    control_plane: ControlPlane, installed: Installed, labelled: dict[str, str]
) -> None:
    stranger = base64.b64encode(Authority("stranger").certificate).decode()
    configuration = installed.webhooks()[0]
    for entry in configuration["webhooks"]:
        entry["clientConfig"]["caBundle"] = stranger
    installed.put(configuration)
    try:
        found = failing(control_plane)
        names = ", ".join(entry["name"] for entry in configuration["webhooks"])
        text = f"entry {names}: caBundle does not trust the certificate in secret sidecar-injector-tls"
        assert "put the CA certificate that signed this certificate into caBundle" in found[text]
        assert any(text.startswith("TLS to ") for text in found)
        untouched = f"a pod in namespace {labelled['enabled']} comes back untouched"
        assert any(text.startswith(untouched) for text in found), found
        assert any(labelled["required"] in text and "failed calling webhook" in text for text in found)
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
        text = f"the certificate in secret {name} is not for sidecar-injector.{installed.namespace}.svc"
        assert "injector certs --service sidecar-injector" in failing(control_plane)[text]
        ended = installed.authority.for_server(f"sidecar-injector.{installed.namespace}.svc", days=-0.0002)
        stored(ended.certificate)
        assert any(text.startswith("the certificate expired at") for text in failing(control_plane))
        stored(b"no certificate")
        assert f"secret {installed.namespace}/{name} has no certificate (key tls.crt)" in failing(control_plane)
    finally:
        installed.api.patch("Secret", name, {"data": right}, installed.namespace)


def test_nobody_answers(control_plane: ControlPlane, installed: Installed, labelled: dict[str, str]) -> None:
    installed.stop()
    try:
        found = failing(control_plane)
        assert any(f"namespace {labelled['enabled']} comes back untouched" in text for text in found)
        assert any(labelled["required"] in text and "failed calling webhook" in text for text in found)
    finally:
        installed.start()
    api = control_plane.api
    api.patch("Deployment", installed.at.name, {"spec": {"replicas": 0}}, installed.namespace)
    try:
        eventually("no endpoint is left", lambda: installed.ready_endpoints() == 0)
        found = failing(control_plane)
        text = f"Service {installed.namespace}/sidecar-injector has no ready endpoint: nothing answers the API server"
        assert "/readyz" in found[text]
    finally:
        api.patch("Deployment", installed.at.name, {"spec": {"replicas": 2}}, installed.namespace)
        eventually("the endpoints are back", lambda: installed.ready_endpoints() == 2)


def test_wrong_settings_and_templates(control_plane: ControlPlane, installed: Installed) -> None:
    api, where = control_plane.api, installed.namespace
    api.patch("ConfigMap", installed.at.name, {"data": {"settings.yaml": "podDefalt: skip\n"}}, where)
    try:
        [text] = [text for text in failing(control_plane) if "settings of the injector" in text]
        assert 'podDefalt: unknown key "podDefalt"; did you mean podDefault?' in text
    finally:
        api.patch("ConfigMap", installed.at.name, {"data": {"settings.yaml": installed.settings}}, where)
    files = {"template.yaml": "description: x\n", "overlay.yaml.j2": "spec: {{ params.nothing }}\n"}
    api.create(config_map("broken", files, labels={"sidecar.injector/template": "true"}), where)
    try:
        found = failing(control_plane)
        [text] = [text for text in found if "broken/overlay.yaml.j2:1" in text]
        assert "ConfigMap broken" in found[text]
    finally:
        api.delete("ConfigMap", "broken", where)


def test_nothing_reads_the_words(
    control_plane: ControlPlane, installed: Installed, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With settings, a template and an entry that are wrong, every check comes to the same without its words."""
    api, where = control_plane.api, installed.namespace
    switch = Switch(monkeypatch)
    configuration = installed.webhooks()[0]
    configuration["webhooks"][0] |= BROKEN["timeout"][0]
    files = {"template.yaml": "description: x\n", "overlay.yaml.j2": "spec: {{ params.nothing }}\n"}
    api.create(config_map("broken", files, labels={"sidecar.injector/template": "true"}), where)
    try:
        for settings in (installed.settings, "podDefalt: skip\n"):
            api.patch("ConfigMap", installed.at.name, {"data": {"settings.yaml": settings}}, where)
            installed.put(configuration)
            spoken, silent = switch.both(lambda: checked(control_plane))
            assert spoken[0] == 1
            assert wordless([*silent]) == wordless([*spoken])
    finally:
        api.delete("ConfigMap", "broken", where)
        api.patch("ConfigMap", installed.at.name, {"data": {"settings.yaml": installed.settings}}, where)
        installed.put_right(configuration["kind"])


def test_a_path_for_what_the_api_server_has_not(control_plane: ControlPlane, installed: Installed) -> None:
    api, where = control_plane.api, installed.namespace
    files = {
        "template.yaml": "for: {apiGroups: ['', apps], resources: [service, deployments, pods/ephemeralcontainers]}\n",
        "overlay.yaml.j2": '{{ deny("none") }}\n',
    }
    policies = {"/project": ["reserved-projects"], "/mine": ["mine", "deny-load-balancer"]}
    paths = {path: {"type": "validating", "templates": templates} for path, templates in policies.items()}
    api.create(config_map("mine", files, labels={"sidecar.injector/template": "true"}), where)
    api.patch("ConfigMap", installed.at.name, {"data": {"settings.yaml": json.dumps({"paths": paths})}}, where)
    try:
        told = [text for text in warned(checked(control_plane)[1]) if text.startswith("path ")]
        assert told == [
            "path /project: template reserved-projects is for projectrequests of project.openshift.io/v1, which the "
            "API server does not have",
            "path /mine: template mine is for service of v1, apps/v1, which the API server does not have",
        ]
    finally:
        api.patch("ConfigMap", installed.at.name, {"data": {"settings.yaml": installed.settings}}, where)
        api.delete("ConfigMap", "mine", where)


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
        told = {text: todo for text, todo in warned(checked(control_plane)[1]).items() if text.startswith("path ")}
        assert told == {
            "path /claims (validating): template default-storage-class changes objects, which fails at a validating "
            "path": "list it at a path of type mutating",
            "path /services (mutating): template deny-load-balancer can only refuse or warn. Webhooks that are called "
            "later can still change the object after this check": (
                "set `type: validating` in the settings: then the template checks the object as it will be stored"
            ),
        }
    finally:
        data = {"data": {"settings.yaml": installed.settings}}
        control_plane.api.patch("ConfigMap", installed.at.name, data, installed.namespace)


def test_what_its_pods_need_and_is_not_there(control_plane: ControlPlane, installed: Installed) -> None:
    api, where, name = control_plane.api, installed.namespace, installed.at.name
    [account] = [obj for obj in installed.objects() if obj["kind"] == "ServiceAccount"]
    volume, at = {"name": "settings", "configMap": {"name": "given"}}, "/spec/template/spec/volumes"
    api.patch("Deployment", name, [{"op": "add", "path": f"{at}/0", "value": volume}], where, "json")
    api.delete("ServiceAccount", name, where)
    try:
        found = failing(control_plane)
        [text] = [text for text in found if f"no ConfigMap {where}/given" in text]
        assert "new pods of the injector do not start" in text
        assert "docs/installing.md" in found[f"there is no service account {where}/{name}"]
        assert not [text for text in found if "may not" in text], "what a missing account may not is no news"
    finally:
        api.create(account)
        api.patch("Deployment", name, [{"op": "remove", "path": f"{at}/0"}], where, "json")


def test_a_server_that_goes_on_with_what_it_had(
    control_plane: ControlPlane, installed: Installed, labelled: dict[str, str]
) -> None:
    """One broken template keeps out every other change; the dry-run pod shows with which templates it was made."""
    api, where = control_plane.api, installed.namespace
    mark = {"sidecar.injector/template": "true"}
    overlay = "spec: {{ params.nothing }}\n"
    api.create(
        config_map("broken", {"template.yaml": "description: x\n", "overlay.yaml.j2": overlay}, labels=mark), where
    )
    changed = {
        "template.yaml": "description: x\n",
        "overlay.yaml.j2": "spec: {containers: [{name: envoy, image: e}]}\n",
    }
    api.create(config_map("envoy", changed, labels=mark), where)
    try:
        _, lines = checked(control_plane)
        behind = [line for line in lines if line["check"] == "template-in-use"]
        assert len(behind) == 2 and all("snapshot-refused" in line["toDo"] for line in behind)
        assert any("broken/overlay.yaml.j2:1" in text for text in failing(control_plane))
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
    for one in made:
        api.create(one)
    try:
        code, lines = checked(control_plane)
        texts = [line["text"] for line in lines]
        assert (
            "a-before also changes new pods, before the injector, and is not called again: it sees no sidecars" in texts
        )
        assert any(text.startswith("rival: b.other.example also selects by label injection") for text in texts)
        hostage = "z-jailer: c.other.example has failurePolicy Fail and covers namespace"
        assert any(text.startswith(hostage) for text in warned(lines))
        assert code == 1
    finally:
        for one in made:
            api.delete(one["kind"], one["metadata"]["name"])


def test_what_one_may_not_look_at_is_said(control_plane: ControlPlane, installed: Installed) -> None:
    kubeconfig = control_plane.kubeconfig_for("nobody-special")
    result = CliRunner().invoke(
        cli, ["check", "--kubeconfig", str(kubeconfig), "-n", installed.namespace], standalone_mode=False
    )
    assert result.exception is None
    assert "not checked" in result.stdout and "run the command as a user who has this permission" in result.stdout


def test_waiting_until_it_is_well(control_plane: ControlPlane, installed: Installed, labelled: dict[str, str]) -> None:
    installed.stop()
    assert checked(control_plane, "--wait", "0.1")[0] == 1
    command = [*INJECTOR, "check", "--kubeconfig", str(control_plane.kubeconfig), "--wait", "150"]
    with subprocess.Popen(command, cwd=PROJECT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as waiting:
        assert waiting.stderr and " failed; " in waiting.stderr.readline()
        installed.start()
        out, _ = waiting.communicate(timeout=300)
    assert waiting.returncode == 0, out


def test_before_an_installation(control_plane: ControlPlane, namespace: NamespaceFactory, installed: Installed) -> None:
    _, lines = checked(control_plane, "--pre")
    assert any("an injector is installed already" in text for text in warned(lines))
    strict = namespace(labels={"pod-security.kubernetes.io/enforce": "baseline"})
    _, lines = checked(control_plane, "--pre")
    assert any("NET_ADMIN" in text and strict in text for text in warned(lines))
    kubeconfig = user_with(control_plane, rule("get list", "namespaces pods"), READS_WEBHOOKS)
    command = ["check", "--pre", "-n", "elsewhere", "--output", "json", "--kubeconfig", kubeconfig]
    result = CliRunner().invoke(cli, command, standalone_mode=False)
    assert result.return_value == 1
    lines = [line for section in json.loads(result.stdout)["sections"] for line in section["checks"]]
    [denied] = [line for line in lines if line["result"] == "failed" and line["check"] == "may-install"]
    assert "create clusterroles" in denied["text"] and "create mutatingwebhookconfigurations" in denied["text"]


def test_of_two_injectors_one_has_to_be_named(
    control_plane: ControlPlane, namespace: NamespaceFactory, installed: Installed
) -> None:
    other = namespace()
    entry = webhook("two.other.example", {"service": {"namespace": other, "name": "x"}}, namespace="nowhere")
    second = webhook_configuration("second", entry)
    second["metadata"]["labels"] = OURS
    control_plane.api.create(second)
    try:
        [(text, to_do)] = failing(control_plane).items()
        assert f"{installed.namespace}, {other}" in text and to_do.startswith("name one of these namespaces with -n")
        code, lines = checked(control_plane, "-n", installed.namespace)
        assert code == 0 and any(text.startswith("second also changes new pods") for text in (x["text"] for x in lines))
        kind = "ValidatingWebhookConfiguration with label app.kubernetes.io/name=sidecar-injector"
        missing = f"no {kind} calls a Service in namespace"
        assert f"{missing} {other}" in failing(control_plane, "-n", other)
    finally:
        control_plane.api.delete(second["kind"], "second")
