"""The shipped templates as they passed their trial and were compiled when the injector was installed.

`python -m injector.loading.shipped` tries and compiles the gallery, and keeps the result beside this module, a file for
each template. So no start and no command does that again. Whoever can write there can change the code as
well, so what is kept is as good as the code. A template that is not there is tried at each start.

A cluster keeps the gallery that it uses, so that another image of the injector changes nobody's sidecar. A template
that the image has with other content than the kept gallery is the next version of the kept one, for the stage of the
ConfigMap in which the gallery is kept. Templates of the image alone are there at once, those of the kept gallery alone
stay.
"""

from __future__ import annotations

import json
import pickle
import sys
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import cache
from hashlib import sha256
from importlib.util import MAGIC_NUMBER
from pathlib import Path
from typing import NamedTuple

import jinja2

from injector import __version__
from injector.errors import TemplateError
from injector.loading.template_folders import gallery_path, read_gallery
from injector.loading.trial import load_within_limits, try_templates
from injector.templates.load import TemplateSources, load_template, relevant_sources
from injector.templates.manifest import Manifest
from injector.templates.snapshot import Trial
from injector.templates.template import MANIFEST, METADATA, Stage, Template
from injector.templates.versions import base_of, share_of

_ROOM = Path(__file__).resolve().parent
_KEPT = _ROOM / "shipped"
#: The libraries that decide what a template does, as their folders of metadata begin.
#: https://packaging.python.org/en/latest/specifications/recording-installed-packages/
_LIBRARIES = ("google_re2-", "jinja2-", "markupsafe-", "msgspec-", "pyyaml-")
#: What the next versions are called behind the name of the template: a template's name has no dots.
_RELEASE = __version__.replace(".", "-").replace("+", "-")


def load_shipped(name: str, sources: Mapping[str, str], origin: str = "") -> Template:
    """What `load_within_limits` gives, at once for a template that is kept."""
    try:
        template: Template = pickle.loads(_file(name, sources).read_bytes())  # noqa: S301  see above
    except OSError:
        return load_within_limits(name, sources, origin)
    return replace(template, origin=origin)


def try_new(sources: TemplateSources, origins: Mapping[str, str]) -> dict[str, TemplateError]:
    """`try_templates` for those of the templates that are not kept."""
    return try_templates(untried(sources), origins)


def untried(sources: TemplateSources) -> dict[str, Mapping[str, str]]:
    """Those of the templates, given as their sources by name, that are not kept."""
    return {name: files for name, files in sources.items() if not _file(name, files).is_file()}


def keep(sources: TemplateSources) -> Iterable[str]:
    """Try templates and keep those that pass, instead of what was kept before; return what is wrong with the others."""
    failed = try_templates(sources)
    _KEPT.mkdir(exist_ok=True)
    old = set(_KEPT.iterdir())
    for name, files in sources.items():
        if name not in failed:
            file = _file(name, files)
            new = file.with_suffix(".new")
            new.write_bytes(pickle.dumps(load_template(name, files), pickle.HIGHEST_PROTOCOL))
            new.replace(file)
            old.discard(file)
    for file in old:
        file.unlink(missing_ok=True)
    return [str(mistake) for error in failed.values() for mistake in error.all]


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
    stage = json.loads(by_name.pop(METADATA, {"": "{}"})[""]).get("stage", "0%")
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
    try:
        share = share_of(stage)
    except ValueError as error:
        share, stage = 0, "0%"
        problems.append(f"the stage is taken for 0%: {error}")
    for name in sorted(loaded.keys() & shipped.keys()):
        new, stated = load_shipped(name, shipped[name]), {"version-of": name, "stage": stage}
        if not (new.why_not_injected or loaded[name].why_not_injected):
            sources, own_name = {METADATA: json.dumps(stated), **new.sources}, f"{name}-{_RELEASE}"
            versions.append(replace(new, own_name=own_name, sources=sources, stage=Stage(share)))
    sources_in_use = {**shipped, **{name: template.sources for name, template in loaded.items()}}
    return Gallery(sources_in_use, (*loaded.values(), *versions), tuple(problems))


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


def _file(name: str, files: Mapping[str, str]) -> Path:
    content = sha256(_versions())
    for part in (name, *(text for file in sorted(files) for text in (file, files[file]))):
        data = part.encode("utf-8", "surrogatepass")
        content.update(b"%d:" % len(data) + data)
    return _KEPT / f"{content.hexdigest()}.pickle"


@cache
def _versions() -> bytes:
    """What must be the same for a kept file to be used: Python's bytecode, the injector's code, the libraries."""
    installed = sorted(p.name for p in Path(jinja2.__file__).parents[1].glob("*.dist-info"))
    libraries = [name for name in installed if name.lower().startswith(_LIBRARIES)]
    code = sha256(MAGIC_NUMBER)
    for file in sorted((*_ROOM.glob("*.py"), *(_ROOM.parent / "templates").glob("*.py"))):
        code.update(file.read_bytes())
    return "\n".join((sys.implementation.name, __version__, *libraries, code.hexdigest())).encode()


if __name__ == "__main__":
    _mistakes = keep(read_gallery(gallery_path()))
    print("\n".join(_mistakes), file=sys.stderr, end="\n" if _mistakes else "")
    sys.exit(bool(_mistakes))
