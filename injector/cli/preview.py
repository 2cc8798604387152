"""What a template makes of one pod, as a text: the overlay with its config files, one file, JSON, or a difference."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from difflib import unified_diff
from typing import Any

import click

from injector.authoring.cases.harness import config_files
from injector.authoring.diagnostic_formats import json_text
from injector.authoring.lint.sample_pods import SAMPLE
from injector.authoring.overlay_warnings import beside_refusal, overlay_warnings
from injector.authoring.refusal_location import Attempt
from injector.authoring.template_mistakes import JOINED_LINES, PLAIN_REFERENCE, template_mistakes
from injector.cli.documents import Document, join_documents, read_documents, read_manifests, written_anew
from injector.cli.explanation import parameters_of
from injector.cli.injection_sources import Sources
from injector.cli.inputs import Input
from injector.cli.manifest_injector import Injector
from injector.cli.manifest_objects import ManifestNamespaces, edit, namespaces_in, objects_in, without_pod
from injector.cli.manifest_writer import dump_yaml
from injector.cli.options import NamespaceOptions, SourceOptions
from injector.diagnostics import Diagnostic
from injector.errors import DocumentError, InjectorError, TemplateError
from injector.inject import inject
from injector.injection import Applied, Injection
from injector.loading.limits import limited
from injector.names import hint, shortened
from injector.pods.context import Object
from injector.pods.delivery import uses_config_map
from injector.pods.overlay import plain
from injector.pods.workloads import pod_template, workload_of_object
from injector.reasons import Effect
from injector.templates.samples import has_example, sample_value
from injector.templates.template import Template


class PreviewRefusedError(InjectorError):
    """The template puts nothing into this pod; the text says why."""


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """What `render` was asked for: the template, the pod and its surroundings, and what of it to show.

    `operation`, `old` (a file) and `user` (a review's `userInfo`) are for templates of paths; "", None, {} for none.
    """

    template: str
    pod: str | None
    source_options: SourceOptions
    namespace_options: NamespaceOptions
    diff: bool
    file: str | None
    json: bool
    operation: str = ""
    old: str | None = None
    user: Object = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Preview:
    """The text that was asked for, ending in a line end where it is not empty, and warnings for people."""

    text: str
    warnings: tuple[str, ...]


def preview(wanted: Wanted, sources: Sources, documents: list[Document] | None = None) -> Preview:
    """What the one template makes of the pod. `documents` are those of the pod's file, where they were read already.

    Raises TemplateError, PreviewRefusedError, DocumentError, SettingsError, and click.UsageError for a wrong parameter.
    """
    [template] = sources.snapshot.catalog
    if wanted.file is not None and wanted.file not in template.files:
        raise DocumentError(f"{template.name} has no config file {wanted.file}{hint(wanted.file, template.files)}")
    if documents is None:
        documents = read_pod(wanted.pod)
    obj = _object_with_pod(documents, wanted.pod)
    namespaces = namespaces_in(objects_in(documents), sources.settings, wanted.namespace_options)
    sources, examples = _with_examples(obj, namespaces, sources)
    result, unknown = _injected(obj, namespaces, sources, template.name)
    [applied] = result.applied
    warnings = (*examples, *result.warning_lines, *unknown, *_unmounted(result.applied))
    return Preview(_text(wanted, result, applied, sources, documents, namespaces), warnings)


def read_pod(file: str | None) -> list[Document]:
    """The documents of the pod's file; those of the sample Deployment where there is none. Raises DocumentError."""
    if file is None:
        return read_documents(Input("a Deployment with port 8080", dump_yaml(SAMPLE).encode()))
    return read_manifests([file])


def coloured(diff: str) -> str:
    """A difference with colours, as git has them."""
    return "".join(_coloured(line) for line in diff.splitlines(keepends=True))


def _coloured(line: str) -> str:
    if line.startswith(("--- ", "+++ ")):
        return click.style(line, bold=True)
    colour = {"+": "green", "-": "red", "@": "cyan"}.get(line[:1])
    return click.style(line, fg=colour) if colour else line


def _injected(
    obj: Object, namespaces: ManifestNamespaces, sources: Sources, name: str
) -> tuple[Injection, tuple[str, ...]]:
    """The injection of the one template, whatever annotations say, and warnings of fields that Kubernetes drops.

    Raises PreviewRefusedError, TemplateError.
    """
    pod = pod_template(obj)
    assert pod is not None  # noqa: S101
    workload = None if pod is obj else workload_of_object(obj)
    namespace = namespaces.of(obj)
    [template] = sources.snapshot.catalog
    with limited(name, template.origin):
        result = inject(pod, namespace, sources.snapshot, names=[name], overrides=sources.overrides, workload=workload)
    if result.mistake is not None:
        raise _with_mistakes(result.mistake, template)
    attempt = Attempt(result, pod, namespace, sources.snapshot, sources.overrides, workload)
    warnings = overlay_warnings(attempt, template)
    if not result.applied:
        verdict = "skipped" if result.effect is Effect.SKIP else "failed"
        place = attempt.blamed_place(template)
        if place is not None:
            where = replace(place, origin=template.origin)
            refusal = Diagnostic(result.reason.label, "error", result.message, place=where)
            refused = TemplateError.of(name, *beside_refusal(warnings, where), refusal)
            raise _with_mistakes(refused, template)
        raise PreviewRefusedError(f"{name}: {verdict}: {result.message}")
    mistakes = (one.of(template.origin) for one in template_mistakes(template))
    return result, tuple(warning.located for warning in (*mistakes, *warnings))


def _with_mistakes(error: TemplateError, template: Template) -> TemplateError:
    """An error, after the warnings about texts on its lines that should be holes, and lines that became one there."""
    places = {_position(one) for one in error.diagnostics}
    lines = {(file, line + next_) for file, line, _ in places for next_ in (0, 1)}
    found = [one.of(template.origin) for one in template_mistakes(template)]
    causes = [
        one
        for one in found
        if (one.code == PLAIN_REFERENCE and _position(one)[:2] in {place[:2] for place in places})
        or (one.code == JOINED_LINES and _position(one)[:2] in lines and _position(one) not in places)
    ]
    return TemplateError.of(template.name, *causes, *error.diagnostics) if causes else error


def _position(diagnostic: Diagnostic) -> tuple[str, int, int]:
    return diagnostic.place.file, diagnostic.place.line, diagnostic.place.column


def _with_examples(obj: Object, namespaces: ManifestNamespaces, sources: Sources) -> tuple[Sources, tuple[str, ...]]:
    """The same with an example of each required parameter that nobody gives, and what says so.

    Nothing where one of these has no example.
    """
    [template] = sources.snapshot.catalog
    if not any(parameter.required for parameter in template.parameters.values()):
        return sources, ()
    pod = pod_template(obj)
    assert pod is not None  # noqa: S101
    name, overrides = template.name, sources.overrides
    result = inject(pod, namespaces.of(obj), sources.snapshot, names=[name], overrides=overrides)
    missing = [template.parameters[one] for failure in result.failures for one in failure.fields.get("missing", ())]
    if not all(map(has_example, missing)):
        return sources, ()
    examples = {parameter.name: sample_value(parameter) for parameter in missing}
    used = tuple(f"{one} is required and not given; using the example {shortened(v)}" for one, v in examples.items())
    return replace(sources, overrides={**overrides, name: {**examples, **overrides.get(name, {})}}), used


def _text(
    wanted: Wanted,
    result: Injection,
    applied: Applied,
    sources: Sources,
    documents: list[Document],
    namespaces: ManifestNamespaces,
) -> str:
    files = config_files(result, sources.settings).get(applied.template.name, {})
    if wanted.diff:
        explicit = wanted.namespace_options.namespace is not None
        injector = Injector(sources, [applied.template.name], namespaces, explicit=explicit, documents=documents)
        return difference(documents, list(edit(documents, injector.change)), applied.template.name)
    if wanted.json:
        return json_text(_data(result, applied, files))
    if wanted.file is not None:
        return files[wanted.file]
    parts = [f"# overlay of {applied.template.name}\n{dump_yaml(applied.overlay)}"]
    for generated in applied.files:
        for name, text in generated.data.items():
            parts.append(
                f"---\n# {name}, in ConfigMap {generated.name}\n{text}" + ("" if text.endswith("\n") else "\n")
            )
    return "".join(parts)


def difference(before: list[Document], after: list[Document], template: str) -> str:
    """The manifests before and after as a unified diff. What is written anew stands on both sides in the same form, so
    that only what the template changed is a difference, and no comment or line break.
    """
    anew = {document.number for document in after if document.anew or document.json}
    same_form = [
        written_anew(document, document.value) if document.number in anew and document not in after else document
        for document in before
    ]
    name = before[0].source
    lines = unified_diff(
        join_documents(same_form).splitlines(),
        join_documents(after).splitlines(),
        name,
        f"{name}, with {template}",
        lineterm="",
    )
    return "".join(f"{line}\n" for line in lines)


def _data(result: Injection, applied: Applied, files: dict[str, str]) -> dict[str, Any]:
    return {
        "template": applied.template.name,
        "reason": str(result.reason),
        "parameters": {name: {"value": value, "from": origin} for name, value, origin in parameters_of(applied)},
        "overlay": plain(applied.overlay),
        "configMaps": [generated.name for generated in applied.files],
        "files": files,
        "warnings": [*result.warning_lines, *_unmounted(result.applied)],
        "pod": result.object,
    }


def _unmounted(applied: Iterable[Applied]) -> Iterator[str]:
    """ConfigMaps that an overlay does not use: they are not created, so the files in them get nowhere."""
    for one in applied:
        for generated in one.files:
            if not uses_config_map(one.overlay, generated.name):
                yield (
                    f'{", ".join(generated.data)}: no volume in the overlay uses `configMap: {{name: "{{{{ '
                    'files.configmap }}"}`, so no container can read these files'
                )


def _object_with_pod(documents: list[Document], file: str | None) -> Object:
    """The one object with a pod."""
    objects = list(objects_in(documents))
    found = [obj for obj in objects if pod_template(obj) is not None]
    if len(found) != 1:
        kinds = ", ".join(sorted({str(obj.get("kind")) for obj in objects})) or "nothing"
        words = f"holds {len(found)} objects with a pod" if found else f"holds {kinds}, and no pod"
        if wrong := "" if found else without_pod((obj, str(file)) for obj in objects):
            raise DocumentError(wrong)
        raise DocumentError(f"{file}: {words}; use a file with one Pod, or with one workload such as a Deployment")
    return found[0]
