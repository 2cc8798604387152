"""The pipeline, from a pod to its injection. Read it as a table of contents: each stage is a module of its own.

The webhook, the command line, the tests and the demo all call `inject()`. It is pure: no network, no clock, no
environment; what it wants created (`Injection.files`) the caller creates.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from injector.errors import InjectionError
from injector.pods import constraints
from injector.pods.context import Namespace, Object, Request, Workload
from injector.pods.decision import Decision, decide
from injector.pods.defaults import mismatches
from injector.pods.delivery import GeneratedConfigMap, by_annotation, config_map, file_annotation, uses_config_map
from injector.pods.guarantee import protected_differences, skeleton
from injector.pods.merge import merge
from injector.pods.merge_keys import escape, unescape
from injector.pods.overlay import EVERY_CONTAINER, name_of
from injector.pods.patch import applies, changes, to_json_patch
from injector.pods.receipt import Receipt, make_receipt, read_receipt, take_off, value_at, write_receipt
from injector.pods.shape import check_shape, string_map, with_annotations
from injector.pods.sidecars import Placement
from injector.pods.workloads import workload_of_pod
from injector.reasons import Effect, Reason
from injector.settings import Settings
from injector.templates.choice import choose
from injector.templates.parameters import Resolved, resolve
from injector.templates.render import Context, render_files, render_overlay
from injector.templates.snapshot import Snapshot
from injector.templates.template import Template

_CONTAINER_LISTS = ("containers", "initContainers", "ephemeralContainers")
#: Characters of the reason annotation: a sentence, not a log.
_REASON_LENGTH = 500

#: Parameters given on the command line: template, parameter, text.
Overrides = Mapping[str, Mapping[str, Any]]


class Applied(msgspec.Struct, frozen=True):
    """A template as it was applied to a pod: its parameters with where each value came from, and the overlay."""

    template: Template
    parameters: Resolved
    overlay: Object
    files: tuple[GeneratedConfigMap, ...] = ()


class Injection(msgspec.Struct, frozen=True, kw_only=True):
    """The result for a pod.

    `effect` says what becomes of it; `message` is the sentence for people. `pod` is the pod as it should be, `patch`
    the JSON Patch (RFC 6902) that leads there from the pod given. `files` must exist before the pod does.
    """

    decision: Decision
    reason: Reason
    effect: Effect
    message: str
    pod: Object
    generation: str
    patch: tuple[dict[str, Any], ...] = ()
    files: tuple[GeneratedConfigMap, ...] = ()
    warnings: tuple[str, ...] = ()
    applied: tuple[Applied, ...] = ()
    templates_source: str = ""
    code: int = 403

    @property
    def allowed(self) -> bool:
        """Whether the pod is admitted."""
        return self.effect is not Effect.REFUSE

    @property
    def templates(self) -> tuple[tuple[str, str], ...]:
        """Name and content hash of each template that was applied."""
        return tuple((a.template.name, a.template.digest) for a in self.applied)


class _Task(msgspec.Struct, frozen=True):
    """What stays the same through one injection."""

    namespace: Namespace
    snapshot: Snapshot
    decision: Decision
    names: Sequence[str] | None
    overrides: Overrides
    workload: Workload | None

    @property
    def settings(self) -> Settings:
        return self.snapshot.settings

    @property
    def native(self) -> bool:
        """Whether sidecars are restartable init containers here: by setting, or from API server 1.32 on, so that
        kubelets three minors behind have them too (on by default since 1.29).
        """
        setting = self.settings.native_sidecars
        return setting == "always" or (setting == "auto" and self.snapshot.cluster.version >= (1, 32))


class _Made(msgspec.Struct, frozen=True):
    """A pod without (`base`) and with everything that its templates give it (`pod`), and how it came about."""

    base: Object
    pod: Object
    applied: tuple[Applied, ...]
    source: str
    warnings: tuple[str, ...]


def inject(
    pod: Object,
    namespace: Namespace,
    snapshot: Snapshot,
    request: Request | None = None,
    *,
    names: Sequence[str] | None = None,
    overrides: Overrides | None = None,
    workload: Workload | None = None,
) -> Injection:
    """Decide about a pod and inject it.

    `names` and `overrides` are the command line's templates and parameters. `workload` names the workload of a pod
    template in a manifest; None finds it from the pod's ownerReferences. Never raises InjectionError: a pod that
    cannot be injected is a result too, by the table of reasons.
    """
    decision = decide(pod, namespace, snapshot.settings, request or Request())
    if not decision.inject:
        return _skipped(pod, decision, snapshot)
    receipt = read_receipt(pod, snapshot.settings)
    snapshot = _of_receipt(receipt, snapshot)
    task = _Task(namespace, snapshot, decision, names, overrides or {}, workload)
    try:
        check_shape(pod)
        if decision.required:
            made, final = _guaranteed(pod, receipt, task)
        else:
            made = _make(_without_injection(pod, receipt, task), task)
            final = made.pod if receipt is None else _again(pod, made, receipt, task)
        return _done(pod, final, made, task)
    except InjectionError as error:
        return failed(pod, decision, snapshot, error)


def guard(pod: Object, namespace: Namespace, snapshot: Snapshot, request: Request | None = None) -> Injection:
    """What a `required` namespace says about a pod as it will be stored: everything is there, or it is refused."""
    decision = decide(pod, namespace, snapshot.settings, request or Request())
    if not (decision.required and decision.inject):
        return _skipped(pod, decision, snapshot)
    receipt = read_receipt(pod, snapshot.settings)
    snapshot = _of_receipt(receipt, snapshot)
    task = _Task(namespace, snapshot, decision, None, {}, None)
    try:
        check_shape(pod)
        made = _all_seen(pod, _make_unforged(pod, receipt, task), receipt, task)
        missing = _differences(pod, made, task)
        if missing:
            raise InjectionError(Reason.NOT_INJECTED, f"the pod lacks what its namespace requires: {missing[0]}")
    except InjectionError as error:
        return failed(pod, decision, snapshot, error)
    reason = Reason.ALREADY_INJECTED
    return Injection(
        decision=decision,
        reason=reason,
        effect=Effect.SKIP,
        message=reason.sentence,
        pod=pod,
        generation=snapshot.generation,
        applied=made.applied,
        templates_source=made.source,
    )


def uninject(pod: Object, settings: Settings) -> Object:
    """The pod as it was before its injection, from its receipt; the same pod when it has none."""
    return take_off(pod, read_receipt(pod, settings), settings)


# ------------------------------------------------------------------------------------------------- the stages


def _of_receipt(receipt: Receipt | None, snapshot: Snapshot) -> Snapshot:
    """The snapshot that the receipt names, if it is the last one; so a reload between two calls changes no pod."""
    previous = snapshot.previous
    if receipt is not None and previous is not None and receipt.generation == previous.generation:
        return previous
    return snapshot


def _without_injection(pod: Object, receipt: Receipt | None, task: _Task) -> Object:
    """The pod as it was before. A receipt that leaves no pod behind is forged, and counts for nothing."""
    base = take_off(pod, receipt, task.settings)
    if receipt is not None:
        try:
            check_shape(base)
        except InjectionError:
            return take_off(pod, None, task.settings)
    return base


def _make(base: Object, task: _Task) -> _Made:
    """Everything that the pod's templates give it, from the pod without any injection.

    Which containers are sidecars is known when all templates are rendered. Where the pod brings one of them, to
    customise it, that is no app container after all: templates see the pod again without it.
    """
    brought = _app(base)
    made = _make_with(base, brought, task)
    _check_app(made)
    app = _app_of(made)
    return made if app == brought else _make_with(base, app, task)


def _make_with(base: Object, app: frozenset[str], task: _Task) -> _Made:
    """The same for containers of which those named `app` are the app's: one template after the other."""
    settings = task.settings
    choice = choose(
        base, task.namespace, settings, task.snapshot.catalog, required=task.decision.required, names=task.names
    )
    applied: list[Applied] = []
    warnings: list[str] = list(choice.warnings)
    placement = Placement(task.native)
    annotations = string_map(base, "annotations")
    state = base
    for template in choice.templates:
        overrides = task.overrides.get(template.name, {})
        parameters = resolve(template, annotations, task.namespace.annotations, settings, overrides)
        overlay, files, said = _render(template, parameters, state, base, app, task)
        merged = merge(state, overlay, app=app, placement=placement)
        state, placement = merged.pod, merged.placement
        applied.append(Applied(template, parameters, overlay, files))
        warnings += [*parameters.warnings, *said, *merged.differences]
    return _Made(base, state, tuple(applied), choice.source, tuple(warnings))


def _check_app(made: _Made) -> None:
    """Refuse a pod all of whose containers are called as sidecars are: merged, they leave nothing to serve.

    It is the app in most tutorials that is called nginx. Raises InjectionError with Reason.CONFLICT.
    """
    names = [container["name"] for container in made.base["spec"]["containers"]]
    if _own(made).issuperset(names):
        raise InjectionError(
            Reason.CONFLICT,
            f"container {names[0]} has the name of the sidecar, and the pod has no other container; rename it",
        )


def _render(
    template: Template, parameters: Resolved, state: Object, base: Object, app: frozenset[str], task: _Task
) -> tuple[Object, tuple[GeneratedConfigMap, ...], tuple[str, ...]]:
    """A template's overlay, the ConfigMap it needs, and what it warns of."""
    workload = task.workload or workload_of_pod(base)
    containers = [c for c in base["spec"]["containers"] if c["name"] in app]
    context = Context(
        params=parameters.values,
        object=state,
        namespace=task.namespace,
        workload=workload,
        containers=containers,
        ports=tuple(_tcp_ports(containers)),
        cluster=task.snapshot.cluster,
        native=task.native,
    )
    if not template.files:
        rendered = render_overlay(template, context)
        return rendered.overlay, (), rendered.warnings
    files = render_files(template, context)
    generated = config_map(template.name, files, task.namespace.name, workload, task.settings)
    rendered = render_overlay(template, msgspec.structs.replace(context, configmap=generated.name))
    if template.delivery == "annotation" or (workload.owner is None and task.workload is None):
        overlay = by_annotation(rendered.overlay, generated.name, template.name, files, task.settings)
        return overlay, (), rendered.warnings
    return rendered.overlay, (generated,), rendered.warnings


def _again(pod: Object, made: _Made, receipt: Receipt, task: _Task) -> Object:
    """A pod that carries an injection already: only what is missing is added, what others changed since stays."""
    placement = Placement(task.native)
    for applied in made.applied:
        merged = merge(pod, applied.overlay, app=_app_of(made), placement=placement, claimed=receipt.added)
        pod, placement = merged.pod, merged.placement
    return pod


def _app(base: Object) -> frozenset[str]:
    """The names of the containers that the pod brings."""
    spec = base["spec"]
    return frozenset(c["name"] for field in _CONTAINER_LISTS for c in spec.get(field) or [])


def _guaranteed(pod: Object, receipt: Receipt | None, task: _Task) -> tuple[_Made, Object]:
    """The same for a `required` namespace, where what the pod says of itself is no proof.

    First what is missing is added; where what is there is not what the templates make, it is made afresh; and where
    the pod's own parts stand in the way of that, it is refused.
    """
    afresh = _make_unforged(pod, receipt, task)
    candidates = [(afresh, afresh.pod)]
    if receipt is not None:
        seen = _all_seen(pod, afresh, receipt, task)
        candidates.insert(0, (seen, _again(pod, seen, receipt, task)))
    differences: tuple[str, ...] = ()
    for made, final in candidates:
        differences = _differences(final, made, task)
        if not differences:
            return made, final
    raise InjectionError(
        Reason.NOT_OVERRIDABLE,
        f"{differences[0]}; take it out of the pod, or have it listed as `overridable` in the template",
    )


def _make_unforged(pod: Object, receipt: Receipt | None, task: _Task) -> _Made:
    """The injection of a pod whose receipt may be forged: one that claims more than the injection makes is void."""
    made = _make(_without_injection(pod, receipt, task), task)
    if receipt is not None and not receipt.claims <= _receipt(made, task).claims:
        return _make(take_off(pod, None, task.settings), task)
    return made


def _all_seen(pod: Object, made: _Made, receipt: Receipt | None, task: _Task) -> _Made:
    """The injection of a pod that keeps what it has: templates must have seen all of that.

    A receipt can claim a label that a template adds, or say that there were no volumes, and so hide the pod's own from
    a template that would deny it. Where the claimed parts are not as this injection makes them, it is made again from
    the whole pod. The sidecars' own parts are left out: `_differences` compares them anyway.
    """
    if receipt is None:
        return made
    compared = {f"/metadata/annotations/{escape(key)}" for key in _file_annotations(made, task.settings)}
    compared |= {f"/spec/{field}/{escape(name)}" for field in _CONTAINER_LISTS for name in _own(made)}
    volumes = [(applied.overlay.get("spec") or {}).get("volumes") or [] for applied in made.applied]
    compared |= {f"/spec/volumes/{escape(name)}" for items in volumes for name in map(name_of, items) if name}
    hidden = [p for p in receipt.claims if "/".join(p.split("/")[:4]) not in compared]
    unmarked = take_off(pod, None, task.settings)
    if all(_is_as_made(unmarked, made.pod, pointer) for pointer in hidden):
        return made
    return _make(unmarked, task)


def _is_as_made(pod: Object, made: Object, pointer: str) -> bool:
    """Whether a pod holds nothing else at a place than a made pod has there."""
    *_, parent, field = ["", *map(unescape, pointer.split("/"))]
    have, wanted = value_at(pod, pointer), value_at(made, pointer)
    return not have or next(mismatches(have, wanted, field, parent, pointer, exact=True), None) is None


def _differences(actual: Object, made: _Made, task: _Task) -> tuple[str, ...]:
    """Where a pod is not what the templates make of the app's bare containers."""
    app = _app_of(made)
    expected, placement = skeleton(actual, app), Placement(task.native)
    replaced: list[str] = []
    for applied in made.applied:
        merged = merge(expected, applied.overlay, app=app, placement=placement)
        expected, placement = merged.pod, merged.placement
        replaced += merged.replaced
    replaced += [f"/metadata/annotations/{escape(key)}" for key in _file_annotations(made, task.settings)]
    return protected_differences(actual, expected, _overridable(made), app=app, replaced=replaced)


def _file_annotations(made: _Made, settings: Settings) -> Iterator[str]:
    """Where the pod carries the templates' config files in annotations: those are the sidecars', word for word."""
    for applied in made.applied:
        carried = string_map(applied.overlay, "annotations")
        for name in applied.template.files:
            key = file_annotation(applied.template.name, name, settings)
            if key in carried:
                yield key


def _containers(applied: Applied) -> Iterator[str]:
    """The names of the containers that an overlay defines."""
    spec = applied.overlay.get("spec") or {}
    for field in ("containers", "initContainers"):
        for container in spec.get(field) or []:
            name = name_of(container)
            if name is not None and name != EVERY_CONTAINER:
                yield name


def _app_of(made: _Made) -> frozenset[str]:
    """The names of the app's own containers, those that `"*"` stands for: not of sidecars that the pod customises."""
    return _app(made.base) - _own(made)


def _own(made: _Made) -> frozenset[str]:
    return frozenset(name for applied in made.applied for name in _containers(applied))


def _overridable(made: _Made) -> dict[str, frozenset[str]]:
    """Which fields a pod may set in a container of the sidecar's name, by that name."""
    return {name: applied.template.overridable for applied in made.applied for name in _containers(applied)}


def _receipt(made: _Made, task: _Task) -> Receipt:
    templates = {a.template.name: a.template.digest for a in made.applied}
    return make_receipt(made.base, made.pod, task.snapshot.generation, templates)


# ------------------------------------------------------------------------------------------------- the results


def _done(pod: Object, final: Object, made: _Made, task: _Task) -> Injection:
    """The injection, with mark and receipt; or, when nothing is missing, the pod as it is."""
    settings, decision = task.settings, task.decision
    reason, effect, after = Reason.ALREADY_INJECTED, Effect.SKIP, pod
    marked = string_map(pod, "annotations").get(settings.status_key) == "injected"
    if not marked or changes(pod, final):
        reason, effect = Reason.INJECTED, Effect.INJECT
        after = with_annotations(
            final,
            {
                settings.status_key: "injected",
                settings.reason_key: None,
                settings.receipt_key: write_receipt(_receipt(made, task)),
            },
        )
        constraints.check(after, made.base, task.namespace, task.snapshot.cluster)
    names = ", ".join(a.template.name for a in made.applied)
    return Injection(
        decision=decision,
        reason=reason,
        effect=effect,
        message=f"{reason.sentence} ({names})",
        pod=after,
        generation=task.snapshot.generation,
        patch=patch_between(pod, after),
        files=tuple(f for a in made.applied for f in a.files if uses_config_map(after, f.name)),
        warnings=_once(decision.warnings, made.warnings),
        applied=made.applied,
        templates_source=made.source,
    )


def failed(pod: Object, decision: Decision, snapshot: Snapshot, error: InjectionError) -> Injection:
    """The verdict on a pod that cannot be injected: by the table of reasons it is let through, marked, or refused.

    A pod that carries an injection already keeps its mark: it does not run without its sidecar.
    """
    effect = error.reason.effect(required=decision.required)
    message = f"{error.reason}: {error}"
    after, warnings = pod, decision.warnings
    if effect is not Effect.REFUSE:
        warnings = (*warnings, f"no sidecar: {message}")
    if effect is Effect.MARK and read_receipt(pod, snapshot.settings) is None:
        settings = snapshot.settings
        after = with_annotations(pod, {settings.status_key: "failed", settings.reason_key: message[:_REASON_LENGTH]})
    return Injection(
        decision=decision,
        reason=error.reason,
        effect=effect,
        message=message,
        pod=after,
        generation=snapshot.generation,
        patch=patch_between(pod, after),
        warnings=warnings,
        code=getattr(error, "code", 403),
    )


def _skipped(pod: Object, decision: Decision, snapshot: Snapshot) -> Injection:
    return Injection(
        decision=decision,
        reason=decision.reason,
        effect=Effect.SKIP,
        message=decision.reason.sentence,
        pod=pod,
        generation=snapshot.generation,
        warnings=decision.warnings,
    )


def patch_between(before: Object, after: Object) -> tuple[dict[str, Any], ...]:
    """The JSON Patch from one pod to another, tried before it is given out: a patch that does not apply is a refusal
    by the API server whatever the failure policy says.

    Raises InjectionError with Reason.INTERNAL_ERROR when it does not lead to `after`.
    """
    patch = to_json_patch(changes(before, after))
    if patch and not applies(patch, before, after):
        raise InjectionError(Reason.INTERNAL_ERROR, "the patch made for this pod does not apply to it")
    return tuple(patch)


def _tcp_ports(containers: Sequence[Object]) -> Iterator[int]:
    """The TCP ports that the app's containers declare, in order."""
    for container in containers:
        ports = container.get("ports")
        for port in ports if isinstance(ports, list) else ():
            number = port.get("containerPort") if isinstance(port, dict) else None
            if type(number) is int and (port.get("protocol") or "TCP") == "TCP":
                yield number


def _once(*groups: Sequence[str]) -> tuple[str, ...]:
    """All sentences in order, each once."""
    return tuple(dict.fromkeys(sentence for group in groups for sentence in group))
