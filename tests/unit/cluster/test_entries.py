"""The webhook entries against the installation by hand in docs/serving.md, and with other settings."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from injector.cluster.conditions import selected, text, words
from injector.cluster.entries import Entry, entries
from injector.cluster.installation import Installation
from injector.settings import parse_settings

ROOT = Path(__file__).resolve().parents[3]
HERE = Installation()


def by_hand() -> list[Any]:
    """The configurations of docs/serving.md, section 4, without their caBundle."""
    document = (ROOT / "docs" / "serving.md").read_text()
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
        "server": {"mutatePaths": ["/in", "/other"], "validatePaths": ["/check"], "advisePaths": ["/hint"]},
    }
    found = made(settings, Installation(namespace="edge", name="injector", port=8443, timeout_seconds=9))
    assert list(found) == ["enabled", "required", "opted-in", "guard", "advice"]
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
    assert paths == {"enabled": "/in", "required": "/in", "opted-in": "/in", "guard": "/check", "advice": "/hint"}
    no = "object.metadata.?annotations[?'sidecars.example.org/inject'].orValue('').lowerAscii() in ['nein', 'don\\'t']"
    assert conditions(found["enabled"])["annotation-does-not-say-no"] == f"!({no})"
    assert "in ['ja']" in conditions(found["opted-in"])["annotation-or-label-says-yes"]


@pytest.mark.parametrize("enabled", ["Ignore", "Fail"])
def test_only_what_is_not_guaranteed_has_a_choice_of_failure_policy(enabled: Any) -> None:
    found = made({}, Installation(enabled_failure_policy=enabled, opted_in_failure_policy="Fail"))
    policies = {name: entry["failurePolicy"] for name, entry in found.items()}
    assert policies == {
        "enabled": enabled, "required": "Fail", "opted-in": "Fail", "guard": "Fail", "advice": "Ignore"
    }  # fmt: skip


def test_namespaces_can_be_limited_further() -> None:
    extra = {
        "matchLabels": {"team": "a"},
        "matchExpressions": [{"key": "tier", "operator": "NotIn", "values": ["lab"]}],
    }
    for entry in made({}, Installation(namespaces=extra)).values():
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

    assert one("In", "x", "y") == f"{label}.optMap(v, v in ['x', 'y']).orValue(false)"
    assert one("NotIn", "x") == f"!{label}.optMap(v, v in ['x']).orValue(false)"
    assert one("Exists") == f"{label}.hasValue()"
    assert one("DoesNotExist") == f"!{label}.hasValue()"
    assert selected({}) == "true"
    assert (
        selected({"matchLabels": {"b": "2", "a": "1"}}).index("'a'")
        < selected({"matchLabels": {"a": "1"}}).index("]") + 1
    )
    assert text("a\\b'c") == r"'a\\b\'c'"
    assert words([]) == "[]"
