"""Case files are read strictly: every mistake at its line and column, with what is allowed."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from injector.authoring.cases.suite import Suite
from injector.diagnostics import spoken_path
from tests.messages import Golden

EXPECT = "expect: {decision: injected}"
DECISIONS = "it has to be one of: amended, failed, injected, refused, skipped, unchanged"
NO_POD = (
    "there is no pod here; write a Pod, or an object with a pod template such as a Deployment. To test a template "
    "for a path (`paths:` in the settings), write `object`, or `file` together with `operation` or `path`"
)

#: A mistake by the text of a case file, with the place and the message that it gets.
MISTAKES = [
    ("", "tests/cases.yaml:1:1", "the file is empty; write `cases:` with at least one case"),
    ("# nothing\n", "tests/cases.yaml:1:1", "the file is empty; write `cases:` with at least one case"),
    (
        "case: []\n",
        "tests/cases.yaml:1:1",
        "this file has no `cases:`, and no case refers to it with `file:`; write `cases:` in place of `case:`",
    ),
    ("- a\n", "tests/cases.yaml:1:1", "this file has no `cases:`, and no case refers to it with `file:`"),
    ("cases: []\n", "tests/cases.yaml:1:1", "cases has to be a list of cases, each with `name:` and `expect:`"),
    ("cases: {a: 1}\n", "tests/cases.yaml:1:1", "cases has to be a list of cases, each with `name:` and `expect:`"),
    ("cases:\n- name: [\n", "tests/cases.yaml:2:10", "not YAML: a value is missing here"),
    (
        "cases:\n- name: a\n   pod: {}\n",
        "tests/cases.yaml:3:4",
        "not YAML: this key is indented further than the line above it, which has a value of its own already",
    ),
    (
        "cases:\n- {name: a, pod: !absent, x y: 1 z: 2}\n",
        "tests/cases.yaml:2:34",
        "not YAML: a comma or the } of the bracket that opens on line 2 is missing here",
    ),
    (
        "cases:\n- name: {{ .Values.name }}\n",
        "tests/cases.yaml:2:9",
        "not YAML: this is the template of a Helm chart, not a manifest; render the chart first: helm template",
    ),
    ("cases:\n- {name: a, name: b}\n", "tests/cases.yaml:2:13", 'not YAML: the key "name" appears twice'),
    ("cases:\n- !mine {}\n", "tests/cases.yaml:2:3", "not YAML: unknown tag !mine"),
    (f"extra: 1\ncases:\n- name: a\n  {EXPECT}\n", "tests/cases.yaml:1:1", 'unknown key "extra"; the keys are: cases'),
    ("cases:\n- just text\n", "tests/cases.yaml:2:3", 'a mapping is needed, and this is a string ("just text")'),
    ("cases:\n-\n", "tests/cases.yaml:2:2", "a mapping is needed, and this is nothing"),
    (f"cases:\n- {EXPECT}\n", "tests/cases.yaml:2:3", "name is missing"),
    (f"cases:\n- name: ' '\n  {EXPECT}\n", "tests/cases.yaml:2:9", "the name is empty; say what the case shows"),
    (
        f"cases:\n- name: 3\n  {EXPECT}\n",
        "tests/cases.yaml:2:9",
        "a string is needed, and this is a number (3); put it in quotes",
    ),
    ("cases:\n- name: a\n", "tests/cases.yaml:2:3", "expect is missing"),
    ("cases:\n- name: a\n  expect:\n", "tests/cases.yaml:3:3", "expect is empty; give it a value or leave it out"),
    ("cases:\n- name: a\n  expect: {}\n", "tests/cases.yaml:3:11", f"decision is missing; {DECISIONS}"),
    (f"cases:\n- name: a\n  pdo: {{}}\n  {EXPECT}\n", "tests/cases.yaml:3:3", 'unknown key "pdo"; did you mean pod?'),
    (
        f"cases:\n- name: a\n  set: {{port: 1}}\n  {EXPECT}\n",
        "tests/cases.yaml:3:3",
        'unknown key "set"; write params: {port: 1}',
    ),
    (
        f"cases:\n- name: a\n  documentIndex: 0\n  {EXPECT}\n",
        "tests/cases.yaml:3:3",
        'unknown key "documentIndex"; leave it out: a case has one pod',
    ),
    (
        f"cases:\n- name: a\n  asserts: []\n  {EXPECT}\n",
        "tests/cases.yaml:3:3",
        'unknown key "asserts"; write the expected result in `expect:`, such as expect: {decision: injected}',
    ),
    (
        "cases:\n- name: a\n  expect: {decision: injected, matchSnapshot: {}}\n",
        "tests/cases.yaml:3:32",
        'unknown key "matchSnapshot"; write golden: NAME.golden.yaml',
    ),
    (
        "cases:\n- name: a\n  expect: injected\n",
        "tests/cases.yaml:3:11",
        'a mapping is needed, and this is a string ("injected"); write expect: {decision: injected}',
    ),
    (
        f"suite: x\ncases:\n- name: a\n  {EXPECT}\n",
        "tests/cases.yaml:1:1",
        'unknown key "suite"; leave it out: each case has a `name:`',
    ),
    (
        "suite: x\ntests: []\n",
        "tests/cases.yaml:1:1",
        "this file has no `cases:`, and no case refers to it with `file:`; write cases:, not tests:",
    ),
    (
        "cases:\n- name: a\n  expect: {decision: injectd}\n",
        "tests/cases.yaml:3:22",
        '"injectd" is not allowed; did you mean injected?',
    ),
    (
        "cases:\n- name: a\n  expect: {decision: denied}\n",
        "tests/cases.yaml:3:22",
        f'"denied" is a reason; write it in `reason`; {DECISIONS.replace("it has to be", "`decision` must be")}',
    ),
    (
        "cases:\n- name: a\n  expect: {decision: yes}\n",
        "tests/cases.yaml:3:22",
        f"true is not allowed; {DECISIONS}",
    ),
    (
        "cases:\n- name: a\n  expect: {decision: failed, reason: not-servd}\n",
        "tests/cases.yaml:3:38",
        'there is no reason "not-servd"; did you mean not-served?',
    ),
    (
        "cases:\n- name: a\n  expect: {decision: refused, code: 200}\n",
        "tests/cases.yaml:3:37",
        "code is 200; it has to be from 400 to 599",
    ),
    (
        "cases:\n- name: a\n  expect: {decision: failed, code: 402}\n",
        "tests/cases.yaml:3:30",
        "`code` is only allowed with `decision: refused`, but the decision here is failed",
    ),
    (
        "cases:\n- name: a\n  expect: {decision: failed, warnings: none}\n",
        "tests/cases.yaml:3:40",
        'a list is needed, and this is a string ("none"); write warnings: []',
    ),
    (
        "cases:\n- name: a\n  expect: {decision: failed, warnings: [ok, 3]}\n",
        "tests/cases.yaml:3:45",
        "a string is needed, and this is a number (3); put it in quotes",
    ),
    (
        "cases:\n- name: a\n  expect: {decision: injected, pod: {spec: {volumes: }}}\n",
        "tests/cases.yaml:3:45",
        "`volumes` has no value here, but every key in the output has a value; write !absent for what must not be "
        "there",
    ),
    (
        "cases:\n- name: a\n  expect: {decision: injected, golden: ../a.golden.yaml}\n",
        "tests/cases.yaml:3:40",
        '"../a.golden.yaml" is not allowed; name a file in this folder, with a name that ends in .golden.yaml',
    ),
    (
        "cases:\n- name: a\n  expect: {decision: injected, golden: a.yaml}\n",
        "tests/cases.yaml:3:40",
        '"a.yaml" is not allowed; name a file in this folder, with a name that ends in .golden.yaml',
    ),
    (
        f"cases:\n- name: a\n  kubernetes: 1.30\n  {EXPECT}\n",
        "tests/cases.yaml:3:15",
        "a string is needed, and this is a number (1.3); put it in quotes",
    ),
    (
        "cases:\n- name: a\n  expect: {decision: injected, files: {x: []}}\n",
        "tests/cases.yaml:3:40",
        "x: this expects nothing, so it checks nothing; write a part of the file; or !absent, if there must be no such "
        "file",
    ),
    (
        f"cases:\n- name: a\n  kubernetes: new\n  {EXPECT}\n",
        "tests/cases.yaml:3:15",
        '"new" is not a version such as "1.33"',
    ),
    (
        f"cases:\n- name: a\n  validate: 'no'\n  {EXPECT}\n",
        "tests/cases.yaml:3:13",
        'true or false is needed, and this is a string ("no"); write validate: false',
    ),
    (
        f"cases:\n- name: a\n  templates: []\n  {EXPECT}\n",
        "tests/cases.yaml:3:14",
        "templates is empty; name at least one or leave it out",
    ),
    (
        f"cases:\n- name: a\n  templates: envoy\n  {EXPECT}\n",
        "tests/cases.yaml:3:14",
        '"envoy" is not allowed; it has to be one of: chosen',
    ),
    (
        f"cases:\n- name: a\n  templates: {{}}\n  {EXPECT}\n",
        "tests/cases.yaml:3:14",
        "{} is not allowed; it has to be a list or chosen",
    ),
    (
        f"cases:\n- name: a\n  namespace: {{labels: {{a: true}}}}\n  {EXPECT}\n",
        "tests/cases.yaml:3:27",
        "a string is needed, and this is a boolean (true); put it in quotes",
    ),
    (
        f"cases:\n- name: a\n  namespace: shop\n  {EXPECT}\n",
        "tests/cases.yaml:3:14",
        'a mapping is needed, and this is a string ("shop"); write namespace: {name: shop}',
    ),
    (
        f"cases:\n- name: a\n  params: {{port: !absent}}\n  {EXPECT}\n",
        "tests/cases.yaml:3:18",
        "!absent is only for expected output: `expect.pod`, `expect.object` and `expect.files`",
    ),
    (
        f"cases:\n- name: a\n  templates: !absent\n  {EXPECT}\n",
        "tests/cases.yaml:3:14",
        "!absent cannot be here; that is for `expect.pod`, `expect.object` and `expect.files`",
    ),
    *(
        (
            f"cases:\n- name: a\n  pod: {pod}\n  {EXPECT}\n",
            "tests/cases.yaml:3:3",
            f"pod: there is no pod here; {lacks}",
        )
        for pod, lacks in (
            (
                "{metadata: {name: a}, containers: [{name: a}]}",
                "add apiVersion: v1 and kind: Pod, and move containers below `spec:`",
            ),
            ("{apiVersion: v1, kind: Pod, containers: []}", "move containers below `spec:`"),
            (
                "{kind: Pod, containers: [], volumes: []}",
                "add apiVersion: v1, and move containers and volumes below `spec:`",
            ),
            (
                "{spec: {template: {}}}",
                "add apiVersion: apps/v1 and kind: Deployment",
            ),
            (
                "{apiVersion: apps/v1, kind: Deployment, spec: {containers: [{name: a}]}}",
                "spec.template: it is missing, and a Deployment has its pod template there; put containers into "
                "spec.template.spec",
            ),
        )
    ),
    (f"cases:\n- name: a\n  pod: {{kind: Service}}\n  {EXPECT}\n", "tests/cases.yaml:3:3", f"pod: {NO_POD}"),
    (
        f"cases:\n- name: a\n  file: gone.yaml\n  {EXPECT}\n",
        "tests/cases.yaml:3:9",
        "gone.yaml: cannot be read: No such file or directory",
    ),
    (
        f"cases:\n- name: a\n  file: gone.yaml\n  pod: {{kind: Pod}}\n  {EXPECT}\n",
        "tests/cases.yaml:3:3",
        "`pod` and `file` both give the input; remove one of them",
    ),
    (
        f"cases:\n- name: a\n  {EXPECT}\n- name: a\n  {EXPECT}\n",
        "tests/cases.yaml:4:9",
        "the case of line 2 has this name too",
    ),
    (
        f"cases:\n- &a\n  name: a\n  {EXPECT}\n- {{<<: *a}}\n",
        "tests/cases.yaml:3:9",
        "the case of line 3 has this name too",
    ),
]


@pytest.mark.parametrize(("text", "place", "message"), MISTAKES, ids=[m[2][:50] for m in MISTAKES])
def test_a_mistake_has_its_place_and_its_words(
    suite: Callable[..., Suite], text: str, place: str, message: str
) -> None:
    found = suite(tests__cases_yaml=text)
    assert [(str(p.place), p.advice) for p in found.problems] == [(place, message)]
    problem = found.problems[0]
    where = f"{spoken_path(problem.path)}: " if problem.path else ""
    assert str(problem) == f"logger/{place}: error: {where}{problem.message} [case]"
    assert all(case.case.name == "a" for case in found.cases)


def test_every_mistake_is_told_at_once_in_the_order_of_the_file(suite: Callable[..., Suite]) -> None:
    text = "cases:\n- nme: a\n  expect: {decision: no-thing, reason: x-y, code: 7}\n- name: b\n  kubernetes: x\n"
    lines = [problem.place.line for problem in suite(text).problems]
    assert lines == [2, 2, 3, 3, 3, 4, 5]


def test_the_caret_stands_below_the_mistake(suite: Callable[..., Suite]) -> None:
    problem = suite("cases:\n- name: a\n  expect: {decision: injectd}\n").problems[0]
    assert (
        problem.excerpt
        == "    3 |   expect: {decision: injectd}\n      |                      ^\n      = did you mean injected?"
    )


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
    ("manifest", "message"),
    [
        ("kind: Service\n", f"web.yaml: {NO_POD}"),
        ("kind: Pod\n---\nkind: Pod\n", "web.yaml: 2 objects with a pod; a case takes only one"),
        ("kind: Pod\n---\na: 1\nb: [\n", "web.yaml: line 4, column 5: a value is missing here"),
        ("kind: Pod\na: 1\na: 2\n", 'web.yaml: line 3, column 1: the key "a" appears twice'),
    ],
)
def test_a_manifest_that_is_none(suite: Callable[..., Suite], manifest: str, message: str) -> None:
    found = suite(f"cases:\n- name: a\n  file: web.yaml\n  {EXPECT}\n", tests__web_yaml=manifest)
    assert [(str(p.place), p.message) for p in found.problems] == [("tests/cases.yaml:3:9", message)]


def test_a_template_without_cases_has_none(suite: Callable[..., Suite]) -> None:
    found = suite()
    assert (found.cases, found.problems, found.unused_golden_files()) == ([], [], [])
