"""Template folders on disk: which there are, and the texts of their files."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from stat import S_ISDIR, S_ISREG

from injector.diagnostics import Place
from injector.errors import SettingsError, TemplateError
from injector.names import nearest
from injector.templates.template import FILE, LARGEST, MANIFEST, OVERLAY

#: Bytes of the files of a folder: those of a template, or of its cases.
LARGEST_FOLDER = 8 * LARGEST
#: How many levels below a folder `templates_of` looks for templates.
_DEPTH = 3


def gallery_path() -> Path:
    """Where the templates lie that come with the injector."""
    package = Path(__file__).resolve().parents[1]
    installed = package / "gallery"
    return installed if installed.is_dir() else package.parent / "templates"


def how_to_install(*packages: str) -> str:
    """The command that gets what this installation lacks: in the environment of a clone make's, elsewhere pip's."""
    if Path(sys.executable).parents[1] == Path(__file__).parents[2] / ".venv":
        return "make setup"
    return f"{sys.executable} -m pip install {' '.join(packages)}"


def read_gallery(path: Path) -> dict[str, dict[str, str]]:
    """The sources of every template in a folder of folders, by name. Raises TemplateError."""
    return {name: read_folder(folder) for name, folder in find_gallery(path).items()}


def find_gallery(path: Path) -> dict[str, Path]:
    """The folders of the templates in a folder of folders, by name. Raises TemplateError where it cannot be read.

    Hidden ones stay out: a mounted ConfigMap keeps its real files in hidden folders beside the links to them.
    """
    try:
        return {p.name: p for p in files_of(path) if has_manifest(p)}
    except OSError as error:
        raise _unusable(path, "", f"the folder cannot be read: {error.strerror}") from None


def templates_in(folder: Path) -> dict[str, Path]:
    """By name, the folder itself where it is a template, otherwise the templates in it. Raises TemplateError."""
    return {folder.resolve().name: folder} if has_manifest(folder) else find_gallery(folder)


def template_folders(folders: Iterable[Path]) -> dict[str, Path]:
    """Templates' folders by name, from folders that are a template or hold some; later ones win by name.

    Raises SettingsError for a folder that is neither, TemplateError for one that cannot be read.
    """
    by_name: dict[str, Path] = {}
    for folder in folders:
        inner = templates_in(folder)
        if not inner:
            raise SettingsError(f"{folder}: {no_templates(folder)}")
        by_name |= inner
    return by_name


def templates_of(folder: Path) -> list[Path]:
    """The folder itself where it is a template; otherwise the templates in it, sorted, without hidden ones.

    Also those in folders within, such as `policies/labels`, down to `_DEPTH`. Raises OSError where the folder itself
    cannot be read.
    """
    return [folder] if is_template(folder) else sorted(_within(files_of(folder), _DEPTH - 1))


def _within(entries: Iterable[Path], deeper: int) -> Iterator[Path]:
    """The templates among some files and folders, and in these so many levels deeper."""
    for entry in filter(Path.is_dir, entries):
        if is_template(entry):
            yield entry
        elif deeper:
            with suppress(OSError):  # a folder of somebody else's is not what was asked for
                yield from _within(files_of(entry), deeper - 1)


def has_manifest(folder: Path) -> bool:
    """Whether there is a template.yaml in a folder; False for a path that cannot be read."""
    try:
        return (folder / MANIFEST).is_file()
    except OSError:  # a name that is too long
        return False


def is_template(folder: Path) -> bool:
    """Whether a folder is meant as a template: it has one of its two files. A message tells if one is missing."""
    return (folder / MANIFEST).is_file() or (folder / OVERLAY).is_file()


def no_manifest(folder: Path) -> str:
    """The words that say why a folder is not a template; they name a file that may have been meant as its manifest."""
    try:
        near = nearest(MANIFEST, [file.name for file in folder.iterdir()])
    except OSError:
        return "there is no such folder, or it cannot be read"
    return f"no {MANIFEST}, but {near}" if near else f"no {MANIFEST}"


def no_templates(folder: Path) -> str:
    """The words that say that a folder neither is a template nor holds one."""
    return f"neither a template ({no_manifest(folder)}) nor a folder of templates"


def fingerprints(files: Iterable[Path]) -> dict[str, object]:
    """Inode, time and size of each file, or why there are none: what tells cheaply that nothing changed."""
    prints: dict[str, object] = {}
    for file in files:
        try:
            stat = file.stat()
        except OSError as error:
            prints[str(file)] = str(error)
        else:
            prints[str(file)] = (stat.st_ino, stat.st_mtime_ns, stat.st_size)
    return prints


def read_folder(path: Path, origin: str = "") -> dict[str, str]:
    """The texts of a template's folder by file name; hidden files, folders and what is no ConfigMap key stay out.

    `origin` is the folder as people gave it.

    Raises TemplateError for a folder that cannot be read or has too much in it, and for a file that is not UTF-8.
    """
    sources: dict[str, str] = {}
    left = LARGEST_FOLDER
    try:
        for file in files_of(path):
            if file.is_file() and FILE.match(file.name):
                try:
                    data = read_ordinary(file.resolve(), min(left, 2 * LARGEST))
                except ValueError:
                    message = "the file, or all of the folder, is larger than a ConfigMap can be"
                    raise _unusable(path, origin, message, Place(file.name), "limit") from None
                left -= len(data)
                sources[file.name] = _decoded(path, file, data, origin)
    except OSError as error:
        raise _unusable(path, origin, f"the folder cannot be read: {error.strerror}") from None
    return sources


def read_ordinary(file: Path, limit: int) -> bytes:
    """The bytes of an ordinary file, whose path has no links.

    Raises ValueError saying why for another or a larger one, OSError.
    """
    # what is not an ordinary file is not waited for, as one would for a pipe
    descriptor = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW)
    try:
        kind = os.fstat(descriptor).st_mode
        if not S_ISREG(kind):
            raise ValueError("is a folder" if S_ISDIR(kind) else "is not an ordinary file")
        with open(descriptor, "rb", closefd=False) as stream:
            data = stream.read(limit + 1) or b""  # None of a device that is an ordinary file by its kind alone
    finally:
        os.close(descriptor)
    if len(data) > limit:
        raise ValueError(f"is larger than {limit // 1024 // 1024} MiB")
    return data


def files_of(folder: Path) -> list[Path]:
    """The files and folders in a folder, without hidden ones, by name. Raises OSError."""
    return [path for path in sorted(folder.iterdir()) if not path.name.startswith(".")]


def _decoded(path: Path, file: Path, data: bytes, origin: str) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        from injector.templates.source_map import normal, place_at  # with all of Jinja; names alone are asked for too

        before = data[: error.start].decode("utf-8")
        place = place_at(file.name, normal(before + "?"), len(normal(before)))
        raise _unusable(
            path,
            origin,
            f"the byte 0x{data[error.start]:02x} is not UTF-8; save the file as UTF-8",
            Place(place.file, place.line, place.column),
        ) from None


def _unusable(path: Path, origin: str, message: str, place: Place | None = None, rule: str = "file") -> TemplateError:
    return TemplateError(path.resolve().name, message, place, rule=rule, origin=origin or str(path))
