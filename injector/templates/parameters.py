"""Parameters: from the strings of annotations, the settings and the template's defaults to typed, checked values.

The first of these that has a value gives it: the command line, the annotation of the pod (at a path, of the object),
the namespace's annotation, the settings, the template's default. A value that is not allowed is an error, never a
silent default. A value from somebody who may not set the parameter (`from`) has no effect, and a warning says so. In a
`required` namespace the same is true if a pod sets a parameter that its declaration does not open to pods.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec

from injector.caches import IdentityCache
from injector.diagnostics import Diagnostic
from injector.errors import InjectionError
from injector.names import SEARCHES, cut, nearest, shortened, suggestion
from injector.reasons import Reason
from injector.settings import Settings
from injector.templates.families import declared_parameter, member_name, members_of, shown_name, similar_names
from injector.templates.near_values import spelled, spelled_list, value_help
from injector.templates.parameter_values import allowed, names_example, value_of
from injector.templates.template import UNSET, Parameter, Template

#: Words of an item that are looked at, and what an option looks like.
_WORDS = 100
_OPTION = re.compile(r"--?[A-Za-z]")
#: Parameters that begin with a program.
_COMMANDS = ("command", "entrypoint")


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

    `known` remembers, by template, the result for pods that set no parameter, which are most. `guarded`: the namespace
    is `required`, and its pods may set only parameters that are open to them.

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
    members: dict[str, dict[str, tuple[str, Any]]] = {}
    sources: tuple[tuple[str, str, str, Mapping[str, Any], str], ...] = (
        ("settings", "setting", f"parameters.{template.name}.", settings.parameters.get(template.name) or {}, ""),
        ("namespace", "namespace annotation", suffix, namespace_annotations, suffix),
        ("pod", f"{what} annotation", suffix, annotations, suffix),
        ("", "--param", f"{template.name}.", overrides or {}, ""),
    )
    for setter, kind, shown, values, prefix in sources:
        for key, raw in values.items():
            if not key.startswith(prefix):
                continue
            name = key[len(prefix) :]
            parameter = declared_parameter(parameters, name)
            if parameter and (not setter or setter in parameter.settable(guarded=guarded)):
                origin = f"{kind} {shown}{name}"
                if parameter.member is not None:
                    members.setdefault(parameter.name, {}).update(_members(template, parameter, name, origin, raw))
                else:
                    given[name] = (origin, raw)
            elif len(warnings) < SEARCHES:
                warnings.append(_unused(name, f"{kind} {shown}", parameters, guarded=guarded))
            else:
                more += 1
    if more:
        message = f"{more} more parameters of template {template.name} do not exist or may not be set"
        warnings.append(Diagnostic("unknown-parameter", "warning", message, fields={"more": more}))
    resolved: dict[str, Any] = {}
    origins: dict[str, str] = {}
    for name, parameter in parameters.items():
        if name in given:
            origin, raw = given[name]
            value = _read(template, parameter, name, origin, raw)
            warnings += _joined_words(parameter, value, origin, raw)
        elif name in members:
            origin, value = _family(template, parameter, members[name], origins)
        elif parameter.default is not UNSET:
            origin, value = "default", parameter.default
        else:
            origin, value = "", None
        resolved[parameter.variable] = value
        origins[name] = origin
    missing = tuple(name for name, parameter in parameters.items() if parameter.required and not origins[name])
    if missing:
        parameter = parameters[missing[0]]
        wanted = "; and ".join(f"{shown_name(parameters[name])} ({_wanted(parameters[name])})" for name in missing)
        raise InjectionError(
            Reason.BAD_PARAMETER,
            f"template {template.name} needs {wanted}",
            help="; ".join(
                (
                    *_where_to_set([parameters[name] for name in missing], suffix, guarded=guarded),
                    *(meant for name in missing if (meant := _meant(parameters[name], warnings))),
                )
            ),
            fields={"template": template.name, "parameter": missing[0], "missing": missing, **_allowed(parameter)},
        )
    result = Resolved(resolved, tuple(warnings), origins)
    return known.put(template, result) if known is not None and plain else result


def _read(template: Template, parameter: Parameter, name: str, origin: str, raw: Any) -> Any:
    """The typed value that a source gives. Raises InjectionError with BAD_PARAMETER."""
    try:
        return value_of(parameter, raw)
    except ValueError as error:
        fields = {"template": template.name, "parameter": name, "value": raw, "origin": origin, **_allowed(parameter)}
        message = f"{origin} = {shortened(raw)}: {error}"
        if parameter.secret:
            message = f"the value of {origin} is not allowed; it is secret, so it is not shown. It must be "
            message, fields["value"] = f"{message}{allowed(parameter)}", ""
        help_ = value_help(parameter, raw, origin) or _further_example(parameter, origin)
        raise InjectionError(Reason.BAD_PARAMETER, message, help=help_, fields=fields) from None


def _joined_words(parameter: Parameter, value: Any, origin: str, raw: Any) -> Iterator[Diagnostic]:
    """A warning of a list of arguments that is written as in a shell, and so is one argument with blanks in it."""
    if not isinstance(raw, str) or raw.lstrip()[:1] == "[" or not isinstance(value, list) or parameter.secret:
        return
    if len(value) != 1 or not isinstance(value[0], str) or not _joined(value[0], parameter.name):
        return
    try:
        words = shlex.split(value[0])
    except ValueError:
        return
    message = f"{origin} = {shortened(raw)} is a list with one item, which contains spaces"
    advice = f"to make it {len(words)} items write {spelled(spelled_list(words), origin, parameter)}"
    yield Diagnostic("joined-arguments", "warning", message, advice, fields={"parameter": parameter.name})


def _joined(item: str, name: str) -> bool:
    """Whether an item looks like several words of a command line."""
    first, *others = item.split()[:_WORDS] or [""]
    value = first.partition("=")[2]
    if value.startswith("-") or not (first.startswith("-") or name in _COMMANDS):  # as in --vm=-Xms1g -Xmx1g
        return False
    return any(map(_OPTION.match, others)) or (bool(others) and first.startswith("-") and not value)


def _members(template: Template, family: Parameter, name: str, origin: str, raw: Any) -> dict[str, tuple[str, Any]]:
    """What a source gives of a family by the members' names: one of them, or where it names the family several."""
    if name != family.name:
        return {name: (origin, raw)}
    try:
        found = members_of(family, raw)
    except ValueError as error:
        fields = {"template": template.name, "parameter": name, "value": raw, "origin": origin}
        message = f"{origin} = {shortened(family.masked(raw))}: {error}"
        raise InjectionError(
            Reason.BAD_PARAMETER, message, help=value_help(family, raw, origin), fields=fields
        ) from None
    return {one: (origin, value) for one, value in found.items()}


def _family(
    template: Template, family: Parameter, given: Mapping[str, tuple[str, Any]], origins: dict[str, str]
) -> tuple[str, dict[str, Any]]:
    """Where a family's members come from, and their values by name, those of its default that nobody gives as well.

    `origins` is added to. Its members are in the order of their names, so that equal ones give equal files.
    """
    assert family.member is not None  # noqa: S101
    value: dict[str, Any] = dict(family.default) if family.default is not UNSET else {}
    for name, (origin, raw) in given.items():
        value[member_name(family, name)] = _read(template, replace(family.member, name=name), name, origin, raw)
        origins[name] = origin
    value = {name: value[name] for name in sorted(value)}
    _read(template, family, family.name, f"parameter `{family.name}`", value)
    named = sorted({origin for origin, _raw in given.values()})
    more = f" and {len(named) - 1} more" if len(named) > 1 else ""
    return f"{named[0]}{more}" if named else "default", value


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
    one = parameter.member or parameter
    example = _example(one, "" if set(one.setters) == {"settings"} else "pod annotation ")
    return f"such as {example}" if example else allowed(one)


def _further_example(parameter: Parameter, origin: str) -> str:
    """The same for a message of a mistake, which may name an example already."""
    items = parameter.schema.get("items", {})
    named = names_example(parameter.schema) or names_example({"examples": [""], **items})
    example = "" if named else _example(parameter, origin)
    return f"for example {example}" if example else ""


def _example(parameter: Parameter, origin: str) -> str:
    """An example of it or its default, where its schema says little to people; else empty."""
    if not ("pattern" in parameter.schema or parameter.type in ("object", "array")):
        return ""
    default = () if parameter.default is UNSET else (parameter.default,)
    first = next(filter(None, (*parameter.schema.get("examples", ()), *default)), None)
    if isinstance(first, list) and all(isinstance(one, str | int) and "," not in str(one) for one in first):
        first = ",".join(map(str, first))
    text = first if isinstance(first, str) else msgspec.json.encode(first).decode()
    shown = spelled(text, origin, parameter)
    return (shown if shown != text else shortened(text)) if first else ""


def _unused(name: str, where: str, parameters: Mapping[str, Parameter], *, guarded: bool) -> Diagnostic:
    """A warning of a name that does not apply: there is no such parameter, or it may not be set there."""
    parameter = declared_parameter(parameters, name)
    known = similar_names(parameters, name)
    fields = {"parameter": name, "nearest": nearest(name, known)}
    if parameter is None:
        message, near = f"{where}{cut(name, 40)}: no such parameter", suggestion(name, known)
        return Diagnostic("unknown-parameter", "warning", message, near, fields=fields)
    allowed_ = parameter.settable(guarded=guarded)
    why = f"{only(parameter)} may set it"
    if allowed_ != parameter.setters:
        why = "pods of a required namespace may not set it; set it on the namespace or in the settings"
    message = f"{where}{name} is ignored: {why}"
    return Diagnostic("parameter-not-settable", "warning", message, fields={**fields, "allowed": allowed_})


def _meant(wanted: Parameter, unused: Iterable[Diagnostic]) -> str:
    """The first warning of a name that may be meant for the wanted one; empty where there is none."""
    for one in unused:
        name = one.fields.get("parameter", "")
        if nearest(name, similar_names({wanted.name: wanted}, name)):
            return one.sentence
    return ""


def _where_to_set(missing: Iterable[Parameter], suffix: str, *, guarded: bool) -> Iterator[str]:
    """One sentence for each kind of place."""
    names: dict[str, list[str]] = {"pod": [], "namespace": [], "settings": []}
    for parameter in missing:
        setters = parameter.settable(guarded=guarded)
        where = next((place for place in ("pod", "namespace") if place in setters), "settings")
        names[where].append(f"{suffix}{shown_name(parameter)}" if where != "settings" else shown_name(parameter))
    for where, found in names.items():
        if found and where == "settings":
            yield "an admin sets it in the injector's settings"
        elif found:
            whose = "the namespace's " if where == "namespace" else ""
            *first, last = found
            several = f"annotations {', '.join(first)} and {last}" if first else f"annotation {last}"
            yield f"set {whose}{several}"
