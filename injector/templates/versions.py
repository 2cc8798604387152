"""Next versions of templates: of which one each is, and whose pods get it, drawn from the names of their workload.

The pods of a workload agree, replicas of the injector agree, and what reads a manifest agrees with the webhook. A
larger share has every workload of a smaller one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from hashlib import sha256
from typing import Final

from injector.diagnostics import Diagnostic, Place, Severity
from injector.names import is_dns_label, respelling, shortened, suggestion
from injector.pods.context import Workload
from injector.templates.kubernetes_yaml import YAMLError, compose, index, load_manifest
from injector.templates.manifest import Manifest
from injector.templates.template import MANIFEST, VERSION_KEYS, WHOLE, Stage, Template

_STAGE_KEYS: Final = ("share", "namespaces", "selector")
_VERSION_LINES: Final = re.compile(
    rf"""^["']?(?:{"|".join(VERSION_KEYS)})["']?\s*:.*\n?(?:(?:[ \t]*(?:\#.*)?\n)*[ \t]+[^\#\s].*\n?)*""", re.MULTILINE
)
_SHARE: Final = re.compile(r"([0-9]{1,2})(?:\.([0-9]{1,2}))?%|(100)%")


def base_of(manifest: Manifest, own_name: str) -> str:
    """The template that a manifest is the next version of; "" for none. Raises TemplateError."""
    name = manifest.text("version-of")
    if name == own_name or (name and not is_dns_label(name)):
        manifest.refuse(("version-of",), f"version-of is {shortened(name)}; it has to be another template's name")
    return name


def stage_of(manifest: Manifest) -> Stage | None:
    """Whose pods get a next version: nobody's where its `stage` does not say; None for a template that is none.

    Raises TemplateError.
    """
    value = manifest.value("stage")
    if not manifest.value("version-of"):
        if value is not None:
            manifest.refuse(("stage",), "only the next version of a template has a stage: add `version-of`")
        return None
    parts, path = (value, ("stage", "share")) if isinstance(value, dict) else ({"share": value or "0%"}, ("stage",))
    for key in parts:
        if key not in _STAGE_KEYS:
            help_, near = suggestion(str(key), _STAGE_KEYS), respelling(str(key), _STAGE_KEYS)
            manifest.refuse(("stage", key), f"unknown key {shortened(key)}", help_=help_, fields=near)
    selectors = [manifest.selector("stage", key) if key in parts else None for key in ("namespaces", "selector")]
    try:
        return Stage(share_of(parts.get("share", "100%")), *selectors)
    except ValueError as error:
        manifest.refuse(path, f"stage: {error}")


def share_of(text: object) -> int:
    """The hundredths of a percent that `10%` or `0.5%` says. Raises ValueError for what is no percentage to 100."""
    match = _SHARE.fullmatch(text) if isinstance(text, str) else None
    if match is None:
        raise ValueError(f"{shortened(text)} is not a percentage from 0% to 100%, such as 10%")
    return WHOLE if match[3] else int(match[1]) * 100 + int((match[2] or "").ljust(2, "0"))


def draw(template: str, namespace: str, workload: Workload) -> int:
    """Where a workload stands from 0 to `WHOLE`, evenly; a stage with a larger share than this has it.

    Each template draws for itself, so that not the same workloads go first with every one.
    """
    name = f"{template}/{namespace}/{workload.kind}/{workload.name}"
    return int.from_bytes(sha256(name.encode("utf-8", "surrogatepass")).digest()[:8]) * WHOLE >> 64


def without_version(text: str) -> str:
    """The text of a template.yaml without `VERSION_KEYS`: as it is once it replaces the other template.

    A comment or an empty line behind their values belongs to what follows. As it is where it says anything else without
    them, as where another key refers to an anchor in them; so two texts with one result say the same.
    """
    if not _VERSION_LINES.search(text):
        return text
    pairs = getattr(compose(text), "value", ())
    keys = {index(text, key.start_mark) for key, _ in pairs if key.value in VERSION_KEYS}
    rest = _VERSION_LINES.sub(lambda lines: "" if lines.start() in keys else lines[0], text)
    with suppress(YAMLError):
        if load_manifest(rest) == {key: v for key, v in load_manifest(text).items() if key not in VERSION_KEYS}:
            return rest
    return text


def version_problems(templates: Iterable[Template]) -> Iterator[Diagnostic]:
    """What keeps a template from being the next version of another, and in what it is none; `fields.template` is it."""
    by_name = {template.own_name: template for template in templates}
    first: dict[str, str] = {}
    for version in sorted((t for t in by_name.values() if t.stage is not None), key=lambda t: t.own_name):
        base, other = by_name.get(version.name), first.setdefault(version.name, version.own_name)
        severity: Severity = "error"
        gone: list[str] = []
        if base is not None and base.why_not_injected:
            code, message = "manifest", f"{base.name} has no next version, because {base.why_not_injected}"
        elif other != version.own_name:
            code, message = "manifest", f"{other} is the next version of {version.name} already; there is one at a time"
        elif base is not None and base.stage is not None:
            code, message = "manifest", f"{base.own_name} is a next version itself, so it has none"
        elif base is None:
            code, severity = "version-without-template", "warning"
            message = f"there is no template {version.name}, so its next version stands in for it"
        elif gone := sorted(base.parameters.keys() - version.parameters.keys()):
            code, severity = "version-lacks-parameter", "warning"
            message = f"pods may set parameters of {version.name} that its next version lacks: {', '.join(gone)}"
        else:
            continue
        fields = {"template": version.own_name, "base": version.name, "other": other, "parameters": gone}
        place = Place(MANIFEST, origin=version.origin or version.own_name)
        yield Diagnostic(code, severity, message, path=("version-of",), place=place, fields=fields)
