"""Parameters: from the strings of annotations, the settings and the template's defaults to typed, checked values.

The first of these that has a value gives it: the command line, the annotation of the pod (at a path, of the object),
the namespace's annotation, the settings, the template's default. A value that is not allowed is an error, never a
silent default. A value from somebody who may not set the parameter (`from`) has no effect, and a warning says so. In a
`required` namespace the same is true if a pod sets a parameter that its declaration does not open to pods.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, NamedTuple

from injector.caches import IdentityCache
from injector.diagnostics import Diagnostic
from injector.errors import InjectionError
from injector.names import SEARCHES, cut, nearest, shortened, suggestion, to_write
from injector.pods.context import Object
from injector.reasons import Reason
from injector.settings import Settings
from injector.templates.parameter_schema import declared_parameter, shown_name, similar_names
from injector.templates.parameter_values import allowed, value_digest, value_of
from injector.templates.template import UNSET, Parameter, Template

#: A further option, or the value of one, behind an option.
_OPTION = re.compile(r"\s--?[A-Za-z]|^[^\s=]+\s")


@dataclass(frozen=True, slots=True)
class Resolved:
    """The values by their names in templates, warnings for people, and where each value came from, by parameter.

    `given` names the parameters whose value, or a member of it, settings or the namespace gave.
    """

    values: Object
    warnings: tuple[Diagnostic, ...] = ()
    origins: dict[str, str] = field(default_factory=dict)
    given: tuple[str, ...] = ()

    def digests(self, template: Template) -> dict[str, str]:
        """Of each value that settings or the namespace gave, by the parameter's name; secret ones are left out."""
        parameters = (template.parameters[name] for name in self.given)
        return {p.name: value_digest(self.values[p.variable]) for p in parameters if not p.secret}


def resolve(
    template: Template,
    annotations: Mapping[str, str],
    namespace_annotations: Mapping[str, str],
    settings: Settings,
    overrides: Mapping[str, Any] | None = None,
    subject: str = "pod",
    cache: IdentityCache[Resolved] | None = None,
    *,
    guarded: bool = False,
) -> Resolved:
    """A template's parameters for a pod, or for what else `subject` says. A parameter without a value is None.

    `cache` remembers, by template, the result for pods that set no parameter, which are most. `guarded`: the namespace
    is `required`, and its pods may set only parameters that are open to them.

    Raises InjectionError with BAD_PARAMETER for a value that is not allowed and for a required one that is missing.
    """
    suffix = settings.parameter_suffix(template.name)
    configured = settings.parameters.get(template.name) or {}
    plain = not (
        overrides
        or configured
        or any(key.startswith(suffix) for key in annotations)
        or any(key.startswith(suffix) for key in namespace_annotations)
    )
    if cache is not None and plain:
        defaults = cache.get(template)
        if defaults is not None:
            return defaults
    sources = (
        _Source("settings", f"setting parameters.{template.name}.", configured),
        _Source("namespace", f"namespace annotation {suffix}", namespace_annotations, suffix),
        _Source("pod", f"{subject} annotation {suffix}", annotations, suffix),
        _Source("", f"--param {template.name}.", overrides or {}),
    )
    warnings: list[Diagnostic] = []
    single, families = _choose(template, sources, warnings, guarded)
    values, origins = _read_all(template, single, families, warnings)
    _check_missing(template, origins, suffix, warnings, guarded)
    result = Resolved(values, tuple(warnings), origins, _given(single, families))
    return cache.put(template, result) if cache is not None and plain else result


class _Raw(NamedTuple):
    """A value as it was given, where it comes from, and who sets values there."""

    origin: str
    value: Any
    setter: str


_Raws = Mapping[str, _Raw]


class _Source(NamedTuple):
    """What may give values: who sets them there ("": anybody), the words before a name, the values by their keys."""

    setter: str
    label: str
    values: Mapping[str, Any]
    prefix: str = ""


def _choose(
    template: Template, sources: Iterable[_Source], warnings: list[Diagnostic], guarded: bool
) -> tuple[dict[str, _Raw], dict[str, dict[str, _Raw]]]:
    """The value of the last source that has one and may set the parameter, and those of each family by its members.

    `warnings` gets what has no effect.
    """
    single = {}
    families: dict[str, dict[str, _Raw]] = {}
    parameters = template.parameters
    more = 0
    for setter, label, values, prefix in sources:
        for key, raw in values.items():
            if not key.startswith(prefix):
                continue
            name = key[len(prefix) :]
            parameter = declared_parameter(parameters, name)
            if parameter and (not setter or setter in parameter.settable(guarded)):
                origin = f"{label}{name}"
                if parameter.member is None:
                    single[name] = _Raw(origin, raw, setter)
                else:
                    families.setdefault(parameter.name, {}).update(
                        _members(template, parameter, name, _Raw(origin, raw, setter))
                    )
            elif len(warnings) < SEARCHES:
                warnings.append(_unused(name, label, parameters, guarded))
            else:
                more += 1
    if more:
        warnings.append(
            Diagnostic(
                "unknown-parameter",
                "warning",
                f"{more} more parameters of template {template.name} do not exist or may not be set",
                fields={"more": more},
            )
        )
    return single, families


def _given(single: _Raws, families: Mapping[str, _Raws]) -> tuple[str, ...]:
    """The parameters whose value, or a member of it, settings or the namespace gave."""
    setters = {name: {raw.setter} for name, raw in single.items()}
    setters |= {name: {raw.setter for raw in members.values()} for name, members in families.items()}
    return tuple(name for name, names in setters.items() if not names.isdisjoint(("settings", "namespace")))


def _read_all(
    template: Template,
    single: _Raws,
    families: Mapping[str, _Raws],
    warnings: list[Diagnostic],
) -> tuple[Object, dict[str, str]]:
    """The typed values by their names in templates, and where each came from; "" for a parameter without a value."""
    values = {}
    origins: dict[str, str] = {}
    for name, parameter in template.parameters.items():
        if name in single:
            origin, raw, _setter = single[name]
            value = _read(template, parameter, name, origin, raw)
            warnings += _odd_items(parameter, value, origin, raw)
        elif name in families:
            origin, value = _family(template, parameter, families[name], origins)
        elif parameter.default is not UNSET:
            origin, value = "default", parameter.default
        else:
            origin, value = "", None
        values[parameter.variable] = value
        origins[name] = origin
    return values, origins


def _check_missing(
    template: Template, origins: Mapping[str, str], suffix: str, warnings: list[Diagnostic], guarded: bool
) -> None:
    """Refuse required parameters without a value; the warning of a misspelt one helps with it."""
    missing = [parameter for name, parameter in template.parameters.items() if parameter.required and not origins[name]]
    if not missing:
        return
    needs = "; and ".join(
        f"{shown_name(parameter)} ({allowed((parameter.member or parameter).schema)})" for parameter in missing
    )
    names = tuple(parameter.name for parameter in missing)
    misspelt = filter(None, (_meant(parameter, warnings) for parameter in missing))
    raise InjectionError(
        Reason.BAD_PARAMETER,
        f"template {template.name} needs {needs}",
        help="; ".join((*_where_to_set(missing, suffix, guarded), *misspelt)),
        fields={"template": template.name, "parameter": names[0], "missing": names, **_allowed(missing[0])},
    )


def _read(template: Template, parameter: Parameter, name: str, origin: str, raw: Any) -> Any:
    """The typed value that a source gives. Raises InjectionError with BAD_PARAMETER."""
    try:
        return value_of(parameter, raw)
    except ValueError as error:
        fields = {"template": template.name, "parameter": name, "value": raw, "origin": origin, **_allowed(parameter)}
        message = f"{origin} = {shortened(raw)}: {error}"
        if parameter.secret:
            message = f"the value of {origin} is not allowed; it is secret, so it is not shown. It must be "
            message, fields["value"] = f"{message}{allowed(parameter.schema)}", ""
        choices = [] if parameter.secret else [str(choice) for choice in parameter.schema.get("enum", ())]
        raise InjectionError(
            Reason.BAD_PARAMETER,
            message,
            help=to_write(nearest(str(raw), choices, cutoff=0.7)),
            fields=fields,
            mistake=() if parameter.secret else ("value", parameter, raw, origin),
        ) from None


def _odd_items(parameter: Parameter, value: Any, origin: str, raw: Any) -> Iterator[Diagnostic]:
    """A warning of a list of options that is written as in a shell, and so is one item with blanks in it; or that was
    split within an option's value.
    """
    if not (isinstance(raw, str) and raw.startswith("-") and isinstance(value, list)) or parameter.secret:
        return
    for before, item in pairwise(map(str, value)):
        if before.startswith("-") and "=" in before and not item.startswith("-"):
            message = f"{origin} has {len(value)} items, of which one is {shortened(item)}"
            advice = f"if it belongs to {shortened(before)}, write the list as JSON"
            yield Diagnostic("split-argument", "warning", message, advice, fields={"parameter": parameter.name})
            return
    if len(value) == 1 and _OPTION.search(raw) and "=-" not in raw:
        message = f"{origin} = {shortened(raw)} is a list with one item, which contains spaces"
        advice = "separate items with commas"
        yield Diagnostic("joined-arguments", "warning", message, advice, fields={"parameter": parameter.name})


def _members(template: Template, family: Parameter, name: str, raw: _Raw) -> dict[str, _Raw]:
    """What a source gives of a family by the members' names: one of them, or where it names the family several."""
    if name != family.name:
        return {name: raw}
    members = raw.value if isinstance(raw.value, Mapping) else _read(template, family, name, raw.origin, raw.value)
    return {f"{family.name[:-1]}{member}": raw._replace(value=value) for member, value in members.items()}


def _family(template: Template, family: Parameter, members: _Raws, origins: dict[str, str]) -> tuple[str, Object]:
    """Where a family's members come from, and their values by name, those of its default that nobody gives as well.

    `origins` is added to. Its members are in the order of their names, so that equal ones give equal files.
    """
    assert family.member is not None  # noqa: S101
    value = dict(family.default) if family.default is not UNSET else {}
    for name, (origin, raw, _setter) in members.items():
        value[name.removeprefix(family.name[:-1])] = _read(
            template, replace(family.member, name=name), name, origin, raw
        )
        origins[name] = origin
    value = {name: value[name] for name in sorted(value)}
    _read(template, family, family.name, f"parameter `{family.name}`", value)
    sources = sorted({raw.origin for raw in members.values()})
    more = f" and {len(sources) - 1} more" if len(sources) > 1 else ""
    return f"{sources[0]}{more}" if sources else "default", value


def only(parameter: Parameter) -> str:
    """Who may set a parameter that not everybody may, to stand before "may set it"."""
    return f"only {' and '.join(f'the {who}' for who in parameter.setters)}"


def _allowed(parameter: Parameter) -> Object:
    """The keywords of its schema that say in a word or a number what it takes."""
    return {
        key: parameter.schema[key]
        for key in ("type", "format", "enum", "minimum", "maximum")
        if key in parameter.schema
    }


def _unused(name: str, source: str, parameters: Mapping[str, Parameter], guarded: bool) -> Diagnostic:
    """A warning of a name that does not apply: there is no such parameter, or it may not be set there."""
    parameter = declared_parameter(parameters, name)
    names = similar_names(parameters, name)
    fields = {"parameter": name, "nearest": nearest(name, names)}
    if parameter is None:
        message = f"{source}{cut(name, 40)}: no such parameter"
        return Diagnostic("unknown-parameter", "warning", message, suggestion(name, names), fields=fields)
    allowed_ = parameter.settable(guarded)
    cause = f"{only(parameter)} may set it"
    if allowed_ != parameter.setters:
        cause = "pods of a required namespace may not set it; set it on the namespace or in the settings"
    message = f"{source}{name} is ignored: {cause}"
    return Diagnostic("parameter-not-settable", "warning", message, fields={**fields, "allowed": allowed_})


def _meant(parameter: Parameter, unused: Iterable[Diagnostic]) -> str:
    """The first warning of a name that may be meant for the wanted one; empty where there is none."""
    for warning in unused:
        name = warning.fields.get("parameter", "")
        if nearest(name, similar_names({parameter.name: parameter}, name)):
            return warning.sentence
    return ""


def _where_to_set(missing: Iterable[Parameter], suffix: str, guarded: bool) -> Iterator[str]:
    """One sentence for each parameter."""
    for parameter in missing:
        setters, name = parameter.settable(guarded), shown_name(parameter)
        place = next((place for place in ("pod", "namespace") if place in setters), "")
        yield f"set annotation {suffix}{name} of the {place}" if place else f"an admin sets {name} in the settings"
