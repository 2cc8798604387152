"""`POST /validate`: the guard. It sees the pod as it will be stored and refuses one that lacks what is required.

Every pod is different here (it has its uid by now), so nothing is kept.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable
from dataclasses import replace

from injector.errors import InjectionError
from injector.injection import Injection
from injector.pods.context import Namespace, Object
from injector.reasons import Reason
from injector.templates.snapshot import Snapshot
from injector.webhook.evaluator import Evaluator, note_of, verdict_of
from injector.webhook.failure_events import Tell, failure_event_of
from injector.webhook.namespace_resolver import NamespaceResolver
from injector.webhook.pass_through import PassThrough, is_pod_creation
from injector.webhook.protocols import SnapshotSource
from injector.webhook.record import Recorder
from injector.webhook.review import Review, answer_head, answer_tail, read_object, read_review, to_request


class Validate:
    """The handler of the validating webhook."""

    def __init__(
        self,
        judge: Evaluator,
        snapshots: SnapshotSource,
        lookup: NamespaceResolver,
        recorder: Recorder,
        tell: Tell = None,
    ) -> None:
        self._judge = judge
        self._snapshots = snapshots
        self._lookup = lookup
        self._recorder = recorder
        self._tell = tell
        self._untouched = PassThrough(recorder)

    def __call__(self, body: bytes, seconds: float) -> bytes | Awaitable[bytes]:
        """Answer an AdmissionReview within `seconds`. Raises ReviewError for one that cannot be read."""
        started = time.perf_counter()
        review = read_review(body)
        if not is_pod_creation(review.request):
            return self._untouched(review, started)
        snapshot = self._snapshots.current
        pod = read_object(bytes(review.request.object))
        name = review.request.namespace or ""
        namespace = self._lookup.get(name)
        if namespace is not None:
            injection = self._guard(review, pod, namespace, snapshot)
            if injection.decision.required or self._lookup.confirmed(name):
                return self._finish(review, pod, namespace, injection, started)
            if self._lookup.tried(name):
                namespace = _as_required(namespace, snapshot)
                return self._finish(review, pod, namespace, self._guard(review, pod, namespace, snapshot), started)
        deadline = asyncio.get_running_loop().time() + seconds
        return self._after_asking(review, pod, namespace, snapshot, started, deadline)

    async def _after_asking(
        self,
        review: Review,
        pod: Object,
        namespace: Namespace | None,
        snapshot: Snapshot,
        started: float,
        deadline: float,
    ) -> bytes:
        """The store does not know the namespace, or as one that requires nothing: ask the API server.

        Without an answer the review itself says that it is required: no other is sent here.
        """
        name = review.request.namespace or ""
        try:
            namespace = await self._lookup.ask(name, deadline)
        except OSError:
            namespace = _as_required(namespace or Namespace(name), snapshot)
        return self._finish(review, pod, namespace, self._guard(review, pod, namespace, snapshot), started)

    def _guard(self, review: Review, pod: Object, namespace: Namespace, snapshot: Snapshot) -> Injection:
        request = to_request(review.request)
        if not self._snapshots.ready:
            problem = InjectionError(Reason.NOT_READY, "settings and templates have not been read yet; try again")
            return self._judge.fail(pod, namespace, snapshot, request, problem)
        return self._judge.judge(pod, namespace, snapshot, request)

    def _finish(self, review: Review, pod: Object, namespace: Namespace, injection: Injection, started: float) -> bytes:
        verdict, note = verdict_of(injection, patching=False), note_of(injection)
        line, cells = self._recorder.line(note, namespace.name, pod), self._recorder.cells(note)
        self._recorder.record(review, line, cells, started, False)
        if self._tell is not None and not (injection.allowed or review.request.dry_run):
            trouble = failure_event_of(pod, namespace.name, injection)
            if trouble is not None:
                self._tell(trouble)
        return answer_head(review) + answer_tail(verdict)


def _as_required(namespace: Namespace, snapshot: Snapshot) -> Namespace:
    label = snapshot.settings.namespace_label
    return replace(namespace, labels={**namespace.labels, label.key: label.required})
