"""Branches of a template: which there are, which a render goes through, and that marks change nothing."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from injector.authoring.cases.branches import marked
from injector.authoring.cases.programs import Programs
from injector.authoring.cases.run import Ways
from injector.authoring.cases.runner import TestPlan, run_suites
from injector.authoring.cases.suite import Suite
from injector.errors import InjectionError
from injector.loading.template_folders import gallery_path, read_folder
from injector.templates.load import load_template
from injector.templates.render import render_files, render_overlay
from injector.templates.samples import sample_contexts
from tests.messages import Golden

MANIFEST = "description: x\nparameters:\n  a: {type: boolean, default: false}\n  list: {type: array, default: []}\n"
OVERLAY = """\
{% import "_m.j2" as m %}
{% macro inner(x) %}
  {% if x %}yes{% else %}no{% endif %}
{% endmacro %}
metadata:
  labels:
    {% if params.a %}
    one: "1"
    {% elif params.list %}
    two: "2"
    {%   else %}
    three: "3"
    {% endif %}
    {% for x in params.list %}
    "{{ x }}": {{ "f" if x == "first" else "o" }}
    {% else %}
    none: {{ m.word("x") }}
    {% endfor %}
    four: "{% if params.a %}a{% endif %}{{ 'b' if params.a else '' }}"
    {% if params.a and not params.list %}{% if native %}five: "5"{% endif %}{% endif %}
{% set block %}{% if params.a %}A{% endif %}{% endset %}
    six: "{{ block }}"
"""
MACROS = """\
{% macro word(x) %}{{ x }}{% endmacro %}
{% macro unused() %}{% for x in [1] %}{{ x }}{% endfor %}{% endmacro %}
"""


def make(**params: object) -> tuple[dict, list[str]]:
    """What the overlay renders, and the branches that it did not go through."""
    sources = {"template.yaml": MANIFEST, "overlay.yaml.j2": OVERLAY, "_m.j2": MACROS}
    plain = load_template("t", sources)
    template, branches = marked(plain)
    context = next(iter(sample_contexts(template)))
    context.params.update(params)
    overlay = render_overlay(template, context).overlay
    assert overlay == render_overlay(plain, context).overlay
    return overlay, [f"{branches.place(b)} {b.what}" for b in branches.missed]


#: What nobody calls.
ALWAYS = [
    "_m.j2:2:4 macro unused",
    "_m.j2:2:33 for",
    "overlay.yaml.j2:2:4 macro inner",
    "overlay.yaml.j2:3:9 if",
    "overlay.yaml.j2:3:19 else",
]


def test_what_a_render_does_not_go_through(golden: Golden) -> None:
    overlay, missed = make()
    assert overlay["metadata"]["labels"] == {"three": "3", "none": "x", "four": "", "six": ""}
    golden([m for m in missed if m not in ALWAYS])


def test_other_values_go_other_ways(golden: Golden) -> None:
    overlay, missed = make(a=True, list=["first"])
    assert overlay["metadata"]["labels"] == {"one": "1", "first": "f", "four": "ab", "six": "A"}
    golden([m for m in missed if m not in ALWAYS])


@pytest.mark.parametrize("name", sorted(f.parent.name for f in gallery_path().glob("*/template.yaml")))
def test_marks_change_nothing(name: str) -> None:
    plain = load_template(name, read_folder(gallery_path() / name))
    template, branches = marked(plain)
    rendered = 0
    for context in sample_contexts(plain):
        try:
            wanted = render_overlay(plain, context), render_files(plain, context)
        except InjectionError as error:
            with pytest.raises(InjectionError) as again:
                render_overlay(template, context), render_files(template, context)
            assert str(again.value) == str(error)
        else:
            assert (render_overlay(template, context), render_files(template, context)) == wanted
            rendered += 1
    assert rendered
    assert branches.reached <= set(branches.all)
    for branch in branches.all:
        assert branches.place(branch).line, branch


CASES = """\
cases:
- name: plain
  expect: {decision: injected}
- name: an annotation
  pod: {metadata: {annotations: {logger.sidecar.injector/level: debug}}, spec: {containers: [{name: web}]}}
  expect: {decision: injected}
- name: the default, said once more
  params: {port: 2020}
  expect: {decision: injected}
- name: refused, but given
  params: {tags: [x], port: 8080}
  expect: {decision: refused}
- name: never seen
  params: {port: none}
  expect: {decision: failed}
"""


def _coverage(suite: Suite):
    (run,) = run_suites([suite], TestPlan(Ways(Programs())))
    assert [str(p) for p in run.all_problems] == []
    assert run.coverage is not None
    return run.coverage


def test_coverage_of_parameters_and_branches(suite: Callable[..., Suite]) -> None:
    coverage = _coverage(suite(CASES))
    assert (coverage.parameters, coverage.branches) == (3, 7)
    assert coverage.missed_parameters == ()
    assert [f"{m.place} {m.what}" for m in coverage.missed_branches] == ["overlay.yaml.j2:1:7 if"]
    assert coverage.percent == 90
    assert coverage.sentence == "1 of 7 branches are never reached"


def test_coverage_without_a_case_that_sets_anything(suite: Callable[..., Suite], golden: Golden) -> None:
    coverage = _coverage(suite("cases:\n- {name: a, expect: {decision: injected}}\n"))
    assert [(str(m.place), m.what) for m in coverage.missed_parameters] == [
        ("template.yaml:3:3", "parameter level"),
        ("template.yaml:4:3", "parameter port"),
        ("template.yaml:5:3", "parameter tags"),
    ]
    golden([f"{m.place} {m.what}" for m in coverage.missed_branches])


def test_a_template_without_branches_is_whole() -> None:
    _, branches = marked(load_template("t", {"template.yaml": "description: x\n", "overlay.yaml.j2": "spec: {}\n"}))
    assert (branches.all, branches.missed) == ([], [])
