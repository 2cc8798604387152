"""Files and folders that a command makes: whole or not there, and never over something that is."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from injector.errors import InjectorError
from injector.loading.template_folders import has_manifest


class ScaffoldError(InjectorError):
    """The template cannot be made: its name is not valid, or the original cannot be copied."""


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


def write_within(folder: Path, files: Mapping[str, bytes], *, follow: bool = True) -> None:
    """Write files of a template by their path within its folder: all or none. A file that is there keeps its mode.

    Where a file is a link to another one of the folder, that one is written; without `follow` the link is replaced.
    Raises OSError, also for a path that leads out of the folder.
    """
    contents, home = {}, folder.resolve()
    for name, data in files.items():
        file = (home / name).parent.resolve() / Path(name).name
        file = file.resolve() if follow else file
        if not file.is_relative_to(home):
            message = (
                "it is a link that leads out of the folder, or is in one; replace it with an ordinary file or folder"
            )
            raise OSError(errno.ELOOP, message, str(folder / name))
        file.parent.mkdir(parents=True, exist_ok=True)
        contents[file] = data, file.stat().st_mode & 0o7777 if file.exists() else 0o666
    write_files(contents)


def write_folder(folder: Path, files: Mapping[str, str]) -> None:
    """Write all files of a new template by their path, or none. Links in its place are not followed.

    Raises ScaffoldError.
    """
    was_there = folder.exists()
    try:
        write_within(folder, {path: text.encode() for path, text in files.items()}, follow=False)
    except OSError as error:
        if not was_there:
            shutil.rmtree(folder, ignore_errors=True)
        raise ScaffoldError(f"{error.filename or folder}: {error.strerror}") from None
