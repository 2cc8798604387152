"""All that whoever writes a manifest has to know of one pod in it, beside what the injection itself says."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

import msgspec

from injector.advice.object_mistakes import foreign_names, idle_annotations, mistakes_in, without_image
from injector.authoring.author_warnings import AuthorWarnings
from injector.authoring.lint.rules.unlikely_value import unlikely_values
from injector.authoring.refusal_location import Attempt
from injector.cli.earlier_injection import foreign_receipt
from injector.cli.user_ranges import users_outside
from injector.diagnostics import spoken_path
from injector.errors import Effect, InjectionError, Reason
from injector.inject import inject
from injector.injection import Injection
from injector.pods.context import Namespace, Object
from injector.pods.misplaced_keys import misplaced_keys
from injector.pods.shape import string_map
from injector.templates.choice import choose
from injector.templates.render import render_files, render_overlay
from injector.templates.snapshot import Snapshot
from injector.templates.template import UNSET, Parameter, Template

#: How many values of a pod that nobody means lead to a warning.
_MOST = 5


def remarks_on(
    obj: Object, attempt: Attempt, names: Sequence[str] | None, author_warnings: AuthorWarnings
) -> Iterator[str]:
    """Warnings about an object's pod, a sentence each: keys at a wrong place, what is wrong with the app's own part,
    annotations without effect, and what the linter says of its templates. `names` are the templates of the command
    line.
    """
    pod, result, namespace, snapshot = attempt.pod, attempt.injection, attempt.namespace, attempt.snapshot
    yield from misplaced_keys(obj, snapshot.settings)
    yield from foreign_receipt(pod, snapshot.settings)
    if result.reason is not Reason.MALFORMED_POD:
        unlikely = (f"{spoken_path(path)}: {message}; {to_do}" for path, message, to_do in unlikely_values(pod))
        yield from [*mistakes_in(obj, pod, result)] or islice(unlikely, _MOST)
        yield from without_image(obj, pod, result)
    yield from foreign_names(pod, result, namespace, snapshot)
    yield from idle_annotations(pod, result, namespace, snapshot, names)
    yield from other_values(pod, result, namespace, snapshot, names)
    yield from values_without_effect(attempt)
    if obj.get("kind") in ("Job", "CronJob") and result.effect is Effect.INJECT:
        own = {container["name"] for container in pod["spec"]["containers"]}
        for name in (name for applied in result.applied for name in applied.containers if name in own):
            yield (
                f"the pod's own container {name} has the name of a sidecar, which then keeps the Job from ending; "
                "write it under initContainers, with restartPolicy: Always"
            )
    yield from (warning.sentence for warning in users_outside(result, namespace, snapshot.settings))
    if result.reason is not Reason.MALFORMED_POD:
        yield from author_warnings.of(attempt, names or ())


def other_values(
    pod: Object, result: Injection, namespace: Namespace, snapshot: Snapshot, names: Sequence[str] | None
) -> Iterator[str]:
    """A sentence for each value of a parameter with which the pod would have its sidecar here."""
    if result.reason is not Reason.POD_SECURITY:
        return
    settings, required = snapshot.settings, result.decision.required
    for template in choose(pod, namespace, settings, snapshot.catalog, required=required, names=names).templates:
        for parameter in template.parameters.values():
            for value in _values(parameter):
                overrides = {template.name: {parameter.name: value}}
                tried = inject(pod, namespace, snapshot, names=names, overrides=overrides)
                if tried.reason is Reason.INJECTED:
                    key = f"{settings.parameter_suffix(template.name)}{parameter.name}"
                    yield "; ".join([f"with {key}: {value} the sidecar is allowed here", *tried.warning_lines])


def values_without_effect(attempt: Attempt) -> Iterator[str]:
    """A sentence for each value from the pod's annotations or the command line with which all that its template
    renders is as without it, because another value makes no use of it.
    """
    settings, annotations = attempt.snapshot.settings, string_map(attempt.pod, "annotations")
    for applied in attempt.injection.applied:
        template, values = applied.template, applied.parameters.values
        suffix, overrides = settings.parameter_suffix(template.name), attempt.overrides.get(template.name, {})
        for name, parameter in template.parameters.items():
            default = None if parameter.default is UNSET else parameter.default
            is_given = name in overrides or f"{suffix}{name}" in annotations
            if (
                is_given
                and values[parameter.variable] != default
                and not _matters(attempt, template, parameter, default)
            ):
                origin = applied.parameters.origins[name]
                yield f"{origin} has no effect beside the other values: {parameter.description}"


def _matters(attempt: Attempt, template: Template, parameter: Parameter, default: Any) -> bool:
    """Whether the template renders something else, or fails, with a parameter's default.

    Also where it renders nothing for the pod alone, without what other templates add.
    """
    try:
        context, files = attempt.context_and_files(template)
        without = msgspec.structs.replace(context, params={**context.params, parameter.variable: default})
        overlays = [render_overlay(template, one).overlay for one in (context, without)]
        return overlays[0] != overlays[1] or files != render_files(template, without)
    except InjectionError:
        return True


def _values(parameter: Parameter) -> Sequence[str]:
    """What the parameter may be, where its schema lists that."""
    if parameter.type == "boolean":
        return ("true", "false")
    return [str(value) for value in parameter.schema.get("enum", ())]
