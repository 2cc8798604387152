"""What rules are shown: the renderings, the parameters at their edges, and the way back from a pod to the overlay."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from injector.authoring.lint.boundary_values import boundary_values
from injector.authoring.lint.pod_schema import schema_errors
from injector.authoring.lint.rendering import make_subject
from injector.authoring.lint.sample_pods import SAMPLE_PODS
from injector.authoring.lint.subject import Subject
from injector.authoring.refusal_location import overlay_path
from injector.loading.template_folders import read_folder
from injector.templates.load import load_template
from injector.templates.parameter_schema import make_parameter
from injector.templates.parameter_values import value_of
from tests.authoring.lint.support import found, write
from tests.messages import Golden


def subject(tmp_path: Path, files: dict[str, str], *, clean: bool = True) -> Subject:
    folder = write(tmp_path, files, clean=clean)
    sources = read_folder(folder)
    return make_subject("tool", load_template("tool", sources, "tool"), sources, (), (1, 36))


# ----------------------------------------------------------------------------------------------------- edges


@pytest.mark.parametrize(
    ("schema", "values"),
    [
        ({"type": "boolean", "default": True}, [False]),
        ({"type": "boolean"}, [False, True]),
        ({"type": "integer", "minimum": 2, "maximum": 9, "default": 2}, [9]),
        ({"type": "integer", "exclusiveMinimum": 2, "exclusiveMaximum": 9}, [3, 8]),
        ({"type": "integer", "minimum": 3, "maximum": 11, "multipleOf": 5}, []),
        ({"type": "integer", "format": "port", "minimum": 1024}, [1024, 65535]),
        ({"type": "string", "enum": ["a", "b"], "default": "a"}, ["b"]),
        ({"type": "string", "maxLength": 3, "minLength": 1}, ["a", "aaa"]),
        ({"type": "string", "maxLength": 3, "examples": ["xy"]}, ["xy", "", "aaa"]),
        ({"type": "string", "format": "duration"}, ["1ms", "24h"]),
        ({"type": "string", "format": "dns-label"}, ["a", "a" * 63]),
        ({"type": "array", "items": {"type": "integer", "minimum": 1, "maximum": 3}, "maxItems": 3},
         [[], [1], [1, 2, 3], [3]]),
        ({"type": "array", "items": {"type": "string", "enum": ["x", "y"]}, "minItems": 1, "maxItems": 2},
         [["x"], ["x", "y"], ["y"]]),
        ({"type": "array", "maxItems": 5}, [[], ["item"]]),
        ({"type": "object", "default": {}}, [{"key": "value"}]),
        ({"type": "object", "additionalProperties": {"type": "string"}}, [{}, {"key": "sample"}]),
        ({"type": "object", "properties": {"a": {"type": "boolean"}}, "required": ["a"]}, [{"a": True}, {"a": False}]),
    ],
)  # fmt: skip
def test_a_parameter_at_its_edges(schema: dict[str, Any], values: list[Any]) -> None:
    parameter = make_parameter("p", schema)
    made = [edge.value for edge in boundary_values(parameter)]
    assert made == values
    assert [value_of(parameter, value) for value in made] == made


# ------------------------------------------------------------------------------------------------ renderings

PARAMETERS = """\
description: A tool.
parameters:
  mode: {type: string, enum: [plain, loud], default: plain, description: How.}
  unused: {type: boolean, default: false, description: Nothing.}
"""


def test_defaults_come_first_then_each_edge_that_makes_a_difference(tmp_path: Path, golden: Golden) -> None:
    overlay = 'spec: {containers: [{name: tool, image: "tool:1", args: ["{{ params.mode }}"]}]}\n'
    made = subject(tmp_path, {"template.yaml": PARAMETERS, "overlay.yaml.j2": overlay})
    titles = [rendering.title for rendering in made.renderings]
    assert titles[0] == "a Deployment with port 8080" and "a Job" in titles
    assert [r.given for r in made.renderings if r.given] == [{"mode": "loud"}]
    golden(titles[-1])
    assert made.failures == ()


def test_a_branch_that_two_parameters_open_is_reached(tmp_path: Path) -> None:
    manifest = """\
description: A tool.
parameters:
  output: {type: string, enum: [stdout, forward], default: stdout, description: Where to.}
  host: {type: string, format: dns-label, description: To whom.}
  tls: {type: boolean, default: false, description: Whether it is encrypted.}
"""
    overlay = """\
{% if params.output == "forward" %}
{% if params.host is none %}{{ fail("set host") }}{% endif %}
metadata: {annotations: {example.com/host: "{{ params.host }}"}}
{% if params.tls %}
spec: {hostname: {{ [params.host] }}}
{% endif %}
{% endif %}
"""
    folder = write(tmp_path, {"template.yaml": manifest, "overlay.yaml.j2": overlay})
    [problem] = found(folder, only=frozenset({"schema"}))
    assert (problem.place.line, problem.place.column) == (5, 18)


def test_a_value_that_lint_made_up_opens_branches_and_blames_nobody(tmp_path: Path) -> None:
    manifest = (
        "files: {a.yaml: {}}\nparameters:\n  resources: {type: object, default: {}, description: Its resources.}\n"
    )
    overlay = """\
spec:
  containers:
  - name: tool
    image: "tool:1"
    resources: {{ params.resources }}
{% if params.resources %}
    volumeMounts: [{name: c, mountPath: /c}]
  volumes: [{name: c, configMap: {name: "{{ files.configmap }}"}}]
{% endif %}
"""
    folder = write(tmp_path, {"template.yaml": manifest, "overlay.yaml.j2": overlay, "a.yaml.j2": "a: 1\n"})
    assert found(folder, only=frozenset({"schema", "renders", "unmounted-files"})) == ()


def test_what_takes_too_long_is_not_waited_for_again(tmp_path: Path) -> None:
    overlay = "{% for a in range(9999) %}{% for b in range(9999) %}{% endfor %}{% endfor %}\n"
    made = subject(tmp_path, {"overlay.yaml.j2": overlay})
    assert len(made.failures) == 1 and made.renderings == ()


def test_a_native_sidecar_and_a_plain_one_are_both_there(tmp_path: Path) -> None:
    made = subject(tmp_path, {})
    lists = {
        field
        for rendering in made.renderings
        for field in ("containers", "initContainers")
        if any(c["name"] == "tool" for c in rendering.after["spec"].get(field, ()))
    }
    assert lists == {"containers", "initContainers"}
    for rendering in made.renderings[:3]:
        containers = [c for field in lists for c in rendering.after["spec"].get(field, ()) if c["name"] == "tool"]
        assert [container["image"] for container in containers] == ["example.com/tool:1.2"]


def test_a_template_for_some_namespaces_is_looked_at_as_well(tmp_path: Path) -> None:
    manifest = "description: A tool.\nnamespaces: {matchLabels: {team: pay}}\n"
    made = subject(tmp_path, {"template.yaml": manifest, "overlay.yaml.j2": "metadata: {labels: {a: b}}\n"})
    assert made.renderings


def test_verdicts_of_the_template_are_answers(tmp_path: Path) -> None:
    overlay = "{% if not ports %}{{ fail('no port') }}{% endif %}{% if native %}{{ deny('no') }}{% endif %}\nspec: {}\n"
    made = subject(tmp_path, {"template.yaml": "description: A tool.\n", "overlay.yaml.j2": overlay})
    assert made.failures == ()


def test_a_failure_has_the_authors_place(tmp_path: Path) -> None:
    manifest = "parameters:\n  by: {type: integer, minimum: 0, maximum: 9, default: 1, description: A number.}\n"
    overlay = 'metadata:\n  annotations:\n    part: "{{ 10 / params.by }}"\n'
    made = subject(tmp_path, {"template.yaml": manifest, "overlay.yaml.j2": overlay})
    [failure] = made.failures
    assert (failure.given, failure.place.file, failure.place.line) == ({"by": 0}, "overlay.yaml.j2", 3)


# ----------------------------------------------------------------------------------------------------- places

WRONG = """\
spec:
  initContainers:
  - name: setup
    image: "setup:1"
    comand: [setup]
  containers:
  - name: tool
    image: "tool:1"
    ports:
    - {containerPort: 9901, nam: x}
{% for extra in ["A", "B"] %}
    {% if loop.first %}
    env:
    {% endif %}
    - {name: "{{ extra }}", valu: x}
{% endfor %}
  - name: "*"
    volumeMounts:
    - {name: data, mountPath: /x, readonly: true}
  volumes:
  - {name: data, emptyDir: {sizelimit: 1Mi}}
  tolerations:
  - {key: a, operator: Exist}
  terminationGracePeriod: 5
"""


def test_each_mistake_is_told_at_the_authors_line_and_column(tmp_path: Path, golden: Golden) -> None:
    folder = write(tmp_path, {"overlay.yaml.j2": WRONG, "template.yaml": "description: A tool.\n"})
    places = {(p.place.line, p.place.column): p.message for p in found(folder, only=frozenset({"schema"}))}
    lines = WRONG.split("\n")
    assert {(line, lines[line - 1][column - 1 :].split(":")[0]) for line, column in places} == {
        (5, "comand"),
        (10, "nam"),
        (15, "valu"),
        (19, "readonly"),
        (21, "sizelimit"),
        (24, "terminationGracePeriod"),
    }
    golden(places[(5, 5)])


def test_a_wrong_value_is_told_at_the_value_wherever_it_comes_from(tmp_path: Path, golden: Golden) -> None:
    files = {
        "template.yaml": "description: A tool.\n",
        "overlay.yaml.j2": '{% from "_c.j2" import container %}\nspec:\n  containers:\n{{ container() }}\n',
        "_c.j2": '{% macro container() %}\n  - name: tool\n    image: "tool:1"\n    tty: "yes"\n{% endmacro %}\n',
    }
    [problem] = found(write(tmp_path, files), only=frozenset({"schema"}))
    golden(str(problem).partition("tool/_c.j2:")[2])


def test_a_missing_field_is_told_where_it_is_missing(tmp_path: Path) -> None:
    overlay = 'spec:\n  containers:\n  - name: tool\n    image: "tool:1"\n    startupProbe:\n      httpGet: {path: /}\n'
    files = {"template.yaml": "description: A tool.\n", "overlay.yaml.j2": overlay}
    [problem] = found(write(tmp_path, files), only=frozenset({"schema"}))
    assert (problem.code, problem.place.line, problem.place.column) == ("schema", 6, 16)


def test_the_way_back_leads_to_replace_and_not_into_the_app(tmp_path: Path) -> None:
    overlay = 'spec:\n  containers:\n  - {name: "*", imagePullPolicy: !replace Always}\n  hostname: x\n'
    made = subject(tmp_path, {"template.yaml": "description: A tool.\n", "overlay.yaml.j2": overlay}).renderings[0]
    assert overlay_path(made.overlay.value, made.after, ("spec", "containers", 0, "imagePullPolicy")) == (
        "spec", "containers", 0, "imagePullPolicy",
    )  # fmt: skip
    assert overlay_path(made.overlay.value, made.after, ("spec", "containers", 0, "image")) is None
    assert overlay_path(made.overlay.value, made.after, ("spec", "hostname")) == ("spec", "hostname")
    assert overlay_path(made.overlay.value, made.after, ("metadata", "labels")) is None


# ----------------------------------------------------------------------------------------------------- schema


def test_the_sample_pods_themselves_are_right(tmp_path: Path) -> None:
    manifest = "description: A tool.\nhostNetwork: inject\n"
    files = {"template.yaml": manifest, "overlay.yaml.j2": "metadata: {labels: {a: b}}\n"}
    renderings = subject(tmp_path, files).renderings
    assert len(renderings) == len(SAMPLE_PODS)
    for version in ((1, 25), (1, 30), (1, 36)):
        assert [error for rendering in renderings for error in schema_errors(rendering.after, version)] == []


def test_a_file_that_there_is_not_is_told_once(tmp_path: Path, golden: Golden) -> None:
    overlay = (
        "spec:\n  containers:\n  - {name: tool, image: 'tool:1', volumeMounts: [{name: c, mountPath: /c}]}\n"
        '  volumes:\n  - {name: c, configMap: {name: "{{ files.configmap }}", items: [{key: b.yaml, path: b}]}}\n'
    )
    files = {"template.yaml": "files: {a.yaml: {}}\n", "a.yaml.j2": "a: 1\n", "overlay.yaml.j2": overlay}
    problems = found(write(tmp_path, files), only=frozenset({"renders", "unknown-file"}))
    golden([(p.code, p.place.line, p.message) for p in problems])


def test_a_template_that_serves_no_pod_that_was_tried_is_not_called_clean(tmp_path: Path, golden: Golden) -> None:
    manifest = 'parameters:\n  key: {type: string, pattern: "^k[0-9]{9}$", description: A key.}\n'
    overlay = "{% if params.key is none %}\n  {{ fail('set key') }}\n{% endif %}\nspec: {hostname: [x]}\n"
    folder = write(tmp_path, {"template.yaml": manifest, "overlay.yaml.j2": overlay})
    [problem] = found(folder, only=frozenset({"renders", "schema"}))
    assert (problem.code, problem.place.line, problem.place.column) == ("renders", 2, 6)
    golden(problem.message)
    with_example = manifest.replace("description", "examples: [k123456789], description")
    folder = write(tmp_path, {"template.yaml": with_example, "overlay.yaml.j2": overlay})
    assert {(p.code, p.place.line) for p in found(folder, only=frozenset({"renders", "schema"}))} == {("schema", 4)}


def test_a_policy_that_only_refuses_is_fine(tmp_path: Path) -> None:
    overlay = "{% if object.metadata.labels is defined %}{{ deny('no labels') }}{% endif %}\n"
    folder = write(tmp_path, {"template.yaml": "description: A policy.\n", "overlay.yaml.j2": overlay})
    assert found(folder, disabled=frozenset({"readme-parameters"})) == ()


def test_a_template_that_builds_on_another_is_fine(tmp_path: Path) -> None:
    overlay = "{% if containers[0].name != 'nginx' %}{{ fail('put nginx before') }}{% endif %}\n"
    folder = write(tmp_path, {"template.yaml": "description: A part.\n", "overlay.yaml.j2": overlay})
    assert found(folder, only=frozenset({"renders"})) == ()


def test_what_no_pod_can_be_merged_with_is_told_where_its_name_is_written(tmp_path: Path) -> None:
    overlay = 'spec:\n  containers:\n  - name: web\n    image: "tool:1"\n'
    folder = write(tmp_path, {"template.yaml": "description: A tool.\n", "overlay.yaml.j2": overlay})
    [problem] = found(folder, only=frozenset({"renders", "app-container"}))
    assert (problem.code, problem.place.line, problem.place.column) == ("app-container", 3, 11)
    assert problem.help
