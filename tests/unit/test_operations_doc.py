"""What docs/operations.md says of the code and the chart is what they say: names, times, policies, figures, alerts."""

from __future__ import annotations

import inspect
import re
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml

from injector.cluster import bundles, installation
from injector.cluster.builtin import _GONE_SECONDS
from injector.cluster.config_maps import ConfigMaps
from injector.cluster.entries import entries
from injector.cluster.events import Pace
from injector.cluster.installation import INSTALLATION, Installation
from injector.cluster.lease import LeaseTiming
from injector.cluster.permissions import permissions
from injector.cluster.rotation import KEYS
from injector.cluster.tasks import RepairBackoff
from injector.cluster.update_policy import update_policy
from injector.loading import trial
from injector.reasons import Effect, Reason
from injector.settings import Settings
from injector.telemetry import Metrics
from injector.templates.template import SETTERS
from injector.webhook import cluster_sync, tls
from injector.webhook.server import STUCK_SECONDS
from tests.unit.test_docs import code, page, table

ROOT = Path(__file__).resolve().parents[2]
PAGE = page("operations.md")
FLAT = " ".join(PAGE.split())
VALUES = yaml.safe_load((ROOT / "deploy" / "chart" / "values.yaml").read_text())
OBJECTS = [o for o in yaml.load_all((ROOT / "deploy" / "install.yaml").read_text(), yaml.CSafeLoader) if o]
INSTALLED = Installation()
_MIB = 1024 * 1024


def numbers(text: str) -> list[int]:
    return [int(found.replace(",", "")) for found in re.findall(r"\d[\d,]*", text)]


# ---------------------------------------------------------------------------------------------------------- figures


def test_figures_are_those_of_the_benchmark() -> None:
    measured = page("benchmark.md")
    rows = table(measured, "", *table_head(measured))
    [seen], [new] = ([row for row in rows if row[0] == name] for name in SAME)
    start, most, _ = numbers(measured.split("different pods:")[1])
    written = [row[1] for row in table(PAGE, "", "")]
    rate = round(1e6 / int(new[1]))
    assert [numbers(cell)[0] for cell in written] == [int(seen[1]), int(new[1]), rate, start, most]
    few, _, many = ([int(row[column]) for column in (3, 5)] for row in table(measured, "variables", *_GROWTH))
    growth = [high / low for low, high in zip(few, many, strict=True)]
    assert "four to eight times what 20 cost" in FLAT and all(3.5 < times < 8.5 for times in growth)


SAME = ("a replica of a pod seen before", "a new workload")
_GROWTH = ("KiB a review", "Go webhook, CPU us", "replica", "against Go", "new workload", "against Go")


def table_head(measured: str) -> list[str]:
    head = next(line for line in measured.splitlines() if line.startswith("| | CPU us"))
    return [cell.strip() for cell in head.split("|")[2:-1]]


def test_bounds_are_those_of_the_settings_and_the_chart() -> None:
    assert f"`server.cacheBytes`, {Settings().server.cache_bytes // _MIB} MiB" in PAGE
    assert f"uses up to {trial._MEMORY // _MIB} MiB" in PAGE
    assert f"memory limit of {VALUES['resources']['limits']['memory']}" in PAGE
    assert "cpu" not in VALUES["resources"]["limits"], "the page says to set none"


# -------------------------------------------------------------------------------------------------- policies, times


def test_failure_policies_are_those_of_the_entries() -> None:
    follows = "what follows if the call fails, or has no answer after `timeoutSeconds` (5; for `sources` 10)"
    rows = table(PAGE, "entry", "failurePolicy", follows)
    known = [*entries(Settings(), INSTALLED).mutating, *entries(Settings(), INSTALLED).validating]
    assert [(code(row[0])[0], row[1]) for row in rows] == [
        (entry["name"].partition(".")[0], entry["failurePolicy"]) for entry in known
    ]
    assert {entry["timeoutSeconds"] for entry in known if "sources" not in entry["name"]} == {5}
    assert {entry["timeoutSeconds"] for entry in known if "sources" in entry["name"]} == {10}
    refused = {code(row[0])[0] for row in rows if "refused" in row[2]}
    assert refused == {entry["name"].partition(".")[0] for entry in known if entry["failurePolicy"] == "Fail"}


def test_how_long_things_take() -> None:
    kept = Settings().certificates
    assert LeaseTiming.of(kept.lease_seconds) == LeaseTiming()
    seen = inspect.signature(ConfigMaps).parameters["seconds"].default
    longest = inspect.signature(RepairBackoff).parameters["longest"].default
    assert [float(row[1]) for row in table(PAGE, "what", "seconds")] == [
        kept.lease_seconds,
        kept.settle_seconds,
        _GONE_SECONDS,
        longest,
        tls.CERTIFICATE_POLL_SECONDS,
        Pace().again,
        seen,
        cluster_sync._AWAY_SECONDS,
    ]
    assert f"After {STUCK_SECONDS:.0f} s " in PAGE


def test_lives_of_certificates_are_those_of_the_settings() -> None:
    kept = Settings().certificates
    life, authority = timedelta(seconds=kept.life_seconds).days, timedelta(seconds=kept.authority_life_seconds).days
    [row] = [
        row
        for row in table(PAGE, "`certificates.source`", "what happens, and when", "what to watch")
        if "365" in row[1]
    ]
    assert code(row[0]) == ["builtin"]
    assert numbers(row[1]) == [life, life * 2 // 3, authority, authority * 2 // 3, int(kept.settle_seconds)]


# ------------------------------------------------------------------------------------------------------------ names


def test_field_managers_and_fields_are_those_of_the_code() -> None:
    rows = table(PAGE, "object", "field", "who", "field manager")
    managers = {code(row[1])[0]: code(row[3]) for row in rows if code(row[1])}
    assert managers["webhooks[*].clientConfig.caBundle"] == [bundles.FIELD_MANAGER]
    assert managers["webhooks[*].objectSelector"] == [installation.PAUSE_MANAGER]
    assert managers["data"] == [bundles.FIELD_MANAGER]
    [annotations] = [found for row in rows for found in code(row[1]) if found.endswith("-...")]
    assert all(
        key.startswith(annotations.removesuffix("..."))
        for key in (installation._BY, installation._AT, installation._REASON)
    )
    kept = Settings().certificates
    named = {row[0].partition(" ")[0]: code(row[0])[0] for row in rows if code(row[0])}
    assert named == {"Secret": kept.secret, "Lease": kept.lease}
    assert {(o["kind"], o["metadata"]["name"]) for o in OBJECTS} >= set(named.items())


def plural(kind: str) -> str:
    """A kind as kubectl takes it."""
    one = kind.lower()
    return f"{one}es" if one.endswith("s") else f"{one[:-1]}ies" if one.endswith("y") else f"{one}s"


def test_nothing_is_left_is_asked_of_all_that_has_no_namespace() -> None:
    [(kinds, label)] = re.findall(r"kubectl get (\w+(?:,\w+)+) -l (\S+)", PAGE)
    assert label == INSTALLATION
    optional = update_policy(Settings(), Installation())
    there = [o["kind"] for o in OBJECTS if "namespace" not in o["metadata"] and o["kind"] != "Namespace"]
    assert set(kinds.split(",")) == {plural(kind) for kind in [*there, *(o["kind"] for o in optional)]}
    assert all(o["metadata"]["labels"].items() >= {tuple(label.split("="))} for o in OBJECTS)
    assert f"-l {Settings().generated_label}\n" in PAGE


def test_every_word_with_a_hyphen_is_one_of_the_code_or_of_the_chart() -> None:
    """Reasons, log lines, checks, names of objects: whatever stands in code on the page and nowhere else is wrong."""
    files = [*(ROOT / "injector").rglob("*.py"), *(ROOT / "deploy").rglob("*.*"), ROOT / "docs" / "checking.md"]
    files.append(ROOT / "docs" / "installing.md")  # names that the chart puts together
    source = "\n".join(file.read_text() for file in files if file.suffix != ".pyc")
    for word in {found for found in code(PAGE) if re.fullmatch(r"[a-z]+(-[a-z]+)+", found)}:
        assert re.search(rf"(?<![\w-]){word}(?![\w-])", source), f"nobody knows {word}"


def test_values_and_settings_that_are_named_exist() -> None:
    settings = {code(row[0])[0] for row in table(page("settings.md"), "setting", "default", "what it does")}
    named = {found.partition(":")[0] for found in code(PAGE)}
    dotted = {found for found in named if re.fullmatch(r"[a-z]\w*(\.[a-zA-Z]+)+", found) and "yaml" not in found}
    dotted -= {"sidecar.injector", *KEYS}
    assert len(dotted) > 8
    for path in dotted:
        assert path in settings or path.removeprefix("settings.") in settings or in_values(path), path
    for one in ("hostNetwork", "highAvailability", "replicas", "commonLabels"):
        assert one in named and one in VALUES


def in_values(path: str) -> bool:
    found: Any = VALUES
    for step in path.split("."):
        if not isinstance(found, dict) or step not in found:
            return False
        found = found[step]
    return True


def test_ports_are_those_that_it_listens_on() -> None:
    server = Settings().server
    rows = [row[0] for row in table(PAGE, "who may", "can")]
    assert any(row.startswith(f"reach port {server.port} ") for row in rows)
    assert f"reach port {server.metrics_port}" in rows
    assert f"TCP {server.port}" in PAGE and f"where {server.port} and {server.metrics_port} are free" in PAGE


# --------------------------------------------------------------------------------------------------------- security


def test_it_may_no_more_than_the_page_says() -> None:
    lines = permissions(INSTALLED, "builtin")
    assert not [line for line in lines if {"pods", "serviceaccounts"} & set(line.resources)]
    secrets = [line for line in lines if "secrets" in line.resources]
    assert not any(line.everywhere for line in secrets)
    assert all(line.names == (Settings().certificates.secret,) for line in secrets if line.verbs != ("create",))
    changing = {
        (line.resources, line.verbs) for line in lines if line.everywhere and {*line.verbs} - {"get", "list", "watch"}
    }
    configurations = ("mutatingwebhookconfigurations", "validatingwebhookconfigurations")
    assert changing == {
        (("configmaps",), ("create",)),
        (("events",), ("create",)),
        (configurations, ("get", "list", "watch", "patch")),
    }
    assert SETTERS == ("pod", "namespace", "settings") and "`from: [settings]`" in PAGE


# ----------------------------------------------------------------------------------------------------------- alerts

[_BLOCK] = re.findall(r"^```yaml\n(groups:.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
RULES = [rule for group in yaml.safe_load(_BLOCK)["groups"] for rule in group["rules"]]
#: What the API server counts, with the labels that it has.
API_SERVER = {
    "apiserver_admission_webhook_fail_open_count": {"name", "type"},
    "apiserver_admission_webhook_rejection_count": {"name", "type", "operation", "error_type", "rejection_code"},
}
LABELLED = {
    "outcome": {str(effect) for effect in Effect},
    "reason": {str(reason) for reason in Reason},
    "path": {"mutate", "validate", "advise"},
    "result": {"swapped", "refused"},
    "error_type": {"calling_webhook_error", "apiserver_internal_error", "no_error"},
}


def exposed() -> dict[str, set[str]]:
    """Every series' name with the labels that it has."""
    metrics, found = Metrics(), dict[str, set[str]]()
    for metric in vars(metrics).values():
        if not hasattr(metric, "labels"):
            continue
        name, labels = metric.name, set(metric.labels)
        kind = getattr(metric, "kind", "histogram")
        endings = {"counter": ("_total",), "gauge": ("",), "histogram": ("_bucket", "_sum", "_count")}[kind]
        found |= {f"{name}{ending}": labels | ({"le"} if ending == "_bucket" else set()) for ending in endings}
    process = re.findall(r"^# TYPE (process_\w+)", metrics.exposition().decode(), re.MULTILINE)
    return found | API_SERVER | {name: set() for name in process}


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule["alert"])
def test_an_alert_is_about_series_and_labels_that_there_are(rule: dict[str, Any]) -> None:
    assert set(rule) <= {"alert", "expr", "for", "labels", "annotations"} and set(rule["annotations"]) == {"summary"}
    expression, known = rule["expr"], exposed()
    names = re.findall(r"\b((?:injector|apiserver|process)_\w+)(\{[^}]*\})?", expression)
    assert names
    for name, matchers in names:
        assert name in known, f"there is no {name}"
        for label, value in re.findall(r'(\w+)(?:=~|!=|=)"([^"]*)"', matchers):
            assert label in known[name], f"{name} has no label {label}"
            if label in LABELLED:
                assert set(value.split("|")) <= LABELLED[label]
    for grouped in re.findall(r"by \(([^)]*)\)", expression):
        assert {label.strip() for label in grouped.split(",")} <= set().union(*(known[name] for name, _ in names))


def test_every_alert_is_explained() -> None:
    """In a section of its own, which is where its runbook_url leads."""
    explained = re.findall(r"^### (\w+)\n\n\S", PAGE.partition("\n## Monitoring: alerts\n")[2], re.MULTILINE)
    assert explained == [rule["alert"] for rule in RULES]


def test_alerts_match_the_entries_of_the_webhooks() -> None:
    patterns = {found for rule in RULES for found in re.findall(r'name=~"([^"]*)"', rule["expr"])}
    known = [*entries(Settings(), INSTALLED).mutating, *entries(Settings(), INSTALLED).validating]
    assert len(patterns) == 1
    assert all(re.fullmatch(pattern, entry["name"]) for pattern in patterns for entry in known)


def test_alerts_about_certificates_come_after_the_renewal_and_before_the_end() -> None:
    kept = Settings().certificates
    lives = {"InjectorCertificateEnds": kept.life_seconds, "InjectorAuthorityEnds": kept.authority_life_seconds}
    for alert, life in lives.items():
        [rule] = [rule for rule in RULES if rule["alert"] == alert]
        [days] = re.findall(r"< (\d+) \* 86400", rule["expr"])
        assert 0 < int(days) * 86400 < life / 3
    assert " 63 days" in PAGE and "< 21 * 86400" in PAGE
