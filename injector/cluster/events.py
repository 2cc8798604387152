"""Events (`events.k8s.io/v1`): what went wrong or has changed, told where people look with `kubectl describe`.

Whoever has something to tell puts it into a queue and goes on; one task writes it, slowly. A full queue, an API server
that is away and a permission that is missing cost an Event and nothing else.
https://kubernetes.io/docs/reference/kubernetes-api/cluster-resources/event-v1/
"""

from __future__ import annotations

import asyncio
import datetime
import hashlib
from collections import OrderedDict, deque
from time import monotonic
from typing import TYPE_CHECKING, Literal, NamedTuple

import structlog

from injector.cluster.api_error import ApiError
from injector.cluster.client import Client
from injector.cluster.tasks import Background, Backoff, remember
from injector.diagnostics import printable_lines
from injector.pods.context import Object, filled

if TYPE_CHECKING:
    from injector.telemetry import Metrics

_log = structlog.get_logger(__name__)

#: Who reports, as the API wants it: a qualified name.
CONTROLLER = "sidecar-injector.internal/injector"
#: Bytes that a note may have, characters of the other texts.
_NOTE_BYTES, _TEXT = 1024, 128
_EFFECT = "the injector continues without Events"
#: Where Events about an object without a namespace go.
_DEFAULT_NAMESPACE = "default"


class About(NamedTuple):
    """The object that an Event is about. `kubectl describe` finds the Event by kind, name and uid.

    With `version`, the object's resourceVersion, it is about this version alone, and all replicas tell it once.
    """

    api_version: str
    kind: str
    name: str
    uid: str
    namespace: str
    version: str = ""


class Pace(NamedTuple):
    """How fast Events are written, in seconds. `again`: until the same Event is written again; `pause`: between two
    writes; after a failure, `first_pause` that doubles up to `longest_pause`; `deadline`: for one write.

    Numbers: at most `waiting` Events wait in the queue, at most `remembered` written ones are remembered, and one that
    failed is tried `tries` times more.
    """

    again: float = 300.0
    pause: float = 0.2
    first_pause: float = 1.0
    longest_pause: float = 60.0
    deadline: float = 5.0
    tries: int = 8
    waiting: int = 256
    remembered: int = 4096


class Events(Background):
    """Writes Events, at most one about the same thing in five minutes; what waits at `stop()` is not written any more.

    `instance` is the name of this replica. Counted in `injector_events_total` by result: `sent`, `repeated`
    (told a moment ago, here or by another replica), `dropped` (the queue was full), `failed`.
    """

    def __init__(self, client: Client, instance: str, metrics: Metrics, *, pace: Pace | None = None) -> None:
        self._client = client
        self._instance = instance[:_TEXT] or "injector"
        self._pace = pace or Pace()
        self._sent, self._repeated, self._dropped, self._failed = (
            metrics.events.cell(result) for result in ("sent", "repeated", "dropped", "failed")
        )
        self._recent: OrderedDict[tuple[str, ...], float] = OrderedDict()
        self._waiting: deque[tuple[Object, int]] = deque()  # and how often it was tried
        self._news = asyncio.Event()
        self._trouble = ""
        #: Namespaces whose Events are refused (a quota, another webhook, no permission), and until when none is tried.
        self._refusing: OrderedDict[str, float] = OrderedDict()

    def tell(
        self,
        about: About,
        reason: str,
        note: str,
        *,
        action: str = "Inject",
        each_note: bool = False,
        event_type: Literal["Normal", "Warning"] = "Warning",
    ) -> None:
        """Have an Event written. Returns at once and never raises.

        The same `reason` about the same object is told once in five minutes; with `each_note`, the same note.
        """
        key = (about.uid or about.name, about.version, reason, *((note,) if each_note else ()))
        now = monotonic()
        if now < self._recent.get(key, 0.0):
            self._repeated.value += 1
            return
        if len(self._waiting) >= self._pace.waiting:
            self._dropped.value += 1
            return
        remember(self._recent, key, now + self._pace.again, self._pace.remembered)
        self._waiting.append((self._event(about, reason, note, action, key) | {"type": event_type}, 0))
        self._news.set()

    def _event(self, about: About, reason: str, note: str, action: str, key: tuple[str, ...]) -> Object:
        now = datetime.datetime.now(datetime.UTC)
        # Replicas that see the same at the same time choose the same name, and one of them finds it taken.
        slot = "" if about.version else str(int(now.timestamp() // max(self._pace.again, 1)))
        digest = hashlib.sha256("\0".join((*key, slot)).encode()).hexdigest()[:16]
        regarding = {"apiVersion": about.api_version, "kind": about.kind, "name": about.name}
        regarding |= filled({"uid": about.uid, "namespace": about.namespace, "resourceVersion": about.version})
        return {
            "apiVersion": "events.k8s.io/v1",
            "kind": "Event",
            "metadata": {
                "name": f"{about.name[:200].rstrip('-.')}.{digest}",
                "namespace": about.namespace or _DEFAULT_NAMESPACE,
            },
            "eventTime": f"{now:%Y-%m-%dT%H:%M:%S.%fZ}",
            "reason": reason[:_TEXT],
            "action": action[:_TEXT],
            "note": _in_bytes(printable_lines(note), _NOTE_BYTES),
            "regarding": regarding,
            "reportingController": CONTROLLER,
            "reportingInstance": self._instance,
        }

    # ------------------------------------------------------------ the one that writes

    async def _run(self) -> None:
        backoff = Backoff(self._pace.first_pause, self._pace.longest_pause)
        while True:
            while not self._waiting:
                self._news.clear()
                await self._news.wait()
            event, tries = self._waiting[0]  # it keeps its place in the queue while it is written
            if monotonic() < self._refusing.get(event["metadata"]["namespace"], 0.0):
                self._failed.value += 1
                self._waiting.popleft()
                continue
            pause = self._pace.pause
            try:
                await self._write(event)
                backoff.reset()
            except ApiError as error:
                pause = backoff.next(error.retry_after)
                if (error.status == 0 or error.status >= 429) and tries < self._pace.tries:
                    self._waiting[0] = (event, tries + 1)
                    await asyncio.sleep(pause)
                    continue
                self._failed.value += 1
            except Exception:  # a mistake of ours must not end it for good
                self._failed.value += 1
                _log.exception("event-not-written")
                pause = backoff.next()
            self._waiting.popleft()
            await asyncio.sleep(pause)

    async def _write(self, event: Object) -> None:
        """Write one. Raises ApiError when the next one would most likely fail as well."""
        namespace = event["metadata"]["namespace"]
        try:
            await self._client.create(
                f"/apis/events.k8s.io/v1/namespaces/{namespace}/events", event, deadline=self._pace.deadline
            )
        except ApiError as error:
            if error.reason == "AlreadyExists":
                self._repeated.value += 1
                return
            # A namespace that is gone or going, or one Event that is not accepted, says nothing about the next.
            if error.status in (400, 404, 422) or "NamespaceTerminating" in error.causes:
                self._failed.value += 1
                return
            if error.status == 403:
                # No more Events about this namespace for a while; those about other namespaces do not wait.
                self._failed.value += 1
                if namespace not in self._refusing:
                    _log.warning("events-not-written", namespace=namespace, error=str(error), effect=_EFFECT)
                until = monotonic() + self._pace.longest_pause
                remember(self._refusing, namespace, until, self._pace.remembered)
                return
            if error.reason != self._trouble:
                self._trouble = error.reason
                _log.warning("events-not-written", error=str(error), effect=_EFFECT)
            raise
        self._sent.value += 1
        self._refusing.pop(namespace, None)
        if self._trouble:
            self._trouble = ""
            _log.info("events-written-again")


def _in_bytes(text: str, length: int) -> str:
    """`text` in at most `length` bytes of UTF-8."""
    raw = text.encode(errors="replace")
    return raw.decode() if len(raw) <= length else raw[: length - 3].decode(errors="ignore") + "…"
