"""Where manifests come from: files, folders, URLs and standard input."""

from __future__ import annotations

import errno
import functools
import os
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

import click

from injector import __version__
from injector.cli.options import Option, option
from injector.errors import DocumentError

if TYPE_CHECKING:
    from urllib.request import OpenerDirector

#: What standard input is called.
STDIN = "standard input"
#: What a folder is searched for.
SUFFIXES = frozenset((".yaml", ".yml", ".json"))
#: Bytes that one input may have. A cluster's largest object has 3 MiB.
LIMIT = 32 * 1024 * 1024
#: Seconds that one URL may take as a whole.
URL_SECONDS = 30.0


class Input(NamedTuple):
    """One input as it came: `name` as a person would call it, and its bytes."""

    name: str
    data: bytes


def read_inputs(names: Iterable[str], stdin: BinaryIO) -> list[Input]:
    """Everything that `names` stand for, in order: files, folders (searched through), URLs, `-` for `stdin`.

    Raises DocumentError when something is not there, cannot be read, or is larger than LIMIT.
    """
    names = list(names)
    lost = next((n for n in names if n and n != "-" and "://" not in n and not os.path.lexists(n)), None)
    if lost is not None:
        raise DocumentError(_lost(lost, names[names.index(lost) + 1 :]))
    if names.count("-") > 1:
        raise DocumentError("standard input (-) can be read only once")
    return [input_ for name in names for input_ in _read(name, stdin)]


def _lost(name: str, rest: list[str]) -> str:
    """That an input is not there, and what to type in its place."""
    from injector.advice.commands import missing_help

    context = click.get_current_context(silent=True)
    to_do = missing_help(name, (context.info_name if context else "") or "inject", *rest[:1])
    return f"{name}: {os.strerror(errno.ENOENT)}{f'; {to_do}' if to_do else ''}"


def _read(name: str, stdin: BinaryIO) -> Iterator[Input]:
    if not name:
        raise DocumentError("an input's name is empty; name a file, a folder, a URL, or - for standard input")
    if name == "-":
        yield Input(STDIN, _bounded(stdin.read(LIMIT + 1), STDIN))
    elif name.startswith(("http://", "https://")):
        yield Input(name, _fetch(name))
    elif Path(name).is_dir():
        files = list(_files(Path(name)))
        if not files:
            raise DocumentError(f"{name}: no {', '.join(sorted(SUFFIXES))} file in this folder")
        for file in files:
            yield Input(str(file), _read_file(file))
    else:
        yield Input(name, _read_file(Path(name)))


def _files(folder: Path) -> Iterator[Path]:
    """Manifests below `folder` in an order that is the same everywhere; hidden folders (.git) are left out."""
    for path, folders, files in os.walk(folder):
        folders[:] = sorted(f for f in folders if not f.startswith("."))
        for file in sorted(files):
            manifest = Path(path) / file
            if manifest.suffix.lower() not in SUFFIXES or file.startswith("."):
                continue
            if manifest.is_file() or not manifest.exists():  # a pipe would wait for ever; a dangling link is told of
                yield manifest


def _read_file(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return _bounded(file.read(LIMIT + 1), str(path))
    except OSError as error:
        raise DocumentError(f"{path}: {error.strerror or error}") from None


def _bounded(data: bytes, name: str) -> bytes:
    if len(data) > LIMIT:
        raise DocumentError(f"{name}: larger than {LIMIT // 1024 // 1024} MiB; split it")
    return data


def _opener() -> OpenerDirector:
    """Speaks HTTP and HTTPS only: a redirect must not reach a local file or FTP."""
    from urllib.request import (
        HTTPDefaultErrorHandler,
        HTTPErrorProcessor,
        HTTPHandler,
        HTTPRedirectHandler,
        HTTPSHandler,
        OpenerDirector,
        ProxyHandler,
        UnknownHandler,
    )

    opener = OpenerDirector()
    for handler in (
        ProxyHandler,
        HTTPHandler,
        HTTPSHandler,
        HTTPRedirectHandler,
        HTTPDefaultErrorHandler,
        HTTPErrorProcessor,
        UnknownHandler,
    ):
        opener.add_handler(handler())
    opener.addheaders = [("User-Agent", f"sidecar-injector/{__version__}")]
    return opener


def _fetch(url: str) -> bytes:
    from urllib.error import HTTPError

    until = time.monotonic() + URL_SECONDS
    data = bytearray()
    try:
        with _opener().open(url, timeout=URL_SECONDS) as answer:
            # In pieces, because the time limit of a socket is one of silence only.
            while piece := answer.read1(64 * 1024):
                data += piece
                if len(data) > LIMIT:
                    break
                if time.monotonic() > until:
                    raise DocumentError(f"{url}: took longer than {URL_SECONDS:.0f} s")
    except HTTPError as error:
        raise DocumentError(f"{url}: the server answered {error.code} {error.reason}") from None
    except (OSError, ValueError) as error:
        raise DocumentError(f"{url}: {getattr(error, 'reason', None) or error}") from None
    return _bounded(bytes(data), url)


def with_files(name: str = "files", metavar: str = "FILE...") -> Option:
    """A decorator that gives a command at least one file, as the parameter `name`, a tuple of what people wrote."""

    def decorate(command: Any) -> Any:
        @functools.wraps(command)
        def with_both(*args: Any, **keywords: Any) -> Any:
            filenames = keywords.pop("filenames")
            keywords[name] = (*filenames, *keywords[name])
            if not keywords[name]:
                raise click.UsageError(f"Missing argument '{metavar}'; for standard input write -.")
            return command(*args, **keywords)

        filename = option(
            "-f --filename filenames",
            "FILE",
            "An input file, like the argument FILE. Works like -f in kubectl.",
            multiple=True,
        )
        return click.argument(name, nargs=-1, metavar=metavar)(filename(with_both))

    return decorate
