"""The template fails for a sample pod, or with a parameter at an edge.

Each sample pod gets the template with its defaults; then a standard pod gets it with one parameter after the other at
its minimum and maximum, each word of an `enum`, both booleans, the shortest and longest text, examples, empty and
full lists; and with any two of the switches, with and without everything that has no default. A template that says
`fail(...)` or `deny(...)` has answered; whatever else goes wrong is found here, and so is a pod that the injection
itself would refuse.

Why: a value that the schema of a parameter allows and the template does not expect is an error that only the pod of
somebody else meets: `template-failed`, and the pod starts without its sidecar, or not at all in a `required`
namespace.

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
    # template.yaml
    description: A tool.
    parameters:
      targets: {type: array, items: {type: string, format: dns-label}, maxItems: 5, default: [a], description: Hosts.}
    # overlay.yaml.j2
    metadata:
      annotations:
        example.com/first: "{{ params.targets | first | default('none') }}"
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from injector.authoring.lint.kubernetes import SchemasMissingError, schema_errors
from injector.authoring.lint.subject import Failure, Finding, Rendering, Subject
from injector.errors import Place
from injector.reasons import Reason
from injector.templates.template import OVERLAY

SEVERITY = "error"

#: The container or volume that a constraint's message names.
_PART = re.compile(r'(containers|initContainers|volumes)\[([^\]]+)\]|(container|volume) "?([\w.-]+)"? ')
#: What a pod that gets its files by annotation says of a file that there is not.
_UNKNOWN_FILE = "which the template does not make"
#: Refusals that a template alone brings about.
_REFUSALS = (Reason.INVALID_POD, Reason.CONFLICT, Reason.TOO_LARGE, Reason.INTERNAL_ERROR)


def check(subject: Subject) -> Iterator[Finding]:
    """Renders that fail, and pods that the injection refuses."""
    if subject.not_served:
        yield Finding(
            f"no pod that was tried is served, so nothing was looked at: {subject.not_served}",
            subject.search(OVERLAY, "fail("),
            "give parameters `examples` with which it is",
        )
    told: set[object] = set()
    broken = {failure.place for failure in subject.failures if failure.broken}
    for failure in subject.failures:
        finding = None if failure.place in broken else _failed(subject, failure)
        if finding is not None and (failure.message, failure.place) not in told:
            told.add((failure.message, failure.place))
            yield finding
    for rendering in subject.renderings:
        if rendering.injection.reason in _REFUSALS and not rendering.free and not _of_schema(subject, rendering):
            message = rendering.injection.message.partition(": ")[2]
            if message not in told:
                told.add(message)
                yield Finding(message, _place(rendering, message), f"seen for {rendering.title}")


def _failed(subject: Subject, failure: Failure) -> Finding | None:
    if failure.reason is Reason.BAD_PARAMETER:
        return Finding(failure.message, subject.manifest(("parameters", failure.parameter)))
    if failure.free and failure.reason is not Reason.TEMPLATE_FAILED:
        return None
    if _UNKNOWN_FILE in failure.message:
        return None  # the rule unknown-file tells it at its place
    place = failure.place if failure.place.line else _written(subject, failure.message)
    return Finding(failure.message, place, f"seen for {failure.title}")


def _written(subject: Subject, message: str) -> Place:
    """Where the overlay writes the name of the part that a message is about."""
    name = _part(message)
    places = [subject.search(OVERLAY, f"{key}{name}") for key in ("name: ", "")] if name else []
    return next((place for place in places if place.line), Place(OVERLAY))


def _part(message: str) -> str:
    """The name of the container or volume that a message is about; empty where it is about none."""
    found = _PART.search(message)
    return (found[2] or found[4]) if found else ""


def _of_schema(subject: Subject, rendering: Rendering) -> bool:
    """Whether the rule `schema` tells of it, at a better place."""
    try:
        return bool(schema_errors(rendering.after, subject.kubernetes))
    except SchemasMissingError:
        return False


def _place(rendering: Rendering, message: str) -> Place:
    """The place of the part that a message is about."""
    name = _part(message)
    for path, value in [*rendering.containers(), *rendering.volumes()]:
        if value.get("name") == name:
            return rendering.overlay.place(path)
    return rendering.overlay.place(("spec",), key=True)
