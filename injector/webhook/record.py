"""What is recorded of each review: one log line, one count by reason and one by template, one duration.

Of a pod that was refused or starts without its sidecar there is an Event as well, for people who look at objects and
not at logs.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import NamedTuple

import msgspec

from injector.cluster.events import About
from injector.injection import Injection
from injector.names import TEAM
from injector.pods.context import Object, Request
from injector.pods.workloads import workload_of_pod
from injector.reasons import Effect, Reason
from injector.telemetry import Cell, LogOutput, Metrics
from injector.webhook.review import Review

_encode = msgspec.json.encode


class Note(NamedTuple):
    """What all reviews with one answer have in common for logs and metrics."""

    reason: Reason
    effect: Effect
    templates: tuple[str, ...] = ()
    generation: str = ""


class FailureEvent(NamedTuple):
    """A pod that was refused or starts without its sidecar: reported on its owner, under the reason's name."""

    owner: About
    reason: str
    note: str


#: Takes what a FailureEvent has, at once, and never raises; None where there is nobody to report to.
FailureReporter = Callable[[About, str, str], None] | None


def note_of(injection: Injection) -> Note:
    """What logs and metrics say of an injection."""
    templates = injection.template_names
    return Note(injection.reason, injection.effect, templates, injection.generation)


def failure_event(pod: Object, namespace: str, injection: Injection, message: str) -> FailureEvent | None:
    """The Event about a pod that was marked `failed` or refused.

    The owner is the pod's controller, whose uid the API server puts into the review. A pod without one (None) is
    created by somebody who reads the warning or the refusal.
    """
    owner = workload_of_pod(pod).owner
    uid, version = (owner.get(field) for field in ("uid", "apiVersion")) if owner else (None, None)
    if owner is None or not isinstance(uid, str) or not isinstance(version, str):
        return None
    about = About(version[:253], owner["kind"][:63], owner["name"][:253], uid[:128], namespace)
    outcome = "starts without its sidecar" if injection.allowed else "was refused"
    return FailureEvent(about, injection.reason.label, f"pod {object_name(pod)} {outcome}: {message}")


def object_name(obj: Object) -> str:
    """A pod's or another object's name, at most 260 characters; `generateName*` when it has not been made up yet."""
    metadata = obj.get("metadata")
    if not isinstance(metadata, dict):
        return ""
    name, generated = metadata.get("name"), metadata.get("generateName")
    if isinstance(name, str) and name:
        return name[:260]
    return f"{generated[:259]}*" if isinstance(generated, str) and generated else ""


def resource_name(request: Request) -> str:
    """A request's resource with its group and subresource, at most 320 characters: `deployments.apps/scale`."""
    below = f"/{request.sub_resource}" if request.sub_resource else ""
    group = f".{request.group}" if request.group else ""
    return f"{request.resource}{group}{below}"[:320]


class Recorder:
    """Writes and counts the reviews of one path: `mutate`, `validate`, `advise`, or one of the settings' `paths`."""

    def __init__(self, path: str, metrics: Metrics, output: LogOutput) -> None:
        self.path = path
        self._metrics = metrics
        self._output = output
        self._hit = metrics.seconds.cell(path, "true")
        self._miss = metrics.seconds.cell(path, "false")

    def line(self, note: Note, namespace: str, about: Mapping[str, str]) -> bytes:
        """The part of a review's log line that is the same for every review with this answer."""
        line = {
            "path": self.path,
            "namespace": namespace[:64],
            **about,
            "reason": note.reason.label,
            "outcome": note.effect.value,
            "templates": note.templates,
            "generation": note.generation,
        }
        return b"," + _encode(line)[1:] + b"\n"

    def cells(self, note: Note) -> tuple[Cell, ...]:
        """The cells that a review with this answer counts up."""
        outcome = note.effect.value
        # teams choose the names of their templates, and metrics remember every name
        names = dict.fromkeys(TEAM if name.startswith(TEAM) else name for name in note.templates)
        reviews = self._metrics.reviews.cell(self.path, note.reason.label, outcome)
        return (reviews, *(self._metrics.templates.cell(name, outcome) for name in names))

    def record(self, review: Review, line: bytes, cells: tuple[Cell, ...], started: float, cached: bool) -> None:
        """Record one review. `started` is `time.perf_counter()` of when its request was whole."""
        seconds = time.perf_counter() - started
        for cell in cells:
            cell.value += 1
        (self._hit if cached else self._miss).observe(seconds)
        output = self._output
        request = review.request
        output.write(
            b'{"time":"%b","level":"info","event":"review","uid":%b,"ms":%.3f,"cached":%b,"dry_run":%b%b'
            % (
                output.timestamp(),
                _encode(request.uid),
                seconds * 1000,
                b"true" if cached else b"false",
                b"true" if request.dry_run else b"false",
                line,
            )
        )
