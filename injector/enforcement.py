"""The guarantee of `required` namespaces: no pod without its sidecar, whatever the pod says of itself.

`pods.conformance` compares what a pod must hold; this module makes the pod hold it, or says why that cannot be.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from msgspec.structs import replace

from injector.apply import AppliedPod, InjectionContext, apply_templates, reapply, receipt_of, without_injection
from injector.diagnostics import Diagnostic
from injector.errors import InjectionError
from injector.pods.conformance import Permitted, protected_differences, skeleton
from injector.pods.constraints.namespace_limits import filled_in
from injector.pods.context import Object
from injector.pods.delivery import file_annotation
from injector.pods.differences import says_the_same, with_plugins_additions
from injector.pods.fields import CONTAINER_LISTS, POD
from injector.pods.keyed_pointers import Appended, PointerIndex, add_items, escape, in_pod, steps_to
from injector.pods.merge import merge
from injector.pods.overlay import name_of
from injector.pods.receipt import Receipt, take_off, without_items
from injector.pods.shape import string_map
from injector.reasons import Reason
from injector.settings import Settings


def guaranteed(pod: Object, receipt: Receipt | None, task: InjectionContext) -> tuple[AppliedPod, Object]:
    """The injection of a pod of a `required` namespace, and the injected pod; what the pod says of itself is no proof.

    First the missing parts are added. If a part differs from what the templates make, the injection is made again from
    the pod's own parts. If these prevent that, the pod is refused.
    """
    afresh = (
        apply_templates(without_injection(pod, receipt, task), task)
        if task.by_peer
        else _make_unforged(pod, receipt, task)
    )
    candidates = [(afresh, afresh.pod)]
    if task.by_peer:
        candidates.insert(0, (afresh, with_plugins_additions(afresh.pod, pod)))
    elif receipt is not None:
        complete = _all_seen(pod, afresh, receipt, task)
        own = pod if receipt.generation == task.snapshot.generation else without_items(pod, receipt)
        candidates.insert(0, (complete, reapply(own, complete, receipt, task)))
    differences: tuple[Diagnostic, ...] = ()
    for applied_pod, final in candidates:
        differences = _differences(final, applied_pod, task)
        if not differences:
            return applied_pod, final
    first = differences[0]
    raise InjectionError(
        Reason.NOT_OVERRIDABLE, first.message, help=_advice(first, afresh), path=first.path, fields=first.fields
    )


def check_guarantee(pod: Object, receipt: Receipt | None, task: InjectionContext) -> AppliedPod:
    """What the validating guard asks of a pod as it will be stored: that it lacks nothing, and has it as it was made.

    Raises InjectionError with Reason.NOT_INJECTED, or as `apply_templates` does.
    """
    applied_pod = _all_seen(pod, _make_unforged(pod, receipt, task), receipt, task)
    missing = _differences(pod, applied_pod, task)
    if missing:
        raise InjectionError(
            Reason.NOT_INJECTED,
            f"the pod is not as its namespace requires: {missing[0].message}",
            path=missing[0].path,
            fields=missing[0].fields,
        )
    return applied_pod


def with_guaranteed_parts(receipt: Receipt, pod: Object, applied_pod: AppliedPod) -> Receipt:
    """The receipt of an injected pod of a `required` namespace, in which all of its sidecars and their volumes stand.

    A pod may bring a part of them itself, as the templates make it. The injection did not add that, but the policy for
    updates keeps what the receipt names, and this has to be kept as well.
    """
    brought = _own_parts(pod, applied_pod).difference(receipt.added)
    return replace(receipt, guaranteed=tuple(sorted(brought))) if brought else receipt


def lacks_guaranteed_parts(receipt: Receipt | None, pod: Object, applied_pod: AppliedPod) -> bool:
    """Whether a pod's receipt does not name all of its sidecars and their volumes; it may be a forged one."""
    return bool(_own_parts(pod, applied_pod) - (set() if receipt is None else {*receipt.added, *receipt.guaranteed}))


def _own_parts(pod: Object, applied_pod: AppliedPod) -> set[str]:
    """The keyed pointers to the templates' containers and volumes that a pod has."""
    own = {**dict.fromkeys(CONTAINER_LISTS, applied_pod.own), "volumes": _own_volumes(applied_pod)}
    return {
        f"/spec/{field}/{escape(item['name'])}"
        for field, names in own.items()
        for item in pod["spec"].get(field) or ()
        if item.get("name") in names
    }


def _own_volumes(applied_pod: AppliedPod) -> set[str]:
    """The names of the templates' volumes."""
    volumes = [(applied.overlay.get("spec") or {}).get("volumes") or [] for applied in applied_pod.applied]
    return {name for items in volumes for name in map(name_of, items) if name}


def _make_unforged(pod: Object, receipt: Receipt | None, task: InjectionContext) -> AppliedPod:
    """The injection of a pod whose receipt may be forged: one that claims more than the injection makes is void."""
    applied_pod = apply_templates(without_injection(pod, receipt, task), task)
    if receipt is not None and not receipt.claims <= receipt_of(applied_pod, task).claims:
        return apply_templates(take_off(pod, None, task.settings), task)
    return applied_pod


def _advice(difference: Diagnostic, applied_pod: AppliedPod) -> str:
    """What to do about a difference. Only fields of a sidecar's container can be `overridable`."""
    steps = [*difference.path, "", "", ""]
    contained, name = steps[0] == "spec" and steps[1] in CONTAINER_LISTS, steps[2]
    if contained and name in applied_pod.app:
        return f"the template sets this in the app's containers too: remove your own value from {name}"
    if contained and steps[3]:
        return f"remove it from the pod, or ask the template's author to list `{steps[3]}` as `overridable`"
    return "remove it from the pod"


def _differences(actual: Object, applied_pod: AppliedPod, task: InjectionContext) -> tuple[Diagnostic, ...]:
    """Where a pod is not what the templates make of the app's bare containers."""
    app = applied_pod.app
    expected, placement = skeleton(actual, app), applied_pod.placement(task)
    replaced: list[str] = []
    appended: Appended = {}
    defaults: list[str] = []
    for applied in applied_pod.applied:
        if applied.defaults:  # of what a template before it asks for, that one has the say
            index = PointerIndex(expected)
            defaults += [p for p in in_pod(applied.defaults, expected, app) if index.at(p) is None]
        merged = merge(expected, applied.overlay, app=app, placement=placement, caches=task.snapshot.caches)
        expected, placement = merged.pod, merged.placement
        replaced += merged.replaced
        for pointer, items in merged.appended.items():
            add_items(appended, pointer, *items)
    replaced += [f"/metadata/annotations/{escape(key)}" for key in _file_annotations(applied_pod, task.settings)]
    permitted = _permitted(applied_pod, task, defaults)
    return protected_differences(actual, expected, permitted, replaced=replaced, appended=appended)


def _permitted(applied_pod: AppliedPod, task: InjectionContext, defaults: Collection[str]) -> Permitted:
    private: dict[str, set[str]] = {}
    for applied in applied_pod.applied:
        template, spec = applied.template, applied.overlay.get("spec") or {}
        for name in filter(None, map(name_of, spec.get("volumes") or [])):
            if not template.shares(name):
                private.setdefault(name, set()).update(applied.containers)
    resized = task.settings.required.resources == "any"
    resources = None if resized else filled_in(task.namespace)
    return Permitted(applied_pod.app, applied_pod.overridable, private, resources, resized, defaults)


def _all_seen(pod: Object, applied_pod: AppliedPod, receipt: Receipt | None, task: InjectionContext) -> AppliedPod:
    """The injection of a pod that keeps its parts; the templates must have seen all of them.

    A forged receipt can claim a label that a template adds, or say that there were no volumes. So it can hide the pod's
    own label or volume from a template that would deny the pod. Where the claimed parts are not as this injection makes
    them, it is made again from the whole pod. The sidecars' own parts are left out: `_differences` compares them
    anyway.
    """
    if receipt is None:
        return applied_pod
    compared = {f"/metadata/annotations/{escape(key)}" for key in _file_annotations(applied_pod, task.settings)}
    compared |= {f"/spec/{field}/{escape(name)}" for field in CONTAINER_LISTS for name in applied_pod.own}
    compared |= {f"/spec/volumes/{escape(name)}" for name in _own_volumes(applied_pod)}
    claims = {"/".join(map(escape, ("", *steps_to(pointer)))) for pointer in receipt.claims}  # each spelled in one way
    hidden = [p for p in claims if "/".join(p.split("/")[:4]) not in compared]
    label = {key: own for key, own in receipt.label.items() if key == task.settings.status_label}
    unmarked = take_off(pod, replace(receipt, added=(), replaced={}, appended={}, label=label), task.settings)
    have, expected = PointerIndex(unmarked), PointerIndex(applied_pod.pod)
    as_made = (
        (value := have.at(pointer)) in (None, {}, [])
        or says_the_same(value, expected.at(pointer), POD.at(steps_to(pointer)))
        for pointer in hidden
    )
    return applied_pod if all(as_made) else apply_templates(unmarked, task)


def _file_annotations(applied_pod: AppliedPod, settings: Settings) -> Iterator[str]:
    """Where the pod carries the templates' config files in annotations: those are the sidecars', word for word."""
    for applied in applied_pod.applied:
        carried = string_map(applied.overlay, "annotations")
        keys = (file_annotation(applied.template.name, name, settings) for name in applied.template.files)
        yield from (key for key in keys if key in carried)
