"""Folders of templates, as the commands for authors are given them."""

from __future__ import annotations

from pathlib import Path

from injector.templates.spelling import nearest
from injector.templates.template import MANIFEST, OVERLAY


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

    Raises OSError where it cannot be read.
    """
    if is_template(folder):
        return [folder]
    return sorted(inner for inner in folder.iterdir() if is_template(inner) and not inner.name.startswith("."))


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
