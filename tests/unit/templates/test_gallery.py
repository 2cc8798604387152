"""The templates that come with the injector: no string parameter can change what they render but by its own value."""

from __future__ import annotations

import json
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import pytest
from msgspec.structs import replace

from injector.errors import InjectionError
from injector.loading.shipped import load_shipped
from injector.loading.template_folders import gallery_path, read_gallery
from injector.templates.render import render_files, render_overlay
from injector.templates.samples import sample_contexts
from tests.unit.templates.build import context, template
from tests.unit.templates.file_shapes import file_shape
from tests.unit.templates.hostile import HOSTILE
from tests.unit.templates.test_hostile import shape

GALLERY = {name: load_shipped(name, sources) for name, sources in read_gallery(gallery_path()).items()}
#: Schemas refuse most of these for most parameters; templates have to hold without them too.
VALUES = [value for value in HOSTILE if len(value) < 2000][::3]
REFERENCES = ("${env:AUTH_HEADER}", "$${SHARED_KEY}", "${record['x']}")


def values_for(name: str, parameter: str) -> list[str]:
    """Half of them, by turns: each has its turn at half of the parameters; and what agents expand."""
    turn = sum(f"{name}/{parameter}".encode())
    return [*VALUES[turn % 2 :: 2], *REFERENCES]


def documents(name: str, seen: Any) -> dict[str, Any]:
    """The structure of everything that a template renders, as its readers see it."""
    one = GALLERY[name]
    found: dict[str, Any] = {"overlay": render_overlay(one, seen).overlay}
    for file, text in render_files(one, seen).items():
        found[file] = file_shape(file, text, one.files[file].syntax)
    found["overlay"] = shape(found["overlay"])
    return found


#: What a parameter needs beside it, or its template serves no pod.
NEEDED: dict[tuple[str, str], dict[str, Any]] = {
    ("container", "probe_path"): {"probe_port": 8080},
    ("fluentd", "client_secret_name"): {"tls": True},
}

#: Values of parameters that templates calculate with.
HARMLESS = {"percentage_of_app": "10%"}


@pytest.mark.parametrize(
    ("name", "parameter"),
    [
        (n, p.variable)
        for n, t in GALLERY.items()
        for p in t.parameters.values()
        if p.type == "string" and "enum" not in p.schema
    ],
)
def test_structure_is_that_of_a_harmless_value(name: str, parameter: str) -> None:
    seen = list(sample_contexts(GALLERY[name]))[:3][-1]
    seen = replace(seen, params={**seen.params, **NEEDED.get((name, parameter), {})})
    plain = HARMLESS.get(parameter, "harmless.example.com:1")
    harmless = documents(name, replace(seen, params={**seen.params, parameter: plain}))
    outcomes: Counter[str] = Counter()
    values = values_for(name, parameter)
    for value in values:
        try:
            found = documents(name, replace(seen, params={**seen.params, parameter: value}))
        except InjectionError as error:
            assert f"{name}/" in str(error), error
            outcomes["refused"] += 1
            continue
        assert found == harmless or not value, (value, found)
        outcomes["same"] += 1
    assert sum(outcomes.values()) == len(values)


@pytest.mark.parametrize(
    ("name", "parameter", "kind"),
    [
        (n, p.variable, p.type)
        for n, t in GALLERY.items()
        for p in t.parameters.values()
        if {"array": "items", "object": "additionalProperties"}.get(p.type, "") in p.schema
        and p.schema["items" if p.type == "array" else "additionalProperties"].get("type") == "string"
    ],
)
def test_structure_is_that_of_a_harmless_item(name: str, parameter: str, kind: str) -> None:
    seen = list(sample_contexts(GALLERY[name]))[:3][-1]

    def made(value: str) -> dict[str, Any]:
        given = [value] if kind == "array" else {"/key": value}
        return documents(name, replace(seen, params={**seen.params, parameter: given}))

    harmless = []
    # a template may tell IPv4 from IPv6 by a colon; a container's name has no dot
    for value in ("harmless", "harmless.example.com", "harmless.example.com:1"):
        with suppress(InjectionError):  # an item that has to name something of the pod's: then none gets further
            harmless.append(made(value))
    refused, values = 0, values_for(name, parameter)
    for value in values:
        try:
            found = made(value)
        except InjectionError as error:
            assert f"{name}/" in str(error), error
            refused += 1
            continue
        assert found in harmless or not value, (value, found)
    assert harmless or refused == len(values)


def test_renders_in_threads_do_not_mix() -> None:
    text = (
        "a:\n{% for c in containers %}\n- '{{ params.v }}'\n- {{ params.v }}\n{% endfor %}\nb: {{ warn(params.v) }}\n"
    )
    made = template(text, {"v": {"type": "string"}})

    def render(number: int) -> bool:
        value = f"value-{number}"
        rendered = render_overlay(made, context({"v": value}))
        return rendered.overlay == {"a": [value, value]} and rendered.warnings == (value,)

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(render, range(3000)))


def test_json_files_are_json() -> None:
    made = template("{}", {"v": {"type": "string"}}, **{"x.json.j2": '{"a": "{{ params.v }}", b: [1, {{ params.v }}]}'})
    assert json.loads(render_files(made, context({"v": "\U0001f600\u2028"}))["x.json"]) == {
        "a": "\U0001f600\u2028",
        "b": [1, "\U0001f600\u2028"],
    }
