"""Case files are read strictly: every mistake at its line and column, with what is allowed."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from injector.authoring.cases.suite import Suite
from injector.diagnostics import spoken_path
from tests.messages import Golden

EXPECT = "expect: {decision: injected}"

#: A mistake by the text of a case file, with its place.
MISTAKES = [
    ("", "tests/cases.yaml:1:1"),
    ("# nothing\n", "tests/cases.yaml:1:1"),
    (
        "case: []\n",
        "tests/cases.yaml:1:1",
    ),
    ("- a\n", "tests/cases.yaml:1:1"),
    ("cases: []\n", "tests/cases.yaml:1:1"),
    ("cases: {a: 1}\n", "tests/cases.yaml:1:1"),
    ("cases:\n- name: [\n", "tests/cases.yaml:2:10"),
    (
        "cases:\n- name: a\n   pod: {}\n",
        "tests/cases.yaml:3:4",
    ),
    (
        "cases:\n- {name: a, pod: !absent, x y: 1 z: 2}\n",
        "tests/cases.yaml:2:34",
    ),
    (
        "cases:\n- name: {{ .Values.name }}\n",
        "tests/cases.yaml:2:9",
    ),
    ("cases:\n- {name: a, name: b}\n", "tests/cases.yaml:2:13"),
    ("cases:\n- !mine {}\n", "tests/cases.yaml:2:3"),
    (f"extra: 1\ncases:\n- name: a\n  {EXPECT}\n", "tests/cases.yaml:1:1"),
    ("cases:\n- just text\n", "tests/cases.yaml:2:3"),
    ("cases:\n-\n", "tests/cases.yaml:2:2"),
    (f"cases:\n- {EXPECT}\n", "tests/cases.yaml:2:3"),
    (f"cases:\n- name: ' '\n  {EXPECT}\n", "tests/cases.yaml:2:9"),
    (
        f"cases:\n- name: 3\n  {EXPECT}\n",
        "tests/cases.yaml:2:9",
    ),
    ("cases:\n- name: a\n", "tests/cases.yaml:2:3"),
    ("cases:\n- name: a\n  expect:\n", "tests/cases.yaml:3:3"),
    ("cases:\n- name: a\n  expect: {}\n", "tests/cases.yaml:3:11"),
    (f"cases:\n- name: a\n  pdo: {{}}\n  {EXPECT}\n", "tests/cases.yaml:3:3"),
    (
        f"cases:\n- name: a\n  set: {{port: 1}}\n  {EXPECT}\n",
        "tests/cases.yaml:3:3",
    ),
    (
        f"cases:\n- name: a\n  documentIndex: 0\n  {EXPECT}\n",
        "tests/cases.yaml:3:3",
    ),
    (
        f"cases:\n- name: a\n  asserts: []\n  {EXPECT}\n",
        "tests/cases.yaml:3:3",
    ),
    (
        "cases:\n- name: a\n  expect: {decision: injected, matchSnapshot: {}}\n",
        "tests/cases.yaml:3:32",
    ),
    (
        "cases:\n- name: a\n  expect: injected\n",
        "tests/cases.yaml:3:11",
    ),
    (
        f"suite: x\ncases:\n- name: a\n  {EXPECT}\n",
        "tests/cases.yaml:1:1",
    ),
    (
        "suite: x\ntests: []\n",
        "tests/cases.yaml:1:1",
    ),
    (
        "cases:\n- name: a\n  expect: {decision: injectd}\n",
        "tests/cases.yaml:3:22",
    ),
    (
        "cases:\n- name: a\n  expect: {decision: denied}\n",
        "tests/cases.yaml:3:22",
    ),
    (
        "cases:\n- name: a\n  expect: {decision: yes}\n",
        "tests/cases.yaml:3:22",
    ),
    (
        "cases:\n- name: a\n  expect: {decision: failed, reason: not-servd}\n",
        "tests/cases.yaml:3:38",
    ),
    (
        "cases:\n- name: a\n  expect: {decision: refused, code: 200}\n",
        "tests/cases.yaml:3:37",
    ),
    (
        "cases:\n- name: a\n  expect: {decision: failed, code: 402}\n",
        "tests/cases.yaml:3:30",
    ),
    (
        "cases:\n- name: a\n  expect: {decision: failed, warnings: none}\n",
        "tests/cases.yaml:3:40",
    ),
    (
        "cases:\n- name: a\n  expect: {decision: failed, warnings: [ok, 3]}\n",
        "tests/cases.yaml:3:45",
    ),
    (
        "cases:\n- name: a\n  expect: {decision: injected, pod: {spec: {volumes: }}}\n",
        "tests/cases.yaml:3:45",
    ),
    (
        "cases:\n- name: a\n  expect: {decision: injected, golden: ../a.golden.yaml}\n",
        "tests/cases.yaml:3:40",
    ),
    (
        "cases:\n- name: a\n  expect: {decision: injected, golden: a.yaml}\n",
        "tests/cases.yaml:3:40",
    ),
    (
        f"cases:\n- name: a\n  kubernetes: 1.30\n  {EXPECT}\n",
        "tests/cases.yaml:3:15",
    ),
    (
        "cases:\n- name: a\n  expect: {decision: injected, files: {x: []}}\n",
        "tests/cases.yaml:3:40",
    ),
    (
        f"cases:\n- name: a\n  kubernetes: new\n  {EXPECT}\n",
        "tests/cases.yaml:3:15",
    ),
    (
        f"cases:\n- name: a\n  validate: 'no'\n  {EXPECT}\n",
        "tests/cases.yaml:3:13",
    ),
    (
        f"cases:\n- name: a\n  templates: []\n  {EXPECT}\n",
        "tests/cases.yaml:3:14",
    ),
    (
        f"cases:\n- name: a\n  templates: envoy\n  {EXPECT}\n",
        "tests/cases.yaml:3:14",
    ),
    (
        f"cases:\n- name: a\n  templates: {{}}\n  {EXPECT}\n",
        "tests/cases.yaml:3:14",
    ),
    (
        f"cases:\n- name: a\n  namespace: {{labels: {{a: true}}}}\n  {EXPECT}\n",
        "tests/cases.yaml:3:27",
    ),
    (
        f"cases:\n- name: a\n  namespace: shop\n  {EXPECT}\n",
        "tests/cases.yaml:3:14",
    ),
    (
        f"cases:\n- name: a\n  params: {{port: !absent}}\n  {EXPECT}\n",
        "tests/cases.yaml:3:18",
    ),
    (
        f"cases:\n- name: a\n  templates: !absent\n  {EXPECT}\n",
        "tests/cases.yaml:3:14",
    ),
    *(
        (f"cases:\n- name: a\n  pod: {pod}\n  {EXPECT}\n", "tests/cases.yaml:3:3")
        for pod in (
            "{metadata: {name: a}, containers: [{name: a}]}",
            "{apiVersion: v1, kind: Pod, containers: []}",
            "{kind: Pod, containers: [], volumes: []}",
            "{spec: {template: {}}}",
            "{apiVersion: apps/v1, kind: Deployment, spec: {containers: [{name: a}]}}",
        )
    ),
    (f"cases:\n- name: a\n  pod: {{kind: Service}}\n  {EXPECT}\n", "tests/cases.yaml:3:3"),
    (
        f"cases:\n- name: a\n  file: gone.yaml\n  {EXPECT}\n",
        "tests/cases.yaml:3:9",
    ),
    (
        f"cases:\n- name: a\n  file: gone.yaml\n  pod: {{kind: Pod}}\n  {EXPECT}\n",
        "tests/cases.yaml:3:3",
    ),
    (
        f"cases:\n- name: a\n  {EXPECT}\n- name: a\n  {EXPECT}\n",
        "tests/cases.yaml:4:9",
    ),
    (
        f"cases:\n- &a\n  name: a\n  {EXPECT}\n- {{<<: *a}}\n",
        "tests/cases.yaml:3:9",
    ),
]


@pytest.mark.parametrize(("text", "place"), MISTAKES, ids=[repr(text)[-60:] for text, _ in MISTAKES])
def test_a_mistake_has_its_place_and_its_words(
    suite: Callable[..., Suite], golden: Golden, text: str, place: str
) -> None:
    found = suite(tests__cases_yaml=text)
    assert [str(problem.place) for problem in found.problems] == [place]
    problem = found.problems[0]
    golden(problem.advice)
    where = f"{spoken_path(problem.path)}: " if problem.path else ""
    assert str(problem) == f"logger/{place}: error: {where}{problem.message} [case]"
    assert all(case.case.name == "a" for case in found.cases)


def test_every_mistake_is_told_at_once_in_the_order_of_the_file(suite: Callable[..., Suite]) -> None:
    text = "cases:\n- nme: a\n  expect: {decision: no-thing, reason: x-y, code: 7}\n- name: b\n  kubernetes: x\n"
    lines = [problem.place.line for problem in suite(text).problems]
    assert lines == [2, 2, 3, 3, 3, 4, 5]


def test_the_caret_stands_below_the_mistake(suite: Callable[..., Suite]) -> None:
    problem = suite("cases:\n- name: a\n  expect: {decision: injectd}\n").problems[0]
    assert problem.excerpt.startswith("    3 |   expect: {decision: injectd}\n      |                      ^\n      = ")
    assert problem.help


def test_a_tag_before_a_bracket_is_read_and_columns_behind_it_are_right(suite: Callable[..., Suite]) -> None:
    text = "cases:\n- name: a\n  expect: {decision: injected, pod: {a: !absent, b: [!absent], c: !absent}, code: 1}\n"
    found = suite(text)
    assert [p.place.column for p in found.problems] == [text.split("\n")[2].index("code") + 1, 83]
    assert text.split("\n")[2][82] == "1"


def test_a_file_that_is_not_text_is_a_problem(suite: Callable[..., Suite], tmp_path, golden: Golden) -> None:
    suite("cases: []\n")
    (tmp_path / "logger/tests/cases.yaml").write_bytes(b"\xff\xfe")
    found = suite()
    golden([str(p) for p in found.problems])


def test_two_cases_cannot_share_a_golden_file(suite: Callable[..., Suite], golden: Golden) -> None:
    expect = "expect: {decision: injected, golden: a.golden.yaml}"
    found = suite(f"cases:\n- name: a\n  {expect}\n- name: b\n  {expect}\n")
    golden([(p.place.line, p.message) for p in found.problems])


def test_manifests_and_golden_files_are_no_case_files(suite: Callable[..., Suite]) -> None:
    web = "kind: Pod\nspec: {containers: [{name: web}]}\n"
    cases = f"cases:\n- name: a\n  file: web.yaml\n  {EXPECT}\n"
    found = suite(cases, tests__web_yaml=web, tests__a_golden_yaml="x: y\n")
    assert found.problems == []
    assert [c.case.name for c in found.cases] == ["a"]
    assert found.unused_golden_files() == ["logger/tests/a.golden.yaml"]


def test_a_manifest_that_no_case_names_is_told_of(suite: Callable[..., Suite]) -> None:
    found = suite(f"cases:\n- name: a\n  {EXPECT}\n", tests__web_yaml="kind: Pod\n")
    assert [str(p.place) for p in found.problems] == ["tests/web.yaml:1:1"]


@pytest.mark.parametrize(
    "manifest",
    ["kind: Service\n", "kind: Pod\n---\nkind: Pod\n", "kind: Pod\n---\na: 1\nb: [\n", "kind: Pod\na: 1\na: 2\n"],
)
def test_a_manifest_that_is_none(suite: Callable[..., Suite], manifest: str, golden: Golden) -> None:
    found = suite(f"cases:\n- name: a\n  file: web.yaml\n  {EXPECT}\n", tests__web_yaml=manifest)
    assert [str(problem.place) for problem in found.problems] == ["tests/cases.yaml:3:9"]
    golden(found.problems[0].message)


def test_a_template_without_cases_has_none(suite: Callable[..., Suite]) -> None:
    found = suite()
    assert (found.cases, found.problems, found.unused_golden_files()) == ([], [], [])
