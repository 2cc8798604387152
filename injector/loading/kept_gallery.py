"""The gallery that a cluster uses: kept there, so that another image of the injector changes nobody's sidecar.

A template that the image has with other content than the kept gallery is the next version of the kept one, for the
stage of the ConfigMap in which the gallery is kept. Templates of the image alone are there at once, those of the kept
gallery alone stay.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from types import MappingProxyType
from typing import NamedTuple

from injector import __version__
from injector.errors import TemplateError
from injector.loading.shipped import load_shipped, try_new
from injector.templates.load import TemplateSources, relevant_sources
from injector.templates.manifest import Manifest
from injector.templates.template import MANIFEST, METADATA
from injector.templates.versions import base_of, share_of

#: What the next versions are called behind the name of the template: a template's name has no dots.
_RELEASE = __version__.replace(".", "-").replace("+", "-")


class Gallery(NamedTuple):
    """The templates of a gallery in use, and by their names the image's that are next versions of them.

    `kept` are those that are not as the image has them, `problems` says what could not be used.
    """

    templates: TemplateSources
    versions: TemplateSources = MappingProxyType({})
    kept: frozenset[str] = frozenset()
    problems: tuple[str, ...] = ()


def version_name(template: str) -> str:
    """The own name of the image's next version of a kept template."""
    return f"{template}-{_RELEASE}"


def gallery_data(shipped: TemplateSources) -> dict[str, str]:
    """The data of a ConfigMap that keeps a gallery: what decides what its templates do, by `NAME.FILE`."""
    files = {name: relevant_sources(sources) for name, sources in shipped.items()}
    return {f"{name}.{file}": text for name, texts in files.items() for file, text in texts.items()}


def gallery_in_use(shipped: TemplateSources, kept: Mapping[str, str] | None) -> Gallery:
    """The image's gallery, behind the kept one where there is one: the ConfigMap's data, with its stage as `METADATA`.

    Kept templates of other content are tried. One that fails is left out, and the image's is used.
    """
    if kept is None:
        return Gallery(shipped)
    kept_sources: dict[str, dict[str, str]] = {}
    for key, text in kept.items():
        name, _, file = key.partition(".")
        kept_sources.setdefault(name, {})[file] = text
    kept_sources.pop(METADATA, None)
    changed = {n: files for n, files in kept_sources.items() if files != relevant_sources(shipped.get(n, {}))}
    failed = try_new(changed, {})
    problems = [f"the kept template {name} is not used: {error}" for name, error in failed.items()]
    used = {name: files for name, files in changed.items() if name not in failed}
    stage = json.loads(kept.get(METADATA, "{}")).get("stage", "0%")
    try:
        share_of(stage)
    except ValueError as error:
        problems.append(f"the stage of the kept gallery counts as 0%: {error}")
        stage = "0%"
    versions = {
        name: {**shipped[name], METADATA: json.dumps({"version-of": name, "stage": stage})}
        for name in sorted(used.keys() & shipped.keys())
        if not any(load_shipped(name, files).why_not_injected for files in (used[name], shipped[name]))
    }
    return Gallery({**shipped, **used}, versions, frozenset(used), tuple(problems))


def with_own(gallery: Gallery, own: TemplateSources) -> dict[str, Mapping[str, str]]:
    """The sources of a snapshot: those of a gallery, and of one's `own` templates, which replace the same names.

    An own template, or an own next version, goes before the next version that the image has.
    """
    replaced = {*own, *(_base(name, files) for name, files in own.items())}
    versions = {version_name(n): files for n, files in gallery.versions.items() if n not in replaced}
    return {**gallery.templates, **versions, **own}


def try_own(gallery: Gallery, sources: TemplateSources, origins: Mapping[str, str]) -> dict[str, TemplateError]:
    """`try_new` for those of a snapshot's sources that are not the gallery's, which were tried before."""
    tried = {n: gallery.templates[n] for n in gallery.kept} | {version_name(n): f for n, f in gallery.versions.items()}
    return try_new({name: files for name, files in sources.items() if tried.get(name) is not files}, origins)


def _base(name: str, files: Mapping[str, str]) -> str:
    """The template that a template is the next version of; "" for none, and where its manifest is wrong."""
    if any("version-of" in files.get(file, "") for file in (MANIFEST, METADATA)):
        with suppress(TemplateError, KeyError):
            return base_of(Manifest(name, files), name)
    return ""
