"""Loading a template from its sources: the files of a folder, or the keys of a ConfigMap."""

from __future__ import annotations

import re
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

from injector.diagnostics import Place
from injector.errors import TemplateError
from injector.templates.limits import limited
from injector.templates.manifest import Manifest
from injector.templates.program import Program
from injector.templates.source_positions import normal, place_at
from injector.templates.spelling import hint
from injector.templates.template import FILE, MANIFEST, OVERLAY, Template

_NAME = re.compile(r"[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?\Z")
#: A ConfigMap holds 1 MiB; a template that is larger could not be delivered as one.
_LARGEST = 1024 * 1024
#: Files that change nothing about what a template does.
_IGNORED = frozenset(("README.md",))


def load_template(name: str, sources: Mapping[str, str], origin: str = "") -> Template:
    """A template from its files' texts by name. `origin` says for people where they came from.

    Raises TemplateError with the place of whatever is wrong.
    """
    kept = {file: sources[file] for file in sorted(sources) if file not in _IGNORED}
    if not _NAME.match(name):
        raise TemplateError(
            name, "a template's name is a DNS label: up to 63 of a-z, 0-9 and -", rule="name", origin=origin
        )
    for file in (MANIFEST, OVERLAY):
        if file not in kept:
            raise TemplateError(name, f"there is no {file}{_near(file, kept)}", rule="file", origin=origin)
    size = sum(map(len, kept.values()))
    if size > _LARGEST:
        raise TemplateError(
            name,
            f"its files are {size} characters long; at most {_LARGEST} fit into a ConfigMap",
            rule="limit",
            origin=origin,
        )
    with limited(name, origin):
        return _loaded(name, kept, origin)


def _loaded(name: str, kept: dict[str, str], origin: str) -> Template:
    manifest = Manifest(name, kept, origin)
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
        ("applies_to", manifest.applies_to),
    ):
        with manifest.collecting():
            fields[field] = read()
    with manifest.collecting():
        if fields.get("files") and "applies_to" in fields and not fields["applies_to"].pods_created:
            manifest.refuse(("files",), "files are for the sidecars of a pod; this template is not for pods on CREATE")
    manifest.finish()
    roots = [OVERLAY, *dict.fromkeys(spec.template for spec in fields["files"].values())]
    program = Program(name, kept, roots, [p.variable for p in fields["parameters"].values()], origin)
    return Template(name=name, sources=kept, digest=_digest(kept), origin=origin, program=program, **fields)


def read_folder(path: Path, origin: str = "") -> dict[str, str]:
    """The texts of a template's folder by file name; hidden files, folders and what is no ConfigMap key stay out.

    `origin` is the folder as people gave it.

    Raises TemplateError for a folder that cannot be read and for a file that is not UTF-8.
    """
    sources: dict[str, str] = {}
    try:
        for file in sorted(path.iterdir()):
            if file.is_file() and FILE.match(file.name) and not file.name.startswith("."):
                if file.stat().st_size > 2 * _LARGEST:
                    raise _unusable(
                        path, origin, "the file is larger than a ConfigMap can be", Place(file.name), "limit"
                    )
                sources[file.name] = _decoded(path, file, origin)
    except OSError as error:
        raise _unusable(path, origin, f"the folder cannot be read: {error.strerror}") from None
    return sources


def read_gallery(path: Path) -> dict[str, dict[str, str]]:
    """The sources of every template in a folder of folders, by name. Raises TemplateError."""
    return {name: read_folder(folder) for name, folder in find_gallery(path).items()}


def find_gallery(path: Path) -> dict[str, Path]:
    """The folders of the templates in a folder of folders, by name. Raises TemplateError where it cannot be read."""
    try:
        return {p.name: p for p in sorted(path.iterdir()) if (p / MANIFEST).is_file()}
    except OSError as error:
        raise _unusable(path, "", f"the folder cannot be read: {error.strerror}") from None


def gallery_path() -> Path:
    """Where the templates lie that come with the injector."""
    package = Path(__file__).resolve().parents[1]
    installed = package / "gallery"
    return installed if installed.is_dir() else package.parent / "templates"


def _decoded(path: Path, file: Path, origin: str) -> str:
    data = file.read_bytes()
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        before = data[: error.start].decode("utf-8")
        place = place_at(file.name, normal(before + "?"), len(normal(before)))
        found = f"the byte 0x{data[error.start]:02x} is not UTF-8; save the file as UTF-8"
        raise _unusable(path, origin, found, Place(place.file, place.line, place.column)) from None


def _unusable(path: Path, origin: str, message: str, place: Place | None = None, rule: str = "file") -> TemplateError:
    return TemplateError(path.resolve().name, message, place, rule=rule, origin=origin or str(path))


def _digest(sources: Mapping[str, str]) -> str:
    """12 hex digits of everything that decides what a template does."""
    content = sha256()
    for file, text in sources.items():
        data = text.encode("utf-8", "surrogatepass")
        content.update(f"{file}\0{len(data)}\0".encode())
        content.update(data)
    return content.hexdigest()[:12]


def _near(file: str, sources: Mapping[str, str]) -> str:
    return hint(file, [f for f in sources if f.endswith((".yaml", ".j2"))], "the files are")
