"""Files that are whole or not there, and never readable for others than they should be."""

from __future__ import annotations

import os
from pathlib import Path


def write_file(file: Path, data: bytes, mode: int) -> None:
    """Write a file whole or not at all. Raises OSError."""
    part = file.with_name(f".{file.name}.{os.getpid()}")
    # Created with its mode: a key that is made private later was public for a moment.
    with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as opened:
        opened.write(data)
    part.replace(file)
