"""The JSON Schemas of a template's own files: template.yaml, and the files of its cases."""

from __future__ import annotations

import re
from typing import Any, Final

from injector.authoring.cases.case import HELP, PATH_KEYS, CaseFile
from injector.authoring.cases.mistakes import GOLDEN
from injector.authoring.schemas.declaration_schema import (
    Schema,
    keyword_schema,
    or_null,
    parameter_schema,
    selector,
    shape_of,
    strings,
    with_more,
)
from injector.authoring.schemas.settings_schema import settings_schema
from injector.reasons import Reason
from injector.templates.holes import EXPANSIONS
from injector.templates.quoting import SYNTAXES
from injector.templates.template import FOR

#: A key of a ConfigMap (Kubernetes API reference, ConfigMap v1), which is no step in a path.
_FILE = r"^(?!\.{1,2}$)[-._a-zA-Z0-9]{1,253}$"

_FILES: Final[Schema] = {
    "type": "object",
    "description": "Config files by the name that the container sees.",
    "propertyNames": {"pattern": _FILE},
    "additionalProperties": {
        "type": "object",
        "description": "A config file. Write {} if its source is a file with the same name followed by .j2.",
        "additionalProperties": False,
        "properties": {
            "template": {
                "type": "string",
                "not": {"const": "overlay.yaml.j2"},
                "description": (
                    "The source from which the file is rendered, in this folder. The default is the file's name "
                    "followed by .j2."
                ),
            },
            "syntax": or_null(
                {
                    "enum": sorted((*SYNTAXES, *EXPANSIONS)),
                    "description": (
                        "The syntax of a text file, for the filter `quote`. The default follows from the file's name. "
                        "For a YAML or JSON file, the program that expands ${...} in its strings."
                    ),
                }
            ),
            "validate": or_null(
                strings(
                    'The command by which the real program checks it; "{path}" stands for the file.',
                    anyOf=[{"maxItems": 0}, {"contains": {"type": "string", "pattern": r"\{path\}"}}],
                    examples=[["nginx", "-t", "-c", "{path}"]],
                )
            ),
        },
    },
}

_SHARE: Final = {"type": "string", "pattern": r"^([0-9]{1,2}(\.[0-9]{1,2})?|100)%$"}
_STAGE: Final = {
    "share": {**_SHARE, "default": "100%", "description": "Of these workloads, so many."},
    "namespaces": selector("Namespaces whose pods get the next version."),
    "selector": selector("Pods that get the next version."),
}

_HELP: Final = {
    "apiGroups": 'API groups; "" is the core group.',
    "apiVersions": "Versions of the API groups.",
    "resources": "Resources, in the plural. Write a subresource as RESOURCE/SUBRESOURCE: pods/ephemeralcontainers.",
    "operations": "Operations, such as CREATE or UPDATE.",
}


def _for() -> Schema:
    """What a template is for; words are those that the loader takes."""
    properties = {
        key: strings(
            _HELP[key],
            default=list(default),
            minItems=1,
            items={"type": "string", "pattern": f"^(?:{pattern.pattern})$"},
        )
        for key, (default, pattern, _) in FOR.items()
    }
    return {
        "type": "object",
        "description": "The requests that the template is for. The default is CREATE of pods. A template for other "
        "requests works only if the settings list it at a path.",
        "additionalProperties": False,
        "properties": {key: or_null(schema) for key, schema in properties.items()},
    }


def template_schema() -> Schema:
    """The schema of template.yaml."""
    properties: Schema = {
        "description": {"type": "string", "description": "One sentence for people."},
        "parameters": {
            "type": "object",
            "description": "Parameters by name. The files of the template read the parameter app-port as "
            "params.app_port. A name that ends in -* stands for many annotations: with secret-*, params.secret "
            "is a map with one entry for each annotation secret-<name>.",
            "propertyNames": {"pattern": r"^[a-z](?:(?:[-a-z0-9]{0,61}[a-z0-9])?|(?:[-a-z0-9]{0,48}[a-z0-9])?-\*)$"},
            "additionalProperties": {"$ref": "#/$defs/parameter"},
        },
        "files": _FILES,
        "delivery": {
            "enum": ["configmap", "annotation"],
            "default": "configmap",
            "description": "How the config files get into the pod: by a generated ConfigMap, or by annotations.",
        },
        "hostNetwork": {
            "enum": ["skip", "inject"],
            "default": "skip",
            "description": "Whether pods with hostNetwork: true are injected.",
        },
        "selector": selector("Pods that get this template when neither they nor their namespace names one."),
        "namespaces": selector("Namespaces in which the template can be used. The default is all namespaces."),
        "overridable": strings(
            "If a pod already has a container with the sidecar's name: the fields that this container may set "
            "in a required namespace."
        ),
        "shared": strings(
            ("Volumes of the template that other containers may mount in a required namespace; * matches any text."),
            examples=[["logs", "*-shared"]],
        ),
        "redirects": {
            "type": "object",
            "description": "The init containers that redirect the pod's traffic, each with the sidecar that gets "
            "it. Such an init container runs after its sidecar has started, and after everything that would wait "
            "for the network in between.",
            "additionalProperties": {"type": "string"},
            "examples": [{"envoy-redirect": "envoy-sidecar"}],
        },
        "for": _for(),
        "version-of": {
            "type": "string",
            "description": "The template whose next version this is. It has that template's name, and so its "
            "annotations and parameters.",
        },
        "stage": {
            "description": "Whose pods get the next version: a share of the workloads, such as 10%, or a mapping.",
            "anyOf": [_SHARE, {"type": "object", "additionalProperties": False, "properties": _STAGE}],
            "default": "0%",
        },
    }
    return {
        "title": "template.yaml",
        "description": "Describes a template: its parameters, its config files, and what it is for.",
        "type": "object",
        "properties": {key: or_null(schema) for key, schema in properties.items()},
        "additionalProperties": False,
        "$defs": {"parameter": parameter_schema(), "schema": keyword_schema()},
    }


def case_schema() -> Schema:
    """The schema of a file in the folder `tests` of a template.

    An editor has to be told of the tag `!absent`; its value may be anything.
    """
    descriptions = {
        struct: {"properties": {key: {"description": text} for key, text in texts.items()}}
        for struct, texts in HELP.items()
    }
    defs = with_more({name: _given(schema) for name, schema in shape_of(CaseFile).items()}, descriptions)
    case = defs["Case"]["properties"]
    case["settings"] = {**settings_schema(), "type": "object", "description": case["settings"]["description"]}
    deleted = {"required": ["operation"], "properties": {"operation": {"const": "DELETE"}}}
    updated = {"required": ["operation"], "properties": {"operation": {"enum": ["UPDATE", "DELETE"]}}}
    more: Schema = {
        "Case": {
            "properties": {
                "kubernetes": {"pattern": r"^v?\d{1,2}\.\d{1,3}(\D.*)?$"},
                "name": {"pattern": r"\S"},
                "templates": {"minItems": 1},
                "resource": {"pattern": r"^[a-z][-a-z0-9.]*(/[a-z][-a-z0-9]*)?$"},
            },
            "not": {
                "anyOf": [
                    {"required": both}
                    for both in (["pod", "file"], ["object", "file"], *(["pod", k] for k in PATH_KEYS))
                ]
            },
            "allOf": [
                {"if": deleted, "then": {"not": {"required": ["object"]}}},
                {"if": {"required": ["oldObject"]}, "then": updated},
            ],
        },
        "Expect": {
            "properties": {
                "reason": {"enum": [reason.label for reason in Reason]},
                "code": {"minimum": 400, "maximum": 599},
                "golden": {"pattern": rf"^[-._a-zA-Z0-9]*{re.escape(GOLDEN)}$"},
            },
            "if": {"required": ["code"]},
            "then": {"properties": {"decision": {"const": "refused"}}},
        },
        "CaseFile": {"properties": {"cases": {"minItems": 1}}},
    }
    defs = with_more(defs, more)
    return {**defs.pop("CaseFile"), "title": "Cases of a template", "$defs": defs}


def _given(schema: Any) -> Any:
    """The schema without null: a key that is there has a value. So no default is `null`."""
    if isinstance(schema, list):
        return [_given(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    cleaned = {key: _given(part) for key, part in schema.items() if not (key == "default" and part is None)}
    choices = cleaned.get("anyOf")
    if isinstance(choices, list) and {"type": "null"} in choices:
        rest = [part for part in choices if part != {"type": "null"}]
        del cleaned["anyOf"]
        cleaned = {**rest[0], **cleaned} if len(rest) == 1 else {**cleaned, "anyOf": rest}
    return cleaned
