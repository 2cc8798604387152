"""Keys in template.yaml and in files of cases, and label selectors, as people write them for other tools."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from injector.advice.words import by_word
from injector.names import WANTED, did_you_mean, flow_value, is_dns_label, legal_name, nearest, to_write
from injector.pods.context import as_list, string_field

_NO_OBJECT = "template.yaml is not a Kubernetes object; it begins with `description:` and `parameters:`"
_OF_FILE = "write it below the name of its file, as in files: {a.conf: {template: b.conf.j2, syntax: nginx}}"
#: Keys of other files in template.yaml, with where their content goes here.
MANIFEST_KEYS = by_word(
    {
        "configMapGenerator configMap data": "write each file below `files:`",
        "values vars variables inputs properties": "write it below `parameters:`",
        "containers initContainers volumes image env ports": "write it below `spec:` in overlay.yaml.j2",
        "apiVersion kind metadata spec patches": _NO_OBJECT,
        "syntax validate template": _OF_FILE,
        "required": "write `required: true` at each parameter that is required",
        "appliesTo resources target": "write `for: {resources: [services]}` for other objects",
        "version appVersion dependencies": "leave it out; it belongs to Helm's Chart.yaml",
        "name": "leave it out; a template has the name of its folder",
    }
)
#: Keywords that other schemas have at a parameter, with what is written here.
PARAMETER_KEYWORDS = by_word(
    {
        "nullable": "leave it out: a parameter that nobody sets has the value `none`",
        "optional": "leave it out: a parameter is optional where it has no `required: true`",
        "value": "write default",
        "options choices values allowed": "write enum",
        "regex validation": "write pattern",
        "help": "write it into the description",
        "sensitive": "write secret",
        "weakens": "leave it out: pods of a required namespace set only parameters with `pods: may-set`",
    }
)
#: Types as other languages call them, where the spelling does not tell.
_TYPES = by_word(
    {
        "float": "number",
        "list": "array",
        "map dict": "object",
        "str": "string",
        "int": "integer",
        "bool": "boolean",
    }
)
#: `list(string)` and `map(string)` of Terraform, `[]string` and `map[string]int` of Go.
_LIST = re.compile(r"(?:list|array|set)\s*[(<\[]\s*(\w+)\s*[)>\]]|\[\](\w+)", re.IGNORECASE)
_MAP = re.compile(r"(?:map|dict|object)\s*[(<\[]\s*(?:string\s*\]|\w+\s*,)?\s*(\w+)\s*[)>\]]?", re.IGNORECASE)
#: Formats of other schemas, with what is said of them.
PARAMETER_FORMATS = by_word(
    {
        "int32 int64 float double password": "leave it out",
        "memory cpu bytes": "did you mean quantity?",
        "time interval seconds": "did you mean duration?",
        "subnet network": "did you mean cidr?",
        "name": "did you mean dns-label?",
        "hostname ipv4 ipv6 ip uri url email date": "leave format out, and write a pattern and a maxLength",
    }
)


def type_help(name: str, declaration: Mapping[str, Any]) -> str:
    """What to write for the declaration of a parameter without a type that there is."""
    nested = [legal_name(key) for key, value in declaration.items() if isinstance(value, Mapping) and "type" in value]
    if nested and len(nested) == len(declaration):
        return f"declare each parameter separately, as {', '.join(f'{name}-{part}' for part in nested[:5])}"
    return _of_type(declaration.get("type"), declaration)


def _of_type(kind: Any, declaration: Mapping[str, Any]) -> str:
    if kind is None:
        choices = declaration.get("enum")
        return f"write type: {_type_of(choices[0] if choices else declaration.get('default'))}"
    if kind == "enum":
        return "write `type: string` and `enum: [...]`"
    if isinstance(kind, list):
        return f"write type: {next(iter(kind), 'string')}; a parameter that nobody sets is null"
    if inner := _LIST.fullmatch(str(kind)[:60]):
        return f"write type: array and items: {{type: {_type_named(inner[1] or inner[2])}}}"
    if (inner := _MAP.fullmatch(str(kind)[:60])) and kind not in _TYPES:
        return f"write type: object and additionalProperties: {{type: {_type_named(inner[1])}}}"
    near = _TYPES.get(str(kind)) or nearest(str(kind)[:60], tuple(WANTED))
    return did_you_mean(near)


def _type_of(value: Any) -> str:
    kinds: dict[type, str] = {bool: "boolean", int: "integer", float: "number", list: "array", dict: "object"}
    return kinds.get(type(value), "string")


def _type_named(word: str) -> str:
    return _TYPES.get(word.lower(), word.lower())


def keyword_value_help(key: str, value: Any) -> str:
    """What to write for the value of a keyword, or a key of template.yaml, of another type; "" for nothing."""
    if key in ("items", "additionalProperties", "propertyNames"):
        if isinstance(value, list):
            return f"write {key}: {{type: {_type_of(next(iter(value), ''))}}}"
        return f"write {key}: {{type: {value}}}" if isinstance(value, str) else ""
    if isinstance(value, str) and re.fullmatch(r"-?\d+(?:\.\d+)?", value):
        return "write it without quotes"
    if key == "pattern":
        return "put it in quotes"
    if isinstance(value, Mapping):
        return f"write {key}: {flow_value([str(name) for name, chosen in value.items() if chosen is not False])}"
    parts = re.split(r"\s+" if key == "validate" else r"[,|]", string_field(value))
    return f"write {key}: {flow_value([part.strip() for part in parts])}" if any(parts) else ""


def pattern_help(pattern: str) -> str:
    """What to write for a pattern that RE2 refuses and that a file's name might have, as in `*.example.com`."""
    if not pattern.startswith(("*", "?")):
        return "write $ in place of \\Z" if "\\Z" in pattern else ""
    escaped = re.escape(pattern).replace(r"\*", ".*").replace(r"\?", ".").replace(r"\-", "-")
    return f"for any text write .*, as in ^{escaped}$"


#: Characters of somebody's own value that is written under another key.
_LONGEST: Final = 80
_INPUT = "write the input in `pod:`, or in a file beside this one, and name that file in `file:`"
_OUTPUT = "write the expected result in `expect:`, such as expect: {decision: injected}"
#: Keys of a case whose value stands under another key here.
_RENAMED: Final = by_word(
    {
        "set values vars parameters": "params",
        "it title description test": "name",
        "kubernetesVersion kubeVersion": "kubernetes",
        "template sidecars": "templates",
        "ns": "namespace",
    }
)
#: Keys of a case that have no such value.
_CASE: Final = by_word(
    {
        "asserts assert expected should then decision reason files": _OUTPUT,
        "given input manifest deployment when metadata spec": _INPUT,
    }
)
_OF_POD = "write the part of the pod in `pod:`, such as pod: {spec: {containers: [{name: web}]}}"
#: Keys within `expect`.
_OF_EXPECT: Final = by_word(
    {
        "equal contains exists isSubset spec containers metadata": _OF_POD,
        "notExists notContains isNull": "write !absent in `pod:` for what must not be there",
        "matchSnapshot snapshot": "write golden: NAME.golden.yaml",
    }
)
#: Keys at the top of a file.
CASE_FILE_KEYS: Final = by_word(
    {
        "suite name description": "leave it out: each case has a `name:`",
        "tests": "write cases:",
        "values set params settings namespace kubernetes": "write it in each case",
    }
)


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
    written = f"{renamed}: {value}"
    if not value or len(written) > _LONGEST:
        written = f"{renamed}:"
    return f"write {written}"


#: The label that the API server gives every namespace.
NAMESPACE_NAME = "kubernetes.io/metadata.name"
_EQUALS = re.compile(r"([\w./-]+)\s*(?:==?|:)\s*([\w.-]*)")
#: Keys of other selectors that list names, by whether these are meant.
_LISTS = by_word(
    {
        "matchNames names include name": "In",
        "exclude excludeNames": "NotIn",
    }
)
#: Operators elsewhere.
_OPERATORS = by_word(
    {
        "= == Equals Equal": "In",
        "!= NotEquals NotEqual": "NotIn",
        "! NotExists": "DoesNotExist",
    }
)


def selector_help(value: object, of_namespaces: bool = False) -> str:
    """How a selector is written that is no mapping, or has other keys; "" where that is not plain.

    `of_namespaces` says that it selects namespaces, which people like to name.
    """
    if isinstance(value, Mapping):
        return _mapping_help(value, of_namespaces)
    items = as_list(value)
    parts = [part.strip() for item in items for part in (item.split(",") if isinstance(item, str) else "") if part]
    pairs = [_EQUALS.fullmatch(part) for part in parts]
    if parts and all(pairs):
        return f"write {_labels({pair[1]: pair[2] for pair in pairs if pair})}"
    return f"write {_named('In', names)}" if of_namespaces and (names := _names(parts)) else ""


def _mapping_help(value: Mapping[Any, Any], of_namespaces: bool) -> str:
    for key, names in value.items():
        if of_namespaces and key in _LISTS and (listed := _names(names)):
            return f"write {_named(_LISTS[key], listed)[1:-1]}"  # in place of the key that is there
    plain = value and all(isinstance(inner, str | int | bool) for inner in value.values())
    return f"write {_labels(value)[1:-1]}" if plain else ""


def _names(value: object) -> list[str]:
    """Names of namespaces, one or some; none where one of them cannot be a name."""
    listed = [value] if isinstance(value, str) else value
    return listed if isinstance(listed, list) and all(map(is_dns_label, listed)) else []


def _labels(pairs: Mapping[Any, Any]) -> str:
    """The selector of these labels, as it is written in YAML."""
    return f"{{matchLabels: {{{', '.join(f'{key}: {_quoted(value)}' for key, value in pairs.items())}}}}}"


def _quoted(value: object) -> str:
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return text if re.fullmatch(r"[A-Za-z][\w.-]*", text) and text.lower() not in _NO_TEXTS else f'"{text}"'


#: Words of YAML that are no texts without quotes.
_NO_TEXTS = ("true", "false", "yes", "no", "on", "off", "y", "n", "null")


def _named(operator: str, names: list[str]) -> str:
    if len(names) == 1 and operator == "In":
        return f"{{matchLabels: {{{NAMESPACE_NAME}: {names[0]}}}}}"
    listed = ", ".join(names)
    return f"{{matchExpressions: [{{key: {NAMESPACE_NAME}, operator: {operator}, values: [{listed}]}}]}}"


def operator_help(operator: object) -> str:
    """The operator that is meant by another word; "" where that is not plain."""
    if operator is None:
        return "write operator: Exists, or In with values"
    near = _OPERATORS.get(str(operator)) or nearest(str(operator), ("In", "NotIn", "Exists", "DoesNotExist"))
    return to_write(near)


def values_help(value: object) -> str:
    """How the values of a requirement are written; "" where that is not plain."""
    return f"write values: [{_quoted(value)}]" if isinstance(value, str | int) else ""
