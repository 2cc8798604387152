"""The one right edit for a Diagnostic, as data: by its code's fields and place, never by its words.

Who makes a Diagnostic knows what is wrong at its place, and says so in one of its `fields`:

- `replace`: a text that stands at the place, and what has to stand there; with "" the line or the comment goes
- `value` and `nearest`: a name at the place or behind it on the line, and how it is spelled
- `quotes`: `add` or `remove` those of the scalar at the place, or of the key there
- `add`: the steps that are missing in the mapping that begins at the place, and the value at their end
- `remove`: the places of the keys that go, with what is below them

Each edit expects a text literally where it is made. Where another text stands there, because a macro, an expression or
an anchor writes what the Diagnostic is about, there is no fix.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from difflib import SequenceMatcher
from typing import Any, NamedTuple

from injector.diagnostics import Diagnostic, Edit, Place, printable
from injector.names import cut, flow_value

_LINE = re.compile(r"(?:[^\r\n]|\r(?!\n))*(?:\r?\n|\Z)")
#: How much a name is like the one that is meant (0 to 1), where nobody is asked.
_ALIKE = 0.7
_HOLE = r"\{\{[^{}\n]*\}\}"
#: A number, a boolean or a hole that is all of a value, and one in quotes.
_BARE = re.compile(rf"(?:{_HOLE}|[-+.\w]+)(?=[ \t]*(?:[,}}\]]|\r?$|[ \t]#))", re.MULTILINE)
_QUOTED = re.compile(r"([\"'])([-+.\w]+|\{\{ *params\.\w+ *\}\})\1")
#: A key, and what is in front of its value.
_VALUE = re.compile(r"[\w.-]+:[ \t]+")
#: A key of a mapping in block style, with what is before it on its line.
_KEY = re.compile(r"(?P<before>[ ]*(?:- +)*)(?P<key>[\w./-]+|\"[^\"\n]*\"):(?=[ \t\r\n]|\Z)")
#: How a line begins that belongs to the key above, whose indentation it may have.
_GOES_ON = ("- ", "}", "]")


class Fix(NamedTuple):
    """The right edit for a Diagnostic: what an editor's menu calls it, and its changes, none of which overlap."""

    title: str
    edits: tuple[Edit, ...]


class _Spot(NamedTuple):
    """A place in a text: its offset, and where its line begins."""

    file: str
    text: str
    start: int
    offset: int

    @property
    def line_end(self) -> str:
        """The line end that the file has."""
        return "\r\n" if "\r\n" in self.text else "\n"

    @property
    def rest(self) -> str:
        """The text from here to the end of the line, without the line end."""
        return _line(self.text, self.offset)

    def edit(self, start: int, end: int, text: str) -> Edit:
        """A change of this file."""
        return Edit(self.file, start, end, text)


def fix_for(diagnostic: Diagnostic, sources: Mapping[str, str]) -> Fix | None:
    """The one right edit for a Diagnostic; None where there is none, or more than one could be meant.

    `sources` are the texts of the files by the names that places have.
    """
    fields = diagnostic.fields
    way = next((way for name, way in _WAYS.items() if fields.get(name)), None)
    spot = _spot(diagnostic.place, sources)
    return way(spot, fields, sources) if way and spot else None


def fix_of(diagnostic: Diagnostic) -> Fix | None:
    """The fix that a Diagnostic carries as its field `fix`."""
    fix = diagnostic.fields.get("fix")
    return fix if isinstance(fix, Fix) else None


def _spot(place: Place, sources: Mapping[str, str]) -> _Spot | None:
    """The spot of a place; None where its line is not the one that the place was made of."""
    text, start = sources.get(place.file, ""), 0
    for _ in range(place.line - 1):
        start = _next_line(text, start)
    start += text.startswith("\ufeff", start)
    line = _line(text, start)
    if not place.column or line != place.text.removeprefix("\ufeff").rstrip("\r"):
        return None
    return _Spot(place.file, text, start, start + place.column - 1)


def _next_line(text: str, start: int) -> int:
    match = _LINE.match(text, start)
    return match.end() if match else len(text)


def _line(text: str, start: int) -> str:
    """The text from an offset to the end of its line."""
    return text[start : _next_line(text, start)].rstrip("\r\n")


def _replaced(spot: _Spot, fields: Mapping[str, Any], _: Mapping[str, str]) -> Fix | None:
    """The text at the spot becomes another; one that becomes nothing takes the blanks before it along, or its line."""
    old, new = fields["replace"]
    start, end = spot.offset, spot.offset + len(old)
    if spot.text[start:end] != old:
        return None
    if new:
        title = "write it anew" if "\n" in new else f"write {new}"
        return Fix(cut(title, 60), (spot.edit(start, end, new),))
    before, behind = spot.text[spot.start : start], _line(spot.text, end)
    if not before.strip() and not behind.strip():
        start, end = spot.start, _next_line(spot.text, start)
    else:
        start -= len(before) - len(before.rstrip())
    return Fix("take it out", (spot.edit(start, end, ""),))


def _respelled(spot: _Spot, fields: Mapping[str, Any], _: Mapping[str, str]) -> Fix | None:
    """The name at the spot, or the only one like it behind it on the line, is spelled as the nearest that there is."""
    value, near = str(fields.get("value", "")), str(fields["nearest"])
    if not value or SequenceMatcher(None, value.lower(), near.lower()).ratio() < _ALIKE:
        return None
    matches = list(re.finditer(rf"(?<![\w-]){re.escape(value)}(?![\w-])", spot.rest))
    if not matches or (matches[0].start() and len(matches) > 1):
        return None
    start = spot.offset + matches[0].start()
    return Fix(f"write {printable(near)}", (spot.edit(start, start + len(value), near),))


def _quoted(spot: _Spot, fields: Mapping[str, Any], _: Mapping[str, str]) -> Fix | None:
    """The scalar at the spot gets quotes, or loses them."""
    key = _VALUE.match(spot.text, spot.offset)
    start = key.end() if key else spot.offset
    if fields["quotes"] == "add":
        match = _BARE.match(spot.text, start)
        return match and Fix("put it in quotes", (spot.edit(*match.span(), f'"{match[0]}"'),))
    match = _QUOTED.match(spot.text, start)
    return match and Fix("write it without quotes", (spot.edit(*match.span(), match[2]),))


def _added(spot: _Spot, fields: Mapping[str, Any], _: Mapping[str, str]) -> Fix | None:
    """The mapping that begins at the spot gets the keys that it lacks, in its own style."""
    (*outer, last), value = fields["add"]
    title = f"add {'.'.join((*outer, last))}: {flow_value(value)}"
    if re.match(r"\{(?![{%#])", spot.rest):
        for step in reversed((*outer, last)):
            value = {step: value}
        inner = flow_value(value)[1:-1]
        more = "" if re.match(r"\s*\}", spot.text[spot.offset + 1 :]) else ", "
        return Fix(title, (spot.edit(spot.offset + 1, spot.offset + 1, inner + more),))
    key = _KEY.match(spot.text, spot.start)
    if key is None or key.start("key") != spot.offset or (not key["before"].strip() and _within_branch(spot)):
        return None
    indent = " " * len(key["before"])
    lines = [f"{indent}{'  ' * depth}{step}:" for depth, step in enumerate((*outer, last))]
    written = f"{spot.line_end.join(lines)} {flow_value(value)}"
    at = _behind_entries(spot, len(indent))
    if at == spot.start:  # in front of the first key, which may stand behind a dash
        return Fix(title, (spot.edit(spot.offset, spot.offset, written.lstrip() + spot.line_end + indent),))
    ended = spot.text[at - 1] == "\n"
    written = written + spot.line_end if ended else spot.line_end + written
    return Fix(title, (spot.edit(at, at, written),))


def _behind_entries(spot: _Spot, indent: int) -> int:
    """Where another key may stand in the mapping in block style that begins at the spot: behind its last entry, or
    that before the first line of Jinja; at the start of its line where there is no such place.
    """
    start = end = _next_line(spot.text, spot.start)
    last_key, tagged = spot.start, "{%" in spot.rest
    while start < len(spot.text):
        line = _line(spot.text, start)
        start = _next_line(spot.text, start)
        content, depth = line.strip(), _depth(line)
        if not content or content.startswith("#"):
            continue
        if "{%" in content:
            tagged = True
            continue
        ends = depth <= indent and not content.startswith(_GOES_ON)
        if tagged:
            return end if ends else last_key  # else the last entry goes on behind a tag
        if ends and depth < indent:
            return end
        if ends:
            last_key = end
        end = start
    return end


def _depth(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def _within_branch(spot: _Spot) -> bool:
    """Whether the line of Jinja stands right above, so that the mapping may begin with another key elsewhere."""
    above = (line.strip() for line in reversed(spot.text[: spot.start].splitlines()))
    return "{%" in next((line for line in above if line and not line.startswith("#")), "")


def _removed(spot: _Spot, fields: Mapping[str, Any], sources: Mapping[str, str]) -> Fix | None:
    """The keys at some places go, each with what is below it."""
    edits = [_without_entry(_spot(place, sources)) for place in fields["remove"]]
    return Fix("take it out", tuple(filter(None, edits))) if all(edits) else None


def _without_entry(spot: _Spot | None) -> Edit | None:
    """The change that takes a key in block style and what is below it away; None for another key."""
    key = spot and _KEY.match(spot.text, spot.start)
    if not spot or not key or key["before"].strip() or key.start("key") != spot.offset:
        return None
    end = _next_line(spot.text, spot.start)
    while end < len(spot.text):
        line = _line(spot.text, end)
        if line.strip() and _depth(line) <= len(key["before"]) and not line.lstrip().startswith(_GOES_ON):
            break
        end = _next_line(spot.text, end)
    return None if "{%" in spot.text[spot.start : end] else spot.edit(spot.start, end, "")


#: By the field that calls for it.
_WAYS: dict[str, Callable[[_Spot, Mapping[str, Any], Mapping[str, str]], Fix | None]] = {
    "replace": _replaced,
    "nearest": _respelled,
    "quotes": _quoted,
    "add": _added,
    "remove": _removed,
}


def without_overlaps(fixes: Iterable[Fix]) -> list[Fix]:
    """The fixes that do not touch one that comes before them; what is the same twice is once."""
    chosen: dict[Fix, None] = {}
    taken: list[Edit] = []
    for fix in fixes:
        touches = (
            edit.file == other.file and edit.start <= other.end and other.start <= edit.end
            for edit in fix.edits
            for other in taken
        )
        if fix not in chosen and not any(touches):
            chosen[fix] = None
            taken += fix.edits
    return list(chosen)
