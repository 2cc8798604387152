"""Files and folders that a command makes: whole or not there, and never over something that is."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from injector.authoring.scaffold import ScaffoldError
from injector.loading.template_folders import has_manifest


def write_files(files: Mapping[Path, tuple[bytes, int]]) -> None:
    """Write files, by their content and mode: all or, if one cannot be written, none. Raises OSError that names it."""
    parts = {}
    file = Path()
    try:
        for file, (data, mode) in files.items():
            part = file.with_name(f".{file.name}.{os.getpid()}")
            # Created with its mode: a key that is made private later was public for a moment.
            descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
            parts[part] = file
            with os.fdopen(descriptor, "wb") as opened:
                opened.write(data)
        for part, file in parts.items():
            part.replace(file)
    except OSError as error:
        raise OSError(error.errno, error.strerror or str(error), str(file)) from None
    finally:
        for part in parts:
            part.unlink(missing_ok=True)


def refuse_taken(folder: Path, what_to_do: str, *, overwrite: bool = False) -> None:
    """Refuse a place where something is; with `overwrite`, unless it is a template's folder. Raises ScaffoldError."""
    try:
        occupied = folder.is_symlink() or (folder.exists() and (not folder.is_dir() or any(folder.iterdir())))
        if occupied and not (overwrite and not folder.is_symlink() and has_manifest(folder)):
            more = " and is not a template" if overwrite else " and is not empty"
            raise ScaffoldError(f"{folder} already exists{more}; {what_to_do}")
    except OSError as error:
        raise ScaffoldError(f"{folder}: {error.strerror}") from None


def write_folder(folder: Path, files: Mapping[str, str], *, overwrite: bool = False) -> None:
    """All files by their path, or none: what was written before one failed is taken away again.

    With `overwrite` files of these paths are replaced, and links are not followed: a folder within that is one is
    refused. Raises ScaffoldError.
    """
    was_there = folder.exists()
    try:
        for parent in sorted({(folder / path).parent for path in files} - {folder}):
            if parent.resolve() != folder.resolve() / parent.relative_to(folder):
                raise ScaffoldError(f"{parent} is a link; remove it, so that nothing is written elsewhere")
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
