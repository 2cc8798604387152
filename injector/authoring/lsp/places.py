"""What may stand at a place of a template: the keys below it, its values, and what it is for.

All of it is one JSON Schema for each kind of file, and one for what Jinja sees: those of template.yaml, of cases and of
settings, that of a pod, and in them the template's own parameters, containers, volumes and files.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Mapping
from functools import cache, lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import yaml
from jinja2.filters import FILTERS as JINJA_FILTERS

import injector
from injector.authoring.cases.mistakes import GOLDEN
from injector.authoring.cases.suite import TESTS
from injector.authoring.half_written import OutlineEntry, file_names, outline, without_jinja
from injector.authoring.lint.pod_schema import definitions, listed_values
from injector.authoring.lsp.project import Project
from injector.authoring.reference import code, described, shown_default, takes
from injector.authoring.schemas import schema_of
from injector.authoring.schemas.declaration_schema import Schema, with_more
from injector.names import flow_value
from injector.pods.context import Namespace, Workload, as_list, mapping
from injector.pods.fields import CONTAINER
from injector.settings import Settings
from injector.templates.environment import FUNCTIONS, LOOP_FIELDS
from injector.templates.filters import FILTERS
from injector.templates.kubernetes_yaml import load_manifest
from injector.templates.parameter_schema import DeclarationError, make_parameter
from injector.templates.quoting import NAMED
from injector.templates.source_map import line_start
from injector.templates.template import FAMILY, MANIFEST, OVERLAY
from injector.templates.variables import VARIABLES, Context

_ROW = re.compile(r"^\| `(\w+)[^`]*` \| (.*) \|$", re.MULTILINE)
_base = cache(schema_of)
#: What files are, by their names.
_KINDS = {MANIFEST: "template", OVERLAY: "overlay", "README.md": "readme"}
#: The keyword of these schemas for what something is to a completion.
KIND = "x-kind"
#: Kubernetes' own types, in the schemas of `definitions`.
_CORE, _META = "io.k8s.api.core.v1", "io.k8s.apimachinery.pkg.apis.meta.v1"
_CONTAINER = {"$ref": f"#/$defs/{_CORE}.Container"}
#: A pod as people write it: its status is Kubernetes' own.
_POD: Schema = {
    "title": "Pod",
    "type": "object",
    "properties": {
        "apiVersion": {"enum": ["v1"]},
        "kind": {"enum": ["Pod"]},
        "metadata": {"$ref": f"#/$defs/{_META}.ObjectMeta"},
        "spec": {"$ref": f"#/$defs/{_CORE}.PodSpec"},
    },
}


class SchemaPlace(NamedTuple):
    """A place: the schemas that speak of it, each of which counts, within the document `root`."""

    schemas: tuple[Any, ...] = ()
    root: Mapping[str, Any] = MappingProxyType({})

    def each(self) -> Iterator[Schema]:
        """The schemas, with those that they refer to."""
        left = list(self.schemas)
        while left:
            schema = mapping(left.pop(0))
            yield schema
            referred = mapping(self.root.get("$defs")).get(str(schema.get("$ref", "")).removeprefix("#/$defs/"))
            parts = [part for key in ("allOf", "anyOf", "oneOf") for part in as_list(schema.get(key, []))]
            left = [*as_list(referred or []), *parts, *left]

    def first(self, keyword: str, default: Any = "") -> Any:
        """What the first schema with a keyword has there."""
        return next((schema[keyword] for schema in self.each() if schema.get(keyword) is not None), default)

    def below(self, *steps: str | int) -> SchemaPlace:
        """The place to which keys and indexes lead from here; `[]` is any index."""
        place = self
        for step in steps:
            keyword = "items" if step == "[]" or isinstance(step, int) else "additionalProperties"
            inner = (mapping(schema.get("properties")).get(step, schema.get(keyword)) for schema in place.each())
            of_list = [{"description": place.first("description")}] * (keyword == "items")
            place = SchemaPlace((*filter(None, inner), *of_list), self.root)
        return place

    @property
    def keys(self) -> list[str]:
        """The keys that it may have."""
        return list(dict.fromkeys(name for schema in self.each() for name in mapping(schema.get("properties"))))

    @property
    def types(self) -> list[str]:
        """The types that it may have."""
        kinds = (kind for schema in self.each() for kind in as_list(schema.get("type", [])) if kind != "null")
        return list(dict.fromkeys(map(str, kinds)))

    @property
    def values(self) -> list[str]:
        """The values that it may have, where these are few."""
        values = [value for schema in self.each() for value in as_list(schema.get("enum", []))]
        values += [True, False] if "boolean" in self.types else listed_values(self.first("description"))
        return list(dict.fromkeys(flow_value(value) for value in values if value is not None))

    @property
    def detail(self) -> str:
        """What it takes, and its default."""
        kinds = re.findall(r"\.(\w+)\Z", self.first("$ref")) or self.types or self.values
        if kinds == ["array"] and (inner := self.below("[]").detail):
            kinds = [f"list of {inner}"]
        kind, default = self.first("title") or " or ".join(kinds), self.first("default", None)
        return kind if default is None or self.first(KIND) == "parameter" else f"{kind}, default {flow_value(default)}"


class Declaration(NamedTuple):
    """A parameter as template.yaml declares it, and as a schema: what it takes, what it is for, who may set it."""

    name: str
    entry: OutlineEntry
    schema: Schema

    @property
    def base(self) -> str:
        """The name without the end of a family's."""
        return self.name.removesuffix(FAMILY)


@lru_cache(maxsize=16)
def declarations(text: str) -> tuple[Declaration, ...]:
    """The parameters that a template.yaml declares, in order."""
    entries = [entry for entry in outline(text) if len(entry.path) == 2 and entry.path[0] == "parameters"]
    return tuple(
        Declaration(
            name := str(entry.path[1]),
            entry,
            _declared(name, " " * (entry.start - line_start(text, entry.start) + 1) + text[entry.value : entry.end]),
        )
        for entry in entries
    )


@lru_cache(maxsize=512)
def _declared(name: str, declaration: str) -> Schema:
    try:
        parameter = make_parameter(name, mapping(load_manifest(declaration)))
    except (yaml.YAMLError, ValueError, DeclarationError):  # half written
        return {KIND: "parameter"}
    title = f"{takes(parameter.schema)}; default: {shown_default(parameter)}"
    return {**parameter.schema, "title": title, "description": described(parameter), KIND: "parameter"}


def kind_of_file(file: str) -> str:
    """What a file is: `template`, `overlay`, `case`, `golden`, `readme`, `settings`, or "" for another."""
    if file.startswith(f"{TESTS}/"):
        return "golden" if file.endswith(GOLDEN) else "case"
    return _KINDS.get(file) or ("settings" if file.endswith((".yaml", ".yml")) else "")


def place_of_file(project: Project, file: str) -> SchemaPlace:
    """The place that a file is as a whole; one without anything where nothing is known of it."""
    entries = outline(project.files.get(MANIFEST, ""))
    resources = [entry.scalar for entry in entries if entry.path[:2] == ("for", "resources") and entry.scalar]
    schema: Schema = {}
    match kind_of_file(file):
        case "overlay" if all(name.partition("/")[0] == "pods" for name in resources):
            schema = {**_POD, "$defs": definitions()}
        case "template":
            schema = with_more(_base("template"), {"properties": _in_manifest(project)})
        case "case":
            schema = with_more(_base("case"), {"$defs": {**definitions(), **_in_cases(project)}})
        case "settings":
            schema = _base("settings")
    return SchemaPlace((schema,), schema)


def _in_manifest(project: Project) -> Schema:
    """What template.yaml may name of its template."""
    sources = [name for name in project.sources if name.endswith(".j2") and name != OVERLAY]
    source = {"enum": sources, KIND: "file"}
    files = {name.removesuffix(".j2"): {KIND: "file"} for name in sources if name[0] != "_"}
    entries = [e for e in outline(without_jinja(project.files.get(OVERLAY, ""))) if e.scalar not in ("", "*")]
    init_containers, containers, volumes = (
        list(dict.fromkeys(e.scalar for e in entries if e.path[:2] == ("spec", list_) and e.path[3:] == ("name",)))
        for list_ in ("initContainers", "containers", "volumes")
    )
    redirecting = {name: {KIND: "sample"} for name in init_containers}
    sidecar = {"enum": containers, KIND: "sample"}
    return {
        "files": {"allOf": [{"properties": files}, {"additionalProperties": {"properties": {"template": source}}}]},
        "redirects": {"allOf": [{"properties": redirecting}, {"additionalProperties": sidecar}]},
        "shared": {"items": {"enum": volumes, KIND: "sample"}},
        "overridable": {"items": {"enum": list(CONTAINER.fields.notations), KIND: "field"}},
    }


def _in_cases(project: Project) -> Schema:
    """What a case may name of its template."""
    manifest = project.files.get(MANIFEST, "")
    declared = {d.name.removesuffix("*"): d.schema for d in declarations(manifest)}
    suffix = Settings().parameter_suffix(project.name)
    parameters = {"properties": declared}
    annotations = {"properties": {"annotations": {"properties": {f"{suffix}{k}": s for k, s in declared.items()}}}}
    golden = [name.removeprefix(f"{TESTS}/") for name in project.files if name.endswith(GOLDEN)]
    files = {e.path[1]: {KIND: "file"} for e in outline(manifest) if e.path[:1] == ("files",) and len(e.path) == 2}
    case = {
        "params": parameters,
        "pod": _POD,
        "settings": {"properties": {"parameters": {"properties": {project.name: parameters}}}},
        "templates": {"allOf": [{"items": {"enum": [project.name]}}]},
    }
    expect = {"pod": _POD, "golden": {"enum": golden, KIND: "file"}, "files": {"properties": files}}
    return {
        "Case": {"properties": case},
        "Expect": {"properties": expect},
        "GivenNamespace": annotations,
        f"{_META}.ObjectMeta": with_more(definitions().get(f"{_META}.ObjectMeta", {}), annotations),
        f"{_CORE}.PodSpec": with_more(definitions().get(f"{_CORE}.PodSpec", {}), {"properties": {"template": _POD}}),
    }


@cache
def documented_names() -> Mapping[str, str]:
    """What docs/templates.md says of each name and function that templates see; nothing where it did not come along."""
    roots = Path(injector.__file__).resolve().parents[:2]  # an installation's package, or a checkout
    page = next((page for root in roots if (page := root / "docs" / "templates.md").is_file()), None)
    text = page.read_text(encoding="utf-8") if page else ""
    return dict(_ROW.findall(text.partition("\n## What a template sees\n")[2].partition("\n## ")[0]))


def place_of_names(names: Mapping[str, str], kind: str, detail: str = "") -> SchemaPlace:
    """A place with keys of a kind, each with what it is for."""
    keys = {name: {KIND: kind, "title": detail, "description": about} for name, about in names.items()}
    return SchemaPlace(({"properties": keys},))


def filter_help(name: str) -> str:
    """What a filter does, in one sentence."""
    if name in NAMED or name == "quote":
        return f"Quotes a value for {NAMED.get(name, 'the syntax of the file')}."
    documented = JINJA_FILTERS.get(name) or getattr(str, name, None) or FILTERS.get(name)
    return re.split(r"(?<=\w)[.:](?:\s|\Z)", " ".join((inspect.getdoc(documented) or "").split()))[0]


def macros_place(project: Project, file: str) -> SchemaPlace:
    """The place whose keys are the macros that a file has."""
    macros = file_names(file, project.files.get(file, "")).macros
    return place_of_names({name: f"{code(m[2])} of {code(m[0])}" for name, m in macros.items()}, "function", "macro")


def _fields_of(value: object, about: str | None) -> Schema:
    """The keys that a value of a template always has, with what documents the value."""
    return {"properties": {k: {"description": about, **_fields_of(v, about)} for k, v in mapping(value).items()}}


def names_place(project: Project, file: str = "") -> SchemaPlace:
    """The place whose keys are the names that templates see; with a file also those that it gives a value."""
    declared = {d.base.replace("-", "_"): d.schema for d in declarations(project.files.get(MANIFEST, ""))}
    context = Context(params={}, object={}, namespace=Namespace(""), workload=Workload("", "", None))
    help_of = documented_names()
    shapes: Schema = {
        **{name: _fields_of(value(context), help_of.get(name)) for name, value in VARIABLES.items()},
        "params": {"properties": declared},
        **dict.fromkeys(("object", "pod", "oldObject"), _POD),
        **{name: {"items": _CONTAINER} for name in ("containers", "app_containers")},
        "container": _CONTAINER,
        "loop": {"properties": {name: {} for name in sorted(LOOP_FIELDS)}},
        **{
            name: {KIND: "function", "title": f"{name}({', '.join(inspect.signature(FUNCTIONS[name]).parameters)})"}
            for name in FUNCTIONS
        },
    }
    names = {name: {KIND: "value", "description": help_of.get(name), **shape} for name, shape in shapes.items()}
    own = file_names(file, project.files.get(file, ""))
    place = SchemaPlace(({"properties": names},), {"$defs": definitions()})
    for name, (chain, of_items) in own.values.items():
        value = place.below(*(token.text for token in chain), *["[]"] * of_items)
        names[name] = {KIND: "value", "allOf": [*value.schemas] if chain else []}
    for name, module in own.modules.items():
        names[name] = {KIND: "value", "title": module, "allOf": [*macros_place(project, module).schemas]}
    names |= macros_place(project, file).schemas[0]["properties"]
    return place
