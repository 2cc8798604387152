"""What went wrong, for people who look at objects and not at logs: as Events, off the way of a request."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from injector.cluster.events import About
from injector.injection import Injection
from injector.pods.context import Object
from injector.pods.workloads import workload_of_pod
from injector.reasons import Effect
from injector.webhook.record import object_name


@dataclass(frozen=True, slots=True)
class FailureEvent:
    """A pod that was refused or starts without its sidecar: told on its owner, under the reason's name."""

    owner: About
    reason: str
    note: str


#: Takes a trouble at once and never raises; None where there is nobody to tell it to.
Tell = Callable[[FailureEvent], None] | None


def failure_event_of(pod: Object, namespace: str, injection: Injection) -> FailureEvent | None:
    """What to tell of an injection; None unless the pod was marked `failed` or refused.

    The owner is the pod's controller, whose uid the API server puts into the review. A pod without one is created by
    somebody who reads the warning or the refusal.
    """
    if injection.effect not in (Effect.MARK, Effect.REFUSE):
        return None
    owner = workload_of_pod(pod).owner
    uid, version = (owner.get(field) for field in ("uid", "apiVersion")) if owner else (None, None)
    if owner is None or not isinstance(uid, str) or not isinstance(version, str):
        return None
    about = About(version[:253], owner["kind"][:63], owner["name"][:253], uid[:128], namespace)
    what = "was refused" if injection.effect is Effect.REFUSE else "starts without its sidecar"
    return FailureEvent(about, injection.reason.label, f"pod {object_name(pod)} {what}: {injection.message}")
