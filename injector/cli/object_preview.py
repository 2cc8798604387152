"""What a template of a path makes of one object, as a text: the overlay, JSON, or a difference."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import click
import msgspec

from injector.authoring.diagnostic_formats import json_text
from injector.authoring.lint.sample_pods import SAMPLE
from injector.cli.admission import asked_about_pod, namespace_asked
from injector.cli.documents import Document, read_documents, read_manifests
from injector.cli.explanation import parameters_of
from injector.cli.injection_sources import Sources
from injector.cli.inputs import Input
from injector.cli.manifest_objects import edit, metadata_of, namespaces_in, objects_in
from injector.cli.manifest_writer import dump_yaml
from injector.cli.options import user_info
from injector.cli.path_explanation import looks_of
from injector.cli.preview import Preview, PreviewRefusedError, Wanted, difference
from injector.cli.simulated_pods import in_manifest
from injector.errors import DocumentError
from injector.injection import Injection
from injector.loading.limits import limited
from injector.pods.context import Namespace, Object
from injector.pods.overlay import plain
from injector.pods.resource_kinds import Resource, lies_in, resource_of
from injector.pods.workloads import pod_template, with_pod_template
from injector.policies.admit import admit
from injector.policies.request import ObjectRequest, asked_of, named_resources
from injector.reasons import Reason
from injector.settings import PathTemplates
from injector.templates.samples import sample_object
from injector.templates.template import Template, request_words


def is_at_a_path(template: Template, wanted: Wanted) -> bool:
    """Whether to show the template as at a path: it works only at a path, or an option describes the review."""
    return bool(template.why_not_injected) or any((wanted.operation, wanted.old, wanted.user))


def preview_object(wanted: Wanted, sources: Sources, documents: list[Document] | None = None) -> Preview:
    """What the one template makes of the object. `documents` are those of the object's file, where they were read.

    Raises TemplateError, PreviewRefusedError, DocumentError, and click.UsageError for options that are of injections.
    """
    [template] = sources.snapshot.catalog
    if wanted.file is not None:
        raise click.UsageError(
            f"--file is only for templates that add sidecars; {template.name} is for objects at a path."
        )
    operation = wanted.operation or template.applies_to.operations[0]
    if documents is None:
        documents = read_previewed_object(template, wanted.pod)
    obj = _chosen(template, documents, wanted.pod)
    objects = list(objects_in(documents))
    namespaces = namespaces_in(objects, sources.settings, wanted.namespace_options)
    asked = _asked(template, obj, namespaces.name_for(obj), operation, wanted)
    result = _amended(template, asked, namespace_asked(asked, namespaces.of(obj)), sources)
    pod = pod_template(obj) if asked.is_pod else None

    def change(one: Object, _: Document) -> list[Object] | None:
        if one is not obj or result.reason is not Reason.AMENDED:
            return None
        return [
            in_manifest(result.object, obj) if pod is None else with_pod_template(obj, in_manifest(result.object, pod))
        ]

    if wanted.diff:
        return Preview(difference(documents, list(edit(documents, change)), template.name), result.warning_lines)
    if wanted.json:
        return Preview(json_text(_data(result, asked)), result.warning_lines)
    return Preview(f"# overlay of {template.name}\n{dump_yaml(result.applied[0].overlay)}", result.warning_lines)


def read_previewed_object(template: Template, file: str | None) -> list[Document]:
    """The documents of a file; a bare sample of what the template is for where there is none."""
    if file is not None:
        return read_manifests([file])
    first = next(named_resources([template]))
    sample: Object = SAMPLE
    if not template.applies_to.only_pods:
        sample = sample_object(first)
        sample = {**sample, "metadata": {"name": sample["metadata"]["name"]}}  # it lies where the options say
    return read_documents(Input(f"a minimal sample of {first.name}", dump_yaml(sample).encode()))


def _chosen(template: Template, documents: list[Document], file: str | None) -> Object:
    """The one object that the template is for."""
    objects = list(objects_in(documents))
    wanted = [o for o in objects if _resource(template, o) is not None]
    if len(wanted) == 1:
        return wanted[0]
    if not wanted and len(objects) == 1:
        return objects[0]
    what = ", ".join(template.applies_to.resources)
    raise DocumentError(
        f"{file}: has {len(wanted) or 'no'} objects for {template.name} ({what}); give a file with exactly one"
    )


def _resource(template: Template, obj: Object) -> Resource | None:
    """Which of the resources that the template is for an object is, or its pods are; None for another."""
    named = list(named_resources([template]))
    if pod_template(obj) is not None:
        found = next((resource for resource in named if resource.is_pods), None)
        if found is not None:
            return found
    try:
        guess = resource_of(obj, named)
    except ValueError:
        return None
    return next((r for r in named if r.name.partition("/")[0] == guess.name and r[:2] == guess[:2]), None)


def _asked(template: Template, obj: Object, namespace: str, operation: str, wanted: Wanted) -> ObjectRequest:
    user = wanted.user or user_info("sample")
    resource = _resource(template, obj)
    pod = pod_template(obj)
    if resource is None:
        try:
            resource = resource_of(obj)
        except ValueError as error:
            raise DocumentError(f"{wanted.pod}: {error}") from None
    elif pod is not None and resource.is_pods:
        obj = asked_about_pod(obj, pod, namespace, {}).object
    within = lies_in(resource, obj, namespace)
    if within and not resource.is_namespaces and not metadata_of(obj).get("namespace"):
        obj = {**obj, "metadata": {**metadata_of(obj), "namespace": within}}
    old = None if wanted.old is None else _old(wanted.old)
    if old is None and operation != "CREATE":
        old = obj
    return asked_of(obj, resource, within, operation, old, {"userInfo": user})


def _old(file: str) -> Object:
    objects = list(objects_in(read_manifests([file])))
    if len(objects) != 1:
        raise DocumentError(
            f"{file}: has {len(objects) or 'no'} objects; give --old a file with exactly one object, the object "
            "before the change"
        )
    return objects[0]


def _amended(template: Template, asked: ObjectRequest, namespace: Namespace, sources: Sources) -> Injection:
    """What the template makes of the object. Raises PreviewRefusedError, TemplateError."""
    at = PathTemplates(templates=(template.name,), failure_policy="Fail")
    # whichever namespace it is for: who renders wants to see it
    settings = msgspec.structs.replace(sources.settings, ignored_namespaces=())
    snapshot = replace(sources.snapshot, settings=settings)
    with limited(template.name, template.origin):
        result = admit(asked, namespace, at, snapshot, sources.overrides)
    if result.mistake is not None:
        raise result.mistake
    if result.reason is Reason.NOT_FOR_TEMPLATES:
        why = next(look.why_not for look in looks_of(template, asked, namespace) if not look.fits)
        raise PreviewRefusedError(
            f"{template.name}: skipped: {result.reason}: {why}; the request is {request_words(asked.request)}"
        )
    if not result.allowed:
        raise PreviewRefusedError(f"{template.name}: refused: {result.message}")
    return result


def _data(result: Injection, asked: ObjectRequest) -> dict[str, Any]:
    [applied] = result.applied
    return {
        "template": applied.template.name,
        "reason": str(result.reason),
        "operation": asked.request.operation,
        "parameters": {name: {"value": value, "from": origin} for name, value, origin in parameters_of(applied)},
        "overlay": plain(applied.overlay),
        "warnings": list(result.warning_lines),
        "object": result.object,
    }
