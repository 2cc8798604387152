"""A path of the settings' `paths`: an object of any kind in, what its templates say of it out. Nothing is kept."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable

import structlog

from injector.errors import InjectionError
from injector.injection import Injection
from injector.pods.context import Namespace, Object
from injector.policies.admit import admit, refused
from injector.policies.request import ObjectRequest
from injector.reasons import Reason
from injector.settings import PathTemplates
from injector.telemetry import where_it_failed
from injector.templates.snapshot import Snapshot
from injector.webhook.evaluator import note_of, verdict_of
from injector.webhook.namespace_resolver import NamespaceResolver
from injector.webhook.protocols import SnapshotSource
from injector.webhook.record import Recorder
from injector.webhook.review import (
    Review,
    answer_head,
    answer_tail,
    read_object,
    read_request,
    read_review,
    to_request,
)


class AtPath:
    """The handler of one such path."""

    def __init__(
        self,
        path: str,
        at: PathTemplates,
        snapshots: SnapshotSource,
        lookup: NamespaceResolver,
        recorder: Recorder,
        logger: structlog.typing.FilteringBoundLogger,
    ) -> None:
        self._path = path
        self._at = at
        self._snapshots = snapshots
        self._lookup = lookup
        self._recorder = recorder
        self._logger = logger

    def __call__(self, body: bytes, seconds: float) -> bytes | Awaitable[bytes]:
        """Answer an AdmissionReview within `seconds`. Raises ReviewError for one that cannot be read."""
        started = time.perf_counter()
        review = read_review(body)
        asked = ObjectRequest(
            to_request(review.request),
            _object(bytes(review.request.object)),
            _object(bytes(review.request.old_object)),
            read_request(body),
        )
        namespace = self._namespace(review, asked)
        if namespace is None:
            deadline = asyncio.get_running_loop().time() + seconds
            return self._after_asking(review, asked, started, deadline)
        return self._finish(review, asked, namespace, self._amend(asked, namespace), started)

    @property
    def _now(self) -> PathTemplates:
        """What is at the path by now: a reload may have changed it. Which paths there are stays until a restart."""
        return self._snapshots.current.settings.paths.get(self._path, self._at)

    def _namespace(self, review: Review, asked: ObjectRequest) -> Namespace | None:
        """The namespace that the object lies in, one without a name where it lies in none; None where it has to be
        asked for. Of one that is left alone nothing is asked.
        """
        if asked.is_namespace:
            return asked.itself()
        name = review.request.namespace or ""
        if not name or name in self._snapshots.current.settings.ignored_namespaces:
            return Namespace(name)
        return self._lookup.get(name)

    async def _after_asking(self, review: Review, asked: ObjectRequest, started: float, deadline: float) -> bytes:
        """The store does not know the namespace: ask the API server."""
        name = review.request.namespace or ""
        try:
            namespace = await self._lookup.ask(name, deadline)
        except OSError as error:
            namespace = Namespace(name)
            why = str(error) or "no answer in time"
            problem = InjectionError(Reason.NOT_READY, f"the labels of namespace {name} could not be read ({why})")
            injection = refused(asked, self._now, self._snapshots.current, problem)
        else:
            injection = self._amend(asked, namespace)
        return self._finish(review, asked, namespace, injection, started)

    def _amend(self, asked: ObjectRequest, namespace: Namespace) -> Injection:
        snapshot, at = self._snapshots.current, self._now
        if not self._snapshots.ready:
            problem = InjectionError(Reason.NOT_READY, "settings and templates have not been read yet; try again")
            return refused(asked, at, snapshot, problem)
        try:
            return admit(asked, namespace, at, snapshot)
        except Exception as error:
            self._log(error, asked, namespace, snapshot)
            problem = InjectionError(Reason.INTERNAL_ERROR, f"{type(error).__name__}; the injector's log says where")
            return refused(asked, at, snapshot, problem)

    def _log(self, error: Exception, asked: ObjectRequest, namespace: Namespace, snapshot: Snapshot) -> None:
        """A line that quotes nothing of the object."""
        self._logger.error(
            "amending-failed",
            error=type(error).__name__,
            where=where_it_failed(error),
            namespace=namespace.name,
            resource=asked.request.resource[:64],
            generation=snapshot.generation,
        )

    def _finish(
        self, review: Review, asked: ObjectRequest, namespace: Namespace, injection: Injection, started: float
    ) -> bytes:
        verdict, note = verdict_of(injection), note_of(injection)
        named = asked.review.get("name")
        line = self._recorder.object_line(note, namespace.name, asked.subject, asked.request, named)
        self._recorder.record(review, line, self._recorder.cells(note), started, False)
        return answer_head(review) + answer_tail(verdict)


def _object(raw: bytes) -> Object:
    """One of a review's two objects; {} where it is none."""
    return {} if not raw or raw == b"null" else read_object(raw)
