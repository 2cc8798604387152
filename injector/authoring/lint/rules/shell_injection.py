"""A value is a part of a script, and could add commands to it.

The rule checks scripts after `sh -c`, `python -c`, `perl -e` and `node -e`, in commands, arguments, probes and
lifecycle hooks. If a parameter is a string, the linter tries each character that the parameter's schema allows and that
has a special meaning at this place of the script. If a value goes through the filter `shell_quote`, and the script has
no quotes around the value, the shell reads the value as one word. So the rule does not report such a value.

Why: everybody who may set the parameter by an annotation could run any command in the sidecar, with its service
account, its files and its network. They could do so in a `required` namespace too, although a pod cannot replace the
sidecar there. A value that is not meant as an attack, but contains an apostrophe, keeps the sidecar from starting. It
is safest to keep values out of the script: put the value into a variable in `env`. Or pass it as an argument after the
script, and refer to it in the script as `"$1"`.

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
        args: ['echo "$1"', sh, "{{ params.greeting }}"]
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from injector.authoring.lint.rules._scripts import Script, harmful, is_harmful, scripts
from injector.authoring.lint.subject import Finding, RenderedSource, Rendering, Subject
from injector.diagnostics import Path, Place
from injector.errors import InjectionError
from injector.names import shortened
from injector.templates.parameter_schema import make_parameter
from injector.templates.parameter_values import value_of
from injector.templates.samples import sample_value
from injector.templates.template import UNSET, Parameter

SEVERITY = "error"

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


def check(subject: Subject) -> Iterator[Finding]:
    """One finding for each script and each parameter that can break out of it."""
    seen: set[tuple[Path, str, str]] = set()
    told: set[tuple[Path, str]] = set()
    for rendering in subject.renderings:
        for path, container in [*rendering.containers(), *rendering.everywhere()]:
            for script in scripts(container):
                where: Path = (*path, *script.path)
                if (where, script.text, script.language) in seen:
                    continue
                seen.add((where, script.text, script.language))
                for parameter in subject.template.parameters.values():
                    if (where, parameter.name) in told:
                        continue
                    value = _breaks_out(subject, rendering, where, script, parameter)
                    if value is not None:
                        told.add((where, parameter.name))
                        yield Finding(
                            f"{parameter.name} can be {shortened(value)}, which {_RUNS[script.language]} of "
                            f"container `{container.get('name')}` would run as a part of its script",
                            _hole(subject, rendering.overlay.place(where), parameter),
                            _HELP[script.language],
                        )


def _breaks_out(
    subject: Subject, rendering: Rendering, where: Path, script: Script, parameter: Parameter
) -> str | None:
    """A text that the parameter takes and that changes what the script means, or None."""
    for text, value in _hostile(parameter, harmful(script.language)):
        made = _with(subject, rendering, where, script, parameter, value)
        if made is None:
            continue
        if made.text == script.text and parameter.type == "string":
            return None  # it is not in this script
        if made.text.lower().count(text.lower()) <= script.text.lower().count(text.lower()):
            continue  # it was quoted
        start = made.text.lower().find(text.lower())
        while start >= 0:
            if any(is_harmful(made, start + offset) for offset in range(len(text))):
                return text
            start = made.text.lower().find(text.lower(), start + 1)
    return None


def _with(
    subject: Subject, rendering: Rendering, where: Path, script: Script, parameter: Parameter, value: Any
) -> Script | None:
    """The script as rendered with a value of the parameter; None if there is no script then."""
    params = {**rendering.context.params, parameter.variable: value}
    try:
        overlay = RenderedSource(subject.template, msgspec.structs.replace(rendering.context, params=params))
    except InjectionError:
        return None
    found: Any = overlay.value
    try:
        for step in where:
            found = found[step]
    except (KeyError, IndexError, TypeError):
        return None
    return Script(script.path, found, script.language) if isinstance(found, str) else None


def _hole(subject: Subject, place: Place, parameter: Parameter) -> Place:
    """Where the parameter is first written, from this place on; this place if a variable or macro writes it."""
    wanted = f"params.{parameter.variable}"
    lines = subject.sources.get(place.file, "").split("\n")
    for number, line in enumerate(lines[max(place.line - 1, 0) :], max(place.line, 1)):
        column = line.find(wanted)
        if column >= 0:
            return subject.line_place(place.file, number, column + 1)
    return place


def _hostile(parameter: Parameter, characters: str) -> Iterator[tuple[str, Any]]:
    """Texts with one of these characters, each with the value of the parameter that holds it."""
    for character in characters:
        for choices in _values(parameter, character):
            taken = next(((text, value) for text, value in choices if _takes(parameter, value)), None)
            if taken is not None:
                yield taken


def _takes(parameter: Parameter, value: Any) -> bool:
    try:
        value_of(parameter, value)
    except ValueError:
        return False
    return True


def _values(parameter: Parameter, character: str) -> Iterator[list[tuple[str, Any]]]:
    """Values with the character in a text: for each text within the parameter, some values to choose from."""
    schema = parameter.schema
    enum = schema.get("enum")
    if isinstance(enum, list):
        yield from ([(word, word)] for word in enum if isinstance(word, str) and character in word)
    elif parameter.type == "string":
        known = sample_value(parameter) if parameter.default is UNSET else parameter.default
        usual = known if isinstance(known, str) and known else "a"
        yield [(text, text) for text in (f"{usual}{character}b", f"a{character}b", f"a{character}{usual}")]
    elif parameter.type == "array":
        yield from ([(t, [v]) for t, v in choices] for choices in _inner(schema.get("items"), character))
    elif parameter.type == "object":
        known = sample_value(parameter) if parameter.default is UNSET else parameter.default
        whole = known if isinstance(known, dict) else {}
        properties = schema.get("properties")
        parts = {**properties} if isinstance(properties, Mapping) else {}
        if not parts or isinstance(schema.get("additionalProperties"), Mapping):
            parts["key"] = schema.get("additionalProperties")
        for name, inner in parts.items():
            for choices in _inner(inner, character):
                yield [(text, {**whole, name: value}) for text, value in choices]


def _inner(schema: Any, character: str) -> Iterator[list[tuple[str, Any]]]:
    """The same for what is inside a list or a mapping; any text if the schema does not describe it."""
    try:
        parameter = make_parameter("item", schema if isinstance(schema, Mapping) else {"type": "string"})
    except (ValueError, AttributeError):
        return
    yield from _values(parameter, character)
