"""A sidecar as an overlay: the values, and the text of overlay.yaml.j2 that renders exactly them; and its config files.

The ConfigMaps of an input that a sidecar mounts become files of its template, so they need not be in every namespace
any more. Other references to them stay as they are.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from typing import Any, NamedTuple

import yaml

from injector.authoring.importing.sidecar import Sidecar
from injector.authoring.importing.source import ConfigFiles
from injector.diagnostics import Diagnostic
from injector.pods.context import Object, filled, mapping
from injector.pods.overlay import EVERY_CONTAINER
from injector.templates.template import FILE, MANIFEST, OVERLAY
from injector.templates.yaml_writer import dump, is_plain

#: What begins a hole, a tag or a comment of Jinja.
_OPENING = re.compile(r"\{(?=[{%#])")
#: Columns, more than a line has: no text is folded.
_WIDTH = 1 << 20
#: What stands in the overlay's values for what a template alone can say.
_FILES, _ACCOUNT = "imported-config-files", "imported-service-account"


class _BlockDumper(yaml.SafeDumper):
    """Writes texts of several lines as blocks, and no anchors."""

    def ignore_aliases(self, data: Any) -> bool:
        return True

    def text(self, text: str) -> yaml.ScalarNode:
        """A text, in quotes where YAML as Kubernetes reads it takes the text for something else."""
        style = "" if is_plain(text) else '"'
        if "\n" in text and all(map(str.isprintable, text.split("\n"))):
            style = "|"
        return self.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_BlockDumper.add_representer(str, _BlockDumper.text)


def sidecar_containers(sidecar: Sidecar, field: str) -> list[Object]:
    """The config's containers with what all containers get: variables by name, mounts by volume."""
    return [_with_all(container, sidecar) for container in sidecar.spec.get(field, ())]


def overlay_of(sidecar: Sidecar) -> Object:
    """The overlay as plain values, but for the service account, which depends on the pod and so has a stand-in."""
    spec = dict(sidecar.spec)
    every = filled({"env": sidecar.env, "volumeMounts": sidecar.mounts})
    patch = [{"name": EVERY_CONTAINER, **every}] if every else []
    for list_ in ("initContainers", "containers"):
        spec |= filled({list_: [*patch, *sidecar_containers(sidecar, list_)]})
    if sidecar.service_account:
        spec["serviceAccountName"] = _ACCOUNT
    return filled({"metadata": sidecar.metadata, "spec": spec})


def overlay_text(sidecar: Sidecar, delivered: Collection[str] = ()) -> str:
    """The text of overlay.yaml.j2. `delivered` are the volumes whose files are the template's own."""
    overlay = overlay_of(sidecar)
    if delivered:
        overlay["spec"]["volumes"] = [
            {**volume, "configMap": {**volume["configMap"], "name": _FILES}} if volume["name"] in delivered else volume
            for volume in overlay["spec"]["volumes"]
        ]
    text = _escaped(value_text(overlay))
    text = text.replace(f"name: {_FILES}\n", 'name: "{{ files.configmap }}"\n')
    return text.replace(f"  serviceAccountName: {_ACCOUNT}\n", _service_account(sidecar))


def _service_account(sidecar: Sidecar) -> str:
    """Every pod has the service account `default` before a webhook sees it; any other is its author's."""
    return (
        '{% if object.spec.serviceAccountName | default("default") in ["", "default"] %}\n'
        f"  serviceAccountName: !replace {_escaped(dump(sidecar.service_account)).strip()}\n{{% endif %}}\n"
    )


def _with_all(container: Object, sidecar: Sidecar) -> Object:
    own = {item.get("name") for item in container.get("env", ())}
    mounted = {item.get("name") for item in container.get("volumeMounts", ())}
    env = [*container.get("env", ()), *(item for item in sidecar.env if item.get("name") not in own)]
    mounts = [*container.get("volumeMounts", ()), *(m for m in sidecar.mounts if m.get("name") not in mounted)]
    return {**container, **filled({"env": env, "volumeMounts": mounts})}


def _escaped(text: str) -> str:
    """A text that Jinja writes as it stands. Only strings have such braces: mappings are written in blocks."""
    return _OPENING.sub('{{ "{" }}', text)


def value_text(value: Any) -> str:
    """Any value as YAML, with texts of several lines, such as scripts, as blocks."""
    return yaml.dump(value, Dumper=_BlockDumper, sort_keys=False, allow_unicode=True, width=_WIDTH)


class Delivered(NamedTuple):
    """The files by name with their texts, and the volumes that they are in."""

    files: dict[str, str]
    volumes: list[str]

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
    """The source of a config file. A YAML or JSON file becomes a text file, so that it keeps its comments."""
    return f"{name}.txt.j2" if name.endswith((".yaml", ".yml", ".json")) or f"{name}.j2" == OVERLAY else f"{name}.j2"


def deliver(sidecar: Sidecar, config_maps: Sequence[ConfigFiles], problems: list[Diagnostic]) -> Delivered:
    """The files that come with a sidecar. Only one ConfigMap's files can come: a template has a single ConfigMap."""
    config = sidecar.config
    by_name = {files.name: files for files in config_maps}
    chosen, texts, volumes = "", dict[str, str](), list[str]()
    for volume in sidecar.spec.get("volumes", ()):
        name = mapping(volume.get("configMap")).get("name")
        files = by_name.get(name) if isinstance(name, str) else None
        if files is None:
            continue
        refusal = _refused(files, chosen)
        if refusal:
            message = f"ConfigMap {files.name} is not imported ({refusal}), so each namespace still needs it"
            steps, about = (*config.steps, "volumes"), files.name
            problems.append(config.source.problem(steps, message, severity="warning", key=True, about=about))
        else:
            chosen, texts = files.name, files.data
            volumes.append(volume["name"])
    return Delivered(texts, volumes)


def _refused(files: ConfigFiles, chosen: str) -> str:
    if chosen not in ("", files.name):
        return f"a template can have only one ConfigMap, and this template already uses {chosen}"
    if files.binary:
        return "it has binaryData"
    if not files.data:
        return "there is nothing in it"
    for name, text in files.data.items():
        if not FILE.match(name) or name in (".", "..", MANIFEST) or "\r" in text:
            return f"a template cannot have the file {name}: its name is not allowed, or it contains a carriage return"
    return ""


def unused(config_maps: Iterable[ConfigFiles], sidecars: Iterable[Sidecar]) -> list[Diagnostic]:
    """A warning for each ConfigMap that is neither a config nor a sidecar's."""
    names = {mapping(v.get("configMap")).get("name") for s in sidecars for v in s.spec.get("volumes", ())}
    message = "holds no sidecar config and is not mounted by one, so it is ignored"
    return [
        files.source.problem(files.steps, f"ConfigMap {files.name} {message}", severity="warning")
        for files in config_maps
        if files.name not in names
    ]
