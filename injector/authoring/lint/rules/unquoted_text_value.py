"""A rule about values in text files."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import msgspec

from injector.authoring.file_syntax import bare_hole
from injector.authoring.lint.boundary_values import inner_parameter
from injector.authoring.lint.rules._reading import uses_in_holes
from injector.authoring.lint.subject import Finding, Findings, Subject
from injector.errors import InjectionError
from injector.names import shortened
from injector.reasons import Reason
from injector.templates.parameter_values import takes_value, value_of
from injector.templates.program import is_document
from injector.templates.quoting import USE_QUOTE, quoting_advice
from injector.templates.render import check_source
from injector.templates.template import Parameter

SEVERITY = "warning"

#: The syntaxes in which a string without quotes is no string.
_QUOTES = ("hcl", "json", "lua", "toml")
#: What is a value without quotes there, or the name of one.
_LITERAL = re.compile(r"-?\d[\d._]*\Z|true\Z|false\Z|nil\Z|null\Z|[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+\Z|\Z")
#: Texts that are harmless in a value, and more than a name in the place of one.
_NO_NAMES = tuple(case for text in ("a=b", "-a", "a.b", "a:b", "a/b", "a,b") for case in (text, text.upper()))
#: Characters that text files' syntaxes are made of; a schema that takes none of them within a word is bounded.
_SYNTAX = " \t\n\"';#$\\{}()<>|&*`!~?"


def unquoted_text_value(subject: Subject) -> Findings:
    """A text file contains a parameter without quoting, and the parameter allows values that need quoting.

    A text file has no structure that keeps a value in its place. So the injector refuses a value that could change the
    file's syntax, such as one with a blank, a quote or a `;`. The parameter's schema allows such values, but a pod that
    sets one gets no sidecar. Use the filter `quote`, which knows the file's syntax by the file's name or by `syntax:`
    in template.yaml. Write no quotes of your own around a value with this filter, because that is an error. Or limit
    the parameter by `format`, `enum` or `pattern`, so that no value needs quoting. In HCL, JSON and Lua a string always
    needs quotes. So in these files the rule also reports a parameter that fills a whole value without quotes, even if
    `format`, `enum` or `pattern` limits it.

    The rule also reports a parameter that stands where a key, a variable's name, an option or a command begins, if its
    value can be more than that: `PATH=/evil:` in front of `_URL=` sets another variable. Give such a parameter a
    pattern.

    Source: docs/templates.md, "Config files".

    Bad:
        # template.yaml
        description: Ships the app's logs.
        parameters:
          title: {type: string, maxLength: 80, default: logs, description: What the log is called.}
        files:
          shipper.conf: {}
        # shipper.conf.j2
        title = {{ params.title }}
        # overlay.yaml.j2
        spec:
          containers:
          - name: shipper
            image: example.com/shipper:1.2
            volumeMounts:
            - {name: shipper-config, mountPath: /etc/shipper, readOnly: true}
          volumes:
          - name: shipper-config
            configMap: {name: "{{ files.configmap }}"}

    Good:
        # template.yaml
        description: Ships the app's logs.
        parameters:
          title: {type: string, maxLength: 80, default: logs, description: What the log is called.}
        files:
          shipper.conf: {syntax: toml}
        # shipper.conf.j2
        title = {{ params.title | quote }}
    """
    declared = subject.variables()
    reported = set()
    for file in _text_files(subject):
        for variable, offset, part, alone in uses_in_holes(subject.sources[file]):
            parameter = declared.get(variable) if alone else None
            if parameter is None or (part == "item" and parameter.type != "array"):
                continue
            filled = _part(parameter) if part else parameter
            syntax = subject.template.program.roots[file].syntax
            if _needs_quotes(filled, subject, file, offset):
                if syntax != "toml":  # the rule renders tells it of that
                    message = f"{parameter.name} is a string and needs quotes in {syntax}, but has none here"
                    name, hole = f"params.{variable}", subject.template.program.expression(file, offset).strip(" +-")
                    quoted = hole == name and (name, f"{name} | quote")
                    yield subject.finding(message, file, offset, USE_QUOTE, replace=quoted)
                continue
            example = _harmful(filled)
            if example is not None:
                reported.add(parameter.name)
                message = f"{parameter.name} may be {shortened(example)}, and then this file does not render"
                help_ = f"{quoting_advice(syntax)}; or give the parameter a format or a pattern"
                yield subject.finding(message, file, offset, help_)

    for parameter in subject.parameters:
        if parameter.name not in reported:
            yield from _no_name(subject, parameter)


def _no_name(subject: Subject, parameter: Parameter) -> Findings:
    """A finding if the parameter stands in the place of a name and can be more than one: as the render says."""
    usual = next((rendering.context for rendering in subject.renderings if not rendering.free), None)
    if usual is None:
        return
    for source in _text_files(subject):
        for value in _texts(parameter):
            try:
                params = {**usual.params, parameter.variable: value}
                check_source(subject.template, msgspec.structs.replace(usual, params=params), source)
            except InjectionError as error:
                if error.reason is Reason.TEMPLATE_FAILED:
                    message = f"{parameter.name} may be {shortened(value)}, and then this file does not render"
                    place = error.diagnostic.place or subject.manifest(("parameters", parameter.name))
                    yield Finding(message, place, "give the parameter a format or a pattern")
                    break


def _texts(parameter: Parameter) -> Iterator[Any]:
    """Values of a parameter with a text that is harmless anywhere but in a name."""
    for text in _NO_NAMES:
        for value in (text, {text: "a"}, {"a": text}):
            if takes_value(parameter, value):
                yield value_of(parameter, value)


def _part(parameter: Parameter) -> Parameter | None:
    """What a list's items or a mapping's values have to be, where its schema says so."""
    return inner_parameter(parameter.schema.get("items" if parameter.type == "array" else "additionalProperties"))


def _needs_quotes(parameter: Parameter | None, subject: Subject, file: str, offset: int) -> bool:
    """Whether a hole is a whole value in a syntax that has quotes around strings, and the parameter is a plain word."""
    if parameter is None or parameter.type != "string" or subject.template.program.roots[file].syntax not in _QUOTES:
        return False
    place = subject.template.program.place(file, offset)
    enum = parameter.schema.get("enum")
    candidates = enum if isinstance(enum, list) else [parameter.default]
    plain = any(isinstance(word, str) and not _LITERAL.match(word) for word in candidates)
    hole = bare_hole(place.text, place.column - 1)
    return plain and hole is not None and hole.start("hole") < place.column <= hole.end("hole")


def _harmful(parameter: Parameter | None) -> str | None:
    """A value that the parameter takes and a text file does not, or None."""
    if parameter is None or parameter.type != "string":
        return None
    usual = parameter.default if isinstance(parameter.default, str) and parameter.default else "a"
    enum = parameter.schema.get("enum")
    candidates = [f"{usual}{c}b" for c in _SYNTAX] + [f"a{c}b" for c in _SYNTAX] + list(_SYNTAX)
    for word in enum if isinstance(enum, list) else candidates:
        if isinstance(word, str) and any(character in _SYNTAX for character in word) and takes_value(parameter, word):
            return word
    return None


def _text_files(subject: Subject) -> list[str]:
    """The sources of config files that are text."""
    return [source for source in {spec.template for spec in subject.template.files.values()} if not is_document(source)]
