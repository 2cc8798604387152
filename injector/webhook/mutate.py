"""`POST /mutate`: a pod creation in, the patch that injects it out.

The way of a replica that was seen before is `Mutate.__call__` alone: read the review, look up the answer, tell of it.
Any other pod is injected, and only where it has to is something waited for: a namespace that the store does not know,
a second opinion of the API server, ConfigMaps.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import time
from collections.abc import Awaitable
from dataclasses import dataclass

from injector.errors import InjectionError
from injector.injection import Injection
from injector.pods.context import Namespace, Object
from injector.pods.delivery import GeneratedConfigMap
from injector.reasons import Reason
from injector.telemetry import Metrics
from injector.templates.snapshot import Snapshot
from injector.webhook.answer_cache import AnswerCache, CachedAnswer, key_of, may_be_kept
from injector.webhook.evaluator import DOUBTFUL, PASSING, Evaluator, note_of, verdict_of
from injector.webhook.failure_events import FailureEvent, Tell, failure_event_of
from injector.webhook.namespace_resolver import NamespaceResolver
from injector.webhook.pass_through import PassThrough, is_pod_creation
from injector.webhook.protocols import ConfigMapCreator, SnapshotSource
from injector.webhook.receipt_seals import REUSE_SECONDS
from injector.webhook.record import Recorder
from injector.webhook.review import Review, answer_head, answer_tail, read_object, read_review, to_request


@dataclass(frozen=True, slots=True)
class _Case:
    """One review on its way, with the one snapshot it goes by and the time (event loop's clock) it has."""

    review: Review
    raw: bytes
    snapshot: Snapshot
    started: float
    deadline: float


class Mutate:
    """The handler of the mutating webhook."""

    def __init__(
        self,
        judge: Evaluator,
        snapshots: SnapshotSource,
        lookup: NamespaceResolver,
        config_maps: ConfigMapCreator,
        recorder: Recorder,
        metrics: Metrics,
        cache_bytes: int,
        tell: Tell = None,
    ) -> None:
        self._judge = judge
        self._snapshots = snapshots
        self._lookup = lookup
        self._config_maps = config_maps
        self._recorder = recorder
        self._tell = tell
        self._untouched = PassThrough(recorder)
        self._cache = AnswerCache(cache_bytes)
        self._cached_of: Snapshot | None = None
        self._hits = metrics.cache.cell("hit")
        self._misses = metrics.cache.cell("miss")
        self._bytes = metrics.cache_bytes.cell()

    def __call__(self, body: bytes, seconds: float) -> bytes | Awaitable[bytes]:
        """Answer an AdmissionReview within `seconds`. Raises ReviewError for one that cannot be read."""
        started = time.perf_counter()
        review = read_review(body)
        request = review.request
        if not is_pod_creation(request):
            return self._untouched(review, started)
        snapshot = self._snapshots.current
        if snapshot is not self._cached_of:
            self._cache.clear()
            self._cached_of = snapshot
        raw = bytes(request.object)
        namespace = self._lookup.get(request.namespace or "")
        if namespace is None:
            return self._with_namespace(self._case(review, raw, snapshot, started, seconds))
        key, volatile = key_of(self._cache.token(namespace), raw)
        entry = self._cache.get(key)
        if entry is not None and entry.until > started:
            self._hits.value += 1
            if not entry.files or request.dry_run or self._config_maps.known(entry.files):
                answer = answer_head(review) + entry.tail
                if entry.trouble is not None:
                    self._told(entry.trouble, review)
                self._recorder.record(review, entry.line, entry.cells, started, True)
                return answer
            return self._with_files(self._case(review, raw, snapshot, started, seconds), namespace, entry)
        self._misses.value += 1
        case = self._case(review, raw, snapshot, started, seconds)
        pod = read_object(raw)
        injection = self._inject(case, pod, namespace)
        if injection.reason in DOUBTFUL and not self._lookup.tried(namespace.name):
            return self._with_second_opinion(case, pod, namespace)
        return self._conclude(case, pod, namespace, injection, key, volatile)

    def forget(self) -> None:
        """Give no answer again that was given before: seals are made with another key now."""
        self._cached_of = None

    # -- what may have to wait --

    async def _with_namespace(self, case: _Case) -> bytes:
        """The namespace is not known: ask for it, then go on."""
        pod = read_object(case.raw)
        name = case.review.request.namespace or ""
        try:
            namespace = await self._lookup.ask(name, case.deadline)
        except OSError as error:
            label = case.snapshot.settings.namespace_label
            assumed = Namespace(name, labels={label.key: label.enabled})
            problem = InjectionError(Reason.NOT_READY, f"the labels of namespace {name} could not be read ({error})")
            request = to_request(case.review.request)
            return self._finish(case, pod, assumed, self._judge.fail(pod, assumed, case.snapshot, request, problem))
        return await self._afresh(case, pod, namespace)

    async def _with_second_opinion(self, case: _Case, pod: Object, namespace: Namespace) -> bytes:
        """The store says that nothing is asked for, yet the review came: ask the API server, then go on."""
        with contextlib.suppress(OSError):  # without an answer, the store's word is the best there is
            namespace = await self._lookup.ask(namespace.name, case.deadline)
        return await self._afresh(case, pod, namespace)

    async def _afresh(self, case: _Case, pod: Object, namespace: Namespace) -> bytes:
        key, volatile = key_of(self._cache.token(namespace), case.raw)
        injection = self._inject(case, pod, namespace)
        answer = self._conclude(case, pod, namespace, injection, key, volatile)
        return answer if isinstance(answer, bytes) else await answer

    async def _with_files(self, case: _Case, namespace: Namespace, entry: CachedAnswer) -> bytes:
        """A known answer whose ConfigMaps have not been seen for a while."""
        try:
            await self._ensure(entry.files, case)
        except InjectionError as error:
            return self._without_files(case, read_object(case.raw), namespace, error)
        self._recorder.record(case.review, entry.line, entry.cells, case.started, True)
        return answer_head(case.review) + entry.tail

    async def _with_new_files(
        self,
        case: _Case,
        pod: Object,
        namespace: Namespace,
        injection: Injection,
        key: bytes,
        volatile: tuple[bytes, ...],
    ) -> bytes:
        try:
            await self._ensure(injection.files, case)
        except InjectionError as error:
            return self._without_files(case, pod, namespace, error)
        return self._finish(case, pod, namespace, injection, key, volatile)

    async def _ensure(self, files: tuple[GeneratedConfigMap, ...], case: _Case) -> None:
        """Have the ConfigMaps created. Raises InjectionError(FILES_FAILED) for whatever goes wrong."""
        left = case.deadline - asyncio.get_running_loop().time()
        try:
            if left <= 0:
                raise TimeoutError
            async with asyncio.timeout(left):
                await self._config_maps.ensure(files, left)
        except InjectionError:
            raise
        except TimeoutError:
            raise InjectionError(Reason.FILES_FAILED, f"ConfigMap {files[0].name} was not created in time") from None
        except Exception as error:
            what = f"ConfigMap {files[0].name} was not created ({type(error).__name__})"
            raise InjectionError(Reason.FILES_FAILED, what) from error

    # -- verdicts and answers --

    def _case(self, review: Review, raw: bytes, snapshot: Snapshot, started: float, seconds: float) -> _Case:
        return _Case(review, raw, snapshot, started, asyncio.get_running_loop().time() + seconds)

    def _inject(self, case: _Case, pod: Object, namespace: Namespace) -> Injection:
        request = to_request(case.review.request)
        if not self._snapshots.ready:
            problem = InjectionError(Reason.NOT_READY, "settings and templates have not been read yet; try again")
            return self._judge.fail(pod, namespace, case.snapshot, request, problem)
        return self._judge.judge(pod, namespace, case.snapshot, request)

    def _conclude(
        self,
        case: _Case,
        pod: Object,
        namespace: Namespace,
        injection: Injection,
        key: bytes,
        volatile: tuple[bytes, ...],
    ) -> bytes | Awaitable[bytes]:
        files = injection.files
        if files and not case.review.request.dry_run and not self._config_maps.known(files):
            return self._with_new_files(case, pod, namespace, injection, key, volatile)
        return self._finish(case, pod, namespace, injection, key, volatile)

    def _without_files(self, case: _Case, pod: Object, namespace: Namespace, error: InjectionError) -> bytes:
        request = to_request(case.review.request)
        return self._finish(case, pod, namespace, self._judge.fail(pod, namespace, case.snapshot, request, error))

    def _finish(
        self,
        case: _Case,
        pod: Object,
        namespace: Namespace,
        injection: Injection,
        key: bytes = b"",
        volatile: tuple[bytes, ...] = (),
    ) -> bytes:
        """Make the answer, tell of it, and keep it where it is good for other pods (a `key` is given)."""
        verdict, note = verdict_of(injection), note_of(injection)
        tail = answer_tail(verdict)
        line, cells = self._recorder.line(note, namespace.name, pod), self._recorder.cells(note)
        self._recorder.record(case.review, line, cells, case.started, False)
        # What the API server had to confirm holds as long as `Lookup` says, not as long as the cache would keep it.
        trouble = None if self._tell is None else failure_event_of(pod, namespace.name, injection)
        if trouble is not None:
            self._told(trouble, case.review)
        lasting = key and injection.reason not in PASSING | DOUBTFUL and case.snapshot is self._cached_of
        if lasting:
            until = case.started + REUSE_SECONDS if injection.patch else math.inf
            entry = CachedAnswer(tail, line, cells, injection.files, trouble, until)
            if may_be_kept(volatile, verdict.patch, entry):
                self._cache.put(key, entry)
                self._bytes.value = self._cache.size
        return answer_head(case.review) + tail

    def _told(self, trouble: FailureEvent, review: Review) -> None:
        if self._tell is not None and not review.request.dry_run:
            self._tell(trouble)
