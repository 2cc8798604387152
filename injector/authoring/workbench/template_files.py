"""The files of a template's folder as the page reads and writes them: each with a tag of its content, as HTTP has it.

A file is written only over the content that the page knows, so that nothing that somebody else wrote is lost.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

from injector.authoring.cases.suite import TESTS
from injector.authoring.output_files import write_within
from injector.errors import InjectorError
from injector.loading.template_folders import LARGEST_FOLDER, files_of, read_ordinary
from injector.templates.template import FILE, LARGEST


class ConflictError(InjectorError):
    """The file on disk is not the one that the page has read."""


class FileRefusedError(InjectorError):
    """The page may not read or write a file of this path or content."""


def etag(data: bytes) -> str:
    """The entity tag of a file's content (RFC 9110, section 8.8.3)."""
    return f'"{sha256(data).hexdigest()[:32]}"'


class TemplateFiles:
    """The files of one template: those of its folder, and of `tests` within it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.resolve()

    def read(self) -> dict[str, tuple[str, str]]:
        """Text and entity tag of each file by its path within the folder; files that are no UTF-8 text stay out.

        Raises OSError where the folder cannot be read.
        """
        files, left = {}, LARGEST_FOLDER
        for path in self._paths():
            try:
                data = read_ordinary((self.folder / path).resolve(), min(left, 2 * LARGEST))
                left -= len(data)
                files[path] = data.decode("utf-8"), etag(data)
            except (OSError, ValueError):  # gone meanwhile, too large, or nothing to edit
                continue
        return files

    def write(self, path: str, text: str, expected: str) -> str:
        """Write a file whose content has the entity tag `expected`, "" for one that is not there; its new tag.

        Raises ConflictError where the file has another content, FileRefusedError for a path that is none of a
        template's, OSError.
        """
        self._expected(path, expected)
        data = text.encode()
        if len(data) > LARGEST:
            raise FileRefusedError(f"{path}: {len(data)} bytes do not fit into a ConfigMap; the limit is {LARGEST}")
        write_within(self.folder, {path: data})
        return etag(data)

    def delete(self, path: str, expected: str) -> None:
        """Delete a file whose content has the entity tag `expected`. Raises as `write` does."""
        self._expected(path, expected).unlink()

    def _expected(self, path: str, expected: str) -> Path:
        """The file of a path, whose content has this entity tag; where that is a link, what it leads to."""
        file = self._checked(path).resolve()
        try:
            current = etag(file.read_bytes())
        except FileNotFoundError:
            current = ""
        if current != expected:
            raise ConflictError(f"{path}: the file on disk is not the one that was opened")
        return file

    def _paths(self) -> Iterator[str]:
        if not self.folder.is_dir():
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(self.folder))
        for within in ("", f"{TESTS}/"):
            if (self.folder / within).is_dir():
                for file in files_of(self.folder / within):
                    if FILE.match(file.name) and self._is_own(file):
                        yield within + file.name

    def _is_own(self, file: Path) -> bool:
        """Whether a path is a file within the folder, and no link that leads out of it."""
        return file.is_file() and file.resolve().is_relative_to(self.folder)

    def _checked(self, path: str) -> Path:
        name = path.removeprefix(f"{TESTS}/")
        file = self.folder / path
        if not FILE.match(name) or name.startswith(".") or path == TESTS:
            raise FileRefusedError(f"{path[:80]}: this is no name of a template's file, nor of a file in {TESTS}/")
        if (file.exists() or file.is_symlink()) and not self._is_own(file):
            raise FileRefusedError(f"{path}: this is no file of the template's folder")
        if not file.parent.resolve().is_relative_to(self.folder):
            raise FileRefusedError(f"{path}: {TESTS} is a link that leads out of the template's folder")
        return file
