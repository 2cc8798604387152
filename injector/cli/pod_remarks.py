"""All that whoever writes a manifest has to know of one pod in it, beside what the injection itself says.

What the manifest's receipt says of the command that injected it belongs to that, so that injecting twice is injecting
once; and sidecars that run as another user than OpenShift lets them. OpenShift writes the range of user IDs into an
annotation of each namespace. Of the security context constraints (SCCs) that everybody may use, each refuses a pod with
a container whose user is outside of the range.
Source: OpenShift documentation, "Managing security context constraints".
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

import msgspec

from injector.advice.object_mistakes import foreign_names, idle_annotations, mistakes_in, without_image
from injector.apply import Overrides
from injector.authoring.author_warnings import AuthorWarnings
from injector.authoring.lint.rules.unlikely_value import unlikely_values
from injector.authoring.refusal_location import Attempt
from injector.diagnostics import Diagnostic, spoken_path
from injector.errors import InjectionError
from injector.inject import inject
from injector.injection import Applied, Injection
from injector.pods.context import Namespace, Object, mapping, without
from injector.pods.fields import CONTAINER_LISTS
from injector.pods.misplaced_keys import misplaced_keys
from injector.pods.quantity import qos_class
from injector.pods.receipt import Receipt, read_receipt
from injector.pods.shape import string_map
from injector.pods.sidecars import completes
from injector.reasons import Effect, Reason
from injector.settings import Settings
from injector.templates.choice import choose
from injector.templates.render import render_files, render_overlay
from injector.templates.snapshot import Catalog, Snapshot
from injector.templates.template import UNSET, Parameter, Template

#: How the key of a receipt ends, whatever the prefix.
_RECEIPT = "receipt"
_ANEW = "inject it again with --reinject, or remove its sidecar with injector uninject and then inject it"


def cannot_repeat(receipt: Receipt, names: Sequence[str] | None, overrides: Overrides, catalog: Catalog) -> str:
    """Why what the receipt records cannot be done again, and what to do; "" where it can."""
    missing = [] if names is not None else [name for name in receipt.templates if catalog.get(name) is None]
    if missing:
        fault = (
            f"it was injected with {_named('template', missing)}, and there is no such template here: give the folder"
        )
        return str(catalog.refused.get(missing[0]) or f"{fault} of the template with --templates-dir, or {_ANEW}")
    secret = [
        f"{template}.{name}"
        for template, parameters in receipt.parameters.items()
        for name, value in parameters.items()
        if value is None and name not in overrides.get(template, {}) and (names is None or template in names)
    ]
    if secret:
        fault = f"it was injected with {_named('parameter', secret)}, which is secret and so is not in the receipt"
        return f"{fault}: give it again with --param"
    return ""


def repeated(receipt: Receipt, overrides: Overrides) -> dict[str, Mapping[str, Any]]:
    """The parameters of the receipt, and over them those that this command gives."""
    templates = dict.fromkeys((*receipt.parameters, *overrides))
    return {name: {**receipt.parameters.get(name, {}), **overrides.get(name, {})} for name in templates}


def what_differs(receipt: Receipt, result: Injection, names: Sequence[str] | None, overrides: Overrides) -> str:
    """How this command's options differ from those that the receipt records, and what to do; "" where they do not."""
    before, now = list(receipt.templates), [name for name, _ in result.templates]
    differences = []
    if names is not None and now and now != before:
        differences.append(f"with {_named('template', before)}, not {', '.join(now)}")
    for template, parameters in overrides.items():
        for name, value in parameters.items() if template in before else ():
            was = receipt.parameters.get(template, {}).get(name, ...)
            if was is not None and was != value:
                differences.append(
                    f"{f'with {template}.{name}={was}' if was is not ... else f'without {template}.{name}'}"
                )
    if not differences:
        return ""
    unchanged = "--param and --templates do not change an earlier injection"
    return f"it was injected {' and '.join(differences)}, and {unchanged}: {_ANEW}"


def foreign_receipt(pod: Object, settings: Settings) -> list[str]:
    """A sentence about a receipt that an injection with another prefix wrote; empty where there is none."""
    for key, text in string_map(pod, "annotations").items():
        prefix, _, name = key.rpartition("/")
        if name == _RECEIPT and key != settings.receipt_key and '"generation"' in text:
            fault = f"it has a receipt with another prefix ({key})"
            return [f"{fault}; give the settings that it was injected with: --settings FILE, with prefix: {prefix}"]
    return []


def lost_receipt(pod: Object, settings: Settings) -> str:
    """Why nobody knows what was added to a pod that says it was injected, and what to do; "" where one knows."""
    annotations = string_map(pod, "annotations")
    if annotations.get(settings.status_key) != "injected" or read_receipt(pod, settings) is not None:
        return ""
    state = "cannot be read" if settings.receipt_key in annotations else "is missing"
    return (
        f"its receipt (annotation {settings.receipt_key}) {state}, so what the injection added is not known; use the "
        "unchanged output of injector inject, or the file from before the injection"
    )


def _named(noun: str, names: Sequence[str]) -> str:
    return f"{noun}{'' if len(names) == 1 else 's'} {', '.join(names)}"


RANGE_KEY = "openshift.io/sa.scc.uid-range"
#: What to do about a user that no parameter sets.
OTHER_SCC = "let the pod's service account use an SCC that allows it, or choose another template"
_RANGE = re.compile(r"([0-9]{1,10})(?:/([0-9]{1,10})|-([0-9]{1,10}))\Z")


def user_range(annotations: Mapping[str, str]) -> range | None:
    """The user IDs that a namespace's pods may have: `1000680000/10000` is the first one and how many there are.

    None for a namespace that is not one of OpenShift's.
    """
    ids = _RANGE.match(annotations.get(RANGE_KEY, ""))
    if not ids:
        return None
    first = int(ids[1])
    return range(first, first + int(ids[2]) if ids[2] else int(ids[3]) + 1)


def users_outside(result: Injection, namespace: Namespace, settings: Settings) -> Iterator[Diagnostic]:
    """One warning for each template with a container that runs as a user outside of the namespace's range."""
    users = user_range(namespace.annotations)
    if users is None or result.effect is not Effect.INJECT:
        return
    for applied in result.applied:
        outside = {name: user for name, user in _users(result.object, applied) if user not in users}
        if not outside:
            continue
        who = ", ".join(f"{name} as user {user}" for name, user in outside.items())
        message = (
            f"OpenShift: namespace {namespace.name} is for users {users.start} to {users.stop - 1}, and template "
            f"{applied.template.name} runs {who}; only an SCC of the pod's service account can allow that"
        )
        keys = [
            f"{settings.parameter_suffix(applied.template.name)}{parameter.name}"
            for parameter in applied.template.parameters.values()
            if parameter.type == "integer" and "user" in parameter.name
            if applied.parameters.values[parameter.variable] in (None, *outside.values())
        ]
        help_ = f'annotate the namespace with {keys[0]}="{users.start}"' if keys else OTHER_SCC
        fields = {"template": applied.template.name, "containers": outside, "first": users.start, "keys": keys}
        yield Diagnostic("openshift-user-range", "warning", message, help_, fields=fields)


def _users(pod: Object, applied: Applied) -> Iterator[tuple[str, int]]:
    """The user of each container of a template, where the container names one."""
    for field in CONTAINER_LISTS:
        for container in pod["spec"].get(field) or []:
            user = mapping(container.get("securityContext")).get("runAsUser")
            if container["name"] in applied.containers and type(user) is int:
                yield container["name"], user


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
    if result.effect is Effect.INJECT:
        yield from _lost_class(pod, result)
        own = {container["name"]: container for container in pod["spec"]["containers"]}
        customised = [name for applied in result.applied for name in applied.containers if name in own]
        app = [*without(own, customised).values()]
        for name in customised if completes(pod, app) else ():
            yield (
                f"the pod's own container {name} has the name of a sidecar, which then keeps the pod from completing; "
                "write it under initContainers, with restartPolicy: Always"
            )
    yield from (warning.sentence for warning in users_outside(result, namespace, snapshot.settings))
    if result.reason is not Reason.MALFORMED_POD:
        yield from author_warnings.of(attempt, names or ())


def _lost_class(pod: Object, result: Injection) -> Iterator[str]:
    """A sentence where the pod is Guaranteed without its sidecars alone."""
    now = qos_class(result.object["spec"])
    if now != "Guaranteed" == qos_class(pod["spec"]):
        names = (name for applied in result.applied for name in applied.containers)
        yield (
            f"with its sidecars ({', '.join(names)}) the pod is {now}, and Guaranteed without them; to keep the class, "
            "give each of these containers cpu and memory limits, and requests equal to them"
        )


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
