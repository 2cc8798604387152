"""What kube-apiserver says in its OpenAPI and discovery documents, as `injector/pods/kubernetes_fields.py`."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator
from typing import Any

from tests.cluster.api import Api, Object

#: Types that are one value in JSON, whatever the document says of their inside.
_VALUES = {
    "io.k8s.apimachinery.pkg.api.resource.Quantity": "Quantity",
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": "IntOrString",
    "io.k8s.apimachinery.pkg.apis.meta.v1.Time": "string",
}
_POD = "io.k8s.api.core.v1.Pod"
#: Written by the API server and the kubelet alone.
_NOT_OURS = ("Pod.status", "ObjectMeta.managedFields")
_MODULE = '''\
"""Fields of a Pod by type, and the resources without a namespace, as kube-apiserver describes them.

Made by `make kubernetes-fields` from its OpenAPI and discovery documents: do not edit. `[T]` is a list of T, `{{T}}` a
map from strings to T. `by` names a list's merge keys (`x-kubernetes-list-map-keys`); `set` and `atomic` are list and
map types (`x-kubernetes-list-type`, `x-kubernetes-map-type`); a list without any is atomic. Of a `union` one member is
set (`x-kubernetes-unions`). `=` precedes a default.
"""

VERSION = "{version}"

#: The fields of each type. `injector.pods.fields` reads it.
TYPES = """\\
{types}
"""

#: Resources that lie in no namespace, by API group.
CLUSTER_SCOPED = """\\
{resources}
"""
'''


def kubernetes_fields(api: Api) -> str:
    """The text of the module."""
    schemas = json.loads(api.text("/openapi/v3/api/v1"))["components"]["schemas"]
    return _MODULE.format(
        version=json.loads(api.text("/version"))["gitVersion"],
        types=_lines(dict(sorted(_types(schemas)))),
        resources=_lines(dict(sorted(_cluster_scoped(api)))),
    )


def _lines(entries: dict[str, list[str]]) -> str:
    texts = (f"{name}: {', '.join(parts)}" for name, parts in entries.items())
    return "\n".join(
        textwrap.fill(text, 120, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)
        for text in texts
    )


def _types(schemas: dict[str, Object]) -> Iterator[tuple[str, list[str]]]:
    """The name of each type that a Pod reaches, with its fields."""
    waiting, seen = [_POD], {_POD}
    while waiting:
        full = waiting.pop()
        schema, name = schemas[full], _short(full)
        fields = []
        for field, value in schema["properties"].items():
            if f"{name}.{field}" in _NOT_OURS:
                continue
            fields.append(" ".join([field, _kind(value), *_modifiers(value)]))
            if (other := _named(value)) and other not in _VALUES and other not in seen:
                seen.add(other)
                waiting.append(other)
        yield " ".join([name, *_modifiers(schema)]), fields


def _short(full: str) -> str:
    return full.rpartition(".")[2]


def _inner(schema: Object) -> Object:
    """The schema of a list's elements, of a map's values, or the schema itself."""
    found: Object = schema.get("items") or schema.get("additionalProperties") or schema
    return found


def _named(schema: Object) -> str:
    """The name of the type that a schema refers to, itself or for its elements; empty where it names none."""
    inner = _inner(schema)
    reference: str = next((part["$ref"] for part in [inner, *inner.get("allOf", ())] if "$ref" in part), "")
    return reference.rpartition("/")[2]


def _kind(schema: Object) -> str:
    name = _named(schema)
    inner = (_VALUES.get(name) or _short(name)) if name else _inner(schema)["type"]
    return f"[{inner}]" if "items" in schema else f"{{{inner}}}" if "additionalProperties" in schema else inner


def _modifiers(schema: dict[str, Any]) -> list[str]:
    if keys := schema.get("x-kubernetes-list-map-keys"):
        return ["by", *keys]
    if schema.get("x-kubernetes-list-type") == "set":
        return ["set"]
    default = schema.get("default")
    marks = {"x-kubernetes-map-type": "atomic", "x-kubernetes-unions": "union"}
    return [mark for key, mark in marks.items() if key in schema] + ([f"={default}"] if default else [])


def _cluster_scoped(api: Api) -> Iterator[tuple[str, list[str]]]:
    versions = ["/api/v1"]
    for group in json.loads(api.text("/apis"))["groups"]:
        versions += [f"/apis/{version['groupVersion']}" for version in group["versions"]]
    found: dict[str, set[str]] = {}
    for url in versions:
        listed = json.loads(api.text(url))
        group = listed["groupVersion"].rpartition("/")[0]
        names = {r["name"] for r in listed["resources"] if not r["namespaced"] and "/" not in r["name"]}
        found.setdefault(group, set()).update(names)
    return ((group, sorted(names)) for group, names in found.items() if names)
