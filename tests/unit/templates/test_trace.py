"""Tracing: each rendered value has its place in the author's files."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from injector.diagnostics import Place
from injector.errors import InjectionError
from injector.loading.template_folders import gallery_path, read_gallery
from injector.pods.overlay import Replace, bare_value
from injector.templates.load import load_template
from injector.templates.manifest import manifest_place
from injector.templates.render import Trace, render_files, render_overlay
from injector.templates.samples import sample_contexts
from injector.templates.template import OVERLAY
from tests.unit.templates.build import context, template

OVERLAY_TEXT = """\
{% from "_parts.j2" import probe %}
{% macro port(name, number) %}
- {name: {{ name }}, containerPort: {{ number }}}
{% endmacro %}
{% set image %}shipper:{{ params.tag }}{% endset %}
{# a comment #}
metadata:
  labels: {{ params.labels }}
  annotations:
    "{{ params.tag }}/note": 'x {{ params.tag }}'
spec:
  containers:
  - name: shipper
    image: {{ image }}
    imagePullPolicy: !replace {{ params.policy }}
    ports:
    {% for n in [1, 2] %}
    {{ port("p" ~ n, n) }}
    {% endfor %}
{% include "_probes.j2" %}
    env:
      {% if params.tag %}
      - {name: A, value: "{{ params.tag }}"}
      {%- endif %}

    command: {% raw %}["{{ literal }}"]{% endraw %}

{{ probe("livenessProbe") }}
  volumes: &v
  - name: one
    emptyDir: {}
  more: *v
  merged: {<<: {inside: 1}, own: 2}
"""
FILES = {
    "_parts.j2": """\
{% macro probe(kind) %}
    {{ kind }}:
      httpGet: {path: /, port: {{ params.tag }}}
{% endmacro %}
""",
    "_probes.j2": "    startupProbe:\n      exec: {command: [{{ params.tag }}]}\n",
    "x.conf.j2": "a\n{% if params.tag %}\nlisten {{ params.tag }};\n{% endif %}\nend\n",
}
#: A path, the file, line and column of the value, and of the key.
PLACES: list[tuple[tuple[str | int, ...], str, tuple[int, int], tuple[int, int]]] = [
    ((), OVERLAY, (7, 1), (7, 1)),
    (("metadata",), OVERLAY, (8, 3), (7, 1)),
    (("metadata", "labels"), OVERLAY, (8, 11), (8, 3)),
    (("metadata", "labels", "team"), OVERLAY, (8, 11), (8, 3)),
    (("metadata", "annotations", "v1/note"), OVERLAY, (10, 30), (10, 5)),
    (("spec", "containers", 0, "name"), OVERLAY, (13, 11), (13, 5)),
    (("spec", "containers", 0, "image"), OVERLAY, (5, 16), (14, 5)),
    (("spec", "containers", 0, "imagePullPolicy"), OVERLAY, (15, 22), (15, 5)),
    (("spec", "containers", 0, "ports", 0), OVERLAY, (3, 3), (3, 3)),
    (("spec", "containers", 0, "ports", 1, "containerPort"), OVERLAY, (3, 37), (3, 22)),
    (("spec", "containers", 0, "startupProbe"), "_probes.j2", (2, 7), (1, 5)),
    (("spec", "containers", 0, "startupProbe", "exec", "command", 0), "_probes.j2", (2, 24), (2, 24)),
    (("spec", "containers", 0, "env", 0, "value"), OVERLAY, (23, 26), (23, 19)),
    (("spec", "containers", 0, "command", 0), OVERLAY, (26, 24), (26, 24)),
    (("spec", "containers", 0, "livenessProbe"), "_parts.j2", (3, 7), (2, 5)),
    (("spec", "containers", 0, "livenessProbe", "httpGet", "port"), "_parts.j2", (3, 32), (3, 26)),
    (("spec", "containers", 0, "resources", "limits"), OVERLAY, (13, 5), (13, 5)),
    (("spec", "containers", 7), OVERLAY, (13, 3), (12, 3)),
    (("spec", "more", 0, "emptyDir"), OVERLAY, (31, 15), (31, 5)),
    (("spec", "merged", "inside"), OVERLAY, (33, 25), (33, 17)),
]


def traced(source: str = OVERLAY) -> Trace:
    parameters = {name: {"type": "string"} for name in ("tag", "policy")} | {"labels": {"type": "object"}}
    made = template(OVERLAY_TEXT, parameters, **FILES)
    return Trace(made, context({"tag": "v1", "policy": "Always", "labels": {"team": "a"}}), source)


def test_value_is_what_is_rendered() -> None:
    value = traced().value
    assert value["metadata"] == {"labels": {"team": "a"}, "annotations": {"v1/note": "x v1"}}
    container = value["spec"]["containers"][0]
    assert isinstance(container["imagePullPolicy"], Replace)
    assert container["image"] == "shipper:v1"
    assert container["command"] == ["{{ literal }}"]


@pytest.mark.parametrize(("path", "file", "value", "key"), PLACES, ids=[".".join(map(str, p[0])) for p in PLACES])
def test_places(path: tuple[str | int, ...], file: str, value: tuple[int, int], key: tuple[int, int]) -> None:
    one = traced()
    texts = {OVERLAY: OVERLAY_TEXT, **FILES}
    found = one.place(path)
    assert (found.file, found.line, found.column) == (file, *value)
    assert found.text == texts[file].split("\n")[found.line - 1]
    found = one.place(path, key=True)
    assert ((found.line, found.column) == key) and found.text == texts[found.file].split("\n")[found.line - 1]


def test_text_file() -> None:
    one = traced("x.conf.j2")
    assert one.value == "a\nlisten v1;\nend\n"
    assert one.place(()) == Place("x.conf.j2", 1, 1, "a")
    assert one.place_of(one.value.index("v1") + 1) == Place("x.conf.j2", 3, 8, "listen {{ params.tag }};")
    assert one.place_of(one.value.index(";")) == Place("x.conf.j2", 3, 24, "listen {{ params.tag }};")
    assert one.place_of(one.value.index("end")) == Place("x.conf.j2", 5, 1, "end")


def test_what_a_template_does_with_its_own_text_stays_the_same() -> None:
    text = """\
{% macro word() %}a{{ params.x }}{% endmacro %}
{% macro empty() %}{% endmacro %}
{% set block %}{{ word() }}{% endset %}
equal: {{ block == "ax" }}
length: {{ block | length }}
upper: {{ word() | upper }}
joined: {{ word() ~ block }}
nothing: {{ "yes" if empty() else "no" }}
first: {{ block[0] }}
? {{ block }}
: key
"""
    one = template(text, {"x": {"type": "string"}})
    seen = context({"x": "x"})
    assert Trace(one, seen).value == render_overlay(one, seen).overlay
    assert Trace(one, seen).value["length"] == 2


def test_raises_as_rendering_does() -> None:
    one = template('{{ deny("no") }}')
    with pytest.raises(InjectionError, match="no"):
        Trace(one, context())


def test_empty_overlay() -> None:
    one = Trace(template("# nothing\n"), context())
    assert one.value == {}
    assert one.place(("spec",)).file == OVERLAY


def leaves(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    value = bare_value(value)
    if isinstance(value, dict):
        for key, item in value.items():
            yield from leaves(item, (*path, key))
    elif isinstance(value, list):
        for number, item in enumerate(value):
            yield from leaves(item, (*path, number))
    else:
        yield path, value


@pytest.mark.parametrize("name", sorted(read_gallery(gallery_path())))
def test_gallery(name: str) -> None:
    one = load_template(name, read_gallery(gallery_path())[name])
    for seen in sample_contexts(one):
        for source in (OVERLAY, *(spec.template for spec in one.files.values())):
            try:
                found = Trace(one, seen, source)
            except InjectionError:
                continue
            if not one.program.roots[source].document:
                assert found.value in render_files(one, seen).values()
                continue
            if source == OVERLAY:
                assert found.value == render_overlay(one, seen).overlay
            for path, value in leaves(found.value):
                place = found.place(path)
                written = place.text[place.column - 1 :].removeprefix("!replace ")
                text = value if isinstance(value, str) else str(value).lower()
                if written.startswith("!append "):
                    assert text in written, (path, place)
                elif not written.startswith(("|", ">")):
                    literal = re.match(r"[\"']?(\{\{)?(.?)", written)
                    assert literal, (path, value, place)
                    assert literal[1] or literal[2] == text[:1] or (not text and literal[2] in "\"'"), (path, place)


def test_places_in_template_yaml() -> None:
    sources = {
        "template.yaml": "description: x\r\nparameters:\r\n  app-port:\r\n    {type: integer, default: 1}\r\n",
        OVERLAY: "{}",
    }
    one = load_template("sample", sources)
    line = "    {type: integer, default: 1}"
    assert manifest_place(one, ("parameters", "app-port", "default")) == Place("template.yaml", 4, 21, line)
    assert manifest_place(one, ("parameters", "app-port", "default"), key=False).column == 30
    assert manifest_place(one, ("parameters", "app-port", "enum")) == Place("template.yaml", 3, 3, "  app-port:")
    assert manifest_place(one, ("files",)).line == 1
