"""The pipeline of a path: an object of any kind, and the templates that the settings have for that path.

Like `inject.py`, it is pure. Labels, marks and receipts play no role: the webhook entry decides which objects arrive,
and each template decides whether it is for the object. If a template fails, the path's `failurePolicy` decides.

Pods have a merge of their own, which knows by which key the items of each list differ. Of other kinds nothing is known:
maps are filled in, and a list, as any other value, belongs whole to one side. What the object's author wrote stays.

An error message can quote a value of the object, such as a key that a template looks up. If the object is a Secret, its
values are in no warning, refusal or log.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

import msgspec

from injector.apply import Overrides, containers_of, given_by, with_origins
from injector.budget import ReviewBudget
from injector.caches import OverlayCaches
from injector.diagnostics import Diagnostic
from injector.errors import InjectionError
from injector.injection import Applied, Injection, patch_between, skipped_injection
from injector.pods.context import Namespace, Object, Request, mapping_at
from injector.pods.decision import Decision
from injector.pods.differences import Differences
from injector.pods.fields import OBJECT
from injector.pods.keyed_pointers import escape, path_of
from injector.pods.merge import merge
from injector.pods.overlay import Overlay, Replace, holds_tag, plain
from injector.pods.patch import same
from injector.pods.shape import OverlayError, check_overlay, check_shape, string_map
from injector.pods.sidecars import Placement
from injector.pods.workloads import workload_of_object, workload_of_pod
from injector.policies.request import ObjectRequest, is_for
from injector.reasons import Effect, Reason
from injector.settings import PathTemplates
from injector.templates.choice import named_template
from injector.templates.parameters import resolve
from injector.templates.render import Rendered, RenderError, render_overlay
from injector.templates.snapshot import Snapshot
from injector.templates.template import Template
from injector.templates.variables import Context, tcp_ports


def merge_object(
    obj: Object, overlay: Overlay, defaults: Collection[str] = ()
) -> tuple[Object, tuple[Diagnostic, ...]]:
    """An object with everything of the overlay that it lacks, and each place where the template disagrees.

    The same object where it lacks nothing. `Replace` overwrites; `Replace` of None removes.
    A null of the object counts as lacking, as it does for Kubernetes. Messages contain no values: they may be secret.
    `defaults` are pointers to places where the object may have another value, and no difference is reported. Raises
    InjectionError with Reason.CONFLICT where the object has another shape than the overlay.
    """
    differences = Differences(())
    differences.silent.update(defaults)
    return _mapping(obj, overlay, "", differences), tuple(differences.found)


def _mapping(have: Object, overlay: Overlay, at: str, differences: Differences) -> Object:
    result = have
    for field, value in overlay.items():
        mine = have.get(field)
        new = _value(mine, value, f"{at}/{escape(field)}", differences)
        if new is mine or (new is None and field not in have):
            continue
        result = dict(have) if result is have else result
        if new is None:
            del result[field]
        else:
            result[field] = new
    return result


def _value(have: Any, overlay: Any, pointer: str, differences: Differences) -> Any:
    if type(overlay) is Replace:
        new = plain(overlay)
        return have if same(new, have) else new
    if have is None:
        if type(overlay) is dict and holds_tag(overlay):  # nothing to take away: no empty mapping in its place
            return _mapping({}, overlay, pointer, differences) or have
        return plain(overlay)
    if type(overlay) is dict:
        if type(have) is not dict:
            raise InjectionError(
                Reason.CONFLICT,
                "the template has a mapping here, and the object has another type",
                path=path_of(pointer),
            )
        return _mapping(have, overlay, pointer, differences)
    if not same(have, plain(overlay)):
        differences.report(pointer, "the object's value stays; the template has another value")
    return have


_FIELDS = ("data", "stringData")
#: Characters by which a value is known again, as messages cut them; a shorter one stands in many that are not about it.
_BEGINNING = 8
_SHORTEST = 4
_INSTEAD = "the error quotes a value of the Secret, so it is not shown"


def without_secrets(error: InjectionError, request: Request, *objects: Object) -> InjectionError:
    """The error; if the object is a Secret and the message quotes one of its values, only the error's place."""
    is_secret = request.resource == "secrets" and not request.group
    if not is_secret or not any(value[:_BEGINNING] in str(error) for obj in objects for value in _values(obj)):
        return error
    if isinstance(error, RenderError):
        return error.saying(_INSTEAD, whole=False)
    return InjectionError(error.reason, _INSTEAD, code=error.code)


def _values(obj: Object) -> Iterator[str]:
    for name in _FIELDS:
        entries = mapping_at(obj, name).values()
        yield from (value for value in entries if isinstance(value, str) and len(value) >= _SHORTEST)


#: What stands before the reason of an object that is let through although something failed.
_AS_IT_IS = "admitted without changes"
#: Reasons that a template gives itself, by `deny()` and `fail()`.
_IN_ITS_OWN_WORDS = (Reason.DENIED, Reason.NOT_SERVED)


def admit(
    object_request: ObjectRequest,
    namespace: Namespace,
    at: PathTemplates,
    snapshot: Snapshot,
    overrides: Overrides | None = None,
) -> Injection:
    """Apply the templates of a path to an object. `namespace` has no name for an object that is in no namespace.
    `overrides` are values of parameters that go before all others.

    Never raises InjectionError: a failure is a result too, by the table of reasons. A path with `failurePolicy: Fail`
    uses the table's column for `required` namespaces. With `Ignore`, the other templates run even if one fails:
    otherwise somebody could skip the second template by making the first one fail.
    """
    if namespace.name in snapshot.settings.ignored_namespaces:
        return skipped_injection(object_request.object, _decision(Reason.NAMESPACE_IGNORED, at), snapshot)
    run = _Run(object_request, namespace, at, snapshot, overrides or {}, object_request.object)
    try:
        with ReviewBudget(snapshot.settings.review_work):
            for name in at.templates:
                run.ask(name)
            return run.result()
    except InjectionError as error:
        return refused(object_request, at, snapshot, error)


def refused(object_request: ObjectRequest, at: PathTemplates, snapshot: Snapshot, error: InjectionError) -> Injection:
    """The verdict on an object for which something failed, or that a template denies."""
    effect = error.reason.effect(required=at.failure_policy == "Fail")
    return Injection(
        decision=_decision(error.reason, at),
        reason=error.reason,
        effect=effect if effect is Effect.REFUSE else Effect.SKIP,
        object=object_request.object,
        generation=snapshot.generation,
        failures=(error.diagnostic,),
        consequence="" if effect is Effect.REFUSE else _AS_IT_IS,
        code=error.code,
        mistake=error.as_template_error() if isinstance(error, RenderError) else None,
    )


class _Run(msgspec.Struct):
    """One object on its way through the templates of a path; `state` is the object as they have left it so far."""

    object_request: ObjectRequest
    namespace: Namespace
    at: PathTemplates
    snapshot: Snapshot
    overrides: Overrides
    state: Object
    applied: list[Applied] = []
    warnings: list[Diagnostic] = []
    failures: list[InjectionError] = []

    def ask(self, name: str) -> None:
        """Apply a template, if it is for this object. Raises InjectionError if the object is refused."""
        try:
            catalog = self.snapshot.catalog
            template = named_template(name, catalog, catalog.names, "listed under `paths:` in the settings")
            if is_for(template, self.object_request, self.namespace):
                self._apply(template)
        except InjectionError as error:
            if error.reason not in _IN_ITS_OWN_WORDS:
                error = without_secrets(
                    error, self.object_request.request, self.object_request.object, self.object_request.old_object
                )
            if error.reason.effect(required=self.at.failure_policy == "Fail") is Effect.REFUSE:
                raise error from None
            self.failures.append(error)

    def _apply(self, template: Template) -> None:
        object_request, namespace, settings = self.object_request, self.namespace, self.snapshot.settings
        if object_request.is_pod:
            check_shape(object_request.object)
        overrides = self.overrides.get(template.name, {})
        annotations = string_map(object_request.subject, "annotations")
        noun = "pod" if object_request.is_pod else "object"
        parameters = resolve(
            template, annotations, namespace.annotations, settings, overrides, noun, self.snapshot.defaults
        )
        try:
            context = object_context(object_request, self.state, namespace, self.snapshot, parameters.values)
            rendered = render_overlay(template, context)
        except RenderError as error:
            raise with_origins(error, parameters) from None
        state, differences = _merged(template, self.state, rendered, object_request, self.snapshot.caches)
        if self.at.type == "validating" and state is not self.state:
            raise InjectionError(
                Reason.TEMPLATE_FAILED,
                f"template {template.name} changes the object, which a validating webhook cannot",
                help="list it at a path of type mutating",
                fields={"template": template.name},
            )
        self.state = state
        applied = Applied(template, parameters, rendered.overlay, rendered.containers, defaults=rendered.defaults)
        self.applied.append(applied)
        self.warnings += [*parameters.warnings, *given_by(template, rendered.warnings), *differences]

    def result(self) -> Injection:
        """The result. If templates failed, the first of them gives the reason, even if others changed the object."""
        object_request, at, snapshot = self.object_request, self.at, self.snapshot
        patch = patch_between(object_request.object, self.state, OBJECT)
        changed = bool(patch)
        if self.failures:
            reason = self.failures[0].reason
        elif not self.applied:
            return skipped_injection(object_request.object, _decision(Reason.NOT_FOR_TEMPLATES, at), snapshot)
        else:
            reason = Reason.AMENDED if changed else Reason.NOTHING_TO_ADD
        return Injection(
            decision=_decision(reason, at),
            reason=reason,
            effect=Effect.INJECT if changed else Effect.SKIP,
            object=self.state,
            generation=snapshot.generation,
            patch=patch,
            warnings=tuple(dict.fromkeys(self.warnings)),
            failures=tuple(error.diagnostic for error in self.failures),
            consequence="" if not self.failures else "left out" if changed else _AS_IT_IS,
            applied=tuple(self.applied),
            templates_source="the settings' paths",
            mistake=next((e.as_template_error() for e in self.failures if isinstance(e, RenderError)), None),
        )


def _merged(
    template: Template, state: Object, rendered: Rendered, object_request: ObjectRequest, caches: OverlayCaches
) -> tuple[Object, tuple[Diagnostic, ...]]:
    overlay, defaults = rendered.overlay, rendered.defaults
    if not overlay:
        return state, ()
    if not object_request.object or object_request.request.operation == "DELETE":
        raise InjectionError(
            Reason.TEMPLATE_FAILED,
            f"template {template.name} cannot change an object on DELETE, or that is not in the request",
            fields={"template": template.name},
        )
    if not object_request.is_pod:
        return merge_object(state, overlay, defaults)
    if not template.applies_to.only_pods:
        try:
            check_overlay(overlay)
        except OverlayError as error:
            raise InjectionError(
                Reason.TEMPLATE_FAILED, f"{error} (template {template.name})", path=error.path
            ) from None
    app, placement = containers_of(state), Placement(native=False)
    merged = merge(state, overlay, app=app, placement=placement, caches=caches, defaults=defaults)
    return merged.pod, merged.differences


def object_context(
    object_request: ObjectRequest, state: Object, namespace: Namespace, snapshot: Snapshot, params: dict[str, object]
) -> Context:
    """What a template sees at a path: `state` is the object as the templates before it left it."""
    containers = state["spec"]["containers"] if object_request.is_pod else []
    return Context(
        params=params,
        object=state,
        namespace=namespace,
        workload=workload_of_pod(state) if object_request.is_pod else workload_of_object(object_request.subject),
        containers=containers,
        ports=tuple(tcp_ports(containers)),
        app=containers_of(state) if object_request.is_pod else frozenset(),
        cluster=snapshot.cluster,
        native=False,
        old_object=object_request.old_object,
        request={"operation": object_request.request.operation, **object_request.review},
    )


def _decision(reason: Reason, at: PathTemplates) -> Decision:
    return Decision(reason, at.failure_policy == "Fail", ())
