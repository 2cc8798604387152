"""The shipped templates as they passed their trial and were compiled when the injector was installed.

`python -m injector.loading.shipped` tries and compiles the gallery, and keeps the result beside this module, a file for
each template. So no start and no command does that again. Whoever can write there can change the code as
well, so what is kept is as good as the code. A template that is not there is tried at each start.
"""

from __future__ import annotations

import pickle
import sys
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cache
from hashlib import sha256
from importlib.util import MAGIC_NUMBER
from pathlib import Path

import jinja2

from injector import __version__
from injector.diagnostics import Diagnostic
from injector.errors import TemplateError
from injector.loading.template_folders import gallery_path, read_gallery
from injector.loading.trial import load_within_limits, try_templates
from injector.templates.load import TemplateSources, load_template
from injector.templates.template import Template

_ROOM = Path(__file__).resolve().parent
_KEPT = _ROOM / "shipped"
#: The libraries that decide what a template does, as their folders of metadata begin.
#: https://packaging.python.org/en/latest/specifications/recording-installed-packages/
_LIBRARIES = ("google_re2-", "jinja2-", "markupsafe-", "msgspec-", "pyyaml-")


def load_shipped(name: str, sources: Mapping[str, str], origin: str = "") -> Template:
    """What `load_within_limits` gives, at once for a template that is kept."""
    try:
        template: Template = pickle.loads(_file(name, sources).read_bytes())  # noqa: S301  see above
    except OSError:
        return load_within_limits(name, sources, origin)
    return replace(template, origin=origin)


def try_new(
    sources: TemplateSources, origins: Mapping[str, str], warnings: list[Diagnostic] | None = None
) -> dict[str, TemplateError]:
    """`try_templates` for those of the templates that are not kept."""
    return try_templates(untried(sources), origins, warnings)


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
