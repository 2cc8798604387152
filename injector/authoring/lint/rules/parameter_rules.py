"""Rules about the declarations of parameters."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from injector.authoring.lint.rules._reading import parameters_read
from injector.authoring.lint.subject import Finding, Findings, Subject
from injector.diagnostics import Path, Place
from injector.pods.context import mapping

SEVERITY = "warning"

_NAMES = re.compile(
    r"(^|-)(exclude[ds]?|skip(ped)?|ignored?|bypass|drop|trust(ed)?|allow(ed)?|command|args|run-as-user)(-|$)"
)
_NAMES_OF_USERS = ("user", "user-id", "uid")


def parameter_name(subject: Subject) -> Findings:
    """The names of two parameters differ only by dashes.

    Why: if you misspell the name of one parameter, you set the other one. The message about a misspelt name ignores
    dashes when it suggests a name, so it may suggest the wrong one of the two.

    Bad:
        # template.yaml
        description: A tool.
        parameters:
          time-out: {type: integer, minimum: 1, maximum: 60, default: 5, description: Seconds to connect.}
          timeout: {type: integer, minimum: 1, maximum: 60, default: 5, description: Seconds to answer.}
        # overlay.yaml.j2
        metadata:
          annotations: {example.com/timeouts: "{{ params.time_out }} {{ params.timeout }}"}

    Good:
        # template.yaml
        description: A tool.
        parameters:
          connect-timeout: {type: integer, minimum: 1, maximum: 60, default: 5, description: Seconds to connect.}
          answer-timeout: {type: integer, minimum: 1, maximum: 60, default: 5, description: Seconds to answer.}
        # overlay.yaml.j2
        metadata:
          annotations: {example.com/timeouts: "{{ params.connect_timeout }} {{ params.answer_timeout }}"}

    Proof: both names are valid annotation keys; only people confuse them.
    """
    names: dict[str, str] = {}
    for name in subject.template.parameters:
        first = names.setdefault(name.replace("-", ""), name)
        if first != name:
            yield Finding(
                f"the names of parameters `{name}` and `{first}` differ only in dashes",
                subject.manifest(("parameters", name)),
                "rename one of the two",
            )


def parameter_open(subject: Subject) -> Findings:
    """A parameter that pods may set in a `required` namespace can keep the sidecar from its work.

    The rule checks parameters with `pods: may-set` that set an image, a user ID, a command or its arguments, and
    those whose names say that something is excluded, skipped, ignored, allowed or trusted. It also reports `image`,
    `command` or `args` in `overridable`, if the template has a parameter of the same name without `pods: may-set`.

    Why: a `required` namespace guarantees that every pod has its sidecar. But with another image, or if every
    address is excluded, the sidecar is there and does nothing. Without `pods: may-set`, only the namespace and the
    settings can set a parameter there. If no value of the parameter weakens the sidecar, disable this rule on the
    line and say why.

    Source: docs/templates.md, "Parameters".

    Bad:
        # template.yaml
        description: A proxy.
        parameters:
          image: {type: string, format: image, default: "example.com/proxy:1.2", pods: may-set, description: Its image.}
        # overlay.yaml.j2
        spec:
          containers:
          - {name: proxy, image: "{{ params.image }}"}

    Good:
        # template.yaml
        description: A proxy.
        parameters:
          image: {type: string, format: image, default: "example.com/proxy:1.2", description: Its image.}

    Proof: the API server accepts the pod with another image as well.
    """
    template = subject.template
    if template.why_not_injected or not any(next(rendered.sidecars(), None) for rendered in subject.renderings):
        return
    for name, parameter in template.parameters.items():
        is_user = parameter.type == "integer" and name in _NAMES_OF_USERS
        is_image = (parameter.member or parameter).schema.get("format") == "image"
        if parameter.open and (is_image or is_user or _NAMES.search(name)):
            yield Finding(
                f"with parameter `{name}`, a pod of a required namespace may weaken its sidecar",
                subject.manifest(("parameters", name, "pods")),
                "remove `pods: may-set`; the namespace and the settings can still set it",
            )
    for field in ("image", "command", "args"):
        closed = template.parameters.get(field)
        if field in template.overridable and closed is not None and not closed.open:
            yield Finding(
                f"parameter `{field}` is closed to the pods of a required namespace, but `overridable` opens the field",
                subject.manifest(("overridable",)),
                f"remove {field} from the parameters or from `overridable`",
            )


def parameter_undescribed(subject: Subject) -> Findings:
    """A parameter, or the template, has no description.

    Why: `injector docs` prints the description, and users read it to choose a value. The name alone does not say
    which unit a value has, or what 0 means.

    Bad:
        # template.yaml
        description: A tool.
        parameters:
          delay-seconds: {type: integer, minimum: 0, maximum: 60, default: 5}
        # overlay.yaml.j2
        metadata:
          annotations: {example.com/delay: "{{ params.delay_seconds }}"}

    Good:
        # template.yaml
        description: A tool.
        parameters:
          delay-seconds: {type: integer, minimum: 0, maximum: 60, default: 5, description: Seconds to stop.}

    Proof: only people read descriptions.
    """
    if not subject.template.description:
        yield Finding(
            "the template has no description", subject.manifest(("description",)), "say in one sentence what it is for"
        )
    for name, parameter in subject.template.parameters.items():
        if not parameter.description.strip():
            yield Finding(
                f"parameter `{name}` has no description",
                subject.manifest(("parameters", name)),
                "say what it does, in which unit it is, and what 0 or a missing value means",
            )


def parameter_unused(subject: Subject) -> Findings:
    """A parameter is declared and never used.

    No file that the template renders or includes reads `params.<name>`.

    Why: an annotation that sets the parameter has no effect, and there is no error.

    Bad:
        # template.yaml
        description: A tool.
        parameters:
          log-level: {type: string, enum: [info, debug], default: info, description: How much it logs.}
        # overlay.yaml.j2
        spec: {priorityClassName: sidecars}

    Good:
        # overlay.yaml.j2
        metadata:
          annotations: {example.com/log-level: "{{ params.log_level }}"}

    Proof: the parameter has no effect, so no API server can refuse it.
    """
    read = parameters_read(subject)
    if read is None:
        return
    for name, parameter in subject.template.parameters.items():
        if parameter.variable not in read:
            message = f"parameter `{name}` is not used: no file reads params.{parameter.variable}"
            use = _as_text(subject, f"params.{parameter.variable}")
            if use is None:
                yield Finding(message, subject.manifest(("parameters", name)), "use it, or take it out")
            else:
                yield Finding(
                    f"{message}. Here it is plain text, not an expression",
                    use,
                    f"write {{{{ params.{parameter.variable} }}}}",
                )


def _as_text(subject: Subject, name: str) -> Place | None:
    """Where a parameter stands in brackets of another language: `${params.x}`, `{ params.x }`, `$(params.x)`."""
    pattern = re.compile(rf"[{{(<]\s*({re.escape(name)})\s*[)}}>]")
    for file, text in subject.sources.items():
        use = pattern.search(text) if file.endswith(".j2") else None
        if use:
            line = text.count("\n", 0, use.start(1)) + 1
            return subject.line_place(file, line, use.start(1) - text.rfind("\n", 0, use.start(1)))
    return None


#: Keywords that name each value, or combine schemas, whose bounds nobody can read off.
_CLOSED = {"enum", "const", "anyOf", "oneOf", "allOf", "not"}


def parameter_unbounded(subject: Subject) -> Findings:
    """A parameter accepts any value: it has no format, pattern, list of values or limits.

    A string needs `format`, `pattern`, `enum`, `const` or `maxLength`. A number needs a lower and an upper limit,
    `format: port`, `enum` or `const`. A list needs `items` and `maxItems`. An object needs `properties`, or a schema
    for `additionalProperties` or `propertyNames`. The rule also checks what is inside lists and objects.

    Why: somebody will set a value that makes no sense, such as a negative timeout, the port 70000 or a name with a
    blank. If the parameter has limits, a message at once tells the author of the pod which values are allowed. If it
    has no limits, such a value keeps the sidecar from starting.

    Bad:
        # template.yaml
        description: A tool.
        parameters:
          user: {type: integer, default: 1000, description: Its user.}
          name: {type: string, default: tool, description: Its name.}
        # overlay.yaml.j2
        metadata:
          annotations: {example.com/user: "{{ params.user }} {{ params.name }}"}

    Good:
        # template.yaml
        description: A tool.
        parameters:
          user: {type: integer, minimum: 1, maximum: 65535, default: 1000, description: Its user.}
          name: {type: string, format: dns-label, default: tool, description: Its name.}

    Proof: the schema belongs to the injector; the API server never sees it.
    """
    for name, parameter in subject.template.parameters.items():
        if parameter.member is not None and "maxProperties" not in parameter.schema:
            message = (
                f"parameter `{name}` stands for many annotations, and a pod may set any number: give it maxProperties"
            )
            yield Finding(message, subject.manifest(("parameters", name)), about=("maxProperties",))
        for path, keyword, missing in _open(parameter.schema, ()):
            part = f"parameter `{'.'.join([name, *(str(step) for step in path)])}`"
            place = subject.manifest(("parameters", name, *path))
            yield Finding(f"{part} takes {missing}", place, about=(*path, keyword))


_Schema = Mapping[str, Any]
#: Path, the keyword that is missing, and what the schema takes, in words.
_Missing = Iterator[tuple[Path, str, str]]


def _open(schema: _Schema, path: Path) -> _Missing:
    """The parts of a schema without bounds."""
    if schema.keys() & _CLOSED:
        return
    kind = schema.get("type")
    if kind == "string" and not schema.keys() & {"format", "pattern", "maxLength"}:
        yield path, "maxLength", "anything: give it a format, a pattern, an enum or a maxLength"
    elif kind in ("integer", "number") and schema.get("format") is None:
        yield from _of_number(schema, path)
    elif kind == "array":
        yield from _of_list(schema, path)
    elif kind == "object":
        yield from _of_object(schema, path)


def _of_number(schema: _Schema, path: Path) -> _Missing:
    lower = schema.keys() & {"minimum", "exclusiveMinimum"}
    upper = schema.keys() & {"maximum", "exclusiveMaximum"}
    if lower and not upper:
        yield path, "maximum", "any number above its minimum: give it a maximum"
    elif upper and not lower:
        yield path, "minimum", "any number below its maximum: give it a minimum"
    elif not lower:
        yield path, "minimum", "any number: give it a minimum and a maximum"


def _of_list(schema: _Schema, path: Path) -> _Missing:
    items = schema.get("items")
    if "maxItems" not in schema:
        yield path, "maxItems", "any number of items: give it maxItems"
    if isinstance(items, Mapping):
        yield from _open(items, (*path, "items"))
    else:
        yield path, "items", "items of any kind: add the keyword `items`"


def _of_object(schema: _Schema, path: Path) -> _Missing:
    properties, additional = schema.get("properties"), schema.get("additionalProperties")
    if not properties and not isinstance(additional, Mapping) and "propertyNames" not in schema:
        yield path, "properties", "any keys with any values: give it properties, or a schema for additionalProperties"
    for name, inner in mapping(properties).items():
        yield from _open(mapping(inner), (*path, "properties", name))
    yield from _open(mapping(additional), (*path, "additionalProperties"))
