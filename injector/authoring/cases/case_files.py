"""Files of a template's folder `tests`: ordinary ones, of a size that somebody wrote, and within that folder."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path, PurePosixPath
from typing import BinaryIO, cast

#: Bytes that a file may have. A cluster's largest object has 3 MiB.
LARGEST = 4 * 1024 * 1024


def read_within(folder: Path, name: str) -> str:
    """The text of a file of a template's folder, `name` its path within.

    A link may lead to another file of the template. Raises ValueError saying what is wrong: it leads out of the folder,
    is not there, is no ordinary file, is too large, or is no UTF-8.
    """
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or "\0" in name:
        raise ValueError("is not within the folder; name a file beside the case file")
    try:
        home, file = folder.resolve(), (folder / name).resolve()
        if not file.is_relative_to(home):
            raise ValueError("is a link that leads out of the template's folder; copy the file")
        # what is no ordinary file is not waited for, as one would for a pipe
        descriptor = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW)
        with _ordinary(descriptor) as stream:
            data = stream.read(LARGEST + 1)
    except (OSError, RuntimeError) as error:
        raise ValueError(f"cannot be read: {_why(error)}") from None
    if len(data) > LARGEST:
        raise ValueError(f"is larger than {LARGEST // 1024 // 1024} MiB")
    try:
        return data.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError as error:
        raise ValueError(f"is not UTF-8 text (byte {error.start})") from None


def write_within(folder: Path, name: str, text: str) -> None:
    """Write a file of a template's folder, `name` its path within. Never through a link, nor outside.

    Raises ValueError saying why not.
    """
    file = folder / name
    try:
        if file.is_symlink() or file.parent.resolve() != (folder.resolve() / name).parent:
            raise ValueError("is reached by a symbolic link, and is not written through it")
        flags = os.O_WRONLY | os.O_CREAT | os.O_NONBLOCK | os.O_NOFOLLOW
        with _ordinary(os.open(file, flags, 0o666), "wb") as stream:
            stream.truncate(0)
            stream.write(text.encode())
    except (OSError, RuntimeError) as error:
        raise ValueError(f"cannot be written: {_why(error)}") from None


def _ordinary(descriptor: int, mode: str = "rb") -> BinaryIO:
    """An open file, if it is one: a device, a pipe or a folder is closed again."""
    kind = os.fstat(descriptor).st_mode
    if stat.S_ISREG(kind):
        return cast("BinaryIO", os.fdopen(descriptor, mode))
    os.close(descriptor)
    raise ValueError("is a folder" if stat.S_ISDIR(kind) else "is no ordinary file")


def _why(error: OSError | RuntimeError) -> str:
    """The system's words; links in a circle are pathlib's RuntimeError, which spells out the whole path."""
    return os.strerror(errno.ELOOP) if isinstance(error, RuntimeError) else error.strerror or str(error)
