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
from typing import Any

from injector.authoring.lint.pod_schema import SchemasMissingError, schema_errors
from injector.authoring.lint.rules._names import APPS
from injector.authoring.lint.rules._slips import run_together, slips
from injector.authoring.lint.rules._values import numbered
from injector.authoring.lint.rules._volumes import missing_volumes
from injector.authoring.lint.subject import Failure, Finding, Rendering, Subject, plain_mapping
from injector.authoring.refusal_location import path_named
from injector.diagnostics import Place
from injector.pods.overlay import bare_value
from injector.reasons import Reason
from injector.templates.template import OVERLAY

SEVERITY = "error"

#: The container or volume that a constraint's message names.
_PART = re.compile(r'(containers|initContainers|volumes)\[([^\]]+)\]|(container|volume) "?([\w.-]+)"? ')
#: What a pod that gets its files by annotation says of a file that there is not.
_UNKNOWN_FILE = "which the template does not make"
#: What the injection says of a mount for which there is no volume.
_MOUNT = "there is no volume"
#: What it says of a pod all of whose containers are called as sidecars are.
_TAKEN = re.compile(r"container \S+ has the name of the sidecar")
#: Refusals that a template alone brings about.
_REFUSALS = (Reason.INVALID_POD, Reason.CONFLICT, Reason.TOO_LARGE, Reason.INTERNAL_ERROR)


def check(subject: Subject) -> Iterator[Finding]:
    """Renders that fail, and pods that the injection refuses."""
    if subject.not_served and subject.template.parameters:  # without any, it builds on another template
        yield Finding(
            f"no pod that was tried is served, so nothing was looked at: {subject.not_served}",
            subject.search(OVERLAY, "fail("),
            "give parameters `examples` with which it is",
        )
    told: set[object] = set()
    swallowed = list(run_together(subject))
    yield from swallowed
    broken = {failure.place for failure in subject.failures if failure.broken}
    for failure in subject.failures:
        if failure.place in broken or (failure.message, failure.place) in told:
            continue
        told.add((failure.message, failure.place))
        yield from _failed(subject, failure, explained=bool(swallowed))
    for rendering in subject.renderings:
        if rendering.injection.reason in _REFUSALS and not rendering.free and not _told_elsewhere(subject, rendering):
            message = rendering.injection.message.partition(": ")[2]
            if message not in told:
                told.add(message)
                yield Finding(message, _place(rendering, message), f"seen for {rendering.title}", about=_part(message))


def _failed(subject: Subject, failure: Failure, explained: bool) -> Iterator[Finding]:
    if failure.reason is Reason.BAD_PARAMETER:
        yield Finding(failure.message, subject.manifest(("parameters", failure.parameter)))
        return
    if failure.free and failure.reason is not Reason.TEMPLATE_FAILED:
        return
    if _UNKNOWN_FILE in failure.message:
        return  # the rule unknown-file tells it at its place
    found = slips(failure.overlay) if failure.overlay is not None else []
    if found:  # in the author's words; where the pod has a part of that name, the merge speaks of the pod's
        if not explained and not any(_schema_errors(subject, rendering) for rendering in subject.renderings):
            yield from found
        return
    if _TAKEN.match(failure.message) and _part(failure.message) in APPS and subject.renderings:
        return  # the rule app-container tells it, and what to do
    place = failure.place if failure.place.line else _merged_place(subject, failure)
    yield Finding(failure.message, place, f"seen for {failure.title}")


def _merged_place(subject: Subject, failure: Failure) -> Place:
    """The place of the part that a merge did not take; the overlay's first line where it is about none."""
    place = _written(subject, failure.message)
    if place.line or failure.overlay is None:
        return place
    spec: Any = plain_mapping(plain_mapping(failure.overlay.value).get("spec"))
    name = _part(failure.message)
    for list_ in ("containers", "initContainers", "volumes"):
        for index, item in numbered(bare_value(spec.get(list_))):
            if name and item.get("name") == name:
                return failure.overlay.place(("spec", list_, index, "name"))
    return failure.overlay.place(("spec",), key=True)


def _written(subject: Subject, message: str) -> Place:
    """Where the overlay writes the name of the part that a message is about."""
    name = _part(message)
    places = [subject.search(OVERLAY, f"{key}{name}") for key in ("name: ", "")] if name else []
    return next((place for place in places if place.line), Place(OVERLAY))


def _part(message: str) -> str:
    """The name of the container or volume that a message is about; empty where it is about none."""
    found = _PART.search(message)
    return (found[2] or found[4]) if found else ""


def _told_elsewhere(subject: Subject, rendering: Rendering) -> bool:
    """Whether another rule tells why the injection refuses the pod, at a better place."""
    if _schema_errors(subject, rendering):
        return True
    return _MOUNT in rendering.injection.message and any(missing_volumes(rendering))


def _schema_errors(subject: Subject, rendering: Rendering) -> bool:
    """Whether the rule `schema` has something against a pod."""
    try:
        return bool(schema_errors(rendering.after, subject.kubernetes))
    except SchemasMissingError:
        return False


def _place(rendering: Rendering, message: str) -> Place:
    """The place of the field that a message names, or else of the part that it is about."""
    if named := path_named(rendering.overlay.value, message):
        return rendering.overlay.place(named)
    name = _part(message)
    for path, value in [*rendering.containers(), *rendering.volumes()]:
        if value.get("name") == name:
            return rendering.overlay.place(path)
    return rendering.overlay.place(("spec",), key=True)
