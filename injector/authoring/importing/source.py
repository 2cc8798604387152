"""YAML documents that somebody brings, with the place of everything in them, and which of their parts are sidecar
configs: a file, a ConfigMap's key, an item of a List, a document of a stream.

A document may be a text within another one, such as a ConfigMap's key. In a literal block the lines are those of the
file, so problems name the file's lines.

Two forms of configs are in use. One has only containers and volumes; a pod gets it if its annotation says yes. The
other has a name, by which pods ask for it, and has in `env` and `volumeMounts` what all containers get. Forks of both
know more fields of a pod, so every such field is accepted in both forms.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePath
from typing import Any, Final, NamedTuple

import yaml

from injector.authoring.cases.document import follow
from injector.authoring.yaml_stream import YamlPiece, split_yaml
from injector.diagnostics import Diagnostic, Path as ObjectPath, Place, Severity
from injector.errors import DocumentError
from injector.names import shortened
from injector.pods.context import Object, list_items, mapping
from injector.templates.kubernetes_yaml import Node, YAMLError, compose, index, load_manifest
from injector.templates.source_map import normal, place_at
from injector.templates.yaml_errors import yaml_mistake
from injector.templates.yaml_writer import dump

#: What all problems of this command are called.
RULE = "import"
#: Bytes that one input may have. A ConfigMap has at most 1 MiB.
LIMIT = 4 * 1024 * 1024


class ImportProblems(Exception):  # noqa: N818 - a carrier of problems; those are told, not raised
    """The problems of an input that cannot be processed further."""

    def __init__(self, *problems: Diagnostic) -> None:
        super().__init__("; ".join(map(str, problems)))
        self.problems = problems


class ImportSource(NamedTuple):
    """A document. `line` is that of the file on which its text begins, `indent` how far it is indented there."""

    file: str
    text: str
    value: Any
    node: Node | None
    line: int = 1
    indent: int = 0

    def place(self, steps: Sequence[str | int] = (), *, key: bool = False) -> Place:
        """The place of a value, or with `key` of its key. For a value that is not there: where it would be."""
        mark, node, complete = follow(self.node, steps)
        offset = 0 if node is None else index(self.text, mark if key and complete else node.start_mark)
        return _placed(self.file, self.text, offset, self.line, self.indent)

    def problem(
        self,
        steps: ObjectPath,
        message: str,
        *,
        help: str = "",  # noqa: A002
        severity: Severity = "error",
        key: bool = False,
        about: str = "",
    ) -> Diagnostic:
        """What is wrong at a place. `about` distinguishes it from other problems with the same field."""
        return Diagnostic(
            RULE,
            severity,
            message,
            help,
            place=self.place(steps, key=key),
            fields={"field": next(reversed(steps), ""), "about": about},
        )

    def within(self, steps: ObjectPath, label: str) -> ImportSource:
        """The document that the text at a place is. Raises ImportProblems where it is not YAML."""
        node = follow(self.node, steps)[1]
        assert isinstance(node, yaml.ScalarNode)  # noqa: S101 - who asks has seen a text there
        text = normal(node.value)
        line, indent = self._lines_of(node, text)
        if line:
            return _parsed(self.file, text, self.line + line, self.indent + indent)
        return _parsed(f"{self.file} ({label})", text)

    def _lines_of(self, node: yaml.ScalarNode, text: str) -> tuple[int, int]:
        """The line (from 0) of this document on which a literal block's text begins, and its indentation; else 0."""
        if node.style != "|":
            return 0, 0
        lines = self.text.split("\n")
        first = node.start_mark.line + 1
        for number, inner in enumerate(text.split("\n")):
            if inner.strip():
                outer = lines[first + number] if first + number < len(lines) else ""
                return (first, len(outer) - len(inner)) if outer.endswith(inner) else (0, 0)
        return 0, 0


def read_sources(name: str, data: bytes) -> Iterator[ImportSource]:
    """The documents of an input that says something. Raises ImportProblems where one cannot be read."""
    if len(data) > LIMIT:
        raise _refused(name, f"larger than {LIMIT // 1024 // 1024} MiB, which is too large for a sidecar config")
    try:
        text = normal(data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise _refused(name, f"the byte 0x{data[error.start]:02x} is not UTF-8; save the file as UTF-8", line) from None
    try:
        pieces = list(split_yaml(text, name))
    except DocumentError as error:
        pieces = _of_json(text, name)
        if not pieces:
            fault = error.diagnostic or Diagnostic(RULE, "error", str(error), place=Place(name))
            raise ImportProblems(Diagnostic(RULE, "error", f"not YAML: {fault.message}", place=fault.place)) from None
    written = (piece for piece in pieces if piece.value is not None)
    yield from (_parsed(name, piece.before + piece.body + piece.after, piece.line) for piece in written)


def _of_json(text: str, name: str) -> list[YamlPiece]:
    """The document of JSON that YAML cannot read (tabs, pairs of surrogates); none where it is no JSON either."""
    try:
        return list(split_yaml(dump(json.loads(text, parse_constant=float)), name))
    except (ValueError, RecursionError, DocumentError):
        return []


def _parsed(file: str, text: str, line: int = 1, indent: int = 0) -> ImportSource:
    try:
        return ImportSource(file, text, load_manifest(text), compose(text), line, indent)
    except YAMLError as error:
        message, offset = yaml_mistake(error, text)
        place = _placed(file, text, offset or 0, line, indent)
        raise ImportProblems(Diagnostic(RULE, "error", f"not YAML: {message}", place=place)) from None


def _placed(file: str, text: str, offset: int, line: int, indent: int) -> Place:
    place = place_at(file, text, offset)
    return replace(
        place, line=place.line + line - 1, column=place.column + indent, text=" " * indent + place.text if place else ""
    )


def _refused(name: str, message: str, line: int = 0) -> ImportProblems:
    return ImportProblems(Diagnostic(RULE, "error", message, place=Place(name, line)))


#: What a mapping has that is a sidecar config and nothing else.
_TELLING = frozenset(("containers", "initContainers", "volumes", "volumeMounts", "hostAliases"))
#: The same in a text that is no YAML, because something was left in it.
_LIKELY = re.compile(r"^(?:containers|initContainers|volumes|volumeMounts|hostAliases)[ \t]*:", re.MULTILINE)


class Config(NamedTuple):
    """A sidecar config where it was found.

    `name` is that of its file or key without the ending, "" where there is none; `config_map` the ConfigMap's. `folder`
    is where the files are that it may inherit from, None where it was no file.
    """

    source: ImportSource
    steps: ObjectPath
    value: Any
    name: str
    config_map: str = ""
    folder: Path | None = None


class ConfigFiles(NamedTuple):
    """A ConfigMap that holds no sidecar config: perhaps the config files of a sidecar."""

    name: str
    data: dict[str, str]
    source: ImportSource
    steps: ObjectPath
    binary: bool = False  #: whether it has more than texts


@dataclass(slots=True)
class FoundConfigs:
    """Everything that was found, in order, and what there is to say about it."""

    configs: list[Config] = field(default_factory=list)
    files: list[ConfigFiles] = field(default_factory=list)
    problems: list[Diagnostic] = field(default_factory=list)


def find_configs(inputs: Iterable[tuple[str, bytes]]) -> FoundConfigs:
    """The sidecar configs of inputs. Each input is a name as a person would call it, and its bytes."""
    configs = FoundConfigs()
    for name, data in inputs:
        before = len(configs.configs) + len(configs.files) + len(configs.problems)
        try:
            for source in read_sources(name, data):
                _in_document(source, name, configs)
        except ImportProblems as error:
            configs.problems += error.problems
        if before == len(configs.configs) + len(configs.files) + len(configs.problems):
            configs.problems.append(Diagnostic(RULE, "error", "there is nothing in it", place=Place(name)))
    return configs


def is_config(value: Any) -> bool:
    """Whether a mapping is a sidecar config, by its fields."""
    if not isinstance(value, dict) or "apiVersion" in value:
        return False
    has_name = isinstance(value.get("name"), str) and bool(CONFIG_FIELDS & value.keys() - {"name"})
    return has_name or isinstance(value.get("env"), list) or bool(_TELLING & value.keys())


def _in_document(source: ImportSource, name: str, configs: FoundConfigs) -> None:
    remote = name.startswith(("http://", "https://"))
    folder = Path(name).parent if not remote and Path(name).is_file() else None
    stem = PurePath(name).stem if folder is not None or remote else ""
    value = source.value
    if isinstance(value, list):
        configs.configs += [Config(source, (i,), item, stem, folder=folder) for i, item in enumerate(value)]
    elif isinstance(value, dict) and ("kind" in value or "apiVersion" in value):
        for steps, item in _objects(value):
            _in_object(source, steps, item, configs)
    else:
        configs.configs.append(Config(source, (), value, stem, folder=folder))


def _objects(value: Object) -> Iterator[tuple[ObjectPath, Any]]:
    """An object, or those of a List."""
    if (items := list_items(value)) is not None:
        yield from ((("items", number), item) for number, item in enumerate(items))
    else:
        yield (), value


def _in_object(source: ImportSource, steps: ObjectPath, value: Any, configs: FoundConfigs) -> None:
    kind, metadata = mapping(value).get("kind"), mapping(mapping(value).get("metadata"))
    name = str(metadata.get("name") or "")
    if kind != "ConfigMap":
        subject = f"{shortened(kind)[1:-1]} `{name}`" if isinstance(kind, str) else "this object"
        message = f"{subject} is neither a sidecar config nor a ConfigMap, so it is ignored"
        configs.problems.append(source.problem(steps, message, severity="warning"))
        return
    data = value.get("data") or {}
    if not isinstance(data, dict):
        configs.problems.append(source.problem((*steps, "data"), "data must be a mapping of keys to strings"))
        return
    texts = {key: text for key, text in data.items() if isinstance(text, str)}
    for key in data.keys() - texts.keys():
        message = f"data.{key} must be a string; write `{key}: |` and indent the config below it"
        configs.problems.append(source.problem((*steps, "data", key), message))
    rest = dict(texts)
    for key, text in texts.items():
        if inner := _in_key(source, (*steps, "data", key), text, name, configs):
            configs.configs += inner
            del rest[key]
    if len(rest) == len(texts):
        configs.files.append(ConfigFiles(name, rest, source, steps, bool(value.get("binaryData"))))
        return
    for key in rest:
        message = f"the key {key} is not a sidecar config, so it is ignored"
        configs.problems.append(source.problem((*steps, "data", key), message, severity="warning", key=True))


def _stem(key: str) -> str:
    """A key without the ending of a YAML file: others are part of the name, as in `logger.v2`."""
    return re.sub(r"\.(?:ya?ml|json)\Z", "", key)


def _in_key(source: ImportSource, steps: ObjectPath, text: str, config_map: str, configs: FoundConfigs) -> list[Config]:
    """The config that a ConfigMap's key holds, or a list of them.

    A text that looks like a config, and cannot be parsed, is a problem.
    """
    key = str(steps[-1])
    label = f"ConfigMap {config_map}, key {key}"
    try:
        inner = source.within(steps, label)
    except ImportProblems as error:
        if _LIKELY.search(text):
            configs.problems += error.problems
        return []
    if isinstance(inner.value, list) and all(map(is_config, inner.value)):
        return [Config(inner, (i,), item, _stem(key), config_map) for i, item in enumerate(inner.value)]
    return [Config(inner, (), inner.value, _stem(key), config_map)] if is_config(inner.value) else []


#: Lists of the pod's spec; they are merged into the pod's own by name.
LISTS: Final = ("initContainers", "containers", "volumes", "hostAliases", "imagePullSecrets")
#: What each container of the pod gets, those of the config among them, where it has none of that name.
EVERYWHERE: Final = ("env", "volumeMounts")
#: Yes or nothing: false is what a pod has anyway.
SWITCHES: Final = ("hostNetwork", "hostPID")
#: What is not for the pod's spec.
METADATA: Final = ("labels", "annotations")
OTHERS: Final = ("name", "inherits", "serviceAccountName")

#: Every field that a config is known by.
CONFIG_FIELDS: Final = frozenset((*LISTS, *EVERYWHERE, *SWITCHES, *OTHERS))
#: Names that people write for a field, and that no config ever had.
MISTAKEN: Final = {
    "environment": "env",
    "environmentVariables": "env",
    "image": "containers",  # a container alone
    "mounts": "volumeMounts",
    "sidecar": "containers",
    "sidecars": "containers",
}
#: Fields that place containers in the other's order; here the templates' order does that.
ORDER: Final = frozenset(("prependContainers",))


class Teller:
    """Collects what there is to say about a config, at its places."""

    def __init__(self, config: Config, problems: list[Diagnostic]) -> None:
        self._config = config
        self._problems = problems
        self.refused = False  #: whether something was an error
        self.inherits = config.folder is not None  #: whether what it inherits from is read

    def tell(self, steps: ObjectPath, message: str, severity: Severity = "error", **more: Any) -> None:
        """Say what is wrong at a place of the config."""
        self.refused = self.refused or severity == "error"
        at = (*self._config.steps, *steps)
        self._problems.append(self._config.source.problem(at, message, severity=severity, **more))

    def warn(self, steps: ObjectPath, message: str, **more: Any) -> None:
        """Report, at the key of a field, what will differ from what is written there."""
        self.tell(steps, message, "warning", key=True, **more)
