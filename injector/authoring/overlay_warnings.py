"""What a template's author is told wherever a command uses the template: fields that get nowhere, at their lines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from injector.authoring.file_syntax import CHECKED, syntax_mistakes
from injector.authoring.refusal_location import blamed_place, context_and_files, traced_overlay
from injector.authoring.template_mistakes import template_mistakes
from injector.diagnostics import Diagnostic, Place
from injector.errors import InjectionError
from injector.injection import Injection
from injector.pods.context import Namespace, Object, Workload
from injector.pods.fields import POD, fields_of
from injector.pods.foreign_fields import unknown_field
from injector.pods.overlay import bare_value
from injector.pods.shape import unknown_fields
from injector.pods.value_shapes import misshapen
from injector.pods.workloads import workload_of_object
from injector.templates.snapshot import Snapshot
from injector.templates.template import OVERLAY, Template
from injector.templates.trace import trace

#: What stands beside `spec` in an overlay and does no harm.
_HEAD = ("metadata", "spec", "apiVersion", "kind", "status")


class AuthorWarnings:
    """What the authors of templates are told by a command that injects many pods: of each template once."""

    def __init__(self, snapshot: Snapshot, overrides: Mapping[str, Mapping[str, Any]]) -> None:
        self._snapshot, self._overrides = snapshot, overrides
        self._told: set[str] = set()

    def of(
        self, injection: Injection, names: Iterable[str], obj: Object, pod: Object, namespace: Namespace
    ) -> tuple[str, ...]:
        """What is told after the injection of an object's pod, a line each.

        `names` are those of the templates where none was applied.
        """
        workload = None if pod is obj else workload_of_object(obj)
        blamed = self.place_of(injection, names, obj, pod, namespace)  # the refusal tells what is wrong there
        lines: list[str] = []
        for name in [name for name, _ in injection.templates] or names:
            template = self._snapshot.catalog.get(name)
            if template is None or name in self._told:
                continue
            found = overlay_warnings(injection, template, pod, namespace, self._snapshot, self._overrides, workload)
            if found or injection.applied:
                self._told.add(name)
                told = [one.of(template.origin) for one in (*template_mistakes(template), *found)]
                lines += [one.located for one in told if one.place != blamed]
        return tuple(lines)

    def place_of(
        self, injection: Injection, names: Iterable[str], obj: Object, pod: Object, namespace: Namespace
    ) -> Place | None:
        """Where a template says what an object's pod was refused for; None where none does."""
        workload = None if pod is obj else workload_of_object(obj)
        for name in [name for name, _ in injection.templates] or names:
            template = self._snapshot.catalog.get(name)
            about = (pod, namespace, self._snapshot, self._overrides, workload)
            place = None if template is None else blamed_place(injection, template, *about)
            if template is not None and place is not None:
                return replace(place, origin=template.origin)
        return None


def overlay_warnings(
    injection: Injection,
    template: Template,
    pod: Object,
    namespace: Namespace,
    snapshot: Snapshot,
    overrides: Mapping[str, Mapping[str, Any]],
    workload: Workload | None,
) -> tuple[Diagnostic, ...]:
    """Warnings of the fields in a template's overlay that get nowhere, also where the injection is refused, and of
    config files that no program can read.
    """
    about = (injection, template, pod, namespace, snapshot, overrides, workload)
    found = (*_of_fields(*about), *_of_files(*about))
    return tuple(replace(one, place=replace(one.place, origin=template.origin)) for one in found)


def _of_files(injection: Injection, template: Template, *about: Any) -> Iterator[Diagnostic]:
    """The text files that a parser of their syntax does not take."""
    specs = [spec for spec in template.files.values() if spec.syntax in CHECKED]
    if not specs or not injection.applied:
        return
    try:
        context, files = context_and_files(injection, template, *about)
        for spec in specs:
            text, place_of = files[spec.name], trace(template, context, spec.template).place_of
            for one in syntax_mistakes(text, spec.name, spec.syntax, place_of):
                yield Diagnostic("renders", "warning", one.message, one.help, place=one.place)
    except InjectionError:
        return


def _of_fields(
    injection: Injection,
    template: Template,
    pod: Object,
    namespace: Namespace,
    snapshot: Snapshot,
    overrides: Mapping[str, Mapping[str, Any]],
    workload: Workload | None,
) -> Iterator[Diagnostic]:
    known = next((one.overlay for one in injection.applied if one.template.name == template.name), None)
    if known is not None and not any((*_unknown(known), *misshapen(known), *_at_the_top(known))):
        return
    try:
        traced = traced_overlay(injection, template, pod, namespace, snapshot, overrides, workload)
    except InjectionError:
        return
    overlay = bare_value(traced.value)
    found = [(traced.place(path, key=True), words) for path, words in _unknown(overlay)]
    found += [(traced.place(path), words) for path, words in misshapen(overlay)]
    for field in _at_the_top(overlay):
        place = traced.place((field,), key=True)
        if (place.file != OVERLAY or _home(field)) and "&" not in place.text:  # others hold anchors
            words = f"{field} stands beside `spec`, where it has no effect"
            found.append((place, f"{words}; {indent_help(field, place.file)}"))
    for place, words in found:
        yield Diagnostic("schema", "warning", words, place=place)


def indent_help(field: str, file: str) -> str:
    """What to do about a field that a file of the template writes beside `spec`."""
    if file != OVERLAY:
        return f"begin each line of {file} with as many blanks as it needs where it is included"
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
