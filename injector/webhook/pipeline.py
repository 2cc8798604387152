"""The one way of a review: decode, namespace, evaluate, record. What differs from path to path is the evaluator.

A pod that was seen before is not decoded: the cache has its answer. Only where it has to does a review wait, within its
own deadline: for the first snapshot, for a namespace that the store does not know or contradicts, for ConfigMaps.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Generic

from injector.cluster.config_maps import ConfigMaps
from injector.errors import InjectionError
from injector.injection import Injection
from injector.pods.context import Namespace
from injector.pods.delivery import GeneratedConfigMap
from injector.reasons import Effect, Reason
from injector.templates.snapshot import Snapshot
from injector.webhook.answer_cache import Answer, AnswerCache, CacheKey
from injector.webhook.evaluators import DOUBTFUL, Evaluator, Failure, Reviewed, ReviewTask
from injector.webhook.namespace_resolver import NamespaceResolver
from injector.webhook.receipt_seals import REUSE_SECONDS
from injector.webhook.record import FailureReporter, Note, Recorder
from injector.webhook.review import Review, answer_head, answer_tail, read_review
from injector.webhook.snapshot_manager import SnapshotManager
from injector.webhook.team_templates import TeamTemplates

_NOT_READY = Failure(InjectionError(Reason.NOT_READY, "settings and templates have not been read yet; try again"))
#: Reasons that may be gone with the next try: such an answer is not kept.
_PASSING = frozenset({Reason.INTERNAL_ERROR, Reason.NOT_READY, Reason.FILES_FAILED})
#: The share of a review's time for which it waits for the first snapshot: the rest is for the API server's word.
_SNAPSHOT_SHARE = 0.8


class Pipeline(Generic[Reviewed]):
    """The handler of one path."""

    def __init__(
        self,
        evaluator: Evaluator[Reviewed],
        snapshots: SnapshotManager,
        namespaces: NamespaceResolver,
        recorder: Recorder,
        *,
        config_maps: ConfigMaps | None = None,
        report: FailureReporter = None,
        cache: AnswerCache | None = None,
        team_templates: TeamTemplates | None = None,
    ) -> None:
        self._evaluator = evaluator
        self._snapshots = snapshots
        self._namespaces = namespaces
        self._recorder = recorder
        self._config_maps = config_maps
        self._report = report
        self._cache = cache
        self._team_templates = team_templates
        self._unconcerned = answer_tail(evaluator.unconcerned)

    def __call__(self, body: bytes, seconds: float) -> bytes | Awaitable[bytes]:
        """Answer an AdmissionReview within `seconds`. Raises ReviewError for one that cannot be read."""
        started = time.perf_counter()
        review = read_review(body)
        if not self._evaluator.concerns(review.request):
            return self._pass_through(review, started)
        return self._handle(review, body, started, seconds)

    def _pass_through(self, review: Review, started: float) -> bytes:
        note = Note(Reason.NOT_A_POD_CREATION, Effect.SKIP)
        line = self._recorder.line(note, review.request.namespace or "", {"pod": ""})
        self._recorder.record(review, line, self._recorder.cells(note), started, False)
        return answer_head(review) + self._unconcerned

    def _handle(
        self, review: Review, body: bytes, started: float, seconds: float, waited: bool = False
    ) -> bytes | Awaitable[bytes]:
        """Answer at once where nothing has to be waited for. A replica of a pod seen before needs only the cache."""
        ready = self._snapshots.ready
        if not ready and not waited:
            return self._handle_when_ready(review, body, started, seconds)
        request, snapshot, cache = review.request, self._snapshots.current, self._cache
        namespace, key, answer = self._namespaces.get(request.namespace or ""), None, None
        if cache is not None and namespace is not None:
            key = cache.key(snapshot, namespace, bytes(request.object))
            answer = cache.get(key, started)
            if answer is not None and self._exist(answer.files, review):
                return self._give(review, answer, started, True)
        deadline = asyncio.get_running_loop().time() + seconds - (time.perf_counter() - started)
        task = ReviewTask(review, body, snapshot, started, deadline, None if ready else _NOT_READY)
        if answer is not None and namespace is not None:
            return self._give_known(task, namespace, answer)
        return self._evaluate(task, namespace, key)

    async def _handle_when_ready(self, review: Review, body: bytes, started: float, seconds: float) -> bytes:
        """Wait for the first snapshot; where none comes, the table of reasons decides."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds * _SNAPSHOT_SHARE):
                await self._snapshots.first_build.wait()
        answer = self._handle(review, body, started, seconds, waited=True)
        return answer if isinstance(answer, bytes) else await answer

    def _evaluate(
        self, task: ReviewTask, namespace: Namespace | None, key: CacheKey | None
    ) -> bytes | Awaitable[bytes]:
        """Answer with the evaluator's verdict, which may need the API server's word on the namespace first."""
        evaluator, name = self._evaluator, task.namespace
        subject, own_namespace = evaluator.decode(task)
        namespace = own_namespace or namespace
        if namespace is None:
            return self._evaluate_after_asking(task, subject, None)
        teams, names = self._team_templates, evaluator.team_templates(task, subject)
        known = teams.known(task.snapshot, namespace, names) if teams and names else task.snapshot
        if known is None:
            return self._evaluate_after_asking(task, subject, namespace, ask=False)
        injection, doubted = evaluator.evaluate(task._replace(snapshot=known), subject, namespace)
        if doubted and not self._namespaces.confirmed(name):
            if not self._namespaces.tried(name):
                return self._evaluate_after_asking(task, subject, namespace)
            injection = evaluator.evaluate(task, subject, namespace, unread="a moment ago").injection
        return self._conclude(task, subject, namespace, injection, key, keep=_lasts(known, namespace, names))

    async def _evaluate_after_asking(
        self, task: ReviewTask, subject: Reviewed, stored: Namespace | None, *, ask: bool = True
    ) -> bytes:
        """The store does not know the namespace, or contradicts the review: ask the API server; and read the templates
        of the namespace's own that the object names.
        """
        namespace, unread, snapshot, failure = stored, "", task.snapshot, None
        names = self._evaluator.team_templates(task, subject)
        try:
            namespace = await self._namespaces.ask(task.namespace, task.deadline) if ask else stored
        except OSError as error:
            unread = str(error) or "no answer in time"
        try:
            if names and namespace is not None and self._team_templates is not None:
                snapshot = await self._team_templates.read(snapshot, namespace, names, task.deadline)
        except InjectionError as error:
            failure = Failure(error)
        evaluated = task._replace(snapshot=snapshot)
        injection, doubted = self._evaluator.evaluate(evaluated, subject, namespace, failure, unread)
        if doubted and not ask:
            return await self._evaluate_after_asking(task, subject, stored)
        namespace = namespace or Namespace(task.namespace)
        answer = self._conclude(task, subject, namespace, injection, keep=_lasts(snapshot, namespace, names))
        return answer if isinstance(answer, bytes) else await answer

    # -- ConfigMaps --

    def _give_known(self, task: ReviewTask, namespace: Namespace, answer: Answer) -> Awaitable[bytes]:
        """Answer as another pod was answered, when the ConfigMaps are there again."""

        def fail(error: InjectionError) -> bytes:
            subject, _ = self._evaluator.decode(task)
            injection = self._evaluator.evaluate(task, subject, namespace, Failure(error)).injection
            return self._finish(task, subject, namespace, injection)

        give = partial(self._give, task.review, answer, task.started, True)
        return self._answer_after_creating(task, answer.files, give, fail)

    def _conclude(
        self,
        task: ReviewTask,
        subject: Reviewed,
        namespace: Namespace,
        injection: Injection,
        key: CacheKey | None = None,
        *,
        keep: bool = True,
    ) -> bytes | Awaitable[bytes]:
        """Answer with this verdict; `keep` it for other pods that are alike."""
        if self._exist(injection.files, task.review):
            return self._finish(task, subject, namespace, injection, key, keep=keep)

        def fail(error: InjectionError) -> bytes:
            failed = self._evaluator.evaluate(task, subject, namespace, Failure(error, injection.decision))
            return self._finish(task, subject, namespace, failed.injection)

        finish = partial(self._finish, task, subject, namespace, injection, key, keep=keep)
        return self._answer_after_creating(task, injection.files, finish, fail)

    def _exist(self, files: tuple[GeneratedConfigMap, ...], review: Review) -> bool:
        if not files or self._config_maps is None:
            return True
        return bool(review.request.dry_run) or self._config_maps.known(files)

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
                if self._config_maps is not None:
                    await self._config_maps.ensure(files, task.deadline - asyncio.get_running_loop().time())
        except InjectionError as error:
            return fail(error)
        except Exception as error:
            cause = "in time" if isinstance(error, TimeoutError) else f"({type(error).__name__})"
            return fail(InjectionError(Reason.FILES_FAILED, f"ConfigMap {files[0].name} was not created {cause}"))
        return finish()

    # -- record and answer --

    def _finish(
        self,
        task: ReviewTask,
        subject: Reviewed,
        namespace: Namespace,
        injection: Injection,
        key: CacheKey | None = None,
        *,
        keep: bool = True,
    ) -> bytes:
        """Make the answer, keep it where it is good for other pods, and give it."""
        response, note, about, event = self._evaluator.answer(task, subject, namespace.name, injection)
        answer = Answer(
            answer_tail(response),
            self._recorder.line(note, namespace.name, about),
            self._recorder.cells(note),
            injection.files,
            event,
            task.started + REUSE_SECONDS if injection.patch else math.inf,
        )
        # What the API server had to confirm holds as long as the resolver says, not as long as the cache would keep it.
        if keep and self._cache is not None and injection.reason not in _PASSING | DOUBTFUL:
            key = key or self._cache.key(task.snapshot, namespace, bytes(task.review.request.object))
            self._cache.keep(task.snapshot, key, answer, response.patch)
        return self._give(task.review, answer, task.started, False)

    def _give(self, review: Review, answer: Answer, started: float, cached: bool) -> bytes:
        """Record the review and answer it."""
        if answer.event is not None and self._report is not None and not review.request.dry_run:
            self._report(*answer.event)
        self._recorder.record(review, answer.line, answer.cells, started, cached)
        return answer_head(review) + answer.tail


def _lasts(snapshot: Snapshot, namespace: Namespace, names: Sequence[str]) -> bool:
    """Whether an answer with these templates of a team may be kept: not where the store does not know one, because
    nothing would end it, nor where one is refused, which may pass.
    """
    return not names or (dict(namespace.team_templates).keys() >= set(names) and not snapshot.catalog.refused)
