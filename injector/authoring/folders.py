"""Folders of templates, as the commands for authors are given them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from injector.templates.spelling import nearest
from injector.templates.template import MANIFEST, OVERLAY

#: How many levels below a folder templates are looked for.
_DEPTH = 3


def has_manifest(folder: Path) -> bool:
    """Whether there is a template.yaml in a folder; of what cannot be a folder at all it is no."""
    try:
        return (folder / MANIFEST).is_file()
    except OSError:  # a name that is too long
        return False


def is_template(folder: Path) -> bool:
    """Whether a folder is meant for a template: one of its two files may be missing, which is told then."""
    return (folder / MANIFEST).is_file() or (folder / OVERLAY).is_file()


def templates_of(folder: Path) -> list[Path]:
    """The folder itself where it is a template; otherwise the templates in it, sorted, without hidden ones.

    Also those in folders within, such as `policies/labels`, down to `_DEPTH`. Raises OSError where the folder itself
    cannot be read.
    """
    if is_template(folder):
        return [folder]
    return sorted(_within(list(folder.iterdir()), _DEPTH - 1))


def _within(entries: Iterable[Path], deeper: int) -> Iterator[Path]:
    """The templates among some files and folders, and in these so many levels deeper."""
    for entry in entries:
        if entry.name.startswith(".") or not entry.is_dir():
            continue
        if is_template(entry):
            yield entry
        elif deeper:
            with suppress(OSError):  # a folder of somebody else's is not what was asked for
                yield from _within(list(entry.iterdir()), deeper - 1)


def no_manifest(folder: Path) -> str:
    """That a folder is no template, in words: with the name of the file that may have been meant for its manifest."""
    try:
        near = nearest(MANIFEST, [file.name for file in folder.iterdir()])
    except OSError as error:
        return "there is no such folder" if not isinstance(error, PermissionError) else "it cannot be read"
    return f"no {MANIFEST}, but {near}" if near else f"no {MANIFEST}"


def no_templates(folder: Path) -> str:
    """That a folder neither is a template nor holds one, in words."""
    return f"neither a template ({no_manifest(folder)}) nor a folder of templates"
