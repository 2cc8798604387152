"""The templates of an injection, applied: everything that they give a pod, merged into the bare pod."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from injector.diagnostics import Diagnostic, Key
from injector.errors import InjectionError
from injector.injection import Applied
from injector.names import TEAM, shortened
from injector.pods.constraints import check_redirects, check_security
from injector.pods.context import Namespace, Object, Workload, mappings_at
from injector.pods.decision import Decision
from injector.pods.delivery import GeneratedConfigMap, by_annotation, config_map
from injector.pods.fields import CONTAINER_LISTS
from injector.pods.fitting import check_volumes, volumes_of
from injector.pods.keyed_pointers import Appended, add_items
from injector.pods.merge import merge
from injector.pods.overlay import name_of, with_mirrors
from injector.pods.receipt import Receipt, make_receipt, take_off
from injector.pods.shape import check_shape, string_map
from injector.pods.sidecars import Placement
from injector.pods.workloads import workload_of_pod
from injector.reasons import Reason
from injector.settings import Settings
from injector.templates.choice import choose
from injector.templates.parameter_schema import declared_parameter
from injector.templates.parameters import Resolved, resolve
from injector.templates.render import RenderError, render_files, render_overlay
from injector.templates.snapshot import Snapshot
from injector.templates.team import check_own_parts
from injector.templates.template import Template
from injector.templates.variables import Context, tcp_ports

#: Parameters given on the command line: template, parameter, text.
Overrides = Mapping[str, Mapping[str, Any]]


class InjectionContext(msgspec.Struct, frozen=True):
    """What stays the same through one injection."""

    namespace: Namespace
    snapshot: Snapshot
    decision: Decision
    names: Sequence[str] | None
    overrides: Overrides
    workload: Workload | None
    #: The pod was injected by another replica, with a snapshot that is not known here: its receipt is that one's word.
    by_peer: bool = False
    #: What the generated ConfigMap is called; empty where its content decides that.
    config_map_name: str = ""

    @property
    def settings(self) -> Settings:
        """The snapshot's settings."""
        return self.snapshot.settings

    @property
    def guarded(self) -> bool:
        """Whether the pod may set only parameters that are open to it."""
        return self.decision.required and self.settings.required.pod_parameters == "ignore"

    @property
    def native(self) -> bool:
        """Whether sidecars are restartable init containers here: by setting, or from API server 1.32 on, so that
        kubelets three minors behind have them too (on by default since 1.29).
        """
        setting = self.settings.native_sidecars
        return setting == "always" or (setting == "auto" and self.snapshot.cluster.version >= (1, 32))


class AppliedPod(msgspec.Struct, frozen=True):
    """A pod without (`base`) and with everything that its templates give it (`pod`), and how it came about."""

    base: Object
    pod: Object
    applied: tuple[Applied, ...]
    appended: Appended
    source: str
    warnings: tuple[Diagnostic, ...]

    @property
    def own(self) -> frozenset[str]:
        """The names of the sidecars and of the set-up."""
        return frozenset(name for applied in self.applied for name in applied.containers)

    @property
    def app(self) -> frozenset[str]:
        """The names of the app's containers, those that `"*"` stands for: not of sidecars that the pod customises."""
        return containers_of(self.base) - self.own

    def placement(self, task: InjectionContext) -> Placement:
        """Where containers go when the templates are merged once more."""
        return Placement.of(task.native, (applied.template.redirects for applied in self.applied))

    @property
    def overridable(self) -> dict[str, frozenset[str]]:
        """Which fields a pod may set in a container of the sidecar's name, by that name.

        If two templates define it, only fields that both list: a pod could ask for a second one that allows more.
        """
        allowed: dict[str, frozenset[str]] = {}
        for applied in self.applied:
            fields = applied.template.overridable
            for name in applied.containers:
                allowed[name] = allowed.get(name, fields) & fields
        return allowed


def apply_templates(base: Object, task: InjectionContext) -> AppliedPod:
    """Everything that the pod's templates give it, from the pod without any injection.

    The names of the sidecars are known only when all templates are rendered. If a container of the pod customises a
    sidecar, it is not an app container. Then the templates are rendered again, and do not see it. Raises InjectionError
    with Reason.CONFLICT if each of the pod's containers has the name of a sidecar.
    """
    brought = containers_of(base)
    applied_pod = _apply_with(base, brought, task)
    names = [container["name"] for container in base["spec"]["containers"]]
    if applied_pod.own.issuperset(names):  # after the merge there would be no app
        raise InjectionError(
            Reason.CONFLICT,
            "this container has the name of the sidecar, and the pod has no other container",
            help='rename it, or in the template write a container "*" (with `only:` or `except:`) for those of the app',
            path=("spec", "containers", Key(names[0])),
            fields={"taken_name": names[0]},
        )
    app = applied_pod.app
    applied_pod = applied_pod if app == brought else _apply_with(base, app, task)
    check_redirects(applied_pod.pod, [pair for a in applied_pod.applied for pair in a.template.redirects.items()])
    return applied_pod


def without_injection(pod: Object, receipt: Receipt | None, task: InjectionContext) -> Object:
    """The pod as it was before.

    If the pod without the receipt's parts is not valid, or the remaining containers mount volumes that are missing
    then, the receipt is forged, and is ignored.
    """
    base = take_off(pod, receipt, task.settings)
    if receipt is not None:
        try:
            check_shape(base)
        except InjectionError:
            return take_off(pod, None, task.settings)
        if not _missing_volumes(base) <= _missing_volumes(pod):
            return take_off(pod, None, task.settings)
    return base


def _missing_volumes(pod: Object) -> set[str | None]:
    """The names of the volumes that the pod's containers mount and that it does not have."""
    containers = (container for field in CONTAINER_LISTS for container in mappings_at(pod["spec"], field))
    mounts = {name_of(mount) for container in containers for mount in mappings_at(container, "volumeMounts")}
    return mounts.difference(map(name_of, mappings_at(pod["spec"], "volumes")))


def reapply(pod: Object, applied_pod: AppliedPod, receipt: Receipt, task: InjectionContext) -> Object:
    """A pod that carries an injection already: only what is missing is added, what others changed since stays."""
    placement = applied_pod.placement(task)
    for applied in applied_pod.applied:
        merged = merge(
            pod,
            applied.overlay,
            app=applied_pod.app,
            placement=placement,
            claimed=receipt.added,
            caches=task.snapshot.caches,
            defaults=applied.defaults,
            tagged=applied.tagged,
        )
        pod, placement = merged.pod, merged.placement
    return pod


def render_context(
    base: Object, state: Object, app: frozenset[str], parameters: Resolved, task: InjectionContext
) -> Context:
    """What a template sees of a pod: `base` is the pod without any injection, `state` the same with what the templates
    before gave it, `app` the names of the app's containers.
    """
    containers = [c for c in base["spec"]["containers"] if c["name"] in app]
    return Context(
        params=parameters.values,
        object=state,
        namespace=task.namespace,
        workload=task.workload or workload_of_pod(base),
        containers=containers,
        ports=tuple(tcp_ports(containers)),
        app=app,
        cluster=task.snapshot.cluster,
        native=task.native,
    )


def receipt_of(applied_pod: AppliedPod, task: InjectionContext) -> Receipt:
    """The receipt of what was made."""
    templates = {a.template.name: a.template.digest for a in applied_pod.applied}
    parameters = {
        a.template.name: {name: _recorded(a.template, name, value) for name, value in overrides.items()}
        for a in applied_pod.applied
        if (overrides := task.overrides.get(a.template.name))
    }
    versions = {a.template.name: a.template.own_name for a in applied_pod.applied if a.template.stage is not None}
    return make_receipt(
        applied_pod.base,
        applied_pod.pod,
        task.snapshot.generation,
        templates,
        appended=applied_pod.appended,
        versions=versions,
        parameters=parameters,
        values={a.template.name: digests for a in applied_pod.applied if (digests := a.parameters.digests(a.template))},
        status_label=task.settings.status_label,
    )


def _recorded(template: Template, name: str, value: Any) -> Any:
    """A parameter of the command line as the receipt has it: without the value of a secret one."""
    declared = declared_parameter(template.parameters, name)
    return None if declared is not None and declared.secret else value


def containers_of(base: Object) -> frozenset[str]:
    """The names of the containers that the pod brings."""
    return frozenset(c["name"] for field in CONTAINER_LISTS for c in base["spec"].get(field) or [])


def _apply_with(base: Object, app: frozenset[str], task: InjectionContext) -> AppliedPod:
    """What the templates give a pod, one after the other; `app` names the app's containers."""
    settings = task.settings
    choice = choose(
        base,
        task.namespace,
        settings,
        task.snapshot.catalog,
        required=task.decision.required,
        names=task.names,
        workload=task.workload,
    )
    applied: list[Applied] = []
    appended: Appended = {}
    warnings = list(choice.warnings)
    placement = Placement.of(task.native, (template.redirects for template in choice.templates))
    annotations = string_map(base, "annotations")
    state = base
    for template in choice.templates:
        parameters = resolve(
            template,
            annotations,
            task.namespace.annotations,
            settings,
            task.overrides.get(template.name, {}),
            cache=task.snapshot.defaults,
            guarded=task.guarded,
        )
        try:
            result, new_warnings = _render(template, parameters, state, base, app, task)
        except RenderError as error:
            raise with_origins(error, parameters) from None
        check_volumes(base, result.overlay, app.difference(result.containers), template.shares)
        merged = merge(
            state,
            result.overlay,
            app=app,
            placement=placement,
            caches=task.snapshot.caches,
            defaults=result.defaults,
            tagged=result.tagged,
        )
        if template.name.startswith(TEAM):
            others = [other for other in applied if not other.template.name.startswith(TEAM)]
            closed = {name for other in others for name in volumes_of(other.overlay) if not other.template.shares(name)}
            check_own_parts(template, result.containers, base, state, merged.pod, closed, settings)
            check_security(merged.pod, state, task.namespace, task.snapshot.cluster)
        state, placement = merged.pod, merged.placement
        applied.append(result)
        for pointer, items in merged.appended.items():
            add_items(appended, pointer, *items)
        warnings += [*parameters.warnings, *given_by(template, new_warnings), *merged.differences]
    return AppliedPod(base, state, tuple(applied), appended, choice.source, tuple(warnings))


def given_by(template: Template, warnings: Iterable[str]) -> Iterator[Diagnostic]:
    """What a template warns of, by its `warn()`."""
    return (Diagnostic("template-warning", "warning", text, fields={"template": template.name}) for text in warnings)


def with_origins(error: RenderError, parameters: Resolved) -> RenderError:
    """The error, with the values of the parameters that it is about and where each came from."""
    by_variable = {p.variable: p for p in error.template.parameters.values()}
    origins = []
    for variable in error.params:
        parameter, value = by_variable[variable], parameters.values[variable]
        name, origin = parameter.name, parameters.origins.get(parameter.name)
        origins.append(
            f"{name} = {shortened(parameter.masked(value))}, from {origin}"
            if origin
            else f"parameter `{name}` is not given"
        )
    return error.saying(f"{error.diagnostic.message} ({'; '.join(origins)})") if origins else error


def with_parameter_to_move(error: InjectionError, applied_pod: AppliedPod, task: InjectionContext) -> InjectionError:
    """The error; if two containers use one port, its help names the parameters that change the sidecar's port."""
    diagnostic = error.diagnostic
    if error.reason is not Reason.CONFLICT or diagnostic.fields.get("field") not in ("port", "hostPort"):
        return error
    names = [
        f"{task.settings.parameter_suffix(applied.template.name)}{parameter.name}"
        for applied in applied_pod.applied
        for parameter in applied.template.parameters.values()
        if parameter.schema.get("format") == "port"
        and applied.parameters.values[parameter.variable] == diagnostic.fields["value"]
        and "pod" in parameter.settable(guarded=task.guarded)
    ]
    if not names:
        return error
    return InjectionError(
        error.reason,
        diagnostic.message,
        help=f"{diagnostic.help}, with the annotation {' or '.join(names)}",
        path=diagnostic.path,
        fields={**diagnostic.fields, "parameters": names},
        code=error.code,
    )


def _render(
    template: Template, parameters: Resolved, state: Object, base: Object, app: frozenset[str], task: InjectionContext
) -> tuple[Applied, tuple[str, ...]]:
    """A template's overlay with the ConfigMap it needs, and what it warns of."""
    context = render_context(base, state, app, parameters, task)
    files = render_files(template, context) if template.files else {}
    maps: tuple[GeneratedConfigMap, ...] = ()
    if files:
        generated = config_map(template.name, files, task.namespace.name, context.workload, task.settings)
        generated = msgspec.structs.replace(generated, name=task.config_map_name or generated.name)
        context, maps = msgspec.structs.replace(context, configmap=generated.name), (generated,)
    rendered = render_overlay(template, context)
    overlay, mirrored = with_mirrors(rendered.overlay, task.settings.image_mirrors, task.snapshot.caches.mirrored)
    if maps and (template.delivery == "annotation" or (context.workload.owner is None and task.workload is None)):
        overlay, maps = by_annotation(overlay, generated.name, template.name, files, task.settings), ()
    applied = Applied(
        template, parameters, overlay, rendered.containers, maps, rendered.defaults, mirrored, rendered.tagged
    )
    return applied, rendered.warnings
