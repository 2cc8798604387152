"""Policies at paths, attacked through the real API server: by every way in which an object can be written or go."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.cluster.api import ApiError, Object
from tests.cluster.conftest import NamespaceFactory
from tests.cluster.controlplane import ControlPlane
from tests.cluster.objects import deployment, remove_configurations, webhook, webhook_configuration
from tests.cluster.processes import eventually
from tests.cluster.server import InjectorServer

LABEL = "test/policies"
SELECTED = {"matchLabels": {LABEL: "yes"}}
TEMPLATES = {
    "marked": {
        "template.yaml": "description: Marks.\n"
        "for: {apiGroups: ['', apps], resources: [configmaps, secrets, services, deployments],"
        " operations: [CREATE, UPDATE]}\n",
        "overlay.yaml.j2": "metadata: {labels: {marked: !replace by-the-injector}}\n",
    },
    "small": {
        "template.yaml": "description: Few replicas.\n"
        "for: {apiGroups: [apps], resources: [deployments, deployments/scale], operations: [CREATE, UPDATE]}\n",
        "overlay.yaml.j2": "{% if object.spec.replicas | default(1) > 3 %}"
        '{{ deny("at most 3 replicas, not " ~ object.spec.replicas) }}{% endif %}\n',
    },
    "names": {
        "template.yaml": "description: Namespaces are kept.\nnamespaces: {matchLabels: {test/policies: 'yes'}}\n"
        "for: {resources: [namespaces], operations: [CREATE, UPDATE, DELETE]}\n",
        "overlay.yaml.j2": '{% set about = object if operation != "DELETE" else oldObject %}\n'
        '{% if about.metadata.annotations.refuse | default("") == operation %}'
        '{{ deny(operation ~ " of " ~ namespace.name ~ ", a " ~ namespace.labels.kind) }}{% endif %}\n',
    },
    "kept": {
        "template.yaml": "description: Some are not deleted.\n"
        "for: {resources: [configmaps], operations: [DELETE]}\nselector: {matchLabels: {keep: 'yes'}}\n",
        "overlay.yaml.j2": '{{ deny(oldObject.metadata.name ~ " is kept") }}\n',
    },
    "nobody": {
        "template.yaml": "description: Nothing.\nselector: {matchLabels: {policed: 'yes'}}\nfor:\n"
        "  apiGroups: [admissionregistration.k8s.io, rbac.authorization.k8s.io]\n"
        "  resources: [validatingwebhookconfigurations, clusterroles]\n",
        "overlay.yaml.j2": '{{ deny("nobody may") }}\n',
    },
}
PATHS = {
    "/mark": {"templates": ["marked"], "failurePolicy": "Fail"},
    "/services": {"type": "validating", "templates": ["deny-load-balancer"], "failurePolicy": "Fail"},
    "/replicas": {"type": "validating", "templates": ["small"], "failurePolicy": "Fail"},
    "/names": {"type": "validating", "templates": ["names"], "failurePolicy": "Fail"},
    "/kept": {"type": "validating", "templates": ["kept"], "failurePolicy": "Fail"},
    "/nobody": {"type": "validating", "templates": ["nobody"], "failurePolicy": "Fail"},
}


def rule(group: str, *resources: str, operations: str = "CREATE UPDATE") -> Object:
    return {"apiGroups": [group], "apiVersions": ["v1"], "resources": resources, "operations": operations.split()}


RULES = {
    "/mark": [rule("", "configmaps", "secrets", "services"), rule("apps", "deployments")],
    "/services": [rule("", "services")],
    "/replicas": [rule("apps", "deployments", "deployments/scale")],
    "/names": [rule("", "namespaces", operations="CREATE UPDATE DELETE")],
    "/kept": [rule("", "configmaps", operations="DELETE")],
    "/nobody": [
        rule("admissionregistration.k8s.io", "validatingwebhookconfigurations", operations="CREATE"),
        rule("rbac.authorization.k8s.io", "clusterroles", operations="CREATE"),
    ],
}


@pytest.fixture(scope="module")
def server(control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[InjectorServer]:
    folder = tmp_path_factory.mktemp("policies")
    made = InjectorServer(control_plane, folder, settings={"templates": [], "paths": PATHS})
    write(made.templates_dir, TEMPLATES)
    made.start()
    configurations = [configuration(made, kind) for kind in ("mutating", "validating")]
    for one in configurations:
        control_plane.api.create(one)
    yield made
    for one in configurations:
        remove_configurations(control_plane, one["metadata"]["name"])
    made.kill()


def write(folder: Path, templates: Mapping[str, Mapping[str, str]]) -> None:
    for name, files in templates.items():
        (folder / name).mkdir()
        for file, text in files.items():
            (folder / name / file).write_text(text)


def configuration(server: InjectorServer, kind: str) -> Object:
    entries = [
        webhook(
            f"{path[1:]}.policies.test",
            server.client_config(path),
            rules=RULES[path],
            namespaceSelector=SELECTED,
            sideEffects="None",
            **({"reinvocationPolicy": "IfNeeded"} if kind == "mutating" else {}),
        )
        for path, at in PATHS.items()
        if at.get("type", "mutating") == kind
    ]
    return webhook_configuration(f"policies-{kind}", *entries, validating=kind == "validating")


@pytest.fixture
def shop(control_plane: ControlPlane, server: InjectorServer, namespace: NamespaceFactory) -> str:
    """A namespace in which the policies are in force."""
    name = namespace(labels={LABEL: "yes"})

    def in_force() -> bool:
        done = control_plane.kubectl(*LOAD_BALANCER, "-n", name, check=False).stderr
        marked = control_plane.kubectl(*CONFIG_MAP, "-n", name).stdout
        return "denied" in done and "by-the-injector" in marked

    eventually("the policies are in force", in_force)
    return name


JSON_PATCH = '[{"op":"replace","path":"/spec/type","value":"LoadBalancer"}]'
LOAD_BALANCER = ("create", "service", "loadbalancer", "probe", "--tcp=80", "--dry-run=server")
CONFIG_MAP = ("create", "configmap", "probe", "--dry-run=server", "-o", "yaml")


def refusal(what: Callable[[], Any]) -> str:
    """What the API server says to a refusal; "" where it objects to nothing."""
    try:
        what()
    except ApiError as error:
        return str(error)
    return ""


def service(kind: str, name: str = "web") -> Object:
    spec = {"type": kind, "selector": {"app": "web"}, "ports": [{"port": 80}]}
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": spec}


def test_a_service_becomes_a_load_balancer_by_no_way(control_plane: ControlPlane, shop: str) -> None:
    kubectl, text = control_plane.kubectl, json.dumps(service("LoadBalancer"))
    kubectl("create", "-n", shop, "-f", "-", stdin=json.dumps(service("ClusterIP")))
    ways = [
        (("replace", "-f", "-"), text),
        (("apply", "-f", "-"), text),
        (("apply", "--server-side", "--force-conflicts", "-f", "-"), text),
        (("patch", "service", "web", "--type=merge", "-p", '{"spec":{"type":"LoadBalancer"}}'), None),
        (("patch", "service", "web", "--type=strategic", "-p", '{"spec":{"type":"LoadBalancer"}}'), None),
        (("patch", "service", "web", "--type=json", "-p", JSON_PATCH), None),
        (("create", "-f", "-"), json.dumps(service("LoadBalancer", "another"))),
        (("create", "-f", "-"), text.replace('"name": "web"', '"generateName": "web-"')),
        (("create", "-f", "-"), text.replace('"LoadBalancer"', '"ClusterIP", "type": "LoadBalancer"')),
        (("apply", "--server-side", "-f", "-"), json.dumps(service("LoadBalancer", "another"))),
        (("replace", "--force", "-f", "-"), text),
    ]
    for words, given in ways:
        done = control_plane.kubectl(*words, "-n", shop, stdin=given, check=False)
        assert "denied: Services of type LoadBalancer are not allowed here" in done.stderr, (words, done)
    assert control_plane.api.list("Service", shop) == []  # replace --force has deleted it and could not make it again


@pytest.mark.parametrize("kind", ["ConfigMap", "Secret"])
def test_what_a_policy_sets_is_set_by_every_way(control_plane: ControlPlane, shop: str, kind: str) -> None:
    kubectl = control_plane.kubectl
    obj: Object = {"apiVersion": "v1", "kind": kind, "metadata": {"name": "one", "labels": {"marked": "no"}}}
    value = "c2VjcmV0" if kind == "Secret" else "9007199254740993"
    written = {**obj, "data": {"a": value}}
    ways = [
        (("create", "-f", "-"), written),
        (("replace", "-f", "-"), written),
        (("apply", "--server-side", "--force-conflicts", "-f", "-"), written),
        (("patch", kind, "one", "--type=merge", "-p", '{"metadata":{"labels":{"marked":"no"}}}'), None),
        (("patch", kind, "one", "--type=json", "-p", '[{"op":"remove","path":"/metadata/labels"}]'), None),
        (("label", kind, "one", "--overwrite", "marked=no"), None),
    ]
    for words, given in ways:
        kubectl(*words, "-n", shop, stdin=json.dumps(given) if given else None)
        found = control_plane.api.get(kind, "one", shop)
        assert found["metadata"]["labels"] == {"marked": "by-the-injector"}, words
        assert found["data"] == {"a": value}


def test_replicas_are_changed_by_scale_too(control_plane: ControlPlane, shop: str) -> None:
    control_plane.api.create(deployment("web", replicas=1), shop)
    for words in (
        ("scale", "deployment", "web", "--replicas=4"),
        ("patch", "deployment", "web", "-p", '{"spec":{"replicas":4}}'),
        ("patch", "deployment", "web", "--subresource=scale", "--type=merge", "-p", '{"spec":{"replicas":4}}'),
    ):
        done = control_plane.kubectl(*words, "-n", shop, check=False)
        assert "denied: at most 3 replicas, not 4" in done.stderr
    control_plane.kubectl("scale", "deployment", "web", "--replicas=3", "-n", shop)
    found = control_plane.api.get("Deployment", "web", shop)
    assert (found["spec"]["replicas"], found["metadata"]["labels"]["marked"]) == (3, "by-the-injector")


def test_namespaces_are_their_own(control_plane: ControlPlane, server: InjectorServer, shop: str) -> None:
    api = control_plane.api
    labels = {LABEL: "yes", "kind": "shop"}

    def made(operation: str, **metadata: str) -> Object:
        notes = {"refuse": operation}
        return {
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": {"labels": labels, "annotations": notes, **metadata},
        }

    def annotated(operation: str) -> str:
        return refusal(lambda: api.patch("Namespace", "policed", {"metadata": {"annotations": {"refuse": operation}}}))

    assert "denied: CREATE of policed, a shop" in refusal(lambda: api.create(made("CREATE", name="policed")))
    by_generated_name = refusal(lambda: api.create(made("CREATE", generateName="policed-")))
    assert "denied: CREATE of policed-" in by_generated_name
    api.create(made("DELETE", name="policed"))
    assert "denied: UPDATE of policed, a shop" in annotated("UPDATE")
    assert "denied: DELETE of policed, a shop" in refusal(lambda: api.delete("Namespace", "policed"))
    assert annotated("nothing") == ""
    api.delete("Namespace", "policed")
    eventually("the namespace is gone", lambda: not api.exists("Namespace", "policed"), 300)


def test_a_namespace_with_what_is_not_deleted_says_so(control_plane: ControlPlane, shop: str) -> None:
    api = control_plane.api
    kept = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "kept", "labels": {"keep": "yes"}}}
    api.create(kept, shop)
    assert "denied: kept is kept" in refusal(lambda: api.delete("ConfigMap", "kept", shop))
    api.delete("Namespace", shop)

    def why() -> str:
        conditions = api.get("Namespace", shop)["status"].get("conditions") or ()
        return next((c["message"] for c in conditions if c["type"] == "NamespaceDeletionContentFailure"), "")

    assert "denied: kept is kept" in eventually("the namespace says why", why, 300)
    api.patch("ConfigMap", "kept", {"metadata": {"labels": {"keep": None}}}, shop)
    eventually("the namespace is gone", lambda: not api.exists("Namespace", shop), 300)


def test_nobody_is_asked_about_webhooks_themselves(control_plane: ControlPlane, shop: str) -> None:
    """As the linter's rule unknown-resource says."""
    policed = {"name": "policed", "labels": {"policed": "yes"}}
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": policed, "rules": []}
    assert "denied: nobody may" in refusal(lambda: control_plane.api.create(role))
    webhooks = {**webhook_configuration("policed", validating=True), "metadata": policed}
    assert refusal(lambda: control_plane.api.create(webhooks, dry_run=True)) == ""
