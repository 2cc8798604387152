"""`!append`: an item behind what the pod's author wrote in a list that is one text, once, and taken off alone."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from injector.errors import InjectionError
from injector.inject import guard, inject, uninject
from injector.pods.context import Namespace, Object
from injector.pods.overlay import Item
from injector.pods.receipt import read_receipt
from injector.reasons import Reason
from injector.settings import Settings
from injector.templates.render import render_overlay
from tests.messages import Golden
from tests.unit.support import ENABLED, REQUIRED, named, web
from tests.unit.templates.build import context, template
from tests.unit.test_default_tag import app, side, variables

KEY = "cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes"
OVERLAY = f"""
metadata:
  annotations:
    {KEY}: !append {{separator: ",", item: buffer}}
spec:
  containers:
  - name: side
    image: side:1
  - name: "*"
    env:
    - name: JAVA_TOOL_OPTIONS
      value: !append
        separator: " "
        item: -Dx
"""
POINTER = "/spec/containers/app/env/JAVA_TOOL_OPTIONS/value"


def with_value(value: Any, **fields: Any) -> Object:
    return app(env=[{"name": "JAVA_TOOL_OPTIONS", **({} if value is None else {"value": value})}], **fields)


def value_of(pod: Object) -> Any:
    return variables(named(pod, "app"))["JAVA_TOOL_OPTIONS"]


def annotated(pod: Object, text: str) -> Object:
    pod["metadata"].setdefault("annotations", {})[KEY] = text
    return pod


@pytest.mark.parametrize("namespace", [ENABLED, REQUIRED])
@pytest.mark.parametrize(
    ("own", "final"),
    [
        (None, "-Dx"),
        ("", "-Dx"),
        ("-Xmx1g", "-Xmx1g -Dx"),
        ("-Dxy", "-Dxy -Dx"),
        ("-Dx", "-Dx"),
        ("-Da -Dx -Db", "-Da -Dx -Db"),
        ("-Da ", "-Da  -Dx"),
        ("-Dx=1", "-Dx=1 -Dx"),
    ],
)
def test_it_stands_behind_the_pod_s_own(namespace: Namespace, own: str | None, final: str) -> None:
    pod = with_value(own)
    done = inject(pod, namespace, side(OVERLAY))
    assert (done.reason, done.warning_lines, value_of(done.object)) == (Reason.INJECTED, (), final)
    again = inject(done.object, namespace, side(OVERLAY))
    assert again.reason is Reason.ALREADY_INJECTED and not again.patch
    assert guard(done.object, REQUIRED, side(OVERLAY)).reason is Reason.ALREADY_INJECTED
    assert uninject(done.object, Settings()) == pod


@pytest.mark.parametrize("namespace", [ENABLED, REQUIRED])
def test_where_nothing_is_it_is_all(namespace: Namespace) -> None:
    done = inject(web(), namespace, side(OVERLAY))
    assert value_of(done.object) == "-Dx" and done.object["metadata"]["annotations"][KEY] == "buffer"
    assert uninject(done.object, Settings()) == web()


@pytest.mark.parametrize("namespace", [ENABLED, REQUIRED])
@pytest.mark.parametrize("pod", [web(), annotated(with_value("-Da"), "cache")], ids=["nothing", "own"])
def test_what_a_later_webhook_appends_stays(namespace: Namespace, pod: Object) -> None:
    done = inject(pod, namespace, side(OVERLAY)).object
    named(done, "app")["env"][0]["value"] += " -Dlate"
    done["metadata"]["annotations"][KEY] += ",late"
    again = inject(done, namespace, side(OVERLAY))
    assert again.reason is Reason.ALREADY_INJECTED and not again.patch
    assert guard(done, REQUIRED, side(OVERLAY)).reason is Reason.ALREADY_INJECTED
    bare = uninject(done, Settings())
    assert value_of(bare) == ("-Da -Dlate" if "env" in named(pod, "app") else "-Dlate")
    assert bare["metadata"]["annotations"][KEY] == ("cache,late" if "env" in named(pod, "app") else "late")


def test_the_guard_looks_for_the_item() -> None:
    for lost in ("-Da", "-Dxy", ""):
        done = inject(with_value("-Da"), REQUIRED, side(OVERLAY)).object
        named(done, "app")["env"][0]["value"] = lost
        assert guard(done, REQUIRED, side(OVERLAY)).reason is Reason.NOT_INJECTED, lost
        assert value_of(inject(done, REQUIRED, side(OVERLAY)).object).split()[-1] == "-Dx"
    done = annotated(inject(web(), REQUIRED, side(OVERLAY)).object, "other")
    assert guard(done, REQUIRED, side(OVERLAY)).reason is Reason.NOT_INJECTED


FROM_FIELD = {"env": [{"name": "JAVA_TOOL_OPTIONS", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}]}
FROM_MAP = {"envFrom": [{"configMapRef": {"name": "settings"}}]}


@pytest.mark.parametrize(
    "fields", [FROM_FIELD, FROM_MAP, {"envFrom": [{"secretRef": {"name": "s"}, "prefix": "JAVA_"}]}]
)
def test_a_value_from_elsewhere_is_left_alone(fields: dict[str, Any]) -> None:
    pod = app(**fields)
    done = inject(pod, ENABLED, side(OVERLAY))
    assert done.reason is Reason.INJECTED
    assert {key: named(done.object, "app").get(key) for key in ("env", "envFrom")} == {
        "env": None,
        "envFrom": None,
        **fields,
    }
    assert {warning.code for warning in done.warnings} == {"difference"}
    assert {"JAVA_TOOL_OPTIONS"} <= {str(step) for warning in done.warnings for step in warning.path}
    assert uninject(done.object, Settings()) == pod
    assert inject(pod, REQUIRED, side(OVERLAY)).reason is Reason.NOT_OVERRIDABLE


def test_envfrom_that_cannot_bring_the_name_or_loses_to_env() -> None:
    other = app(envFrom=[{"configMapRef": {"name": "settings"}, "prefix": "APP_"}])
    assert value_of(inject(other, REQUIRED, side(OVERLAY)).object) == "-Dx"
    assert value_of(inject(with_value("-Da", **FROM_MAP), REQUIRED, side(OVERLAY)).object) == "-Da -Dx"


def test_two_templates_append_in_their_order() -> None:
    snapshot = side(OVERLAY, other=OVERLAY.replace("-Dx", "-Dz").replace("name: side", "name: other"))
    for pod, final in ((web(), "-Dx -Dz"), (with_value("-Da"), "-Da -Dx -Dz")):
        done = inject(pod, REQUIRED, snapshot)
        assert value_of(done.object) == final
        receipt = read_receipt(done.object, Settings())
        assert receipt is not None and receipt.appended[POINTER] == (Item(" ", "-Dx"), Item(" ", "-Dz"))
        assert uninject(done.object, Settings()) == pod


def test_behind_another_template_s_replace_the_old_value_comes_back() -> None:
    first = 'spec: {containers: [{name: "*", env: [{name: JAVA_TOOL_OPTIONS, value: !replace -Dr}]}]}'
    done = inject(with_value("-Da"), REQUIRED, side(first, other=OVERLAY))
    assert value_of(done.object) == "-Dr -Dx"
    assert uninject(done.object, Settings()) == with_value("-Da")


def test_a_forged_receipt_takes_nothing_out() -> None:
    done = inject(with_value("-Da -Dsafe"), REQUIRED, side(OVERLAY)).object
    marks = done["metadata"]["annotations"]
    key = Settings().receipt_key
    marks[key] = marks[key].replace('[" ","-Dx"]', '[" ","-Dsafe"]')
    again = inject(done, REQUIRED, side(OVERLAY))
    assert value_of(again.object) == "-Da -Dsafe -Dx"


def variable(text: str) -> str:
    return f'spec: {{containers: [{{name: "*", env: [{text}]}}]}}'


ITEM = variable('{name: JAVA_TOOL_OPTIONS, value: !append {separator: " ", item: -Dx}}')
PLAIN = variable("{name: JAVA_TOOL_OPTIONS, value: -Dp}")


@pytest.mark.parametrize("first", [PLAIN, PLAIN.replace("value:", "value: !replace")])
def test_what_another_template_guarantees_stays_guaranteed(first: str) -> None:
    snapshot = side(first, other=ITEM)
    done = inject(web(), REQUIRED, snapshot).object
    assert value_of(done) == "-Dp -Dx"
    named(done, "app")["env"][0]["value"] += " -Dlate"
    assert guard(done, REQUIRED, snapshot).reason is Reason.ALREADY_INJECTED
    for text in ("-Devil -Dx", "-Dp", "-Dp -Dxy"):
        named(done, "app")["env"][0]["value"] = text
        assert guard(done, REQUIRED, snapshot).reason is Reason.NOT_INJECTED, text


def test_a_default_does_not_stand_for_the_item() -> None:
    snapshot = side(variable("!default {name: JAVA_TOOL_OPTIONS, value: -Dd}"), other=ITEM)
    for pod, final in ((web(), "-Dd -Dx"), (with_value("-Da"), "-Da -Dx")):
        done = inject(pod, REQUIRED, snapshot).object
        assert value_of(done) == final
        assert guard(done, REQUIRED, snapshot).reason is Reason.ALREADY_INJECTED
        named(done, "app")["env"][0]["value"] = "-Da"
        assert guard(done, REQUIRED, snapshot).reason is Reason.NOT_INJECTED


def test_items_of_one_text_have_one_separator() -> None:
    snapshot = side(ITEM, other=ITEM.replace('" "', '":"'))
    for namespace in (ENABLED, REQUIRED):
        assert inject(with_value("-Da"), namespace, snapshot).reason is Reason.CONFLICT


def test_a_template_that_changed_leaves_no_item_behind() -> None:
    done = inject(with_value("-Da"), REQUIRED, side(ITEM)).object
    again = inject(done, REQUIRED, side(ITEM.replace("-Dx", "-Dx2"))).object
    assert value_of(again) == "-Da -Dx2"
    assert uninject(again, Settings()) == with_value("-Da")


@pytest.mark.parametrize("items", [[["", ""]], [["", "a"]], [[" ", ""]], [["a", "b" + "a" * 100_000]]])
def test_a_receipt_may_say_anything(items: list[list[str]]) -> None:
    done = inject(with_value("a" * 200_000), ENABLED, side(ITEM)).object
    marks, key = done["metadata"]["annotations"], Settings().receipt_key
    marks[key] = json.dumps({**json.loads(marks[key]), "appended": {POINTER: items}})
    assert "a" * 200_000 in value_of(uninject(done, Settings()))
    assert value_of(inject(done, REQUIRED, side(ITEM)).object) == "a" * 200_000 + " -Dx"


@pytest.mark.parametrize(
    "part",
    [
        "spec: {containers: [{name: side, image: !append {separator: ':', item: x}}]}",
        "spec: {containers: [{name: side, env: [{name: A, value: !append {separator: ':', item: x}}]}]}",
        "spec: {containers: !append [{name: side}]}",
        "metadata: {labels: {a: !append {separator: ':', item: x}}}",
        "metadata: {annotations: {a: !append x}}",
        "metadata: {annotations: {a: !append {item: x}}}",
        "metadata: {annotations: {a: !append {separator: '', item: x}}}",
        "metadata: {annotations: {a: !append {separator: ',', item: 5}}}",
        "metadata: {annotations: {a: !append {separator: ',', item: {{ params.x }}}}}",
        "metadata: {annotations: {a: !append {separator: ',', item: x, last: true}}}",
        "metadata: {annotations: !replace {a: !append {separator: ',', item: x}}}",
        'spec: {containers: [{name: "*", env: !replace [{name: A, value: !append {separator: ",", item: x}}]}]}',
    ],
)
def test_what_is_wrong_is_told_with_its_place(part: str, golden: Golden) -> None:
    with pytest.raises(InjectionError) as caught:
        render_overlay(template(part, {"x": {"type": "string"}}), context(params={"x": None}))
    golden(caught.value)


_SEPARATORS = st.sampled_from([" ", ",", "::", ", "])
_TEXTS = st.text(alphabet=" ,:ab-", max_size=12)


def _check_taking_out(separator: str, text: str, items: list[str], later: str) -> None:
    final, own = text, []
    for item in (Item(separator, words) for words in items):
        if not item.is_in(final):
            own.append(item)
        final = item.behind(final)
    assert final.startswith(text) and all(Item(separator, words).is_in(final) for words in items)
    back = final
    for item in reversed(own):
        back = item.taken_from(back)
    assert back == text
    if own and (ending := Item(separator, later)).behind(final) != final and not any(i.text in later for i in own):
        longer = ending.behind(final)
        for item in reversed(own):
            longer = item.taken_from(longer)
        assert longer == (f"{text}{separator}{later}" if text else later)


_CASES = given(_SEPARATORS, _TEXTS, st.lists(_TEXTS.filter(bool), min_size=1, max_size=3), _TEXTS.filter(bool))


@_CASES
def test_what_was_there_comes_back(separator: str, text: str, items: list[str], later: str) -> None:
    _check_taking_out(separator, text, items, later)


@pytest.mark.soak(minutes=20)
@settings(max_examples=10_000)
@_CASES
def test_what_was_there_comes_back_ten_thousand_times(separator: str, text: str, items: list[str], later: str) -> None:
    _check_taking_out(separator, text, items, later)
