"""What a template's author is told wherever a command uses the template: the linter's rules, for the pod at hand."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import lru_cache

from injector.advice.field_names import unknown_field
from injector.advice.shapes import misshapen
from injector.authoring.file_syntax import unreadable_files
from injector.authoring.lint.rule import findings_of, rules_in
from injector.authoring.lint.rules.app_rules import home_of
from injector.authoring.lint.rules.unlikely_value import unlikely_values
from injector.authoring.lint.subject import RenderedSource, Rendering, Subject
from injector.authoring.refusal_location import Attempt
from injector.diagnostics import Diagnostic, Place
from injector.errors import InjectionError
from injector.injection import Applied
from injector.pods.fields import POD
from injector.pods.shape import unknown_fields
from injector.templates.render import Trace
from injector.templates.template import OVERLAY, Template

#: The rules that need only a template's text, and those that look at what it renders for a pod.
_OF_TEXT = {
    "parameter-type": "parameter_type",
    "plain-reference": "text_rules",
    "joined-lines": "text_rules",
    "unlikely-value": "unlikely_value",
}
_OF_OVERLAY = {"ignored-field": "app_rules", "unlikely-value": "unlikely_value"}
#: What stands beside `spec` in an overlay and does no harm.
_HEAD = ("metadata", "spec", "apiVersion", "kind", "status")


class AuthorWarnings:
    """Warnings of a command that injects many pods: of a template once, of a value that a pod gives for each pod."""

    def __init__(self) -> None:
        self._reported: set[str] = set()

    def of(self, attempt: Attempt, names: Iterable[str]) -> tuple[str, ...]:
        """The warnings after an injection, a line each. `names` are those of the templates where none was applied."""
        blamed = place_of(attempt, names)  # the refusal says what is wrong there
        lines: list[str] = []
        for template in _templates(attempt, names):
            warnings = overlay_warnings(attempt, template)
            if template.name in self._reported:
                warnings = tuple(warning for warning in warnings if "origin" in warning.fields)
            elif warnings or attempt.injection.applied:
                self._reported.add(template.name)
                warnings = (*text_warnings(template), *warnings)
            lines += [warning.located for warning in beside_refusal(warnings, blamed)]
        return tuple(dict.fromkeys(lines))


def place_of(attempt: Attempt, names: Iterable[str]) -> Place | None:
    """Where a template says what a pod was refused for; None where none does.

    `names` are those of the templates where none was applied.
    """
    places = ((attempt.blamed_place(template), template.origin) for template in _templates(attempt, names))
    return next((replace(place, origin=origin) for place, origin in places if place is not None), None)


def _templates(attempt: Attempt, names: Iterable[str]) -> list[Template]:
    applied = [name for name, _ in attempt.injection.templates]
    templates = (attempt.snapshot.catalog.get(name) for name in applied or names)
    return [template for template in templates if template is not None]


def beside_refusal(warnings: Iterable[Diagnostic], blamed: Place | None) -> list[Diagnostic]:
    """The warnings that say more than a refusal with this place: a field that is not there may be the cause of it."""
    return [
        warning
        for warning in warnings
        if warning.place != blamed or {"unknown_field", "origin"} & warning.fields.keys()
    ]


@lru_cache(maxsize=256)  # each command that a process runs
def text_warnings(template: Template) -> tuple[Diagnostic, ...]:
    """What the rules find in the text of a template's files, and in its declarations."""
    subject = _subject(template)
    warnings = (w for name, module in _OF_TEXT.items() for w in findings_of(rules_in(module)[name], subject))
    return tuple(warning.of(template.origin) for warning in warnings)


def overlay_warnings(attempt: Attempt, template: Template) -> tuple[Diagnostic, ...]:
    """What is wrong with what a template renders for the pod, also where the injection is refused: fields that get
    nowhere, values that nobody means, and config files that no program can read.
    """
    warnings = (*_of_overlay(attempt, template), *_of_files(attempt, template))
    return tuple(warning if "origin" in warning.fields else warning.of(template.origin) for warning in warnings)


def _subject(template: Template, *renderings: Rendering) -> Subject:
    return Subject("", template, template.sources, (), (1, 0), renderings)


def _applied(attempt: Attempt, template: Template) -> Applied | None:
    return next((applied for applied in attempt.injection.applied if applied.template.name == template.name), None)


def _of_overlay(attempt: Attempt, template: Template) -> Iterator[Diagnostic]:
    applied = _applied(attempt, template)
    if applied is not None:
        overlay = applied.overlay
        ignored = [field for field in overlay if field not in _HEAD]
        if not any((*unknown_fields(overlay), *misshapen(overlay), *ignored, *unlikely_values(overlay))):
            return
    try:
        context, parameters = attempt.context_and_files(template)[0], attempt.parameters(template)
        source = RenderedSource(template, context)
    except InjectionError:
        return
    for path, fields_there, value in unknown_fields(source.value):
        yield Diagnostic(
            "schema",
            "warning",
            unknown_field(str(path[-1]), fields_there, POD.at(path[:-1]), value),
            place=source.place(path, key=True),
            fields={"unknown_field": path[-1]},
        )
    yield from (Diagnostic("schema", "warning", m, place=source.place(path)) for path, m in misshapen(source.value))
    origins = {
        parameter.variable: origin
        for name, parameter in template.parameters.items()
        if (origin := parameters.origins[name]) not in ("", "default")
    }
    pod, injection = attempt.pod, attempt.injection
    rendering = Rendering("", context, {}, source, {}, pod, injection, injection.object, origins=origins)
    subject = _subject(replace(template, sources={}), rendering)
    for name, module in _OF_OVERLAY.items():
        for warning in findings_of(rules_in(module)[name], subject):
            # the head of a Pod, what holds anchors, and what belongs nowhere in a pod do no harm
            field, place = warning.fields.get("about"), warning.place
            is_lost = "&" not in place.text and (place.file != OVERLAY or home_of(str(field)))
            if name != "ignored-field" or (field not in _HEAD and is_lost):
                yield warning


def _of_files(attempt: Attempt, template: Template) -> Iterator[Diagnostic]:
    """The text files that a parser of their syntax does not take."""
    applied = _applied(attempt, template)
    if applied is None:
        return
    texts = {name: text for generated in applied.files for name, text in generated.data.items()}

    def trace(source: str) -> Trace:
        return Trace(template, attempt.context_and_files(template)[0], source)

    for mistake in unreadable_files(template, texts, trace):
        yield Diagnostic("renders", "warning", mistake.message, mistake.help, place=mistake.place)
