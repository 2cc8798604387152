"""The gallery that a cluster keeps, so that another image of the injector changes nobody's sidecar.

A template that the image has with other content than the kept gallery is the next version of the kept one, for the
stage of the ConfigMap in which the gallery is kept. Templates of the image alone are there at once, those of the kept
gallery alone stay.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import NamedTuple

from injector import __version__
from injector.errors import TemplateError
from injector.loading.shipped import load_shipped
from injector.templates.load import TemplateSources, relevant_sources
from injector.templates.manifest import Manifest
from injector.templates.snapshot import Trial
from injector.templates.template import MANIFEST, METADATA, Stage, Template, percent
from injector.templates.versions import base_of, share_of

#: What the next versions are called behind the name of the template: a template's name has no dots.
_RELEASE = __version__.replace(".", "-").replace("+", "-")


class Gallery(NamedTuple):
    """The sources of a gallery in use, and `loaded` templates that need not be loaded any more: those that are kept and
    not as the image has them, and the image's that are their next versions. `problems` says what cannot be used.
    """

    sources: TemplateSources
    loaded: tuple[Template, ...] = ()
    problems: tuple[str, ...] = ()


def gallery_data(shipped: TemplateSources) -> dict[str, str]:
    """The data of a ConfigMap that keeps a gallery: what decides what its templates do, by `NAME.FILE`."""
    files = {name: relevant_sources(sources) for name, sources in shipped.items()}
    return {f"{name}.{file}": text for name, texts in files.items() for file, text in texts.items()}


def gallery_in_use(
    shipped: TemplateSources, kept: Mapping[str, str] | None, origin: str, trial: Trial | None = None
) -> Gallery:
    """The image's gallery, behind the kept one where there is one: the ConfigMap's data, with its stage as `METADATA`.

    `trial` tries kept templates of other content before they are loaded. The image's stands in for one that fails.
    """
    by_name: dict[str, dict[str, str]] = {}
    for key, text in (kept or {}).items():
        name, _, file = key.partition(".")
        by_name.setdefault(name, {})[file] = text
    stage = json.loads(by_name.pop(METADATA, {"": "{}"})[""]).get("stage", "")
    changed = {n: files for n, files in by_name.items() if files != relevant_sources(shipped.get(n, {}))}
    failed = trial(changed, dict.fromkeys(changed, origin)) if trial and changed else {}
    loaded, versions, problems = {}, [], []
    for name, files in changed.items():
        try:
            if name in failed:
                raise failed[name]
            loaded[name] = load_shipped(name, files, origin)
        except TemplateError as error:
            problems.append(f"the image's {name} stands in for the kept one: {error}")
    share = 0
    try:
        share = _share_here(stage)
    except ValueError as error:
        problems.append(f"the stage is taken for 0%: {error}")
    for name in sorted(loaded.keys() & shipped.keys()):
        new, stated = load_shipped(name, shipped[name]), {"version-of": name, "stage": percent(share)}
        if not (new.why_not_injected or loaded[name].why_not_injected):
            sources, own_name = {METADATA: json.dumps(stated), **new.sources}, f"{name}-{_RELEASE}"
            versions.append(replace(new, own_name=own_name, sources=sources, stage=Stage(share)))
    sources_in_use = {**shipped, **{name: template.sources for name, template in loaded.items()}}
    return Gallery(sources_in_use, (*loaded.values(), *versions), tuple(problems))


def _share_here(stage: str) -> int:
    """The share that a stage such as `0.3.0:10%` gives to this release: of another release it says nothing.

    So what is said of one release is not yet said of the next. Raises ValueError for a stage that is none.
    """
    release, colon, share = stage.rpartition(":")
    hundredths = share_of(share) if stage else 0
    if hundredths and not colon:
        raise ValueError(f"{stage} is of no release; write {__version__}:{stage}")
    return hundredths if release == __version__ else 0


def with_own(gallery: Gallery, own: TemplateSources) -> dict[str, Mapping[str, str]]:
    """The sources of a snapshot: those of a gallery, and of one's `own` templates, which replace the same names.

    An own template, or an own next version, goes before the next version that the image has.
    """
    replaced = {*own, *(_base(name, files) for name, files in own.items())}
    versions = {t.own_name: t.sources for t in gallery.loaded if t.stage is not None and t.name not in replaced}
    return {**gallery.sources, **versions, **own}


def _base(name: str, files: Mapping[str, str]) -> str:
    """The template that a template is the next version of; "" for none, and where its manifest is wrong."""
    if any("version-of" in files.get(file, "") for file in (MANIFEST, METADATA)):
        with suppress(TemplateError, KeyError):
            return base_of(Manifest(name, files), name)
    return ""
