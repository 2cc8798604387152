"""Comments that switch rules off: `# lint: disable=rule why` on a line, above one, or for a whole template."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from injector.diagnostics import Diagnostic, Place
from injector.templates.template import MANIFEST

#: The comments of YAML and most config files, of Jinja, of Markdown, and of languages like C.
_COMMENT = re.compile(
    r"(?P<before>^.*?)(?P<open>\{#-?|<!--|#|//|;)\s*lint:\s*disable\s*=\s*(?P<rules>[\w-]*(?:\s*,\s*[\w-]+)*)"
    r"(?P<reason>.*?)\s*(?:-?#\}|-->)?\s*$"
)


@dataclass(frozen=True, slots=True)
class Disable:
    """One comment. `lines` are the 1-based lines that it is for; None is the whole template."""

    place: Place
    rules: tuple[str, ...]
    reason: str
    line: int | None

    def covers(self, problem: Diagnostic) -> bool:
        """Whether it switches this problem off."""
        if problem.code not in self.rules:
            return False
        return self.line is None or (problem.place.file == self.place.file and problem.place.line == self.line)


def disables(sources: Mapping[str, str]) -> Iterator[Disable]:
    """The comments of a template's files, in order."""
    for file, text in sources.items():
        if "disable" not in text:
            continue
        lines = text.split("\n")
        for number, line in enumerate(lines, 1):
            match = _COMMENT.match(line)
            if match is None or (file.endswith(".md") and match["open"] != "<!--"):
                continue
            rules = tuple(name.strip() for name in match["rules"].split(",") if name.strip())
            place = Place(file, number, match.start("open") + 1, line.rstrip("\r"))
            yield Disable(place, rules, match["reason"].strip(" \t:-"), _line(file, lines, number, match["before"]))


def _line(file: str, lines: list[str], number: int, before: str) -> int | None:
    """The line that a comment is for: its own or, if the comment stands alone, the next line that is not such a
    comment.
    """
    if before.strip():
        return number
    if file == MANIFEST and not before:
        return None
    while number < len(lines) and _COMMENT.match(lines[number]):
        number += 1
    return number + 1


def without_disabled(
    problems: list[Diagnostic], comments: Collection[Disable]
) -> tuple[list[Diagnostic], set[Disable]]:
    """The problems that no comment switches off, and the comments that switch something off."""
    left: list[Diagnostic] = []
    used: set[Disable] = set()
    for problem in problems:
        covering = [comment for comment in comments if comment.covers(problem)]
        used.update(covering)
        if not covering:
            left.append(problem)
    return left, used
