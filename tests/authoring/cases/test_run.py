"""What a case says and what comes out of `inject()`: decisions, reasons, messages, warnings, pods and files."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from injector.authoring.cases import run as cases_run
from injector.authoring.cases.harness import Harness
from injector.authoring.cases.programs import Programs
from injector.authoring.cases.run import CaseResult, Ways
from injector.authoring.cases.suite import Suite
from injector.templates.yaml_writer import dump
from tests.authoring.cases.conftest import OVERLAY, TEMPLATE, Done
from tests.authoring.cases.support import run_case
from tests.messages import Golden

Problems = Callable[..., list[str]]

AT = "logger/tests/cases.yaml"

#: Cases that pass, each for what it shows.
PASSING = """\
cases:
- name: the sample Deployment
  expect:
    decision: injected
    reason: injected
    message: (logger)
    warnings: []
    pod:
      metadata: {labels: {app: web}, annotations: {sidecar.injector/status: injected}}
      spec:
        initContainers: [{name: logger, restartPolicy: Always, ports: [{containerPort: 2020}]}]
        volumes: [{name: logger-config, configMap: {optional: !absent}}]
    files:
      logger.yaml: {level: info, outputs: [{name: spare, target: {port: 1}}], tags: !absent}
      extra.conf: [listen 2020;, !absent debug]
      other.conf: !absent
- name: an old cluster has plain containers
  kubernetes: "1.30"
  expect: {decision: injected, pod: {spec: {initContainers: !absent, containers: [{name: web}, {name: logger}]}}}
- name: so has a setting
  settings: {nativeSidecars: never}
  expect: {decision: injected, pod: {spec: {containers: [{name: logger}]}}}
- name: parameters as strings and as values
  params: {level: debug, port: "2021", logger.tags: [a, b]}
  expect:
    decision: injected
    warnings: [debug is slow]
    files: {logger.yaml: {level: debug, tags: [a, b]}, extra.conf: "level noisy;"}
- name: parameters of annotations and of the settings
  pod:
    metadata: {name: web, annotations: {logger.sidecar.injector/level: debug}}
    spec: {containers: [{name: web, image: "web:1"}]}
  namespace: {annotations: {logger.sidecar.injector/port: "3000"}}
  settings: {parameters: {logger: {tags: [x]}}}
  expect:
    decision: injected
    files: {extra.conf: [listen 3000, noisy], logger.yaml: ["- x"]}
- name: a value that is not allowed
  params: {port: 70000}
  expect: {decision: failed, reason: bad-parameter, warnings: [bad-parameter]}
- name: a namespace that wants it refuses
  namespace: {name: shop, labels: {injection: required}}
  params: {port: none}
  expect: {decision: refused, reason: bad-parameter, code: 403}
- name: a namespace that says nothing
  namespace: {labels: {}}
  expect: {decision: skipped, reason: not-requested, pod: {metadata: {annotations: !absent}}}
- name: the template cannot
  pod: {spec: {containers: [{name: web, ports: [{containerPort: 1}, {containerPort: 2}, {containerPort: 3}]}]}}
  expect: {decision: failed, reason: not-served, message: too many ports}
- name: the template will not
  params: {port: 8080}
  expect: {decision: refused, reason: denied, message: port taken}
- name: one that is injected already
  file: injected.yaml
  expect: {decision: unchanged, reason: already-injected}
- name: a manifest with a namespace of its own, and a quota
  file: web.yaml
  expect: {decision: failed, reason: quota}
- name: behind another template
  templates: [nginx, logger]
  params: {nginx.app-port: 8080}
  expect: {decision: injected, pod: {spec: {initContainers: [{name: nginx-sidecar}, {name: logger}]}}}
  validate: false
- name: chosen by nobody but the settings
  templates: chosen
  settings: {templates: [nginx]}
  expect: {decision: injected, pod: {spec: {initContainers: [{name: nginx-sidecar}, !absent {name: logger}]}}}
  validate: false
- name: chosen by its selector
  templates: chosen
  pod: {metadata: {labels: {logs: "yes"}}, spec: {containers: [{name: web}]}}
  expect: {decision: injected, message: (logger), pod: {spec: {initContainers: [{name: logger}]}}}
- name: chosen by an annotation that names others
  templates: chosen
  pod:
    metadata: {labels: {logs: "yes"}, annotations: {sidecar.injector/templates: "beside, loger"}}
    spec: {containers: [{name: web}]}
  expect: {decision: failed, reason: unknown-template}
- name: beside a template of the same folder
  templates: [beside, logger]
  expect: {decision: injected, pod: {metadata: {labels: {beside: "yes"}}}}
"""
WEB = """\
apiVersion: v1
kind: Namespace
metadata: {name: shop, labels: {injection: enabled}}
---
apiVersion: v1
kind: ResourceQuota
metadata: {name: q, namespace: shop}
spec: {hard: {limits.cpu: "1"}}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: web, namespace: shop}
spec: {template: {spec: {containers: [{name: web, image: "web:1", resources: {limits: {cpu: "1"}}}]}}}
"""


@pytest.fixture
def injected(suite: Callable[..., Suite]) -> str:
    """A pod as an injection leaves it, with its receipt, as a manifest."""
    read = suite("cases:\n- name: a\n  pod: {spec: {containers: [{name: web}]}}\n  expect: {decision: injected}\n")
    pod = Harness(read.folder, read.path).run(read.cases[0]).injection.object
    return dump({"apiVersion": "v1", "kind": "Pod", **pod})


def test_cases_that_pass(results: Callable[..., list[CaseResult]], injected: str, tmp_path: Path) -> None:
    beside = tmp_path / "beside"
    beside.mkdir()
    (beside / "template.yaml").write_text("description: x\n")
    (beside / "overlay.yaml.j2").write_text('metadata: {labels: {beside: "yes"}}\n')
    selector = f"{TEMPLATE}selector: {{matchLabels: {{logs: 'yes'}}}}\n"
    done = results(PASSING, tests__web_yaml=WEB, tests__injected_yaml=injected, **{"template.yaml": selector})
    assert {r.checked.case.name: [str(p) for p in r.problems] for r in done if r.problems} == {}
    assert len(done) == len(re.findall("^- name", PASSING, re.MULTILINE))


#: An expectation of the sample Deployment that is not met, with a § at its place, and what is told about it.
FAILING = [
    (
        "{decision: §skipped}",
        "decision",
    ),
    (
        "{decision: injected, message: §envoy}",
        "message",
    ),
    (
        "{decision: injected, message: §got .* sidecar}",
        "message",
    ),
    (
        "{decision: injected, reason: §denied}",
        "reason",
    ),
    ("{decision: injected, warnings: [§slow]}", "warnings"),
    (
        "{decision: injected, pod: {spec: {initContainers: [{name: logger, image: §x}]}}}",
        "pod",
    ),
    (
        "{decision: injected, pod: {spec: {containers: [§{name: logger}]}}}",
        "pod",
    ),
    (
        "{decision: injected, pod: {spec: {§nodeNam: a}}}",
        "pod",
    ),
    (
        "{decision: injected, files: {§extra.cnf: [a]}}",
        "files",
    ),
    (
        "{decision: injected, files: {extra.conf: [quiet, §listen 1;]}}",
        "files",
    ),
    (
        "{decision: injected, files: {extra.conf: §listen to a port}}",
        "files",
    ),
    ("{decision: injected, files: {extra.conf: §something}}", "files"),
    (
        "{decision: injected, files: {extra.conf: [§!absent quiet]}}",
        "files",
    ),
    (
        "{decision: injected, files: {extra.conf: §!absent }}",
        "files",
    ),
    (
        "{decision: injected, files: {extra.conf: §{a: b}}}",
        "files",
    ),
    (
        "{decision: injected, files: {extra.conf: §7}}",
        "files",
    ),
    (
        "{decision: injected, files: {logger.yaml: {level: §debug}}}",
        "files",
    ),
    (
        "{decision: injected, files: {logger.yaml: {outputs: [{name: main, target: {port: §1}}]}}}",
        "files",
    ),
]


@pytest.mark.parametrize(("expect", "rule"), FAILING, ids=[expect[-60:] for expect, _ in FAILING])
def test_what_is_not_met_is_told_at_its_place(problems: Problems, expect: str, rule: str, golden: Golden) -> None:
    line = f"  expect: {expect}"
    text = f"cases:\n- name: a\n{line.replace('§', '')}\n"
    [problem] = problems(text)
    assert problem.startswith(f"{AT}:3:{line.index('§') + 1}: error: ") and problem.endswith(f" [{rule}]")
    golden(problem)


#: Something that a case names and that is not there.
UNKNOWN = [
    "params: {§prt: 1}",
    "params: {§nginx.app-port: 1}",
    "params: {port: §http}",
    "templates: [§loger]",
    "settings: {§prefx: a}",
    "settings: {§prefix: 7}",
    "settings: {parameters: {§loger: {}}}",
    "settings: {parameters: {logger: {§port: x}}}",
]


@pytest.mark.parametrize("line", UNKNOWN)
def test_what_a_case_names_has_to_be_there(problems: Problems, line: str, golden: Golden) -> None:
    text = f"cases:\n- name: a\n  {line.replace('§', '')}\n  expect: {{decision: injected}}\n"
    [problem] = problems(text)
    assert problem.startswith(f"{AT}:3:{line.index('§') + 3}: error: ") and problem.endswith(" [case]")
    golden(problem)


def test_every_warning_has_to_be_expected(problems: Problems, golden: Golden) -> None:
    text = "cases:\n- name: a\n  params: {level: debug}\n  expect:\n    decision: injected\n    warnings: []\n"
    golden(problems(text))


def test_a_code_that_differs(problems: Problems, golden: Golden) -> None:
    text = "cases:\n- name: a\n  params: {port: 8080}\n  expect: {decision: refused, code: 402}\n"
    golden(problems(text))


def test_everything_that_is_not_met_is_told(problems: Problems) -> None:
    text = (
        "cases:\n- name: a\n  expect: {decision: injected, reason: denied, warnings: [x], pod: {a: 1}, files: {b: c}}\n"
    )
    assert [line.rpartition(" ")[2] for line in problems(text)] == ["[reason]", "[warnings]", "[pod]", "[files]"]


def test_a_template_that_fails_to_render_is_told_at_its_own_place(problems: Problems, golden: Golden) -> None:
    broken = "level: {{ params.level }}\nport: {{ params.tags[0] }}\n"
    found = problems("cases:\n- name: a\n  expect: {decision: injected}\n", **{"logger.yaml.j2": broken})
    golden(found[0])
    golden(found[1])


def test_another_template_that_does_not_load_is_told_once_at_its_place(
    run: Callable[..., Done], write: Callable[..., Path], tmp_path: Path
) -> None:
    beside = tmp_path / "beside"
    beside.mkdir()
    (beside / "template.yaml").write_text("description: x\n")
    (beside / "overlay.yaml.j2").write_text("spec: {{ params.x }}\n")
    case = "templates: [beside, logger], expect: {decision: injected}"
    done = run(write(f"cases:\n- {{name: a, {case}}}\n- {{name: b, {case}}}\n"), "--output", "json")
    assert (done.code, done.data["problems"]) == (1, 1)
    problem = done.data["templates"][0]["cases"][0]["problems"][0]
    assert (problem["template"], problem["file"], problem["line"]) == (str(beside), "overlay.yaml.j2", 1)


def test_a_case_without_end_is_ended(problems: Problems, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cases_run, "SECONDS", 0.05)
    loops = "{% for a in range(300) %}{% for b in range(300) %}{% set c = (a ~ b) | upper %}{% endfor %}{% endfor %}\n"
    text = "cases:\n- name: a\n  expect: {decision: injected}\n"
    assert "[limit]" in "".join(problems(text, **{"overlay.yaml.j2": loops + OVERLAY}))


def test_the_pod_of_a_case_is_not_changed(suite: Callable[..., Suite]) -> None:
    read = suite("cases:\n- {name: a, expect: {decision: injected}}\n- {name: b, expect: {decision: injected}}\n")
    before = copy.deepcopy(read.cases[0].given.obj)
    bench = Harness(read.folder, read.path)
    assert [run_case(bench, checked, Ways(Programs())).passed for checked in read.cases] == [True, True]
    assert read.cases[1].given.obj == before


def test_mistakes_of_the_template_stand_beside_the_first_wrong_decision(
    results: Callable[..., list[CaseResult]],
) -> None:
    case = "- {{name: {}, namespace: {{name: a}}, expect: {{decision: refused}}}}\n"
    overlay = '{% if params.level == "dbug" %}{{ deny("no") }}{% endif %}\nspec: {}\n'
    first, second = results(f"cases:\n{case.format('a')}{case.format('b')}", **{"overlay.yaml.j2": overlay})
    assert [problem.code for problem in first.problems] == ["decision", "parameter-type"]
    assert [problem.code for problem in second.problems] == ["decision"]
