"""Kubernetes' own schema of a pod, of the version asked for, from the package kubernetes-validate."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache, lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from injector.advice.field_names import unknown_field
from injector.advice.shapes import item_help, shape_help
from injector.diagnostics import Diagnostic, Path as ObjectPath
from injector.errors import InjectorError
from injector.loading.template_folders import how_to_install
from injector.names import WANTED, hint, quotes_change, quotes_help, respelling, shortened
from injector.pods.context import Object, as_list, mapping, without
from injector.pods.fields import POD

if TYPE_CHECKING:
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import ValidationError
    from referencing.jsonschema import SchemaRegistry

_FOLDER = re.compile(r"v(\d+)\.(\d+)\.\d+-local-strict\Z")
#: What the names of Kubernetes' own types begin with.
_CORE = "io.k8s.api.core.v1."
_POD = f"{_CORE}Pod"
_CONTAINER = f"{_CORE}Container"
#: The lists of a spec that are looked at item by item: most pods differ in one item, or in none.
_ITEMS = {
    "containers": _CONTAINER,
    "initContainers": _CONTAINER,
    "ephemeralContainers": "io.k8s.api.core.v1.EphemeralContainer",
    "volumes": "io.k8s.api.core.v1.Volume",
}


#: Major and minor of a Kubernetes version.
Version = tuple[int, int]


class SchemasMissingError(InjectorError):
    """The schemas of Kubernetes are not installed, or not those of the version asked for."""


#: Gets the package with Kubernetes' schemas, for the Python that runs this.
INSTALL_SCHEMAS = how_to_install("kubernetes-validate")

#: The code of a field that Kubernetes has not, and drops.
UNKNOWN_FIELD = "unknown-field"


@cache
def versions() -> Mapping[Version, Path]:
    """The folders of schemas by version, oldest first. Raises SchemasMissingError where the package is not there."""
    spec = find_spec("kubernetes_validate")
    if spec is None or not spec.submodule_search_locations:
        raise SchemasMissingError(
            f"lint needs Kubernetes' own schemas; run {INSTALL_SCHEMAS}; to lint without the schemas: --disable schema"
        )
    folder = Path(next(iter(spec.submodule_search_locations))) / "kubernetes-json-schema"
    schemas = {(int(m[1]), int(m[2])): path for path in folder.iterdir() if (m := _FOLDER.match(path.name))}
    return dict(sorted(schemas.items()))


def check_version(version: Version) -> None:
    """Raise SchemasMissingError where there is no schema of a version."""
    available = versions()
    if version not in available:
        names = [f"{major}.{minor}" for major, minor in available]
        raise SchemasMissingError(
            f"no schema for Kubernetes {version[0]}.{version[1]} is installed; available are {names[0]} to {names[-1]}"
        )


def schema_errors(pod: Object, version: Version) -> tuple[Diagnostic, ...]:
    """What the API server would not take of a pod, or would drop, by its schema alone. Raises SchemasMissingError.

    The `fields` of each error: `about` is the field or the keyword of the schema, `types` are the allowed types.

    The result for a pod is cached. Pods that differ only in annotations share it: the schema allows any string there.
    """
    metadata = {k: v for k, v in (pod.get("metadata") or {}).items() if k != "annotations"}
    return _checked(msgspec.json.encode({"metadata": metadata, "spec": pod.get("spec")}, order="sorted"), version)


def known_errors(pod: Object, version: Version) -> tuple[Diagnostic, ...]:
    """What `schema_errors` finds; nothing without the schemas."""
    try:
        return schema_errors(pod, version)
    except SchemasMissingError:
        return ()


@lru_cache(maxsize=512)
def _checked(pod: bytes, version: Version) -> tuple[Diagnostic, ...]:
    check_version(version)
    value = msgspec.json.decode(pod)
    errors: list[Diagnostic] = []
    spec = value["spec"]
    for list_, kind in _ITEMS.items() if isinstance(spec, dict) else ():
        items = spec.get(list_)
        if isinstance(items, list):
            for index, item in enumerate(items):
                errors += _of_item(item, kind, version, ("spec", list_, index))
            spec[list_] = []
    errors += [mistake for error in _errors(msgspec.json.encode(value), _POD, version) for mistake in _words(error)]
    return tuple(sorted(errors, key=lambda e: ([str(step) for step in e.path], e.fields["about"])))


def _of_item(item: Any, kind: str, version: Version, path: ObjectPath) -> Iterator[Diagnostic]:
    """What is wrong with an item, each list and mapping in it by itself: most items differ in one of them.

    `name` is what an item needs, and stays in it.
    """
    own = definitions(version)[kind]["properties"].keys() - {"name"}
    parts = {field: value for field, value in mapping(item).items() if field in own and isinstance(value, dict | list)}
    rest = without(item, parts) if parts else item
    of_parts = ((value, f"{kind}/properties/{field}", (*path, field)) for field, value in parts.items())
    for value, schema, within in ((rest, kind, path), *of_parts):
        for error in _errors(msgspec.json.encode(value, order="sorted"), schema, version):
            yield from _words(error, within)


@lru_cache(maxsize=2048)
def _errors(part: bytes, kind: str, version: Version) -> tuple[ValidationError, ...]:
    return tuple(_validator(version, kind).iter_errors(msgspec.json.decode(part)))


@cache
def _definitions(version: Version) -> tuple[str, SchemaRegistry]:
    from referencing import Resource
    from referencing.jsonschema import EMPTY_REGISTRY

    check_version(version)
    definitions = msgspec.json.decode((versions()[version] / "_definitions.json").read_bytes())
    return definitions["$id"], Resource.from_contents(definitions) @ EMPTY_REGISTRY


#: How descriptions of Kubernetes list the values of a field: `One of Always, Never.`, `- Localhost - a profile`.
_LISTED = re.compile(
    r"""(?:One of|Must be(?: one of)?|[Vv]alid (?:values|options|operators) are:?|[Aa]llowed values are)\s+"""
    r"""((?:["'`]?[A-Z]\w*["'`]?(?:,? (?:or|and) |, )?)+)"""
)
_BULLET = re.compile(r"""\s(?:- ["'`]?(?=[A-Z]\w+["'`]?(?: \(default\))?(?: -|:| tells))|(?=[A-Z]\w+ - ))([A-Z]\w+)""")


@cache
def definitions(version: Version | None = None) -> Mapping[str, Any]:
    """The JSON Schemas of the types of a Kubernetes, or of the newest, by their names; none without the package."""
    try:
        name, registry = _definitions(version or max(versions()))
    except SchemasMissingError:
        return {}
    return mapping(mapping(registry.contents(name))["$defs"])


def listed_values(description: str) -> tuple[str, ...]:
    """The values that the description of a field lists; none where it lists none."""
    listed = [value for part in _LISTED.findall(description) for value in re.findall(r"[A-Z]\w*", part)]
    return tuple(dict.fromkeys([*listed, *_BULLET.findall(description)]))


#: What a field's description says of its being deprecated, without the links.
_DEPRECATED = re.compile(r"\bDeprecated[.:] (.*?)\.?(?: More info:.*)?\Z", re.DOTALL)


@cache
def deprecated_fields(version: Version) -> Mapping[str, str]:
    """What Kubernetes says of its deprecated fields, by `TYPE.FIELD`; nothing without its schemas."""
    return {
        f"{kind.rpartition('.')[2]}.{field}": " ".join(note[1].split())
        for kind, definition in definitions(version).items()
        for field, schema in definition.get("properties", {}).items()
        if kind.startswith(_CORE) and (note := _DEPRECATED.search(schema.get("description", "")))
    }


@cache
def _validator(version: Version, kind: str) -> Draft202012Validator:
    from jsonschema import Draft202012Validator

    name, registry = _definitions(version)
    return Draft202012Validator({"$ref": f"{name}#/$defs/{kind}"}, registry=registry)


def _words(error: ValidationError, within: ObjectPath = ()) -> list[Diagnostic]:
    """An error in the words of a pod's author: one for each field that is too many or missing."""
    path = (*within, *error.absolute_path)
    schema = mapping(error.schema)
    instance: Any = error.instance
    limit: Any = error.validator_value
    if error.validator == "additionalProperties" and limit is False:
        properties, place = schema.get("properties") or {}, POD.at(path)
        return [
            _error(
                (*path, name),
                unknown_field(name, properties, place, instance[name]),
                name,
                code=UNKNOWN_FIELD,
                **respelling(name, properties),
            )
            for name in instance
            if name not in properties
        ]
    location = _shown(path)
    if error.validator == "required":
        return [_error(path, f"{location} needs {name}", name) for name in limit if name not in instance]
    value = shortened(instance)
    if error.validator == "enum":
        allowed = list(map(str, limit))
        message = f"{location} is {value}{hint(str(instance), allowed, 'allowed are')}"
        return [_error(path, message, "enum", **respelling(str(instance), allowed))]
    types = _types(schema)
    kinds = " or ".join(WANTED[kind] for kind in types)
    of_item = path and isinstance(path[-1], int)
    to_do = item_help(instance, POD.at(path[:-1])) if of_item else shape_help(instance, POD.at(path))
    help_ = to_do or quotes_help(instance, types)
    message = f"{location} is {value}; it has to be {kinds}" if kinds else f"{location}: {error.message}"
    return [_error(path, message, str(error.validator), types, help_=help_, quotes=quotes_change(instance, types))]


def _error(
    path: ObjectPath,
    message: str,
    about: str,
    types: tuple[str, ...] = (),
    code: str = "schema",
    help_: str = "",
    **fields: Any,
) -> Diagnostic:
    return Diagnostic(code, "error", message, help_, path=path, fields={"about": about, "types": types, **fields})


def _types(schema: Mapping[str, Any]) -> tuple[str, ...]:
    """The types that a schema takes."""
    types: list[str] = []
    for part in [schema, *schema.get("oneOf", ())]:
        kind = part.get("type", [])
        types += as_list(kind)
    return tuple(dict.fromkeys(kind for kind in types if kind in WANTED))


def _shown(path: ObjectPath) -> str:
    """The end of a path as people write it: the field, or the list and the index within it."""
    fields = [step for step in path if isinstance(step, str)]
    if path and isinstance(path[-1], int):
        return f"an item of {fields[-1]}"
    return next(reversed(fields), "the pod")


_VERSION = re.compile(r"v?(\d{1,2})\.(\d{1,3})(?:\D.*)?\Z")


def version_of(text: str) -> Version | None:
    """Major and minor of `1.33`, `v1.33.2` or `1.33+`; None for what is not a version."""
    parts = _VERSION.match(text)
    return (int(parts[1]), int(parts[2])) if parts else None
