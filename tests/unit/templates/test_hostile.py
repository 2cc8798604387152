"""Whatever a string parameter holds, the overlay's key paths, list lengths and types are those of a harmless value."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from injector.errors import InjectionError
from injector.pods.overlay import Replace
from injector.templates.render import render_files, render_overlay
from injector.templates.template import Template
from tests.unit.templates.build import context, template
from tests.unit.templates.hostile import HOSTILE

_MACROS = """\
{% macro item(v) %}
    - name: {{ v }}
      args: ["{{ v }}", {{ v }}]
{% endmacro %}
{% macro word(v) %}{{ v }}{% endmacro %}
{% macro wrap(v) %}x: {{ caller(v) }}{% endmacro %}
"""

#: Every way that a value can take into a document. `v` is the parameter.
WAYS: dict[str, str] = {
    "plain": "a: {{ params.v }}\nb: 1\n",
    "double quotes": 'a: "{{ params.v }}"\n',
    "single quotes": "a: '{{ params.v }}'\n",
    "beside text": "a: x{{ params.v }}y\n",
    "beside text in quotes": 'a: "x{{ params.v }}: \'y"\n',
    "two holes": "a: {{ params.v }}:{{ params.v }}\n",
    "literal block": "a: |\n  first\n  {{ params.v }}\n  last\nb: 1\n",
    "folded block": "a: >-\n  first {{ params.v }}\n  last\nb: 1\n",
    "list item": "a:\n- {{ params.v }}\n- b\n",
    "flow list": "a: [{{ params.v }}, x, '{{ params.v }}']\n",
    "flow mapping": "a: {b: {{ params.v }}, c: d}\n",
    "comment": "a: 1  # {{ params.v }}\nb: 2\n# {{ params.v }}\n",
    "replace": "a: !replace {{ params.v }}\n",
    "replace in quotes": "a: !replace '{{ params.v }}'\n",
    "anchor": "a: &x {b: {{ params.v }}}\nc: *x\nd: {<<: *x, e: 1}\n",
    "macro": "{% import '_m.j2' as m %}\na:\n{{ m.item(params.v) }}",
    "macro within a macro": "{% from '_m.j2' import item, word %}\na:\n{{ item(word(params.v)) }}",
    "macro, joined by ~": "{% from '_m.j2' import word %}\na: {{ word('x') ~ params.v }}\n",
    "macro, joined by ~ the other way": "{% from '_m.j2' import word %}\na: {{ params.v ~ word('x') }}\n",
    "macro + value": "{% from '_m.j2' import word %}\na: {{ word('x') + params.v }}\n",
    "macro in a list, joined": "{% from '_m.j2' import word %}\na: {{ [word('x'), params.v] | join }}\n",
    "macro, replaced": "{% from '_m.j2' import word %}\na: {{ word('xVx') | replace('V', params.v) }}\n",
    "macro, replaced by a method": "{% from '_m.j2' import word %}\na: {{ word('xVx').replace('V', params.v) }}\n",
    "macro, default": "{% from '_m.j2' import word %}\na: {{ word('') | default(params.v, true) }}\n",
    "macro, chosen": "{% from '_m.j2' import word %}\na: {{ word('') or params.v }}\n",
    "macro, chosen by if": "{% from '_m.j2' import word %}\na: {{ word(params.v) if word(params.v) else params.v }}\n",
    "macro, upper": "{% from '_m.j2' import word %}\na: {{ word(params.v) | upper }}\n",
    "macro, sliced": "{% from '_m.j2' import word %}\na: {{ word(params.v)[0:1] }}\n",
    "macro, mapped": "{% from '_m.j2' import word %}\na: {{ [word(params.v)] | map('upper') | list }}\n",
    "macro, sorted": "{% from '_m.j2' import word %}\na: {{ [word(params.v), 'b'] | sort | first | string }}\n",
    "macro, as JSON": "{% from '_m.j2' import word %}\na: {{ [word(params.v)] | tojson }}\n",
    "macro in a mapping": "{% from '_m.j2' import word %}\na: {{ {'k': word(params.v)} }}\n",
    "macro with a default": "{% macro m(a, b=params.v) %}{{ a }}{{ b }}{% endmacro %}\na: {{ m(1) }}\n",
    "macro as a value": "{% macro m() %}{{ params.v }}{% endmacro %}\n{% set x = m() %}\na: '{{ x }}{{ x }}'\n",
    "set": "{% set x = params.v %}\na: {{ x }}\n",
    "set block": "{% set x %}{{ params.v }}{% endset %}\na: {{ x }}\nb: '{{ x }}'\n",
    "set block of lines": "{% set x %}\nb: {{ params.v }}\nc: [1]\n{% endset %}\na: 1\n{{ x }}",
    "set block, joined": "{% set x %}x{% endset %}\na: {{ x ~ params.v }}\n",
    "set block, trimmed": "{% set x %} {{ params.v }} {% endset %}\na: {{ x | trim }}\n",
    "call block": "{% from '_m.j2' import wrap %}\n{% call(q) wrap(params.v) %}{{ q }}{% endcall %}\n",
    "with": "{% with x = params.v %}\na: {{ x }}\n{% endwith %}\n",
    "concatenation": "a: {{ 'x' ~ params.v ~ 1 }}\n",
    "loop": "a:\n{% for x in [params.v, 'b', params.v] %}\n- name: {{ x }}\n  at: {{ loop.index }}\n{% endfor %}\n",
    "loop over pieces": 'a: x\n{% for x in [params.v] %}\nb{{ loop.index }}: "{{ x }}"\n{% endfor %}\n',
    "key": '"{{ params.v }}": x\n',
    "key beside text": "k-{{ params.v }}: x\n",
    "key, plain": "{{ params.v }}: x\n",
    "key within": "a:\n  {{ params.v }}: {b: {{ params.v }}}\n",
    "include": "{% include '_i.yaml.j2' %}\nb: 1\n",
    "include in a loop": "a:\n{% for v in [params.v] %}\n{% include '_v.yaml.j2' %}\n{% endfor %}\n",
    "default": "a: {{ params.none | default(params.v) }}\n",
    "filters": "a: {{ params.v | upper | lower | trim | replace('a', 'b') }}\n",
    "replaced by": "a: {{ 'xVx' | replace('V', params.v) }}\n",
    "list filter": "a: {{ [params.v, params.v] | unique | list }}\n",
    "string filter": "a: {{ params.v | string }}\nb: {{ [params.v] | join(',') }}\n",
    "as JSON": "a: {{ params.v | tojson }}\nb: '{{ params.v | tojson }}'\n",
    "JSON in a script": "a: |\n  x={{ params.v | tojson }}\n",
    "mapping": "a: {{ {'k': params.v, 'l': [params.v]} }}\n",
    "mapping, looped": "a:\n{% for k, v in {'k': params.v} | items %}\n  {{ k }}: {{ v }}\n{% endfor %}\n",
    "method": "a: {{ params.v.upper() }}\nb: {{ params.v.startswith('a') }}\n",
    "condition": "a: {{ 'x' if params.v == 'y' else params.v }}\n",
    "tag line": "a: {{ params.v }} # {{ params.v }}\n",
}
_FILES = {"_m.j2": _MACROS, "_i.yaml.j2": "a: {{ params.v }}\nc: ['{{ params.v }}']\n", "_v.yaml.j2": "- {{ v }}\n"}
_PARAMETERS = {"v": {"type": "string"}, "none": {"type": "string"}}
#: Ways in which the value itself is a key, so that the key's text differs and nothing else.
_KEYS = {"key", "key beside text", "key, plain", "key within"}


def shape(value: Any, keys: bool = True) -> Any:
    """The key paths, list lengths and types of a document; without `keys`, only how many there are."""
    if isinstance(value, Replace):
        return ("replace", shape(value.value, keys))
    if isinstance(value, dict):
        parts = [(k if keys else "", shape(v, keys)) for k, v in value.items()]
        assert all(type(k) is str for k in value)
        return ("mapping", parts)
    if isinstance(value, list):
        return ("list", [shape(v, keys) for v in value])
    return type(value).__name__


def made(way: str) -> Template:
    """The template of a way, with the same text as a config file too."""
    files = dict(_FILES)
    if "!replace" not in WAYS[way]:
        files["config.json.j2"] = WAYS[way]
    return template(WAYS[way], _PARAMETERS, **files)


TEMPLATES = {way: made(way) for way in WAYS}


def render(way: str, value: str) -> Any:
    return render_overlay(TEMPLATES[way], context({"v": value, "none": None})).overlay


@pytest.mark.parametrize("way", WAYS)
def test_structure_is_that_of_a_harmless_value(way: str) -> None:
    keys = way not in _KEYS
    harmless = shape(render(way, "harmless"), keys)
    failures = 0
    for value in HOSTILE:
        try:
            found = shape(render(way, value), keys)
        except InjectionError as error:  # a clean failure: too large, or two equal keys
            assert "sample/" in str(error)
            failures += 1
            continue
        assert found == harmless, repr(value[:80])
    assert failures <= len(HOSTILE) // 20


@pytest.mark.parametrize("way", ["plain", "double quotes", "list item", "flow list", "set", "macro as a value"])
def test_the_value_itself_arrives(way: str) -> None:
    for value in HOSTILE:
        if len(value) > 10_000:
            continue
        found = render(way, value)["a"]
        assert found in (value, [value, "b"], [value, "x", value], value + value), repr(value)


def test_config_files_have_the_same_structure() -> None:
    import json

    for way in WAYS:
        if "!replace" in WAYS[way]:
            continue
        keys = way not in _KEYS
        seen = {"none": None}
        harmless = shape(json.loads(render_files(TEMPLATES[way], context({"v": "a", **seen}))["config.json"]), keys)
        for value in HOSTILE[:: 7 if keys else 1]:
            try:
                text = render_files(TEMPLATES[way], context({"v": value, **seen}))["config.json"]
            except InjectionError:
                continue
            assert shape(json.loads(text), keys) == harmless, (way, value[:80])


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(sorted(WAYS)), st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=60))
def test_structure_for_any_text(way: str, value: str) -> None:
    keys = way not in _KEYS
    try:
        found = shape(render(way, value), keys)
    except InjectionError as error:
        assert "sample/" in str(error)
        return
    assert found == shape(render(way, "harmless"), keys)


def test_there_are_enough_values() -> None:
    assert len(HOSTILE) >= 200
