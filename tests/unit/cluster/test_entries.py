"""The webhook entries against the installation in docs/installing-by-hand.md, and with other settings."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from injector.cluster.entries import Entries, Entry, entries, selected, string_expression, words
from injector.cluster.installation import Installation
from injector.settings import parse_settings
from injector.templates.load import load_template
from injector.templates.snapshot import Catalog
from injector.templates.template import Template

ROOT = Path(__file__).resolve().parents[3]
HERE = Installation()


def by_hand() -> list[Any]:
    """The configurations of docs/installing-by-hand.md, section 4, without their caBundle."""
    document = (ROOT / "docs" / "installing-by-hand.md").read_text()
    found = re.search(r"^`webhooks.yaml`:\n\n```yaml\n(.*?)^```$", document, re.MULTILINE | re.DOTALL)
    assert found
    configurations = list(yaml.safe_load_all(found[1]))
    for configuration in configurations:
        for entry in configuration["webhooks"]:
            assert entry["clientConfig"].pop("caBundle") == "CA_BUNDLE"
    return configurations


def made(settings: dict[str, Any], installation: Installation = HERE) -> dict[str, Entry]:
    """The entries by the first part of their name."""
    found = entries(parse_settings(settings), installation)
    return {entry["name"].partition(".")[0]: entry for entry in (*found.mutating, *found.validating)}


def conditions(entry: Entry) -> dict[str, str]:
    return {condition["name"]: condition["expression"] for condition in entry["matchConditions"]}


def test_the_installation_by_hand_is_what_the_defaults_make() -> None:
    mutating, validating = by_hand()
    assert mutating["kind"] == "MutatingWebhookConfiguration" and validating["kind"] == "ValidatingWebhookConfiguration"
    found = entries(parse_settings({}), HERE)
    assert mutating["webhooks"] == list(found.mutating)
    assert validating["webhooks"] == list(found.validating)


def test_label_prefix_and_words_are_those_of_the_settings() -> None:
    settings = {
        "prefix": "sidecars.example.org",
        "namespaceLabel": {"key": "example.org/sidecars", "enabled": "on", "required": "must", "disabled": "never"},
        "yesValues": ["Ja"],
        "noValues": ["NEIN", "don't"],
        "ignoredNamespaces": ["kube-system", "monitoring"],
        "server": {
            "mutatePaths": ["/in", "/other"],
            "validatePaths": ["/check"],
            "advisePaths": ["/hint"],
            "trialPaths": ["/src"],
        },
    }
    found = made(settings, Installation(namespace="edge", name="injector", port=8443, timeout_seconds=9))
    assert list(found) == ["enabled", "required", "opted-in", "guard", "advice", "sources"]
    sources = found.pop("sources")
    assert "sidecars.example.org/template" in conditions(sources)["template-or-settings"]
    assert sources["namespaceSelector"] == {"matchLabels": {"kubernetes.io/metadata.name": "edge"}}
    assert (sources["clientConfig"]["service"]["path"], sources["failurePolicy"]) == ("/src", "Ignore")
    labels = {name: entry["namespaceSelector"]["matchExpressions"][0] for name, entry in found.items()}
    assert {label["key"] for label in labels.values()} == {"example.org/sidecars"}
    assert {name: (label["operator"], *label["values"]) for name, label in labels.items()} == {
        "enabled": ("In", "on"),
        "required": ("In", "must"),
        "opted-in": ("NotIn", "on", "must", "never"),
        "guard": ("In", "must"),
        "advice": ("In", "on", "must"),
    }
    for entry in found.values():
        assert entry["name"].endswith(".injector.internal") and entry["timeoutSeconds"] == 9
        assert entry["namespaceSelector"]["matchExpressions"][1]["values"] == ["kube-system", "monitoring", "edge"]
        service = entry["clientConfig"]["service"]
        assert (service["namespace"], service["name"], service["port"]) == ("edge", "injector", 8443)
    paths = {name: entry["clientConfig"]["service"]["path"] for name, entry in found.items()}
    asked = dict.fromkeys(("enabled", "required", "opted-in"), "/in")
    assert paths == asked | {"guard": "/check", "advice": "/hint"}
    no = "object.metadata.?annotations[?'sidecars.example.org/inject'].orValue('').lowerAscii() in ['nein', 'don\\'t']"
    assert conditions(found["enabled"])["annotation-does-not-say-no"] == f"!({no})"
    assert "in ['ja']" in conditions(found["opted-in"])["annotation-or-label-says-yes"]


@pytest.mark.parametrize("enabled", ["Ignore", "Fail"])
def test_only_what_is_not_guaranteed_has_a_choice_of_failure_policy(enabled: Any) -> None:
    found = made({}, Installation(enabled_failure_policy=enabled, opted_in_failure_policy="Fail"))
    policies = {name: entry["failurePolicy"] for name, entry in found.items()}
    assert policies == {
        "enabled": enabled, "required": "Fail", "opted-in": "Fail", "guard": "Fail", "advice": "Ignore",
        "sources": "Ignore",
    }  # fmt: skip


def test_namespaces_can_be_limited_further() -> None:
    extra = {
        "matchLabels": {"team": "a"},
        "matchExpressions": [{"key": "tier", "operator": "NotIn", "values": ["lab"]}],
    }
    found = made({}, Installation(namespaces=extra))
    del found["sources"]  # it is about the injector's own namespace
    for entry in found.values():
        selector = entry["namespaceSelector"]
        assert selector["matchLabels"] == {"team": "a"}
        assert selector["matchExpressions"][2:] == extra["matchExpressions"]
        assert len(selector["matchExpressions"]) == 3


def test_pods_that_are_always_selected_are_asked_about_without_a_yes() -> None:
    always = {"matchLabels": {"tier": "edge"}, "matchExpressions": [{"key": "lab", "operator": "DoesNotExist"}]}
    found = made({"alwaysSelector": always})
    expression = conditions(found["opted-in"])["says-yes-or-is-always-selected"]
    plain = conditions(made({})["opted-in"])["annotation-or-label-says-yes"]
    assert expression == f"{plain} || ({selected(always)})"
    assert found["enabled"] == made({})["enabled"]


def test_selectors_become_expressions() -> None:
    label = "object.metadata.?labels[?'a']"

    def one(operator: str, *values: str) -> str:
        return selected({"matchExpressions": [{"key": "a", "operator": operator, "values": list(values)}]})

    assert one("In", "x", "y") == f"({label}.hasValue() && {label}.value() in ['x', 'y'])"
    assert one("NotIn", "x") == f"!({label}.hasValue() && {label}.value() in ['x'])"
    assert one("Exists") == f"{label}.hasValue()"
    assert one("DoesNotExist") == f"!{label}.hasValue()"
    assert selected({}) == "true"
    assert (
        selected({"matchLabels": {"b": "2", "a": "1"}}).index("'a'")
        < selected({"matchLabels": {"a": "1"}}).index("]") + 1
    )
    assert string_expression("a\\b'c") == r"'a\\b\'c'"
    assert words([]) == "[]"


# ------------------------------------------------------------------------------------------------ the settings' paths


def template(name: str, covered: str = "", more: str = "") -> Template:
    files = {"template.yaml": f"description: A.\n{f'for: {covered}' if covered else ''}\n{more}", "overlay.yaml.j2": ""}
    return load_template(name, files)


CATALOG = Catalog(
    [
        template("pods"),
        template("also-pods", more="selector: {matchLabels: {a: b}}\n"),
        template("projects", "{apiGroups: [project.openshift.io], resources: [projectrequests]}"),
        template("ephemeral", "{resources: [pods/ephemeralcontainers], operations: [UPDATE]}"),
    ]
)


def at_paths(paths: dict[str, Any], **more: Any) -> Entries:
    """What comes to the entries of the label."""
    settings, here = parse_settings({"paths": paths, **more}), Installation(namespace="edge", name="injector")
    found, bare = entries(settings, here, CATALOG), entries(parse_settings(more), here)
    assert found.mutating[:3] == bare.mutating and found.validating[:3] == bare.validating
    return Entries(found.mutating[3:], found.validating[3:])


def test_a_path_has_an_entry_in_the_configuration_of_its_type() -> None:
    found = at_paths(
        {
            "/validate-project": {"type": "validating", "templates": ["projects"]},
            "/a/b": {"templates": ["pods", "ephemeral", "also-pods"], "failurePolicy": "Fail"},
        },
        ignoredNamespaces=["kube-system"],
    )
    [mutating], [validating] = found
    assert mutating == {
        "name": "path-a-b.injector.internal",
        "clientConfig": {"service": {"name": "injector", "namespace": "edge", "path": "/a/b", "port": 443}},
        "rules": [
            {
                "apiGroups": [""],
                "apiVersions": ["v1"],
                "operations": ["CREATE"],
                "resources": ["pods"],
                "scope": "*",
            },
            {
                "apiGroups": [""],
                "apiVersions": ["v1"],
                "operations": ["UPDATE"],
                "resources": ["pods/ephemeralcontainers"],
                "scope": "*",
            },
        ],
        "failurePolicy": "Fail",
        "sideEffects": "None",
        "timeoutSeconds": 5,
        "reinvocationPolicy": "IfNeeded",
        "admissionReviewVersions": ["v1"],
        "namespaceSelector": {
            "matchExpressions": [
                {"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": ["kube-system", "edge"]}
            ]
        },
    }
    assert validating["name"] == "path-validate-project.injector.internal"
    assert validating["failurePolicy"] == "Ignore" and "reinvocationPolicy" not in validating
    assert [rule["apiGroups"] for rule in validating["rules"]] == [["project.openshift.io"]]


def test_entries_of_paths_stand_in_the_settings_order_behind_the_others() -> None:
    """So the templates at a path see the sidecars too."""
    found = at_paths({path: {"templates": ["pods"]} for path in ("/z", "/a", "/m")})
    assert [entry["name"].partition(".")[0] for entry in found.mutating] == ["path-z", "path-a", "path-m"]


@pytest.mark.parametrize("templates", [["none"], ["pods", "none"]])
def test_a_path_with_a_template_that_is_not_known_has_no_entry(templates: list[str]) -> None:
    found = at_paths({"/x": {"templates": templates}, "/y": {"templates": ["pods"]}})
    assert [entry["name"] for entry in found.mutating] == ["path-y.injector.internal"]


def test_no_path_can_be_called_as_another_entry_is() -> None:
    known = [entry["name"].partition(".")[0] for part in entries(parse_settings({}), HERE) for entry in part]
    found = at_paths({f"/{name}": {"templates": ["pods"]} for name in known if name != "advice"})
    assert not {entry["name"].partition(".")[0] for entry in found.mutating} & set(known)
    assert len(found.mutating) == 5


def test_what_an_admin_allows_holds_at_paths_too() -> None:
    more = {"matchLabels": {"team": "a"}, "matchExpressions": [{"key": "tier", "operator": "Exists"}]}
    here = Installation(namespaces=more, timeout_seconds=9, port=8443)
    [*_, entry] = entries(parse_settings({"paths": {"/x": {"templates": ["pods"]}}}), here, CATALOG).mutating
    assert entry["namespaceSelector"]["matchLabels"] == {"team": "a"}
    assert entry["namespaceSelector"]["matchExpressions"][1:] == more["matchExpressions"]
    assert (entry["timeoutSeconds"], entry["clientConfig"]["service"]["port"]) == (9, 8443)
