"""Linting templates for a path: what is tried, and which rules have a say."""

from __future__ import annotations

from pathlib import Path

import pytest

from injector.authoring.lint.rendering import make_subject
from injector.authoring.lint.subject import Subject
from injector.loading.template_folders import read_folder
from injector.templates.load import load_template
from tests.authoring.lint.support import found, write
from tests.messages import Golden

FOR = "description: Services.\nfor: {resources: [services, services/status], operations: [CREATE, UPDATE, DELETE]}\n"
SIZE = "parameters: {size: {type: integer, minimum: 1, maximum: 9, default: 1, description: How many.}}\n"
LABELLED = (
    '{% if operation != "DELETE" %}\nmetadata: {labels: {a: "{{ params.size }}-{{ request.dryRun }}"}}\n{% endif %}\n'
)


def subject(folder: Path) -> Subject:
    sources = read_folder(folder)
    return make_subject(str(folder), load_template(folder.name, sources, str(folder)), sources, (), (1, 36))


def template(tmp_path: Path, manifest: str, overlay: str, cases: str = "") -> Path:
    """A template alone in its folder, with cases where there are some."""
    folder = write(tmp_path, {"template.yaml": manifest, "overlay.yaml.j2": overlay}, clean=False)
    if cases:
        (folder / "tests").mkdir()
        (folder / "tests/cases.yaml").write_text(cases)
    return folder


def test_a_request_of_each_operation_on_each_resource_is_tried_then_parameters_at_their_edges(
    tmp_path: Path, golden: Golden
) -> None:
    made = subject(template(tmp_path, FOR + SIZE, LABELLED))
    assert made.renderings == () and made.failures == ()
    golden([rendering.title for rendering in made.objects])
    first, last = made.objects[0], made.objects[-1]
    assert first.overlay is not None and last.overlay is not None
    assert first.overlay.value == {"metadata": {"labels": {"a": "1-false"}}}
    assert last.overlay.value == {"metadata": {"labels": {"a": "9-false"}}}
    assert [rendering.acts for rendering in made.objects[:3]] == [True, True, False]


def test_what_its_cases_ask_is_tried_too(tmp_path: Path, golden: Golden) -> None:
    deny = '{% if object.spec.type | default("") == "NodePort" %}{{ deny("no") }}{% endif %}\n'
    idle = found(template(tmp_path / "a", FOR, deny))
    assert [(p.code, p.place.line) for p in idle] == [("never-acts", 1)]
    golden(idle[0].message)
    case = "cases:\n- name: one\n  object: {apiVersion: v1, kind: Service, spec: {type: NodePort}}\n"
    assert found(template(tmp_path / "b", FOR, deny, f"{case}  expect: {{decision: refused}}\n")) == ()


def test_a_case_is_tried_with_what_it_says_of_a_required_parameter(tmp_path: Path) -> None:
    manifest = f"{FOR}parameters:\n  who: {{type: string, required: true, from: [namespace], examples: [shop], "
    manifest += "maxLength: 9, description: Who.}\n"
    deny = '{% if object.spec.owner | default("shop") != params.who %}{{ deny("no") }}{% endif %}\n'
    case = "cases:\n- name: one\n  object: {apiVersion: v1, kind: Service, spec: {owner: shop}}\n"
    case += "  namespace: {name: pay, annotations: {pol.sidecar.injector/who: pay}}\n"
    assert found(template(tmp_path / "pol", manifest, deny, f"{case}  expect: {{decision: refused}}\n")) == ()


def test_a_file_that_nothing_includes_is_no_config_file(tmp_path: Path) -> None:
    folder = template(tmp_path, FOR, "{{ warn('a') }}\n")
    (folder / "left.j2").write_text("a\n")
    [problem] = found(folder)
    assert (problem.code, problem.place.file) == ("unused-source", "left.j2")
    assert problem.help


def test_what_fails_for_an_operation_is_told_with_it(tmp_path: Path) -> None:
    manifest = "description: A.\nfor: {resources: [services], operations: [CREATE, DELETE]}\n"
    [problem] = found(template(tmp_path, manifest, "metadata: {labels: {a: {{ object.metadata.name }}}}\n"))
    assert (problem.code, problem.place.line) == ("renders", 1)
    assert problem.help


def test_what_fails_at_once_is_no_rule_s(tmp_path: Path) -> None:
    deleted, created = found(template(tmp_path, FOR, "{% if object.spec.replicas + 1 %}{{ deny('a') }}{% endif %}\n"))
    assert (created.code, created.place.column) == ("name", 19)
    assert (deleted.code, deleted.place.column) == ("renders", 14)


def test_what_adds_to_a_deletion_is_told(tmp_path: Path, golden: Golden) -> None:
    [problem] = found(template(tmp_path, FOR, "metadata: {labels: {a: b}}\n"))
    assert problem.code == "renders"
    golden(problem.message)


def test_a_parameter_of_which_no_value_is_known_is_told_once(tmp_path: Path, golden: Golden) -> None:
    needed = 'parameters: {a: {type: string, pattern: "^[0-9]{9}$", required: true, description: A.}}\n'
    manifest = "description: A.\nfor: {resources: [services]}\n" + needed
    problems = found(template(tmp_path, manifest, "metadata: {labels: {a: {{ params.a }}}}\n"))
    golden([p.advice for p in problems if p.code == "renders"])


def test_rules_that_are_about_any_template_hold_and_those_about_pods_do_not(tmp_path: Path) -> None:
    manifest = (
        "description: A.\nfor: {resources: [services]}\nselector: {}\n"
        "parameters: {unused: {type: boolean, default: true, description: Nothing.}}\n"
    )
    overlay = 'spec: {containers: [{name: a, image: "a:latest"}], ports: !replace [{port: 80}]}\n'
    rules = {problem.code for problem in found(template(tmp_path, manifest, overlay))}
    assert rules == {"parameter-unused", "whole-list"}


@pytest.mark.parametrize(
    ("overlay", "rules"),
    [
        ("spec: {ports: [{port: 80}]}\n", ["whole-list"]),
        ("spec: {ports: !replace [{port: 80}]}\n", []),
        ("{% if object.spec.ports is not defined %}\nspec: {ports: [{port: 80}]}\n{% endif %}\n", []),
        ("{% if not object.spec.ports | default([]) %}\nspec: {ports: [{port: 80}]}\n{% endif %}\n", []),
        ("spec: {a: {b: [1]}, c: [2]}\n", ["whole-list", "whole-list"]),
        ("{% if oldObject.spec.type is defined %}\nspec: {a: b}\n{% endif %}\n", ["never-acts", "old-object"]),
        ('{% set oldObject = 1 %}\nspec: {a: "{{ oldObject }}"}\n', []),
    ],
)
def test_lists_and_what_was_before(tmp_path: Path, overlay: str, rules: list[str]) -> None:
    manifest = "description: A.\nfor: {resources: [services]}\n"
    assert sorted(p.code for p in found(template(tmp_path, manifest, overlay))) == rules


def test_a_policy_that_adds_something_is_none(tmp_path: Path) -> None:
    manifest = "description: A.\nfor: {resources: [services], operations: [CREATE, UPDATE]}\n" + SIZE
    deny = '{% if operation == "UPDATE" and params.size < 9 %}{{ deny("no") }}{% endif %}\n'
    assert [p.code for p in found(template(tmp_path / "a", manifest, deny))] == ["open-policy"]
    assert found(template(tmp_path / "b", manifest, f"{deny}metadata: {{labels: {{a: b}}}}\n")) == ()


def test_one_for_pods_at_a_path_too_is_tried_both_ways(tmp_path: Path, golden: Golden) -> None:
    manifest = "description: A.\nfor: {resources: [pods, pods/ephemeralcontainers], operations: [CREATE, UPDATE]}\n"
    made = subject(template(tmp_path, manifest, "metadata: {annotations: {example.com/a: b}}\n"))
    assert made.renderings and made.failures == ()
    golden([r.title for r in made.objects][::3])


@pytest.mark.parametrize(
    ("covered", "findings"),
    [
        ("{resources: [service]}", 1),
        ("{resources: [services, deployments]}", 1),
        ("{resources: [deployments/scale]}", 1),
        ("{apiGroups: [apps], resources: [services]}", 1),
        ("{apiGroups: [apps], apiVersions: [v1beta1], resources: [deployments]}", 1),
        ("{apiGroups: [apps, ''], apiVersions: [v1beta1, v1], resources: [deployments, pods/exec]}", 0),
        ("{apiGroups: [autoscaling], apiVersions: [v2], resources: [horizontalpodautoscalers]}", 0),
        ("{apiGroups: ['', example.com], resources: [widgets]}", 0),
        ("{apiGroups: [core], resources: [services]}", 1),
        ("{apiGroups: [v1, apps, example.com], resources: [services]}", 1),
        (
            "{apiGroups: [admissionregistration.k8s.io], resources: [validatingwebhookconfigurations]}",
            1,
        ),
    ],
)
def test_what_kubernetes_has_not_is_never_asked_about(
    tmp_path: Path, covered: str, findings: int, golden: Golden
) -> None:
    manifest = f"description: A.\nfor: {covered}\n"
    problems = found(template(tmp_path, manifest, '{{ deny("no") }}\n'))
    assert [(problem.code, problem.place.line) for problem in problems] == [("unknown-resource", 2)] * findings
    golden([problem.message for problem in problems])


@pytest.mark.parametrize("name", ["jobs", "sevices"])
def test_a_resource_that_is_elsewhere_says_where(tmp_path: Path, name: str) -> None:
    manifest = f"description: A.\nfor: {{resources: [{name}]}}\n"
    [problem] = found(template(tmp_path, manifest, '{{ deny("no") }}\n'))
    assert problem.help
