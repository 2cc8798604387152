"""The table of merge keys is that of Kubernetes' own schema."""

from __future__ import annotations

import json
from pathlib import Path

import kubernetes_validate
import pytest
from hypothesis import given, strategies as st

from injector.diagnostics import spoken_path
from injector.pods.fields import OBJECT
from injector.pods.keyed_pointers import escape, path_of, steps_of, unescape
from tests.unit.pods.pod_cases import GROWING, KEYS, fields, json_values


def _lists_of_a_pod() -> dict[str, tuple[str, ...] | None]:
    folder = Path(kubernetes_validate.__file__).parent / "kubernetes-json-schema"
    newest = max(folder.glob("v1.*-local"), key=lambda path: int(path.name.split(".")[1]))
    definitions = json.loads((newest / "_definitions.json").read_text())["$defs"]
    found: dict[str, tuple[str, ...] | None] = {}
    seen: set[str] = set()
    waiting = [name for name in definitions if name.endswith("v1.PodSpec")][:1]
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        for field, schema in definitions[name].get("properties", {}).items():
            if "array" in (schema.get("type") or []):
                found[field] = tuple(schema.get("x-kubernetes-list-map-keys", ())) or None
            reference = schema.get("$ref") or (schema.get("items") or {}).get("$ref", "")
            if reference and not reference.endswith("ObjectMeta"):
                waiting.append(reference.rpartition("/")[2])
    return found


def test_the_table_is_the_schemas():
    lists = _lists_of_a_pod()
    assert len(lists) > 40
    assert {field: keys for field, keys in lists.items() if keys} == KEYS


def test_lists_that_grow_are_lists_without_keys():
    assert not GROWING & KEYS.keys()
    assert set(_lists_of_a_pod()) >= GROWING - {"finalizers"}


@given(st.lists(json_values, max_size=6), fields)
def test_steps_are_unique_whatever_the_elements_are(items, field):
    steps = steps_of(items, OBJECT.fields[field])
    assert len(set(steps)) == len(steps) == len(items)
    assert all(type(step) is str for step in steps)


@given(st.text())
def test_unescape_undoes_escape(text):
    assert unescape(escape(text)) == text
    assert "/" not in escape(text)


@pytest.mark.parametrize(
    ("pointer", "text"),
    [
        ("/spec/containers/envoy/image", "spec.containers[envoy].image"),
        ("/spec/containers/env/env/A/value", "spec.containers[env].env[A].value"),
        ("/metadata/annotations/a~1b", "metadata.annotations[a/b]"),
        ("/spec/containers/app/volumeMounts/~1etc", "spec.containers[app].volumeMounts[/etc]"),
    ],
)
def test_spoken(pointer, text):
    assert spoken_path(path_of(pointer)) == text
