"""What `injector list` says of a pod, and how pods are restarted."""

from __future__ import annotations

import json
from functools import partial

import pytest

from injector.cli import fleet as fleet_module
from injector.cli.fleet import ChangeTimes, Fleet, Row, restarts
from injector.cli.injection_sources import Sources, refused_team_templates
from injector.diagnostics import Diagnostic
from injector.inject import inject
from injector.pods.context import Cluster, Namespace, Workload
from injector.settings import Settings
from injector.templates.parameters import resolve
from injector.templates.snapshot import build_snapshot

SHOP = Namespace("shop", {"injection": "enabled"})


def snapshot(image="logger:1", **more):
    overlay = f"spec: {{containers: [{{name: logger, image: '{image}'}}]}}\n"
    sources = {"logger": {"template.yaml": "description: x\n", "overlay.yaml.j2": overlay}}
    return build_snapshot(Settings(templates=("logger",), **more), sources, Cluster())


def pod(name="web", **metadata):
    owner = {"kind": "StatefulSet", "name": "web", "uid": "u", "controller": True, "apiVersion": "apps/v1"}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "ownerReferences": [owner], **metadata},
        "spec": {"containers": [{"name": "app", "image": "app:1"}]},
        "status": {"phase": "Running"},
    }


def test_current_and_outdated(golden):
    made = inject(pod(), SHOP, snapshot()).object
    row = Fleet(Sources(snapshot(), {})).row(made, SHOP)
    assert (row.state, list(row.templates), row.workload.name) == ("current", ["logger"], "web")
    later = Fleet(Sources(snapshot("logger:2"), {})).row(made, SHOP)
    assert later.state == "outdated"
    golden(later.why)
    gone = build_snapshot(Settings(templates=()), {}, Cluster())
    golden(Fleet(Sources(gone, {})).row(made, SHOP).why)


MANIFEST = """\
description: x
parameters:
  level: {type: string, default: info}
  port: {type: integer, default: 1}
  key: {type: string, secret: true, default: a}
  env-*: {type: object, additionalProperties: {type: string}}
"""
OVERLAY = "spec: {containers: [{name: logger, image: a, args: ['{{ params.level }} {{ params.port }}']}]}\n"
START = "logger.sidecar.injector/"


class Seal:
    """One that every replica has."""

    def sign(self, namespace, text):
        return "1.a"

    def verify(self, namespace, text, seal):
        return True


def with_parameters(values=(), manifest=MANIFEST, templates=("logger",)):
    sources = {name: {"template.yaml": manifest, "overlay.yaml.j2": OVERLAY} for name in ("logger", "other")}
    settings = Settings(templates=templates, parameters={"logger": dict(values)} if values else {})
    return build_snapshot(settings, sources, Cluster())


def annotated(**values):
    return {f"{START}{name.replace('_', '-')}": value for name, value in values.items()}


def space(**values):
    return Namespace("shop", {"injection": "enabled"}, annotated(**values))


def causes(made, now, snapshot, **options):
    row = Fleet(Sources(snapshot, {}), **options).row(made, now)
    return [(cause.code, cause.fields.get("parameter")) for cause in row.causes]


LEVEL = [("parameter-changed", "level")]


@pytest.mark.parametrize(
    ("before", "now", "expected"),
    [
        ({}, {}, []),
        ({"level": "debug"}, {"level": "debug"}, []),
        ({"level": "debug"}, {"level": "warn"}, LEVEL),
        ({"level": "debug"}, {}, LEVEL),
        ({}, {"level": "debug"}, LEVEL),
        ({}, {"level": "info"}, []),  # the default
        ({"port": "1"}, {"port": "01"}, []),
        ({"key": "b"}, {"key": "c"}, []),  # secret
        ({"env_a": "1"}, {"env_a": "1", "env_b": "2"}, [("parameter-changed", "env-*")]),
        ({"port": "1"}, {"port": "x"}, []),  # a new pod would have no sidecar
        ({"level": "a", "port": "2"}, {"level": "b", "port": "3"}, [*LEVEL, ("parameter-changed", "port")]),
    ],
)
def test_values_that_the_namespace_gives(before, now, expected):
    known = with_parameters()
    made = inject(pod(), space(**before), known).object
    assert causes(made, space(**now), known) == expected
    assert causes(made, space(**now), known, settings_known=False) == []


def test_values_that_the_settings_give():
    made = inject(pod(), SHOP, with_parameters({"level": "debug", "port": 2})).object
    assert causes(made, SHOP, with_parameters({"level": "debug", "port": 2})) == []
    assert causes(made, SHOP, with_parameters({"level": "warn", "port": 2})) == LEVEL
    assert causes(made, space(level="debug", port="2"), with_parameters()) == []
    # the namespace has the say, whatever the settings are now
    held = inject(pod(), space(level="a"), with_parameters({"level": "debug"})).object
    assert causes(held, space(level="a"), with_parameters({"level": "warn"})) == []


def test_a_pod_whose_own_annotation_gives_the_value_is_not_outdated():
    known, own = with_parameters(), pod(annotations=annotated(level="warn", env_a="1"))
    made = inject(own, space(level="debug"), known).object
    assert causes(made, space(level="error"), known) == []
    assert causes(made, space(level="error", env_b="1"), known) == [("parameter-changed", "env-*")]


def test_a_changed_default_is_another_version():
    made = inject(pod(), space(level="a"), with_parameters()).object
    later = with_parameters(manifest=MANIFEST.replace("default: 1", "default: 2"))
    assert causes(made, space(level="b"), later)[0][0] == "template-changed"


def test_a_value_of_the_command_line_and_a_receipt_of_before_are_not_compared():
    known = with_parameters()
    made = inject(pod(), space(level="debug"), known, overrides={"logger": {"level": "x", "env-a": "1"}}).object
    assert causes(made, space(level="warn", env_b="1"), known) == []
    made = inject(pod(), space(level="debug"), known).object
    text = made["metadata"]["annotations"]["sidecar.injector/receipt"]
    before = text[: text.index(',"values"')] + "}"
    made["metadata"]["annotations"]["sidecar.injector/receipt"] = before
    assert causes(made, space(level="warn"), known) == []


def test_other_templates_are_chosen_now():
    known, later = with_parameters(), with_parameters(templates=("logger", "other"))
    sealed = inject(pod(), SHOP, known, seals=Seal()).object
    assert causes(sealed, SHOP, known) == []
    [cause] = Fleet(Sources(later, {})).row(sealed, SHOP).causes
    assert (cause.code, cause.fields["templates"]) == ("templates-changed", ["logger", "other"])
    # of what the command line made it is not known who named the templates
    assert causes(inject(pod(), SHOP, known).object, SHOP, later) == []
    named = inject(pod(annotations={"sidecar.injector/templates": "logger"}), SHOP, known, seals=Seal()).object
    assert causes(named, SHOP, later) == []


def test_replicas_are_compared_once(monkeypatch):
    known, calls = with_parameters(), []
    monkeypatch.setattr(fleet_module, "resolve", lambda *args, **more: calls.append(args) or resolve(*args, **more))
    fleet = Fleet(Sources(known, {}))
    rows = [fleet.row(inject(pod(f"web-{n}"), space(level="a"), known).object, space(level="b")) for n in range(3)]
    assert {row.state for row in rows} == {"outdated"} and len(calls) == 1
    # of one owner, but of another revision
    fleet.row(inject(pod(annotations=annotated(level="c")), space(level="a"), known).object, space(level="b"))
    assert len(calls) == 2


def test_since_when():
    times = ChangeTimes({"logger": "2026-01-03T00:00:00Z"}, {"shop": "2026-01-02T00:00:00Z"}, "2026-01-01T00:00:00Z")

    def since(created, *codes):
        found = tuple(Diagnostic(code, "warning", "", fields={"template": "logger"}) for code in codes)
        return times.dated(Row("shop", "a", "outdated", Workload("Pod", "a"), {}, "", found, created=created)).since

    assert since("2025-01-01T00:00:00Z", "template-changed") == "2026-01-03T00:00:00Z"
    assert since("2025-01-01T00:00:00Z", "template-changed", "parameter-changed") == "2026-01-02T00:00:00Z"
    assert since("2026-01-02T12:00:00Z", "parameter-changed") == ""


def test_failed_missing_and_none_of_our_business():
    fleet = Fleet(Sources(snapshot(), {}))
    marked = pod(annotations={"sidecar.injector/status": "failed", "sidecar.injector/reason": "deny: no"})
    assert (fleet.row(marked, SHOP).state, fleet.row(marked, SHOP).why) == ("failed", "deny: no")
    assert fleet.row(pod(), SHOP).state == "missing"
    assert fleet.row(pod(), Namespace("other")) is None
    no = pod(annotations={"sidecar.injector/inject": "no"})
    no["metadata"]["ownerReferences"][0]["uid"] = "v"
    assert fleet.row(no, SHOP) is None
    assert fleet.row(pod(deletionTimestamp="2026-11-21T00:00:00Z"), SHOP) is None
    assert fleet.row(pod() | {"status": {"phase": "Succeeded"}}, SHOP) is None


LATER, CREATED, EARLIER = "2026-11-21T09:00:00Z", "2026-11-21T08:00:00Z", "2026-11-21T07:00:00Z"


def written(field, key, at):
    return [{"manager": "kubectl", "time": at, "fieldsV1": {"f:metadata": {field: {f"f:{key}": {}}}}}]


@pytest.mark.parametrize(
    ("times", "metadata", "expected"),
    [
        ({}, {}, "injector-not-called"),
        ({"asked": {"shop": EARLIER}, "settings": EARLIER}, {}, "injector-not-called"),
        ({"asked": {"shop": LATER}}, {}, "namespace-later"),
        ({"asked": {"shop": CREATED}}, {}, "namespace-later"),  # within a second
        ({"asked": {"other": LATER}}, {}, "injector-not-called"),
        ({"settings": LATER}, {}, "settings-later"),
        ({}, {"managedFields": written("f:labels", "sidecar.injector/inject", LATER)}, "choice-later"),
        ({}, {"managedFields": written("f:labels", "sidecar.injector/inject", CREATED)}, "injector-not-called"),
    ],
)
def test_why_a_pod_lacks_its_sidecar(times, metadata, expected):
    fleet = Fleet(Sources(snapshot(), {}), times=lambda: ChangeTimes(**times))
    [cause] = fleet.row(pod(creationTimestamp=CREATED, **metadata), SHOP).causes
    assert cause.code == expected


def test_marks_that_somebody_else_wrote_show_nothing():
    marks = inject(pod(), SHOP, snapshot()).object["metadata"]["annotations"]
    [cause] = Fleet(Sources(snapshot(), {})).row(pod(annotations=marks), SHOP).causes
    assert cause.code == "marks-alone"
    failed = inject(pod(), SHOP, snapshot()).object
    failed["metadata"]["annotations"] = {"sidecar.injector/status": "failed"}
    assert Fleet(Sources(snapshot(), {})).row(failed, SHOP).state == "current"


def image_written(by, **more):
    container = {"f:image": {}, **more}
    fields = {"f:spec": {"f:initContainers": {'k:{"name":"logger"}': container}}}
    return {"manager": by, "time": LATER, "fieldsV1": fields}


def test_an_image_that_was_changed_in_the_running_pod():
    made = inject(pod(), SHOP, snapshot()).object
    [field] = [name for name in ("containers", "initContainers") if "logger" in str(made["spec"].get(name))]
    whole = {".": {}, "f:name": {}, "f:imagePullPolicy": {}}
    for managed, state in (
        ([image_written("maker", **whole)], "current"),
        ([image_written("maker", **whole), image_written("applier")], "current"),  # they say the same
        ([{**image_written("maker"), "manager": "kubelet", "fieldsV1": {"f:status": {}}}], "current"),
        ([image_written("kubectl-set")], "changed"),
    ):
        text = json.dumps(managed).replace("f:initContainers", f"f:{field}")
        made["metadata"]["managedFields"] = json.loads(text)
        row = Fleet(Sources(snapshot(), {})).row(made, SHOP)
        assert row.state == state
    assert [(c.code, c.fields["container"], c.fields["by"]) for c in row.causes] == [
        ("image-changed", "logger", "kubectl-set")
    ]
    later = Fleet(Sources(snapshot("logger:2"), {})).row(made, SHOP)
    assert (later.state, [cause.code for cause in later.causes]) == ("outdated", ["template-changed", "image-changed"])


def test_a_namespace_that_asks_for_nothing_any_more():
    sealed = inject(pod(), SHOP, snapshot(), seals=Seal()).object
    for now in (Namespace("shop"), Namespace("shop", {"injection": "disabled"})):
        row = Fleet(Sources(snapshot("logger:2"), {})).row(sealed, now)
        assert (row.state, [(c.code, c.fields["templates"]) for c in row.causes]) == (
            "outdated",
            [("templates-changed", [])],
        )
    made = inject(pod(), SHOP, snapshot()).object  # by the command line
    assert Fleet(Sources(snapshot(), {})).row(made, Namespace("shop")).state == "current"


def test_replicas_of_which_one_has_opted_out_are_judged_one_by_one():
    fleet = Fleet(Sources(snapshot(), {}))
    assert fleet.row(pod("a"), SHOP).state == "missing"
    assert fleet.row(pod("b", annotations={"sidecar.injector/inject": "no"}), SHOP) is None


@pytest.mark.parametrize("receipt", ["{", "[]", '{"version": 9}', "null"])
def test_a_receipt_that_makes_no_sense_counts_as_none(receipt):
    forged = pod(annotations={"sidecar.injector/status": "injected", "sidecar.injector/receipt": receipt})
    assert Fleet(Sources(snapshot(), {})).row(forged, SHOP).state == "missing"


def test_each_workload_is_restarted_once_and_in_the_way_of_its_kind(golden):
    def row(kind, name, state="outdated"):
        return Row("shop", f"{name}-1", state, Workload(kind, name), {})

    rows = [
        row("Deployment", "web"),
        row("Deployment", "web", "missing"),
        row("DaemonSet", "agent"),
        row("StatefulSet", "db", "current"),
        row("Deployment", "bad", "failed"),
        row("CronJob", "nightly"),
        row("Pod", "bare"),
    ]
    commands, words = restarts(rows)
    golden(commands)
    golden(words)


def test_a_template_of_a_team_that_is_not_read_makes_no_pod_outdated():
    made = inject(pod(annotations={"sidecar.injector/templates": "logger"}), SHOP, snapshot()).object
    annotations = {
        key: text.replace('"logger"', '"./probe"').replace("logger,", "./probe,")
        for key, text in made["metadata"]["annotations"].items()
    }
    made["metadata"]["annotations"] = annotations | {"sidecar.injector/templates": "./probe"}
    sources = Sources(snapshot(), {}, team_templates=partial(refused_team_templates, "nobody reads it"))
    row = Fleet(sources).row(made, SHOP)
    assert (row.state, row.causes, list(row.templates)) == ("current", (), ["./probe"])
    assert "nobody reads it" in row.why
