"""What the pipeline asks about a review: one evaluator for each kind of webhook.

`MutateEvaluator` injects a pod, `GuardEvaluator` checks the pod as it will be stored, `WorkloadEvaluator` warns about a
workload, `PolicyEvaluator` applies the templates of one path in the settings. Whatever happens, a readable review gets
an answer: where the injector itself fails, the table of reasons decides as it does about everything else.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import replace
from typing import Generic, NamedTuple, TypeVar

import msgspec
import structlog

from injector.errors import InjectionError
from injector.injection import Injection, failed_injection, skipped_injection
from injector.pods.context import Namespace, Object, Request, string_field
from injector.pods.decision import Decision, creates_pod, decide, is_required
from injector.policies.admit import admit, refused
from injector.policies.request import ObjectRequest
from injector.reasons import Effect, Reason
from injector.settings import PathTemplates
from injector.telemetry import where_it_failed
from injector.templates.snapshot import Snapshot
from injector.templates.team import team_names
from injector.webhook.record import FailureEvent, Note, failure_event, note_of, object_name, resource_name
from injector.webhook.review import (
    AdmissionResponse,
    Review,
    ReviewRequest,
    audit_annotations,
    optional_object,
    read_object,
    read_request,
    response_to,
    to_request,
)

#: `inject` or `guard`: (pod, namespace, snapshot, request, decision=...) to the injection.
Core = Callable[..., Injection]
Reviewed = TypeVar("Reviewed")

#: Reasons that a webhook's own selectors contradict: had the API server seen it so, no review would have come.
DOUBTFUL = frozenset({Reason.NOT_REQUESTED, Reason.NAMESPACE_DISABLED})


class Failure(NamedTuple):
    """The error that keeps the core from a verdict, and the decision, if it was made before the error."""

    error: InjectionError
    decision: Decision | None = None


class ReviewTask(NamedTuple):
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

    def unread_labels(self, cause: str) -> Failure:
        """The failure that the namespace's labels are not known."""
        message = f"the labels of namespace {self.namespace} could not be read ({cause})"
        return Failure(InjectionError(Reason.NOT_READY, message))


class Verdict(NamedTuple):
    """What the core makes of a review.

    `doubted`: the stored labels of the namespace must be old, as with them the webhook would not have been called.
    """

    injection: Injection
    doubted: bool = False


class ReviewOutcome(NamedTuple):
    """What a review is answered, what is recorded of it, and what to report on the object's owner, if anything.

    `about` are the log line's fields that name the object.
    """

    response: AdmissionResponse
    note: Note
    about: dict[str, str]
    event: FailureEvent | None = None


def creates_a_pod(request: ReviewRequest) -> bool:
    """Whether a review is about the creation of a pod."""
    resource = request.resource
    return creates_pod(request.operation, resource.resource, resource.group, request.sub_resource)


class Evaluator(ABC, Generic[Reviewed]):
    """One kind of webhook. `Reviewed` is what it reads of a review."""

    #: Whether a review is evaluated at all; any other gets `unconcerned`, whatever its object looks like.
    concerns: Callable[[ReviewRequest], bool] = staticmethod(creates_a_pod)
    unconcerned = AdmissionResponse(allowed=True, audit=audit_annotations(Reason.NOT_A_POD_CREATION.label, (), ""))

    def __init__(self, logger: structlog.typing.FilteringBoundLogger) -> None:
        self._logger = logger

    @abstractmethod
    def decode(self, task: ReviewTask) -> tuple[Reviewed, Namespace | None]:
        """What the review is about, and the namespace to go by where nobody has to be asked for it.

        Raises ReviewError where the object cannot be read.
        """

    def team_templates(self, task: ReviewTask, subject: Reviewed) -> tuple[str, ...]:
        """The ConfigMaps that the object names as templates of its namespace."""
        return ()

    @abstractmethod
    def evaluate(
        self,
        task: ReviewTask,
        subject: Reviewed,
        namespace: Namespace | None,
        failure: Failure | None = None,
        unread: str = "",
    ) -> Verdict:
        """The verdict of the core; if there is a failure, the verdict that the table of reasons has for it.

        `unread` is why the API server does not say what the namespace is: `namespace` is then the store's word, or
        None. An exception is Reason.INTERNAL_ERROR, with a log line that quotes nothing of the object.
        """

    @abstractmethod
    def answer(self, task: ReviewTask, subject: Reviewed, namespace: str, injection: Injection) -> ReviewOutcome:
        """What the API server is answered, and what is recorded."""

    def _inject(
        self, core: Core, task: ReviewTask, pod: Object, namespace: Namespace, request: Request, failure: Failure | None
    ) -> Injection:
        """Decide, then inject; or where a pod that is to be injected fails, what the table of reasons says."""
        snapshot = task.snapshot
        error, decision = failure or task.failure or (None, None)
        try:
            decision = decision or decide(pod, namespace, snapshot.settings, request)
            if error is None:
                return core(pod, namespace, snapshot, request, decision=decision)
            if not decision.inject:
                return skipped_injection(pod, decision, snapshot)
        except Exception as raised:
            error = self._log_error(task, namespace, raised, pod=object_name(pod))
        decision = decision or Decision(error.reason, is_required(namespace, snapshot.settings), ())
        try:
            return failed_injection(pod, decision, snapshot, error)
        except Exception as raised:  # no pod that an API server sends: it cannot even be marked
            self._log_error(task, namespace, raised, pod=object_name(pod))
        refused = error.reason.effect(required=decision.required) is Effect.REFUSE
        return msgspec.structs.replace(
            skipped_injection(pod, decision, snapshot),
            reason=error.reason,
            effect=Effect.REFUSE if refused else Effect.SKIP,
            failures=(error.diagnostic,),
            consequence="" if refused else "no sidecar",
            code=error.code,
        )

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

    def decode(self, task: ReviewTask) -> tuple[Object, Namespace | None]:
        """The pod."""
        return read_object(bytes(task.review.request.object)), None

    def team_templates(self, task: ReviewTask, subject: Object) -> tuple[str, ...]:
        """Those that the pod's annotation names."""
        return team_names(subject, task.snapshot.settings)

    def evaluate(
        self,
        task: ReviewTask,
        subject: Object,
        namespace: Namespace | None,
        failure: Failure | None = None,
        unread: str = "",
    ) -> Verdict:
        """Decide, then inject. A namespace that nobody knows counts as `enabled`: the pod starts, marked."""
        if namespace is None:
            label = task.snapshot.settings.namespace_label
            namespace = Namespace(task.namespace, {label.key: label.enabled})
            failure = task.failure or task.unread_labels(unread)
        injection = self._inject(self._core, task, subject, namespace, to_request(task.review.request), failure)
        return Verdict(injection, injection.reason in DOUBTFUL)

    def answer(self, task: ReviewTask, subject: Object, namespace: str, injection: Injection) -> ReviewOutcome:
        """The patch, and an Event about a pod that is refused or starts without its sidecar."""
        response = response_to(injection)
        reported = injection.effect in self.reported
        event = failure_event(subject, namespace, injection, response.message) if reported else None
        return ReviewOutcome(response, note_of(injection), {"pod": object_name(subject)}, event)


class GuardEvaluator(MutateEvaluator):
    """`/validate`: the pod as it will be stored; refused where it lacks what is required. `core` is `guard`.

    That a review arrives here shows that its namespace is `required`: the API server sends no others.
    """

    reported = frozenset({Effect.REFUSE})

    def evaluate(
        self,
        task: ReviewTask,
        subject: Object,
        namespace: Namespace | None,
        failure: Failure | None = None,
        unread: str = "",
    ) -> Verdict:
        """The verdict without a patch. A namespace that nobody confirms is treated as `required`: a pod that lacks
        nothing passes even so.
        """
        if namespace is None or unread:
            label, known = task.snapshot.settings.namespace_label, namespace or Namespace(task.namespace)
            namespace = replace(known, labels={**known.labels, label.key: label.required})
        injection = super().evaluate(task, subject, namespace, failure).injection
        return Verdict(msgspec.structs.replace(injection, patch=()), not injection.decision.required)


class PolicyEvaluator(Evaluator[ObjectRequest]):
    """A path of the settings' `paths`: takes an object of any kind, and answers what the path's templates make of it.

    `at` is what the path had at the start. A reload can change what a path has; only a restart adds or removes paths.
    """

    #: Every review: the webhook entry decides which reviews arrive.
    concerns = staticmethod(lambda request: True)

    def __init__(self, path: str, at: PathTemplates, logger: structlog.typing.FilteringBoundLogger) -> None:
        super().__init__(logger)
        self._path = path
        self._at = at

    def decode(self, task: ReviewTask) -> tuple[ObjectRequest, Namespace | None]:
        """The object, the one before, and what else the review says.

        The namespace is known of a Namespace object, which lies in itself, of a cluster-scoped object, which lies in
        none, and of a namespace that the settings ignore, whose labels are not needed.
        """
        request = task.review.request
        obj, before = optional_object(bytes(request.object)), optional_object(bytes(request.old_object))
        subject = ObjectRequest(to_request(request), obj, before, read_request(task.review, task.body))
        if subject.is_namespace:
            return subject, subject.itself()
        alone = not task.namespace or task.namespace in task.snapshot.settings.ignored_namespaces
        return subject, Namespace(task.namespace) if alone else None

    def evaluate(
        self,
        task: ReviewTask,
        subject: ObjectRequest,
        namespace: Namespace | None,
        failure: Failure | None = None,
        unread: str = "",
    ) -> Verdict:
        """What the path's templates make of the object; where it fails, what its `failurePolicy` says."""
        snapshot = task.snapshot
        at = snapshot.settings.paths.get(self._path, self._at)
        failure = failure or task.failure
        if failure is not None or namespace is None:
            return Verdict(refused(subject, at, snapshot, (failure or task.unread_labels(unread)).error))
        try:
            return Verdict(admit(subject, namespace, at, snapshot))
        except Exception as error:
            resource = subject.request.resource[:64]
            return Verdict(refused(subject, at, snapshot, self._log_error(task, namespace, error, resource=resource)))

    def answer(self, task: ReviewTask, subject: ObjectRequest, namespace: str, injection: Injection) -> ReviewOutcome:
        """The verdict; an object without a name goes by the review's: a CONNECT has options as its object."""
        request, name = subject.request, subject.review.get("name")
        about = {
            "resource": resource_name(request),
            "name": object_name(subject.subject) or string_field(name)[:260],
            "operation": request.operation[:16],
        }
        return ReviewOutcome(response_to(injection), note_of(injection), about)
