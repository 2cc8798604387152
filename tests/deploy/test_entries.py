"""The chart's webhook entries and roles are those that the code says, for whatever values."""

from __future__ import annotations

import base64
import re
from typing import Any

import pytest
import yaml

from injector.cluster.entries import entries
from injector.cluster.installation import Installation
from injector.cluster.permissions import permissions
from injector.cluster.update_policy import update_policy
from injector.loading.shipped import load_shipped
from injector.loading.template_folders import gallery_path, read_gallery
from injector.settings import Settings, parse_settings
from injector.templates.snapshot import Catalog
from tests.deploy.helm import MAJORS, NAME, ROOT, Helm, HelmError, Object, one
from tests.deploy.values import together

PEM = "-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----"
ALWAYS = {
    "matchLabels": {"tier": "edge", "app.kubernetes.io/name": "its"},
    "matchExpressions": [
        {"key": "a", "operator": "In", "values": ["x", "y"]},
        {"key": "b", "operator": "NotIn", "values": ["z"]},
        {"key": "c", "operator": "Exists"},
        {"key": "d", "operator": "DoesNotExist"},
    ],
}
EXTRA = {"matchLabels": {"team": "a"}, "matchExpressions": [{"key": "tier", "operator": "NotIn", "values": ["lab"]}]}
SETTINGS: dict[str, dict[str, Any]] = {
    "defaults": {},
    "names of another injector": {"prefix": "linkerd.io", "namespaceLabel": {"key": "linkerd.io/inject"}},
    "every label value": {
        "namespaceLabel": {"key": "example.org/sidecars", "enabled": "on", "required": "must", "disabled": "never"}
    },
    "words": {"yesValues": ["Ja", "да", "a\\b"], "noValues": ["NEIN", "don't"]},
    "no words": {"yesValues": [], "noValues": []},
    "paths": {
        "server": {
            "mutatePaths": ["/in", "/mutate"],
            "validatePaths": ["/check"],
            "advisePaths": ["/hint"],
            "trialPaths": ["/src"],
        }
    },
    "namespaces": {"ignoredNamespaces": ["kube-system", "monitoring"]},
    "no namespaces": {"ignoredNamespaces": []},
    "its own namespace": {"ignoredNamespaces": [NAME]},
    "pods that name templates": {"podDefault": "named"},
    "pods that name them in their way": {"podDefault": "named", "templatesKey": "injector.tumblr.com/request"},
    "names alone are no yes": {"podDefault": "skip", "templatesKey": "injector.tumblr.com/request"},
    "always": {"alwaysSelector": ALWAYS},
    "always, all": {"alwaysSelector": {}},
    "paths, templates of their own": {
        "paths": {
            "/mutate/claims": {"templates": ["claims", "envoy", "claims"], "failurePolicy": "Fail"},
            "/validate-project": {"type": "validating", "templates": ["reserved", "projects"]},
        }
    },
    "paths, of both kinds and shipped ones": {
        "ignoredNamespaces": [],
        "namespaceLabel": {"key": "example.org/sidecars"},
        "paths": {
            "/A.b/c_d~e": {"type": "validating", "templates": ["deny-env"], "failurePolicy": "Fail"},
            "/always": {"type": "mutating", "templates": ["always-pull-images", "resource-defaults"]},
            "/by-hand": {"templates": ["by-hand", "no-for"]},
            f"/{'long' * 15}": {"type": "validating", "templates": ["claims"], "failurePolicy": "Ignore"},
        },
    },
    "always, labels only": {"alwaysSelector": {"matchLabels": {"tier": "edge"}}},
}
#: Templates that are not shipped: in the chart's values, and applied by hand.
TEMPLATES = {
    "claims": {
        "template.yaml": "description: A storage class.\nfor: {resources: [persistentvolumeclaims]}\n",
        "overlay.yaml.j2": "spec: {storageClassName: fast}\n",
    },
    "projects": {
        "template.yaml": """\
description: Projects.
for:
  apiGroups: [project.openshift.io]  # OpenShift's
  resources: [projectrequests]
""",
        "overlay.yaml.j2": "",
    },
    "reserved": {
        "template.yaml": """\
description: Names that are reserved.
for:
  apiGroups: ["", project.openshift.io]
  apiVersions: [v1, v1beta1]
  resources: [namespaces, projectrequests, pods/ephemeralcontainers]
  operations: [CREATE, UPDATE, DELETE, CONNECT]
""",
        "overlay.yaml.j2": "",
    },
    "no-for": {"template.yaml": "description: For pods.\nfor:\n", "overlay.yaml.j2": ""},
}
BY_HAND = {
    "template.yaml": "description: For another.\nfor: {resources: [services], operations: [UPDATE]}\n",
    "overlay.yaml.j2": "",
}
VALUES = {
    "templates": TEMPLATES,
    "webhooks": {"for": {"by-hand": {"resources": ["services"], "operations": ["UPDATE"]}}},
}
CATALOG = Catalog(
    load_shipped(name, files)
    for name, files in {**read_gallery(gallery_path()), **TEMPLATES, "by-hand": BY_HAND}.items()
)


def rendered(objects: list[Object], name: str = NAME) -> tuple[list[Any], list[Any]]:
    """The entries of both configurations, without their bundles."""
    found = []
    for kind in ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"):
        webhooks = one(objects, kind, name)["webhooks"]
        for entry in webhooks:
            entry["clientConfig"].pop("caBundle", None)
        found.append(webhooks)
    return found[0], found[1]


def settings_of(objects: list[Object], name: str = NAME) -> Settings:
    """The settings that the server will read."""
    return parse_settings(yaml.safe_load(one(objects, "ConfigMap", name)["data"]["settings.yaml"]))


@pytest.mark.parametrize("major", MAJORS)
@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS)
def test_entries_follow_the_settings(settings: dict[str, Any], major: int) -> None:
    objects = Helm(major).objects({"settings": settings, **VALUES})
    found = entries(settings_of(objects), Installation(), CATALOG)
    assert rendered(objects) == (list(found.mutating), list(found.validating))
    asked = parse_settings(settings)
    assert len(found.mutating + found.validating) == 6 + len(asked.paths)
    assert entries(asked, Installation(), CATALOG) == found, "a value of the chart is not the settings' default"


def test_entries_follow_the_installation_s_names_and_choices() -> None:
    values = {
        "fullnameOverride": "edge-injector",
        "service": {"port": 8443},
        "webhooks": {
            "timeoutSeconds": 9,
            "enabled": {"failurePolicy": "Fail"},
            "optedIn": {"failurePolicy": "Fail"},
            "namespaceSelector": EXTRA,
        },
        "settings": {"paths": {"/claims": {"templates": ["claims"]}}},
        "templates": TEMPLATES,
    }
    objects = Helm().objects(values, namespace="edge")
    here = Installation(
        namespace="edge",
        name="edge-injector",
        port=8443,
        timeout_seconds=9,
        enabled_failure_policy="Fail",
        opted_in_failure_policy="Fail",
        namespaces=EXTRA,
    )
    found = entries(settings_of(objects, "edge-injector"), here, CATALOG)
    assert found.mutating[-1]["name"] == "path-claims.edge-injector.internal"
    assert rendered(objects, "edge-injector") == (list(found.mutating), list(found.validating))


POLICY = {"updatePolicy": {"enabled": True}}
POLICIES: dict[str, tuple[dict[str, Any], Installation]] = {
    "defaults": ({}, Installation()),
    "names": (
        {
            "settings": {
                "prefix": "linkerd.io",
                "templatesKey": "injector.tumblr.com/request",
                "namespaceLabel": {"key": "example.org/sidecars", "required": "must"},
                "ignoredNamespaces": ["monitoring"],
            },
        },
        Installation(),
    ),
    "sizes": ({"settings": {"required": {"resources": "any"}}}, Installation()),
    "installation": (
        {"fullnameOverride": "edge-injector", "webhooks": {"namespaceSelector": EXTRA}},
        Installation(namespace="edge", name="edge-injector", namespaces=EXTRA),
    ),
}


@pytest.mark.parametrize("major", MAJORS)
@pytest.mark.parametrize(("values", "here"), POLICIES.values(), ids=POLICIES)
def test_the_policy_is_what_the_command_writes(values: dict[str, Any], here: Installation, major: int) -> None:
    objects = Helm(major).objects(together(values, POLICY), namespace=here.namespace)
    wanted = update_policy(settings_of(objects, here.name), here)
    found = [one(objects, policy["kind"], policy["metadata"]["name"]) for policy in wanted]
    labels = one(objects, "ClusterRole", here.name)["metadata"]["labels"]
    assert [policy["metadata"].pop("labels") for policy in found] == [labels, labels]
    assert tuple(found) == wanted


def test_there_is_no_policy_unless_it_is_wanted() -> None:
    assert not [found for found in Helm().objects() if found["kind"].startswith("ValidatingAdmissionPolicy")]


def paths(found: dict[str, Any], **values: Any) -> dict[str, Any]:
    return {"settings": {"paths": found}, "templates": TEMPLATES, **values}


@pytest.mark.parametrize("major", MAJORS)
@pytest.mark.parametrize(
    ("values", "words"),
    [
        (
            paths({"/x": {"templates": ["clams"]}}),
            "settings.paths./x: template clams is neither shipped nor in `templates`, so what the API server is to ask "
            "about is not known; put its files into templates.clams, or the `for` of its template.yaml into "
            "webhooks.for.clams ({} where it has none)",
        ),
        (
            paths({"/x": {"templates": ["mine"]}}, templates={"mine": {"template.yaml": "for: {resources: ['*']}"}}),
            "template mine: for.resources has *: the API server would ask about more than the template is for",
        ),
        (
            paths({"/x": {"templates": ["mine"]}}, templates={"mine": {"template.yaml": "for: ["}}),
            "templates.mine.template\\.yaml is not YAML: error converting YAML to JSON",
        ),
        (
            paths({"/a/b": {"templates": ["claims"]}, "/a-b": {"templates": ["claims"]}}),
            "settings.paths: /a-b and /a/b would both have the webhook entry path-a-b; choose another path for one",
        ),
        (
            paths({"/mutate/pods": {"templates": ["claims"]}}),
            "settings.paths./mutate/pods is a path of settings.server already; choose another",
        ),
        (paths({"claims": {"templates": ["claims"]}}), "'claims' does not match pattern"),
        (paths({"/claims": {"templates": []}}), "minItems: got 0, want 1"),
        (paths({"/claims": {}}), "missing property 'templates'"),
        (paths({}, webhooks={"for": {"mine": {"operations": ["*"]}}}), "'*' does not match pattern"),
    ],
)
def test_a_path_that_cannot_be_is_refused(values: dict[str, Any], words: str, major: int) -> None:
    with pytest.raises(HelmError) as refused:
        Helm(major).text(values)
    assert words in str(refused.value)


def test_what_stands_in_the_values_counts_before_what_is_shipped() -> None:
    """As the server has it: a ConfigMap counts before a template of the gallery."""
    own = {"envoy": TEMPLATES["claims"]}
    for more, wanted in (
        ({}, "pods"),
        ({"webhooks": {"for": {"envoy": {"resources": ["services"]}}}}, "services"),
        ({"webhooks": {"for": {"envoy": {"resources": ["services"]}}}, "templates": own}, "persistentvolumeclaims"),
    ):
        mutating, _ = rendered(Helm().objects({"settings": {"paths": {"/x": {"templates": ["envoy"]}}}, **more}))
        assert [rule["resources"] for rule in mutating[-1]["rules"]] == [[wanted]]


@pytest.mark.parametrize("major", MAJORS)
def test_the_docs_example_has_its_entries(major: int) -> None:
    text = (ROOT / "docs" / "installing.md").read_text().partition("### Paths of the settings")[2]
    values = yaml.safe_load(text.partition("```yaml\n")[2].partition("```")[0])
    mutating, validating = rendered(Helm(major).objects(values))
    assert validating[-1]["name"] == "path-policies-services.sidecar-injector.internal"
    assert [rule["resources"] for rule in validating[-1]["rules"]] == [["services"]], "both are for the same, told once"
    assert [rule["resources"] for rule in mutating[-1]["rules"]] == [["persistentvolumeclaims"]]


def test_another_path_is_served_from_a_restart_on_and_other_templates_at_it_without() -> None:
    def checksum(found: dict[str, Any]) -> str:
        made = one(Helm().objects(paths(found)), "Deployment")["spec"]["template"]["metadata"]["annotations"]
        return str(made["checksum/read-at-start"])

    first = checksum({"/x": {"templates": ["claims"]}})
    assert first != checksum({}) and first != checksum({"/y": {"templates": ["claims"]}})
    assert first == checksum({"/x": {"templates": ["envoy"], "type": "validating", "failurePolicy": "Fail"}})


@pytest.mark.parametrize("name", [NAME, "edge-injector"])
def test_the_server_is_told_the_names_of_the_objects_that_it_keeps(name: str) -> None:
    objects = Helm().objects({"fullnameOverride": name, "settings": {"repair": {"mode": "missing"}}})
    settings = settings_of(objects, name)
    certificates = settings.certificates
    assert certificates.source == "builtin"
    for kind, told in (
        ("Secret", certificates.secret),
        ("Lease", certificates.lease),
        ("Lease", settings.repair.lease),
        ("Service", certificates.service),
        ("MutatingWebhookConfiguration", certificates.webhooks),
        ("ValidatingWebhookConfiguration", certificates.webhooks),
    ):
        one(objects, kind, told)


def test_how_long_certificates_last_is_a_setting() -> None:
    values = {"settings": {"certificates": {"lifeSeconds": 3600, "authorityLifeSeconds": 7200}}}
    certificates = settings_of(Helm().objects(values)).certificates
    assert (certificates.source, certificates.life_seconds, certificates.authority_life_seconds) == (
        "builtin",
        3600,
        7200,
    )


def bundles(objects: list[Object]) -> set[str]:
    """The bundles of all entries; "" for none."""
    kinds = ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")
    return {
        base64.b64decode(entry["clientConfig"].get("caBundle", "")).decode()
        for kind in kinds
        for entry in one(objects, kind)["webhooks"]
    }


@pytest.mark.parametrize("source", ["builtin", "cert-manager", "csr", "files"])
def test_the_bundle_is_given_or_left_to_who_writes_it(source: str) -> None:
    objects = Helm().objects({"certificates": {"source": source, "caBundle": PEM}})
    assert bundles(objects) == ({""} if source in ("builtin", "cert-manager") else {f"{PEM}\n"})
    asked = {
        configuration["metadata"].get("annotations", {}).get("cert-manager.io/inject-ca-from")
        for configuration in objects
        if configuration["kind"].endswith("WebhookConfiguration")
    }
    assert asked == ({f"{NAME}/{NAME}"} if source == "cert-manager" else {None})


@pytest.mark.parametrize(
    ("source", "what_to_do"),
    [
        (
            "files",
            "make the Secret sidecar-injector-tls with a ca.crt before, or add --set-file certificates.caBundle=",
        ),
        (
            "csr",
            "(injector certs --signer ... --print ca-bundle | base64 -d > ca.crt) and add --set-file certificates.",
        ),
    ],
)
def test_without_a_bundle_it_says_what_to_do(source: str, what_to_do: str) -> None:
    with pytest.raises(HelmError) as refused:
        Helm().text({"certificates": {"source": source}})
    assert what_to_do in str(refused.value)


# -------------------------------------------------------------------------------------------------- permissions


def lines(text: str, kind: str) -> list[tuple[str, Any]]:
    """The rules of the role of this kind, each with the comment above it."""
    [document] = [part for part in text.split("\n---\n") if f"\nkind: {kind}\n" in part]
    rules = yaml.safe_load(document)["rules"]
    reasons = re.findall(r"^# (.*)\n- apiGroups:", document, re.MULTILINE)
    assert len(reasons) == len(rules), "a rule has no reason, or more than a line of it"
    return list(zip(reasons, rules, strict=True))


def test_the_templates_of_teams_have_a_role_of_their_own() -> None:
    assert "team-templates" not in Helm().text({})
    text = Helm().text({"settings": {"teamTemplates": {"namespaces": {}}}})
    [document] = [part for part in text.split("\n---\n") if "kind: ClusterRole\n" in part and "team-templates" in part]
    wanted = set(permissions(Installation(), team_templates=True)) - set(permissions(Installation()))
    assert lines(document, "ClusterRole") == [(line.reason, line.rule()) for line in wanted]
    bindings = [o for o in Helm().objects({"settings": {"teamTemplates": {"namespaces": {}}}}) if "roleRef" in o]
    assert [o["subjects"] for o in bindings] == [bindings[0]["subjects"]] * 3


@pytest.mark.parametrize("source", ["builtin", "cert-manager", "csr", "files"])
@pytest.mark.parametrize("name", [NAME, "edge-injector"])
@pytest.mark.parametrize(("retry", "mode"), [(False, "off"), (True, "off"), (False, "missing"), (True, "missing")])
def test_roles_are_the_table_of_permissions(source: Any, name: str, retry: bool, mode: str) -> None:
    settings = {"retryRefused": retry, "repair": {"mode": mode}}
    chosen = {"settings": settings, "certificates": {"source": source, "caBundle": PEM}}
    text = Helm().text({"fullnameOverride": name, **chosen})
    table = permissions(Installation(name=name), source, retry_refused=retry, repair=mode == "missing")
    for kind, everywhere in (("ClusterRole", True), ("Role", False)):
        wanted = [(line.reason, line.rule()) for line in table if line.everywhere is everywhere]
        assert lines(text, kind) == wanted


@pytest.mark.parametrize(
    ("value", "feature"),
    [
        ("quotas", "checking quotas beforehand"),
        ("comparison", "comparison of config files"),
        ("events", "Events"),
    ],
)
def test_a_feature_that_is_off_has_no_permission(value: str, feature: str) -> None:
    rules = [rule for _, rule in lines(Helm().text({"permissions": {value: False}}), "ClusterRole")]
    wanted = [line for line in permissions(Installation()) if line.everywhere]
    assert rules == [line.rule() for line in wanted if line.feature != feature]
    assert [line.optional for line in wanted if line.feature == feature] == [True]


def test_roles_are_bound_to_the_account_that_the_pods_have() -> None:
    for values, account in (({}, NAME), ({"serviceAccount": {"create": False, "name": "given"}}, "given")):
        objects = Helm().objects(together(values), namespace="edge")
        for kind, role in (("ClusterRoleBinding", "ClusterRole"), ("RoleBinding", "Role")):
            binding = one(objects, kind)
            assert binding["roleRef"] == {"apiGroup": "rbac.authorization.k8s.io", "kind": role, "name": NAME}
            assert binding["subjects"] == [{"kind": "ServiceAccount", "name": account, "namespace": "edge"}]
        assert one(objects, "Deployment")["spec"]["template"]["spec"]["serviceAccountName"] == account
        accounts = [found["metadata"]["name"] for found in objects if found["kind"] == "ServiceAccount"]
        assert accounts == ([NAME] if account == NAME else [])
    kinds = {found["kind"] for found in Helm().objects({"permissions": {"create": False}})}
    assert not kinds & {"ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"}
