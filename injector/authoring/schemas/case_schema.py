"""The JSON Schema of a case file: the shape and the help are those of the structs that cases are read into."""

from __future__ import annotations

import re
from typing import Any

from injector.authoring.cases.case import PATH_KEYS, CaseFile
from injector.authoring.cases.mistakes import GOLDEN
from injector.authoring.schemas.declaration_schema import Schema, shape_of
from injector.authoring.schemas.settings_schema import settings_schema
from injector.reasons import Reason


def case_schema() -> Schema:
    """The schema of a file in the folder `tests` of a template.

    An editor has to be told of the tag `!absent`; its value may be anything.
    """
    defs: dict[str, Any] = {name: _given(schema) for name, schema in shape_of(CaseFile).items()}
    case, expect = defs["Case"]["properties"], defs["Expect"]["properties"]
    case["settings"] = {**settings_schema(), "type": "object", "description": case["settings"]["description"]}
    case["kubernetes"]["pattern"] = r"^v?\d{1,2}\.\d{1,3}(\D.*)?$"
    case["name"]["pattern"] = r"\S"
    case["templates"]["minItems"] = 1
    defs["Case"]["not"] = {
        "anyOf": [
            {"required": both} for both in (["pod", "file"], ["object", "file"], *(["pod", k] for k in PATH_KEYS))
        ]
    }
    case["resource"]["pattern"] = r"^[a-z][-a-z0-9.]*(/[a-z][-a-z0-9]*)?$"
    deleted = {"required": ["operation"], "properties": {"operation": {"const": "DELETE"}}}
    updated = {"required": ["operation"], "properties": {"operation": {"enum": ["UPDATE", "DELETE"]}}}
    defs["Case"]["allOf"] = [
        {"if": deleted, "then": {"not": {"required": ["object"]}}},
        {"if": {"required": ["oldObject"]}, "then": updated},
    ]
    expect["reason"]["enum"] = [reason.label for reason in Reason]
    expect["code"] |= {"minimum": 400, "maximum": 599}
    expect["golden"]["pattern"] = rf"^[-._a-zA-Z0-9]*{re.escape(GOLDEN)}$"
    refused = {"properties": {"decision": {"const": "refused"}}}
    defs["Expect"] |= {"if": {"required": ["code"]}, "then": refused}
    for name, words in (
        ("namespace", "The namespace that the pod is created in, or that the object lies in."),
        ("expect", "What has to come out."),
    ):
        case[name].setdefault("description", words)
    file = defs.pop("CaseFile")
    file["properties"]["cases"] |= {"description": "The cases, each with a name of its own.", "minItems": 1}
    return {**file, "title": "Cases of a template", "$defs": defs}


def _given(schema: Any) -> Any:
    """The schema without null: a key that is there has a value. Nor is `null` anybody's default, then."""
    if isinstance(schema, list):
        return [_given(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    made = {key: _given(part) for key, part in schema.items() if not (key == "default" and part is None)}
    choices = made.get("anyOf")
    if isinstance(choices, list) and {"type": "null"} in choices:
        rest = [part for part in choices if part != {"type": "null"}]
        del made["anyOf"]
        made = {**rest[0], **made} if len(rest) == 1 else {**made, "anyOf": rest}
    return made
