"""The chart's alerts and dashboard: each alert fires for its cause and else is silent; panels are whole."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from injector.telemetry import Metrics
from tests import parts
from tests.deploy.helm import NAME, ROOT, Helm, one
from tests.deploy.made import alerts

BOTH = {"metrics": {"prometheusRule": {"enabled": True}, "dashboard": {"enabled": True}}}
RULES = [rule for group in yaml.safe_load(alerts())["groups"] for rule in group["rules"]]
UP = 'injector_snapshot_info{job="injector", instance="a", generation="1"}'
DAY = 86400


class Case(NamedTuple):
    """Series that have an alert fire at `minutes`, with its labels; and those, much the same, that do not."""

    fires: dict[str, str]
    silent: dict[str, str]
    labels: dict[str, str]
    minutes: int = 15


def reviews(reason: str, outcome: str) -> str:
    return f'injector_reviews_total{{path="mutate", reason="{reason}", outcome="{outcome}"}}'


def called(counter: str, entry: str = f"required.{NAME}.internal", **more: str) -> str:
    labels = "".join(f', {key}="{value}"' for key, value in more.items())
    return f'apiserver_admission_webhook_{counter}{{name="{entry}"{labels}}}'


def seconds(le: str) -> str:
    return f'injector_review_seconds_bucket{{path="mutate", cached="no", le="{le}"}}'


STEP, FLAT = "0x5 1x15", "7x20"
OPEN, REFUSED = "fail_open_count", "rejection_count"
NOBODY = {"error_type": "calling_webhook_error"}
CASES = {
    "InjectorGone": Case({UP: "1x5 _x20"}, {UP: "1x20"}, {"generation": ""}),
    "InjectorNotCalled": Case(
        {called(OPEN, type="admit"): STEP},
        {
            called(OPEN, type="admit"): FLAT,
            called(OPEN, "other.example.com", type="admit"): STEP,
            called(OPEN, f"advice.{NAME}.internal", type="validating"): STEP,  # nothing but a warning is missing
        },
        {"name": f"required.{NAME}.internal"},
        10,
    ),
    "InjectorCallsRefused": Case(
        {called(REFUSED, **NOBODY): STEP},
        {called(REFUSED, **NOBODY): FLAT, called(REFUSED, error_type="no_error"): STEP},
        {"name": f"required.{NAME}.internal"},
        10,
    ),
    "InjectorFails": Case(
        {reviews("files-failed", "mark"): STEP},
        {reviews("files-failed", "mark"): FLAT, reviews("quota", "mark"): STEP},
        {"reason": "files-failed"},
        10,
    ),
    "PodsWithoutSidecar": Case(
        {reviews("quota", "refuse"): STEP},
        {reviews("denied", "refuse"): STEP, reviews("injected", "inject"): STEP, reviews("quota", "mark"): FLAT},
        {"reason": "quota", "outcome": "refuse"},
    ),
    "InjectorReloadFailing": Case(
        {"injector_reload_failing": "0x5 1x15"}, {"injector_reload_failing": "0x10 1x2 0x5"}, {}
    ),
    "InjectorReplicasDiffer": Case(
        {UP: "1x20", UP.replace('"a"', '"b"').replace('"1"', '"2"'): "1x20"},
        {UP: "1x20", UP.replace('"a"', '"b"'): "1x20"},
        {},
    ),
    "InjectorCertificateEnds": Case(
        {"injector_certificate_not_after_timestamp_seconds": f"{20 * DAY}x20"},
        {"injector_certificate_not_after_timestamp_seconds": f"{22 * DAY}x20"},
        {},
    ),
    "InjectorAuthorityEnds": Case(
        {"injector_authority_not_after_timestamp_seconds": f"{99 * DAY}x20"},
        {"injector_authority_not_after_timestamp_seconds": f"{101 * DAY}x20"},
        {},
    ),
    "InjectorCertificateRefused": Case(
        {'injector_certificate_reloads_total{result="refused"}': STEP},
        {
            'injector_certificate_reloads_total{result="refused"}': FLAT,
            'injector_certificate_reloads_total{result="swapped"}': STEP,
        },
        {},
    ),
    "InjectorWithoutLeader": Case(
        {'injector_leader{instance="a"}': "1x5 0x15", 'injector_leader{instance="b"}': "0x20"},
        {'injector_leader{instance="a"}': "1x5 0x15", 'injector_leader{instance="b"}': "0x6 1x14"},
        {},
    ),
    "InjectorBundleFight": Case(
        {'injector_bundle_fights_total{manager="other"}': STEP},
        {'injector_bundle_fights_total{manager="other"}': FLAT},
        {"manager": "other"},
    ),
    "InjectorRepairStopped": Case(
        {'injector_repair_stopped{instance="a"}': "0x5 1x15"}, {'injector_repair_stopped{instance="a"}': "0x20"}, {}
    ),
    "InjectorCutOff": Case(
        {"injector_api_server_away_seconds": "0+60x20"}, {"injector_api_server_away_seconds": "0 0 60 120 0 0x15"}, {}
    ),
    "InjectorSlow": Case(
        {seconds("0.5"): "0+90x20", seconds("1"): "0+100x20", seconds("+Inf"): "0+100x20"},
        {seconds("0.5"): "0+100x20", seconds("1"): "0+100x20", seconds("+Inf"): "0+100x20"},
        {},
    ),
    "InjectorHangs": Case({"injector_event_loop_late_total": STEP}, {"injector_event_loop_late_total": FLAT}, {}),
    "InjectorBusy": Case(
        {UP: "1x30", 'process_cpu_seconds_total{job="injector", instance="a"}': "0+48x30"},
        {
            UP: "1x30",
            'process_cpu_seconds_total{job="injector", instance="a"}': "0+36x30",
            'process_cpu_seconds_total{job="other", instance="a"}': "0+60x30",
        },
        {"job": "injector", "instance": "a"},
        25,
    ),
    "InjectorUnreadable": Case(
        {'injector_unreadable_requests_total{code="413"}': STEP},
        {'injector_unreadable_requests_total{code="413"}': FLAT},
        {"code": "413"},
        10,
    ),
}


@pytest.fixture(scope="module")
def rule_groups() -> dict[str, Any]:
    """What the PrometheusRule hands to Prometheus."""
    spec: dict[str, Any] = one(Helm().objects(BOTH), "PrometheusRule")["spec"]
    return spec


def promtool(*words: str | Path) -> str:
    done = subprocess.run([parts.require("promtool"), *words], capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_every_alert_is_tried_here() -> None:
    assert list(CASES) == [rule["alert"] for rule in RULES]


@pytest.mark.programs
@pytest.mark.parametrize("alert", CASES)
def test_an_alert_fires_for_its_cause_alone(alert: str, rule_groups: dict[str, Any], tmp_path: Path) -> None:
    """What else fires on the way is not checked: a certificate that ends has ended for every other alert too."""
    [rule] = [rule for group in rule_groups["groups"] for rule in group["rules"] if rule["alert"] == alert]
    case = CASES[alert]
    labels = {key: value for key, value in (rule["labels"] | case.labels).items() if value}
    fired = {"exp_labels": labels, "exp_annotations": rule["annotations"]}

    def tried(series: dict[str, str], expected: list[Any]) -> dict[str, Any]:
        asked = {"eval_time": f"{case.minutes}m", "alertname": alert, "exp_alerts": expected}
        given = [{"series": name, "values": values} for name, values in series.items()]
        return {"interval": "1m", "input_series": given, "alert_rule_test": [asked]}

    (tmp_path / "rules.yaml").write_text(yaml.safe_dump(rule_groups))
    tests = [tried(case.fires, [fired]), tried(case.silent, [])]
    file = tmp_path / "tests.yaml"
    file.write_text(yaml.safe_dump({"rule_files": ["rules.yaml"], "tests": tests}))
    promtool("test", "rules", file)


@pytest.mark.programs
def test_the_chart_says_what_alerts_yaml_says_with_a_runbook_for_each(
    rule_groups: dict[str, Any], tmp_path: Path
) -> None:
    made = [rule for group in rule_groups["groups"] for rule in group["rules"]]
    runbooks = [rule["annotations"].pop("runbook_url") for rule in made]
    assert made == RULES
    assert [url.partition("#")[2] for url in runbooks] == [rule["alert"].lower() for rule in RULES]
    (tmp_path / "rules.yaml").write_text(yaml.safe_dump({"groups": [{"name": "made", "rules": made}]}))
    promtool("check", "rules", tmp_path / "rules.yaml")


@pytest.mark.programs
def test_pods_are_counted_by_their_label(tmp_path: Path) -> None:
    """The queries of docs/operations.md, over series as kube-state-metrics has them."""
    queries = re.findall(r"```promql\n(.*?)```", (ROOT / "docs" / "operations.md").read_text(), re.DOTALL)
    pods = {
        ("shop", "a"): "injected", ("shop", "b"): "injected", ("shop", "c"): "failed", ("shop", "d"): "",
        ("must", "e"): "", ("other", "f"): "",
    }  # fmt: skip
    series = {
        f'kube_pod_labels{{namespace="{space}",pod="{pod}",label_sidecar_injector_status="{mark}"}}'
        for (space, pod), mark in pods.items()
    }
    labels = {"shop": "enabled", "must": "required", "other": ""}
    series |= {f'kube_namespace_labels{{namespace="{n}",label_injection="{v}"}}' for n, v in labels.items()}
    by_mark = {'label_sidecar_injector_status="injected", namespace="shop"': 2,
               'label_sidecar_injector_status="failed", namespace="shop"': 1}  # fmt: skip
    bare = {'namespace="shop"': 1, 'namespace="must"': 1}
    tests = [
        {"expr": query, "eval_time": "1m",
         "exp_samples": [{"labels": f"{{{of}}}", "value": value} for of, value in expected.items()]}
        for query, expected in zip(queries, (by_mark, bare), strict=True)
    ]  # fmt: skip
    given = [{"series": name, "values": "1 1 1"} for name in sorted(series)]
    file = tmp_path / "tests.yaml"
    file.write_text(yaml.safe_dump({"tests": [{"interval": "1m", "input_series": given, "promql_expr_test": tests}]}))
    promtool("test", "rules", file)


@pytest.mark.parametrize("kind", ["PrometheusRule", "ConfigMap"])
def test_another_name_is_that_of_its_webhooks(kind: str) -> None:
    name = "edge"
    objects = Helm().objects({**BOTH, "fullnameOverride": name})
    found = json.dumps(one(objects, kind, name if kind == "PrometheusRule" else f"{name}-dashboard"))
    patterns = re.findall(r"\.\+\[\.\]([\w-]+)\[\.\]internal", found)
    assert patterns and set(patterns) == {name}


def dashboard(major: int = 4) -> dict[str, Any]:
    made = one(Helm(major).objects(BOTH), "ConfigMap", f"{NAME}-dashboard")
    assert made["metadata"]["labels"]["grafana_dashboard"] == "1"
    found: dict[str, Any] = json.loads(made["data"][f"{NAME}.json"])
    return found


def test_pods_are_counted_by_the_labels_of_the_settings() -> None:
    settings = {"statusLabel": "example.com/sidecarState", "namespaceLabel": {"key": "Mesh-In"}}

    def queries(settings: dict[str, Any]) -> str:
        objects = Helm().objects({**BOTH, "settings": settings})
        return str(one(objects, "ConfigMap", f"{NAME}-dashboard")["data"][f"{NAME}.json"])

    assert 'kube_pod_labels{label_sidecar_injector_status!=\\"\\"}' in queries({})
    ours = queries(settings)
    assert 'label_example_com_sidecar_state=\\"\\"' in ours and 'label_mesh_in=~\\"enabled|required\\"' in ours
    assert "kube_pod_labels" not in queries({"statusLabel": ""})


@pytest.mark.programs
def test_both_helms_make_the_same_dashboard() -> None:
    assert dashboard(3) == dashboard(4)


def test_panels_lie_beside_each_other_and_ask_for_series_that_there_are() -> None:
    panels = dashboard()["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels) > 20
    taken: set[tuple[int, int]] = set()
    exposed = Metrics().exposition().decode()
    for panel in panels:
        at = panel["gridPos"]
        here = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
        assert not taken & here and max(here)[0] < 24
        taken |= here
        for target in panel.get("targets", []):
            for name in re.findall(r"\b(?:injector|process)_\w+", target["expr"]):
                base = re.sub(r"_(bucket|total)$", "", name)
                assert re.search(rf"^# TYPE {base}(_total)? ", exposed, re.MULTILINE), name
