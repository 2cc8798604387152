"""Manifests between the outside and documents: read from everything that is named, written to standard output."""

from __future__ import annotations

import sys
from collections.abc import Iterable

from injector.cli.documents import Document, joined, read_documents
from injector.cli.inputs import read_inputs


def read_manifests(names: Iterable[str]) -> list[Document]:
    """All documents of files, folders, URLs and `-` (standard input), in order. Raises DocumentError."""
    return [d for source in read_inputs(names, sys.stdin.buffer) for d in read_documents(source)]


def write_manifests(documents: list[Document]) -> None:
    """Write documents to standard output as UTF-8, whatever the locale, with their own line ends."""
    sys.stdout.buffer.write(joined(documents).encode())
    sys.stdout.buffer.flush()
