"""`POST /advise`: warnings about workloads, where a person sees them: at `kubectl apply` of a Deployment.

The pods of a Deployment are created by a controller, which reads no warnings. So its pod template is injected here as
its pods will be, and what there is to say of it is said now. Everything is allowed, and nothing is kept or created.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable
from functools import partial

import structlog

from injector.errors import ReviewError
from injector.inject import inject
from injector.injection import Injection
from injector.pods.context import Namespace, Object, Request
from injector.pods.shape import string_map
from injector.pods.workloads import misplaced, pod_template, workload_of_object
from injector.reasons import Effect, Reason
from injector.settings import Settings
from injector.templates.choice import misspelt_annotations
from injector.webhook.evaluator import DOUBTFUL, Evaluator
from injector.webhook.namespace_resolver import NamespaceResolver
from injector.webhook.protocols import SnapshotSource
from injector.webhook.record import Note, Recorder
from injector.webhook.review import AdmissionResponse, Review, answer_head, answer_tail, read_object, read_review

_OPERATIONS = ("CREATE", "UPDATE")


class Advise:
    """The handler of the webhook that only warns.

    In logs and metrics the reason is the one that the workload's pods would meet; the outcome is always `skip`, as
    nothing becomes of the workload.
    """

    def __init__(
        self,
        snapshots: SnapshotSource,
        lookup: NamespaceResolver,
        recorder: Recorder,
        logger: structlog.typing.FilteringBoundLogger,
    ) -> None:
        self._snapshots = snapshots
        self._lookup = lookup
        self._recorder = recorder
        self._logger = logger

    def __call__(self, body: bytes, seconds: float) -> bytes | Awaitable[bytes]:
        """Answer an AdmissionReview within `seconds`. Raises ReviewError for one that cannot be read."""
        started = time.perf_counter()
        review = read_review(body)
        request = review.request
        if request.operation not in _OPERATIONS or request.sub_resource or not self._snapshots.ready:
            return self._nothing(review, {}, started)
        obj = read_object(bytes(request.object))
        pod = pod_template(obj)
        # A pod is warned about when it is created; what stays was talked about when it came.
        before, settings = _before(review), self._snapshots.current.settings
        if pod is None or pod is obj or (before is not None and _told(obj, settings) == _told(before, settings)):
            return self._nothing(review, obj, started)
        namespace = self._lookup.get(request.namespace or "")
        if namespace is None:
            return self._after_asking(review, obj, pod, started, asyncio.get_running_loop().time() + seconds)
        injection = self._inject(obj, pod, namespace)
        if injection.reason in DOUBTFUL and not self._lookup.tried(namespace.name):
            return self._after_asking(review, obj, pod, started, asyncio.get_running_loop().time() + seconds)
        return self._finish(review, obj, pod, injection, started)

    async def _after_asking(self, review: Review, obj: Object, pod: Object, started: float, deadline: float) -> bytes:
        """The store does not know the namespace, or as one that asks for nothing: ask the API server."""
        try:
            namespace = await self._lookup.ask(review.request.namespace or "", deadline)
        except OSError:  # without an answer there is nothing to say
            return self._nothing(review, obj, started)
        return self._finish(review, obj, pod, self._inject(obj, pod, namespace), started)

    def _inject(self, obj: Object, pod: Object, namespace: Namespace) -> Injection:
        """What the workload's pods will meet."""
        core = partial(inject, workload=workload_of_object(obj))
        return Evaluator(core, self._logger).judge(pod, namespace, self._snapshots.current, Request())

    def _nothing(self, review: Review, obj: Object, started: float) -> bytes:
        return self._answer(review, obj, Reason.NOT_A_POD_CREATION, (), started)

    def _finish(self, review: Review, obj: Object, pod: Object, injection: Injection, started: float) -> bytes:
        warnings = warnings_about(obj, pod, injection, self._snapshots.current.settings)
        return self._answer(review, obj, injection.reason, warnings, started)

    def _answer(self, review: Review, obj: Object, reason: Reason, warnings: tuple[str, ...], started: float) -> bytes:
        note = Note(reason, Effect.SKIP, generation=self._snapshots.current.generation)
        line = self._recorder.line(note, review.request.namespace or "", obj)
        self._recorder.record(review, line, self._recorder.cells(note), started, False)
        return answer_head(review) + answer_tail(AdmissionResponse(allowed=True, warnings=warnings))


def warnings_about(obj: Object, pod: Object, injection: Injection, settings: Settings) -> tuple[str, ...]:
    """What a workload's author should know, a sentence each; nothing where its pods are not to be injected."""
    if not injection.decision.inject:
        return ()
    refusal = (f"its pods will be refused: {injection.message}",) if injection.effect is Effect.REFUSE else ()
    templates = [applied.template for applied in injection.applied]
    labels = misspelt_annotations("pod label", string_map(pod, "labels"), settings, templates)
    return tuple(dict.fromkeys((*refusal, *injection.warnings, *labels, *misplaced(obj, settings))))


def _before(review: Review) -> Object | None:
    """The workload before an update; None where there was none, or it cannot be read."""
    raw = bytes(review.request.old_object)
    if review.request.operation != "UPDATE" or not raw:
        return None
    try:
        return read_object(raw)
    except ReviewError:
        return None


def _told(obj: Object, settings: Settings) -> tuple[object, ...]:
    """What warnings are about: the pod template, and what stands beside it by mistake."""
    return pod_template(obj), *misplaced(obj, settings)
