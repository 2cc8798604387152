"""Rules about values within files and scripts of another syntax."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
from jinja2 import nodes

from injector.authoring.lint.boundary_values import inner_parameter
from injector.authoring.lint.rules._reading import sources_used
from injector.authoring.lint.rules._scripts import Script, harmful, is_harmful, scripts
from injector.authoring.lint.subject import Finding, Findings, RenderedSource, Rendering, Subject, syntax_tree
from injector.authoring.refusal_location import value_at
from injector.diagnostics import Path, Place
from injector.errors import InjectionError
from injector.names import shortened
from injector.pods.context import mapping
from injector.templates.parameter_values import takes_value
from injector.templates.program import is_document
from injector.templates.quoting import NAMED, USE_QUOTE
from injector.templates.samples import sample_value
from injector.templates.template import UNSET, Parameter

SEVERITY = "error"


def foreign_quoting(subject: Subject) -> Findings:
    """A text file quotes a value for the syntax of another kind of file.

    Each syntax has its own quoting. For example, quoting for JSON does not escape `${`, which HCL expands, or `$(`,
    which a shell runs. So if a value is quoted for another syntax, a part of the value may still have a meaning in this
    file, or end the string that contains the value. If a pod sets a value with such a part, the injection fails, and
    the pod gets no sidecar. Use the filter `quote`, which quotes a value for the syntax of the file. The injector knows
    the syntax by the file's name, or by `syntax:` in template.yaml. If it knows the syntax from neither, the rule also
    reports `quote` and `json_quote`: set `syntax:` for this file.

    Source: docs/templates.md, "Config files".

    Bad:
        # template.yaml
        description: Ships the app's logs.
        parameters:
          title: {type: string, maxLength: 80, default: logs, description: What the log is called.}
        files:
          agent.hcl: {}
        # agent.hcl.j2
        title = {{ params.title | json_quote }}
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
        # agent.hcl.j2
        title = {{ params.title | quote }}

    Proof: the program can read the file; the tests of each syntax show what a value can do in it.
    """
    syntaxes = {spec.template: spec.syntax for spec in subject.template.files.values()}
    for source, syntax in sorted(syntaxes.items()):
        for file in sorted(sources_used(subject, source)) if not is_document(source) else ():
            for name, offset in _filters(subject.sources[file]):
                place = subject.template.program.place(file, offset, name)
                if syntax and NAMED.get(name, syntax) != syntax:
                    message = f"{name} quotes for {NAMED[name]}, but {source} is {syntax}"
                    yield Finding(message, place, USE_QUOTE, replace=(name, "quote"))
                elif not syntax and name in ("quote", "json_quote") and not subject.failures:
                    # others name the syntax that nothing else does
                    to_do = "set the file's `syntax:` in template.yaml, and " + USE_QUOTE
                    yield Finding(f"{source} uses {name}, but the syntax of this file is not known", place, to_do)


def _filters(text: str) -> Iterator[tuple[str, int]]:
    """The filters that come last in what is written or set, with their offsets."""
    tree = syntax_tree(text)
    written: list[nodes.Node] = [node for output in tree.find_all(nodes.Output) for node in output.nodes]
    written += [assign.node for assign in tree.find_all(nodes.Assign)]
    for node in written:
        if isinstance(node, nodes.CondExpr):
            written += [expression for expression in (node.expr1, node.expr2) if expression is not None]
        elif isinstance(node, nodes.Filter) and node.node is not None:
            yield node.name, node.lineno - 1  # this environment counts characters


_RUNS = {"sh": "the shell", "python": "Python", "perl": "Perl", "node": "Node"}
_HELP = {
    "sh": "write `| shell_quote`, without quotes around it, or pass the value as an argument after the script and use "
    '"$1". Or give the parameter a format or a pattern',
    "python": (
        "pass the value as an argument after the script and read sys.argv, or give the parameter a format or a pattern"
    ),
    "perl": (
        "pass the value as an argument after the script and read @ARGV, or give the parameter a format or a pattern"
    ),
    "node": (
        "pass the value as an argument after the script and read process.argv, or give the parameter a format or a "
        "pattern"
    ),
}


def shell_injection(subject: Subject) -> Findings:
    """A value is a part of a script, and could add commands to it.

    The rule checks scripts after `sh -c`, `python -c`, `perl -e` and `node -e`, in commands, arguments, probes and
    lifecycle hooks. If a parameter is a string, the linter tries each character that the parameter's schema allows and
    that has a special meaning at this place of the script. If a value goes through the filter `shell_quote`, and the
    script has no quotes around the value, the shell reads the value as one word. So the rule does not report such a
    value.

    Why: everybody who may set the parameter by an annotation could run any command in the sidecar, with its service
    account, its files and its network. They could do so in a `required` namespace too, although a pod cannot replace
    the sidecar there. A value that is not meant as an attack, but contains an apostrophe, keeps the sidecar from
    starting. It is safest to keep values out of the script: put the value into a variable in `env`. Or pass it as an
    argument after the script, and refer to it in the script as `"$1"`.

    Bad:
        # template.yaml
        description: A tool.
        parameters:
          greeting: {type: string, maxLength: 80, default: hello, description: What it says first.}
        # overlay.yaml.j2
        spec:
          containers:
          - name: tool
            image: tool:1
            command: [sh, -c]
            args: ["echo '{{ params.greeting }}'"]

    Good:
        # overlay.yaml.j2
        spec:
          containers:
          - name: tool
            image: tool:1
            command: [sh, -c]
            args: ['echo "$1"', sh, "{{ params.greeting }}"]
    """
    checked: set[tuple[Path, str, str]] = set()
    reported: set[tuple[Path, str]] = set()
    for rendering in subject.renderings:
        for container_path, container in rendering.every_container():
            for script in scripts(container):
                path: Path = (*container_path, *script.path)
                if (path, script.text, script.language) in checked:
                    continue
                checked.add((path, script.text, script.language))
                for parameter in subject.parameters:
                    if (path, parameter.name) in reported:
                        continue
                    value = _breaks_out(subject, rendering, path, script, parameter)
                    if value is not None:
                        reported.add((path, parameter.name))
                        yield Finding(
                            f"{parameter.name} can be {shortened(value)}, which {_RUNS[script.language]} of "
                            f"container `{container.get('name')}` would run as a part of its script",
                            _hole(subject, rendering.overlay.place(path), parameter),
                            _HELP[script.language],
                        )


def _breaks_out(subject: Subject, rendering: Rendering, path: Path, script: Script, parameter: Parameter) -> str | None:
    """A text that the parameter takes and that changes what the script means, or None."""
    for text, value in _hostile(parameter, harmful(script.language)):
        params = {**rendering.context.params, parameter.variable: value}
        try:
            overlay = RenderedSource(subject.template, msgspec.structs.replace(rendering.context, params=params))
            rendered = value_at(overlay.value, path)
        except (InjectionError, KeyError, IndexError, TypeError):
            continue
        if not isinstance(rendered, str):
            continue
        hostile = script._replace(text=rendered)
        if hostile.text == script.text and parameter.type == "string":
            return None  # it is not in this script
        if hostile.text.lower().count(text.lower()) <= script.text.lower().count(text.lower()):
            continue  # it was quoted
        start = hostile.text.lower().find(text.lower())
        while start >= 0:
            if any(is_harmful(hostile, start + offset) for offset in range(len(text))):
                return text
            start = hostile.text.lower().find(text.lower(), start + 1)
    return None


def _hole(subject: Subject, place: Place, parameter: Parameter) -> Place:
    """Where the parameter is first written, from this place on; this place if a variable or macro writes it."""
    hole = subject.search(place.file, f"params.{parameter.variable}", place.line)
    return hole if hole.line else place


def _hostile(parameter: Parameter, characters: str) -> Iterator[tuple[str, Any]]:
    """Texts with one of these characters, each with the value of the parameter that holds it."""
    for character in characters:
        for choices in _values(parameter, character):
            accepted = next(((text, value) for text, value in choices if takes_value(parameter, value)), None)
            if accepted is not None:
                yield accepted


def _values(parameter: Parameter, character: str) -> Iterator[list[tuple[str, Any]]]:
    """Values with the character in a text: for each text within the parameter, some values to choose from."""
    enum = parameter.schema.get("enum")
    if isinstance(enum, list):
        yield from ([(word, word)] for word in enum if isinstance(word, str) and character in word)
    elif parameter.type == "string":
        usual = _usual_value(parameter)
        if not isinstance(usual, str) or not usual:
            usual = "a"
        yield [(text, text) for text in (f"{usual}{character}b", f"a{character}b", f"a{character}{usual}")]
    elif parameter.type == "array":
        yield from ([(t, [v]) for t, v in choices] for choices in _inner(parameter.schema.get("items"), character))
    elif parameter.type == "object":
        whole = mapping(_usual_value(parameter))
        for name, schema in _members(parameter.schema).items():
            for choices in _inner(schema, character):
                yield [(text, {**whole, name: value}) for text, value in choices]


def _usual_value(parameter: Parameter) -> Any:
    """The default, or a value of which the schema says that it may be."""
    return sample_value(parameter) if parameter.default is UNSET else parameter.default


def _members(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The members that a mapping may have, with their schemas; `key` is one of any name."""
    members = {**mapping(schema.get("properties"))}
    if not members or isinstance(schema.get("additionalProperties"), Mapping):
        members["key"] = schema.get("additionalProperties")
    return members


def _inner(schema: Any, character: str) -> Iterator[list[tuple[str, Any]]]:
    """Values, as of `_values`, of what is inside a list or a mapping; any text if the schema does not describe it."""
    parameter = inner_parameter(schema if isinstance(schema, Mapping) else {"type": "string"})
    if parameter is not None:
        yield from _values(parameter, character)
