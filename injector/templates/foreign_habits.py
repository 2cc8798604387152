"""What people know from Helm, Go templates, Ansible and Jinja elsewhere, and what to write here instead."""

from __future__ import annotations

from collections.abc import Collection

from injector.names import hint
from injector.templates.other_languages import JOINED
from injector.templates.quoting import EMBEDDED, NAMED

#: Nodes of Jinja's syntax tree that templates may not hold, with what is said about them.
REFUSED = {
    "FilterBlock": "{% filter %} is not available; write {{ value | filter }}",
    "Block": "{% block %} is not available; use a macro or {% include %}",
    "Extends": "{% extends %} is not available; use a macro or {% include %}",
    "ScopedEvalContextModifier": "{% autoescape %} is not available",
    "NSRef": "{% set a.b = ... %} is not available; to count or collect use a filter: length, sum, map or join",
    "Pow": "** is not available; write x * x",
    "Scope": "{% autoescape %} is not available",
}
#: Names of values elsewhere, with how they are written here.
VALUES = {
    **dict.fromkeys(("null", "nil"), "write none"),
    **dict.fromkeys(("yes", "on"), "write true"),
    **dict.fromkeys(("no", "off"), "write false"),
    **dict.fromkeys(("inventory_hostname", "ansible_hostname", "hostname", "release", "chart"), "write workload.name"),
    "default": 'write {{ params.x | default("...") }}',
    "omit": "write {{ params.x }} alone: a key without a value is left out",
    "forloop": "write loop.index, loop.first or loop.last",
    **dict.fromkeys(("spec", "metadata", "annotations", "labels"), "the pod before injection is in `object`"),
    **dict.fromkeys(
        ("lookup", "env", "getenv", "file", "readFile", "os", "ENV", "environ", "hostvars", "groups", "ansible_facts"),
        "a template reads nothing from elsewhere; declare a parameter",
    ),
    **dict.fromkeys(("item", "loop", "each", "it"), "write {% for item in list %}, with `item` and `loop` in it"),
    **dict.fromkeys(
        ("now", "timestamp", "uuidv4", "random"), "a template gives the same result each time; declare a parameter"
    ),
    "name": "write workload.name, namespace.name or container.name",
    "std": 'this looks like Jsonnet; write a Jinja filter, such as {{ params.x | join(",") }}',
}
#: Names of what holds the parameters elsewhere.
HOLDERS = frozenset(
    (
        "values", "Values", "vars", "var", "local", "locals", "inputs", "input", "config", "cfg", "conf", "settings",
        "globals", "args", "opts", "options", "parameters", "param", "env_vars", "workflow",
    )
)  # fmt: skip
#: Names that Jinja keeps for itself, with how people know them from Jsonnet.
OWN = {
    **dict.fromkeys(("self", "super"), "write params.x, or {% set x = ... %} for a value of the template's own"),
    **dict.fromkeys(("varargs", "kwargs"), "name the arguments of the macro"),
}
_IN_OVERLAY = "write it below `spec:` in overlay.yaml.j2"
_NO_OBJECT = "template.yaml is not a Kubernetes object; it begins with `description:` and `parameters:`"
#: Keys of other files in template.yaml, with where their content goes here.
OTHER_KEYS = {
    **dict.fromkeys(("configMapGenerator", "secretGenerator", "configMap", "data"), "write each file below `files:`"),
    **dict.fromkeys(("values", "vars", "variables", "inputs", "properties", "args"), "write it below `parameters:`"),
    **dict.fromkeys(("containers", "initContainers", "volumes", "image", "env", "ports"), _IN_OVERLAY),
    **dict.fromkeys(("apiVersion", "kind", "metadata", "spec", "patches"), _NO_OBJECT),
    **dict.fromkeys(
        ("syntax", "validate", "template"),
        "write it below the name of its file, as in files: {a.conf: {template: b.conf.j2, syntax: nginx}}",
    ),
    "required": "write `required: true` at each parameter that is required",
    **dict.fromkeys(
        ("appliesTo", "resources", "target", "match", "matchConstraints", "rules"),
        "write `for: {resources: [services]}` for other objects than pods",
    ),
    **dict.fromkeys(("version", "appVersion", "dependencies"), "leave it out; it belongs to Helm's Chart.yaml"),
    "name": "leave it out; a template has the name of its folder",
}
#: Keywords of other schemas at a parameter, with what is written here.
OTHER_KEYWORDS = {
    "nullable": "leave it out: a parameter that nobody sets has the value `none`",
    "optional": "leave it out: a parameter is optional where it has no `required: true`",
    "value": "write default",
    **dict.fromkeys(("options", "choices", "values", "allowed", "oneof"), "write enum"),
    **dict.fromkeys(("regex", "match", "validation"), "write pattern"),
    **dict.fromkeys(("help", "doc", "unit", "comment"), "write it into the description"),
    "sensitive": "write secret",
    "weakens": "leave it out: pods of a required namespace set only parameters with `pods: may-set`",
    **dict.fromkeys(("schema", "openAPIV3Schema"), "write its keys at the same level as the description"),
    **dict.fromkeys(
        ("annotation", "key"),
        "leave it out: the annotation's key is made from the names of the template and the parameter",
    ),
}
#: Types as other languages call them, where the spelling does not tell.
MEANT_TYPES = {
    "float": "number", "double": "number", "list": "array", "map": "object", "dict": "object", "str": "string",
    "int": "integer", "bool": "boolean",
}  # fmt: skip
_OURS = "values keep their own type here: write `key: {{ params.x }}`, without quotes and without"
#: Filters that are not available, with what is said about them.
HABITS = {
    **{name: f"{_OURS} {name}" for name in ("toYaml", "to_yaml", "to_nice_yaml", "toJson", "to_json")},
    **{name: f"{_OURS} {name}; in a macro, indent the text as it is needed" for name in ("indent", "nindent")},
    **dict.fromkeys(("quote", "squote"), 'for a string write "{{ params.x }}", in quotes'),
    **dict.fromkeys(
        ("safe", "e", "escape", "forceescape"), "a value cannot change the document, so there is nothing to escape"
    ),
    **dict.fromkeys(("nil", "null"), "write `none`"),
    **dict.fromkeys(("format", "filesizeformat", "printf"), f"join with ~: write {JOINED}"),
    **dict.fromkeys(
        ("b64encode", "b64decode", "b64enc", "b64dec", "base64"),
        "write the value as it is; for a secret use a Secret and `valueFrom: {secretKeyRef: ...}`",
    ),
    **dict.fromkeys(("trunc", "truncate", "substr"), "write {{ params.x[:63] }}"),
    **dict.fromkeys(("trimSuffix", "trimPrefix"), 'write {{ params.x.removesuffix("-") }} or .removeprefix("-")'),
    **dict.fromkeys(("required", "mandatory"), "write `required: true` at the parameter in template.yaml"),
    **dict.fromkeys(("bool", "from_json", "fromJson", "fromYaml", "from_yaml"), "the parameter's `type` does that"),
    **dict.fromkeys(
        ("ipaddr", "ipv4", "ipv6", "ipwrap"),
        "declare a `format` or `pattern` at the parameter in template.yaml, which checks its values",
    ),
    **dict.fromkeys(("dict2items", "items2dict"), "loop with {% for key, value in params.x.items() %}"),
    **dict.fromkeys(
        ("combine", "merge", "mergeOverwrite"),
        "write the keys one by one; the injector merges them with those of the pod",
    ),
    **dict.fromkeys(
        ("regex_replace", "regexReplaceAll", "regex_search", "regex_findall", "regexMatch", "regexFind"),
        "a template has no regular expressions: | replace takes plain text, and the `pattern` of a parameter in "
        "template.yaml says which values it takes",
    ),
    **dict.fromkeys(
        ("sha256sum", "sha256", "sha1sum", "sha1", "hash", "md5", "md5sum"),
        "leave it out: when the text of a file changes, its ConfigMap gets a new name",
    ),
    **dict.fromkeys(("ternary",), "write {{ a if condition else b }}"),
    **dict.fromkeys(("empty", "falsy"), "write {% if not params.x %}"),
    **dict.fromkeys(("truthy", "present"), "write {% if params.x %}"),
    **dict.fromkeys(("match", "regex", "matches", "search"), 'write params.x.startswith("a"), or "a" in params.x'),
    **dict.fromkeys(("contains", "includes"), 'write "a" in params.x'),
    **dict.fromkeys(("startswith", "endswith"), 'write params.x.startswith("a"), or .endswith'),
    "version": ('cluster.version is a string such as "1.33"; write (cluster.version.split(".")[1] | int) >= 30'),
    **dict.fromkeys(("random", "shuffle", "hash_id"), "a template gives the same result each time"),
    **dict.fromkeys(("json_query", "jsonpath", "jmespath"), "write the path, as in params.x.a"),
    **dict.fromkeys(("hasKey", "has"), 'write {% if "key" in params.x %}'),
    **dict.fromkeys(
        NAMED.keys() - set(EMBEDDED),
        "it is only for text files; in YAML and JSON, do not quote values, except inside a shell script (`| "
        "shell_quote`) and inside JSON text (`| json_quote`)",
    ),
}
#: Methods that are not available, with what is said about them.
METHOD_HABITS = {
    **dict.fromkeys(
        ("append", "extend", "insert", "push", "add", "remove", "pop", "sort"),
        "a list cannot be changed: write {{ a + b }} for two lists, or each item in a {% for %}",
    ),
    **dict.fromkeys(("update", "set", "setdefault"), "a mapping cannot be changed: write its keys one by one"),
    **dict.fromkeys(("has_key", "containsKey", "has"), 'write {% if "key" in params.x %}'),
    **dict.fromkeys(("format", "format_map"), f"join with ~: write {JOINED}"),
    **dict.fromkeys(("contains", "includes", "indexOf"), 'write {% if "a" in params.x %}'),
    **dict.fromkeys(("join",), 'write {{ params.x | join(",") }}'),
    **dict.fromkeys(("length", "size", "len"), "write {{ params.x | length }}"),
    **dict.fromkeys(("isEmpty", "empty", "is_empty", "isBlank"), "write {% if not params.x %}"),
    **dict.fromkeys(("toString", "to_s", "str", "string"), "write {{ params.x | string }}"),
    **dict.fromkeys(("toInt", "to_i", "int", "intValue"), "write {{ params.x | int }}"),
    **dict.fromkeys(("toLowerCase", "downcase", "toLower"), "write {{ params.x.lower() }}"),
    **dict.fromkeys(("toUpperCase", "upcase", "toUpper"), "write {{ params.x.upper() }}"),
    **dict.fromkeys(("substring", "substr", "slice"), "write {{ params.x[0:2] }}"),
    **dict.fromkeys(("trim", "chomp", "strip_all"), "write {{ params.x.strip() }}"),
    **dict.fromkeys(("forEach", "each", "map", "filter", "select"), "write {% for item in params.x %}"),
    **dict.fromkeys(("first", "last"), "write {{ params.x | first }}, or | last"),
    **dict.fromkeys(("concat", "plus"), "write a ~ b for strings, a + b for lists"),
    **dict.fromkeys(("replaceAll", "gsub", "sub"), 'write {{ params.x.replace("a", "b") }}'),
    **dict.fromkeys(("iteritems", "entries", "entrySet"), "write params.x.items()"),
    **dict.fromkeys(("equals", "eq"), "write params.x == ..."),
    **dict.fromkeys(("isNull", "isNil", "is_none"), "write params.x is none"),
    **dict.fromkeys(("isDefined", "exists"), "write params.x is defined"),
    **dict.fromkeys(("match", "matches", "test", "search"), "a template has no regular expressions"),
}
#: Functions of Jinja's whose name is a value here.
CALLED = {"namespace": REFUSED["NSRef"].replace("{% set a.b = ... %}", "namespace()")}


def refused_name(name: str) -> str:
    """What to say about a name that Jinja keeps for itself."""
    return f"`{name}` is not available in templates" + (f"; {OWN[name]}" if name in OWN else "")


def missing_file(name: str, files: Collection[str]) -> str:
    """What to say about another file that the template does not have; `files` are those that it can include."""
    begin = f'no file "{name}" in this template'
    if "/" in name and (last := name.rpartition("/")[2]) not in files:
        return f"{begin}, because a template is a single folder; copy {last} into it and include it by that name"
    if name.endswith(".j2"):
        return begin + hint(name, files)
    own = f"{name.rpartition('.')[0] or name}.j2"
    return f'a template can include only .j2 files; rename {name} to {own}, and include "{own}"'
