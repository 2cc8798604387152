"""What a value becomes, by where its hole stands; and which line an error names."""

# ruff: noqa: E501 - templates read best on one line

from __future__ import annotations

import pickle
from typing import Any

import pytest

from injector.budget import ReviewBudget
from injector.errors import InjectionError, TemplateError
from injector.pods.overlay import Replace
from injector.reasons import Reason
from injector.templates.render import RenderError, render_overlay
from injector.templates.structure import OUTPUT
from tests.messages import Golden
from tests.unit.templates.build import context, file, overlay, template


@pytest.mark.parametrize(
    "value", [1, -5, 2**63, 0.25, True, False, "true", "1", "", "a: b", [1, "2"], {"a": [None, 1]}]
)
def test_alone_a_value_keeps_its_type(value: Any) -> None:
    for text in (
        "a: {{ params.v }}",
        "a:\n  {{ params.v }}",
        "{a: {{ params.v }}}",
        "a: {{ params.v }} # {{ params.v }}",
    ):
        found = overlay(text, {"v": value})["a"]
        assert found == value
        assert type(found) is type(value)
    assert overlay("a: [{{ params.v }}, {{ params.v }}]", {"v": value})["a"] == [value, value]
    assert overlay("a:\n- {{ params.v }}\n", {"v": value})["a"] == [value]


@pytest.mark.parametrize(
    ("value", "text"), [(1, "1"), (-5, "-5"), (0.25, "0.25"), (True, "true"), (False, "false"), ("x", "x"), ("", "")]
)
def test_in_quotes_and_beside_text_it_is_a_string(value: Any, text: str) -> None:
    params = {"v": value}
    assert overlay("a: '{{ params.v }}'", params)["a"] == text
    assert overlay('a: "{{ params.v }}"', params)["a"] == text
    assert overlay("a: {{ params.v }}m", params)["a"] == f"{text}m"
    assert overlay("a: '{{ params.v }}:{{ params.v }}'", params)["a"] == f"{text}:{text}"
    assert overlay("a: {{ params.v }}:{{ params.v }}", params)["a"] == f"{text}:{text}"
    assert overlay("a: |\n  x {{ params.v }}\n  y\n", params)["a"] == f"x {text}\ny\n"
    assert overlay("a: !!str {{ params.v }}", params)["a"] == text
    assert overlay("'{{ params.v }}': 1", params) == {text: 1}
    assert overlay("{{ params.v }}: 1", params) == {text: 1}


@pytest.mark.parametrize("value", [None, [1], {"a": 1}])
@pytest.mark.parametrize(
    "text", ["'{{ params.v }}'", "x{{ params.v }}", "|\n    {{ params.v }}", "{'{{ params.v }}': 1}"]
)
def test_what_has_no_one_spelling_is_an_error_in_a_string(value: Any, text: str, golden: Golden) -> None:
    with pytest.raises(RenderError) as caught:
        overlay(f"b: 1\nc:\n  a: {text}\n", {"v": value})
    assert caught.value.place.line == (4 if text.startswith("|") else 3)
    golden(str(caught.value))


def test_a_null_drops_its_key() -> None:
    text = "a: {{ params.v }}\nb: {c: {{ params.v }}, d: 1}\ne: null\nf: {{ {'g': params.v, 'h': 1} }}\n"
    text += "i: !replace {{ params.v }}\n"
    assert overlay(text, {"v": None}) == {"b": {"d": 1}, "f": {"h": 1}}


def test_a_null_in_a_list_is_an_error(golden: Golden) -> None:
    with pytest.raises(RenderError) as caught:
        overlay("a:\n- 1\n- {{ params.v }}\n", {"v": None})
    golden(caught.value)


def test_replace(golden: Golden) -> None:
    text = "a: !replace Always\nb: !replace {{ params.v }}\nc: !replace {d: '{{ params.v }}'}\ne: !replace null\nf: !replace '1'"
    assert overlay(text, {"v": 5}) == {
        "a": Replace("Always"),
        "b": Replace(5),
        "c": Replace({"d": "5"}),
        "e": Replace(None),
        "f": Replace("1"),
    }
    with pytest.raises(InjectionError) as caught:
        file("x.yaml", "a: !replace 1\n")
    golden(caught.value)
    with pytest.raises(InjectionError) as caught_2:
        overlay("a: !other 1\n")
    golden(caught_2.value)


def test_keys_are_checked_for_duplicates_after_filling(golden: Golden) -> None:
    for text in ("a: 1\n{{ params.v }}: 2\n", "{{ params.v }}: 2\na: 1\n", "'{{ params.v }}': 1\n{{ params.v }}: 2\n"):
        with pytest.raises(RenderError) as caught:
            overlay(text, {"v": "a"})
        golden(caught.value)
    assert overlay("a: 1\n{{ params.v }}: 2\n", {"v": "b"}) == {"a": 1, "b": 2}


def test_anchors_and_merge_keys() -> None:
    text = "a: &a {x: {{ params.v }}, w: 1}\nb: {<<: *a, w: 2}\nc: [*a, *a]\nd:\n  <<: [{x: 0}, *a]\n  z: 3\n"
    assert overlay(text, {"v": 7}) == {
        "a": {"x": 7, "w": 1},
        "b": {"w": 2, "x": 7},
        "c": [{"x": 7, "w": 1}] * 2,
        "d": {"z": 3, "x": 0, "w": 1},
    }


def test_control_flow() -> None:
    text = """\
ports:
{% for port in ports %}
  - containerPort: {{ port }}
    name: p-{{ loop.index }}
{% endfor %}
{% if native %}
native: yes
{% else %}
native: no
{% endif %}
{% macro env(name, value) %}
  - {name: {{ name }}, value: "{{ value }}"}
{% endmacro %}
env:
{{ env("A", 1) }}
{{- env("B", true) }}
{% set lines %}
x: [1]
{% endset %}
{{ lines }}
"""
    assert overlay(text) == {
        "ports": [{"containerPort": 8080, "name": "p-1"}],
        "native": True,
        "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "true"}],
        "x": [1],
    }


def test_what_a_template_sees() -> None:
    text = """\
a: {{ object.metadata.name }}
b: {{ pod.metadata.labels["app"] }}
c: {{ namespace.name }}/{{ namespace.labels.injection }}
d: {{ workload.kind }} {{ workload.name }}
e: {{ containers | map(attribute="name") | join(",") }}
f: {{ ports }}
g: {{ files.configmap }}
h: "{{ cluster.version }}"
i: {{ cluster.domain }}
j: {{ native }}
k: {{ object.spec.securityContext.runAsUser | default(5) }}
l: {{ object.spec.securityContext is defined }}
m: {{ object.metadata.labels.get("no", "x") }}
o: {{ params.v | default("unset") }}
"""
    assert overlay(text, {"v": None}) == {
        "a": "web",
        "b": "web",
        "c": "shop/enabled",
        "d": "Deployment web",
        "e": "web",
        "f": [8080],
        "g": "sample-0123456789ab",
        "h": "1.36",
        "i": "cluster.local",
        "j": True,
        "k": 5,
        "l": False,
        "m": "x",
        "o": "unset",
    }


def test_verdicts(golden: Golden) -> None:
    with pytest.raises(InjectionError) as caught:
        overlay("{% if true %}\n{{ deny('no latest ' ~ 'here') }}\n{% endif %}")
    golden(caught.value)
    assert caught.value.reason is Reason.DENIED
    golden(str(caught.value))
    assert caught.value.code == 403
    with pytest.raises(InjectionError) as caught:
        overlay("{% set code = 402 %}{{ deny('no latest here', code=code) }}")
    assert (caught.value.reason, caught.value.code) == (Reason.DENIED, 402)
    for code in ("200", "399", "600", "'402'", "true", "402.0", "none"):
        with pytest.raises(RenderError) as caught_2:
            overlay(f"{{% set code = {code} %}}{{{{ deny('no', code=code) }}}}")
        golden(caught_2.value)
        with pytest.raises(TemplateError) as caught_3:
            template(f"{{% if false %}}{{{{ deny('no', code={code}) }}}}{{% endif %}}")
        golden(caught_3.value)
    with pytest.raises(InjectionError) as caught:
        overlay("{{ fail('nothing to serve') }}")
    assert caught.value.reason is Reason.NOT_SERVED
    made = template("a: 1\n{{ warn('first') }}\n{% if ports %}{{ warn(ports[0]) }}{% endif %}\n")
    for _ in range(2):  # also from the memory of results
        assert render_overlay(made, context()).warnings == ("first", "8080")
    assert render_overlay(made, context(ports=())).warnings == ("first",)


def test_an_empty_overlay(golden: Golden) -> None:
    assert overlay("{% if not native %}a: 1{% endif %}\n# nothing\n") == {}
    with pytest.raises(InjectionError) as caught:
        overlay("- a\n")
    golden(caught.value)


def test_results_are_remembered_by_what_was_read_alone() -> None:
    made = template(
        "a: {{ object.metadata.labels.app }}\nb: {{ params.v }}\n", {"v": {"type": "string"}, "w": {"type": "string"}}
    )
    first = render_overlay(made, context({"v": "x", "w": "1"}))
    pod = {"metadata": {"labels": {"app": "web"}, "name": "other"}, "spec": {}}
    assert render_overlay(made, context({"v": "x", "w": "2"}, object=pod)) is first
    beginning = template("a: {{ object.spec.args | first | default('-') }}\n")
    one, other, none = (context({}, object={"spec": {"args": args}}) for args in (["x"], ["x", "y"], []))
    assert render_overlay(beginning, one) is render_overlay(beginning, other)
    assert render_overlay(beginning, none).overlay == {"a": "-"}
    assert render_overlay(made, context({"v": "y", "w": "2"})).overlay == {"a": "web", "b": "y"}
    assert render_overlay(made, context({"v": True})).overlay["b"] is True
    assert render_overlay(made, context({"v": 1})).overlay["b"] == 1
    assert type(render_overlay(made, context({"v": 1})).overlay["b"]) is int
    assert type(render_overlay(made, context({"v": "1"})).overlay["b"]) is str


def test_a_string_that_is_only_written_is_written_into_what_is_remembered(golden: Golden) -> None:
    text = "a: {b: '{{ object.metadata.labels.app or 'none' }}'}\nc: {d: {{ params.v }}}\n"
    made = template(text, {"v": {"type": "string"}})
    pods = [{"metadata": {"labels": {"app": app}}, "spec": {}} for app in ("web", "shop", "api", "")]
    web, shop, api, none = (render_overlay(made, context({"v": "x"}, object=pod)).overlay for pod in pods)
    assert (web["a"], shop["a"], none["a"]) == ({"b": "web"}, {"b": "shop"}, {"b": "none"})
    assert api == {"a": {"b": "api"}, "c": {"d": "x"}}
    assert api["c"] is shop["c"]
    # what comes out too large, or not as an overlay may be, is said as ever
    with pytest.raises(RenderError) as caught:
        render_overlay(made, context({"v": "x"}, object={"metadata": {"labels": {"app": "x" * OUTPUT}}, "spec": {}}))
    golden(caught.value)
    key = template("{{ object.metadata.labels.app }}: 1\nb: {{ params.v }}\n", {"v": {"type": "string"}})
    assert render_overlay(key, context({"v": "x"})).overlay == {"web": 1, "b": "x"}
    with pytest.raises(RenderError) as caught_2:
        render_overlay(key, context({"v": "x"}, object={"metadata": {"labels": {"app": "b"}}, "spec": {}}))
    golden(caught_2.value)


def test_of_a_string_that_is_compared_counts_whether_it_is_one_of_those() -> None:
    made = template("a:\n{% for c in containers if c.name != 'x' and pod.kind in ['A', 'B'] %}\n- 1\n{% endfor %}\n")
    one, other, third = (
        context({}, object={"kind": kind}, containers=[{"name": name}])
        for name, kind in (("a", "A"), ("another of its own", "A"), ("x", "A"))
    )
    assert render_overlay(made, one) is render_overlay(made, other)
    assert render_overlay(made, third).overlay == {}


def test_what_a_rendering_did_not_come_to_does_not_count() -> None:
    made = template("a: {{ ports | length if params.v else 0 }}\n", {"v": {"type": "boolean"}})
    off, on = ([context({"v": v}, ports=ports) for ports in ([], [1], [1, 2])] for v in (False, True))
    assert len({id(render_overlay(made, one)) for one in off}) == 1
    assert [render_overlay(made, one).overlay["a"] for one in on] == [0, 1, 2]
    # a template with more ways through it than are kept apart is right as well
    many = "".join(f"{{% if params.v == 'x{n}' %}}{{{{ pod.a{n} }}}}{{% endif %}}" for n in range(20))
    made = template(f"a: {many}\n", {"v": {"type": "string"}})
    for n in (*range(20), 19, 0):
        for value in ("u", "w"):
            seen = context({"v": f"x{n}"}, object={f"a{n}": value})
            assert render_overlay(made, seen).overlay == {"a": value}


FAULTS = {
    "a: 1\nb: [\n": ("overlay.yaml.j2", 2),
    "a: 1\n\n\nb: 'x\n": ("overlay.yaml.j2", 4),
    "a: 1\nb: {{ object.nothing }}\n": ("overlay.yaml.j2", 2),
    "{% if true %}\n{% for x in [1, 2] %}\na: 1\n{% endfor %}\n{% endif %}\n": ("overlay.yaml.j2", 3),
    "{#- a\n comment -#}\na: 1\n{%- if true %}\n\nb: 1\n{% endif -%}\n\n\n  c: {{ 1 }}\n a: 1\n": (
        "overlay.yaml.j2",
        11,
    ),
    "a: 1\n{% include '_i.yaml.j2' %}\n": ("_i.yaml.j2", 2),
    "a: 1\n{% import '_m.yaml.j2' as m %}\n{{ m.bad() }}\n": ("_m.yaml.j2", 3),
    "a: 1\n{% import '_m.yaml.j2' as m %}\n{{ m.failing() }}\n": ("_m.yaml.j2", 7),
    "a: 1\n{% set x %}\nb: 1\nb: 2\n{% endset %}\n\n{{ x }}\n": ("overlay.yaml.j2", 4),
    "a: {{ 1 }}\n{% set x = [\n 1,\n 2 / 0\n] %}\nb: 1": ("overlay.yaml.j2", 2),
    "a: 1\ny: 1\n": ("overlay.yaml.j2", 2),
    "a: &x {b: *x}\n": ("overlay.yaml.j2", 1),
    "a: 1\nb: *x\n": ("overlay.yaml.j2", 2),
    "a: 1\n--- \nb: 1\n": ("overlay.yaml.j2", 2),
    "\n\n? [a]\n: 1\n": ("overlay.yaml.j2", 3),
}


@pytest.mark.parametrize("text", FAULTS)
def test_errors_name_the_authors_line(text: str) -> None:
    files = {
        "_i.yaml.j2": "c: 1\nc: 2\n",
        "_m.yaml.j2": "\n{% macro bad() %}\n\tc: 1\n{% endmacro %}\n\n{% macro failing() %}\nc: {{ none ~ 'x' }}\n{% endmacro %}\n",
    }
    with pytest.raises(RenderError) as caught:
        overlay(text, **files)
    assert (caught.value.place.file, caught.value.place.line) == FAULTS[text], str(caught.value)
    assert str(caught.value).startswith("sample/{}:{}:".format(*FAULTS[text]))


#: Templates that read containers in different ways; each result has to follow what it reads.
READS = [
    "a:\n{% for c in containers %}\n- {{ c.name }}\n{% endfor %}\n",
    "a:\n{% for c in containers %}\n- {{ c.get('image') }}\n{% endfor %}\n",
    "a:\n{% for c in containers %}\n- {{ c.resources.limits.get('cpu') }}{{ c.name }}\n{% endfor %}\n",
    "a:\n{% for c in containers %}\n- {{ c | tojson }}\n{% endfor %}\n",
    "a:\n{% for c in containers %}\n- {{ c[params.v] }}\n{% endfor %}\n",
    "a:\n{% for c in containers if c.name.startswith('x') %}\n- {{ c.name ~ '!' }}\n{% endfor %}\n",
    "a:\n{% for c in containers if c.name ~ c.image == 'xy' %}\n- {{ loop.index }}\n{% endfor %}\n",
    "a:\n{% for c in containers %}\n- {{ loop.index }}\n{% endfor %}\n",
    "a:\n{% for c in containers %}\n- {{ (loop.previtem | default({})).name | default('-') }}\n{% endfor %}\n",
    "a:\n{% for c in containers %}\n- {{ loop['next' ~ 'item'] | default('-') | tojson }}\n{% endfor %}\n",
    "a:\n{% for c in containers %}{% for p in c.ports | default([]) %}\n- {{ p.containerPort }}\n{% endfor %}{% endfor %}\n",
    "a:\n{% for c in containers %}{% for k, v in c.items() %}\n- {{ k }}={{ v | tojson }}\n{% endfor %}{% endfor %}\n",
    "a:\n{% for c in containers %}\n- {{ c.x is defined }}\n{% endfor %}\n",
    "a:\n{% for c in containers %}{% set d = c %}\n- {{ d.image | default('-') }}\n{% endfor %}\n",
    "a:\n{% for c in containers %}{% include '_c.yaml.j2' %}{% endfor %}\n",
    "{% macro m(c) %}- {{ c.image | default('-') }}{% endmacro %}\na:\n{% for c in containers %}\n{{ m(c) }}\n{% endfor %}\n",
    "a:\n{% for c in containers %}\n- {{ containers[0].name }}\n{% endfor %}\n",
    "a:\n{% for c in containers %}{% call(x) m2() %}\n- {{ c.image | default('-') }}\n{% endcall %}{% endfor %}\n",
    "a: {{ object.metadata.labels.get('app') }}\nb: {{ pod['metadata'].labels | items | list }}\n",
    "a: {{ object['meta' ~ 'data'].labels.app }}\n",
    "a: {{ object.metadata.labels[params.v] | default('-') }}\n",
    "a: {{ object.metadata is mapping }} {{ object.metadata.x is defined }}\n",
    "a: {{ containers | first | default('-') | tojson }}\n",
    "a: {{ (containers | first | default({})).name | default('-') }}\n",
    "a: {{ containers | first | default('-') | tojson }}{{ containers | length }}\n",
    "a: {{ containers | map(attribute='name') | first | default('-') }}\n",
    "a: {{ containers | map(attribute='resources') | map('default', '-') | list | tojson }}\n",
    "a: {{ containers | map(attribute='resources.limits', default='-') | list | tojson }}\n",
    "a: {{ containers | map('tojson') | list | tojson }}\n",
    "a: {{ object.metadata | map(attribute='app') | map('default', '-') | list | tojson }}\n",
    "a: {{ object.metadata.labels | first | default('-') }}{{ object.metadata.labels.app | first | default('-') }}\n",
    "a:\n{% for c in containers %}\n- {{ c.ports | default([]) | first | default('-') | tojson }}\n{% endfor %}\n",
    "a: {{ object.metadata.labels.app }}\n",
    "a: '{{ object.metadata.labels.app or 'none' }}-{{ pod.metadata.labels.app }}'\n",
    "{{ object.metadata.labels.app }}: 1\na: [2, '{{ object.metadata.labels.app }}']\nb: {c: {d: {{ params.v }}}}\n",
    "a: {{ object.metadata.labels.app }}{{ object.metadata.labels.app == 'a' }}\n",
    "a: {{ object.metadata.labels.app == 'a' }}{{ 'x' if object.metadata.labels.app in ['b', 'c'] else 'y' }}\n",
    "a: {{ object.metadata.labels.app != params.v }}{{ 'a' == object.metadata.labels.app }}\n",
    "a: {{ 'a' < object.metadata.labels.app < 'b' }}{{ object.metadata.labels.app in 'ab' }}\n",
    "a: {{ object.metadata.labels.app in ['b', 1] }}{{ object.metadata.labels.app == object.metadata.labels.image }}\n",
    "{% set x %}{{ object.metadata.labels.app }}{% endset %}\na: {{ 'x' if x == 'a' else 'y' }}\nb: {{ x }}\n",
    "{% macro m() %}{{ object.metadata.labels.app }}{% endmacro %}\na: {{ m() | upper }}\nb: {{ m() }}\n",
    "{% if containers %}\na: {{ object.metadata.labels.app }}\n{% else %}\nb: {{ object.metadata.labels | length }}\n{% endif %}\n",
    "{% if object.metadata.labels.app is defined %}\na: {{ containers | length }}\n{% endif %}\nb: {{ workload.kind }}\n",
    "{% set x = none if containers else object.metadata.labels.app | default('-') %}\na: {{ x }}\n",
    "{% if object.metadata.labels.app | default('') == 'a' %}{{ fail('no ' ~ containers | length) }}{% endif %}\na: 1\n",
    "a:\n{% for c in containers if c.name == 'x' and c.image in ['y'] %}\n- {{ c.name }}\n{% endfor %}\n",
    "a:\n{% for c in containers if c.name != 'x' %}\n- {{ loop.index }}\n{% endfor %}\n",
    "{% for c in containers if c.name == 'w' %}{{ fail('no ' ~ c.image) }}{% endfor %}\na: 1\n",
    "{% set request = object.metadata.labels.app | default('-') %}\na: {{ request }}{{ request == 'a' }}\n",
    "{% set user = {'a': object.metadata.labels.app | default('-')} %}\na: {{ user.a or 'none' }}{{ user.a == 'a' }}\n",
    "{{ warn(object.metadata.labels.app) }}\na: {{ object.metadata.labels.app }}\n",
    "spec:\n  containers:\n  - name: '{{ object.metadata.labels.app }}'\n  - {name: b, image: '{{ params.v }}'}\n",
    "spec:\n  containers:\n  - !replace {name: '{{ object.metadata.labels.app }}', image: {{ params.v }}}\n",
    "{{ object.metadata.labels.app * 2 if false else object.metadata.labels.app }}: {{ none }}\nb: 1\n",
]
CONTAINERS: list[list[dict[str, Any]]] = [
    [],
    [{"name": "x"}],
    [{"name": "x", "image": "y"}],
    [{"name": "x", "image": "z"}],
    [{"name": "xx", "image": "y"}],
    [{"name": "x", "image": "y"}, {"name": "x", "image": "y"}],
    [{"name": "x", "image": "y"}, {"name": "w", "image": "y"}],
    [{"name": "x", "image": "y", "ports": [{"containerPort": 1}]}],
    [{"name": "x", "image": "y", "ports": [{"containerPort": 2}]}],
    [{"name": "x", "image": "y", "x": None}],
    [{"name": "x", "image": "y", "resources": {"limits": {"cpu": "1"}}}],
    [{"name": "x", "image": "y", "resources": {"limits": {"cpu": "2"}}}],
]
LABELS: list[dict[str, Any]] = [
    {},
    {"app": "a"},
    {"app": "b", "image": "c"},
    {"app": "another, which is longer than what it is compared with"},
    {"app": ""},
    {"app": None},
    {"app": 1},
    {"app": ["a"]},
    {"app": {"a": "b"}, "image": {"a": "b"}},
]


@pytest.mark.parametrize("text", READS)
def test_a_remembered_result_is_that_of_the_same_pod(text: str) -> None:
    files = {"_c.yaml.j2": "\n- {{ c.image | default('-') }}\n"}
    if "m2" in text:
        text = "{% macro m2() %}{{ caller(1) }}{% endmacro %}" + text

    def outcome(made: Any, containers: list[dict[str, Any]], labels: dict[str, Any]) -> object:
        pod = {"metadata": {"labels": labels}, "spec": {"containers": containers}}
        with ReviewBudget(1_000_000) as budget:
            try:
                seen = context({"v": "image"}, object=pod, containers=containers)
                return render_overlay(made, seen), budget.spent
            except InjectionError as error:
                return str(error), budget.spent

    shared = template(text, {"v": {"type": "string"}}, **files)
    without_memory = pickle.dumps(shared)
    for containers in CONTAINERS:
        for labels in LABELS:
            fresh = pickle.loads(without_memory)
            assert outcome(shared, containers, labels) == outcome(fresh, containers, labels)
