"""The JSON Schemas for editors: valid, with help on every key, and never stricter than what reads the files."""

from __future__ import annotations

import copy
import json
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml
from hypothesis import event, given, settings, strategies as st
from jsonschema import Draft202012Validator

from injector.authoring.cases.document import Absent, read_document
from injector.authoring.cases.harness import CaseError, Harness
from injector.authoring.cases.suite import read_suite
from injector.authoring.schemas import SCHEMAS, schema_of
from injector.authoring.schemas.settings_schema import HELP
from injector.errors import InjectorError, SettingsError, TemplateError
from injector.pods.context import Cluster
from injector.settings import Settings, parse_settings
from injector.templates.kubernetes_yaml import load_manifest
from injector.templates.load import load_template
from injector.templates.manifest import _KEYS as KEYS
from injector.templates.parameter_keywords import FORMATS, KEYWORDS
from injector.templates.snapshot import build_snapshot
from tests.unit.test_docs import code, page, table

ROOT = Path(__file__).resolve().parents[2]
GALLERY = sorted((ROOT / "templates").glob("*/template.yaml"))
STARTER = ROOT / "injector/authoring/scaffold/starter"
CASES = sorted([*(ROOT / "templates").glob("*/tests/*.yaml"), *STARTER.glob("tests/*.yaml")])

VALIDATORS = {kind: Draft202012Validator(schema_of(kind)) for kind in SCHEMAS}


def faults(kind: str, value: Any) -> list[str]:
    return [f"{list(e.absolute_path)}: {e.message[:200]}" for e in VALIDATORS[kind].iter_errors(value)]


# ------------------------------------------------------------------------------------------------- the schemas


@pytest.mark.parametrize("kind", SCHEMAS)
def test_it_is_a_schema_of_the_draft_that_it_names(kind: str) -> None:
    schema = schema_of(kind)
    assert schema["$schema"] == Draft202012Validator.META_SCHEMA["$id"]
    Draft202012Validator.check_schema(schema)


@pytest.mark.parametrize("kind", SCHEMAS)
def test_every_key_has_help(kind: str) -> None:
    def keys(schema: Any, path: str) -> Iterator[tuple[str, Any]]:
        if isinstance(schema, dict):
            for name, inner in schema.items():
                if name in ("if", "then", "else"):  # conditions on keys that are described elsewhere
                    continue
                if name in ("properties", "$defs"):  # schemas by name, which may be that of a keyword
                    for key, value in inner.items():
                        if name == "properties":
                            yield f"{path}.{key}", value
                        yield from keys(value, f"{path}.{key}")
                else:
                    yield from keys(inner, f"{path}.{name}")
        elif isinstance(schema, list):
            for number, inner in enumerate(schema):
                yield from keys(inner, f"{path}[{number}]")

    found = dict(keys(schema_of(kind), ""))
    assert len(found) > 15
    assert [path for path, schema in found.items() if not schema.get("description")] == []


def test_keys_keywords_and_formats_are_those_of_the_loader() -> None:
    schema = schema_of("template")
    assert list(schema["properties"]) == list(KEYS)
    parameter = schema["$defs"]["parameter"]["properties"]
    assert set(parameter) == KEYWORDS | {"from", "pods", "secret"}
    assert set(schema["$defs"]["schema"]["properties"]) == KEYWORDS
    assert parameter["format"]["enum"] == list(FORMATS)


def test_help_of_settings_is_that_of_the_docs() -> None:
    rows = table(page("settings.md"), "setting", "default", "what it does")
    documented = {code(name)[0]: re.sub(r", \[?see below.*", "", words) for name, _, words in rows}
    sections = (
        "namespaceLabel",
        "gallery",
        "teamTemplates",
        "teamTemplates.limits",
        "repair",
        "server",
        "certificates",
    )
    assert documented == {name: words for name, words in HELP.items() if name not in sections}


# --------------------------------------------------------------------------------------- what there is is accepted


@pytest.mark.parametrize("file", [*GALLERY, STARTER / "template.yaml"], ids=lambda file: file.parent.name)
def test_templates_of_the_gallery_are_accepted(file: Path) -> None:
    assert faults("template", load_manifest(file.read_text())) == []


@pytest.mark.parametrize("file", CASES, ids=lambda file: f"{file.parents[1].name}/{file.stem}")
def test_case_files_are_accepted(file: Path) -> None:
    if file.name.endswith(".golden.yaml"):
        return
    document = read_document(file.parents[1], str(file.parents[1]), f"tests/{file.name}")
    assert document.problem is None
    assert faults("case", without_tags(document.value)) == []


def without_tags(value: Any) -> Any:
    """What an editor that knows the tag `!absent` makes of it."""
    if isinstance(value, Absent):
        return value.value
    if isinstance(value, dict):
        return {key: without_tags(part) for key, part in value.items()}
    return [without_tags(part) for part in value] if isinstance(value, list) else value


def test_settings_of_the_docs_and_the_defaults_are_accepted() -> None:
    blocks = re.findall(r"^```yaml\n(.*?)^```", page("settings.md"), re.MULTILINE | re.DOTALL)
    assert len(blocks) == 5
    for block in blocks:
        assert faults("settings", yaml.safe_load(block)) == []
    assert faults("settings", json.loads(msgspec.json.encode(Settings()))) == []
    assert faults("settings", None) == []


# --------------------------------------------------------------------------------------------- what is wrong is not

BROKEN_TEMPLATES = (
    "[]",
    "descripton: x",
    "description: [x]",
    "parameters: []",
    "parameters: {Port: {type: integer}}",
    "parameters: {port-: {type: integer}}",
    "parameters: {port: integer}",
    "parameters: {port: {}}",
    "parameters: {port: {type: int}}",
    "parameters: {port: {type: [integer]}}",
    "parameters: {port: {type: integer, defualt: 1}}",
    "parameters: {port: {type: integer, default: '80'}}",
    "parameters: {port: {type: integer, default: true}}",
    "parameters: {port: {type: integer, default: 80, required: true}}",
    "parameters: {port: {type: integer, format: prot}}",
    "parameters: {port: {type: integer, minimum: '1'}}",
    "parameters: {port: {type: string, minLength: -1}}",
    "parameters: {port: {type: string, enum: a}}",
    "parameters: {port: {type: array, items: {type: text}}}",
    "parameters: {port: {type: array, items: {format: email}}}",
    "parameters: {port: {type: object, properties: {a: 1}}}",
    "parameters: {port: {type: string, title: 1}}",
    "parameters: {port: {type: string, anyOf: []}}",
    "parameters: {port: {type: string, from: pod}}",
    "parameters: {port: {type: string, from: []}}",
    "parameters: {port: {type: string, from: [admin]}}",
    "files: [a.conf]",
    "files: {a.conf: a.conf.j2}",
    "files: {a/b.conf: {}}",
    "files: {'..': {template: a.conf.j2}}",
    "files: {a.conf: {templat: a.conf.j2}}",
    "files: {a.conf: {template: overlay.yaml.j2}}",
    "files: {a.conf: {template: null}}",
    "files: {a.conf: {validate: nginx -t}}",
    "files: {a.conf: {validate: [nginx, -t]}}",
    "delivery: secret",
    "hostNetwork: true",
    "selector: {matchLabel: {a: b}}",
    "selector: {matchLabels: {a: 1}}",
    "selector: {matchLabels: {'a b': x}}",
    "selector: {matchExpressions: [{key: a, operator: in, values: [b]}]}",
    "selector: {matchExpressions: [{key: a, operator: In}]}",
    "selector: {matchExpressions: [{key: a, operator: Exists, values: [b]}]}",
    "namespaces: [shop]",
    "overridable: image",
    "overridable: [1]",
    "for: pods",
    "for: {resource: [pods]}",
    "for: {resources: ['*']}",
    "for: {resources: []}",
    "for: {resources: [Services]}",
    "for: {operations: [PATCH]}",
    "for: {apiVersions: ['1']}",
    "for: {apiGroups: [Apps]}",
)


@pytest.mark.parametrize("text", BROKEN_TEMPLATES)
def test_what_the_loader_refuses_is_underlined(text: str) -> None:
    with pytest.raises(TemplateError):
        load_template("mine", {"template.yaml": text, **SOURCES})
    assert faults("template", load_manifest(text))


BROKEN_SETTINGS = (
    "[]",
    "prefx: x",
    "prefix: 1",
    "prefix: UPPER",
    "podDefault: yes",
    "nativeSidecars: sometimes",
    "yesValues: y",
    "templates: envoy",
    "parameters: {envoy: 1}",
    "neverSelector: {matchLabel: {a: b}}",
    "exemptSelector: app",
    "namespaceLabel: injection",
    "namespaceLabel: {name: injection}",
    "server: {port: 70000}",
    "server: {port: '8443'}",
    "server: {drainSeconds: 10s}",
    "paths: {/a: {templates: []}}",
    "paths: {/a: {}}",
    "paths: {/a: {templates: [a], type: both}}",
    "paths: {/a: {templates: [a], failurePolicy: ignore}}",
    "paths: {a: {templates: [a]}}",
)


@pytest.mark.parametrize("text", BROKEN_SETTINGS)
def test_settings_that_are_refused_are_underlined(text: str) -> None:
    with pytest.raises(InjectorError):
        build_snapshot(parse_settings(load_manifest(text)), {}, Cluster())
    assert faults("settings", load_manifest(text))


BROKEN_CASES = (
    "[]",
    "case: []",
    "cases: {}",
    "cases: [{expect: {decision: injected}}]",
    "cases: [{name: a}]",
    "cases: []",
    "cases: [{name: ' ', expect: {decision: injected}}]",
    "cases: [{name: a, expect: {}}]",
    "cases: [{name: a, expect: {decision: refused, code: 200}}]",
    "cases: [{name: a, expect: {decision: injected, code: 402}}]",
    "cases: [{name: a, expect: {decision: injected, golden: a.yaml}}]",
    "cases: [{name: a, pod: {kind: Pod}, file: a.yaml, expect: {decision: injected}}]",
    "cases: [{name: a, templates: [], expect: {decision: injected}}]",
    "cases: [{name: a, expect: {decision: done}}]",
    "cases: [{name: a, expect: {decision: injected, waring: []}}]",
    "cases: [{name: a, expect: {decision: failed, reason: no-such-reason}}]",
    "cases: [{name: a, expect: {decision: injected, warnings: none}}]",
    "cases: [{name: a, kubernetes: 1.30, expect: {decision: injected}}]",
    "cases: [{name: a, kubernetes: newest, expect: {decision: injected}}]",
    "cases: [{name: a, params: [1], expect: {decision: injected}}]",
    "cases: [{name: a, pod: web.yaml, expect: {decision: injected}}]",
    "cases: [{name: a, namespace: shop, expect: {decision: injected}}]",
    "cases: [{name: a, namespace: {labels: {a: 1}}, expect: {decision: injected}}]",
    "cases: [{name: a, settings: {prefx: x}, expect: {decision: injected}}]",
    "cases: [{name: a, validate: 'no', expect: {decision: injected}}]",
    "cases: [{name: a, templates: mine, expect: {decision: injected}}]",
    "cases: [{name: a, object: {}, pod: {}, expect: {decision: amended}}]",
    "cases: [{name: a, object: {apiVersion: v1, kind: Service}, file: a.yaml, expect: {decision: amended}}]",
    "cases: [{name: a, operation: PATCH, object: {apiVersion: v1, kind: Service}, expect: {decision: amended}}]",
    "cases: [{name: a, operation: DELETE, object: {apiVersion: v1, kind: Service}, expect: {decision: amended}}]",
    "cases: [{name: a, oldObject: {apiVersion: v1, kind: Service}, expect: {decision: amended}}]",
    "cases: [{name: a, user: jane, object: {apiVersion: v1, kind: Service}, expect: {decision: amended}}]",
    "cases: [{name: a, resource: Services, object: {apiVersion: v1, kind: Service}, expect: {decision: amended}}]",
    "cases: [{name: a, path: {type: both}, object: {apiVersion: v1, kind: Service}, expect: {decision: amended}}]",
)


@pytest.mark.parametrize("text", BROKEN_CASES)
def test_cases_that_are_refused_are_underlined(text: str, tmp_path: Path) -> None:
    assert faults("case", load_manifest(text))
    assert refused_as_case(text, tmp_path / "mine")


def refused_as_case(text: str, folder: Path) -> bool:
    """Whether `injector test` has something against a case file before, or while, it runs."""
    (folder / "tests").mkdir(parents=True)
    for name, source in {"template.yaml": "description: x\n", **SOURCES, "tests/first.yaml": text}.items():
        (folder / name).write_text(source)
    suite = read_suite(folder, str(folder))
    if suite.problems:
        return True
    try:
        for checked in suite.cases:
            Harness(folder, str(folder)).run(checked)
    except CaseError:
        return True
    return False


# ------------------------------------------------------------------------- never stricter than what reads the file

SOURCES = {"overlay.yaml.j2": "spec: {}\n", "a.conf.j2": "x\n", "b.conf.j2": "y\n"}
BASE: dict[str, Any] = {
    "description": "Says what it is.",
    "parameters": {
        "port": {"type": "integer", "format": "port", "minimum": 1, "maximum": 65535, "default": 80},
        "name": {"type": "string", "minLength": 1, "maxLength": 9, "pattern": "^[a-z]*$", "examples": ["a"]},
        "list": {
            "type": "array",
            "items": {"type": "string", "format": "cidr"},
            "minItems": 0,
            "maxItems": 3,
            "uniqueItems": True,
            "default": [],
        },
        "map": {
            "type": "object",
            "properties": {"a": {"type": ["string", "null"]}, "b": {"anyOf": [{"type": "integer"}, {"const": "x"}]}},
            "required": ["a"],
            "additionalProperties": False,
            "propertyNames": {"maxLength": 9},
        },
        "needed": {"type": "boolean", "required": True, "title": "x", "deprecated": False},
    },
    "files": {
        "a.conf": {"template": "a.conf.j2", "validate": ["nginx", "-t", "-c", "{path}"]},
        "b.conf": {},
    },
    "delivery": "annotation",
    "hostNetwork": "inject",
    "selector": {
        "matchLabels": {"app": "web", "example.com/tier": ""},
        "matchExpressions": [
            {"key": "a", "operator": "In", "values": ["b"]},
            {"key": "c", "operator": "Exists"},
        ],
    },
    "namespaces": {"matchExpressions": [{"key": "a", "operator": "NotIn", "values": ["b", "c"]}]},
    "overridable": ["image"],
    "for": {
        "apiGroups": ["", "apps"],
        "apiVersions": ["v1", "v1beta1"],
        "resources": ["pods"],
        "operations": ["CREATE", "UPDATE"],
    },
}
BASE_CASES: dict[str, Any] = {
    "cases": [
        {
            "name": "a",
            "pod": {
                "kind": "Pod",
                "metadata": {"name": "web"},
                "spec": {"containers": [{"name": "web", "image": "web"}]},
            },
            "namespace": {"name": "shop", "labels": {"injection": "required"}, "annotations": {"a": "b"}},
            "params": {},
            "settings": {"nativeSidecars": "never", "templates": ["mine"], "server": {"port": 1}},
            "templates": ["mine"],
            "kubernetes": "1.30",
            "expect": {
                "decision": "injected",
                "reason": "injected",
                "message": "x",
                "warnings": ["w"],
                "pod": {"a": 1},
            },
            "validate": False,
        },
        {
            "name": "c",
            "operation": "UPDATE",
            "object": {"apiVersion": "v1", "kind": "Service"},
            "oldObject": {"apiVersion": "v1", "kind": "Service"},
            "resource": "services/status",
            "user": {"username": "jane", "uid": "1", "groups": ["a"], "extra": {"a": ["b"]}},
            "request": {"dryRun": True},
            "path": {"type": "validating", "failurePolicy": "Fail"},
            "expect": {"decision": "amended", "object": {"a": 1}},
        },
        {"name": "b", "expect": {"decision": "refused", "code": 402, "files": {"x": ["y"]}, "golden": "b.golden.yaml"}},
    ]
}
KEPT_SETTINGS: dict[str, Any] = json.loads(msgspec.json.encode(Settings()))

#: What a value may be changed to: things of every type, some of which are right somewhere.
VALUES = st.sampled_from(
    [
        None, True, False, 0, 1, -1, 80, 1.0, 1.5, "", "x", "a b", "a-b", "string", "integer", "port", "cidr",
        "annotation", "inject", "skip", "In", "Exists", "{path}", "a.conf.j2", [], ["x"], [""], ["{path}"], ["pods"],
        [{}], [None], {}, {"a": "b"}, {"a": None}, {"type": "string"}, {"matchLabels": {"a": "b"}},
        ["string", "null"], [{"type": "string"}],
    ]
)  # fmt: skip
NAMES = st.sampled_from(
    [
        "x", "port", "app-port", "Port", "a.conf", "..", "type", "default", "required", "format", "minimum", "items",
        "const", "enum", "not", "multipleOf", "template", "validate", "values", "matchLabels", "prefix", "parameters",
        "allOf", "title", "examples", "if", "$ref", "description",
    ]
)  # fmt: skip


@st.composite
def changed(draw: st.DrawFn, base: dict[str, Any]) -> dict[str, Any]:
    """A document with one or two changes at places anywhere in it: a value, a key's name, a key more, a key less."""
    value = copy.deepcopy(base)
    for _ in range(draw(st.integers(1, 2))):
        holders = [value, *mappings(value)]
        holder = holders[draw(st.integers(0, len(holders) - 1))]
        keys = sorted(holder)
        what = draw(st.sampled_from(["value", "value", "add", "remove", "rename"]))
        if what == "add" or not keys:
            holder[draw(NAMES)] = copy.deepcopy(draw(VALUES))
            continue
        key = keys[draw(st.integers(0, len(keys) - 1))]
        if what == "value":
            holder[key] = copy.deepcopy(draw(VALUES))
        else:
            kept = holder.pop(key)
            if what == "rename":
                holder[draw(NAMES)] = kept
    return value


def mappings(value: Any) -> Iterator[dict[str, Any]]:
    for part in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        if isinstance(part, dict):
            yield part
        yield from mappings(part)


@settings(max_examples=150, deadline=None)
@given(changed(BASE))
def test_what_the_loader_accepts_the_schema_accepts(document: dict[str, Any]) -> None:
    try:
        load_template("mine", {"template.yaml": json.dumps(document), **SOURCES})
    except TemplateError:
        event("refused")
        return
    event("accepted")
    assert faults("template", document) == []


@settings(max_examples=150, deadline=None)
@given(changed(BASE_CASES))
def test_cases_that_are_read_are_accepted(document: dict[str, Any]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        if refused_as_case(json.dumps(document), Path(folder) / "mine"):
            event("refused")
            return
    event("accepted")
    assert faults("case", document) == []


@settings(max_examples=150, deadline=None)
@given(changed(KEPT_SETTINGS))
def test_settings_that_are_read_are_accepted(document: dict[str, Any]) -> None:
    try:
        parse_settings(document)
        build_snapshot(parse_settings(document), {}, Cluster())
    except (SettingsError, InjectorError):
        event("refused")
        return
    event("accepted")
    assert faults("settings", document) == []


def test_the_bases_of_these_are_accepted() -> None:
    load_template("mine", {"template.yaml": json.dumps(BASE), **SOURCES})
    assert faults("template", BASE) == []
    assert faults("settings", KEPT_SETTINGS) == []
    assert faults("case", BASE_CASES) == []
    with tempfile.TemporaryDirectory() as folder:
        assert not refused_as_case(json.dumps(BASE_CASES), Path(folder) / "mine")
