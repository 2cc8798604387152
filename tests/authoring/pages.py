"""Typing a page: its commands are run, its files are written and changed, and what it shows is compared."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tests import command

#: What a page shows when a command does not end with 0.
_FAILS = re.compile(
    r"(?m)^(?:Error: |Error from server|error: |FAILED |.*: (?:error|failed|refused): |  the pod is refused$)"
)
_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_FILE = re.compile(r"`([^`\s]+/[^`\s]+|[^`\s]+\.yaml)`:\s*\Z")
_PATIENCE = 20.0


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, its text, the file that the words before it name, and its line on the page."""

    language: str
    text: str
    file: str
    line: int


def blocks(page: str) -> Iterator[Block]:
    """All fenced blocks of a page, in order."""
    for found in _BLOCK.finditer(page):
        named = _FILE.search(page[: found.start()])
        yield Block(found[1], found[2], named[1] if named else "", page[: found.start()].count("\n") + 1)


def shows(shown: str, real: str) -> bool:
    """Whether a page shows what really came: `...` stands for any text, on a line of its own for any lines."""
    wanted, lines = shown.rstrip("\n").split("\n"), real.rstrip("\n").split("\n")
    reached = {0}  # after how many of the real lines the page may be
    for line in wanted:
        if line == "...":
            reached = set(range(min(reached), len(lines) + 1)) if reached else set()
        else:
            one = re.compile(re.escape(line).replace(r"\.\.\.", ".*"))
            reached = {n + 1 for n in reached if n < len(lines) and one.fullmatch(lines[n])}
    return len(lines) in reached


def commands(text: str) -> Iterator[tuple[str, str]]:
    """Each command of a console block, and what it shows."""
    for part in re.split(r"(?m)^\$ ", text)[1:]:
        command, _, shown = re.match(r"((?:.*\\\n)*.*)()(?:\n|\Z)((?s:.*))", part).groups()  # type: ignore[union-attr]
        yield command, shown


@dataclass
class Typist:
    """A person at a terminal in a folder. Finds `injector`, and no program beyond the system's."""

    folder: Path
    watching: subprocess.Popen[bytes] | None = None
    file: str = ""  #: what was changed last
    seen: Path = field(init=False)

    def __post_init__(self) -> None:
        self.seen = self.folder / ".watched"

    @property
    def environment(self) -> dict[str, str]:
        """What the shell knows."""
        path = f"{command.on_path()}:{Path(sys.executable).parent}:/usr/bin:/bin"
        return {"PATH": path, "HOME": str(self.folder), "LC_ALL": "C.UTF-8", "COLUMNS": "120"}

    def type(self, page: str) -> None:
        """Type a whole page."""
        try:
            for block in blocks(page):
                self.do(block)
        finally:
            self.close()

    def close(self) -> None:
        """Press Ctrl-C in the second terminal; the preview ends well."""
        if self.watching is not None:
            os.killpg(self.watching.pid, signal.SIGINT)
            assert self.watching.wait(_PATIENCE) == 0
            self.watching = None

    def do(self, block: Block) -> None:
        """What one block asks for."""
        if block.language == "console" and not block.text.startswith("$ "):
            self.wait_for(block)
        elif block.language == "console":
            for line, shown in commands(block.text):
                if "--watch" in line:
                    self.watch(line)
                    self.wait_for(Block("console", shown, "", block.line))
                else:
                    self.run(line, shown, block)
        elif block.language == "diff":
            self.change(block)
        elif block.file:
            path = self.folder / block.file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block.text)

    def run(self, line: str, shown: str, block: Block) -> None:
        """Run a command, and compare what it says and whether it fails."""
        done = subprocess.run(
            ["bash", "-c", line],
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=120,
            check=False,
        )
        where = f"line {block.line}: $ {line}"
        assert shows(shown, done.stdout), f"{where}\nshown:\n{shown}\nreal:\n{done.stdout}"
        assert (done.returncode != 0) == bool(_FAILS.search(shown)), f"{where} ended with {done.returncode}"

    def watch(self, line: str) -> None:
        """Start a command in the second terminal."""
        with self.seen.open("wb") as stream:
            self.watching = subprocess.Popen(
                ["bash", "-c", f"exec {line}"],
                cwd=self.folder,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def wait_for(self, block: Block) -> None:
        """Wait until the second terminal shows it."""
        assert self.watching is not None, f"line {block.line}: nothing runs in the second terminal"
        end = time.monotonic() + _PATIENCE
        while not shows(f"...\n{block.text}...", self.seen.read_text()):
            assert time.monotonic() < end and self.watching.poll() is None, (
                f"line {block.line}\nshown:\n{block.text}\nreal:\n{self.seen.read_text()}"
            )
            time.sleep(0.05)

    def change(self, block: Block) -> None:
        """Change a file as a difference says: its lines stand there exactly once."""
        lines = block.text.splitlines(keepends=True)
        old = "".join(line[1:] for line in lines if line[0] in " -")
        new = "".join(line[1:] for line in lines if line[0] in " +")
        self.file = block.file or self.file
        path = self.folder / self.file
        text = path.read_text()
        assert text.count(old) == 1, f"line {block.line}: {self.file} has this {text.count(old)} times:\n{old}"
        path.write_text(text.replace(old, new))
