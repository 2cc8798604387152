"""Cases about objects of any kind at a path: what is asked, what comes out, and mistakes that only they can have."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from injector.authoring.cases.harness import Harness
from injector.authoring.cases.programs import Programs
from injector.authoring.cases.run import Ways
from injector.authoring.cases.runner import coverage_of
from injector.authoring.cases.suite import Suite, read_suite
from tests.authoring.cases.conftest import Done
from tests.authoring.cases.support import run_case
from tests.messages import Golden

MANIFEST = """\
description: Gateways of this house.
for:
  apiGroups: [example.com, apps]
  resources: [gateways, gateways/status, deployments/scale]
  operations: [CREATE, UPDATE, DELETE]
parameters:
  class: {type: string, enum: [plain, fast], default: plain, description: Its class.}
"""
OVERLAY = """\
{% if operation == "DELETE" %}
  {% if oldObject.metadata.labels.keep is defined %}{{ deny("kept", code=409) }}{% endif %}
{% else %}
  {% if object.spec.owner | default(user.username | default("nobody")) == "jane" %}{{ warn("hello jane") }}{% endif %}
  {% if operation == "UPDATE" and object.spec.host != oldObject.spec.host %}{{ deny("the host stays") }}{% endif %}
  {% if request.dryRun %}{{ warn("only a try") }}{% endif %}
  {% if object.spec.broken is defined %}{{ warn(object.spec.host + 1) }}{% endif %}
metadata: {labels: {namespace: "{{ namespace.name }}-{{ namespace.labels.tier | default('none') }}"}}
spec: {class: {{ params.class }}, hosts: [a]}
{% endif %}
"""
GATEWAY = "{apiVersion: example.com/v1, kind: Gateway, metadata: {name: web}, spec: {host: a}}"

PASSING = f"""\
cases:
- name: completed
  object: {GATEWAY}
  expect:
    decision: amended
    reason: amended
    warnings: []
    object:
      metadata: {{labels: {{namespace: default-none}}, annotations: !absent}}
      spec: {{class: plain, hosts: [a]}}
- name: parameters as they are typed, and a namespace
  object: {GATEWAY}
  params: {{class: fast}}
  namespace: {{name: shop, labels: {{tier: front}}}}
  user: {{username: jane}}
  expect: {{decision: amended, warnings: [hello jane], object: {{metadata: {{labels: {{namespace: shop-front}}}}}}}}
- name: parameters of annotations
  object:
    apiVersion: example.com/v1
    kind: Gateway
    metadata: {{name: web, namespace: cart, annotations: {{gate.sidecar.injector/class: fast}}}}
    spec: {{host: a}}
  expect: {{decision: amended, object: {{spec: {{class: fast}}, metadata: {{labels: {{namespace: cart-none}}}}}}}}
- name: an update that changes what stays
  operation: UPDATE
  object: {GATEWAY}
  oldObject: {{apiVersion: example.com/v1, kind: Gateway, metadata: {{name: web}}, spec: {{host: b}}}}
  expect: {{decision: refused, reason: denied, message: the host stays, code: 403}}
- name: an update that changes nothing, only tried
  operation: UPDATE
  object:
    apiVersion: example.com/v1
    kind: Gateway
    metadata: {{name: web, labels: {{namespace: default-none}}}}
    spec: {{host: a, class: plain, hosts: [b]}}
  request: {{dryRun: true}}
  expect: {{decision: unchanged, warnings: [only a try, spec.hosts]}}
- name: a deletion
  operation: DELETE
  oldObject: {{apiVersion: example.com/v1, kind: Gateway, metadata: {{name: web, labels: {{keep: ""}}}}}}
  expect: {{decision: refused, message: kept, code: 409}}
- name: something else
  object: {{apiVersion: v1, kind: Service, metadata: {{name: web}}}}
  expect: {{decision: skipped, reason: not-for-templates, object: {{metadata: {{labels: !absent}}}}}}
- name: a part of an object has the group of that object
  operation: UPDATE
  resource: deployments/scale
  object: {{apiVersion: autoscaling/v1, kind: Scale, metadata: {{name: web}}, spec: {{host: a}}}}
  expect: {{decision: amended}}
- name: a template that fails lets it through
  object: {{apiVersion: example.com/v1, kind: Gateway, spec: {{host: a, broken: yes}}}}
  expect: {{decision: skipped, reason: template-failed, warnings: [admitted without changes]}}
- name: or not
  object: {{apiVersion: example.com/v1, kind: Gateway, spec: {{host: a, broken: yes}}}}
  path: {{failurePolicy: Fail}}
  expect: {{decision: refused, reason: template-failed}}
- name: at a validating path nothing is added
  object: {GATEWAY}
  path: {{type: validating, failurePolicy: Fail}}
  expect: {{decision: refused, reason: template-failed}}
"""

Gate = Callable[..., Suite]


@pytest.fixture
def gate(tmp_path: Path) -> Gate:
    """The template `gate` with cases; keywords are more files of its folder."""

    def call(cases: str, **files: str) -> Suite:
        folder = tmp_path / "gate"
        (folder / "tests").mkdir(parents=True, exist_ok=True)
        texts = {"template.yaml": MANIFEST, "overlay.yaml.j2": OVERLAY, "tests/cases.yaml": textwrap.dedent(cases)}
        for name, text in {**texts, **{n.replace("__", "/").replace("_", "."): t for n, t in files.items()}}.items():
            (folder / name).write_text(text)
        return read_suite(folder, "gate")

    return call


def told(suite: Suite) -> list[str]:
    """What is told about cases that can be run."""
    assert [str(problem) for problem in suite.problems] == []
    bench = Harness(suite.folder, suite.path)
    ran = [run_case(bench, checked, Ways(Programs())) for checked in suite.cases]
    return [f"{p}{' | ' + p.help if p.help else ''}" for result in ran for p in result.problems]


def test_what_comes_out_is_as_expected(gate: Gate) -> None:
    assert told(gate(PASSING)) == []


def test_every_branch_is_reached_and_so_is_every_parameter(gate: Gate) -> None:
    suite = gate(PASSING)
    bench = Harness(suite.folder, suite.path)
    results = [run_case(bench, checked, Ways(Programs())) for checked in suite.cases]
    coverage = coverage_of(bench, results)
    assert (coverage.sentence, coverage.parameters, coverage.branches) == ("", 1, 7)
    few = coverage_of(Harness(suite.folder, suite.path), results[:1])
    assert [missed.what for missed in few.missed_parameters] == ["parameter class"]


FAILING = [
    f"object: {GATEWAY}\n  expect: {{decision: unchanged}}",
    f"object: {GATEWAY}\n  expect: {{decision: amended, object: {{spec: {{class: fast, x: 1}}}}}}",
    "object: {apiVersion: example.com/v1, kind: Mouse}\n  expect: {decision: amended}",
    "expect: {decision: injected}",
    "pod: {spec: {containers: [{name: a}]}}\n  expect: {decision: injected}",
    "object: {apiVersion: example.com/v1, kind: Gateway, spec: {host: a, broken: 1}}\n  expect: {decision: amended}",
]


@pytest.mark.parametrize("case", FAILING, ids=[repr(case)[-60:] for case in FAILING])
def test_what_is_not_as_expected_is_told(gate: Gate, case: str, golden: Golden) -> None:
    found = told(gate(f"cases:\n- name: a\n  {case}\n"))
    assert found
    golden(found)


def test_labels_that_do_not_match_are_told_of(gate: Gate, golden: Golden) -> None:
    manifest = f"{MANIFEST}namespaces: {{matchLabels: {{tier: front}}}}\n"
    [found] = told(gate(f"cases:\n- name: a\n  object: {GATEWAY}\n  {AMENDED}\n", template_yaml=manifest))
    golden(found)


AMENDED = "expect: {decision: amended}"
MISTAKES = [
    f"object: {GATEWAY}\n  pod: {{}}\n  {AMENDED}",
    f"object: {GATEWAY}\n  file: a.yaml\n  {AMENDED}",
    f"object: {GATEWAY}\n  expect: {{decision: amended, pod: {{a: 1}}}}",
    f"object: {GATEWAY}\n  expect: {{decision: amended, files: {{a: b}}}}",
    f"object: {GATEWAY}\n  expect: {{decision: injected}}",
    f"object: {GATEWAY}\n  expect: {{decision: failed}}",
    f"object: {GATEWAY}\n  templates: chosen\n  {AMENDED}",
    f"object: {GATEWAY}\n  operation: DELETE\n  {AMENDED}",
    f"object: {GATEWAY}\n  oldObject: {GATEWAY}\n  {AMENDED}",
    f"file: a.yaml\n  operation: DELETE\n  oldObject: {GATEWAY}\n  {AMENDED}",
    f"operation: UPDATE\n  {AMENDED}",
    f"operation: DELETE\n  {AMENDED}",
    f"object: {GATEWAY}\n  request: {{operation: UPDATE}}\n  {AMENDED}",
    f"object: {GATEWAY}\n  resource: Gateways\n  {AMENDED}",
    f"object: {{kind: Gateway}}\n  {AMENDED}",
    f"object: {{kind: Gateway, spec: !absent}}\n  {AMENDED}",
    "expect: {decision: amended}",
    "expect: {decision: injected, object: {a: 1}}",
    f"object: {GATEWAY}\n  user: {{name: jane}}\n  {AMENDED}",
]


@pytest.mark.parametrize("case", MISTAKES, ids=[repr(case)[-60:] for case in MISTAKES])
def test_a_mistake_is_told_at_its_place(gate: Gate, case: str, golden: Golden) -> None:
    suite = gate(f"cases:\n- name: a\n  {case}\n")
    golden([problem.advice for problem in suite.problems])
    assert all(problem.place.line >= 2 for problem in suite.problems)


def test_a_manifest_beside_the_cases_and_the_namespace_in_it(gate: Gate, golden: Golden) -> None:
    namespace = "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop, labels: {tier: back}}\n"
    gateway = "apiVersion: example.com/v1\nkind: Gateway\nmetadata: {name: web, namespace: shop}\nspec: {host: a}\n"
    case = "- {name: a, operation: CREATE, file: web.yaml, expect: {decision: amended, object: {metadata: {labels: "
    cases = f"cases:\n{case}{{namespace: shop-back}}}}}}}}}}\n"
    assert told(gate(cases, tests__web_yaml=f"{namespace}---\n{gateway}")) == []
    two = gate(cases, tests__web_yaml=f"{gateway}---\n{gateway}")
    golden([p.message for p in two.problems])


def test_a_golden_file_holds_the_object(gate: Gate, run: Callable[..., Done], golden: Golden) -> None:
    cases = f"cases:\n- {{name: a, object: {GATEWAY}, expect: {{decision: amended, golden: a.golden.yaml}}}}\n"
    folder = gate(cases).folder
    assert run(folder, "--update").code == 0
    written = (folder / "tests/a.golden.yaml").read_text()
    assert "decision: amended\n" in written
    golden(written)
    assert run(folder).code == 0
