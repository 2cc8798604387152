"""Snapshots are built completely or not at all, and a new template is tried in a process of its own first."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from injector.errors import SettingsError, TemplateError
from injector.loading.shipped import try_new
from injector.loading.trial import try_one, try_templates
from injector.pods.context import Cluster, Namespace
from injector.pods.fields import NEWEST
from injector.settings import Settings
from injector.templates.load import load_template
from injector.templates.snapshot import Catalog, Snapshot, SnapshotError, build_snapshot
from tests.messages import Golden

PARAMETER = "parameters: {port: {type: integer, default: 80}}"


def sources(overlay: str = "spec: {}", manifest: str = PARAMETER, **files: str) -> dict[str, str]:
    return {"template.yaml": manifest, "overlay.yaml.j2": overlay, **files}


def build(templates: dict[str, dict[str, str]], settings: Settings | None = None, **more: object) -> Snapshot:
    return build_snapshot(settings or Settings(templates=()), templates, Cluster(), **more)  # type: ignore[arg-type]


def test_the_generation_is_the_content() -> None:
    first = build({"a": sources(), "b": sources("a: 1")})
    assert len(first.generation) == 12
    assert build({"b": sources("a: 1"), "a": {**sources(), "README.md": "x"}}).generation == first.generation
    others = [
        build({"a": sources()}),
        build({"a": sources(), "b": sources("a: 2")}),
        build({"a": sources("a: 1"), "b": sources()}),
        build({"a": sources(), "b": sources("a: 1")}, Settings(templates=(), prefix="x.y")),
        build({"a": sources(), "b": sources("a: 1")}, Settings(templates=(), parameters={"a": {"port": 1}})),
    ]
    assert len({first.generation, *(o.generation for o in others)}) == 6


def test_the_previous_snapshot_is_kept_and_what_did_not_change_is_taken_over() -> None:
    first = build({"a": sources(), "b": sources()})
    second = build({"a": sources(), "b": sources("a: 1")}, previous=first)
    assert second.previous == first
    assert second.catalog.get("a") is first.catalog.get("a")
    assert second.catalog.get("b") is not first.catalog.get("b")
    third = build({"a": sources("a: 2")}, previous=second)
    assert third.previous is not None
    assert third.previous.generation == second.generation
    assert third.previous.previous is None
    same = build({"a": {**sources("a: 2"), "README.md": "x"}}, previous=third)
    assert same.generation == third.generation
    assert same.previous is not None
    assert same.previous.generation == second.generation


def test_one_bad_template_refuses_all_and_every_error_is_listed(golden: Golden) -> None:
    bad = {"a": sources("{{ nothing }}"), "b": sources(), "c": sources(manifest="x: 1"), "d": {}}
    for trial in (None, try_new):
        with pytest.raises(SnapshotError) as caught:
            build_snapshot(Settings(templates=()), bad, Cluster(), trial=trial)
        assert [str(e) for e in caught.value.errors] == str(caught.value).split("\n")
        assert sorted(e.template for e in caught.value.errors if isinstance(e, TemplateError)) == ["a", "c", "d"]
        golden(str(caught.value.errors[0]))


def test_settings_that_name_parameters(golden: Golden) -> None:
    with pytest.raises(SnapshotError) as caught:
        build({"a": sources()}, Settings(templates=(), parameters={"a": {"prot": 1}}))
    golden(caught.value)
    with pytest.raises(SnapshotError) as caught:
        build({"a": sources()}, Settings(templates=(), parameters={"a": {"port": True}}))
    golden(caught.value)
    assert isinstance(caught.value.errors[0], SettingsError)
    snapshot = build({"envoy": sources()}, Settings(templates=("envoi",), parameters={"envoi": {"port": 1}}))
    golden([(one.code, one.located) for one in snapshot.warnings])


@pytest.mark.parametrize("name", ["never_selector", "always_selector", "exempt_selector"])
def test_a_selector_of_the_settings_with_a_misspelt_field_does_not_select_everything(name: str) -> None:
    settings = Settings(**{name: {"matchLabel": {"app": "web"}}})
    field = f"{name.partition('_')[0]}Selector"
    with pytest.raises(SnapshotError, match=f"settings: {field}.matchLabel: "):
        build_snapshot(settings, {}, Cluster())


def test_the_catalog() -> None:
    selecting = "selector: {matchLabels: {app: web}}\nnamespaces: {matchLabels: {team: a}}"
    catalog = Catalog(
        load_template(name, sources(manifest=manifest))
        for name, manifest in {
            "b": "selector: {matchLabels: {app: web}}",
            "a": selecting,
            "c": PARAMETER,
            "d": "for: {resources: [services]}",
        }.items()
    )
    assert catalog.names == ("a", "b", "c", "d")
    assert catalog.injected_names == ("a", "b", "c")
    assert catalog.get("x") is None
    assert [t.name for t in catalog.matching({"app": "web"}, Namespace("n", {"team": "a"}))] == ["a", "b"]
    assert [t.name for t in catalog.matching({"app": "web"}, Namespace("n"))] == ["b"]
    assert catalog.matching({}, Namespace("n", {"team": "a"})) == ()


#: Templates that no child may survive, or that no sample pod gets through; the place of the error.
BAD = {
    "undefined": (
        sources("a: {{ object.metadata.labels.app }}"),
        "overlay.yaml.j2:1:23: error: ",
    ),
    "undefined-sometimes": (
        sources("a: 1\n{% if object.spec.hostNetwork is defined %}{{ object.spec.nothing }}{% endif %}"),
        "overlay.yaml.j2:2:59: error: ",
    ),
    "always-failing": (sources("a: {{ 'x{}'.upper() ~ none }}"), "overlay.yaml.j2:1"),
    "not-yaml": (sources("a: [\n"), "overlay.yaml.j2:1:5: error: "),
    "syntax": (sources("a: {{"), "overlay.yaml.j2:1"),
    "file": (sources(manifest="files: {x.conf: {}}", **{"x.conf.j2": "{{ 'a b' }}"}), "x.conf.j2:1"),
    "loops": (sources("{% for a in range(9999) %}{% for b in range(999) %}{% endfor %}{% endfor %}"), "overlay.yaml"),
}  # fmt: skip
GOOD = {
    "plain": sources("spec: {containers: [{name: x, image: 'y'}]}"),
    "required": sources("a: {{ params.p }}", "parameters: {p: {type: string, format: cidr, required: true}}"),
    "not-serving": sources("{% if not ports %}{{ fail('no ports') }}{% endif %}a: {{ ports[0] }}"),
    "denying": sources("{{ deny('never') }}"),
    "failing-sometimes": sources("a: '{{ none if not ports else 1 }}'"),
}


def test_trials() -> None:
    templates = {name: files for name, (files, _) in BAD.items()} | GOOD
    failed = try_templates(templates)
    assert sorted(failed) == sorted(BAD)
    for name, error in failed.items():
        assert BAD[name][1] in str(error), str(error)
        assert error.template == name
        assert "Traceback" not in str(error)


def test_a_trial_that_takes_too_much_memory_or_time_names_its_template() -> None:
    # a schema is checked without any budget of the render's
    items = ", ".join(f"{{const: {n}}}" for n in range(400))
    slow = f"parameters: {{p: {{type: array, items: {{anyOf: [{items}]}}, default: {[399] * 8000}}}}}"
    # half a million nodes of syntax tree need more memory than a trial gives
    large = "a: " + "{{ 1 }}" * 140_000
    failed = try_templates(
        {"good": sources(), "slow": sources(manifest=slow), "large": sources(large), "last": sources()}
    )
    assert sorted(failed) == ["large", "slow"]
    assert all(error.diagnostic.code == "limit" for error in failed.values()), failed


def test_trying_in_this_process() -> None:
    assert try_one("good", sources()).problems == []
    [problem] = try_one("bad", sources("a: {{ object.nothing }}")).problems
    assert (problem.place.file, problem.place.line) == ("overlay.yaml.j2", 1)


def test_a_snapshot_is_tried_once() -> None:
    tried: list[str] = []

    def trial(sources: Mapping[str, Mapping[str, str]], *rest: Any) -> Any:
        tried.extend(sources)
        return try_new(sources, *rest)

    first = build_snapshot(Settings(templates=()), {"a": sources()}, Cluster(), trial=trial)
    second = build_snapshot(Settings(templates=()), {"a": sources()}, Cluster((1, 37)), first, trial=trial)
    assert tried == ["a"]
    assert second.cluster == Cluster((1, 37))
    assert second.generation == first.generation


LOST = sources("spec: {container: [{name: x, image: z}]}")
#: Overlays, and what Kubernetes makes of each: the severity, and the path.
OF_KUBERNETES: dict[str, tuple[Mapping[str, str], list[tuple[str, tuple[Any, ...]]]]] = {
    "nothing-left": (LOST, [("error", ("spec", "container"))]),
    "something-left": (
        sources("metadata: {labels: {a: b}}\nspec: {container: []}"),
        [("warning", ("spec", "container"))],
    ),
    "within": (
        sources("spec: {containers: [{name: x, image: z, comand: [z]}]}"),
        [("warning", ("spec", "containers", 0, "comand"))],
    ),
    "type": (
        sources("spec: {containers: [{name: x, image: z, ports: [{containerPort: '80'}]}]}"),
        [("error", ("spec", "containers", 0, "ports", 0, "containerPort"))],
    ),
    "type-for-some": (
        sources("spec: {containers: [{name: x, image: z, env: [{name: A, value: \"{{ 'b' }}\"},"
                " {name: B, value: {{ 'c' if ports else 8080 }} }]}]}"),
        [("warning", ("spec", "containers", 0, "env", 1, "value"))],
    ),
    "lost-for-some": (
        sources("spec:\n{% if ports %}\n  volumes: [{name: x}]\n{% else %}\n  container: []\n{% endif %}\n"),
        [("warning", ("spec", "container"))],
    ),
    "policy": (sources("{% if not ports %}{{ deny('no ports') }}{% endif %}"), []),
    "for-none-of-the-samples": (
        sources("{% if object.metadata.labels.rare is defined %}\nspec: {container: []}\n{% endif %}\n"),
        [],
    ),
    "anchors": (sources("x: &x [z]\nspec: {containers: [{name: x, image: z, args: *x}]}"), []),
    "other-objects": (sources("spec: {foo: 1}", "for: {apiGroups: [apps], resources: [deployments]}"), []),
}  # fmt: skip


@pytest.mark.parametrize("name", OF_KUBERNETES)
def test_what_kubernetes_makes_of_an_overlay(name: str) -> None:
    files, expected = OF_KUBERNETES[name]
    result = try_one("mine", files)
    found = [*result.problems, *result.warnings]
    assert [(d.severity, d.path) for d in found] == expected
    assert [d.severity for d in result.problems] == ["error"] * len(result.problems)
    assert all(d.code == "schema" and d.place.file == "overlay.yaml.j2" for d in found)


def test_a_field_that_is_dropped_is_told_while_the_template_is_in_use() -> None:
    templates = {name: files for name, (files, _) in OF_KUBERNETES.items() if name in ("within", "policy")}
    first = build_snapshot(Settings(templates=()), templates, Cluster(), trial=try_new)
    [warning] = first.warnings
    assert (warning.code, warning.fields["template"], warning.severity) == ("schema", "within", "warning")
    other = templates | {"policy": sources("{{ deny('no') }}")}
    second = build_snapshot(Settings(templates=()), other, Cluster(), first, trial=try_new)
    assert second.generation != first.generation and second.warnings == first.warnings
    mended = templates | {"within": sources()}
    assert build_snapshot(Settings(templates=()), mended, Cluster(), second, trial=try_new).warnings == ()


def test_of_a_newer_kubernetes_it_is_not_known_what_it_drops() -> None:
    with pytest.raises(SnapshotError) as error:
        build_snapshot(Settings(templates=()), {"mine": LOST}, Cluster(), trial=try_new)
    [mistake] = error.value.errors
    assert isinstance(mistake, TemplateError) and mistake.rule == "schema"
    newer = Cluster((NEWEST[0], NEWEST[1] + 1))
    snapshot = build_snapshot(Settings(templates=()), {"mine": LOST}, newer, trial=try_new)
    assert [(w.code, w.severity) for w in snapshot.warnings] == [("schema", "warning")]
