"""What a rollout writes on a workload while it works on it: one annotation, so that it can be ended at any point.

For a restart it is written together with the restart, so where it stands the restart has happened, and it happens once.
While somebody works on the workload, the annotation is written again every few seconds: two rollouts at a time notice
each other, and one that was killed is noticed too.
"""

from __future__ import annotations

import hashlib
from datetime import datetime

import msgspec

from injector.pods.context import Object, mapping_at
from injector.pods.receipt import Receipt
from injector.settings import Settings

#: The field manager.
MANAGER = "sidecar-injector-rollout"
#: What makes the controllers of Kubernetes replace all pods, as `kubectl rollout restart` does.
RESTARTED_AT = "kubectl.kubernetes.io/restartedAt"
#: Seconds between two signs of life, and after which one that gives none has been killed.
SIGN_SECONDS, LOST_SECONDS = 5.0, 20.0


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


def read_mark(obj: Object, settings: Settings) -> RolloutMark | None:
    """The mark of a workload; None where there is none that makes sense."""
    text = mapping_at(obj["metadata"], "annotations").get(mark_key(settings))
    try:
        mark = msgspec.json.decode(text or "", type=RolloutMark)
        datetime.fromisoformat(mark.renewed or mark.started)
    except (ValueError, TypeError, msgspec.MsgspecError):
        return None
    return mark


def digest_of(receipt: Receipt) -> str:
    """A short digest of the sidecars of a receipt: which templates at which version, with which values."""
    text = msgspec.json.encode((receipt.templates, receipt.values or {}), order="deterministic")
    return hashlib.sha256(text).hexdigest()[:12]


def spoken_time(now: datetime) -> str:
    """A time as Kubernetes writes it."""
    return f"{now:%Y-%m-%dT%H:%M:%SZ}"
