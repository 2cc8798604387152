"""What could stand at the cursor, in finished and in half-written files."""

from __future__ import annotations

import random
import time

import pytest
from hypothesis import given, settings, strategies as st

from injector.authoring.lint.rule import rules
from injector.authoring.lsp.assist import complete, hover
from injector.authoring.lsp.navigation import definition, prepare_rename, references, symbols
from injector.authoring.lsp.places import names_place
from injector.authoring.lsp.project import Project
from injector.pods.fields import CONTAINER, POD, SPEC
from injector.settings import Settings
from injector.templates.dependencies import NAMES
from injector.templates.environment import FUNCTIONS
from injector.templates.filters import FILTERS, TEXT_FILTERS
from tests.authoring.lsp.marked import CASES, FILES, MANIFEST, OVERLAY, marked, project, real_projects
from tests.processor_time import at_most, reference
from tests.samples import sampled

#: A file with the cursor, and some labels that have to be offered, each with its kind.
OFFERED = [
    (OVERLAY, "{{ params.‸", {"app_port": "parameter", "mode": "parameter", "secret": "parameter"}),
    (OVERLAY, "{{ params.app‸_port | default(1) }}", {"app_port": "parameter"}),
    (OVERLAY, "a: {{ params['‸", {"app_port": "parameter"}),
    (OVERLAY, '{{ params.get("‸', {"app_port": "parameter"}),
    (OVERLAY, 'spec: {"containers":[{"im‸', {"image": "field"}),
    (OVERLAY, "{{ ‸", {"params": "value", "pod": "value", "warn": "function", "deny": "function"}),
    (OVERLAY, "{% macro m(a) %}{% endmacro %}{% set x = 1 %}{{ ‸ }}", {"m": "function", "x": "value"}),
    (OVERLAY, '{% from "_macros.j2" import wait as pause %}{{ ‸ }}', {"pause": "function"}),
    (OVERLAY, '{% from "_macros.j2" import ‸ %}', {"mount": "function", "wait": "function"}),
    (OVERLAY, '{% import "_macros.j2" as lib %}{{ lib.‸ }}', {"mount": "function"}),
    (OVERLAY, '{% include "‸', {"_macros.j2": "file", "tool.json.j2": "file"}),
    (OVERLAY, "{{ params.mode | ‸ }}", {"default": "filter", "tojson": "filter"}),
    ("a.sh.j2", "{{ params.mode | q‸", {"quote": "filter"}),
    (OVERLAY, "{% if params.mode is ‸", {"defined": "filter"}),
    (OVERLAY, "{% if params.mode is not d‸", {"defined": "filter"}),
    (OVERLAY, "{{ pod.spec.‸", {"nodeName": "field", "containers": "field"}),
    (OVERLAY, "{{ app.‸", {"resources": "field", "largest": "field", "qos_class": "field"}),
    (OVERLAY, "{{ app.largest.limits.‸", {"cpu": "field", "memory": "field"}),
    (OVERLAY, "{{ namespace.‸", {"labels": "field", "name": "field"}),
    (OVERLAY, "{{ workload.‸", {"kind": "field"}),
    (OVERLAY, "{{ cluster.‸", {"domain": "field"}),
    (OVERLAY, "{{ files.‸", {"configmap": "field"}),
    (OVERLAY, "{% for c in containers %}{{ c.‸ }}{{ loop.index }}", {"image": "field"}),
    (OVERLAY, "{% for c in containers %}{{ loop.‸ }}", {"index": "field"}),
    (OVERLAY, "{% for t in params.targets %}{{ t.‸ }}", {"host": "field", "tls": "field"}),
    (OVERLAY, "{% set t = params.targets[0] %}{{ t.‸ }}", {"host": "field"}),
    (OVERLAY, "spec:\n  ‸", {"containers": "field", "volumes": "field"}),
    (OVERLAY, "spec:\n  containers:\n  - ‸", {"name": "field", "image": "field"}),
    (OVERLAY, "spec:\n  containers:\n  - name: a\n    im‸\n    args: []\n", {"image": "field"}),
    (OVERLAY, "spec:\n  containers:\n  - {name: a, im‸", {"imagePullPolicy": "field"}),
    (OVERLAY, "spec:\n  containers: [{name: a, ports: [{‸}]}]\n", {"containerPort": "field"}),
    (OVERLAY, "spec:\n  containers:\n  - imagePullPolicy: ‸", {"Always": "value", "Never": "value"}),
    (OVERLAY, 'spec:\n  containers:\n  - imagePullPolicy: "‸"', {"IfNotPresent": "value"}),
    (OVERLAY, "spec:\n  containers:\n  - stdin: ‸", {"true": "value", "false": "value"}),
    (OVERLAY, "spec:\n  dnsPolicy: ‸\n  containers: []\n", {"ClusterFirst": "value"}),
    (OVERLAY, "spec:\n  containers:\n  - name: a\n    oops\n    ports:\n    - protocol: ‸", {"UDP": "value"}),
    (OVERLAY, "spec:\n  containers: [{name: a\n  volumes:\n  - name: b\n    ‸", {"emptyDir": "field"}),
    (MANIFEST, "‸", {"parameters": "key", "hostNetwork": "key"}),
    (MANIFEST, "parameters:\n  a:\n    ‸", {"type": "key", "default": "key", "pods": "key"}),
    (MANIFEST, "parameters:\n  a: {type: ‸", {"integer": "value"}),
    (MANIFEST, "parameters:\n  a:\n    format: ‸\n  b: {}\n", {"port": "value", "image": "value"}),
    (MANIFEST, "parameters: {a: {from: [‸]}}", {"pod": "value", "settings": "value"}),
    (MANIFEST, "parameters:\n  a:\n    pods: ‸", {"may-set": "value"}),
    (MANIFEST, "delivery: ‸", {"configmap": "value"}),
    (MANIFEST, "for: {operations: [‸", {}),
    (MANIFEST, "redirects: {‸", {"rules": "sample"}),
    (MANIFEST, "redirects: {rules: ‸}", {"tool-sidecar": "sample"}),
    (MANIFEST, "shared: [‸]", {"tool-config": "sample"}),
    (MANIFEST, "overridable:\n- ‸", {"resources": "field"}),
    (MANIFEST, "files:\n  ‸", {"tool.json": "file"}),
    (MANIFEST, "files: {a: {template: ‸}}", {"tool.json.j2": "file"}),
    (CASES, "cases:\n- name: a\n  ‸", {"params": "key", "expect": "key"}),
    (CASES, "cases:\n- name: a\n  params:\n    ‸", {"app-port": "parameter", "mode": "parameter"}),
    (CASES, "cases:\n- name: a\n  params: {mode: ‸", {"fast": "value", "safe": "value"}),
    (CASES, "cases:\n- expect: {decision: ‸", {"injected": "value"}),
    (CASES, "cases:\n- expect: {reason: ‸", {"bad-parameter": "value"}),
    (CASES, "cases:\n- templates: [‸", {"tool": "value"}),
    (CASES, "cases:\n- expect:\n    files:\n      ‸", {"tool.json": "file", "other.json": "file"}),
    (CASES, "cases:\n- expect:\n    pod:\n      spec: {‸", {"containers": "key"}),
    (CASES, "cases:\n- pod:\n    metadata:\n      annotations: {‸", {"tool.sidecar.injector/app-port": "parameter"}),
    (CASES, "cases:\n- pod:\n    spec:\n      template:\n        spec: {‸", {"nodeName": "key"}),
    (CASES, "cases:\n- settings: {parameters: {tool: {‸", {"app-port": "parameter"}),
    ("settings.yaml", "‸", {"podDefault": "key"}),
    ("settings.yaml", "podDefault: ‸", {"skip": "value"}),
    (OVERLAY, "# lint: disable=‸", {"run-as-root": "value"}),
    (MANIFEST, "# lint: disable=resources,‸ why", {"run-as-root": "value"}),
    ("README.md", "<!-- lint: disable=run-as‸", {"run-as-root": "value"}),
]


@pytest.mark.parametrize(("file", "text", "labels"), OFFERED, ids=lambda value: str(value)[-40:])
def test_offers(file: str, text: str, labels: dict[str, str]) -> None:
    offered = complete(*marked(file, text))
    assert labels.items() <= {item.label: item.kind for item in offered}.items()


@pytest.mark.parametrize(
    ("file", "text"),
    [
        (OVERLAY, "# a comment ‸"),
        (OVERLAY, "spec:\n  containers:\n  -‸"),
        (OVERLAY, "{# params.‸ #}"),
        (OVERLAY, "{% raw %}{{ params.‸ }}{% endraw %}"),
        (OVERLAY, "{{ 'params.‸' }}"),
        (OVERLAY, "{{ params.mode.‸ }}"),
        (OVERLAY, "{{ nothing.‸ }}"),
        (MANIFEST, "description: |\n  a ‸"),
        (MANIFEST, "description: two ‸"),
        (MANIFEST, "delivery:‸"),
        ("README.md", "params.‸"),
        ("tool.json.j2", '{"‸'),
    ],
)
def test_offers_nothing(file: str, text: str) -> None:
    assert complete(*marked(file, text)) == []


@pytest.mark.parametrize(
    ("file", "text", "label", "after"),
    [
        (OVERLAY, "{{ params.ap‸p_p }}", "app_port", "{{ params.app_port }}"),
        (OVERLAY, "spec:\n  con‸", "containers", "spec:\n  containers:"),
        (OVERLAY, "spec:\n  no‸\n  volumes: []", "nodeName", "spec:\n  nodeName: \n  volumes: []"),
        (OVERLAY, "spec:\n  con‸: []", "containers", "spec:\n  containers: []"),
        (OVERLAY, '{% include "_m‸" %}', "_macros.j2", '{% include "_macros.j2" %}'),
        (CASES, "cases:\n- params: {sec‸", "secret-", "cases:\n- params: {secret-"),
        (MANIFEST, 'delivery: "an‸notation"', "annotation", 'delivery: "annotation"'),
        (CASES, 'cases: [{params: {"app‸": 1}}]', "app-port", 'cases: [{params: {"app-port": 1}}]'),
        (OVERLAY, "# lint: disable=run‸-a why", "run-as-root", "# lint: disable=run-as-root why"),
    ],
)
def test_replaces_the_word_at_the_cursor(file: str, text: str, label: str, after: str) -> None:
    template, _, offset = marked(file, text)
    item = next(item for item in complete(template, file, offset) if item.label == label)
    assert template.files[file][: item.start] + item.text + template.files[file][item.end :] == after


def test_says_what_a_parameter_takes() -> None:
    offered = {item.label: item for item in complete(*marked(OVERLAY, "{{ params.‸ }}"))}
    assert "8080" in offered["app_port"].detail
    assert offered["app_port"].documentation == "Port of the app."


def test_a_key_is_offered_once() -> None:
    offered = {item.label for item in complete(*marked(OVERLAY, "spec:\n  nodeName: a\n  ‸\n  volumes: []\n"))}
    assert "containers" in offered and not {"nodeName", "volumes"} & offered


def test_everything_is_offered() -> None:
    def labels(file: str, text: str) -> set[str]:
        return {item.label for item in complete(*marked(file, text))}

    assert labels(OVERLAY, "{{ ‸") >= NAMES | FUNCTIONS.keys()
    assert labels(OVERLAY, "{{ 1 | ‸") == FILTERS.keys()
    assert labels("a.txt.j2", "{{ 1 | ‸") == TEXT_FILTERS.keys()
    assert labels(OVERLAY, "# lint: disable=‸") == rules().keys()
    assert labels(OVERLAY, "spec: {‸") == set(SPEC.fields.notations)
    assert labels(OVERLAY, "spec: {containers: [{‸") == set(CONTAINER.fields.notations)
    assert labels(OVERLAY, "‸") == set(POD.fields.notations)
    assert labels("settings.yaml", "‸") == set(Settings.__struct_encode_fields__)


def test_every_name_and_filter_is_described() -> None:
    names = names_place(project())
    assert [
        n for n in NAMES - {"oldObject", "operation", "user", "request"} if not names.below(n).first("description")
    ] == []
    assert [n for n in FUNCTIONS if not names.below(n).first("description")] == []
    offered = complete(*marked("a.txt.j2", "{{ 1 | ‸"))
    assert [item.label for item in offered if not item.documentation] == []


def test_for_other_objects_no_field_of_a_pod_is_offered() -> None:
    manifest = "for: {resources: [services], operations: [CREATE, UPDATE]}\n"
    assert complete(project(**{MANIFEST: manifest, OVERLAY: "spec: {"}), OVERLAY, 7) == []


@pytest.mark.parametrize("name", sorted(real_projects()))
@pytest.mark.parametrize("places", [6, pytest.param(20, marks=pytest.mark.soak(minutes=2))])
def test_anywhere_in_real_files(name: str, places: int) -> None:
    """Anywhere in every file, whole or cut off there, each feature gives an answer, and soon."""
    whole, multiples, before = real_projects()[name], [], reference()
    dice = random.Random(name)
    for file, text in whole.files.items():
        for offset in sorted(dice.sample(range(len(text) + 1), min(len(text) + 1, places))):
            for template in (whole, Project(whole.folder, {**whole.files, file: text[:offset]})):
                for feature in (complete, hover, definition, references):
                    began = time.process_time()
                    feature(template, file, offset)  # type: ignore[operator]
                    multiples.append((time.process_time() - began) / before)
                symbols(template, file)
                offered = complete(template, file, offset)
                assert [i for i in offered if not 0 <= i.start <= offset <= i.end <= len(text)] == [], (file, offset)
                renamed = prepare_rename(template, file, offset)
                assert renamed is None or renamed in references(template, file, offset)
    assert sorted(multiples)[len(multiples) * 95 // 100] < 4  # 20 ms where the reference takes 5


SCRAPS = st.sampled_from(
    [
        *(
            "{{",
            "}}",
            "{%",
            "%}",
            "{#",
            "#}",
            "params.",
            "|",
            '"',
            "'",
            "[",
            "]",
            "{",
            "}",
            ":",
            "- ",
            "\n",
            "  ",
            "\t",
        ),
        *("&a", "*a", "!", "raw", "endraw", " #", ">", "for", "set", "macro", "import", "\r\n", "é𝒳"),
        *("\ud800", "\ufeff", "\u2028", "\x00"),
    ]
)


@settings(max_examples=150)
@given(st.data())
def test_anywhere_in_what_is_half_written(data: st.DataObject) -> None:
    """Files that are cut off, with scraps in the middle, make nothing raise."""
    files = dict(FILES)
    file = data.draw(st.sampled_from(sorted(files)))
    text = files[file]
    at = data.draw(st.integers(0, len(text)))
    rest = text[at:] if data.draw(st.booleans()) else ""
    files[file] = text[:at] + "".join(data.draw(st.lists(SCRAPS, max_size=6))) + rest
    template = Project(project().folder, files)
    for offset in {at, len(files[file]), data.draw(st.integers(0, len(files[file])))}:
        complete(template, file, offset)
        hover(template, file, offset)
        definition(template, file, offset)
        references(template, file, offset)
    for name in files:
        symbols(template, name)


#: Long texts that a feature may go through again and again.
LONG = [
    "{# " * 30_000,
    "{#\n" * 30_000,
    "{{\n" * 30_000,
    "{{ a }}" * 15_000,
    "{{ a }}\n" * 15_000,
    "{% if a %}\n" * 10_000,
    "{{ " + "a." * 40_000,
    "{{ " + "'" * 100_001,
    "- " * 50_000,
    "[" * 100_000,
    "{a: " * 30_000,
    "a:\n" + " " * 100_000,
    "a" + " " * 100_000 + "b",
    "a: '\n" * 30_001,
    'a: "\n' * 30_001,
    "".join(f"{' ' * n}a:\n" for n in range(400)),
    "spec:\n  containers:\n" + "  - name: a\n" * 8_000,
    "parameters:\n" + "  a: {type: string}\n" * 5_000,
    "cases:\n" + "- {name: a, expect: {reason: bad-parameter, message: app-port}}\n" * 1_500,
    "# lint: disable=" + "a," * 40_000,
]


@pytest.mark.parametrize(
    ("file", "text"),
    # each in one of the two files, by turns; in the other one in `make soak`
    sampled(((file, text) for number, text in enumerate(LONG) for file in (OVERLAY, MANIFEST)[:: (-1) ** number]), 2),
    ids=lambda value: value[:12],
)
def test_what_nobody_writes_takes_no_longer_than_its_length(file: str, text: str) -> None:
    template = project(**{file: text})
    with at_most(800):  # 4 s where the reference takes 5 ms
        complete(template, file, len(text))
        hover(template, file, len(text) - 1)
        references(template, file, len(text) // 2)
        symbols(template, file)
