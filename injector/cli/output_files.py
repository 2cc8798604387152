"""Files and folders that a command makes: whole or not there, and never over something that is."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from injector.authoring.scaffold import ScaffoldError
from injector.loading.template_folders import has_manifest


def write_file(file: Path, data: bytes, mode: int) -> None:
    """Write a file whole or not at all. Raises OSError."""
    part = file.with_name(f".{file.name}.{os.getpid()}")
    # Created with its mode: a key that is made private later was public for a moment.
    with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as opened:
        opened.write(data)
    part.replace(file)


def refuse_taken(folder: Path, what_to_do: str, *, overwrite: bool = False) -> None:
    """Refuse a place where something is; with `overwrite`, unless it is a template's folder. Raises ScaffoldError."""
    try:
        taken = folder.is_symlink() or (folder.exists() and (not folder.is_dir() or any(folder.iterdir())))
        if taken and not (overwrite and not folder.is_symlink() and has_manifest(folder)):
            more = " and is not a template" if overwrite else " and is not empty"
            raise ScaffoldError(f"{folder} already exists{more}; {what_to_do}")
    except OSError as error:
        raise ScaffoldError(f"{folder}: {error.strerror}") from None


def write_folder(folder: Path, files: Mapping[str, str], *, overwrite: bool = False) -> None:
    """All files by their path, or none: what was written before one failed is taken away again.

    With `overwrite` files of these paths are replaced, and links are not followed. Raises ScaffoldError.
    """
    was_there = folder.exists()
    try:
        for path, text in files.items():
            file = folder / path
            file.parent.mkdir(parents=True, exist_ok=True)
            if overwrite:
                file.unlink(missing_ok=True)
            with file.open("x", encoding="utf-8", newline="\n") as stream:
                stream.write(text)
    except OSError as error:
        if not was_there:
            shutil.rmtree(folder, ignore_errors=True)
        raise ScaffoldError(f"{error.filename or folder}: {error.strerror}") from None
