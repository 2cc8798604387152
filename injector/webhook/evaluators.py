"""What the pipeline asks about a review: one evaluator for each kind of webhook.

`MutateEvaluator` injects a pod, `GuardEvaluator` checks the pod as it will be stored, `AdviseEvaluator` warns about a
workload, `PolicyEvaluator` applies the templates of one path in the settings. Whatever happens, a readable review gets
an answer: where the injector itself fails, the table of reasons decides as it does about everything else.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Generic, NamedTuple, TypeVar

import msgspec
import structlog

from injector.errors import InjectionError
from injector.injection import Injection, failed_injection, skipped_injection
from injector.pods.context import Namespace, Object, Request
from injector.pods.decision import Decision, creates_pod, decide, is_required
from injector.policies.admit import admit, refused
from injector.policies.request import ObjectRequest
from injector.reasons import Effect, Reason
from injector.settings import PathTemplates
from injector.telemetry import where_it_failed
from injector.templates.snapshot import Snapshot
from injector.webhook.record import FailureEvent, Note, Recorder, failure_event, note_of, object_name
from injector.webhook.response import AdmissionResponse, audit_annotations, response_to
from injector.webhook.review import Review, ReviewRequest, read_object, read_request, to_request

#: `inject` or `guard`: (pod, namespace, snapshot, request, decision=...) to the injection.
Core = Callable[..., Injection]
Reviewed = TypeVar("Reviewed")

#: Reasons that a webhook's own selectors contradict: had the API server seen it so, no review would have come.
DOUBTFUL = frozenset({Reason.NOT_REQUESTED, Reason.NAMESPACE_DISABLED})


class Failure(NamedTuple):
    """The error that keeps the core from a verdict, and the decision, if it was made before the error."""

    error: InjectionError
    decision: Decision | None = None


@dataclass(frozen=True, slots=True)
class ReviewTask:
    """One review on its way, with the one snapshot it goes by.

    `started` is `time.perf_counter()` of when its request was whole, `deadline` is of the event loop's clock. `failure`
    says that there is no snapshot to go by.
    """

    review: Review
    body: bytes
    snapshot: Snapshot
    started: float
    deadline: float
    failure: Failure | None = None

    @property
    def namespace(self) -> str:
        """The name of the namespace that the review names, "" for none."""
        return self.review.request.namespace or ""

    @property
    def object(self) -> bytes:
        """The object that the review is about, as JSON."""
        return bytes(self.review.request.object)

    def without_labels(self, cause: str) -> Failure:
        """The failure that the namespace's labels are not known."""
        message = f"the labels of namespace {self.namespace} could not be read ({cause})"
        return Failure(InjectionError(Reason.NOT_READY, message))


class Evaluator(ABC, Generic[Reviewed]):
    """One kind of webhook. `Reviewed` is what it reads of a review."""

    #: The answer to a review that it is not concerned with.
    unconcerned = AdmissionResponse(allowed=True, audit=audit_annotations(Reason.NOT_A_POD_CREATION.label, (), ""))

    def __init__(self, logger: structlog.typing.FilteringBoundLogger) -> None:
        self._logger = logger

    @abstractmethod
    def concerns(self, request: ReviewRequest) -> bool:
        """Whether a review is evaluated at all; any other is allowed as it is, whatever its object looks like."""

    @abstractmethod
    def decode(self, task: ReviewTask) -> Reviewed:
        """What the review is about. Raises ReviewError where that cannot be read."""

    def own_namespace(self, task: ReviewTask, subject: Reviewed) -> Namespace | None:
        """The namespace to go by where nobody has to be asked for it, else None."""
        return None

    @abstractmethod
    def evaluate(
        self, task: ReviewTask, subject: Reviewed, namespace: Namespace, failure: Failure | None = None
    ) -> Injection:
        """The verdict of the core; if there is a failure, the verdict that the table of reasons has for it.

        An exception is Reason.INTERNAL_ERROR, with a log line that quotes nothing of the object.
        """

    def doubts(self, injection: Injection) -> bool:
        """Whether the stored labels of the namespace must be old: with them the webhook would not have been called."""
        return injection.reason in DOUBTFUL

    def unconfirmed(self, task: ReviewTask, stored: Namespace | None, cause: str) -> tuple[Namespace, Failure | None]:
        """What to go by where the API server does not answer for a namespace: the store's word, if it has one."""
        return stored or Namespace(task.namespace), None if stored else task.without_labels(cause)

    def response(self, task: ReviewTask, subject: Reviewed, injection: Injection) -> AdmissionResponse:
        """What the API server is answered."""
        return response_to(injection)

    def note(self, injection: Injection) -> Note:
        """What logs and metrics say of it."""
        return note_of(injection)

    def event(
        self, subject: Reviewed, namespace: Namespace, injection: Injection, response: AdmissionResponse
    ) -> FailureEvent | None:
        """What to report on the object that owns the subject, if anything."""
        return None

    @abstractmethod
    def line(self, recorder: Recorder, note: Note, task: ReviewTask, subject: Reviewed, namespace: Namespace) -> bytes:
        """The part of the review's log line that is the same for every review with this answer."""

    def _log_error(self, task: ReviewTask, namespace: Namespace, error: Exception, **about: str) -> InjectionError:
        self._logger.error(
            "injection-failed",
            error=type(error).__name__,
            where=where_it_failed(error),
            namespace=namespace.name,
            **about,
            generation=task.snapshot.generation,
        )
        return InjectionError(Reason.INTERNAL_ERROR, f"{type(error).__name__}; the injector's log says where")


class MutateEvaluator(Evaluator[Object]):
    """`/mutate`: a pod that is created; the answer has the patch that injects it. `core` is `inject`."""

    #: Which effects become an Event.
    reported = frozenset({Effect.MARK, Effect.REFUSE})

    def __init__(self, core: Core, logger: structlog.typing.FilteringBoundLogger) -> None:
        super().__init__(logger)
        self._core = core

    def concerns(self, request: ReviewRequest) -> bool:
        """Whether a pod is created."""
        resource = request.resource
        return creates_pod(request.operation, resource.resource, resource.group, request.sub_resource)

    def decode(self, task: ReviewTask) -> Object:
        """The pod."""
        return read_object(bytes(task.review.request.object))

    def evaluate(
        self, task: ReviewTask, subject: Object, namespace: Namespace, failure: Failure | None = None
    ) -> Injection:
        """Decide, then inject; or where a pod that is to be injected fails, what the table of reasons says."""
        return self.evaluate_pod(task, subject, namespace, to_request(task.review.request), failure)

    def evaluate_pod(
        self, task: ReviewTask, pod: Object, namespace: Namespace, request: Request, failure: Failure | None = None
    ) -> Injection:
        """Decide about any pod, then inject it; the review may be about a workload that creates it."""
        snapshot = task.snapshot
        error, decision = failure or (None, None)
        try:
            decision = decision or decide(pod, namespace, snapshot.settings, request)
            if error is None:
                return self._core(pod, namespace, snapshot, request, decision=decision)
            if not decision.inject:
                return skipped_injection(pod, decision, snapshot)
        except Exception as raised:
            error = self._log_error(task, namespace, raised, pod=object_name(pod))
        decision = decision or Decision(error.reason, is_required(namespace, snapshot.settings), ())
        try:
            return failed_injection(pod, decision, snapshot, error)
        except Exception as raised:  # no pod that an API server sends: it cannot even be marked
            self._log_error(task, namespace, raised, pod=object_name(pod))
        failed = failed_injection({}, decision, snapshot, error)
        effect = Effect.SKIP if failed.allowed else Effect.REFUSE
        return msgspec.structs.replace(failed, object=pod, patch=(), effect=effect)

    def unconfirmed(self, task: ReviewTask, stored: Namespace | None, cause: str) -> tuple[Namespace, Failure | None]:
        """The namespace as the store has it; one that it does not have counts as `enabled`: the pod starts, marked."""
        if stored is not None:
            return stored, None
        label = task.snapshot.settings.namespace_label
        return _labelled(Namespace(task.namespace), label.key, label.enabled), task.without_labels(cause)

    def event(
        self, subject: Object, namespace: Namespace, injection: Injection, response: AdmissionResponse
    ) -> FailureEvent | None:
        """A pod that is refused, or starts without its sidecar."""
        if injection.effect not in self.reported:
            return None
        return failure_event(subject, namespace.name, injection, response.message)

    def line(self, recorder: Recorder, note: Note, task: ReviewTask, subject: Object, namespace: Namespace) -> bytes:
        """The line about the pod."""
        return recorder.line(note, namespace.name, subject)


class GuardEvaluator(MutateEvaluator):
    """`/validate`: the pod as it will be stored; refused where it lacks what is required. `core` is `guard`.

    That a review arrives here shows that its namespace is `required`: the API server sends no others.
    """

    reported = frozenset({Effect.REFUSE})

    def doubts(self, injection: Injection) -> bool:
        """Whether the store says that the namespace requires nothing."""
        return not injection.decision.required

    def unconfirmed(self, task: ReviewTask, stored: Namespace | None, cause: str) -> tuple[Namespace, Failure | None]:
        """The namespace, treated as `required`: a pod that lacks nothing passes even so."""
        label = task.snapshot.settings.namespace_label
        return _labelled(stored or Namespace(task.namespace), label.key, label.required), None

    def response(self, task: ReviewTask, subject: Object, injection: Injection) -> AdmissionResponse:
        """The verdict without a patch."""
        return response_to(injection, patching=False)


class PolicyEvaluator(Evaluator[ObjectRequest]):
    """A path of the settings' `paths`: takes an object of any kind, and answers what the path's templates make of it.

    `at` is what the path had at the start. A reload can change what a path has; only a restart adds or removes paths.
    """

    def __init__(self, path: str, at: PathTemplates, logger: structlog.typing.FilteringBoundLogger) -> None:
        super().__init__(logger)
        self._path = path
        self._at = at

    def concerns(self, request: ReviewRequest) -> bool:
        """Every review: the webhook entry decides which reviews arrive."""
        return True

    def decode(self, task: ReviewTask) -> ObjectRequest:
        """The object, the one before, and what else the review says."""
        request = task.review.request
        obj, before = _optional_object(bytes(request.object)), _optional_object(bytes(request.old_object))
        return ObjectRequest(to_request(request), obj, before, read_request(task.review, task.body))

    def own_namespace(self, task: ReviewTask, subject: ObjectRequest) -> Namespace | None:
        """A Namespace object itself; one without a name for a cluster-scoped object; and namespaces that the settings
        ignore, whose labels are not needed. None for all others.
        """
        if subject.is_namespace:
            return subject.itself()
        alone = not task.namespace or task.namespace in task.snapshot.settings.ignored_namespaces
        return Namespace(task.namespace) if alone else None

    def evaluate(
        self, task: ReviewTask, subject: ObjectRequest, namespace: Namespace, failure: Failure | None = None
    ) -> Injection:
        """What the path's templates make of the object; where it fails, what its `failurePolicy` says."""
        snapshot = task.snapshot
        at = snapshot.settings.paths.get(self._path, self._at)
        if failure is not None:
            return refused(subject, at, snapshot, failure.error)
        try:
            return admit(subject, namespace, at, snapshot)
        except Exception as error:
            resource = subject.request.resource[:64]
            return refused(subject, at, snapshot, self._log_error(task, namespace, error, resource=resource))

    def doubts(self, injection: Injection) -> bool:
        """Never: the namespace's labels do not matter here."""
        return False

    def line(
        self, recorder: Recorder, note: Note, task: ReviewTask, subject: ObjectRequest, namespace: Namespace
    ) -> bytes:
        """The line about the object."""
        name = subject.review.get("name")
        return recorder.object_line(note, namespace.name, subject.subject, subject.request, name)


def _labelled(namespace: Namespace, key: str, value: str) -> Namespace:
    return replace(namespace, labels={**namespace.labels, key: value})


def _optional_object(raw: bytes) -> Object:
    """One of a review's two objects; {} where it is none."""
    return {} if not raw or raw == b"null" else read_object(raw)
