"""What may stand at a place of a template's files: the keys below it, its values, and what it is for.

Two sources say so: the JSON Schemas of template.yaml, of cases and of settings, into which the template's own parameters
are put, and what is known of a pod's fields.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache, lru_cache
from typing import Any, NamedTuple, TypeAlias

import yaml

from injector.authoring.cases.mistakes import GOLDEN
from injector.authoring.cases.suite import TESTS
from injector.authoring.lint.pod_schema import field_description, field_values
from injector.authoring.lsp.outline import Entry, outline
from injector.authoring.lsp.project import Project
from injector.authoring.reference import takes
from injector.authoring.schemas import schema_of
from injector.diagnostics import Path
from injector.names import flow_value
from injector.pods.constraints.container_fields import ENUMS
from injector.pods.context import Object, as_list, mapping
from injector.pods.fields import POD, SPEC, Field
from injector.templates.kubernetes_yaml import load_manifest
from injector.templates.template import FAMILY, MANIFEST, OVERLAY, JsonSchema

_README = "README.md"


class Member(NamedTuple):
    """A key that may stand at a place. `collection`: its value is a mapping or a list."""

    name: str
    detail: str
    documentation: str
    collection: bool = False


class FieldPlace(NamedTuple):
    """A place in a pod."""

    field: Field

    def below(self, step: str | int) -> FieldPlace:
        """The place of a key, or of an item."""
        if self.field is SPEC and step == "template":  # that of a Deployment
            return FieldPlace(POD)
        return FieldPlace(self.field.at((step,)))

    def members(self) -> Iterator[Member]:
        """The keys of a mapping."""
        for name in self.field.fields.notations:
            place = self.below(name)
            yield Member(name, place.detail, place.documentation, place.field.kind in ("mapping", "list", "map"))

    def values(self) -> tuple[str, ...]:
        """The values that it may have, where these are few."""
        if self.field.kind == "boolean":
            return ("true", "false")
        owner = self.field.address.partition(".")[0]
        listed = ENUMS.get(self.field.name, ()) if owner == "Container" else ()
        return listed or (field_values(self.field.address) if self.field.kind == "string" else ())

    @property
    def detail(self) -> str:
        """Its type, and what Kubernetes fills in."""
        inner = self.field.element
        kind = f"list of {inner.type or inner.kind}" if self.field.kind == "list" else self.field.type or self.field.kind
        return f"{kind}, default {flow_value(self.field.defaults[0])}" if self.field.defaults else kind

    @property
    def documentation(self) -> str:
        """What Kubernetes says of it."""
        return field_description(self.field.address)


class SchemaPlace(NamedTuple):
    """A place of which JSON Schemas of one document speak, each of which counts."""

    schemas: tuple[JsonSchema, ...]
    root: JsonSchema

    def _each(self) -> Iterator[JsonSchema]:
        left = list(reversed(self.schemas))
        while left:
            schema = left.pop()
            yield schema
            reference = str(schema.get("$ref", "")).removeprefix("#/$defs/")
            inner = [self.root["$defs"][reference]] if reference else []
            parts = [part for key in ("anyOf", "oneOf", "allOf") for part in schema.get(key, ())]
            left += [part for part in reversed([*inner, *parts]) if isinstance(part, Mapping)]

    def below(self, step: str | int) -> SchemaPlace:
        """The place of a key, or of an item."""
        schemas = []
        for schema in self._each():
            if isinstance(step, int):
                schemas += [*schema.get("prefixItems", ())[step : step + 1], schema.get("items")]
                continue
            named = mapping(schema.get("properties")).get(step)
            patterns = mapping(schema.get("patternProperties")).items()
            matching = [named, *(part for pattern, part in patterns if _matches(pattern, step))]
            schemas += matching if any(matching) else [schema.get("additionalProperties")]
        return SchemaPlace(tuple(schema for schema in schemas if isinstance(schema, Mapping)), self.root)

    def members(self) -> Iterator[Member]:
        """The keys of a mapping."""
        for name in dict.fromkeys(name for schema in self._each() for name in mapping(schema.get("properties"))):
            place = self.below(name)
            yield Member(name, place.detail, place.documentation, not {"object", "array"}.isdisjoint(place.types))

    def values(self) -> tuple[str, ...]:
        """The values that it may have, where these are few."""
        values: dict[str, None] = {}
        for schema in self._each():
            booleans = (True, False) if "boolean" in as_list(schema.get("type", [])) else ()
            const = (schema["const"],) if "const" in schema else ()
            values |= dict.fromkeys(
                flow_value(value) for value in (*schema.get("enum", ()), *const, *booleans) if value is not None
            )
        return tuple(values)

    @property
    def types(self) -> list[str]:
        """The types that it may have."""
        kinds = [kind for schema in self._each() for kind in as_list(schema.get("type", [])) if kind != "null"]
        return list(dict.fromkeys(map(str, kinds)))

    @property
    def detail(self) -> str:
        """Its types or values, and its default."""
        kind = " or ".join(self.types) or "one of " + ", ".join(self.values())
        default = next((schema["default"] for schema in self._each() if "default" in schema), None)
        return f"{kind}, default {flow_value(default)}" if default is not None else kind

    @property
    def documentation(self) -> str:
        """What it is for."""
        return next((str(schema["description"]) for schema in self._each() if schema.get("description")), "")


FilePlace: TypeAlias = FieldPlace | SchemaPlace


def _matches(pattern: object, name: str) -> bool:
    try:
        return re.search(str(pattern), name) is not None
    except re.error:
        return False


class Declaration(NamedTuple):
    """A parameter as template.yaml declares it, as far as that can be read. A family's name ends in `-*`."""

    name: str
    schema: JsonSchema
    entry: Entry

    @property
    def base(self) -> str:
        """The name without the end of a family's."""
        return self.name.removesuffix(FAMILY)

    @property
    def variable(self) -> str:
        """The name in templates."""
        return self.base.replace("-", "_")

    @property
    def detail(self) -> str:
        """What it takes, and its default."""
        kind = takes(self.schema) if self.schema.get("type") else ""
        return f"{kind}, default {flow_value(self.schema['default'])}" if "default" in self.schema else kind


def declarations(project: Project) -> tuple[Declaration, ...]:
    """The parameters that template.yaml declares, in order."""
    return _declarations(project.files.get(MANIFEST, ""))


@lru_cache(maxsize=16)
def _declarations(text: str) -> tuple[Declaration, ...]:
    parameters = (entry for entry in outline(text) if len(entry.path) == 2 and entry.path[0] == "parameters")
    return tuple(Declaration(str(e.path[1]), mapping(value_of_entry(text, e)), e) for e in parameters)


def value_of_entry(text: str, entry: Entry) -> Any:
    """The value of a key, read by itself; None where it is half written."""
    column = entry.start - text.rfind("\n", 0, entry.start) - 1
    return _read(" " * column + text[entry.value : entry.end])


@lru_cache(maxsize=512)
def _read(text: str) -> Any:
    try:
        return load_manifest(text)
    except (yaml.YAMLError, ValueError):
        return None


def kind_of_file(file: str) -> str:
    """What a file is: `template`, `overlay`, `case`, `golden`, `readme`, `settings`, `source`, or "" for another."""
    if file in (MANIFEST, OVERLAY, _README):
        return {MANIFEST: "template", OVERLAY: "overlay", _README: "readme"}[file]
    if file.startswith(f"{TESTS}/"):
        return "golden" if file.endswith(GOLDEN) else "case"
    if file.endswith(".j2"):
        return "source"
    return "settings" if file.endswith((".yaml", ".yml")) else ""


@cache
def _schema(kind: str) -> SchemaPlace:
    schema = schema_of(kind)
    return SchemaPlace((schema,), schema)


def parameters_place(project: Project, *, in_templates: bool) -> SchemaPlace:
    """The place whose keys are the parameters, as templates name them or as annotations do."""
    names = [(d.variable if in_templates else d.name, d.schema) for d in declarations(project)]
    schema: Object = {"type": "object", "properties": dict(names)}
    return SchemaPlace((schema,), schema)


def _of_project(project: Project, path: Path) -> FilePlace | None:
    """The place of a case at a path that only this template's parameters, or Kubernetes, say something of."""
    match path:
        case ("cases", int(), "params"):
            return parameters_place(project, in_templates=False)
        case ("cases", int(), "settings", "parameters", project.name):
            return parameters_place(project, in_templates=False)
        case ("cases", int(), "pod") | ("cases", int(), "expect", "pod"):
            return FieldPlace(POD)
    return None


def place_at(project: Project, file: str, path: Path) -> FilePlace | None:
    """The place to which a path leads in a file; None where nothing is known of the file."""
    kind = kind_of_file(file)
    place: FilePlace
    if kind == "overlay" and about_pods(project):
        place = FieldPlace(POD)
    elif kind in ("template", "case", "settings"):
        place = _schema(kind)
    else:
        return None
    for length, step in enumerate(path, 1):
        place = place.below(step)
        place = _of_project(project, path[:length]) or place
    return place


def about_pods(project: Project) -> bool:
    """Whether the template is for pods alone."""
    text = project.files.get(MANIFEST, "")
    declared = next((mapping(value_of_entry(text, e)) for e in outline(text) if e.path == ("for",)), {})
    return all(str(name).partition("/")[0] == "pods" for name in as_list(declared.get("resources") or "pods"))
