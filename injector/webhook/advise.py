"""Advice: warnings about workloads, where a person sees them: at `kubectl apply` of a Deployment."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

from injector.errors import ReviewError
from injector.inject import inject
from injector.injection import Injection, skipped_injection
from injector.pods.context import Namespace, Object, Request
from injector.pods.decision import Decision
from injector.pods.misplaced_keys import misplaced_keys
from injector.pods.shape import string_map
from injector.pods.workloads import pod_template, workload_of_object
from injector.reasons import Effect, Reason
from injector.settings import Settings
from injector.templates.choice import misspelt_annotations
from injector.webhook.evaluators import Evaluator, Failure, MutateEvaluator, ReviewTask
from injector.webhook.record import Note, Recorder
from injector.webhook.response import AdmissionResponse, response_to
from injector.webhook.review import ReviewRequest, read_object


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
        """The workload; no pod for a Pod, which gets its own warnings, or for an unchanged pod template."""
        request, settings = task.review.request, task.snapshot.settings
        obj = read_object(bytes(request.object))
        pod, before = pod_template(obj), _workload_before(request)
        same = before is not None and _talked_about(obj, settings) == _talked_about(before, settings)
        return Advised(obj, None if pod is obj or same else pod)

    def own_namespace(self, task: ReviewTask, subject: Advised) -> Namespace | None:
        """A namespace without labels if there is nothing to check, so that the API server is not asked for them."""
        return Namespace(task.namespace) if subject.pod is None else None

    def evaluate(
        self,
        task: ReviewTask,
        subject: Advised,
        namespace: Namespace,
        failure: Failure | None = None,
    ) -> Injection:
        """What becomes of the workload's pods; skipped if there is no pod template to check, or after a failure."""
        if subject.pod is None or failure is not None:
            nothing = Decision(Reason.NOT_A_POD_CREATION, False, ())
            return skipped_injection(subject.workload, nothing, task.snapshot)
        core = partial(inject, workload=workload_of_object(subject.workload))
        pods = MutateEvaluator(core, self._logger)
        return pods.evaluate_pod(task, subject.pod, namespace, Request())

    def response(self, task: ReviewTask, subject: Advised, injection: Injection) -> AdmissionResponse:
        """What a workload's author should know; nothing where its pods are not to be injected."""
        if subject.pod is None or not injection.decision.inject:
            return self.unconcerned
        settings, mutation = task.snapshot.settings, response_to(injection)
        refusal = () if mutation.allowed else (f"the pods of this workload will be refused: {mutation.message}",)
        templates = [applied.template for applied in injection.applied]
        misspelt = misspelt_annotations("pod label", string_map(subject.pod, "labels"), settings, templates)
        labels = (label.sentence for label in misspelt)
        warnings = (*refusal, *mutation.warnings, *labels, *misplaced_keys(subject.workload, settings))
        return AdmissionResponse(allowed=True, warnings=tuple(dict.fromkeys(warnings)))

    def note(self, injection: Injection) -> Note:
        """The reason, with the outcome `skip`: the workload itself is not changed."""
        return Note(injection.reason, Effect.SKIP, generation=injection.generation)

    def line(self, recorder: Recorder, note: Note, task: ReviewTask, subject: Advised, namespace: Namespace) -> bytes:
        """The line about the workload."""
        return recorder.line(note, namespace.name, subject.workload)


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
    return pod_template(obj), *misplaced_keys(obj, settings)
