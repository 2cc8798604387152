"""The pipeline, from a pod to its injection. Read it as a table of contents: each stage is a module of its own.

The webhook, the command line, the tests and the demo all call `inject()`. It is pure: no network, no clock, no
environment; what it wants created (`Injection.files`) the caller creates.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from injector.apply import (
    AppliedPod,
    InjectionContext,
    Overrides,
    apply_templates,
    reapply,
    receipt_of,
    with_parameter_to_move,
    without_injection,
)
from injector.budget import ReviewBudget
from injector.enforcement import (
    check_guarantee,
    guaranteed,
    lacks_guaranteed_parts,
    with_guaranteed_parts,
)
from injector.errors import InjectionError
from injector.injection import Injection, failed_injection, patch_between, skipped_injection, with_origins_of_templates
from injector.pods.constraints import check_constraints
from injector.pods.context import Namespace, Object, Request, Workload
from injector.pods.decision import Decision, decide
from injector.pods.delivery import uses_config_map
from injector.pods.differences import mismatches
from injector.pods.fields import ANY, NEWEST, POD
from injector.pods.keyed_pointers import path_of, steps_to
from injector.pods.patch import changes
from injector.pods.receipt import Receipt, Seals, is_sealed, read_receipt, sealed_text, take_off
from injector.pods.shape import check_shape, string_map, with_entries
from injector.reasons import Effect, Reason
from injector.settings import Settings
from injector.templates.snapshot import Snapshot


def inject(
    pod: Object,
    namespace: Namespace,
    snapshot: Snapshot,
    request: Request | None = None,
    *,
    names: Sequence[str] | None = None,
    overrides: Overrides | None = None,
    workload: Workload | None = None,
    config_map_name: str = "",
    seals: Seals | None = None,
    decision: Decision | None = None,
    budget: ReviewBudget | None = None,
) -> Injection:
    """Decide about a pod and inject it.

    `names` and `overrides` are the command line's templates and parameters. `workload` names the workload of a pod
    template in a manifest; None finds it from the pod's ownerReferences. `config_map_name` is what the generated
    ConfigMap is called; empty leaves that to its content. `seals` are what replicas know each other's receipts by.
    `decision` is the one that was made about this before. `budget` is for the work that may be done, by default as the
    settings say. Never raises InjectionError: a pod that cannot be injected is a result too, by the table of reasons.
    """
    decision = decision or decide(pod, namespace, snapshot.settings, request or Request())
    if not decision.inject:
        return skipped_injection(pod, decision, snapshot)
    receipt = read_receipt(pod, snapshot.settings)
    snapshot = _of_receipt(receipt, snapshot)
    try:
        with budget or ReviewBudget(snapshot.settings.review_work):
            check_shape(pod)
            by_peer = _is_of_peer(receipt, pod, snapshot, namespace, seals)
            task = InjectionContext(
                namespace, snapshot, decision, names, overrides or {}, workload, by_peer, config_map_name
            )
            if decision.required:
                applied_pod, final = guaranteed(pod, receipt, task)
            elif by_peer:
                replayed = msgspec.structs.replace(decision, reason=Reason.ALREADY_INJECTED)
                return skipped_injection(pod, replayed, snapshot)
            else:
                applied_pod = apply_templates(without_injection(pod, receipt, task), task)
                final = applied_pod.pod if receipt is None else _completed(pod, applied_pod, receipt, task)
            return _done(pod, final, applied_pod, task, receipt, seals)
    except InjectionError as error:
        failed = failed_injection(pod, decision, snapshot, error)
        return failed if failed.allowed else with_origins_of_templates(failed, pod, namespace, snapshot, names)


def guard(
    pod: Object,
    namespace: Namespace,
    snapshot: Snapshot,
    request: Request | None = None,
    *,
    seals: Seals | None = None,
    decision: Decision | None = None,
    budget: ReviewBudget | None = None,
) -> Injection:
    """What a `required` namespace says about a pod as it will be stored: everything is there, or it is refused.

    A pod that another replica injected, with a snapshot which is not known here, passes as long as its receipt's seal
    holds: the parts that it names are there as that replica made them.
    """
    decision = decision or decide(pod, namespace, snapshot.settings, request or Request())
    if not (decision.required and decision.inject):
        return skipped_injection(pod, decision, snapshot)
    receipt = read_receipt(pod, snapshot.settings)
    snapshot = _of_receipt(receipt, snapshot)
    by_peer = False
    try:
        with budget or ReviewBudget(snapshot.settings.review_work):
            check_shape(pod)
            by_peer = _is_of_peer(receipt, pod, snapshot, namespace, seals)
            task = InjectionContext(namespace, snapshot, decision, None, {}, None, by_peer)
            applied_pod = check_guarantee(pod, receipt, task)
    except InjectionError as error:
        if by_peer and error.reason is not Reason.DENIED:
            return skipped_injection(pod, msgspec.structs.replace(decision, reason=Reason.ALREADY_INJECTED), snapshot)
        failed = failed_injection(pod, decision, snapshot, error)
        return failed if failed.allowed else with_origins_of_templates(failed, pod, namespace, snapshot)
    nothing = receipt is None and applied_pod.pod is applied_pod.base and not applied_pod.own
    reason = Reason.NOTHING_TO_ADD if nothing else Reason.ALREADY_INJECTED
    return Injection(
        decision=decision,
        reason=reason,
        effect=Effect.SKIP,
        object=pod,
        generation=snapshot.generation,
        applied=applied_pod.applied,
        templates_source=applied_pod.source,
    )


def uninject(pod: Object, settings: Settings) -> Object:
    """The pod as it was before its injection, from its receipt; the same pod when it has none."""
    return take_off(pod, read_receipt(pod, settings), settings)


def _of_receipt(receipt: Receipt | None, snapshot: Snapshot) -> Snapshot:
    """The snapshot that the receipt names, if it is the last one; so a reload between two calls changes no pod."""
    previous = snapshot.previous
    if receipt is not None and previous is not None and receipt.generation == previous.generation:
        return previous
    return snapshot


def _is_of_peer(
    receipt: Receipt | None, pod: Object, snapshot: Snapshot, namespace: Namespace, seals: Seals | None
) -> bool:
    """Whether the pod is as another replica injected it, with a snapshot that is not known here."""
    if receipt is None or receipt.generation == snapshot.generation:
        return False
    return is_sealed(receipt, pod, snapshot.settings, namespace.name, seals)


def _completed(pod: Object, applied_pod: AppliedPod, receipt: Receipt, task: InjectionContext) -> Object:
    """A pod that carries an injection, with what is missing.

    A sidecar of another generation that is not as it would be made now is replaced whole: half of one and half of the
    other would not run.
    """
    settings = task.settings
    if receipt.generation == task.snapshot.generation:
        return reapply(pod, applied_pod, receipt, task)
    marks = dict.fromkeys(settings.mark_keys)
    bare, expected = (with_entries(of, marks, receipt.label) for of in (pod, applied_pod.pod))
    return pod if not any(mismatches(bare, expected, POD, "", exact=True)) else applied_pod.pod


def _done(
    pod: Object,
    final: Object,
    applied_pod: AppliedPod,
    task: InjectionContext,
    before: Receipt | None,
    seals: Seals | None,
) -> Injection:
    """The injection, with mark and receipt; or, when nothing is missing, the pod as it is.

    A policy adds nothing: a pod that passes it is not marked as one that has a sidecar. In a `required` namespace a
    receipt whose seal is no longer valid, or that does not name all that is guaranteed, is written anew, even if the
    pod lacks nothing.
    """
    settings, decision, namespace = task.settings, task.decision, task.namespace.name
    reason, effect, after = Reason.ALREADY_INJECTED, Effect.SKIP, pod
    label = {settings.status_label: "injected"} if settings.status_label else {}
    marked = string_map(pod, "annotations").get(settings.status_key) == "injected"
    marked = marked and label.items() <= string_map(pod, "labels").items()
    if applied_pod.pod is pod and not applied_pod.own:
        reason = Reason.NOTHING_TO_ADD
    elif (missing := not marked or bool(changes(pod, final))) or (
        decision.required and _is_incomplete(before, pod, applied_pod, task, seals)
    ):
        if missing:
            reason, effect = Reason.INJECTED, Effect.INJECT
        receipt = receipt_of(applied_pod, task)
        _check_kept(receipt, task)
        if decision.required:
            receipt = with_guaranteed_parts(receipt, final, applied_pod)
        text = sealed_text(receipt, final, namespace, seals, task.snapshot.caches)
        marks = {settings.status_key: "injected", settings.reason_key: None, settings.receipt_key: text}
        after = with_entries(final, marks, label)
        snapshot = task.snapshot
        try:
            check_constraints(after, applied_pod.base, task.namespace, snapshot.cluster, snapshot.caches)
        except InjectionError as error:
            raise with_parameter_to_move(error, applied_pod, task) from None
    return Injection(
        decision=decision,
        reason=reason,
        effect=effect,
        object=after,
        generation=task.snapshot.generation,
        patch=patch_between(pod, after),
        files=tuple(f for a in applied_pod.applied for f in a.files if uses_config_map(after, f.name)),
        warnings=tuple(dict.fromkeys((*decision.warnings, *applied_pod.warnings))),
        applied=applied_pod.applied,
        templates_source=applied_pod.source,
    )


def _check_kept(receipt: Receipt, task: InjectionContext) -> None:
    """Refuse an injection of which the API server would keep nothing: such a pod is not marked as injected."""
    own = receipt.places
    is_lost = own and all(POD.at(steps_to(pointer)) is ANY for pointer in own)
    if is_lost and task.snapshot.cluster.version <= NEWEST:
        message = "Kubernetes has no such field, and drops it; nothing of the overlay is left"
        raise InjectionError(Reason.TEMPLATE_FAILED, message, path=path_of(own[0]))


def _is_incomplete(
    receipt: Receipt | None, pod: Object, applied_pod: AppliedPod, task: InjectionContext, seals: Seals | None
) -> bool:
    """Whether a receipt is no longer sealed, or does not name all that is guaranteed."""
    if lacks_guaranteed_parts(receipt, pod, applied_pod):
        return True
    if receipt is None or seals is None:
        return False
    return not is_sealed(receipt, pod, task.settings, task.namespace.name, seals)
