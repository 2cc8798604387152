"""The reference of a template for those who use it, in Markdown: parameters, files, what it is for and what it adds."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from injector.authoring.template_summary import as_a_path, brought_by, covered_words, filled_by, only_judges
from injector.diagnostics import Diagnostic
from injector.names import WANTED
from injector.pods.context import as_list
from injector.settings import Settings
from injector.templates.parameter_keywords import FORMATS
from injector.templates.parameter_schema import shown_name
from injector.templates.parameters import only
from injector.templates.template import SETTERS, UNSET, AppliesTo, Parameter, Template

_Schema = Mapping[str, Any]
_WORDS = WANTED | {"boolean": "`true` or `false`", "object": "an object, as JSON"}
_UNITS = (("Length", "character", "characters"), ("Items", "item", "items"), ("Properties", "key", "keys"))


def takes(schema: _Schema) -> str:
    """The type with its format and bounds in words: `an integer from 1 to 9`, `a list of ports, up to 15 items`."""
    if "const" in schema:
        return f"only {code(_text(schema['const']))}"
    if "enum" in schema:
        return "one of " + ", ".join(code(_text(value)) for value in schema["enum"])
    rest = [*_sizes(schema)]
    if "multipleOf" in schema:
        rest.append(f"a multiple of {schema['multipleOf']}")
    if "pattern" in schema:
        rest.append(f"matching {code(schema['pattern'])}")
    if schema.get("uniqueItems") is True:
        rest.append("no duplicates")
    words = {
        "minimum": "from",
        "maximum": "to" if "minimum" in schema else "up to",
        "exclusiveMinimum": "above",
        "exclusiveMaximum": "below",
    }
    bounds = (f"{word} {schema[key]}" for key, word in words.items() if key in schema)
    return ", ".join([" ".join([_kind(schema), *bounds]), *rest])


def code(text: str) -> str:
    """Text as code on one line, whatever backticks are in it (CommonMark 0.31, 6.1); empty stays empty."""
    text = " ".join(text.split())
    if not text:
        return ""
    fence = "`" * (max(map(len, re.findall("`+", text)), default=0) + 1)
    pad = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{fence}{pad}{text}{pad}{fence}"


def _kind(schema: _Schema) -> str:
    kind, form = schema.get("type", "string"), schema.get("format")
    if form == "port" and ("minimum" in schema or "maximum" in schema):
        return "a port"
    if form == "dns-label":
        return FORMATS[form].words.replace("63", str(min(63, schema.get("maxLength", 63))))
    if form in FORMATS:
        return FORMATS[form].words
    items = schema.get("items")
    if kind == "array" and isinstance(items, Mapping):
        return f"a list, comma-separated or as JSON, each {takes(items)}"
    return " or ".join(_WORDS.get(k, "null") for k in as_list(kind))


def _sizes(schema: _Schema) -> Iterator[str]:
    for key, unit, units in _UNITS:
        low, high = schema.get(f"min{key}"), schema.get(f"max{key}")
        if key == "Length" and schema.get("format") == "dns-label":
            high = None  # the words of the format have it
        counted = f"{high} {unit if high == 1 else units}"
        if low and high is not None:
            yield counted if low == high else f"{low} to {high} {units}"
        elif low:
            yield f"at least {low} {unit if low == 1 else units}"
        elif high is not None:
            yield f"up to {counted}"


def _text(value: Any) -> str:
    return value if isinstance(value, str) and value else json.dumps(value, ensure_ascii=False)


#: What is before and behind the part of a README that is kept equal to the reference.
BEGIN = "<!-- injector docs: begin -->"
END = "<!-- injector docs: end -->"

_DELIVERY = {
    "configmap": "as a ConfigMap in the pod's namespace, mounted by the sidecar",
    "annotation": "as annotations of the pod, mounted by the sidecar; nothing is created",
}


class SectionError(ValueError):
    """A README has the marks of the section not at all, not both, or in the wrong order; `diagnostic` says which."""

    def __init__(self, message: str, help: str = "") -> None:  # noqa: A002
        super().__init__(message)
        self.diagnostic = Diagnostic("readme-parameters", "error", message, help)


def reference(template: Template, settings: Settings | None = None) -> str:
    """The whole page: a heading with the name, the description, and `section`."""
    return f"# {template.name}\n\n{template.description or 'No description.'}\n\n{section(template, settings)}"


def section(template: Template, settings: Settings | None = None) -> str:
    """What the page says below its description: sections with `##` headings, ending in one line end."""
    settings = settings or Settings()
    rest = (
        [*_covered(template), *_fills(template)] if template.why_not_injected else [*_pods(template), *_adds(template)]
    )
    parts = [*_parameters(template, settings), *_files(template), *rest]
    return "\n".join(parts).strip("\n") + "\n"


def with_section(readme: str, template: Template, settings: Settings | None = None) -> str:
    """A README with the section between its marks made anew, with its line ends; all else stays.

    Raises SectionError without the marks.
    """
    begin, end = readme.find(BEGIN), readme.find(END)
    if begin < 0 or end < begin:
        raise SectionError(
            "has no section for the output of `injector docs`",
            f"put these two lines where it should be:\n{BEGIN}\n{END}",
        )
    if readme.count(BEGIN) > 1 or readme.count(END) > 1:
        raise SectionError(f"has more than one section: {BEGIN} and {END} must each occur only once")
    written = f"{BEGIN}\n\n{section(template, settings)}\n"
    line_end = "\r\n" if readme[begin + len(BEGIN) :].startswith("\r\n") else "\n"
    return readme[:begin] + written.replace("\n", line_end) + readme[end:]


def _parameters(template: Template, settings: Settings) -> Iterator[str]:
    yield "## Parameters\n"
    if not template.parameters:
        yield "None.\n"
        return
    suffix = settings.parameter_suffix(template.name)
    free = all(p.setters == SETTERS for p in template.parameters.values())
    exception = "" if free else ", unless its row says who may set it"
    subject = "object" if template.why_not_injected else "pod"
    yield f"Set each with an annotation of the {subject} or of its namespace, or in the settings{exception}.\n"
    rows = (
        (
            code(p.name),
            "none" if p.setters == ("settings",) else code(f"{suffix}{shown_name(p)}"),
            _takes(p),
            shown_default(p),
            described(p),
        )
        for p in template.parameters.values()
    )
    yield from _table(("parameter", "annotation", "takes", "default", "what it is"), rows)


def _takes(parameter: Parameter) -> str:
    """What it takes; of a family how many members there may be, and what each takes."""
    if parameter.member is None:
        return takes(parameter.schema)
    sizes = next(_sizes(parameter.schema), "any number of keys")
    names = parameter.schema.get("propertyNames")
    of_names = f"; `<name>` is {takes({'type': 'string', **names})}" if isinstance(names, Mapping) else ""
    return f"{sizes.replace('key', 'annotation')}, each {takes(parameter.member.schema)}{of_names}"


def shown_default(parameter: Parameter) -> str:
    """A parameter's default as code, or the word for none."""
    if parameter.default is UNSET:
        return "required" if parameter.required else "none"
    if parameter.member is not None and not parameter.default:
        return "none"
    return "empty" if parameter.default == "" else code(_text(parameter.default))


def described(parameter: Parameter) -> str:
    """What a parameter is for, and who may set it where that is not everybody."""
    text = " ".join(parameter.description.split())
    if parameter.setters != SETTERS:
        roles = only(parameter)
        text = f"{text} {roles[0].upper()}{roles[1:]} may set it.".strip()
    if parameter.open:
        text = f"{text} Pods of a `required` namespace may set it too.".strip()
    return f"Deprecated. {text}" if parameter.schema.get("deprecated") is True else text


def _files(template: Template) -> Iterator[str]:
    if not template.files:
        return
    yield "## Config files\n"
    yield f"Delivered {_DELIVERY[template.delivery]}.\n"
    rows = ((code(f.name), code(f.template), code(" ".join(f.validate))) for f in template.files.values())
    yield from _table(("file", "made from", "validated by"), rows)


def _covered(template: Template) -> Iterator[str]:
    """Of a template that is for a path: what it is for, and how it gets there."""
    yield "## What it is for\n"
    yield f"- {covered_words(template.applies_to)}."
    if template.selector is not None:
        yield f"- Only objects with labels {code(_json(template.selector))}."
    if template.namespaces is not None:
        yield f"- Only in namespaces with {code(_json(template.namespaces))}."
    yield "- You list it in the settings, below `paths`, at a URL path of the injector. An annotation cannot name it.\n"
    yield f"```yaml\n{as_a_path(template)}```\n"


def _fills(template: Template) -> Iterator[str]:
    """Of a template that is for a path: what of an object it fills in."""
    yield "## What it adds\n"
    fields = filled_by(template)
    if fields is None:
        yield "That depends on its required parameters.\n"
    elif not fields:
        judges = "Nothing: the template lets an object through, warns or refuses it.\n"
        depends = "That depends on the object.\n"
        yield judges if only_judges(template) else depends
    else:
        yield "To a sample object with an empty `spec`, it adds:\n"
        yield f"- Fields: {', '.join(code(field) for field in fields)}"


def _pods(template: Template) -> Iterator[str]:
    yield "## Which pods\n"
    if template.selector is not None:
        yield (
            f"- Pods that match {code(_json(template.selector))}, if no annotation names a template. Other pods get "
            "it only if an annotation or the settings name it."
        )
    else:
        yield "- Pods for which an annotation or the settings name this template."
    if template.namespaces is not None:
        yield f"- Only in namespaces with {code(_json(template.namespaces))}."
    word = "get it as well" if template.host_network == "inject" else "do not get it"
    yield f"- Pods with `hostNetwork: true` {word}."
    if template.applies_to != AppliesTo():
        yield f"- At a path, if the settings list it there: {covered_words(template.applies_to)}."
    if template.overridable:
        has = "If a pod in a `required` namespace has a container of the sidecar's name"
        yield f"- {has}, this container may set only: {', '.join(map(code, sorted(template.overridable)))}."
    if template.shared:
        volumes = ", ".join(map(code, template.shared))
        yield f"- In a `required` namespace the app may mount only these volumes of the template: {volumes}."
    yield ""


def _adds(template: Template) -> Iterator[str]:
    yield "## What it adds\n"
    brought = brought_by(template)
    if brought is None:
        yield "That depends on its required parameters.\n"
        return
    if not brought.containers and not brought.lists:
        fails = f"Nothing: for a pod with port 8080, the template fails with: {brought.refuses}\n"
        yield fails if brought.refuses else "It adds nothing to a sample pod with port 8080.\n"
        return
    condition = "every parameter has its default"
    if any(p.required for p in template.parameters.values()):
        condition = f"each required parameter has its example, and {condition.replace('every', 'every other')}"
    yield f"The template adds this to a pod with port 8080 if sidecars are native, and if {condition}:\n"
    if brought.containers:
        rows = (
            (code(c.name), c.kind, code(c.image), ", ".join(c.ports), ", ".join(c.requests), ", ".join(c.limits))
            for c in brought.containers
        )
        yield from _table(("container", "kind", "image", "ports", "requests", "limits"), rows)
    yield from (f"- {label}: {', '.join(map(code, values))}" for label, values in brought.lists)


def _table(heads: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    yield f"| {' | '.join(heads)} |"
    yield f"|{' --- |' * len(heads)}"
    yield from ("| " + " | ".join(cell.replace("|", "\\|") or " " for cell in row) + " |" for row in rows)
    yield ""


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
