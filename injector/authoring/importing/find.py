"""Which parts of an input are sidecar configs: a file, a ConfigMap's key, an item of a List, a document of a stream.

Two forms are in use. One has only containers and volumes; a pod gets it if its annotation says yes. The other has a
name, by which pods ask for it, and has in `env` and `volumeMounts` what all containers get. Forks of both know more
fields of a pod, so every such field is accepted in both forms.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import Any, Final, NamedTuple

from injector.authoring.importing.source import RULE, ImportProblems, ImportSource, read_sources
from injector.diagnostics import Diagnostic, Place, Severity
from injector.diagnostics import Path as ObjectPath
from injector.names import shortened
from injector.pods.context import Object, mapping

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
    items = value.get("items")
    if str(value.get("kind")).endswith("List") and isinstance(items, list):
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
