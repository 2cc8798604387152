"""The template fails for a sample pod, or with a parameter at one of its limits.

The linter renders the template with its defaults for each sample pod. For one of the sample pods, it then renders the
template with each parameter at its limits: minimum and maximum, each value of an `enum`, both booleans, the shortest
and longest text, examples, empty and full lists. The linter also sets several parameters at once, in up to 150 ways. It
sets all optional parameters without a default together. It also sets pairs of parameters; each of the two is a boolean,
has an `enum`, or is optional without a default. A call of `fail(...)` or `deny(...)` is not a failure. The rule reports
every other error, a pod that the injection would refuse, and a config file whose syntax is not valid, if the injector
knows the syntax (for example TOML, XML or JSON).

Why: if the schema allows a value that the template cannot handle, nobody notices until a user sets this value. The
injection of the user's pod then fails with the reason `template-failed`.

Bad:
    # template.yaml
    description: A tool.
    parameters:
      targets: {type: array, items: {type: string, format: dns-label}, maxItems: 5, default: [a], description: Hosts.}
    # overlay.yaml.j2
    metadata:
      annotations:
        example.com/first: "{{ params.targets[0] }}"

Good:
    # overlay.yaml.j2
    metadata:
      annotations:
        example.com/first: "{{ params.targets | first | default('none') }}"
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from injector.advice import help_for
from injector.authoring.file_syntax import syntax_mistakes
from injector.authoring.lint.pod_schema import SchemasMissingError, schema_errors
from injector.authoring.lint.rules._names import APPS
from injector.authoring.lint.rules._slips import slips
from injector.authoring.lint.rules._values import numbered
from injector.authoring.lint.rules._volumes import missing_volumes
from injector.authoring.lint.subject import Finding, RenderFailure, Rendering, Subject
from injector.authoring.refusal_location import path_in
from injector.diagnostics import Diagnostic, Key, Place
from injector.pods.overlay import bare_value, plain_mapping
from injector.reasons import Reason
from injector.templates.template import OVERLAY

SEVERITY = "error"

#: The lists of a pod whose elements have names.
_PARTS = ("containers", "initContainers", "volumes")
#: Refusals that a template alone brings about.
_REFUSALS = (Reason.INVALID_POD, Reason.CONFLICT, Reason.TOO_LARGE, Reason.INTERNAL_ERROR)


def check(subject: Subject) -> Iterator[Finding]:
    """Renders that fail, and pods that the injection refuses."""
    if subject.not_served and subject.template.parameters:  # without any, it builds on another template
        yield Finding(
            f"the template works for none of the sample pods, so nothing was checked; it says: {subject.not_served}",
            subject.search(OVERLAY, "fail("),
            "give the parameters `examples` with which the template works for a pod",
        )
    reported: set[object] = set()
    broken = {failure.place for failure in subject.failures if failure.broken}
    for failure in subject.failures:
        key = (failure.reason, failure.parameter, failure.place, failure.diagnostic.path)
        if failure.place in broken or key in reported:
            continue
        reported.add(key)
        yield from _failed(subject, failure)
    yield from _unreadable(subject)
    for rendering in subject.renderings:
        if rendering.injection.reason in _REFUSALS and not rendering.free and not _told_elsewhere(subject, rendering):
            fault = rendering.injection.failures[0]
            if fault.path not in reported:
                reported.add(fault.path)
                yield _finding(fault, _place(rendering, fault), rendering.title)


def _unreadable(subject: Subject) -> Iterator[Finding]:
    """Text files that a parser of their syntax does not take."""
    lines = set()
    for rendering in subject.renderings:
        for name, file in rendering.files.items() if not (rendering.free or rendering.invented) else ():
            syntax = subject.template.files[name].syntax
            for mistake in syntax_mistakes(file.text, name, syntax, file.place_of) if syntax else ():
                if (mistake.place.file, mistake.place.line) not in lines:
                    lines.add((mistake.place.file, mistake.place.line))
                    yield Finding(
                        mistake.message, mistake.place, mistake.help or f"found with this sample: {rendering.title}"
                    )


def _finding(fault: Diagnostic, place: Place, title: str) -> Finding:
    help_ = help_for(fault)
    to_do = f"{help_} (found with this sample: {title})" if help_ else f"found with this sample: {title}"
    return Finding(fault.message, place, to_do, fault.path, about=_part(fault))


def _failed(subject: Subject, failure: RenderFailure) -> Iterator[Finding]:
    if failure.reason is Reason.BAD_PARAMETER:
        fault = failure.diagnostic
        yield Finding(fault.message, subject.manifest(("parameters", failure.parameter)), help_for(fault))
        return
    if failure.free and failure.reason is not Reason.TEMPLATE_FAILED:
        return
    if "unknown_file" in failure.diagnostic.fields:
        return  # the rule unknown-file tells it at its place
    in_overlay = slips(failure.overlay) if failure.overlay is not None else []
    if in_overlay:  # in the author's words; where the pod has a part of that name, the merge speaks of the pod's
        if not any(_schema_errors(subject, rendering) for rendering in subject.renderings):
            yield from in_overlay
        return
    if failure.diagnostic.fields.get("taken_name") in APPS and subject.renderings:
        return  # the rule app-container tells it, and what to do
    place = failure.place if failure.place.line else _merged_place(subject, failure)
    yield _finding(failure.diagnostic, place, failure.title)


def _merged_place(subject: Subject, failure: RenderFailure) -> Place:
    """The place of the part that a merge did not take; the overlay's first line where it is about none."""
    name = _part(failure.diagnostic)
    place = _written(subject, name)
    if place.line or failure.overlay is None:
        return place
    spec: Any = plain_mapping(plain_mapping(failure.overlay.value).get("spec"))
    for list_ in _PARTS:
        for index, item in numbered(bare_value(spec.get(list_))):
            if name and item.get("name") == name:
                return failure.overlay.place(("spec", list_, index, "name"))
    return failure.overlay.place(("spec",), key=True)


def _written(subject: Subject, name: str) -> Place:
    """Where the overlay writes the name of a part."""
    places = [subject.search(OVERLAY, f"{key}{name}") for key in ("name: ", "")] if name else []
    return next((place for place in places if place.line), Place(OVERLAY))


def _part(fault: Diagnostic) -> str:
    """The name of the container or volume that a failure is about; empty where it is about none."""
    name = fault.path[2] if len(fault.path) > 2 and fault.path[1] in _PARTS else None
    return name if isinstance(name, Key) else ""


def _told_elsewhere(subject: Subject, rendering: Rendering) -> bool:
    """Whether another rule tells why the injection refuses the pod, at a better place."""
    if _schema_errors(subject, rendering):
        return True
    return "missing_volume" in rendering.injection.failures[0].fields and any(missing_volumes(rendering))


def _schema_errors(subject: Subject, rendering: Rendering) -> bool:
    """Whether the rule `schema` has something against a pod."""
    try:
        return bool(schema_errors(rendering.after, subject.kubernetes))
    except SchemasMissingError:
        return False


def _place(rendering: Rendering, fault: Diagnostic) -> Place:
    """The place of the field that a failure is about, or else of the part."""
    if path := path_in(rendering.overlay.value, fault):
        return rendering.overlay.place(path)
    name = _part(fault)
    for path, value in [*rendering.containers(), *rendering.volumes()]:
        if value.get("name") == name:
            return rendering.overlay.place(path)
    return rendering.overlay.place(("spec",), key=True)
