"""An app that logs to a file, a program of its own.

python writer.py FILE [SECONDS]

It appends `line 0`, `line 1` and so on, one each SECONDS (0.04), readable for itself alone. Every 100 lines it renames
the file to FILE.1 and begins it anew, as loggers do. Told to stop, it appends `the last line` and ends.
"""

from __future__ import annotations

import itertools
import os
import signal
import sys
import time
from pathlib import Path
from types import FrameType

ROTATE_EVERY = 100
LAST = "the last line"


def append(file: Path, line: str) -> None:
    """One line to the end of the file."""
    with file.open("a") as opened:
        opened.write(line + "\n")


def main() -> None:
    """Write until ended."""
    file = Path(sys.argv[1])
    pause = float(sys.argv[2]) if len(sys.argv) > 2 else 0.04
    os.umask(0o077)

    def end(number: int, frame: FrameType | None) -> None:
        append(file, LAST)
        sys.exit()

    signal.signal(signal.SIGTERM, end)
    for number in itertools.count():
        if number and number % ROTATE_EVERY == 0:
            file.rename(f"{file}.1")
        append(file, f"line {number}")
        time.sleep(pause)


if __name__ == "__main__":
    main()
