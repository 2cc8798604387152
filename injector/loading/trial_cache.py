"""Which shipped templates passed their trial when the injector was installed, so that no start tries them again.

`python -m injector.loading.trial_cache` tries the gallery and writes the list beside this module. Whoever can write
there can change the code as well, so the list is as good as the code. What is not on it is tried at each start.
"""

from __future__ import annotations

import platform
import sys
from collections.abc import Iterable, Mapping
from functools import cache
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import msgspec

from injector import __version__
from injector.errors import TemplateError
from injector.loading.template_folders import gallery_path, read_gallery
from injector.loading.trial import try_templates
from injector.templates.load import TemplateSources

_ROOM = Path(__file__).resolve().parent
_FILE = _ROOM / "trial_cache.json"
#: The libraries that decide what a template does.
_LIBRARIES = ("google-re2", "jinja2", "markupsafe", "msgspec", "pyyaml")


def try_new(sources: TemplateSources, origins: Mapping[str, str]) -> dict[str, TemplateError]:
    """`try_templates` for those of the templates that are not on the list."""
    return try_templates(untried(sources), origins)


def untried(sources: TemplateSources) -> dict[str, Mapping[str, str]]:
    """Those of the templates, given as their sources by name, that are not on the list."""
    passed = _passed()
    return {name: files for name, files in sources.items() if not passed or _digest(name, files) not in passed}


def _passed() -> frozenset[str]:
    try:
        return frozenset(msgspec.json.decode(_FILE.read_bytes(), type=list[str]))
    except (OSError, msgspec.MsgspecError):
        return frozenset()


def _digest(name: str, files: Mapping[str, str]) -> str:
    content = sha256(_versions())
    for part in (name, *(text for file in sorted(files) for text in (file, files[file]))):
        data = part.encode("utf-8", "surrogatepass")
        content.update(b"%d:" % len(data) + data)
    return content.hexdigest()


@cache
def _versions() -> bytes:
    """Python, the injector with the code that loads and renders, and the libraries; a patch release of Python is the
    same Python.
    """
    major, minor, _ = platform.python_version_tuple()
    names = [platform.python_implementation(), major, minor, __version__]
    names += [f"{library} {_version(library)}" for library in _LIBRARIES]
    code = sha256()
    for file in sorted((*_ROOM.glob("*.py"), *(_ROOM.parent / "templates").glob("*.py"))):
        code.update(file.read_bytes())
    return "\n".join((*names, code.hexdigest())).encode()


def _version(library: str) -> str:
    try:
        return version(library)
    except PackageNotFoundError:
        return ""


def keep(sources: TemplateSources) -> Iterable[str]:
    """Try templates and write the list of those that passed; return what is wrong with the others."""
    failed = try_templates(sources)
    passed = sorted(_digest(name, files) for name, files in sources.items() if name not in failed)
    _FILE.write_bytes(msgspec.json.format(msgspec.json.encode(passed)))
    return [str(one) for error in failed.values() for one in error.all]


if __name__ == "__main__":
    _wrong = keep(read_gallery(gallery_path()))
    print("\n".join(_wrong), file=sys.stderr, end="\n" if _wrong else "")
    sys.exit(bool(_wrong))
