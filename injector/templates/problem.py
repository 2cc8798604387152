"""One thing that is wrong with a template, as people and editors read it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from rich.cells import cell_len

from injector.errors import Place, TemplateError

Severity = Literal["error", "warning"]


@dataclass(frozen=True, slots=True)
class Problem:
    """A mistake at a place. `path` is the template's folder as people gave it (or its ConfigMap), `help` what to do."""

    rule: str
    message: str
    path: str
    place: Place
    severity: Severity = "error"
    help: str = ""

    @classmethod
    def of(cls, error: TemplateError) -> Problem:
        """The problem that an error tells of."""
        return cls(error.rule, error.message, error.origin, error.place or Place(""))

    @classmethod
    def all_of(cls, error: TemplateError) -> tuple[Problem, ...]:
        """The problems that an error tells of, its others among them."""
        return tuple(map(cls.of, error.all))

    @property
    def where(self) -> str:
        """`PATH/FILE:LINE:COLUMN`, as far as known."""
        if not self.path:
            return str(self.place)
        return f"{self.path.rstrip('/')}/{self.place}" if self.place.file else self.path

    def __str__(self) -> str:
        """One line, `PATH/FILE:LINE:COLUMN: error: message [rule]`; what is at no place begins with `error`."""
        where = f"{printable(self.where)}: " if self.where else ""
        return f"{where}{self.severity}: {printable(self.message)} [{self.rule}]"

    @property
    def excerpt(self) -> str:
        """The line it is about with a caret below the column, and the help; empty where neither is known."""
        lines = []
        place = self.place
        if place.line and place.text:
            number = f"{place.line:5d}"
            start = max(place.column - 120, 0)  # of a very long line, the part around the column
            shown = printable(place.text)
            lines.append(f"{number} | {shown[start : start + 200]}")
            if place.column:
                width = cell_len(shown[start : place.column - 1].ljust(place.column - 1 - start))
                lines.append(f"{' ' * len(number)} | {' ' * width}^")
        if self.help:
            first, *rest = map(printable, self.help.split("\n"))
            lines += [f"      = {first}", *(f"        {line.removeprefix(' ' * 8)}" for line in rest)]
        return "\n".join(lines)


def printable(text: str) -> str:
    """A text as one line for a terminal, as long as it was: no character in it does anything."""
    return text if text.isprintable() else "".join(c if c.isprintable() else " " if c in "\t\n" else "?" for c in text)
