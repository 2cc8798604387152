"""What texts for people say, whatever their words are.

A test hands what a person sees to the fixture `golden`:

    done = command.run("inject", "web.yaml", "--templates", "ngnix")
    assert done.code == 1
    golden(done.err)

Diagnostics say their code and fields meanwhile (tests/silence.py), and other words become `…`. What is left, codes,
places, paths and values, has to be what the section of this test in `MODULE.messages.txt` holds. The words themselves
are compared once, at the end of a run, with one file a family: tests/words/. `--update` writes both anew; read the
diff.
"""

from __future__ import annotations

import difflib
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from injector.diagnostics import Diagnostic
from tests import silence

Golden = Callable[..., None]

ROOT = Path(__file__).parent
WORDS = ROOT / "words"
#: One family of messages a folder; of these no words are kept, as they are those of a cluster at that moment.
_ELSEWHERE = ("cluster", "dataplane", "node", "deploy", "parts")

#: Severities and outcomes are no words: they stay.
_KEPT = "error|warning|note|injected|amended|unchanged|skipped|failed|refused|uninjected|added|dropped"
_WORD = rf"(?!(?i:{_KEPT})\b)[A-Za-z]?[a-z']*[a-z]"
_PLAIN = re.compile(rf"(?<![\w./\[(=<\"'`-])(?:{_WORD}[,;]? )*{_WORD}(?![\w/=\])>\"'`-]|\.\w)")
_CODE = re.compile(r"\[[a-z]+(?:-[a-z]+)*(?: [\w-]+=[^\]]*)?\]")


#: Comments of YAML, and what click says of the program by the name that it was called by.
_NO_MESSAGE = re.compile(r"\s*#|Usage: |Try '")


def lines_of(text: str) -> list[str]:
    """The lines that say something: with a code, or two plain words in a row."""
    lines = [line for line in text.splitlines() if not _NO_MESSAGE.match(line)]
    return [line for line in lines if _CODE.search(line) or any(" " in run for run in _PLAIN.findall(line))]


def bare(text: str) -> str:
    """A text without plain words: `…` for each run of them. What Diagnostics say stays."""
    pieces, end = [], 0
    for found in _CODE.finditer(text):
        pieces += [_PLAIN.sub("…", text[end : found.start()]), found[0]]
        end = found.end()
    return "".join([*pieces, _PLAIN.sub("…", text[end:])])


class Sections:
    """The golden file of a module: a section a test."""

    def __init__(self, file: Path) -> None:
        self.file = file
        text = file.read_text() if file.exists() else ""
        self._sections = dict(re.findall(r"^== (.*)\n((?:(?!== ).*\n)*)", text, re.MULTILINE))
        self._new: dict[str, str] = {}

    def check(self, name: str, text: str, update: bool) -> None:
        """Compare a text with the section of that name; with `update` make it the section."""
        lines = "".join(f"{bare(line)}\n" for line in lines_of(text))
        if update:
            self._new[name] = lines
        else:
            assert name in self._sections, f"{self.file.name} has no section {name}: --update makes it"
            before = self._sections[name].splitlines()
            changes = difflib.unified_diff(before, lines.splitlines(), "expected", "now", n=1)
            shown = "\n".join(changes)
            assert lines == self._sections[name], f"{self.file.name}, section {name}; --update writes it anew:\n{shown}"

    def write(self) -> None:
        """Write what is new; the rest stays."""
        if self._new:
            found = sorted({**self._sections, **self._new}.items())
            self.file.write_text("".join(f"== {name}\n{text}" for name, text in found))


def texts(value: Any) -> Iterator[str]:
    """The texts of what a test hands in: text, Diagnostics, errors, lists of them."""
    if isinstance(value, Diagnostic):
        yield value.located
    elif isinstance(value, str | BaseException) or value is None:
        yield str(value)
    elif isinstance(value, Iterable):
        for item in value:
            yield from texts(item)
    else:
        yield json.dumps(value, default=str)


# ------------------------------------------------------------------------------------------------------ the words


def family(path: Path) -> str:
    """The name of a module's family; empty where words are not kept."""
    folder, *more = path.relative_to(ROOT).parent.parts or ("",)
    name = more[0] if folder == "unit" and more else folder
    return "" if folder in _ELSEWHERE else name


def spoken(shown: str) -> set[str]:
    """The words of the Diagnostics that a text shows by their codes, and the lines that show none."""
    codes = set(_CODE.findall(shown))
    file = Path(os.environ[silence.WORDS])
    known = [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []
    found = {f"{' '.join(code.split())} {' '.join(clean(words).split())}" for code, words in known if code in codes}
    return found | {line.strip() for line in lines_of(shown) if not _CODE.search(line)}


def differences(words: dict[str, set[str]]) -> Iterator[str]:
    """Lines that tests/words does not have. One that nobody says any more goes when the whole run writes them anew."""
    for name, lines in sorted(words.items()):
        file = WORDS / f"{name}.txt"
        before = set(file.read_text().splitlines()) if file.exists() else set()
        yield from (f"{name}.txt: {line}" for line in sorted(lines - before))


def update(words: dict[str, set[str]], whole: bool) -> None:
    """Write tests/words anew."""
    WORDS.mkdir(exist_ok=True)
    for name, lines in words.items():
        file = WORDS / f"{name}.txt"
        before = set(file.read_text().splitlines()) if file.exists() and not whole else set()
        file.write_text("".join(f"{line}\n" for line in sorted(before | lines)))


#: What differs from run to run: how long something took, ports, nginx' times and processes, digests.
_PASSING = {
    r"\b[0-9.]+ s\b": "SECONDS s",
    r"(?<=127\.0\.0\.1:)\d{5}\b": "PORT",
    r"(\b\d{4}/\d\d/\d\d )?\b\d\d:\d\d:\d\d\b": "TIME",
    r"\b\d+#\d+: ": "PROCESS: ",
    r"\b(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{12,}\b|(?<=\()\d{12}(?=\))": "DIGEST",
}


def clean(text: str, *folders: Path) -> str:
    """A text without this machine's paths, and without what differs from run to run."""
    for folder in folders:
        text = text.replace(str(folder), "FOLDER")
    text = text.replace(str(ROOT.parent), "PROJECT")
    for pattern, name in _PASSING.items():
        text = re.sub(pattern, name, text)
    return text
