"""Loading a template from its sources: the files of a folder, or the keys of a ConfigMap."""

from __future__ import annotations

import re
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any, NoReturn

import yaml

from injector.errors import Place, TemplateError
from injector.pods.selectors import check_selector
from injector.templates.parameters import make_parameter
from injector.templates.program import Program
from injector.templates.spelling import hint, shortened
from injector.templates.template import MANIFEST, OVERLAY, AppliesTo, FileSpec, Parameter, Template
from injector.templates.yaml import Builder, Node, compose

#: What a ConfigMap's key may be (Kubernetes API reference, ConfigMap v1), and so a template's file.
_FILE = re.compile(r"[-._a-zA-Z0-9]{1,253}\Z")
_NAME = re.compile(r"[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?\Z")
_PARAMETER = re.compile(r"[a-z](?:[-a-z0-9]{0,61}[a-z0-9])?\Z")
#: A ConfigMap holds 1 MiB; a template that is larger could not be delivered as one.
_LARGEST = 1024 * 1024
#: Files that change nothing about what a template does.
_IGNORED = frozenset(("README.md",))

_KEYS = [
    "description",
    "parameters",
    "files",
    "delivery",
    "hostNetwork",
    "selector",
    "namespaces",
    "overridable",
    "for",
]


def load_template(name: str, sources: Mapping[str, str], origin: str = "") -> Template:
    """A template from its files' texts by name. `origin` says for people where they came from.

    Raises TemplateError with the place of whatever is wrong.
    """
    kept = {file: sources[file] for file in sorted(sources) if file not in _IGNORED}
    if not _NAME.match(name):
        raise TemplateError(name, "a template's name is a DNS label: up to 63 of a-z, 0-9 and -")
    for file in (MANIFEST, OVERLAY):
        if file not in kept:
            raise TemplateError(name, f"there is no {file}{_near(file, kept)}", Place(file))
    size = sum(map(len, kept.values()))
    if size > _LARGEST:
        raise TemplateError(name, f"its files are {size} characters long; at most {_LARGEST} fit into a ConfigMap")
    manifest = _Manifest(name, kept)
    parameters = manifest.parameters()
    files = manifest.files()
    roots = [OVERLAY, *dict.fromkeys(spec.template for spec in files.values())]
    return Template(
        name=name,
        sources=kept,
        digest=_digest(kept),
        description=manifest.text("description"),
        parameters=parameters,
        files=files,
        delivery=manifest.choice("delivery", ("configmap", "annotation")),
        host_network=manifest.choice("hostNetwork", ("skip", "inject")),
        selector=manifest.selector("selector"),
        namespaces=manifest.selector("namespaces"),
        overridable=frozenset(manifest.strings(("overridable",), ())),
        applies_to=manifest.applies_to(),
        origin=origin,
        program=Program(name, kept, roots, [p.variable for p in parameters.values()]),
    )


def read_folder(path: Path) -> dict[str, str]:
    """The texts of a template's folder by file name; hidden files, folders and what is no ConfigMap key stay out.

    Raises TemplateError for a folder that cannot be read and for a file that is not UTF-8.
    """
    sources: dict[str, str] = {}
    try:
        for file in sorted(path.iterdir()):
            if file.is_file() and _FILE.match(file.name) and not file.name.startswith("."):
                if file.stat().st_size > 2 * _LARGEST:
                    raise TemplateError(path.name, "the file is larger than a ConfigMap can be", Place(file.name))
                sources[file.name] = file.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise TemplateError(path.name, "the file is not UTF-8 text", Place(file.name)) from None
    except OSError as error:
        raise TemplateError(path.name, f"the folder {path} cannot be read: {error.strerror}") from None
    return sources


def read_gallery(path: Path) -> dict[str, dict[str, str]]:
    """The sources of every template in a folder of folders, by name. Raises TemplateError."""
    try:
        folders = sorted(p for p in path.iterdir() if (p / MANIFEST).is_file())
    except OSError as error:
        raise TemplateError(path.name, f"the folder {path} cannot be read: {error.strerror}") from None
    return {folder.name: read_folder(folder) for folder in folders}


def gallery_path() -> Path:
    """Where the templates lie that come with the injector."""
    package = Path(__file__).resolve().parents[1]
    installed = package / "gallery"
    return installed if installed.is_dir() else package.parent / "templates"


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


class _Manifest:
    """template.yaml, read with the places of everything in it."""

    def __init__(self, name: str, sources: Mapping[str, str]) -> None:
        self._name = name
        self._sources = sources
        self._lines = sources[MANIFEST].split("\n")
        try:
            self._node = compose(sources[MANIFEST])
            data = None if self._node is None else Builder(10_000).value(self._node)
        except yaml.YAMLError as error:
            mark = getattr(error, "problem_mark", None)
            place = self._place(mark.line, mark.column) if mark else Place(MANIFEST)
            problem = getattr(error, "problem", None) or str(error)
            raise TemplateError(name, f"not YAML: {problem}", place) from None
        if not isinstance(data, dict):
            self.refuse((), "template.yaml has to be a mapping with `description:` and `parameters:`")
        self._data: dict[str, Any] = data
        for key in data:
            if key not in _KEYS:
                self.refuse((key,), f"unknown key {shortened(key)}{hint(key, _KEYS)}")

    def refuse(self, path: tuple[Any, ...], message: str) -> NoReturn:
        """Raise TemplateError at the key or item that a path leads to."""
        node, mark = self._node, None
        for step in path:
            found = _step(node, step)
            if found is None:
                break
            mark, node = found
        if mark is None and node is not None:
            mark = node.start_mark
        raise TemplateError(
            self._name, message, self._place(mark.line, mark.column) if mark else Place(MANIFEST)
        ) from None

    def text(self, key: str) -> str:
        """A string, empty where there is none."""
        value = self._data.get(key)
        if value is not None and not isinstance(value, str):
            self.refuse((key,), f"{key} has to be a string")
        return (value or "").strip()

    def choice(self, key: str, words: tuple[str, ...]) -> Any:
        """One of some words, the first where there is none."""
        value = self._data.get(key)
        if value is not None and value not in words:
            self.refuse((key,), f"{key} is {shortened(value)}; it has to be {' or '.join(words)}")
        return value or words[0]

    def selector(self, key: str) -> dict[str, Any] | None:
        """A label selector."""
        value = self._data.get(key)
        if value is not None:
            try:
                check_selector(value)
            except ValueError as error:
                self.refuse((key,), f"{key}: {error}")
        return value

    def strings(self, path: tuple[str, ...], default: tuple[str, ...]) -> tuple[str, ...]:
        """A list of strings."""
        value: Any = self._data
        for step in path:
            value = value.get(step)
        if value is None:
            return default
        if not isinstance(value, list) or not all(isinstance(v, str) for v in value):
            self.refuse(path, f"{'.'.join(path)} has to be a list of strings")
        return tuple(value)

    def mapping(self, key: str) -> dict[str, Any]:
        """A mapping of mappings."""
        value = self._data.get(key)
        if value is None:
            return {}
        if not isinstance(value, dict):
            self.refuse((key,), f"{key} has to be a mapping")
        for name, item in value.items():
            if not isinstance(item, dict):
                self.refuse((key, name), f"{key}.{name} has to be a mapping")
        return value

    def parameters(self) -> dict[str, Parameter]:
        """The parameters by name."""
        made: dict[str, Parameter] = {}
        for name, declaration in self.mapping("parameters").items():
            if not _PARAMETER.match(name):
                self.refuse(("parameters", name), f"{shortened(name)} is no parameter's name; write it like app-port")
            try:
                made[name] = make_parameter(name, declaration)
            except ValueError as error:
                path, message = error.args
                self.refuse(("parameters", name, *path), f"parameter {name}: {message}")
        return made

    def files(self) -> dict[str, FileSpec]:
        """The config files by name."""
        made: dict[str, FileSpec] = {}
        for name, item in self.mapping("files").items():
            at = ("files", name)
            if not _FILE.match(name) or name in (".", ".."):
                self.refuse(at, f"{shortened(name)} is no file's name: letters, digits, - _ and . only")
            for key in item:
                if key not in ("template", "validate"):
                    self.refuse((*at, key), f"unknown key {shortened(key)}{hint(key, ('template', 'validate'))}")
            source = item.get("template", f"{name}.j2")
            if not isinstance(source, str) or source not in self._sources:
                shown = source if isinstance(source, str) else "template"
                known = [f for f in self._sources if f.endswith(".j2")]
                self.refuse(
                    (*at, "template"), f"there is no file {shortened(shown)}{hint(shown, known, 'the files are')}"
                )
            validate = self.strings(("files", name, "validate"), ())
            if validate and not any("{path}" in word for word in validate):
                self.refuse((*at, "validate"), 'validate has to name the file as "{path}"')
            made[name] = FileSpec(name, source, validate)
        return made

    def applies_to(self) -> AppliesTo:
        """What `for` says."""
        value = self._data.get("for")
        if value is None:
            return AppliesTo()
        fields = ("apiGroups", "resources", "operations")
        if not isinstance(value, dict):
            self.refuse(("for",), f"for has to be a mapping with {', '.join(fields)}")
        for key in value:
            if key not in fields:
                self.refuse(("for", key), f"unknown key {shortened(key)}{hint(key, fields)}")
        return AppliesTo(
            self.strings(("for", "apiGroups"), ("",)),
            self.strings(("for", "resources"), ("pods",)),
            self.strings(("for", "operations"), ("CREATE",)),
        )

    def _place(self, line: int, column: int) -> Place:
        text = self._lines[line].strip() if line < len(self._lines) else ""
        return Place(MANIFEST, line + 1, column + 1, text)


def _step(node: Node | None, step: Any) -> tuple[Any, Node] | None:
    """The mark of a key or item below a node, and the node of its value."""
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if key.value == step:
                return key.start_mark, value
    elif isinstance(node, yaml.SequenceNode) and isinstance(step, int) and step < len(node.value):
        return node.value[step].start_mark, node.value[step]
    return None
