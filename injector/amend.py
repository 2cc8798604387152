"""The pipeline of a path: an object of any kind, and the templates that the settings have for that path.

Beside `inject.py`, and as pure. No label, mark or receipt has a say: who is asked about is the webhook entry's to say,
and whether a template is for it the template's. A template that fails is told by the path's `failurePolicy`.
"""

from __future__ import annotations

import msgspec

from injector.errors import InjectionError
from injector.filling import fill_in
from injector.injection import Applied, Injection, patch_between
from injector.making import Overrides, containers_of, tcp_ports, with_origins
from injector.pods.context import Namespace, Object, Request
from injector.pods.decision import Decision
from injector.pods.merge import merge
from injector.pods.selectors import matches
from injector.pods.shape import OverlayError, check_overlay, check_shape, spec_of, string_map
from injector.pods.sidecars import Placement
from injector.pods.workloads import workload_of_object, workload_of_pod
from injector.reasons import Effect, Reason
from injector.settings import PathTemplates
from injector.templates.parameters import resolve
from injector.templates.render import Context, RenderError, render_overlay
from injector.templates.snapshot import Snapshot
from injector.templates.spelling import hint
from injector.templates.template import Template


class ObjectRequest(msgspec.Struct, frozen=True):
    """What is asked at a path.

    `object` is {} on DELETE, `old_object` where there was none before. `review` is all of the AdmissionReview's request
    but the two objects, as it came; {} where there is no review.
    """

    request: Request
    object: Object
    old_object: Object = {}
    review: Object = {}

    @property
    def subject(self) -> Object:
        """The object, or the one that is about to go."""
        return self.object or self.old_object

    @property
    def is_pod(self) -> bool:
        """Whether it is a pod, or something below one that has a whole pod as its object."""
        request = self.request
        return request.resource == "pods" and not request.group and "containers" in spec_of(self.object)


def amend(
    asked: ObjectRequest,
    namespace: Namespace,
    at: PathTemplates,
    snapshot: Snapshot,
    overrides: Overrides | None = None,
) -> Injection:
    """Apply the templates of a path to an object. `namespace` has no name for what lies in none; `overrides` are values
    of parameters that go before all others.

    Never raises InjectionError: what cannot be completed is a result too, by the table of reasons, where a path that
    says `failurePolicy: Fail` goes by the column of `required`.
    """
    if namespace.name in snapshot.settings.ignored_namespaces:
        return _left(asked, at, snapshot, Reason.NAMESPACE_IGNORED)
    try:
        templates = [_find(name, snapshot) for name in at.templates]
        fitting = [template for template in templates if is_for(template, asked, namespace)]
        if not fitting:
            return _left(asked, at, snapshot, Reason.NOT_FOR_TEMPLATES)
        return _amended(asked, namespace, at, snapshot, fitting, overrides or {})
    except InjectionError as error:
        return refused(asked, at, snapshot, error)


def is_for(template: Template, asked: ObjectRequest, namespace: Namespace) -> bool:
    """Whether a template's `for`, `namespaces` and `selector` cover what is asked."""
    if not template.applies_to.covers(asked.request):
        return False
    if template.namespaces is not None and not (namespace.name and matches(template.namespaces, namespace.labels)):
        return False
    return template.selector is None or matches(template.selector, string_map(asked.subject, "labels"))


def refused(asked: ObjectRequest, at: PathTemplates, snapshot: Snapshot, error: InjectionError) -> Injection:
    """The verdict on an object for which something failed, or that a template denies."""
    effect = error.reason.effect(required=at.failure_policy == "Fail")
    message = f"{error.reason}: {error}"
    warnings = () if effect is Effect.REFUSE else (f"let through as it is: {message}",)
    return Injection(
        decision=_decision(error.reason, at),
        reason=error.reason,
        effect=effect if effect is Effect.REFUSE else Effect.SKIP,
        message=message,
        pod=asked.object,
        generation=snapshot.generation,
        warnings=warnings,
        code=error.code,
        mistake=error.as_template_error() if isinstance(error, RenderError) else None,
    )


def _amended(
    asked: ObjectRequest,
    namespace: Namespace,
    at: PathTemplates,
    snapshot: Snapshot,
    templates: list[Template],
    overrides: Overrides,
) -> Injection:
    settings = snapshot.settings
    if asked.is_pod:
        check_shape(asked.object)
    state, applied, warnings = asked.object, list[Applied](), list[str]()
    for template in templates:
        given = overrides.get(template.name, {})
        parameters = resolve(template, string_map(asked.subject, "annotations"), namespace.annotations, settings, given)
        try:
            rendered = render_overlay(template, object_context(asked, state, namespace, snapshot, parameters.values))
        except RenderError as error:
            raise with_origins(error, parameters) from None
        state, differences = _merged(template, state, rendered.overlay, asked)
        if at.type == "validating" and state is not asked.object:
            words = f"template {template.name} changes the object, which a validating webhook cannot"
            raise InjectionError(Reason.TEMPLATE_FAILED, f"{words}; list it at a path of type mutating")
        applied.append(Applied(template, parameters, rendered.overlay))
        warnings += [*parameters.warnings, *rendered.warnings, *differences]
    reason = Reason.NOTHING_TO_ADD if state is asked.object else Reason.AMENDED
    names = ", ".join(a.template.name for a in applied)
    return Injection(
        decision=_decision(reason, at),
        reason=reason,
        effect=reason.effect(required=False),
        message=f"{reason.sentence} ({names})",
        pod=state,
        generation=snapshot.generation,
        patch=patch_between(asked.object, state),
        warnings=tuple(dict.fromkeys(warnings)),
        applied=tuple(applied),
        templates_source="the settings' paths",
    )


def _merged(template: Template, state: Object, overlay: Object, asked: ObjectRequest) -> tuple[Object, tuple[str, ...]]:
    if not overlay:
        return state, ()
    if asked.request.operation == "DELETE":
        raise InjectionError(
            Reason.TEMPLATE_FAILED, f"template {template.name} adds to an object that is being deleted"
        )
    if not asked.is_pod:
        filled = fill_in(state, overlay)
        return filled.object, filled.differences
    if not template.applies_to.only_pods:
        try:
            check_overlay(overlay)
        except OverlayError as error:
            raise InjectionError(Reason.TEMPLATE_FAILED, f"template {template.name}: {error}") from None
    merged = merge(state, overlay, app=containers_of(state), placement=Placement(native=False))
    return merged.pod, merged.differences


def object_context(
    asked: ObjectRequest, state: Object, namespace: Namespace, snapshot: Snapshot, params: dict[str, object]
) -> Context:
    """What a template sees at a path: `state` is the object as the templates before it left it."""
    containers = state["spec"]["containers"] if asked.is_pod else []
    return Context(
        params=params,
        object=state,
        namespace=namespace,
        workload=workload_of_pod(state) if asked.is_pod else workload_of_object(asked.subject),
        containers=containers,
        ports=tuple(tcp_ports(containers)),
        cluster=snapshot.cluster,
        native=False,
        old_object=asked.old_object,
        request={"operation": asked.request.operation, **asked.review},
    )


def _find(name: str, snapshot: Snapshot) -> Template:
    template = snapshot.catalog.get(name)
    if template is None:
        near = hint(name, snapshot.catalog.names)
        raise InjectionError(Reason.UNKNOWN_TEMPLATE, f'no template "{name[:60]}" (the settings\' paths){near}')
    return template


def _left(asked: ObjectRequest, at: PathTemplates, snapshot: Snapshot, reason: Reason) -> Injection:
    return Injection(
        decision=_decision(reason, at),
        reason=reason,
        effect=Effect.SKIP,
        message=reason.sentence,
        pod=asked.object,
        generation=snapshot.generation,
    )


def _decision(reason: Reason, at: PathTemplates) -> Decision:
    return Decision(reason, at.failure_policy == "Fail", ())
