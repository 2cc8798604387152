"""Config files that come along: the ConfigMaps of an input that a sidecar mounts become files of its template.

So they need not be in every namespace any more. What else refers to them keeps its reference.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from injector.authoring.importing.find import ConfigFiles
from injector.authoring.importing.sidecar import Sidecar
from injector.diagnostics import Diagnostic
from injector.pods.constraints.pod_view import mapping
from injector.templates.template import FILE, MANIFEST, OVERLAY

_OPENING = re.compile(r"\{(?=[{%#])")


@dataclass(slots=True)
class Delivered:
    """The files by name with their texts, and the volumes that they are in."""

    files: dict[str, str] = field(default_factory=dict)
    volumes: list[str] = field(default_factory=list)

    @property
    def sources(self) -> dict[str, str]:
        """The templates that render them, by file name. All are text: nothing in them is to be filled."""
        return {source_of(name): _as_it_stands(text) for name, text in self.files.items()}


def _as_it_stands(text: str) -> str:
    """A text file that Jinja writes without a change; `+` keeps the blanks before a tag."""
    if not _OPENING.search(text):
        return text
    if "endraw" in text:
        return _OPENING.sub("{%+ raw %}{{% endraw %}", text)
    return f"{{%+ raw %}}{text}{{%+ endraw %}}"


def source_of(name: str) -> str:
    """The source of a config file. One that would be read as YAML or JSON keeps its comments as a text."""
    return f"{name}.txt.j2" if name.endswith((".yaml", ".yml", ".json")) or f"{name}.j2" == OVERLAY else f"{name}.j2"


def deliver(sidecar: Sidecar, found: Sequence[ConfigFiles], problems: list[Diagnostic]) -> Delivered:
    """The files that come with a sidecar. Only one ConfigMap's can: a template has one of its own."""
    config = sidecar.config
    by_name = {files.name: files for files in found}
    delivered = Delivered()
    taken = ""
    for volume in sidecar.spec.get("volumes", ()):
        name = mapping(volume.get("configMap")).get("name")
        files = by_name.get(name) if isinstance(name, str) else None
        if files is None:
            continue
        why = _refused(files, taken)
        if why:
            message = f"ConfigMap {files.name} stays one that every namespace has to have: {why}"
            steps = (*config.steps, "volumes")
            problem = config.source.problem(steps, message, severity="warning", key=True, about=files.name)
            problems.append(problem)
            continue
        taken = files.name
        delivered.files = dict(files.data)
        delivered.volumes.append(volume["name"])
    return delivered


def _refused(files: ConfigFiles, taken: str) -> str:
    if taken not in ("", files.name):
        return f"a template has one ConfigMap of its own, and {taken} is it"
    if files.binary or not files.data:
        return "it has binaryData" if files.binary else "there is nothing in it"
    odd = [n for n, text in files.data.items() if not FILE.match(n) or n in (".", "..", MANIFEST) or "\r" in text]
    return f"the file {odd[0]} cannot be one of a template" if odd else ""


def unused(found: Iterable[ConfigFiles], sidecars: Iterable[Sidecar]) -> list[Diagnostic]:
    """A warning for each ConfigMap that is neither a config nor a sidecar's."""
    asked = {mapping(v.get("configMap")).get("name") for s in sidecars for v in s.spec.get("volumes", ())}
    message = "holds no sidecar config, and no config mounts it; it is left aside"
    return [
        files.source.problem(files.steps, f"ConfigMap {files.name} {message}", severity="warning")
        for files in found
        if files.name not in asked
    ]
