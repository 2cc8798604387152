"""Where the overlay says what an injection refuses: from the words of a refusal back to the author's line."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from injector.apply import InjectionContext, containers_of, render_context
from injector.diagnostics import Place
from injector.errors import InjectionError
from injector.injection import Injection
from injector.pods.context import Namespace, Object, Workload
from injector.pods.delivery import config_map
from injector.pods.fields import CONTAINER_LISTS, POD
from injector.pods.merge_keys import has_key, step_of
from injector.pods.overlay import EVERY_CONTAINER, bare_value, plain
from injector.pods.shape import string_map
from injector.reasons import Reason
from injector.templates.parameters import resolve
from injector.templates.render import render_files
from injector.templates.snapshot import Snapshot
from injector.templates.template import OVERLAY, Template
from injector.templates.trace import Trace, trace

#: Refusals that a template brings about.
_REASONS = (Reason.INVALID_POD, Reason.CONFLICT, Reason.TEMPLATE_FAILED)
#: A field of a pod as refusals spell it: spec.containers[web].env[PORT].value, metadata.labels[app]
_PATH = re.compile(r"\b(?:spec|metadata)(?:\.\w+|\[[^\]]+\])+")
_STEP = re.compile(r"\.(\w+)|\[([^\]]+)\]")
#: What a merge says of a list with an item that it cannot tell from the others.
_NAMELESS = "an element of the overlay has no "
#: A part that is called by its name alone.
_PART = re.compile(r'\b(container|volume) "?([\w.-]+)"?')


def blamed_place(
    injection: Injection,
    template: Template,
    pod: Object,
    namespace: Namespace,
    snapshot: Snapshot,
    overrides: Mapping[str, Mapping[str, Any]],
    workload: Workload | None,
) -> Place | None:
    """The author's place of what an injection was refused for.

    None where the template does not bring it about, or renders nothing for the pod as it was before any other template.
    """
    if injection.applied or injection.reason not in _REASONS:
        return None
    task = InjectionContext(namespace, snapshot, injection.decision, [template.name], overrides, workload)
    try:
        traced = _overlay(template, pod, task)
    except InjectionError:
        return None
    path = path_named(traced.value, injection.message)
    return traced.place(path) if path else None


def _overlay(template: Template, pod: Object, task: InjectionContext) -> Trace:
    given = task.overrides.get(template.name, {})
    annotations = task.namespace.annotations
    parameters = resolve(template, string_map(pod, "annotations"), annotations, task.settings, given)
    context = render_context(pod, pod, containers_of(pod), parameters, task)
    if template.files:
        files = render_files(template, context)
        made = config_map(template.name, files, task.namespace.name, context.workload, task.settings)
        context = msgspec.structs.replace(context, configmap=made.name)
    return trace(template, context, OVERLAY)


def path_named(overlay: Any, message: str) -> tuple[str | int, ...]:
    """How far a field that a message names leads within an overlay: beyond `spec` and the list, or else nowhere."""
    for found in _PATH.finditer(message):
        root = found[0].partition(".")[0]
        steps = [field or element for field, element in _STEP.findall(found[0])]
        lists = CONTAINER_LISTS if root == "spec" and steps[0] in CONTAINER_LISTS else (steps[0],)
        path = max((_descend(overlay, [root, list_, *steps[1:]]) for list_ in lists), key=len)
        if _NAMELESS in message:
            path = _nameless(overlay, path)
        if len(path) > 2:
            return path
    for kind, name in _PART.findall(message):
        for list_ in CONTAINER_LISTS if kind == "container" else ("volumes",):
            path = _descend(overlay, ["spec", list_, name])
            if len(path) > 2:
                return path
    return ()


def _nameless(overlay: Any, path: tuple[str | int, ...]) -> tuple[str | int, ...]:
    """The first item without what it is merged by, of the list that a path leads to; else the path."""
    value = overlay
    for step in path:
        value = bare_value(value)[step]
    items = plain(value)
    for index, item in enumerate(items if isinstance(items, list) else ()):
        if not has_key(item, POD.at(path)):
            return (*path, index)
    return path


def _descend(value: Any, steps: list[str]) -> tuple[str | int, ...]:
    path: list[str | int] = []
    field = POD
    for step in steps:
        value = bare_value(value)
        if isinstance(value, list):
            names = [step_of(plain(item), field) for item in value]
            wanted = step if step in names else EVERY_CONTAINER
            index = names.index(wanted) if wanted in names else int(step) if step.isdigit() else len(names)
            if index >= len(names):
                break
            value, field = value[index], field.element
            path.append(index)
        elif isinstance(value, dict) and step in value:
            value, field = value[step], field.fields[step]
            path.append(step)
        else:
            break
    return tuple(path)
