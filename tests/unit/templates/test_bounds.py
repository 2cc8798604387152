"""What a template cannot do: get out of its sandbox, or take more time, memory or output than one render may."""

# ruff: noqa: E501 - a bomb reads best on one line

from __future__ import annotations

import statistics
import time

import pytest

from injector.errors import InjectionError, TemplateError
from injector.reasons import Reason
from injector.templates.render import render_files, render_overlay
from tests.messages import Golden
from tests.processor_time import at_most
from tests.unit.templates.build import context, file, overlay, template

_BIG = "x" * 100_000
_DOUBLED = "{% set s = 'xxxxxxxxxxxxxxxx' %}"

#: Each ends with an error, and soon.
BOMBS = {
    "doubling by ~": _DOUBLED + "{% set s = s ~ s %}" * 40 + "a: {{ s | length }}",
    "doubling by +": _DOUBLED + "{% set s = s + s %}" * 40 + "a: {{ s | length }}",
    "doubling by a set block": _DOUBLED + "{% set s %}{{ s }}{{ s }}{% endset %}" * 40 + "a: 1",
    "doubling by a macro": "{% macro d(s) %}{{ s }}{{ s }}{% endmacro %}" + _DOUBLED + "{% set s = d(s) %}" * 40 + "a: 1",
    "doubling by join": _DOUBLED + "{% set s = [s, s] | join(s) %}" * 30 + "a: 1",
    "doubling by replace": _DOUBLED + "{% set s = s | replace('x', s) %}" * 10 + "a: 1",
    "doubling by replace with nothing": _DOUBLED + "{% set s = s | replace('', s) %}" * 10 + "a: 1",
    "doubling by the method replace": _DOUBLED + "{% set s = s.replace('x', s) %}" * 10 + "a: 1",
    "doubling a list": "{% set l = [1] %}" + "{% set l = l + l %}" * 40 + "a: {{ l | length }}",
    "nesting a list": "{% set l = [1] %}" + "{% set l = [l, l] %}" * 40 + "a: {{ l == l }}",
    "nesting a tuple": "{% set l = (1, 2) %}" + "{% set l = (l, l) %}" * 40 + "a: {{ l | sort }}",
    "nesting a mapping": "{% set d = {'a': 1} %}" + "{% set d = {'a': d, 'b': d} %}" * 40 + "a: {{ d }}",
    "nesting by dict()": "{% set d = {'a': 1} %}" + "{% set d = dict(a=d, b=d) %}" * 40 + "a: {{ d }}",
    "JSON of JSON": "{% set s = '\"' %}" + "{% set s = s | tojson %}" * 60 + "a: 1",
    "multiplication": "a: {{ 'x' * 10000000000 }}",
    "multiplication, reversed": "a: {{ 10000000000 * 'x' }}",
    "list multiplication": "a: {{ [1] * 10000000000 }}",
    "large numbers": "{% set n = 99999999 %}" + "{% set n = n * n %}" * 40 + "a: {{ n }}",
    "long range": "a: {{ range(10000000000) | list }}",
    "loops within loops": "{% for a in range(9999) %}{% for b in range(9999) %}{% endfor %}{% endfor %}",
    "long loops": "{% for a in range(9999) %}" + "{% if params.big %}{% endif %}" * 1000 + "{% endfor %}",
    "long macros": "{% macro m() %}" + "{% if native %}{% endif %}" * 1000 + "{% endmacro %}{% for a in range(9999) %}{{ m() }}{% endfor %}",
    "long call blocks": (
        "{% macro m() %}{% for a in range(9999) %}{{ caller() }}{% endfor %}{% endmacro %}{% call m() %}"
        + "{% if native %}{% endif %}" * 1000
        + "{% endcall %}"
    ),
    "loop with a filter": "{% for a in range(9999) if a | string != 'x' %}{% for b in range(9999) %}{% endfor %}{% endfor %}",
    "a loop over a macro's calls": (
        "{% macro m(n) %}{% for i in range(20) %}{% if n > 0 %}{{ m(n - 1) }}{% endif %}{% endfor %}{% endmacro %}{{ m(20) }}"
    ),
    "a macro that calls itself": "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
    "macros that call each other": (
        "{% macro a(n) %}{{ b(n) }}{{ b(n) }}{% endmacro %}{% macro b(n) %}{{ a(n) }}{{ a(n) }}{% endmacro %}{{ a(1) }}"
    ),
    "output in a loop": "{% for a in range(9999) %}a{{ a }}: " + "y" * 2000 + "\n{% endfor %}",
    "a large value many times": "a:\n{% for a in range(9999) %}- {{ params.big }}\n{% endfor %}",
    "a large value by reference": "{% set x %}{{ params.big }}{% endset %}a:\n{% for a in range(9999) %}- {{ x }}\n{% endfor %}",
    "a large value by alias": "a: &a ['{{ params.big }}']\n" + "".join(f"b{n}: *a\n" for n in range(100)),
    "aliases within aliases": "a0: &a0 [x]\n" + "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 12)),
    "a large value compared": "{% for a in range(9999) %}{% if params.big ~ a == params.big ~ a %}{% endif %}{% endfor %}",
    "a large value searched": "{% for a in range(9999) %}{% if 'yx' in params.big %}{% endif %}{% endfor %}",
    "a large value in filters": "{% for a in range(9999) %}{{ params.big | upper | lower | length }}{% endfor %}",
    "a large list": "{% set l = params.big | list %}{% for a in l %}{{ l | sort | unique | length }}{% endfor %}",
    "a large slice": "{% for a in range(9999) %}{{ (params.big | list)[1:] | length }}{% endfor %}",
    "a large split": "{% for a in range(9999) %}{{ params.big.split('x') | length }}{% endfor %}",
    "an include of itself": "{% include 'overlay.yaml.j2' %}",
    "deep nesting": "a: " + "[" * 100_000,
    "deep nesting by block": "".join("  " * n + "a:\n" for n in range(500)),
    "deep nesting by a loop": "a: {% for i in range(5000) %}[{% endfor %}",
    "warnings": "{% for a in range(9999) %}{{ warn(params.big) }}{% endfor %}{% for a in range(9999) %}{{ warn('x') }}{% endfor %}",
}  # fmt: skip


@pytest.mark.parametrize("name", BOMBS)
def test_bombs_end_soon(name: str) -> None:
    with at_most(500), pytest.raises(InjectionError) as caught:
        overlay(BOMBS[name], {"big": _BIG})
    assert caught.value.reason is Reason.TEMPLATE_FAILED
    assert str(caught.value).startswith("sample/")


@pytest.mark.parametrize("text", ["{{ 'x' * 10000000000 }}", "{% set s = 'x' * 1000000 %}{{ s ~ s }}"])
def test_nothing_is_computed_when_a_template_is_compiled(text: str) -> None:
    template(f"{{% if false %}}{text}{{% endif %}}")


#: Each is refused when the template is loaded.
FORBIDDEN = [
    "{{ params.v | safe }}",
    "{{ params.v | e }}",
    "{{ params.v | forceescape }}",
    "{{ params.v | format(1) }}",
    "{{ params.v | attr('x') }}",
    "{{ params.v | center(9) }}",
    "{{ params.v | xmlattr }}",
    "{{ params.v | pprint }}",
    "{{ [params.v] | map('format') }}",
    "{{ [params.v] | map(params.v) | list }}",
    "{{ [params.v] | select(params.v) | list }}",
    "{{ params.v.format(1) }}",
    "{{ '%s'.__mod__(1) }}",
    "{{ params.v.format_map({}) }}",
    "{{ params.v.zfill(9) }}",
    "{{ params.v.encode() }}",
    "{{ containers.append(1) }}",
    "{{ object.update({}) }}",
    "{{ object.pop('x') }}",
    "{{ 9 ** 9 }}",
    "{{ deny(*[1]) }}",
    "{{ dict(**params) }}",
    "{{ self }}",
    "{{ varargs }}",
    "{{ lipsum() }}",
    "{{ cycler(1) }}",
    "{{ joiner() }}",
    "{{ __import__('os') }}",
    "{% set params = 1 %}",
    "{% set deny = 1 %}",
    "{% set namespace.name = 1 %}",
    "{% for x in [1] recursive %}{% endfor %}",
    "{% filter upper %}x{% endfilter %}",
    "{% set x | upper %}x{% endset %}",
    "{% autoescape true %}x{% endautoescape %}",
    "{% block x %}{% endblock %}",
    "{% extends 'overlay.yaml.j2' %}",
    "{% include params.v %}",
    "{% include '/etc/passwd' %}",
    "{% include '../x' %}",
    "{% import 'template.yaml' as x %}",
    "{% do 1 %}",
    "{% call params.v.upper() %}{% endcall %}",
    "a: {{ params['__class__'] }}",
    "a: {{ params.v() }}",
    "a: \ufdd00\ufdd1",
    "a: '\ufdd2'",
]


@pytest.mark.parametrize("text", FORBIDDEN)
def test_refused_when_loaded(text: str) -> None:
    with pytest.raises(TemplateError) as caught:
        template(f"\n{text}", {"v": {"type": "string"}})
    assert caught.value.place is not None
    assert (caught.value.place.file, caught.value.place.line) == ("overlay.yaml.j2", 2)
    assert caught.value.place.text == text


#: Each loads and fails to render.
ESCAPES = [
    "a: {{ ''.__class__ }}",
    "a: {{ params.v['__class__'] }}",
    "a: {{ params.v.upper }}",
    "a: {{ containers.append }}",
    "a: {{ deny.__globals__ }}",
    "a: {{ deny['__globals__'] }}",
    "a: {{ deny }}",
    "a: {{ range }}",
    "{% macro m() %}{% endmacro %}a: {{ m }}",
    "{% macro m() %}{% endmacro %}a: {{ m.name }}",
    "{% macro m() %}{% endmacro %}a: {{ m._func }}",
    "{% for x in [1] %}a: {{ loop }}{% endfor %}",
    "{% for x in [1] %}a: {{ loop._undefined }}{% endfor %}",
    "{% for x in [1] %}{% call loop.cycle(params.v) %}{% endcall %}{% endfor %}",
    "{% call dict() %}{% endcall %}",
    "{% call range(3) %}{% endcall %}",
    "{% set f = params.v %}{% call f() %}{% endcall %}",
    "a: {{ 'a%s' % params.v }}",
    "a: {{ [1] - [1] }}",
    "a: {{ 1 / 0 }}",
    "a: {{ -'x' }}",
    "a: {{ params.v + 1 }}",
    "a: {{ params.v ~ none }}",
    "a: {{ params.v ~ [1] }}",
    "{% for x in params.v %}{% endfor %}",
    "{% for x in none %}{% endfor %}",
    "a: {{ range(5, 1, 0) }}",
    "a: {{ 'x' | int }}",
    "a: {{ 1.0e308 * 1.0e308 }}",
    "b: {{ object.nothing }}",
    "b: {{ object.nothing ~ 'x' }}",
    "b: {{ object.nothing | upper }}",
    "{% if object.nothing %}{% endif %}",
    "{% if object.nothing == 1 %}{% endif %}",
    "{% for x in object.nothing %}{% endfor %}",
]


@pytest.mark.parametrize("text", ESCAPES)
def test_fails_cleanly(text: str) -> None:
    with pytest.raises(InjectionError) as caught:
        overlay(f"\n{text}", {"v": "x"})
    assert caught.value.reason is Reason.TEMPLATE_FAILED
    assert str(caught.value).startswith("sample/overlay.yaml.j2:2:")
    assert "Traceback" not in str(caught.value)


def test_nothing_of_one_render_is_left_in_the_next() -> None:
    made = template(
        "{% import '_m.yaml.j2' as m %}a: {{ m.x }}\nb: {{ m.f() }}\n",
        {"v": {"type": "string"}},
        **{"_m.yaml.j2": "{% set x %}{{ params.v }}{% endset %}{% macro f() %}{{ params.v }}{% endmacro %}"},
    )
    for value in ("one", "two", "three"):
        assert render_overlay(made, context({"v": value})).overlay == {"a": value, "b": value}


def test_the_pod_is_not_changed() -> None:
    pod = {"metadata": {"labels": {"b": "1", "a": "2"}}, "spec": {"containers": [{"name": "b"}, {"name": "a"}]}}
    made = template(
        "a: {{ object.spec.containers | sort(attribute='name') | map(attribute='name') | list }}\nb: {{ object }}\n"
    )
    found = render_overlay(made, context(object=pod)).overlay
    assert found["a"] == ["a", "b"]
    assert found["b"] == pod
    assert found["b"] is not pod
    assert pod["spec"]["containers"] == [{"name": "b"}, {"name": "a"}]


def test_text_files_are_bounded_too(golden: Golden) -> None:
    with pytest.raises(InjectionError) as caught:
        file("x.conf", "{% for i in range(9999) %}" + "y" * 2000 + "{% endfor %}")
    golden(caught.value)
    made = template(
        "{}", {"v": {"type": "string"}}, **{"x.conf.j2": "{% for i in range(9999) %}{{ params.v }}{% endfor %}"}
    )
    with pytest.raises(InjectionError) as caught_2:
        render_files(made, context({"v": "x" * 1000}))
    golden(caught_2.value)


def test_a_mapping_with_many_holes_takes_no_time_for_each_two_of_its_keys() -> None:
    def seconds(keys: int) -> float:
        made = template(
            "".join(f"k{n}-{{{{ params.v }}}}: 1\nk{n}: 1\n" for n in range(keys)), {"v": {"type": "string"}}
        )
        render_overlay(made, context({"v": "y"}))
        began = time.process_time()
        assert len(render_overlay(made, context({"v": "x"})).overlay) == 2 * keys
        return time.process_time() - began

    # 4 where each key costs the same, 16 where each costs one look at all others
    few, many = zip(*((seconds(300), seconds(1200)) for _ in range(5)), strict=True)
    assert statistics.median(many) < 9 * statistics.median(few)


def test_keys_that_holes_make_equal_are_refused(golden: Golden) -> None:
    with pytest.raises(InjectionError) as caught:
        overlay("k7-{{ params.v }}: 1\nk7-7: 1\n", {"v": "7"})
    golden(caught.value)


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("2.456 | round(1)", 2.5),
        ("2.456 | round(2, 'floor')", 2.45),
        ("241 | round(-2, 'ceil')", 300.0),
        ("params.many | round", 7.0),
        ("1e300 | round(20)", 1e300),
    ],
)
def test_round(expression: str, expected: float) -> None:
    assert overlay(f"a: {{{{ {expression} }}}}", {"many": 7}) == {"a": expected}


@pytest.mark.parametrize(
    "expression",
    [
        "1.5 | round(params.many)",
        "1.5 | round(params.many, 'ceil')",
        "1.5 | round(-params.many, 'floor')",
        "1.5 | round(21)",
        "1.5 | round(1.5)",
        "1.5 | round(true)",
        "1e300 | round(20, 'ceil')",
        "1.5 | round(1, params.v)",
        "'1.5' | round(1)",
        "params.v | round",
    ],
)
def test_what_round_refuses(expression: str, golden: Golden) -> None:
    with at_most(100), pytest.raises(InjectionError) as caught:
        overlay(f"a: {{{{ {expression} }}}}", {"many": 99_999_999, "v": "x"})
    golden(str(caught.value))
