"""What the pipeline asks about a review: one evaluator for each kind of webhook.

`MutateEvaluator` injects a pod, `GuardEvaluator` checks the pod as it will be stored, `AdviseEvaluator` warns about a
workload, `PolicyEvaluator` applies the templates of one path in the settings. Whatever happens, a readable review gets
an answer: where the injector itself fails, the table of reasons decides as it does about everything else.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Generic, NamedTuple, TypeVar

import msgspec
import structlog

from injector.errors import InjectionError, ReviewError
from injector.inject import inject
from injector.injection import Injection, failed_injection, skipped_injection
from injector.pods.context import Namespace, Object, Request
from injector.pods.decision import Decision, creates_pod, decide, is_required
from injector.pods.shape import string_map
from injector.pods.workloads import misplaced, pod_template, workload_of_object
from injector.policies.admit import admit, refused
from injector.policies.request import ObjectRequest
from injector.reasons import Effect, Reason
from injector.settings import PathTemplates, Settings
from injector.telemetry import where_it_failed
from injector.templates.choice import misspelt_annotations
from injector.templates.snapshot import Snapshot
from injector.webhook.record import FailureEvent, Note, Recorder, failure_event, note_of
from injector.webhook.response import AdmissionResponse, audit_annotations, response_to
from injector.webhook.review import Review, ReviewRequest, read_object, read_request, to_request

#: `inject` or `guard`: (pod, namespace, snapshot, request, decision=...) to the injection.
Core = Callable[..., Injection]
Subject = TypeVar("Subject")

#: Reasons that a webhook's own selectors contradict: had the API server seen it so, no review would have come.
DOUBTFUL = frozenset({Reason.NOT_REQUESTED, Reason.NAMESPACE_DISABLED})


@dataclass(slots=True)
class ReviewTask:
    """One review on its way, with the one snapshot it goes by.

    `started` is `time.perf_counter()` of when its request was whole, `deadline` is of the event loop's clock.
    """

    review: Review
    body: bytes
    snapshot: Snapshot
    started: float
    deadline: float

    @property
    def namespace(self) -> str:
        """The name of the namespace that the review names, "" for none."""
        return self.review.request.namespace or ""

    @property
    def object(self) -> bytes:
        """The object that the review is about, as JSON."""
        return bytes(self.review.request.object)

    def without_labels(self, why: str) -> InjectionError:
        """The problem that the namespace's labels are not known."""
        return InjectionError(Reason.NOT_READY, f"the labels of namespace {self.namespace} could not be read ({why})")


class Evaluator(ABC, Generic[Subject]):
    """One kind of webhook. `Subject` is what it reads of a review."""

    #: The answer to a review that it is not concerned with.
    unconcerned = AdmissionResponse(allowed=True, audit=audit_annotations(Reason.NOT_A_POD_CREATION.label, (), ""))

    def __init__(self, logger: structlog.typing.FilteringBoundLogger) -> None:
        self._logger = logger

    @abstractmethod
    def concerns(self, request: ReviewRequest) -> bool:
        """Whether a review is evaluated at all; any other is allowed as it is, whatever its object looks like."""

    @abstractmethod
    def decode(self, task: ReviewTask) -> Subject:
        """What the review is about. Raises ReviewError where that cannot be read."""

    def own_namespace(self, task: ReviewTask, subject: Subject) -> Namespace | None:
        """The namespace to go by where nobody has to be asked for it, else None."""
        return None

    @abstractmethod
    def evaluate(
        self,
        task: ReviewTask,
        subject: Subject,
        namespace: Namespace,
        problem: InjectionError | None = None,
        decision: Decision | None = None,
    ) -> Injection:
        """The verdict. With a `problem`, which lies outside of the core, it is that of the table of reasons.

        `decision` is the one that was made for this review before. An exception is Reason.INTERNAL_ERROR, with a log
        line that quotes nothing of the object.
        """

    def doubts(self, injection: Injection) -> bool:
        """Whether the namespace's labels, as the store has them, contradict that there was a review at all."""
        return injection.reason in DOUBTFUL

    def unconfirmed(
        self, task: ReviewTask, stored: Namespace | None, why: str
    ) -> tuple[Namespace, InjectionError | None]:
        """What to go by where the API server does not answer for a namespace: the store's word, if it has one."""
        return stored or Namespace(task.namespace), None if stored else task.without_labels(why)

    def response(self, task: ReviewTask, subject: Subject, injection: Injection) -> AdmissionResponse:
        """What the API server is answered."""
        return response_to(injection)

    def note(self, injection: Injection) -> Note:
        """What logs and metrics say of it."""
        return note_of(injection)

    def event(
        self, subject: Subject, namespace: Namespace, injection: Injection, response: AdmissionResponse
    ) -> FailureEvent | None:
        """What to report on the object that owns the subject, if anything."""
        return None

    @abstractmethod
    def line(self, recorder: Recorder, note: Note, task: ReviewTask, subject: Subject, namespace: Namespace) -> bytes:
        """The part of the review's log line that is the same for every review with this answer."""

    def _failed(self, task: ReviewTask, namespace: Namespace, error: Exception) -> InjectionError:
        self._logger.error(
            "injection-failed",
            error=type(error).__name__,
            where=where_it_failed(error),
            namespace=namespace.name,
            resource=task.review.request.resource.resource[:64],
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
        self,
        task: ReviewTask,
        subject: Object,
        namespace: Namespace,
        problem: InjectionError | None = None,
        decision: Decision | None = None,
    ) -> Injection:
        """Decide, then inject; or what the table of reasons has for the problem, where the pod is to be injected."""
        return self.evaluate_pod(task, subject, namespace, problem, decision, to_request(task.review.request))

    def evaluate_pod(
        self,
        task: ReviewTask,
        pod: Object,
        namespace: Namespace,
        problem: InjectionError | None,
        decision: Decision | None,
        request: Request,
    ) -> Injection:
        """The same for a pod that the review may not be about itself."""
        snapshot = task.snapshot
        try:
            decision = decision or decide(pod, namespace, snapshot.settings, request)
            if problem is None:
                return self._core(pod, namespace, snapshot, request, decision=decision)
            if not decision.inject:
                return skipped_injection(pod, decision, snapshot)
        except Exception as error:
            problem = self._failed(task, namespace, error)
        decision = decision or Decision(problem.reason, is_required(namespace, snapshot.settings), ())
        try:
            return failed_injection(pod, decision, snapshot, problem)
        except Exception as error:  # no pod that an API server sends: it cannot even be marked
            self._failed(task, namespace, error)
        found = failed_injection({}, decision, snapshot, problem)
        effect = Effect.SKIP if found.allowed else Effect.REFUSE
        return msgspec.structs.replace(found, object=pod, patch=(), effect=effect)

    def unconfirmed(
        self, task: ReviewTask, stored: Namespace | None, why: str
    ) -> tuple[Namespace, InjectionError | None]:
        """The store's word; of a namespace that it does not have, `enabled`: the pod starts, marked."""
        if stored is not None:
            return stored, None
        settings = task.snapshot.settings
        return _labelled(Namespace(task.namespace), settings, settings.namespace_label.enabled), task.without_labels(
            why
        )

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

    Each review says by itself that its namespace is required: no other is sent here.
    """

    reported = frozenset({Effect.REFUSE})

    def doubts(self, injection: Injection) -> bool:
        """Whether the store says that the namespace requires nothing."""
        return not injection.decision.required

    def unconfirmed(
        self, task: ReviewTask, stored: Namespace | None, why: str
    ) -> tuple[Namespace, InjectionError | None]:
        """The namespace as a required one: a pod that lacks nothing passes all the same."""
        settings = task.snapshot.settings
        return _labelled(stored or Namespace(task.namespace), settings, settings.namespace_label.required), None

    def response(self, task: ReviewTask, subject: Object, injection: Injection) -> AdmissionResponse:
        """The verdict without a patch."""
        return response_to(injection, patching=False)


class Advised(NamedTuple):
    """A workload, and its pod template where there is something to say about it."""

    workload: Object
    pod: Object | None


class AdviseEvaluator(Evaluator[Advised]):
    """`/advise`: warnings about workloads, where a person sees them: at `kubectl apply` of a Deployment.

    A controller creates the pods of a Deployment, and reads no warnings. So its pod template is injected here as its
    pods will be, and what there is to say of it is said now. Everything is allowed, and nothing is kept or created. In
    logs and metrics the reason is the one that the pods would meet; the outcome is always `skip`.
    """

    unconcerned = AdmissionResponse(allowed=True)

    def concerns(self, request: ReviewRequest) -> bool:
        """Whether a workload itself is created or changed."""
        return request.operation in ("CREATE", "UPDATE") and not request.sub_resource

    def decode(self, task: ReviewTask) -> Advised:
        """The workload. A pod is warned about when it is created; what stays was talked about when it came."""
        request, settings = task.review.request, task.snapshot.settings
        obj = read_object(bytes(request.object))
        pod, before = pod_template(obj), _workload_before(request)
        same = before is not None and _talked_about(obj, settings) == _talked_about(before, settings)
        return Advised(obj, None if pod is obj or same else pod)

    def own_namespace(self, task: ReviewTask, subject: Advised) -> Namespace | None:
        """Any will do where there is nothing to say."""
        return Namespace(task.namespace) if subject.pod is None else None

    def evaluate(
        self,
        task: ReviewTask,
        subject: Advised,
        namespace: Namespace,
        problem: InjectionError | None = None,
        decision: Decision | None = None,
    ) -> Injection:
        """What the workload's pods will meet; nothing where there is nothing to say, or a problem."""
        if subject.pod is None or problem is not None:
            nothing = Decision(Reason.NOT_A_POD_CREATION, False, ())
            return skipped_injection(subject.workload, nothing, task.snapshot)
        core = partial(inject, workload=workload_of_object(subject.workload))
        pods = MutateEvaluator(core, self._logger)
        return pods.evaluate_pod(task, subject.pod, namespace, None, None, Request())

    def response(self, task: ReviewTask, subject: Advised, injection: Injection) -> AdmissionResponse:
        """What a workload's author should know; nothing where its pods are not to be injected."""
        if subject.pod is None or not injection.decision.inject:
            return self.unconcerned
        settings, found = task.snapshot.settings, response_to(injection)
        refusal = () if found.allowed else (f"its pods will be refused: {found.message}",)
        templates = [applied.template for applied in injection.applied]
        labels = misspelt_annotations("pod label", string_map(subject.pod, "labels"), settings, templates)
        warnings = (*refusal, *found.warnings, *labels, *misplaced(subject.workload, settings))
        return AdmissionResponse(allowed=True, warnings=tuple(dict.fromkeys(warnings)))

    def note(self, injection: Injection) -> Note:
        """The reason alone: nothing becomes of the workload."""
        return Note(injection.reason, Effect.SKIP, generation=injection.generation)

    def line(self, recorder: Recorder, note: Note, task: ReviewTask, subject: Advised, namespace: Namespace) -> bytes:
        """The line about the workload."""
        return recorder.line(note, namespace.name, subject.workload)


class PolicyEvaluator(Evaluator[ObjectRequest]):
    """A path of the settings' `paths`: an object of any kind in, what its templates say of it out.

    `at` is what was at the path at the start. A reload may change it; which paths there are stays until a restart.
    """

    def __init__(self, path: str, at: PathTemplates, logger: structlog.typing.FilteringBoundLogger) -> None:
        super().__init__(logger)
        self._path = path
        self._at = at

    def concerns(self, request: ReviewRequest) -> bool:
        """Every review: which ones come is the webhook entry's to say."""
        return True

    def decode(self, task: ReviewTask) -> ObjectRequest:
        """The object, the one before, and what else the review says."""
        request = task.review.request
        obj, before = _optional_object(bytes(request.object)), _optional_object(bytes(request.old_object))
        return ObjectRequest(to_request(request), obj, before, read_request(task.body))

    def own_namespace(self, task: ReviewTask, subject: ObjectRequest) -> Namespace | None:
        """A Namespace itself; of an object that lies in none one without a name. Of one that the settings leave alone
        nothing is asked.
        """
        if subject.is_namespace:
            return subject.itself()
        alone = not task.namespace or task.namespace in task.snapshot.settings.ignored_namespaces
        return Namespace(task.namespace) if alone else None

    def evaluate(
        self,
        task: ReviewTask,
        subject: ObjectRequest,
        namespace: Namespace,
        problem: InjectionError | None = None,
        decision: Decision | None = None,
    ) -> Injection:
        """What the path's templates make of the object; with a problem, what its `failurePolicy` says."""
        snapshot = task.snapshot
        at = snapshot.settings.paths.get(self._path, self._at)
        if problem is None:
            try:
                return admit(subject, namespace, at, snapshot)
            except Exception as error:
                problem = self._failed(task, namespace, error)
        return refused(subject, at, snapshot, problem)

    def doubts(self, injection: Injection) -> bool:
        """Never: no namespace's label has a say."""
        return False

    def line(
        self, recorder: Recorder, note: Note, task: ReviewTask, subject: ObjectRequest, namespace: Namespace
    ) -> bytes:
        """The line about the object."""
        named = subject.review.get("name")
        return recorder.object_line(note, namespace.name, subject.subject, subject.request, named)


def _labelled(namespace: Namespace, settings: Settings, value: str) -> Namespace:
    return replace(namespace, labels={**namespace.labels, settings.namespace_label.key: value})


def _workload_before(request: ReviewRequest) -> Object | None:
    """The workload before an update; None where there was none, or it cannot be read."""
    raw = bytes(request.old_object)
    if request.operation != "UPDATE" or not raw:
        return None
    try:
        return read_object(raw)
    except ReviewError:
        return None


def _talked_about(obj: Object, settings: Settings) -> tuple[object, ...]:
    """What warnings are about: the pod template, and what stands beside it by mistake."""
    return pod_template(obj), *misplaced(obj, settings)


def _optional_object(raw: bytes) -> Object:
    """One of a review's two objects; {} where it is none."""
    return {} if not raw or raw == b"null" else read_object(raw)
