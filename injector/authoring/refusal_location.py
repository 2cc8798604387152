"""Where the overlay says what an injection refuses: from the path of a refusal back to the author's line."""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec

from injector.apply import InjectionContext, Overrides, containers_of, render_context
from injector.diagnostics import Diagnostic, Path, Place
from injector.errors import InjectionError
from injector.injection import Injection
from injector.pods.context import Namespace, Object, Workload, sequence
from injector.pods.delivery import config_map
from injector.pods.fields import CONTAINER_LISTS, POD
from injector.pods.keyed_pointers import has_key, step_of
from injector.pods.overlay import EVERY_CONTAINER, bare_value, name_of, plain
from injector.pods.shape import string_map
from injector.reasons import Reason
from injector.templates.parameters import Resolved, resolve
from injector.templates.render import Trace, render_files
from injector.templates.snapshot import Snapshot
from injector.templates.template import Template
from injector.templates.variables import Context

#: Refusals that a template brings about.
_REASONS = (Reason.INVALID_POD, Reason.CONFLICT, Reason.TEMPLATE_FAILED)


class Attempt(NamedTuple):
    """An injection, whether or not it was refused, and what went into it: enough to render its templates once more."""

    injection: Injection
    pod: Object
    namespace: Namespace
    snapshot: Snapshot
    overrides: Overrides
    workload: Workload | None
    config_map_name: str = ""  #: what the generated ConfigMap is called; empty where its content decides that
    names: list[str] | None = None  #: the templates that somebody asked for; None where the pod decides

    def context_and_files(self, template: Template) -> tuple[Context, dict[str, str]]:
        """What a template sees of the pod, and the config files that it renders. Raises InjectionError."""
        pod, task = self.pod, self.task(template)
        context = render_context(pod, pod, containers_of(pod), self.parameters(template), task)
        files = render_files(template, context) if template.files else {}
        if files:
            generated = config_map(template.name, files, task.namespace.name, context.workload, task.settings)
            context = msgspec.structs.replace(context, configmap=task.config_map_name or generated.name)
        return context, files

    def parameters(self, template: Template) -> Resolved:
        """The values of a template's parameters, with where each came from. Raises InjectionError."""
        applied = next((applied for applied in self.injection.applied if applied.template is template), None)
        if applied is not None:
            return applied.parameters
        task, of_pod = self.task(template), string_map(self.pod, "annotations")
        overrides, of_namespace = task.overrides.get(template.name, {}), task.namespace.annotations
        return resolve(template, of_pod, of_namespace, task.settings, overrides, guarded=task.guarded)

    def task(self, template: Template) -> InjectionContext:
        """What stays the same through an injection of this template alone."""
        return InjectionContext(
            self.namespace,
            self.snapshot,
            self.injection.decision,
            [template.name],
            self.overrides,
            self.workload,
            config_map_name=self.config_map_name,
        )

    def blamed_place(self, template: Template) -> Place | None:
        """The author's place of what the injection was refused for.

        None where the template does not bring it about, or renders nothing for the pod as it was before any other
        template, and where the failed render has told its place.
        """
        injection = self.injection
        if injection.applied or injection.reason not in _REASONS:
            return None
        place = injection.failures[0].place
        if injection.reason is Reason.TEMPLATE_FAILED and place is not None and place.file:
            return None  # rendered once more, it fails once more: a template bomb takes its whole time again
        try:
            traced = Trace(template, self.context_and_files(template)[0])
        except InjectionError:
            return None
        path = path_in(traced.value, injection.failures[0])
        return traced.place(path) if path else None


def path_in(overlay: Any, refusal: Diagnostic) -> Path:
    """How far the path of a refusal leads within an overlay: beyond `spec` and the list, or else nowhere.

    A container may stand in another list there than in the pod. If two containers conflict, one may be the pod's.
    """
    about = [refusal.fields["field"]] if "field" in refusal.fields else []
    for path in ((*refusal.path, *about), refusal.fields.get("other_path", ())):
        own = _deepest(overlay, path)
        if "missing_keys" in refusal.fields:  # the first item of the list without what it is merged by
            items = enumerate(sequence(plain(value_at(overlay, own))))
            own = next(((*own, index) for index, item in items if not has_key(item, POD.at(own))), own)
        if len(own) > 2:
            return own
    return ()


def overlay_path(overlay: Any, after: Object, path: Path) -> Path | None:
    """The path in the overlay of what stands at `path` in the pod after injection, as far as the overlay has it.

    None where the overlay has nothing of it.
    """
    value: Any = after
    field, keyed = POD, list[str | int]()
    for step in path:
        value = value.get(step) if isinstance(value, dict) else value[step]
        keyed.append(step_of(value, field) if isinstance(step, int) and field.aligned else step)
        field = field.at((step,))
    own = _deepest(overlay, tuple(keyed))
    everywhere = len(own) > 2 and own[1] in CONTAINER_LISTS and name_of(value_at(overlay, own[:3])) == EVERY_CONTAINER
    return None if len(own) < 2 or (everywhere and len(own) < len(path)) else own  # what "*" does not set is the app's


def value_at(overlay: Any, path: Path) -> Any:
    """What a path of an overlay leads to."""
    for step in path:
        overlay = bare_value(overlay)[step]
    return overlay


def _deepest(overlay: Any, path: Path) -> Path:
    """How far a keyed path leads within an overlay, in whichever list its container stands there."""
    lists = CONTAINER_LISTS if len(path) > 1 and path[1] in CONTAINER_LISTS else path[1:2]
    return max((_descend(overlay, (*path[:1], list_, *path[2:])) for list_ in lists), key=len, default=())


def _descend(value: Any, steps: Path) -> Path:
    path: list[str | int] = []
    field = POD
    for step in steps:
        value = bare_value(value)
        if isinstance(value, list):
            names = [step_of(plain(item), field) for item in value]
            name = step if step in names else EVERY_CONTAINER
            index = names.index(name) if name in names else step if isinstance(step, int) else len(names)
            if index >= len(names):
                break
            value, field = value[index], field.element
            path.append(index)
        elif isinstance(value, dict) and step in value:
            value, field = value[step], field.fields[str(step)]
            path.append(step)
        else:
            break
    return tuple(path)
