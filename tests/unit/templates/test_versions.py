"""Next versions of templates: what template.yaml says, who gets one, and what contradicts."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import yaml
from hypothesis import given, strategies as st

from injector.cli.checks.settings_and_templates import standing_stages
from injector.errors import TemplateError
from injector.inject import inject
from injector.pods.context import Cluster, Namespace, Object, Workload
from injector.pods.receipt import read_receipt
from injector.pods.workloads import workload_of_object
from injector.settings import Settings
from injector.templates.choice import choose, template_for
from injector.templates.kubernetes_yaml import load_manifest
from injector.templates.load import load_template
from injector.templates.snapshot import Catalog, Snapshot, SnapshotError, build_snapshot
from injector.templates.template import METADATA, WHOLE
from injector.templates.versions import draw, share_of, without_version
from tests.unit.support import web

BASE = "description: Ships logs.\nparameters: {level: {type: string, default: info}}\n"
OVERLAY = "spec: {{containers: [{{name: logger, image: 'logger:{}', args: ['{{{{ params.level }}}}']}}]}}\n"
SHOP = Namespace("shop", {"injection": "enabled", "tier": "gold"})


def files(number: int, more: str = "", manifest: str = BASE) -> dict[str, str]:
    return {"template.yaml": more + manifest, "overlay.yaml.j2": OVERLAY.format(number)}


def snapshot(stage: str = "50%", settings: Settings | None = None, **more: dict[str, str]) -> Snapshot:
    version = files(2, f"version-of: logger\nstage: {stage}\n")
    sources = {"logger": files(1), "logger-next": version, **more}
    return build_snapshot(settings or Settings(templates=("logger",)), sources, Cluster())


def image(pod: Object, of: Snapshot, namespace: Namespace = SHOP, workload: Workload | None = None) -> str:
    result = inject(pod, namespace, of, workload=workload)
    spec = result.object["spec"]
    [found] = [c["image"] for f in ("containers", "initContainers") for c in spec.get(f, ()) if c["name"] == "logger"]
    return str(found)


def codes(error: SnapshotError) -> list[tuple[str, str]]:
    return [(e.template, e.rule) for e in error.errors if isinstance(e, TemplateError)]


@pytest.mark.parametrize(
    ("text", "share"), [("0%", 0), ("10%", 1000), ("0.5%", 50), ("99.99%", 9999), ("12.3%", 1230), ("100%", WHOLE)]
)
def test_shares(text: str, share: int) -> None:
    assert share_of(text) == share


@pytest.mark.parametrize(
    "text", ["", "10", 10, "101%", "100.5%", "-1%", "1e1%", "٣%", "0.001%", " 10%", None, True, "%"]
)
def test_what_is_no_share(text: Any) -> None:
    with pytest.raises(ValueError):
        share_of(text)


@pytest.mark.parametrize(
    ("manifest", "place"),
    [
        ("stage: 10%\n", (1, 1)),
        ("version-of: logger-next\n", (1, 1)),
        ("version-of: Logger\n", (1, 1)),
        ("version-of: [logger]\n", (1, 1)),
        ("version-of: logger\nstage: 110%\n", (2, 1)),
        ("version-of: logger\nstage: 0.1\n", (2, 1)),
        ("version-of: logger\nstage: {share: ten}\n", (2, 9)),
        ("version-of: logger\nstage: {part: 10%}\n", (2, 9)),
        ("version-of: logger\nstage: {selector: {matchLabel: {a: b}}}\n", (2, 20)),
        ("version-of: logger\nfor: {resources: [services]}\n", (1, 1)),
    ],
)
def test_what_template_yaml_may_not_say(manifest: str, place: tuple[int, int]) -> None:
    with pytest.raises(TemplateError) as raised:
        load_template("logger-next", files(2, manifest))
    assert raised.value.rule == "manifest" and raised.value.place is not None
    assert (raised.value.place.line, raised.value.place.column) == place


def test_a_config_map_s_metadata_goes_before_the_file() -> None:
    stated = json.dumps({"version-of": "logger", "stage": "25%"})
    version = load_template("other", {**files(2, "stage: 10%\n"), METADATA: stated})
    assert (version.name, version.own_name, version.stage and version.stage.share) == ("logger", "other", 2500)
    with pytest.raises(TemplateError) as raised:
        load_template("other", {**files(2), METADATA: json.dumps({"version-of": "logger", "stage": "1"})})
    assert raised.value.place is not None and raised.value.place.file == METADATA


def test_the_digest_is_that_of_what_it_becomes() -> None:
    promoted = load_template("logger", files(2)).digest
    head = "version-of: logger\nstage:\n  share: 10%\n  # who\n  selector: {matchLabels: {a: b}}\n"
    for more in ("version-of: logger\nstage: 10%\n", head, "'version-of': logger\n"):
        assert load_template("next", files(2, more)).digest == promoted
    assert load_template("next", {**files(2), METADATA: json.dumps({"version-of": "logger"})}).digest == promoted
    commented = "# why\n" + BASE
    assert without_version("version-of: logger\n" + commented) == commented


DECLARED = BASE.partition("\n")[2].replace("{", "{{").replace("}", "}}")
QUOTED = f'description: "a\nstage: {{0}}\n  {{0}}"\n{DECLARED}'
ANCHOR = (
    f"version-of: logger\nstage: {{{{selector: &a {{{{matchLabels: {{{{a: {{0}}}}}}}}}}}}}}\nselector: *a\n{DECLARED}"
)


@pytest.mark.parametrize("text", [QUOTED, "version-of: logger\nstage: 1%\n" + QUOTED, ANCHOR])
def test_what_only_looks_like_a_stage_counts(text: str) -> None:
    assert len({load_template("next", files(2, "", text.format(value, value))).digest for value in "bc"}) == 2


#: Lines of a template.yaml, and what they say of what is no version.
LINES = {
    "version-of: a": None,
    "stage:": None,
    "stage: 1%": None,
    "'stage':\n  x: 1\n\n  # c\n  z: [stage: 1]": None,
    "# c": None,
    "  # stage: 1": None,
    "": None,
    "c:\n  stage: 1": ("c", {"stage": 1}),
    'd: "\nstage: 1\n  2"': ("d", " stage: 1 2"),
}


@given(st.lists(st.sampled_from(list(LINES)), unique_by=lambda line: line.strip("'")[:5] if line else line))
def test_only_its_own_lines_are_left_out(lines: list[str]) -> None:
    text = "".join(f"{line}\n" for line in ["b: 1", *lines])
    rest = without_version(text)
    assert without_version(rest) == rest
    assert load_manifest(rest) == {"b": 1, **dict(entry for line in lines if (entry := LINES[line]))}
    others = [line for line in lines if LINES[line] is None and line.strip()[:1] in ("", "#")]
    assert [line for line in rest.splitlines() if line.strip()[:1] in ("", "#")] == others


@given(st.text(), st.text(), st.text())
def test_a_draw_is_even_and_depends_on_names_alone(namespace: str, kind: str, name: str) -> None:
    at = draw("logger", namespace, Workload(kind, name))
    assert 0 <= at < WHOLE
    assert at == draw("logger", namespace, Workload(kind, name, {"uid": "1"}, settled=False))


def test_draws_are_even() -> None:
    draws = [draw("logger", "shop", Workload("Deployment", f"web-{n}")) for n in range(10_000)]
    for share in (500, 1000, 5000, 9000):
        assert abs(sum(at < share for at in draws) - share) < 150
    others = [draw("proxy", "shop", Workload("Deployment", f"web-{n}")) for n in range(10_000)]
    both = sum(a < 5000 and b < 5000 for a, b in zip(draws, others, strict=True))
    assert abs(both - 2500) < 150, "templates draw for themselves"


def test_pods_of_a_workload_agree_and_a_larger_stage_keeps_them() -> None:
    at = draw("logger", "shop", Workload("Deployment", "web"))
    below, above = f"{at / 100:g}%", f"{(at + 1) / 100:g}%"
    assert image(web(), snapshot(below)) == "logger:1"
    assert image(web(), snapshot(above)) == image(web({"a": "b"}), snapshot("100%")) == "logger:2"
    [applied] = inject(web(), SHOP, snapshot("100%")).applied
    assert (applied.template.name, applied.template.own_name) == ("logger", "logger-next")


def test_its_parameters_and_receipt_are_the_template_s() -> None:
    result = inject(web({"logger.sidecar.injector/level": "debug"}), SHOP, snapshot("100%"))
    assert not result.warnings
    receipt = read_receipt(result.object, Settings())
    assert receipt is not None and receipt.versions == {"logger": "logger-next"}
    assert list(receipt.templates) == ["logger"]
    plain = read_receipt(inject(web(), SHOP, snapshot("0%")).object, Settings())
    assert plain is not None and not plain.versions


def test_stages_by_selectors() -> None:
    gold = snapshot("{namespaces: {matchLabels: {tier: gold}}}")
    assert image(web(), gold) == "logger:2"
    assert image(web(), gold, Namespace("shop", {"injection": "enabled"})) == "logger:1"
    labelled = snapshot("{selector: {matchLabels: {app: web}}}")
    other = web()
    other["metadata"]["labels"]["app"] = "other"
    assert (image(web(), labelled), image(other, labelled)) == ("logger:2", "logger:1")


def test_a_version_that_does_not_serve_a_pod_leaves_it_to_the_template() -> None:
    version = files(2, "version-of: logger\nstage: 100%\nnamespaces: {matchLabels: {tier: silver}}\n")
    of = build_snapshot(Settings(templates=("logger",)), {"logger": files(1), "logger-next": version}, Cluster())
    assert image(web(), of) == "logger:1"


def test_nobody_names_a_version() -> None:
    result = inject(web({"sidecar.injector/templates": "logger-next"}), SHOP, snapshot("100%"))
    assert result.reason.label == "unknown-template"


def test_a_version_alone_stands_in_for_its_template() -> None:
    of = build_snapshot(
        Settings(templates=("logger",)), {"logger-next": files(2, "version-of: logger\nstage: 0%\n")}, Cluster()
    )
    assert [warning.code for warning in of.warnings] == ["version-without-template"]
    assert image(web(), of) == "logger:2"


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({"third": files(3, "version-of: logger\n")}, [("third", "manifest")]),
        ({"third": files(3, "version-of: logger-next\n")}, [("third", "manifest")]),
        (
            {"policy": files(1, "for: {resources: [services]}\n"), "third": files(3, "version-of: policy\n")},
            [("third", "manifest")],
        ),
    ],
)
def test_contradictions(more: dict[str, dict[str, str]], expected: list[tuple[str, str]]) -> None:
    with pytest.raises(SnapshotError) as raised:
        snapshot(**more)
    assert codes(raised.value) == expected


def test_a_lost_parameter_is_told_and_a_new_one_can_be_set() -> None:
    lacking = {
        "logger-next": files(
            2, "version-of: logger\n", "description: x\nparameters: {depth: {type: integer, default: 1}}\n"
        )
    }
    lacking["logger-next"]["overlay.yaml.j2"] = "spec: {containers: [{name: logger, image: 'logger:2'}]}\n"
    settings = Settings(templates=("logger",), parameters={"logger": {"depth": 2}})
    of = snapshot(settings=settings, **lacking)
    assert [(w.code, w.fields["parameters"]) for w in of.warnings] == [("version-lacks-parameter", ["level"])]


def test_another_stage_is_another_generation() -> None:
    assert len({snapshot(stage).generation for stage in ("0%", "10%", "100%")}) == 3


@pytest.mark.parametrize(
    ("manifest", "settled"),
    [
        ("{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}}", True),
        ("{apiVersion: batch/v1, kind: Job, metadata: {name: web}}", True),
        ("{apiVersion: batch/v1, kind: Job, metadata: {generateName: web-}}", False),
        ("{apiVersion: argoproj.io/v1alpha1, kind: Rollout, metadata: {name: web}}", True),
        ("{apiVersion: serving.knative.dev/v1, kind: Service, metadata: {name: web}}", False),
        ("{apiVersion: jobset.x-k8s.io/v1alpha2, kind: JobSet, metadata: {name: web}}", False),
        ("{apiVersion: v1, kind: Pod, metadata: {generateName: web-}}", True),
    ],
)
def test_what_is_known_offline(manifest: str, settled: bool) -> None:
    workload = workload_of_object(yaml.safe_load(manifest))
    assert workload.settled is settled
    choice = choose(web(), SHOP, Settings(templates=("logger",)), snapshot().catalog, required=False, workload=workload)
    assert [warning.code for warning in choice.warnings] == ([] if settled else ["version-not-known-offline"])
    for stage, number in (("0%", 1), ("100%", 2)):
        assert image(web(), snapshot(stage), workload=workload) == f"logger:{number}"


def test_the_template_that_a_pod_should_have() -> None:
    catalog = snapshot("100%").catalog
    template = template_for("logger", web(), SHOP, catalog)
    assert template is not None and template.own_name == "logger-next"
    assert template_for("nothing", web(), SHOP, catalog) is None
    assert Catalog([load_template("logger", files(1))]).next_version("logger") is None


def test_stages_that_stand_still() -> None:
    now = datetime(2026, 11, 28, tzinfo=UTC)
    changed = {name: f"{now - timedelta(days=20):%Y-%m-%dT%H:%M:%SZ}" for name in ("logger", "logger-next")}
    assert list(standing_stages(snapshot().catalog, changed, now)) == [("logger-next", 20)]
    assert not list(standing_stages(snapshot().catalog, changed, now - timedelta(days=10)))
    assert not list(standing_stages(snapshot().catalog, {}, now))
