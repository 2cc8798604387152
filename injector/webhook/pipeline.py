"""The one way of a review: decode, namespace, evaluate, record. What differs from path to path is the evaluator.

A pod that was seen before is not decoded: the cache has its answer. Only where it has to does a review wait, within its
own deadline: for the first snapshot, for a namespace that the store does not know or contradicts, for ConfigMaps.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from typing import Generic, Protocol

from injector.errors import InjectionError
from injector.injection import Injection
from injector.pods.context import Namespace
from injector.pods.delivery import GeneratedConfigMap
from injector.reasons import Effect, Reason
from injector.templates.snapshot import Snapshot
from injector.webhook.answer_cache import Answer, AnswerCache, CacheKey
from injector.webhook.evaluators import DOUBTFUL, Evaluator, Failure, ReviewTask, Subject
from injector.webhook.namespace_resolver import NamespaceResolver
from injector.webhook.receipt_seals import REUSE_SECONDS
from injector.webhook.record import Note, Recorder, Report
from injector.webhook.response import answer_head, answer_tail
from injector.webhook.review import Review, read_review

#: Reasons that may be gone with the next try: such an answer is not kept.
_PASSING = frozenset({Reason.INTERNAL_ERROR, Reason.NOT_READY, Reason.FILES_FAILED})
#: The share of a review's time for which it waits for the first snapshot: the rest is for the API server's word.
_SNAPSHOT_SHARE = 0.8


class SnapshotSource(Protocol):
    """Where the snapshot in use is. A review takes `current` once and stays with it."""

    @property
    def current(self) -> Snapshot:
        """The snapshot in use; one without templates as long as `ready` is False."""

    @property
    def ready(self) -> bool:
        """Whether there has been a whole snapshot."""

    async def first_build(self) -> None:
        """Return when the first snapshot is there, or has failed to build."""


class ConfigMapCreator(Protocol):
    """Creates the ConfigMaps that injected pods mount."""

    def known(self, files: tuple[GeneratedConfigMap, ...]) -> bool:
        """Whether all of them were seen to exist a short while ago, so that there is nothing to wait for."""

    async def ensure(self, files: tuple[GeneratedConfigMap, ...], deadline: float) -> None:
        """Return when all of them exist, within `deadline` seconds. Raises InjectionError when they do not."""


class NoConfigMaps:
    """Creates nothing anywhere: for `serve --standalone`, and for paths whose templates have no files."""

    def known(self, files: tuple[GeneratedConfigMap, ...]) -> bool:
        """Always: there is nothing to wait for."""
        return True

    async def ensure(self, files: tuple[GeneratedConfigMap, ...], deadline: float) -> None:
        """Do nothing."""


class Pipeline(Generic[Subject]):
    """The handler of one path."""

    def __init__(
        self,
        evaluator: Evaluator[Subject],
        snapshots: SnapshotSource,
        namespaces: NamespaceResolver,
        recorder: Recorder,
        *,
        config_maps: ConfigMapCreator | None = None,
        report: Report = None,
        cache: AnswerCache | None = None,
    ) -> None:
        self._evaluator = evaluator
        self._snapshots = snapshots
        self._namespaces = namespaces
        self._recorder = recorder
        self._config_maps = config_maps or NoConfigMaps()
        self._report = report
        self._cache = cache
        self._unconcerned = answer_tail(evaluator.unconcerned)

    def __call__(self, body: bytes, seconds: float) -> bytes | Awaitable[bytes]:
        """Answer an AdmissionReview within `seconds`. Raises ReviewError for one that cannot be read."""
        started = time.perf_counter()
        review = read_review(body)
        if not self._evaluator.concerns(review.request):
            return self._pass_through(review, started)
        deadline = asyncio.get_running_loop().time() + seconds
        task = ReviewTask(review, body, self._snapshots.current, started, deadline)
        return self._answer(task) if self._snapshots.ready else self._answer_when_ready(task, seconds)

    def _pass_through(self, review: Review, started: float) -> bytes:
        note = Note(Reason.NOT_A_POD_CREATION, Effect.SKIP)
        line = self._recorder.line(note, review.request.namespace or "", {})
        self._recorder.record(review, line, self._recorder.cells(note), started, False)
        return answer_head(review) + self._unconcerned

    async def _answer_when_ready(self, task: ReviewTask, seconds: float) -> bytes:
        """Wait for the first snapshot; where none comes, the table of reasons decides."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds * _SNAPSHOT_SHARE):
                await self._snapshots.first_build()
        task.snapshot = self._snapshots.current
        answer = self._answer(task)
        return answer if isinstance(answer, bytes) else await answer

    def _answer(self, task: ReviewTask) -> bytes | Awaitable[bytes]:
        """Answer at once where nothing has to be waited for."""
        evaluator, name = self._evaluator, task.namespace
        namespace, key = self._namespaces.get(name), None
        if self._cache is not None and namespace is not None:
            key = self._cache.key(task.snapshot, namespace, task.object)
            answer = self._cache.get(key, task.started)
            if answer is not None:
                return self._give_known(task, namespace, answer)
        subject = evaluator.decode(task)
        namespace = evaluator.own_namespace(task, subject) or namespace
        if namespace is None:
            return self._answer_after_asking(task, subject, None)
        injection = evaluator.evaluate(task, subject, namespace, self._not_ready())
        if evaluator.doubts(injection) and not self._namespaces.confirmed(name):
            if not self._namespaces.tried(name):
                return self._answer_after_asking(task, subject, namespace)
            assumed, _ = evaluator.unconfirmed(task, namespace, "")
            if assumed is not namespace:
                namespace, injection = assumed, evaluator.evaluate(task, subject, assumed, self._not_ready())
        return self._conclude(task, subject, namespace, injection, key)

    async def _answer_after_asking(self, task: ReviewTask, subject: Subject, stored: Namespace | None) -> bytes:
        """The store does not know the namespace, or contradicts the review: ask the API server."""
        failure = self._not_ready()
        try:
            namespace = await self._namespaces.ask(task.namespace, task.deadline)
        except OSError as error:
            namespace, unknown = self._evaluator.unconfirmed(task, stored, str(error) or "no answer in time")
            failure = failure or unknown
        injection = self._evaluator.evaluate(task, subject, namespace, failure)
        answer = self._conclude(task, subject, namespace, injection)
        return answer if isinstance(answer, bytes) else await answer

    def _not_ready(self) -> Failure | None:
        if self._snapshots.ready:
            return None
        return Failure(InjectionError(Reason.NOT_READY, "settings and templates have not been read yet; try again"))

    # -- ConfigMaps --

    def _give_known(self, task: ReviewTask, namespace: Namespace, answer: Answer) -> bytes | Awaitable[bytes]:
        """Answer as another pod was answered."""
        if self._exist(answer.files, task):
            return self._give(task, answer, cached=True)

        def fail(error: InjectionError) -> bytes:
            subject = self._evaluator.decode(task)
            injection = self._evaluator.evaluate(task, subject, namespace, Failure(error))
            return self._finish(task, subject, namespace, injection)

        return self._answer_after_creating(task, answer.files, lambda: self._give(task, answer, cached=True), fail)

    def _conclude(
        self,
        task: ReviewTask,
        subject: Subject,
        namespace: Namespace,
        injection: Injection,
        key: CacheKey | None = None,
    ) -> bytes | Awaitable[bytes]:
        """Answer with this verdict."""
        if self._exist(injection.files, task):
            return self._finish(task, subject, namespace, injection, key)

        def fail(error: InjectionError) -> bytes:
            failed = self._evaluator.evaluate(task, subject, namespace, Failure(error, injection.decision))
            return self._finish(task, subject, namespace, failed)

        finish = partial(self._finish, task, subject, namespace, injection, key)
        return self._answer_after_creating(task, injection.files, finish, fail)

    def _exist(self, files: tuple[GeneratedConfigMap, ...], task: ReviewTask) -> bool:
        return not files or bool(task.review.request.dry_run) or self._config_maps.known(files)

    async def _answer_after_creating(
        self,
        task: ReviewTask,
        files: tuple[GeneratedConfigMap, ...],
        finish: Callable[[], bytes],
        fail: Callable[[InjectionError], bytes],
    ) -> bytes:
        """Have the ConfigMaps created, then answer."""
        try:
            async with asyncio.timeout_at(task.deadline):
                await self._config_maps.ensure(files, task.deadline - asyncio.get_running_loop().time())
        except InjectionError as error:
            return fail(error)
        except Exception as error:
            why = "in time" if isinstance(error, TimeoutError) else f"({type(error).__name__})"
            return fail(InjectionError(Reason.FILES_FAILED, f"ConfigMap {files[0].name} was not created {why}"))
        return finish()

    # -- record and answer --

    def _finish(
        self,
        task: ReviewTask,
        subject: Subject,
        namespace: Namespace,
        injection: Injection,
        key: CacheKey | None = None,
    ) -> bytes:
        """Make the answer, keep it where it is good for other pods, and give it."""
        evaluator, recorder = self._evaluator, self._recorder
        response, note = evaluator.response(task, subject, injection), evaluator.note(injection)
        answer = Answer(
            answer_tail(response),
            evaluator.line(recorder, note, task, subject, namespace),
            recorder.cells(note),
            injection.files,
            evaluator.event(subject, namespace, injection, response),
            task.started + REUSE_SECONDS if injection.patch else math.inf,
        )
        # What the API server had to confirm holds as long as the resolver says, not as long as the cache would keep it.
        if self._cache is not None and injection.reason not in _PASSING | DOUBTFUL:
            key = key or self._cache.key(task.snapshot, namespace, task.object)
            self._cache.keep(task.snapshot, key, answer, response.patch)
        return self._give(task, answer, cached=False)

    def _give(self, task: ReviewTask, answer: Answer, *, cached: bool) -> bytes:
        """Record the review and answer it."""
        review = task.review
        if answer.event is not None and self._report is not None and not review.request.dry_run:
            self._report(answer.event)
        self._recorder.record(review, answer.line, answer.cells, task.started, cached)
        return answer_head(review) + answer.tail
