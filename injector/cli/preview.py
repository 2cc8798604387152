"""What a template makes of one pod, or of one object at a path, as a text: the overlay with its config files, one file,
JSON, or a difference.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from operator import attrgetter
from typing import NamedTuple

import click
import msgspec

from injector.advice import advised_injection
from injector.authoring.diagnostic_formats import json_text
from injector.authoring.lint.sample_pods import SAMPLE
from injector.authoring.manifest_writer import dump_yaml
from injector.authoring.pod_preview import PodPreview, parameters_of
from injector.cli.admission import in_manifest, namespace_asked, request_for, resource_for
from injector.cli.documents import Document, join_documents, read_documents, read_manifests, written_anew
from injector.cli.explanation import looks_of
from injector.cli.injection_sources import Sources
from injector.cli.inputs import Input
from injector.cli.manifest_injector import Injector
from injector.cli.manifest_objects import ManifestNamespaces, ObjectEdit, edit, namespaces_in, objects_in, without_pod
from injector.cli.options import PreviewOptions, user_info
from injector.cli.report import unified
from injector.errors import DocumentError, InjectorError, TemplateError
from injector.injection import Injection
from injector.loading.trial import limited
from injector.names import hint, shortened
from injector.pods.context import Namespace, Object
from injector.pods.overlay import plain
from injector.pods.workloads import pod_template, with_pod_template, workload_with_pods
from injector.policies.admit import admit
from injector.policies.request import ObjectRequest, named_resources
from injector.reasons import Effect, Reason
from injector.settings import PathTemplates
from injector.templates.samples import sample_object
from injector.templates.template import Template, request_words


class PreviewRefusedError(InjectorError):
    """The template puts nothing into this pod, or this object; the text says why."""


class _Rendered(NamedTuple):
    """What the template makes of the object in a manifest: `change` puts it there, `data` is what JSON says of it."""

    result: Injection
    change: ObjectEdit
    data: Object
    warnings: Sequence[str]


def preview(options: PreviewOptions, sources: Sources, documents: list[Document] | None) -> tuple[str, Sequence[str]]:
    """The text that the options ask for, ending in a line end where it is not empty, and warnings for people.

    It is what the one template makes of the pod or object. `documents` are those of its file, where they were read.

    The template is shown as at a path if it works only there, or an option describes a review. Raises TemplateError,
    PreviewRefusedError, DocumentError, SettingsError, and click.UsageError for options that are of injections.
    """
    [template] = sources.snapshot.catalog
    at_path = bool(template.why_not_injected) or any((options.operation, options.old, options.user))
    if at_path and options.file is not None:
        raise click.UsageError(
            f"--file is only for templates that add sidecars; {template.name} is for objects at a path."
        )
    if options.file is not None and options.file not in template.files:
        raise DocumentError(f"{template.name} has no config file {options.file}{hint(options.file, template.files)}")
    if documents is None:
        documents = _read(template, options.pod, at_path)
    namespaces = namespaces_in(objects_in(documents), sources.settings, options)
    rendered = (_at_path if at_path else _in_pod)(options, template, sources, documents, namespaces)
    return _text(options, template, rendered, documents), (*sources.warnings, *rendered.warnings)


def _read(template: Template, file: str | None, at_path: bool) -> list[Document]:
    """The documents of a file; of a sample of what the template is for where there is none. Raises DocumentError."""
    if file is not None:
        return read_manifests([file])
    if not at_path:
        return read_documents(Input("a Deployment with port 8080", dump_yaml(SAMPLE).encode()))
    first = next(named_resources([template]))
    sample: Object = SAMPLE
    if not template.applies_to.only_pods:
        sample = sample_object(first)
        sample = {**sample, "metadata": {"name": sample["metadata"]["name"]}}  # it lies where the options say
    return read_documents(Input(f"a minimal sample of {first.name}", dump_yaml(sample).encode()))


def _text(options: PreviewOptions, template: Template, rendered: _Rendered, documents: list[Document]) -> str:
    if options.diff:
        return _difference(documents, list(edit(documents, rendered.change)), template.name)
    [applied] = rendered.result.applied
    if options.form == "json":
        data = {
            "template": template.name,
            "reason": str(rendered.result.reason),
            "parameters": {name: {"value": value, "from": origin} for name, value, origin in parameters_of(applied)},
            "overlay": plain(applied.overlay),
            **rendered.data,
        }
        return json_text(data)
    if options.file is not None:
        return str(rendered.data["files"][options.file])
    parts = [f"# overlay of {template.name}\n{dump_yaml(applied.overlay)}"]
    for generated in applied.files:
        for name, text in generated.data.items():
            line_end = "" if text.endswith("\n") else "\n"
            parts.append(f"---\n# {name}, in ConfigMap {generated.name}\n{text}{line_end}")
    return "".join(parts)


def _difference(before: list[Document], after: list[Document], template: str) -> str:
    """The manifests before and after as a unified diff. What is written anew stands on both sides in the same form, so
    that only what the template changed is a difference, and no comment or line break.
    """
    anew = {document.number for document in after if document.anew or document.json}
    same_form = [
        written_anew(document, document.value) if document.number in anew and document not in after else document
        for document in before
    ]
    name = before[0].source
    return unified(join_documents(same_form), join_documents(after), name, f"{name}, with {template}")


def _in_pod(
    options: PreviewOptions,
    template: Template,
    sources: Sources,
    documents: list[Document],
    namespaces: ManifestNamespaces,
) -> _Rendered:
    """What the template adds to the one object with a pod, whatever annotations say.

    Raises PreviewRefusedError, TemplateError.
    """
    objects = list(objects_in(documents))
    if mistake := without_pod((obj, str(options.pod)) for obj in objects):
        raise DocumentError(mistake)
    obj = _only([obj for obj in objects if pod_template(obj) is not None], options.pod, "with a pod")
    workload = workload_with_pods(obj)
    shown = PodPreview(template, obj, namespaces.of(obj), sources.snapshot, sources.overrides, workload)
    result = shown.result
    if result.mistake is not None:
        raise result.mistake
    if not result.applied:
        if any(problem.place.origin for problem in shown.problems):
            raise TemplateError.of(template.name, *shown.problems)
        verdict = "skipped" if result.effect is Effect.SKIP else "failed"
        raise PreviewRefusedError(f"{template.name}: {verdict}: {result.message}")
    sources = replace(sources, overrides=shown.attempt.overrides)
    injector = Injector(sources, [template.name], namespaces, documents=documents)
    data = {
        "configMaps": [file.name for file in result.files],
        "files": shown.files,
        "warnings": list(result.warning_lines),
        "pod": result.object,
    }
    examples = shown.examples.items()
    used = (f"{key} is required and not given; using the example {shortened(value)}" for key, value in examples)
    return _Rendered(result, injector.change, data, [*used, *shown.warnings(attrgetter("located"))])


def _only(objects: list[Object], file: str | None, what: str) -> Object:
    """The one object. Raises DocumentError."""
    if len(objects) != 1:
        raise DocumentError(f"{file}: has {len(objects) or 'no'} objects {what}; give a file with exactly one")
    return objects[0]


def _at_path(
    options: PreviewOptions,
    template: Template,
    sources: Sources,
    documents: list[Document],
    namespaces: ManifestNamespaces,
) -> _Rendered:
    """What the template makes of the one object that it is for."""
    objects = list(objects_in(documents))
    matching = [obj for obj in objects if resource_for(template, obj) is not None]
    what = f"for {template.name} ({', '.join(template.applies_to.resources)})"
    obj = _only(objects if len(objects) == 1 else matching, options.pod, what)
    operation, user = options.operation or template.applies_to.operations[0], options.user or user_info("sample")
    old = None
    if options.old is not None:
        old = _only(list(objects_in(read_manifests([options.old]))), options.old, "as they were before")
    try:
        request = request_for(template, obj, namespaces.name_for(obj), operation, old, user)
    except ValueError as error:
        raise DocumentError(f"{options.pod}: {error}") from None
    result = _amended(template, request, namespace_asked(request, namespaces.of(obj)), sources)
    pod = pod_template(obj) if request.is_pod else None

    def change(candidate: Object, _: Document) -> list[Object] | None:
        if candidate is not obj or result.reason is not Reason.AMENDED:
            return None
        if pod is None:
            return [in_manifest(result.object, obj)]
        return [with_pod_template(obj, in_manifest(result.object, pod))]

    data = {"operation": request.request.operation, "warnings": list(result.warning_lines), "object": result.object}
    return _Rendered(result, change, data, result.warning_lines)


def _amended(template: Template, request: ObjectRequest, namespace: Namespace, sources: Sources) -> Injection:
    """What the template makes of the object. Raises PreviewRefusedError, TemplateError."""
    at = PathTemplates(templates=(template.name,), failure_policy="Fail")
    # whichever namespace it is for: who renders wants to see it
    snapshot = replace(sources.snapshot, settings=msgspec.structs.replace(sources.settings, ignored_namespaces=()))
    with limited(template.name, template.origin):
        result = advised_injection(admit(request, namespace, at, snapshot, sources.overrides))
    if result.mistake is not None:
        raise result.mistake
    if result.reason is Reason.NOT_FOR_TEMPLATES:
        reason = next(look.why_not for look in looks_of(template, request, namespace) if not look.fits)
        raise PreviewRefusedError(
            f"{template.name}: skipped: {result.reason}: {reason}; the request is {request_words(request.request)}"
        )
    if not result.allowed:
        raise PreviewRefusedError(f"{template.name}: refused: {result.message}")
    return result
