"""A sidecar as an overlay: the values, and the text of overlay.yaml.j2 that renders exactly them."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable
from typing import Any

from injector.authoring.importing.sidecar import Sidecar
from injector.pods.context import Object
from injector.pods.overlay import EVERY_CONTAINER
from injector.templates.yaml_writer import dump

#: What begins a hole, a tag or a comment of Jinja.
_OPENING = re.compile(r"\{(?=[{%#])")
#: A line of YAML whose value is a text in double quotes: what is before it, and the text.
_QUOTED = re.compile(r'((?: *- )* *(?:(?:[A-Za-z0-9_./@-]+|"(?:[^"\\]|\\.)*"): )?)("(?:[^"\\]|\\.)*")\Z')
_FILES = "imported-config-files"


def sidecar_containers(sidecar: Sidecar, field: str) -> list[Object]:
    """The config's containers with what all containers get: variables by name, mounts by volume."""
    return [_with_all(container, sidecar) for container in sidecar.spec.get(field, ())]


def overlay_of(sidecar: Sidecar) -> Object:
    """The overlay as plain values, but for the service account, which depends on the pod."""
    spec = dict(sidecar.spec)
    every = {key: value for key, value in (("env", sidecar.env), ("volumeMounts", sidecar.mounts)) if value}
    for field in ("initContainers", "containers"):
        patch = [{"name": EVERY_CONTAINER, **every}] if every else []
        if containers := [*patch, *sidecar_containers(sidecar, field)]:
            spec[field] = containers
    return {**({"metadata": sidecar.metadata} if sidecar.metadata else {}), **({"spec": spec} if spec else {})}


def overlay_text(sidecar: Sidecar, delivered: Collection[str] = ()) -> str:
    """The text of overlay.yaml.j2. `delivered` are the volumes whose files are the template's own."""
    overlay = overlay_of(sidecar)
    if delivered:
        overlay["spec"]["volumes"] = [_delivered(v, delivered) for v in overlay["spec"]["volumes"]]
    text = _escaped(_readable(dump(overlay) if overlay else ""))
    text = text.replace(f"name: {_FILES}\n", 'name: "{{ files.configmap }}"\n')
    return text + _service_account(sidecar)


def _service_account(sidecar: Sidecar) -> str:
    """Every pod has the service account `default` before a webhook sees it; any other is its author's."""
    if not sidecar.service_account:
        return ""
    head = "" if sidecar.spec or sidecar.env or sidecar.mounts else "spec:\n"
    return (
        f'{head}{{% if object.spec.serviceAccountName | default("default") in ["", "default"] %}}\n'
        f"  serviceAccountName: !replace {_escaped(dump(sidecar.service_account)).strip()}\n{{% endif %}}\n"
    )


def _with_all(container: Object, sidecar: Sidecar) -> Object:
    own = {item.get("name") for item in container.get("env", ())}
    mounted = {item.get("name") for item in container.get("volumeMounts", ())}
    env = [*container.get("env", ()), *(item for item in sidecar.env if item.get("name") not in own)]
    mounts = [*container.get("volumeMounts", ()), *(m for m in sidecar.mounts if m.get("name") not in mounted)]
    return {**container, **({"env": env} if env else {}), **({"volumeMounts": mounts} if mounts else {})}


def _delivered(volume: Object, delivered: Collection[str]) -> Object:
    if volume["name"] not in delivered:
        return volume
    return {**volume, "configMap": {**volume["configMap"], "name": _FILES}}


def _escaped(text: str) -> str:
    """A text that Jinja writes as it stands. Only strings have such braces: mappings are written in blocks."""
    return _OPENING.sub('{{ "{" }}', text)


def _readable(text: str) -> str:
    """YAML with texts of several lines, such as scripts, as blocks."""
    return "".join(_lines(text.splitlines(keepends=False)))


def _lines(lines: Iterable[str]) -> Iterable[str]:
    for line in lines:
        found = _QUOTED.match(line)
        block = _block(json.loads(found[2])) if found and "\\n" in found[2] else None
        if found is None or block is None:
            yield f"{line}\n"
            continue
        mark, parts = block
        key = re.match(r"(?: *- )* *", found[1])
        indent = " " * ((len(key[0]) if key else 0) + (0 if found[1].rstrip().endswith("-") else 2))
        yield f"{found[1]}{mark}\n"
        yield from (f"{indent}{part}\n" if part else "\n" for part in parts)


def _block(text: str) -> tuple[str, list[str]] | None:
    """How a text is written as a literal block: its mark and lines; None for one that is better quoted."""
    lines = text.split("\n")
    mark = "|" if text.endswith("\n") else "|-"
    body = lines[:-1] if mark == "|" else lines
    plain = all(line.isprintable() and not line.endswith(" ") for line in body)
    if not plain or not body[0] or body[0].startswith(" ") or not body[-1] or len(body) < 2:
        return None
    return mark, body


def value_text(value: Any) -> str:
    """Any value as YAML, with blocks."""
    return _readable(dump(value))
