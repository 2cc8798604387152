"""Diagnostics: everything that is said to a person is one record before it is a sentence.

Text, JSON, SARIF, annotations of a build server and the webhook's warnings are renderings of it. Code decides by
`code`, `path`, `place` and `fields`, and never reads a `message`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

import injector

#: `note` is what `injector check` says of what is well; SARIF and compilers have the same word for it.
Severity = Literal["error", "warning", "note"]


class Key(str):
    """A step of a path to an element of a list or of a map of text, by its name: `web` in `containers[web]`."""

    __slots__ = ()


#: Characters that Kubernetes advises for a warning.
WARNING_LENGTH = 120

#: Characters of a path that say something.
_SHORTEST = 16

#: The way into an object: fields, and elements by their merge key (`Key`) or their index.
Path = tuple[str | int, ...]

_PLAIN = re.compile(r"[\w-]*")
_NO_FIELDS: Mapping[str, Any] = MappingProxyType({})


def _without_middle(text: str, length: int) -> str:
    """A text in at most so many characters, its beginning and its end."""
    head = (length - 1) // 2
    return text if len(text) <= length else f"{text[:head]}…{text[head + 1 - length :]}"


def page_address(page: str, anchor: str = "") -> str:
    """Where a page of docs/ is, such as `lint/schema`: on the published site, or else its file in the repository."""
    address = f"{injector.DOCUMENTATION}{page}/" if injector.DOCUMENTATION else f"docs/{page}.md"
    return f"{address}#{anchor}" if anchor else address


def spoken_path(path: Path) -> str:
    """A path as people write it: `spec.containers[web].env[PORT].value`, `matchLabels[example.com/app]`."""
    text = ""
    for step in path:
        if isinstance(step, int | Key) or not _PLAIN.fullmatch(step):
            text += f"[{step}]"
        else:
            text += f".{step}" if text else step
    return text


@dataclass(frozen=True, slots=True)
class Place:
    """A place in an author's file: its name, 1-based line and column (0: not known), and the line as written.

    `origin` is the folder or ConfigMap that the file belongs to, as people gave it.
    """

    file: str = ""
    line: int = 0
    column: int = 0
    text: str = ""
    origin: str = ""

    def __str__(self) -> str:
        """`FILE:LINE:COLUMN`, as far as known."""
        parts = [self.file] + [str(n) for n in (self.line, self.column) if n]
        return ":".join(parts)

    @property
    def whole(self) -> str:
        """`ORIGIN/FILE:LINE:COLUMN`, as far as known."""
        if not self.origin:
            return str(self)
        return f"{self.origin.rstrip('/')}/{self}" if self.file else self.origin


_NOWHERE = Place()


class Edit(NamedTuple):
    """A change of an author's file: the characters from `start` to before `end`, counted from 0, become `text`."""

    file: str
    start: int
    end: int
    text: str


class Fix(NamedTuple):
    """The right edit for a Diagnostic: what an editor's menu calls it, its changes, none of which overlap, and whether
    the program that it is about needs what it needed before.
    """

    title: str
    edits: tuple[Edit, ...]
    safe: bool = True


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One thing that is said to a person.

    `code` is stable, kebab-case and documented: a reason, a rule of the linter, a kind of mistake. `message` says what
    is wrong and `help` what to do; neither names where it is. `path` leads into the object that it is about, `place`
    is in the author's file. `fields` are what another module needs to know: a container's name, a value, what is
    allowed; values, and no sentences. `mistake` is the kind of mistake and what belongs to it, for `injector.advice`,
    which knows what people mean.
    """

    code: str
    severity: Severity
    message: str
    help: str = ""
    path: Path = ()
    place: Place = _NOWHERE
    fields: Mapping[str, Any] = field(default_factory=lambda: _NO_FIELDS, hash=False)
    mistake: tuple[Any, ...] = field(default=(), compare=False)

    def of(self, origin: str) -> Diagnostic:
        """This Diagnostic, in a file of this folder or ConfigMap."""
        return replace(self, place=replace(self.place, origin=origin))

    @property
    def headline(self) -> str:
        """What is wrong, with the path in front: `spec.containers[web].image: what is wrong`."""
        path = spoken_path(self.path)
        return f"{path}: {self.message}" if path else self.message

    @property
    def sentence(self) -> str:
        """All of it but the place, on one line: `spec.containers[web].image: what is wrong; what to do`."""
        return advised(self.headline, self.help)

    @property
    def located(self) -> str:
        """The sentence, with the place in front: `ORIGIN/FILE:LINE:COLUMN: what is wrong; what to do`."""
        return f"{self.place.whole}: {self.sentence}" if self.place.whole else self.sentence

    @property
    def advice(self) -> str:
        """What is wrong and what to do, on one line."""
        return advised(self.message, self.help)

    @property
    def warning_line(self) -> str:
        """The sentence as a warning."""
        return self._within(self.sentence, "")

    def warning(self, before: str) -> str:
        """A warning that begins with some words. What is in an author's file has its place there in front."""
        return f"{before}{self.located}" if self.place.whole else self._within(f"{before}{self.sentence}", before)

    def _within(self, line: str, before: str) -> str:
        """A warning that may be longer than Kubernetes advises: then what is wrong comes first, where it is follows,
        cut in its middle, and what to do is at the end, where somebody else may cut it.
        """
        path = spoken_path(self.path)
        if len(line) <= WARNING_LENGTH or not path:
            return line
        line = f"{before}{self.message}"
        room = WARNING_LENGTH - len(f"{line} (at );  " if self.help else f"{line} (at )")
        return advised(f"{line} (at {_without_middle(path, max(room, _SHORTEST))})", self.help)

    def __str__(self) -> str:
        """One line, `ORIGIN/FILE:LINE:COLUMN: error: message [code]`; what is at no place begins with `error`."""
        place = f"{printable(self.place.whole)}: " if self.place.whole else ""
        return f"{place}{self.severity}: {printable(self.headline)} [{self.code}]"

    @property
    def excerpt(self) -> str:
        """The line it is about with a caret below the column, and the help; empty where neither is known."""
        lines = []
        place = self.place
        if place.line and place.text:
            number = f"{place.line:5d}"
            start = max(place.column - 120, 0)  # of a very long line, the part around the column
            source_line = printable(place.text)
            lines.append(f"{number} | {source_line[start : start + 200]}")
            if place.column:
                from rich.cells import cell_len

                width = cell_len(source_line[start : place.column - 1].ljust(place.column - 1 - start))
                lines.append(f"{' ' * len(number)} | {' ' * width}^")
        if self.help:
            first, *rest = map(printable, self.help.split("\n"))
            lines += [f"      = {first}", *(f"        {line.removeprefix(' ' * 8)}" for line in rest)]
        return "\n".join(lines)


def fix_of(diagnostic: Diagnostic) -> Fix | None:
    """The fix that a Diagnostic carries as its field `fix`."""
    fix = diagnostic.fields.get("fix")
    return fix if isinstance(fix, Fix) else None


def urgency(problem: Diagnostic) -> int:
    """What comes first: errors; what is wrong with a README last."""
    return 0 if problem.severity == "error" else 1 + problem.place.file.endswith(".md")


def printable_lines(text: str) -> str:
    """Like `printable`, but lines stay lines; only for a text whose line ends come from this program."""
    return "\n".join(map(printable, text.split("\n")))


def advised(message: str, advice: str) -> str:
    """A message, with what to do about it where there is something."""
    return f"{message}; {advice}" if advice else message


def printable(text: str) -> str:
    """A text as one line for a terminal or an HTTP message, without control characters; its length stays the same.

    Every renderer of a diagnostic uses it, because a pod's author chooses names, annotations and keys. What becomes
    `?` are control characters and escapes, the bidirectional overrides that show a line in another order, line ends of
    Unicode, half of a surrogate pair. JSON for programs stays exact.
    https://www.unicode.org/reports/tr36/#Bidirectional_Text_Spoofing
    """
    return text if text.isprintable() else "".join(c if c.isprintable() else " " if c in "\t\n" else "?" for c in text)
