"""Keys in template.yaml and in files of cases as people write them for other tools, and how they are written here."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from typing import Any, Final

from injector.names import WANTED, flow_value, legal_name, nearest

_IN_OVERLAY = "write it below `spec:` in overlay.yaml.j2"
_NO_OBJECT = "template.yaml is not a Kubernetes object; it begins with `description:` and `parameters:`"
_OF_FILE = "write it below the name of its file, as in files: {a.conf: {template: b.conf.j2, syntax: nginx}}"
#: Keys of other files in template.yaml, with where their content goes here.
_OF_MANIFEST = {
    **dict.fromkeys(("configMapGenerator", "configMap", "data"), "write each file below `files:`"),
    **dict.fromkeys(("values", "vars", "variables", "inputs", "properties"), "write it below `parameters:`"),
    **dict.fromkeys(("containers", "initContainers", "volumes", "image", "env", "ports"), _IN_OVERLAY),
    **dict.fromkeys(("apiVersion", "kind", "metadata", "spec", "patches"), _NO_OBJECT),
    **dict.fromkeys(("syntax", "validate", "template"), _OF_FILE),
    "required": "write `required: true` at each parameter that is required",
    **dict.fromkeys(("appliesTo", "resources", "target"), "write `for: {resources: [services]}` for other objects"),
    **dict.fromkeys(("version", "appVersion", "dependencies"), "leave it out; it belongs to Helm's Chart.yaml"),
    "name": "leave it out; a template has the name of its folder",
}
#: Keywords that other schemas have at a parameter, with what is written here.
_KEYWORDS = {
    "nullable": "leave it out: a parameter that nobody sets has the value `none`",
    "optional": "leave it out: a parameter is optional where it has no `required: true`",
    "value": "write default",
    **dict.fromkeys(("options", "choices", "values", "allowed"), "write enum"),
    **dict.fromkeys(("regex", "validation"), "write pattern"),
    "help": "write it into the description",
    "sensitive": "write secret",
    "weakens": "leave it out: pods of a required namespace set only parameters with `pods: may-set`",
}
#: Types as other languages call them, where the spelling does not tell.
_TYPES = {
    "float": "number", "list": "array", "map": "object", "dict": "object", "str": "string", "int": "integer",
    "bool": "boolean",
}  # fmt: skip
#: `list(string)` and `map(string)` of Terraform, `[]string` and `map[string]int` of Go.
_LIST = re.compile(r"(?:list|array|set)\s*[(<\[]\s*(\w+)\s*[)>\]]|\[\](\w+)", re.IGNORECASE)
_MAP = re.compile(r"(?:map|dict|object)\s*[(<\[]\s*(?:string\s*\]|\w+\s*,)?\s*(\w+)\s*[)>\]]?", re.IGNORECASE)
_PATTERN = "leave format out, and write a pattern and a maxLength"
#: Formats of other schemas, with what is said of them.
_FORMATS = {
    **dict.fromkeys(("int32", "int64", "float", "double", "password"), "leave it out"),
    **dict.fromkeys(("memory", "cpu", "bytes"), "did you mean quantity?"),
    **dict.fromkeys(("time", "interval", "seconds"), "did you mean duration?"),
    **dict.fromkeys(("subnet", "network"), "did you mean cidr?"),
    "name": "did you mean dns-label?",
    **dict.fromkeys(("hostname", "ipv4", "ipv6", "ip", "uri", "url", "email", "date"), _PATTERN),
}


def manifest_key_help(key: str) -> str:
    """What to do about a key that template.yaml does not have; "" where its spelling tells."""
    return _OF_MANIFEST.get(key, "")


def keyword_help(key: str) -> str:
    """What to do about a keyword that a parameter does not have; "" where its spelling tells."""
    return _KEYWORDS.get(key, "")


def format_help(name: object) -> str:
    """What to do about a format that there is not; "" where its spelling tells."""
    return _FORMATS.get(str(name), "")


def type_help(name: str, declaration: Mapping[str, Any]) -> str:
    """What to write for the declaration of a parameter without a type that there is."""
    kind = declaration.get("type")
    nested = [key for key, value in declaration.items() if isinstance(value, Mapping) and "type" in value]
    if nested and len(nested) == len(declaration):
        names = ", ".join(f"{name}-{legal_name(key)}" for key in nested[:5])
        return f"declare each parameter separately, as {names}"
    if kind is None:
        default = declaration.get("default", declaration.get("enum"))
        default = default[0] if isinstance(default, list) and "enum" in declaration and default else default
        return f"write type: {_type_of(default)}"
    if kind == "enum":
        return "write `type: string` and `enum: [...]`"
    if isinstance(kind, list):
        first = next((name_ for name_ in kind if name_ in tuple(WANTED)), "string")
        return f"write type: {first}; a parameter that nobody sets is null"
    if not isinstance(kind, str) or len(kind) > 60:
        return ""
    if inner := _LIST.fullmatch(kind.strip()):
        return f"write type: array and items: {{type: {_type_named(next(filter(None, inner.groups())))}}}"
    if (inner := _MAP.fullmatch(kind.strip())) and kind.lower() not in _TYPES:
        return f"write type: object and additionalProperties: {{type: {_type_named(inner[1])}}}"
    near = _TYPES.get(kind) or nearest(kind, tuple(WANTED))
    return f"did you mean {near}?" if near else ""


def _type_of(value: Any) -> str:
    kinds: dict[type, str] = {bool: "boolean", int: "integer", float: "number", list: "array", dict: "object"}
    return kinds.get(type(value), "string")


def _type_named(word: str) -> str:
    return _TYPES.get(word.lower(), word.lower())


def keyword_value_help(key: str, value: Any) -> str:
    """What to write for the value of a keyword, or a key of template.yaml, of another type; "" for nothing."""
    if key in ("items", "additionalProperties", "propertyNames"):
        if isinstance(value, list):
            return f"write {key}: {{type: {_type_of(value[0]) if value else 'string'}}}"
        return f"write {key}: {{type: {value}}}" if isinstance(value, str) else ""
    if isinstance(value, str) and re.fullmatch(r"-?\d+(?:\.\d+)?", value):
        return "write it without quotes"
    if key == "pattern":
        return "put it in quotes"
    if isinstance(value, Mapping):
        return f"write {key}: {flow_value([str(name) for name, chosen in value.items() if chosen is not False])}"
    return f"write {key}: {flow_value(_items(key, value))}" if isinstance(value, str) and value.strip() else ""


def _items(key: str, text: str) -> list[str]:
    """The items of a list that is written as one text; those of a command are its words."""
    try:
        parts = shlex.split(text) if key == "validate" else re.split(r"[,|]", text)
    except ValueError:
        parts = [text]
    return [part.strip() for part in parts if part.strip()]


def pattern_help(pattern: str) -> str:
    """What to write for a pattern that RE2 refuses and that a file's name might have, as in `*.example.com`."""
    if not pattern.startswith(("*", "?")):
        return "write $ in place of \\Z" if "\\Z" in pattern else ""
    escaped = re.escape(pattern).replace(r"\*", ".*").replace(r"\?", ".").replace(r"\-", "-")
    return f"for any text write .*, as in ^{escaped}$"


#: Characters of somebody's own value that is written under another key.
_LONGEST: Final = 80
_EXPECT = "write the expected result in `expect:`, such as expect: {decision: injected}"
_INPUT = "write the input in `pod:`, or in a file beside this one, and name that file in `file:`"
_METADATA = "write it in the metadata of `pod:`"
#: Keys of a case whose value stands under another key here.
_RENAMED: Final = {
    **dict.fromkeys(("set", "values", "vars", "parameters"), "params"),
    **dict.fromkeys(("it", "title", "description", "test"), "name"),
    **dict.fromkeys(("kubernetesVersion", "kubeVersion"), "kubernetes"),
    **dict.fromkeys(("template", "sidecars"), "templates"),
    "ns": "namespace",
}
#: Keys of a case that have no such value.
_CASE: Final = {
    **dict.fromkeys(("asserts", "assert", "expected", "should", "then"), _EXPECT),
    **dict.fromkeys(("given", "input", "manifest", "deployment", "when"), _INPUT),
    **dict.fromkeys(("annotations", "labels", "metadata", "spec"), _METADATA),
    **dict.fromkeys(("documentIndex", "documentSelector"), "leave it out: a case has one pod"),
    "release": "remove it; the namespace is set by `namespace: {name: ...}`",
    **dict.fromkeys(("chart", "skip", "only", "tags"), "leave it out"),
    "capabilities": 'write kubernetes: "1.33"',
    **dict.fromkeys(("decision", "reason", "message", "files", "golden", "warnings"), "write it in `expect:`"),
    **dict.fromkeys(("error", "failedTemplate"), "write expect: {decision: failed, message: ...}"),
    **dict.fromkeys(("snapshot", "matchSnapshot"), "write expect: {golden: NAME.golden.yaml}"),
}
_OF_POD = "write the part of the pod in `pod:`, such as pod: {spec: {containers: [{name: web}]}}"
#: Keys within `expect`.
_OF_EXPECT: Final = {
    **dict.fromkeys(("equal", "contains", "exists", "isSubset", "spec", "containers", "metadata"), _OF_POD),
    **dict.fromkeys(
        ("notExists", "notContains", "isNull"), "write !absent in `pod:` for what must not be in the output"
    ),
    **dict.fromkeys(("matchSnapshot", "snapshot"), "write golden: NAME.golden.yaml"),
    **dict.fromkeys(("failedTemplate", "error"), "write decision: failed and message: ..."),
    **dict.fromkeys(("injected", "status"), "write decision: injected, or another decision"),
    **dict.fromkeys(("configMap", "config"), "write files: {NAME: [...]}"),
}
_OF_FOLDER = "remove it: the cases in this file always test the template whose folder contains the file"
#: Keys at the top of a file.
CASE_FILE_KEYS: Final = {
    **dict.fromkeys(("suite", "name", "description"), "leave it out: each case has a `name:`"),
    "tests": "write cases:",
    **dict.fromkeys(("templates", "template"), _OF_FOLDER),
    **dict.fromkeys(("values", "set", "params"), "write `params:` in each case"),
    **dict.fromkeys(("release", "capabilities", "settings", "namespace", "kubernetes"), "write it in each case"),
}


def case_key_help(key: str, value: str, steps: tuple[str | int, ...]) -> str:
    """What to do about an unknown key at these steps of a case; "" where its spelling tells.

    `value` is its value in YAML on one line, "" for what cannot be written so.
    """
    if steps == ("expect",):
        return _OF_EXPECT.get(key, "")
    if steps:
        return ""
    renamed = _RENAMED.get(key)
    if renamed is None:
        return _CASE.get(key, "")
    written = f"{renamed}: {value}" if value else ""
    return f"write {written if 0 < len(written) <= _LONGEST else f'{renamed}:'}"
