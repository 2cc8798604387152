"""Manifests between the outside and documents: read from everything that is named, written to standard output."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterable

from injector.cli.documents import Document, joined, read_documents
from injector.cli.inputs import read_inputs
from injector.errors import DocumentError


def read_manifests(names: Iterable[str]) -> list[Document]:
    """All documents of files, folders, URLs and `-` (standard input), in order. Raises DocumentError."""
    stdin = io.BytesIO() if sys.stdin is None else sys.stdin.buffer  # closed: `<&-`
    return [d for source in read_inputs(names, stdin) for d in read_documents(source)]


def write_manifests(documents: list[Document]) -> None:
    """Write documents to standard output as UTF-8, whatever the locale, with their own line ends.

    Raises DocumentError when it cannot be written to (a full disk).
    """
    if sys.stdout is None:
        raise DocumentError("standard output is closed")
    try:
        sys.stdout.buffer.write(joined(documents).encode())
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise DocumentError(f"standard output: {error.strerror or error}") from None
