"""Warnings about workloads, where a person sees them: at `kubectl apply` of a Deployment."""

from __future__ import annotations

from functools import partial

import msgspec

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
from injector.templates.team import team_names
from injector.webhook.evaluators import DOUBTFUL, Evaluator, Failure, ReviewOutcome, ReviewTask, Verdict
from injector.webhook.record import note_of, object_name
from injector.webhook.review import AdmissionResponse, ReviewRequest, read_object, response_to

#: A workload, and its pod template where there is something to say about it.
_WorkloadAndPod = tuple[Object, Object | None]


def _changes_a_workload(request: ReviewRequest) -> bool:
    return request.operation in ("CREATE", "UPDATE") and not request.sub_resource


class WorkloadEvaluator(Evaluator[_WorkloadAndPod]):
    """`/advise`: warnings about workloads, where a person sees them: at `kubectl apply` of a Deployment.

    A controller creates the pods of a Deployment, and reads no warnings. So its pod template is injected here as its
    pods will be, and what there is to say of it is said now. Everything is allowed, and nothing is kept or created. In
    logs and metrics the reason is the one that the pods would meet; the outcome is always `skip`.
    """

    concerns = staticmethod(_changes_a_workload)
    unconcerned = AdmissionResponse(allowed=True)

    def decode(self, task: ReviewTask) -> tuple[_WorkloadAndPod, Namespace | None]:
        """The workload; no pod for a Pod, which gets its own warnings, or for an unchanged pod template.

        Without a pod there is nothing to check, and the API server is not asked for the namespace's labels.
        """
        request, settings = task.review.request, task.snapshot.settings
        obj = read_object(bytes(request.object))
        pod, before = pod_template(obj), _workload_before(request)
        same = before is not None and _talked_about(obj, settings) == _talked_about(before, settings)
        if pod is None or pod is obj or same:
            return (obj, None), Namespace(task.namespace)
        return (obj, pod), None

    def team_templates(self, task: ReviewTask, subject: _WorkloadAndPod) -> tuple[str, ...]:
        """Those that the pod template's annotation names."""
        return team_names(subject[1] or {}, task.snapshot.settings)

    def evaluate(
        self,
        task: ReviewTask,
        subject: _WorkloadAndPod,
        namespace: Namespace | None,
        failure: Failure | None = None,
        unread: str = "",
    ) -> Verdict:
        """What becomes of the workload's pods; skipped if there is no pod template to check, or after a failure."""
        workload, pod = subject
        if pod is None or namespace is None or failure is not None or task.failure is not None:
            return Verdict(skipped_injection(workload, Decision(Reason.NOT_A_POD_CREATION, False, ()), task.snapshot))
        core = partial(inject, workload=workload_of_object(workload))
        injection = self._inject(core, task, pod, namespace, Request(), None)
        return Verdict(injection, injection.reason in DOUBTFUL)

    def answer(self, task: ReviewTask, subject: _WorkloadAndPod, namespace: str, injection: Injection) -> ReviewOutcome:
        """What a workload's author should know; nothing where its pods are not to be injected."""
        (workload, pod), settings, response = subject, task.snapshot.settings, self.unconcerned
        if pod is not None and injection.decision.inject:
            mutation = response_to(injection)
            refusals = () if mutation.allowed else injection.failures[:1]
            refusal = (failure.warning(f"its pods will be refused: {injection.reason}: ") for failure in refusals)
            templates = [applied.template for applied in injection.applied]
            misspelt = misspelt_annotations("pod label", string_map(pod, "labels"), settings, templates)
            labels = (label.sentence for label in misspelt)
            warnings = (*refusal, *mutation.warnings, *labels, *misplaced_keys(workload, settings))
            response = AdmissionResponse(allowed=True, warnings=tuple(dict.fromkeys(warnings)))
        note = note_of(msgspec.structs.replace(injection, effect=Effect.SKIP, applied=()))
        return ReviewOutcome(response, note, {"pod": object_name(workload)})


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
