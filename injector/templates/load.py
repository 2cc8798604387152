"""Loading a template from its sources: the files of a folder, or the keys of a ConfigMap."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from typing import Any

from injector.errors import TemplateError
from injector.names import is_dns_label, suggestion
from injector.templates.manifest import Manifest
from injector.templates.program import Program
from injector.templates.template import LARGEST, MANIFEST, METADATA, OVERLAY, Template
from injector.templates.versions import base_of, stage_of, without_version

#: Templates as they are read: template name to its files, file name to text.
TemplateSources = Mapping[str, Mapping[str, str]]


def load_template(name: str, sources: Mapping[str, str], origin: str = "") -> Template:
    """A template from its files' texts by name. `origin` says for people where they came from.

    Raises TemplateError with the place of whatever is wrong.
    """
    relevant = relevant_sources(sources)
    if not is_dns_label(name):
        raise TemplateError(
            name, "a template's name is a DNS label: up to 63 of a-z, 0-9 and -", rule="name", origin=origin
        )
    for file in (MANIFEST, OVERLAY):
        if file not in relevant:
            raise TemplateError(
                name,
                f"there is no {file}",
                rule="file",
                origin=origin,
                help=suggestion(file, relevant, "the files are"),
            )
    size = sum(len(text.encode()) for text in relevant.values())
    if size > LARGEST:
        raise TemplateError(
            name,
            f"its files are {size} bytes long; at most {LARGEST} fit into a ConfigMap",
            rule="limit",
            origin=origin,
        )
    manifest = Manifest(name, relevant, origin)
    fields: dict[str, Any] = {}
    for field, read in (
        ("description", lambda: manifest.text("description")),
        ("parameters", manifest.parameters),
        ("files", manifest.files),
        ("delivery", lambda: manifest.choice("delivery", ("configmap", "annotation"))),
        ("host_network", lambda: manifest.choice("hostNetwork", ("skip", "inject"))),
        ("selector", lambda: manifest.selector("selector")),
        ("namespaces", lambda: manifest.selector("namespaces")),
        ("overridable", lambda: frozenset(manifest.strings(("overridable",), ()))),
        ("shared", lambda: manifest.strings(("shared",), ())),
        ("redirects", manifest.redirects),
        ("applies_to", manifest.applies_to),
        ("name", lambda: base_of(manifest, name) or name),
        ("stage", lambda: stage_of(manifest)),
    ):
        with manifest.collecting():
            fields[field] = read()
    if "applies_to" in fields and not fields["applies_to"].pods_created:
        _check_without_pods(manifest, fields)
    manifest.finish()
    texts = {file: text for file, text in relevant.items() if file != METADATA}
    roots = {OVERLAY: "", **{spec.template: spec.syntax for spec in fields["files"].values()}}
    return Template(
        own_name=name,
        sources=relevant,
        digest=content_digest({**texts, MANIFEST: without_version(texts[MANIFEST])})[:12],
        origin=origin,
        program=Program(name, texts, roots, [p.variable for p in fields["parameters"].values()], origin),
        **fields,
    )


def _check_without_pods(manifest: Manifest, fields: Mapping[str, Any]) -> None:
    """What a template that is not for CREATE of pods cannot have."""
    for key, value in (("files", fields.get("files")), ("version-of", fields.get("stage"))):
        with manifest.collecting():
            if value:
                message = f"this template is not for CREATE of pods, so it cannot have `{key}`; leave `{key}` out"
                manifest.refuse((key,), message)


def relevant_sources(sources: Mapping[str, str]) -> dict[str, str]:
    """The files that decide what a template does, sorted."""
    return {file: sources[file] for file in sorted(sources) if file != "README.md"}


def content_digest(sources: Mapping[str, str]) -> str:
    """64 hexadecimal digits of the files of a template; what its ConfigMap's metadata say is none of them."""
    content = sha256()
    for file, text in sorted(sources.items()):
        if file != METADATA:
            data = text.encode("utf-8", "surrogatepass")
            content.update(f"{file}\0{len(data)}\0".encode())
            content.update(data)
    return content.hexdigest()
