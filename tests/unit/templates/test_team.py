"""A team's template is an allow-list: the page's table of what it cannot do, and every field of a pod."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from injector.loading.trial import try_one
from injector.pods.context import Object
from injector.pods.fields import CONTAINER, POD, SPEC, Field
from injector.reasons import Reason
from tests.unit.test_team_templates import PROBE, files, made

PAGE = (Path(__file__).parents[3] / "docs" / "team-templates.md").read_text()
APP: Object = {"name": "web", "image": "web:1", "volumeMounts": [{"name": "data", "mountPath": "/data"}]}
#: A pod of which templates of teams might want more than they may have.
POD_SPEC: Object = {
    "containers": [{**APP, "env": [{"name": "A", "value": "app's"}]}],
    "volumes": [{"name": "data", "secret": {"secretName": "data"}}],
    "imagePullSecrets": [{"name": "mine"}],
}

#: What the page says that it may have: overlays.
MAY = {
    "containers": {"spec": {"containers": [PROBE], "initContainers": [{"name": "setup", "image": "p"}]}},
    "volumes": {"spec": {"containers": [PROBE], "volumes": [{"name": "own", "emptyDir": {}}]}},
    "mounts of the pod's volumes in its containers": {
        "spec": {"containers": [{**PROBE, "volumeMounts": [{"name": "data", "mountPath": "/data"}]}]}
    },
    "variables and mounts of its own volumes in the app's containers": {
        "spec": {
            "containers": [
                {"name": "*", "env": [{"name": "B"}], "volumeMounts": [{"name": "own", "mountPath": "/own"}]}
            ],
            "volumes": [{"name": "own", "emptyDir": {}}],
        }
    },
    "image pull secrets": {"spec": {"imagePullSecrets": [{"name": "ours"}]}},
    "annotations and labels": {"metadata": {"annotations": {"a": "b"}, "labels": {"mine.example/a": "b"}}},
}
#: What it says that it may not change: overlays, and where in the pod each is refused.
MAY_NOT: dict[str, list[tuple[str, tuple[str, ...]]]] = {
    "a container of the pod": [
        ("spec: {containers: [{name: web, args: [mine]}]}", ("spec", "containers", "web")),
        ("spec: {containers: [{name: '*', image: !replace mine}]}", ("spec", "containers", "web", "image")),
        (
            "spec: {containers: [{name: '*', envFrom: [{secretRef: {name: a}}]}]}",
            ("spec", "containers", "web", "envFrom"),
        ),
        ("spec: {containers: [!replace {name: web, image: mine}]}", ("spec", "containers", "web")),
    ],
    "a variable of the pod": [
        (
            "spec: {containers: [{name: '*', env: [{name: A, value: !replace mine}]}]}",
            ("spec", "containers", "web", "env", "A", "value"),
        )
    ],
    "a mount of the pod": [
        (
            "spec: {containers: [{name: '*', volumeMounts: [{name: data, mountPath: /other}]}]}",
            ("spec", "containers", "web", "volumeMounts", "/other"),
        ),
        (
            "spec: {containers: [{name: '*', volumeMounts: [{name: data, mountPath: /data, subPath: !replace a}]}]}",
            ("spec", "containers", "web", "volumeMounts", "/data", "subPath"),
        ),
    ],
    "a volume of the pod": [
        ("spec: {volumes: [!replace {name: data, configMap: {name: a}}]}", ("spec", "volumes", "data")),
        ("spec: {volumes: [{name: data, secret: !replace {secretName: a}}]}", ("spec", "volumes", "data")),
    ],
    "an annotation or label of the pod or the injector": [
        ("metadata: {labels: {app: !replace mine}}", ("metadata", "labels", "app")),
        ("metadata: {labels: {app: !replace null}}", ("metadata", "labels", "app")),
        (
            "metadata: {annotations: {sidecar.injector/inject: 'no'}}",
            ("metadata", "annotations", "sidecar.injector/inject"),
        ),
    ],
}


def list_of(heading: str) -> list[str]:
    """The first cells of the page's table with this heading."""
    table = PAGE.split(f"| {heading} |", 1)[1].split("\n\n", 1)[0]
    return re.findall(r"^\| ([^|]+?) \|", table, re.MULTILINE)[1:]


def test_the_page_lists_what_it_may_have() -> None:
    assert list_of("It may have") == list(MAY)


@pytest.mark.parametrize("what", MAY)
def test_parts_of_its_own(what: str) -> None:
    assert made(MAY[what], **POD_SPEC).reason is Reason.INJECTED
    assert not try_one("./probe", files(MAY[what])).problems


def test_the_page_lists_what_it_may_not_change() -> None:
    assert list_of("It may not change") == [*MAY_NOT, "anything else"]


@pytest.mark.parametrize(("overlay", "path"), [case for cases in MAY_NOT.values() for case in cases])
def test_parts_of_others(overlay: str, path: tuple[str, ...]) -> None:
    injection = made(f"{overlay}\n", **POD_SPEC)
    assert injection.reason is Reason.TEMPLATE_NOT_ALLOWED
    assert tuple(map(str, injection.failures[0].path))[: len(path)] == path[: len(injection.failures[0].path)]


def value_of(field: Field, keys: tuple[str, ...] = ()) -> Any:
    """A value for a field that is not what its absence means."""
    if field.kind == "list":
        return [value_of(field.element, field.keys)]
    if field.kind == "map":
        return {"k": value_of(field.fields["k"])}
    if field.kind == "mapping":
        names = dict.fromkeys((*keys, *list(field.fields.notations)[:1]))
        return {name: value_of(field.fields[name]) for name in names or ("k",)}
    return {"integer": 7, "IntOrString": 7, "boolean": True, "Quantity": "1"}.get(field.kind, "x")


#: The fields of which it may have parts, by the place that they are in.
OWN = {
    ("metadata",): (POD.fields["metadata"], {"annotations", "labels"}),
    ("spec",): (SPEC, {"containers", "initContainers", "volumes", "imagePullSecrets"}),
    ("spec", "containers", "web"): (CONTAINER, {"name", "env", "volumeMounts"}),
}
OTHERS = [(place, name) for place, (field, own) in OWN.items() for name in field.fields.notations if name not in own]


@pytest.mark.parametrize(("place", "name"), OTHERS, ids=lambda part: part if isinstance(part, str) else ".".join(part))
def test_each_field_that_is_none_of_these(place: tuple[str, ...], name: str) -> None:
    """It is refused with its place: in the pod at injection, and in the author's file where a sample pod shows it."""
    field = OWN[place][0].fields[name]
    tag = "" if field.aligned or field.kind in ("map", "mapping") else "!replace "
    value = f"{name}: {tag}{json.dumps(value_of(field))}"
    inner = f"containers: [{{name: '*', {value}}}]" if place[-1] == "web" else value
    overlay = f"{place[0]}: {{{inner}}}\n"
    [problem] = try_one("./probe", files(overlay)).problems
    assert problem.place.line == 1
    injection = made(overlay, containers=[{"name": "web"}])
    assert injection.reason in (Reason.TEMPLATE_NOT_ALLOWED, Reason.MALFORMED_POD)
    assert tuple(map(str, injection.failures[0].path))[: len(place) + 1] == (*place, name)
