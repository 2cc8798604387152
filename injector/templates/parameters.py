"""Parameters: from the strings of annotations, the settings and the template's defaults to typed, checked values.

The first of these that has a value gives it: the command line, the annotation of the pod (at a path, of the object),
the namespace's annotation, the settings, the template's default. A value that is not allowed is an error, never a
silent default. What somebody sets who may not, by the parameter's `from`, has no effect, and a warning says so; in a
`required` namespace the same is true of what a pod sets of a parameter that weakens its sidecar.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from injector.caches import IdentityCache
from injector.diagnostics import Diagnostic
from injector.errors import InjectionError
from injector.names import SEARCHES, cut, nearest, shortened, suggestion
from injector.reasons import Reason
from injector.settings import Settings
from injector.templates.parameter_schema import allowed, value_of
from injector.templates.template import UNSET, Parameter, Template


@dataclass(frozen=True, slots=True)
class Resolved:
    """The values by their names in templates, warnings for people, and where each value came from, by parameter."""

    values: dict[str, Any]
    warnings: tuple[Diagnostic, ...] = ()
    origins: dict[str, str] = field(default_factory=dict)


def resolve(
    template: Template,
    annotations: Mapping[str, str],
    namespace_annotations: Mapping[str, str],
    settings: Settings,
    overrides: Mapping[str, Any] | None = None,
    what: str = "pod",
    known: IdentityCache[Resolved] | None = None,
    *,
    guarded: bool = False,
) -> Resolved:
    """A template's parameters for a pod, or for what else `what` says. A parameter without a value is None.

    `known` remembers by template what pods get that set nothing: all of them but a few. `guarded`: in a `required`
    namespace, where parameters that weaken a sidecar are none of its pods' business.

    Raises InjectionError with BAD_PARAMETER for a value that is not allowed and for a required one that is missing.
    """
    suffix = settings.parameter_suffix(template.name)
    parameters = template.parameters
    plain = not (
        overrides
        or settings.parameters.get(template.name)
        or any(key.startswith(suffix) for key in annotations)
        or any(key.startswith(suffix) for key in namespace_annotations)
    )
    if known is not None and plain:
        defaults = known.get(template)
        if defaults is not None:
            return defaults
    warnings: list[Diagnostic] = []
    more = 0
    given: dict[str, tuple[str, Any]] = {}
    sources: tuple[tuple[str, str, str, Mapping[str, Any], str], ...] = (
        ("settings", "setting", f"parameters.{template.name}.", settings.parameters.get(template.name) or {}, ""),
        ("namespace", "namespace annotation", suffix, namespace_annotations, suffix),
        ("pod", f"{what} annotation", suffix, annotations, suffix),
        ("", "option", "", overrides or {}, ""),
    )
    for setter, kind, shown, values, prefix in sources:
        for key, raw in values.items():
            if not key.startswith(prefix):
                continue
            name = key[len(prefix) :]
            parameter = parameters.get(name)
            if parameter and (not setter or setter in parameter.settable(guarded=guarded)):
                given[name] = (f"{kind} {shown}{name}", raw)
            elif len(warnings) < SEARCHES:
                warnings.append(_unused(name, f"{kind} {shown}", parameters, guarded=guarded))
            else:
                more += 1
    if more:
        message = f"{more} more parameters of template {template.name} are not there or may not be set"
        warnings.append(Diagnostic("unknown-parameter", "warning", message, fields={"more": more}))
    resolved: dict[str, Any] = {}
    origins: dict[str, str] = {}
    for name, parameter in parameters.items():
        if name in given:
            origin, raw = given[name]
            try:
                value = value_of(parameter, raw)
            except ValueError as error:
                fields = {"template": template.name, "parameter": name, "value": raw, **_allowed(parameter)}
                message = f"{origin} = {shortened(raw)}: {error}"
                raise InjectionError(Reason.BAD_PARAMETER, message, fields=fields) from None
        elif parameter.default is not UNSET:
            origin, value = "default", parameter.default
        else:
            origin, value = "", None
        resolved[parameter.variable] = value
        origins[name] = origin
    missing = tuple(name for name, parameter in parameters.items() if parameter.required and not origins[name])
    if missing:
        parameter = parameters[missing[0]]
        wanted = "; and ".join(f"{name} ({_wanted(parameters[name])})" for name in missing)
        raise InjectionError(
            Reason.BAD_PARAMETER,
            f"template {template.name} needs {wanted}",
            help="; ".join(
                f"{_where_to_set(parameters[name], suffix, guarded=guarded)}{_meant(name, warnings)}"
                for name in missing
            ),
            fields={"template": template.name, "parameter": missing[0], "missing": missing, **_allowed(parameter)},
        )
    result = Resolved(resolved, tuple(warnings), origins)
    return known.put(template, result) if known is not None and plain else result


def only(parameter: Parameter) -> str:
    """Who may set a parameter that not everybody may, to stand before "may set it"."""
    return f"only {' and '.join(f'the {who}' for who in parameter.setters)}"


def _allowed(parameter: Parameter) -> dict[str, Any]:
    """The keywords of its schema that say in a word or a number what it takes."""
    return {
        key: parameter.schema[key]
        for key in ("type", "format", "enum", "minimum", "maximum")
        if key in parameter.schema
    }


def _wanted(parameter: Parameter) -> str:
    """What to give a parameter: an example says more than a regular expression."""
    examples = parameter.schema.get("examples")
    if not examples or "pattern" not in parameter.schema:
        return allowed(parameter)
    first = examples[0]
    return f"such as {first if isinstance(first, str) else msgspec.json.encode(first).decode()}"


def _unused(name: str, where: str, parameters: Mapping[str, Parameter], *, guarded: bool) -> Diagnostic:
    """A warning of a name that does not apply: there is no such parameter, or it may not be set there."""
    fields = {"parameter": name, "nearest": nearest(name, parameters)}
    if name not in parameters:
        message, near = f"{where}{cut(name, 40)}: no such parameter", suggestion(name, parameters)
        return Diagnostic("unknown-parameter", "warning", message, near, fields=fields)
    parameter = parameters[name]
    allowed_ = parameter.settable(guarded=guarded)
    why = "it would weaken a required sidecar" if allowed_ != parameter.setters else f"{only(parameter)} may set it"
    message = f"{where}{name} is ignored: {why}"
    return Diagnostic("parameter-not-settable", "warning", message, fields={**fields, "allowed": allowed_})


def _meant(wanted: str, unused: Iterable[Diagnostic]) -> str:
    """The first warning of a name that may be meant for the wanted one, as the rest of a sentence."""
    return next((f"; {one.sentence}" for one in unused if nearest(one.fields.get("parameter", ""), [wanted])), "")


def _where_to_set(parameter: Parameter, suffix: str, *, guarded: bool) -> str:
    setters = parameter.settable(guarded=guarded)
    if "pod" in setters:
        return f"set annotation {suffix}{parameter.name}"
    if "namespace" in setters:
        return f"set the namespace's annotation {suffix}{parameter.name}"
    return "an admin sets it in the injector's settings"
