"""The pure parts of `injector check`: differences, choices, misspelt labels, who trusts whom, what is printed."""

from __future__ import annotations

import copy
import json
from datetime import UTC, datetime, timedelta

import pytest

from injector.cli.checks.check_context import Section, bad, chosen_entries, good, warning
from injector.cli.checks.check_report import look, show_results, worst
from injector.cli.checks.entry_differences import entry_differences
from injector.cli.checks.granted_permissions import permission_words, requests
from injector.cli.checks.namespace_labels import misspelt
from injector.cli.checks.other_webhooks import goes_by, in_order
from injector.cli.checks.serving_certificate import bundle_fault, lasting, trusts
from injector.cli.checks.trial_pod import plain_pod
from injector.cluster.blocking_client import ClusterError
from injector.cluster.entries import entries
from injector.cluster.installation import Installation
from injector.cluster.permissions import permissions
from injector.cluster.x509 import new_authority, pem_of, sign
from injector.errors import SettingsError
from injector.settings import NamespaceLabel, Settings, parse_settings
from injector.templates.load import load_template
from injector.templates.snapshot import Catalog

HERE = Installation(namespace="edge", name="injector")
NOW = datetime(2026, 11, 21, tzinfo=UTC)


def live(installation=HERE, settings=None):
    """Entries as an API server returns them: defaults filled in, a caBundle."""
    made = entries(settings or Settings(), installation)
    found = copy.deepcopy({entry["name"]: entry for entry in (*made.mutating, *made.validating)})
    for entry in found.values():
        entry |= {"objectSelector": {}, "matchPolicy": "Equivalent"}
        entry["clientConfig"]["caBundle"] = "eA=="
    return found


def test_what_the_api_server_fills_in_is_no_difference():
    found = live()
    for entry in (*entries(Settings(), HERE).mutating, *entries(Settings(), HERE).validating):
        assert list(entry_differences(found[entry["name"]], entry)) == []


def test_folded_expressions_and_another_order_are_no_difference():
    found = live()
    [expected] = [e for e in entries(Settings(), HERE).mutating if e["name"].startswith("opted-in")]
    entry = found[expected["name"]]
    for condition in entry["matchConditions"]:
        condition["expression"] = condition["expression"].replace(" ", "\n  ")
    entry["namespaceSelector"]["matchExpressions"].reverse()
    entry["namespaceSelector"]["matchExpressions"][0]["values"].reverse()
    assert list(entry_differences(entry, expected)) == []


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"failurePolicy": "Fail"}, "failurePolicy is Fail, should be Ignore"),
        ({"timeoutSeconds": 30}, "timeoutSeconds is 30, should be 5"),
        ({"sideEffects": "None"}, "sideEffects is None, should be NoneOnDryRun"),
        ({"reinvocationPolicy": "Never"}, "reinvocationPolicy is Never, should be IfNeeded"),
        ({"matchPolicy": "Exact"}, "matchPolicy is Exact, should be Equivalent"),
        ({"admissionReviewVersions": ["v1beta1"]}, 'admissionReviewVersions is ["v1beta1"], should be ["v1"]'),
        ({"matchConditions": None}, "matchConditions lacks not-a-mirror-pod: "),
        ({"namespaceSelector": {"matchLabels": {"a": "b"}}}, "namespaceSelector has a=b, which should not be there"),
        ({"rules": []}, 'rules lacks rule apiGroups "" apiVersions v1 operations CREATE resources pods'),
        ({"clientConfig": {"url": "https://x/mutate"}}, "it calls https://x/mutate, should call Service edge/injector"),
        (
            {"clientConfig": {"service": {"name": "injector", "namespace": "edge", "path": "/x"}}},
            "clientConfig lacks path /mutate",
        ),
    ],
)
def test_a_difference_is_named(change, words):
    expected = entries(Settings(), HERE).mutating[0]
    found = list(entry_differences(live()[expected["name"]] | change, expected))
    assert any(field in change and text.startswith(words) for field, text in found), found


def test_choices_of_an_admin_are_read_back():
    selector = {"matchLabels": {"team": "a"}, "matchExpressions": [{"key": "x", "operator": "Exists"}]}
    mine = Installation(
        namespace="edge",
        name="injector",
        port=9000,
        timeout_seconds=3,
        enabled_failure_policy="Fail",
        opted_in_failure_policy="Ignore",
        namespaces=selector,
    )
    assert chosen_entries(HERE, live(mine), entries(Settings(), HERE)) == mine
    assert chosen_entries(HERE, live(), entries(Settings(), HERE)) == HERE
    assert chosen_entries(HERE, {}, entries(Settings(), HERE)) == HERE


def test_what_one_entry_alone_has_is_no_choice():
    found = live()
    first = found["enabled.injector.internal"]
    first["timeoutSeconds"] = 30
    first["namespaceSelector"]["matchLabels"] = {"team": "a"}
    assert chosen_entries(HERE, found, entries(Settings(), HERE)) == HERE


def test_choices_are_read_back_from_entries_of_paths_too():
    settings = parse_settings({"paths": {"/x": {"templates": ["pods"]}}})
    catalog = Catalog([load_template("pods", {"template.yaml": "description: A.\n", "overlay.yaml.j2": ""})])
    mine = Installation(namespace="edge", name="injector", port=9000, namespaces={"matchLabels": {"team": "a"}})
    found = {e["name"]: e for part in entries(settings, mine, catalog) for e in part}
    assert "path-x.injector.internal" in found
    chosen_back = chosen_entries(HERE, found, entries(settings, HERE, catalog))
    assert chosen_back.port == 9000 and chosen_back.namespaces == {"matchLabels": {"team": "a"}, "matchExpressions": []}


@pytest.mark.parametrize(
    ("labels", "mark", "right"),
    [
        ({}, None, ""),
        ({"injection": "enabled"}, None, ""),
        ({"injection": "enable"}, "error", "injection=enabled"),
        ({"injection": "Enabled"}, "error", "injection=enabled"),
        ({"injection": "require"}, "error", "injection=required"),
        ({"injection": "blue"}, "warning", ""),
        ({"injections": "enabled"}, "error", "injection=enabled"),
        ({"istio-injection": "enabled"}, None, ""),
        ({"injector": "x"}, None, ""),
    ],
)
def test_labels_that_are_misspelt(labels, mark, right):
    found = list(misspelt("shop", labels, Settings()))
    assert [verdict.severity for verdict in found] == ([mark] if mark else [])
    assert all((one.fields.get("label", ""), one.fields["namespace"]) == (right, "shop") for one in found)


def test_an_ignored_namespace_with_the_label():
    [verdict] = misspelt("kube-system", {"injection": "required"}, Settings())
    assert (verdict.severity, verdict.code) == ("warning", "namespace-ignored") and verdict.help


@pytest.mark.parametrize(
    ("selector", "same"),
    [
        ({}, False),
        ({"matchLabels": {"injection": "enabled"}}, True),
        ({"matchLabels": {"injection": "other"}}, False),
        ({"matchExpressions": [{"key": "injection", "operator": "In", "values": ["x", "required"]}]}, True),
        ({"matchExpressions": [{"key": "injection", "operator": "Exists"}]}, True),
        ({"matchExpressions": [{"key": "injection", "operator": "NotIn", "values": ["disabled"]}]}, False),
        ({"matchExpressions": [{"key": "istio-injection", "operator": "In", "values": ["enabled"]}]}, False),
    ],
)
def test_who_goes_by_the_same_label(selector, same):
    assert goes_by({"namespaceSelector": selector}, NamespaceLabel()) is same


@pytest.mark.parametrize(
    "policies",
    [
        ["IfNeeded", "IfNeeded"],
        ["IfNeeded", "Never"],
        ["IfNeeded", None],
    ],
)
def test_a_webhook_before_ours_sees_the_sidecars_when_all_its_entries_are_called_again(policies, golden):
    entries = [{"name": "x", **({"reinvocationPolicy": policy} if policy else {})} for policy in policies]
    [line] = in_order("a-before", entries, "injector", NamespaceLabel())
    golden(line.message)


def test_every_right_of_a_line_is_asked_for():
    for line in permissions(HERE):
        asked = list(requests(line, "edge"))
        assert len(asked) == len(line.resources) * len(line.verbs) * max(1, len(line.names))
        assert all(("namespace" in one) != line.everywhere for one in asked)
        assert {one["verb"] for one in asked} == set(line.verbs)
        assert all(verb in permission_words(line) for verb in line.verbs)


# ------------------------------------------------------------------------------------------- certificates


def authority(name="a", until=365):
    return new_authority(name, NOW, NOW + timedelta(days=until))


def test_who_trusts_whom():
    mine, other = authority(), authority("b")
    served = sign(mine, ["injector.edge.svc"], NOW, NOW + timedelta(days=90)).certificate
    assert trusts([other.certificate, mine.certificate], [served])
    assert not trusts([other.certificate], [served])
    assert not trusts([], [served])
    assert not trusts([other.certificate], [served, mine.certificate])  # a chain that leads elsewhere
    assert trusts([served], [served])  # one that is trusted by itself


@pytest.mark.parametrize(
    ("after", "mark"), [(0, "note"), (60, "note"), (70, "warning"), (89, "warning"), (90, "error")]
)
def test_days_that_are_left(after, mark):
    served = sign(authority(), ["x"], NOW, NOW + timedelta(days=90)).certificate
    [verdict] = lasting(served, NOW + timedelta(days=after))
    assert verdict.severity == mark


def test_a_short_life_is_not_late_from_the_start():
    served = sign(authority(), ["x"], NOW, NOW + timedelta(hours=1)).certificate
    assert [v.severity for v in lasting(served, NOW + timedelta(minutes=5))] == ["note"]
    assert [v.severity for v in lasting(served, NOW + timedelta(minutes=55))] == ["warning"]
    assert [v.severity for v in lasting(served, NOW - timedelta(hours=1))] == ["error"]


def test_what_is_wrong_with_a_bundle():
    assert bundle_fault(b"", NOW) == "caBundle is empty"
    assert "no certificate" in bundle_fault(b"hello", NOW)
    ended, good_one = authority(until=1).certificate, authority().certificate
    later = NOW + timedelta(days=2)
    assert "caBundle expired at 2026-11-22" in bundle_fault(pem_of([ended]), later)
    assert bundle_fault(pem_of([ended, good_one]), later) == ""


# ----------------------------------------------------------------------------------------------- the report


def fine(scene):
    yield good("fine", "all is well", number=3)


def forbidden(scene):
    yield good("half", "the first half")
    raise ClusterError("pods: no", status=403, reason="Forbidden")


def wrong_settings(scene):
    raise SettingsError("settings: unknown key x")
    yield


def broken(scene):
    yield bad("broken", "it is broken", "mend it")


def lost(scene):
    raise ClusterError("https://x cannot be reached")
    yield


def test_a_check_that_cannot_be_done_says_so_and_the_others_go_on():
    results = look(None, [Section("one", (forbidden, wrong_settings)), Section("two", (broken, fine))])
    marks = [[verdict.severity for verdict in verdicts] for _, verdicts in results]
    assert marks == [["note", "warning", "warning"], ["error", "note"]]
    [_, (_, again)] = look(None, [Section("one", (fine,)), Section("two", (wrong_settings, fine, wrong_settings))])
    assert [verdict.severity for verdict in again] == ["warning", "note"], "the same sentence twice"
    assert worst(results) == "error"
    assert worst(results[:1]) == "warning"
    assert worst([]) == "note"


def test_without_an_api_server_nothing_more_is_asked():
    results = look(None, [Section("one", (lost, fine)), Section("two", (fine,))])
    assert [[verdict.code for verdict in verdicts] for _, verdicts in results] == [["cluster"]]


def test_forms_of_the_report(capsys):
    fine, know = good("fine", "all is well", number=3), warning("w", "know it", "read")
    results = [("one", [fine]), ("two", [know]), ("no", [])]
    show_results(results, "text")
    assert capsys.readouterr().out == (
        f"one\n---\n√ {fine.message}\n\ntwo\n---\n‼ {know.message}\n    {know.help}\n\n"
        "Result: ‼ (good: 1, warnings: 1, failed: 0)\n"
    )
    show_results([*results, ("three", [fine])], "short")
    assert capsys.readouterr().out == (
        f"two\n---\n‼ {know.message}\n    {know.help}\n\n√ one, three\nResult: ‼ (good: 2, warnings: 1, failed: 0)\n"
    )
    show_results(results, "json")
    data = json.loads(capsys.readouterr().out)
    assert data["success"] is True
    assert data["sections"][0]["checks"] == [
        {"check": "fine", "result": "good", "text": fine.message, "data": {"number": 3}}
    ]
    assert data["sections"][1]["checks"][0]["toDo"] == know.help


def test_the_pod_that_is_tried_says_yes_where_it_has_to():
    assert plain_pod(Settings())["metadata"]["annotations"] == {}
    said = plain_pod(Settings(pod_default="skip", prefix="mine", yes_values=("oui",)))["metadata"]["annotations"]
    assert said == {"mine/inject": "oui"}


@pytest.mark.parametrize("command", ["check", "list", "pause", "resume"])
def test_without_a_cluster_a_sentence(program, command, tmp_path):
    done = program(command, env={"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)})
    assert done.code == 1
    assert done.err.startswith("Error: no cluster: ") and "Traceback" not in done.err
