"""What a template's author is told wherever a command uses the template: fields that get nowhere, at their lines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from injector.authoring.file_syntax import parse_error, syntax_mistakes
from injector.authoring.refusal_location import Attempt
from injector.authoring.template_mistakes import UNLIKELY_VALUE, template_mistakes
from injector.authoring.unlikely_values import unlikely_values
from injector.diagnostics import Diagnostic, Place
from injector.errors import InjectionError
from injector.pods.fields import POD, fields_of
from injector.pods.foreign_fields import unknown_field
from injector.pods.overlay import bare_value
from injector.pods.shape import unknown_fields
from injector.pods.value_shapes import misshapen
from injector.templates.parameters import Resolved
from injector.templates.template import OVERLAY, Template
from injector.templates.trace import trace

#: What stands beside `spec` in an overlay and does no harm.
_HEAD = ("metadata", "spec", "apiVersion", "kind", "status")


class AuthorWarnings:
    """Warnings of a command that injects many pods: of a template once, of a value that a pod gives for each pod."""

    def __init__(self) -> None:
        self._told: set[str] = set()

    def of(self, attempt: Attempt, names: Iterable[str]) -> tuple[str, ...]:
        """The warnings after an injection, a line each. `names` are those of the templates where none was applied."""
        blamed = place_of(attempt, names)  # the refusal says what is wrong there
        lines: list[str] = []
        for template in _templates(attempt, names):
            if template.name in self._told:
                found = [one for one in _of_values(attempt, template) if "origin" in one.fields]
            elif (found := list(overlay_warnings(attempt, template))) or attempt.injection.applied:
                self._told.add(template.name)
                found = [*(one.of(template.origin) for one in template_mistakes(template)), *found]
            lines += [one.located for one in beside_refusal(found, blamed)]
        return tuple(lines)


def place_of(attempt: Attempt, names: Iterable[str]) -> Place | None:
    """Where a template says what a pod was refused for; None where none does.

    `names` are those of the templates where none was applied.
    """
    for template in _templates(attempt, names):
        place = attempt.blamed_place(template)
        if place is not None:
            return replace(place, origin=template.origin)
    return None


def _templates(attempt: Attempt, names: Iterable[str]) -> list[Template]:
    applied = [name for name, _ in attempt.injection.templates]
    found = (attempt.snapshot.catalog.get(name) for name in applied or names)
    return [template for template in found if template is not None]


def beside_refusal(warnings: Iterable[Diagnostic], blamed: Place | None) -> list[Diagnostic]:
    """The warnings that say more than a refusal with this place: a field that is not there may be the cause of it."""
    return [one for one in warnings if one.place != blamed or {"unknown_field", "origin"} & one.fields.keys()]


def overlay_warnings(attempt: Attempt, template: Template) -> tuple[Diagnostic, ...]:
    """Warnings of the fields in a template's overlay that get nowhere, also where the injection is refused, of values
    that nobody means, and of config files that no program can read.
    """
    found = (*_of_fields(attempt, template), *_of_values(attempt, template), *_of_files(attempt, template))
    return tuple(one if "origin" in one.fields else one.of(template.origin) for one in found)


def _of_files(attempt: Attempt, template: Template) -> Iterator[Diagnostic]:
    """The text files that a parser of their syntax does not take."""
    made = next((one.files for one in attempt.injection.applied if one.template.name == template.name), ())
    texts = {name: text for generated in made for name, text in generated.data.items()}
    specs = [spec for spec in template.files.values() if spec.name in texts]
    wrong = [spec for spec in specs if parse_error(texts[spec.name], spec.name, spec.syntax) is not None]
    try:
        for spec in wrong:
            context, files = attempt.context_and_files(template)
            text, place_of = files[spec.name], trace(template, context, spec.template).place_of
            for one in syntax_mistakes(text, spec.name, spec.syntax, place_of):
                yield Diagnostic("renders", "warning", one.message, one.help, place=one.place)
    except InjectionError:
        return


def _overlay(attempt: Attempt, template: Template) -> Any:
    """The overlay of a template that was applied; None where it was not."""
    return next((one.overlay for one in attempt.injection.applied if one.template.name == template.name), None)


def _of_fields(attempt: Attempt, template: Template) -> Iterator[Diagnostic]:
    known = _overlay(attempt, template)
    if known is not None and not any((*_unknown(known), *misshapen(known), *_at_the_top(known))):
        return
    try:
        traced = attempt.traced_overlay(template)
    except InjectionError:
        return
    overlay = bare_value(traced.value)
    for path, words in _unknown(overlay):
        yield Diagnostic(
            "schema", "warning", words, place=traced.place(path, key=True), fields={"unknown_field": path[-1]}
        )
    found = [(traced.place(path), words) for path, words in misshapen(overlay)]
    for field in _at_the_top(overlay):
        place = traced.place((field,), key=True)
        if (place.file != OVERLAY or _home(field)) and "&" not in place.text:  # others hold anchors
            words = f"{field} is on the same level as `spec`, where it has no effect"
            found.append((place, f"{words}; {indent_help(field, place.file)}"))
    for place, words in found:
        yield Diagnostic("schema", "warning", words, place=place)


def _of_values(attempt: Attempt, template: Template) -> Iterator[Diagnostic]:
    """Values that nobody means: at the template's line, or where a parameter gives one, with what set the parameter."""
    known = _overlay(attempt, template)
    if known is not None and next(unlikely_values(known), None) is None:
        return
    try:
        traced, given = attempt.traced_overlay(template), attempt.parameters(template)
    except InjectionError:
        return
    told: list[Diagnostic] = []
    for path, words, help_ in unlikely_values(traced.value):
        place, value = traced.place(path), bare_value(traced.value)
        for step in path:
            value = bare_value(value[step])
        origins = _origins(value, given, template) if "{{" in place.text else {}
        named = [origin for variable, origin in origins.items() if variable in place.text] or list(origins.values())
        if named:
            words = f"{' and '.join(named)}: {words}"
            one = Diagnostic(UNLIKELY_VALUE, "warning", words, help_, fields={"origin": named[0]})
        else:
            one = Diagnostic(UNLIKELY_VALUE, "warning", words, help_, place=place)
        if one not in told:  # a macro writes a value several times
            told.append(one)
    yield from told


def _origins(value: object, given: Resolved, template: Template) -> dict[str, str]:
    """What set each of the parameters that have a value, or an item, which is not their default; by variable."""
    found: dict[str, str] = {}
    for name, parameter in template.parameters.items():
        held, origin = given.values[parameter.variable], given.origins[name]
        if origin not in ("", "default") and value in (held if isinstance(held, list) else [held]):
            found[parameter.variable] = origin
    return found


def indent_help(field: str, file: str) -> str:
    """What to do about a field that a file of the template writes beside `spec`."""
    if file != OVERLAY:
        return f"indent each line of {file} to match the place where the file is included"
    return f"write it below `{_home(field)}:`" if _home(field) else "leave it out"


def _home(field: str) -> str:
    """The part of a pod that has a field; "" for none."""
    parts = (("metadata", "ObjectMeta"), ("spec", "PodSpec"))
    return next((name for name, kind in parts if field in fields_of(kind)), "")


def _unknown(overlay: Any) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """Path and words of each field that Kubernetes does not have."""
    for path, known, value in unknown_fields(overlay):
        yield path, unknown_field(str(path[-1]), known, POD.at(path[:-1]), value)


def _at_the_top(overlay: Any) -> list[str]:
    """What stands beside `spec`."""
    return [field for field in overlay if field not in _HEAD] if isinstance(overlay, dict) else []
