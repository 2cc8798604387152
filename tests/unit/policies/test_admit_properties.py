"""What holds at a path for whatever object and overlay: the patch applies, once is enough, and the rest stays."""

from __future__ import annotations

import json
from typing import Any

import jsonpatch
from hypothesis import given, settings, strategies as st

from injector.pods.context import Cluster, Namespace, Request
from injector.policies.admit import ObjectRequest, admit
from injector.reasons import Effect, Reason
from injector.settings import parse_settings
from injector.templates.snapshot import build_snapshot

_KEYS = st.sampled_from(["spec", "data", "a", "b/c", "d~e", "é", "items"])
_SCALARS = st.sampled_from(
    [None, True, False, 0, 1, -1, 2**53 + 1, 2**63, 2**64 + 1, -(2**70), 0.1, 1.0, 1e300, "", "x", "\u202e", "a b"]
)
_VALUES = st.recursive(
    _SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_KEYS, inner, max_size=4), max_leaves=15
)
_OBJECTS = st.dictionaries(_KEYS, _VALUES, max_size=5)


class _Tagged:
    def __init__(self, value: Any) -> None:
        self.value = value


#: What a template can write: within 64 bits.
_PLAIN = _SCALARS.filter(lambda value: not isinstance(value, int) or abs(value) < 2**63)
_OVERLAYS = st.recursive(
    _PLAIN | st.builds(_Tagged, _PLAIN),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(_KEYS, inner, max_size=3),
    max_leaves=8,
)


def _yaml(value: Any) -> str:
    if isinstance(value, _Tagged):
        return f"!replace {_yaml(value.value)}"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(key)}: {_yaml(part)}" for key, part in value.items()) + "}"
    if isinstance(value, list):
        return f"[{', '.join(map(_yaml, value))}]"
    return json.dumps(value).replace("1e+300", "1.0e+300")  # in YAML 1.1 the other is a string


@settings(max_examples=150, deadline=None)
@given(obj=_OBJECTS, overlay=st.dictionaries(_KEYS, _OVERLAYS, max_size=4), second=_OBJECTS)
def test_once_is_enough_and_the_rest_stays(
    obj: dict[str, Any], overlay: dict[str, Any], second: dict[str, Any]
) -> None:
    files = {
        "template.yaml": "for: {resources: [widgets], operations: [CREATE, UPDATE]}\n",
        "overlay.yaml.j2": f"{_yaml(overlay)}\n",
    }
    parsed = parse_settings({"paths": {"/x": {"templates": ["one"]}}})
    snapshot = build_snapshot(parsed, {"one": files}, Cluster())

    def ask(given: dict[str, Any]) -> Any:
        request = ObjectRequest(Request("UPDATE", "widgets"), given, second)
        return admit(request, Namespace("shop"), parsed.paths["/x"], snapshot)

    obj = {"kind": "Widget", **obj}
    before = json.dumps(obj)
    first = ask(obj)
    assert json.dumps(obj) == before
    assert first.reason in (Reason.AMENDED, Reason.NOTHING_TO_ADD, Reason.CONFLICT), first.message
    applied = jsonpatch.apply_patch(obj, json.loads(json.dumps(first.patch)))
    assert json.dumps(applied, sort_keys=True) == json.dumps(first.object, sort_keys=True)
    assert (first.effect is Effect.INJECT) is bool(first.patch)
    for key in obj.keys() - overlay.keys():
        assert json.dumps(applied[key]) == json.dumps(obj[key])
    again = ask(applied)
    assert (again.patch, again.warning_lines) == ((), first.warning_lines)
