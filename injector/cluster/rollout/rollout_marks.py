"""What a rollout writes on a workload while it works on it: one annotation, so that it can be ended at any point.

For a restart it is written together with the restart, so where it stands the restart has happened, and it happens once.
While somebody works on the workload, the annotation is written again every few seconds: two rollouts at a time notice
each other, and one that was killed is noticed too.
"""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime, timedelta

import msgspec

from injector.pods.context import Object, mapping_at
from injector.pods.receipt import Receipt
from injector.pods.shape import string_map
from injector.settings import Settings

#: The field manager.
MANAGER = "sidecar-injector-rollout"
#: What makes the controllers of Kubernetes replace all pods, as `kubectl rollout restart` does.
RESTARTED_AT = "kubectl.kubernetes.io/restartedAt"
#: Seconds between two signs of life, and after which one that gives none has been killed.
SIGN_SECONDS, LOST_SECONDS = 5.0, 20.0
#: Characters of a mark; one of ours has less than half.
_LONGEST = 1000


class RolloutMark(msgspec.Struct, frozen=True, omit_defaults=True):
    """The annotation: whose it is, when it began with the workload, when it last gave a sign of life ("": nobody works
    on it any more), and a digest of the sidecars that its new pods should have. Times are the API server's.
    """

    run: str
    started: str
    renewed: str
    by: str = ""
    expects: str = ""
    restarted: bool = False

    def is_alive(self, now: datetime) -> bool:
        """Whether somebody works on the workload."""
        return bool(self.renewed) and (now - datetime.fromisoformat(self.renewed)).total_seconds() < LOST_SECONDS

    def has_restarted(self, obj: Object) -> bool:
        """Whether the restart of the mark is still what the workload's pods are made from."""
        spec = mapping_at(obj, "spec")
        annotations = mapping_at(mapping_at(mapping_at(spec, "template"), "metadata"), "annotations")
        return self.restarted and self.started in (annotations.get(RESTARTED_AT), spec.get("restartAt"))


def mark_key(settings: Settings) -> str:
    """The annotation's key."""
    return f"{settings.prefix}/rollout"


def read_mark(obj: Object, settings: Settings, now: datetime) -> RolloutMark | None:
    """The mark of a workload; None where there is none that makes sense. Whoever may change the workload writes it, so
    its times are of the past (`now` is the API server's time), and it is short.
    """
    text = string_map(obj, "annotations").get(mark_key(settings), "")
    try:
        mark = msgspec.json.decode(text[:_LONGEST], type=RolloutMark)
        started, renewed = _past_time(mark.started, now), mark.renewed and _past_time(mark.renewed, now)
    except (ValueError, OverflowError, msgspec.MsgspecError):
        return None
    return msgspec.structs.replace(mark, started=started, renewed=renewed)


def _past_time(text: str, now: datetime) -> str:
    """A time as Kubernetes writes it. Raises ValueError or OverflowError for what is none, or in the future."""
    time = datetime.fromisoformat(text)
    if time.tzinfo is None or time > now + timedelta(seconds=LOST_SECONDS):
        raise ValueError(text)
    return spoken_time(time.astimezone(UTC))


def digest_of(receipt: Receipt) -> str:
    """A short digest of the sidecars of a receipt: which templates at which version, with which values."""
    text = msgspec.json.encode((receipt.templates, receipt.values or {}), order="deterministic")
    return hashlib.sha256(text).hexdigest()[:12]


def spoken_time(now: datetime) -> str:
    """A time as Kubernetes writes it."""
    return f"{now:%Y-%m-%dT%H:%M:%SZ}"
