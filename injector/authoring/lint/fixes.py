"""The one right edit for a Diagnostic, by its place and its fields, never by its words; and what it makes of the texts.

Who makes a Diagnostic knows what is wrong at its place, and says so in one of its `fields`:

- `replace`: a text that stands at the place, and what has to stand there; where that is "", a comment or its line goes
- `value`, and `allowed` or `nearest`: a name at the place or behind it on the line, and how names are spelled
- `quotes`: `add` or `remove` those of the scalar at the place, or of the key there
- `add`: the key that is missing in the mapping that begins at the place, with its value
- `remove`: the places of the keys that go, with what is below them

With `unsafe` beside it, the edit may change what the program needs.

Each edit expects a text literally where it is made. Where another text stands there, because a macro, an expression or
an anchor writes what the Diagnostic is about, there is no fix.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from difflib import SequenceMatcher
from itertools import takewhile
from typing import Any, NamedTuple

from injector.authoring.half_written import OutlineEntry, Region, outline, regions, tokens, without_jinja
from injector.diagnostics import Diagnostic, Edit, Fix, Path, Place, fix_of, printable, urgency
from injector.errors import TEMPLATE_ERRORS
from injector.names import cut, flow_value, nearest
from injector.templates.source_map import line_start

_LINE = re.compile(r"[^\n]*\n|[^\n]+\Z")
#: How much a name is like the one that is meant (0 to 1), where nobody is asked.
_ALIKE = 0.7
#: A number, a boolean or a hole that is all of a value, also behind its key; and one in quotes.
_BARE = re.compile(
    r"(?:[\w.-]+:[ \t]+)?(?P<value>\{\{[^{}\n]*\}\}|[-+.\w]+)(?=[ \t]*(?:[,}\]]|\r?$|[ \t]#))", re.MULTILINE
)
_QUOTED = re.compile(r"(?:[\w.-]+:[ \t]+)?(?P<value>([\"'])([-+.\w]+|\{\{ *params\.\w+ *\}\})\2)")
#: Tags that write nothing themselves.
_BRANCHES = ("set", "if", "elif", "else", "endif", "for", "endfor")
#: The beginning of a mapping in braces, with its first entry where that has no brackets and quotes.
_FLOW = re.compile(r"\{(?![{%#])(?P<first>[^,{}\[\]\"'\n]*)(?P<next>.?)")
#: How often a template is looked at anew, as a fix can show what was wrong behind it.
_ROUNDS = 12


class _Spot(NamedTuple):
    """A place in a text: its offset, and the lines from that on which it is."""

    file: str
    text: str
    offset: int
    lines: Sequence[re.Match[str]]
    start: int  #: where the line begins

    def fix(self, title: str, start: int, end: int, text: str) -> Fix:
        """The fix that is one change of this file."""
        return Fix(printable(cut(title, 100)), (Edit(self.file, start, end, text),))


def fix_for(diagnostic: Diagnostic, sources: Mapping[str, str]) -> Fix | None:
    """The one right edit for a Diagnostic; None where there is none, or more than one could be meant.

    `sources` are the texts of the files by the names that places have.
    """
    spot = _spot(diagnostic.place, sources)
    ways = (way for name, way in _WAYS.items() if spot and diagnostic.fields.get(name))
    fix = next((fix for way in ways if spot and (fix := way(spot, diagnostic.fields, sources))), None)
    return fix and fix._replace(safe=not diagnostic.fields.get("unsafe"))


def _spot(place: Place, sources: Mapping[str, str]) -> _Spot | None:
    """The spot of a place; None where its line is not the one that the place was made of."""
    text = sources.get(place.file, "")
    lines = list(_LINE.finditer(text))[max(place.line - 1, 0) :]
    if not place.column or not lines:
        return None
    start = lines[0].start() + lines[0][0].startswith("\ufeff")
    same = text[start : lines[0].end()].rstrip("\r\n") == place.text.removeprefix("\ufeff").rstrip("\r")
    return _Spot(place.file, text, start + place.column - 1, lines, lines[0].start()) if same else None


def _replaced(spot: _Spot, fields: Mapping[str, Any], _: Mapping[str, str]) -> Fix | None:
    """The text at the spot becomes another; one that becomes nothing takes the blanks before it along, or its line."""
    old, new = fields["replace"]
    start, end = spot.offset, spot.offset + len(old)
    if not spot.text.startswith(old, start):
        return None
    if new:
        return spot.fix("write it anew" if "\n" in new else f"write {new}", start, end, new)
    before, behind = spot.text[spot.start : start], spot.text[end : spot.lines[0].end()]
    if before.strip() or behind.strip():
        return spot.fix("take it out", spot.start + len(before.rstrip()), end, "")
    return spot.fix("take it out", *spot.lines[0].span(), "")


def _respelled(spot: _Spot, fields: Mapping[str, Any], _: Mapping[str, str]) -> Fix | None:
    """The name at the spot, or the only one like it behind it on the line, is spelled as the nearest that there is."""
    value = str(fields.get("value", ""))
    near = fields.get("nearest") or nearest(value, map(str, fields.get("allowed", ()))) or ""
    name = re.compile(rf"(?<![\w-]){re.escape(value)}(?![\w-])")
    matches = list(name.finditer(spot.text, spot.offset, spot.lines[0].end()))
    if not (near and matches) or (matches[0].start() != spot.offset and len(matches) > 1):
        return None
    alike = sorted(value) == sorted(near) or SequenceMatcher(None, value.lower(), near.lower()).ratio() >= _ALIKE
    return spot.fix(f"write {near}", *matches[0].span(), near) if alike else None


def _quoted(spot: _Spot, fields: Mapping[str, Any], _: Mapping[str, str]) -> Fix | None:
    """The scalar at the spot gets quotes, or loses them."""
    if fields["quotes"] == "add":
        bare = _BARE.match(spot.text, spot.offset)
        return bare and spot.fix("write in quotes", *bare.span("value"), f'"{bare["value"]}"')
    quoted = _QUOTED.match(spot.text, spot.offset)
    return quoted and spot.fix("write without quotes", *quoted.span("value"), quoted["value"][1:-1])


def _added(spot: _Spot, fields: Mapping[str, Any], _: Mapping[str, str]) -> Fix | None:
    """The mapping that begins at the spot gets a key that it lacks, in its own style."""
    written = flow_value(fields["add"])[1:-1]
    title, line_end = f"add {written}", "\r\n" if "\r\n" in spot.text else "\n"
    if flow := _FLOW.match(spot.text, spot.offset):
        first, is_simple = flow["first"].rstrip(), flow["next"] in (",", "}")
        at = spot.offset + 1 + len(first) * is_simple
        return spot.fix(title, at, at, f", {written}" if first and is_simple else f"{written}{', ' * (not is_simple)}")
    key, before = _key(spot), spot.text[spot.start : spot.offset]
    if key is None or ("-" not in before and "{%" in spot.text[: spot.start].rstrip().rpartition("\n")[2]):
        return None  # under a tag of Jinja the mapping may begin with another key elsewhere
    indent = " " * len(before)
    [(name, value)] = fields["add"].items()
    if "-" in before and isinstance(value, dict):
        written = f"{name}:{line_end}{indent}  {flow_value(value)[1:-1]}"
    at = _behind_keys(spot, key)
    if at == spot.start:  # in front of the first key, which may stand behind a dash
        return spot.fix(title, spot.offset, spot.offset, f"{written}{line_end}{indent}")
    ended = spot.text[at - 1] == "\n"
    return spot.fix(title, at, at, f"{indent}{written}{line_end}" if ended else f"{line_end}{indent}{written}")


def _key(spot: _Spot) -> OutlineEntry | None:
    """The key at the spot, where nothing but dashes is before it on its line."""
    start = spot.offset + spot.text.startswith(('"', "'"), spot.offset)
    keys = (entry for entry in outline(without_jinja(spot.text)) if entry.start == start < entry.key_end)
    return None if spot.text[spot.start : spot.offset].strip(" -") else next(keys, None)


def _behind_keys(spot: _Spot, key: OutlineEntry) -> int:
    """Where another key may stand in the mapping that begins with a key: behind its last one, or that before the first
    Jinja that may write others; at the start of its line where there is no such place.
    """
    entries, tags = _block(spot, key.path[:-1])
    keys = [e for e in entries if len(e.path) == len(key.path) and not (tags and e.end > tags[0].start)]
    if tags and tokens(spot.text, *tags[0][1:3])[0].text not in _BRANCHES:
        keys = keys[:-1]  # what it writes may belong to the last key
    return _line_end(spot.text, keys[-1].end) if keys else spot.start


def _block(spot: _Spot, path: Path) -> tuple[list[OutlineEntry], list[Region]]:
    """From the spot on what is at a path: its keys and items, and the Jinja that may write others."""
    text = spot.text
    behind = [entry for entry in outline(without_jinja(text)) if entry.start >= spot.offset]
    entries = list(takewhile(lambda entry: entry.path[: len(path)] == path, behind))
    end = behind[len(entries)].start if len(entries) < len(behind) else len(text)
    return entries, [part for part in regions(text) if spot.offset < part.start <= end and _writes(text, part)]


def _writes(text: str, part: Region) -> bool:
    """Whether Jinja may write lines: a tag, or a hole at the beginning of a line."""
    at = part.start - len(part.kind)
    return part.kind == "{%" or (part.kind == "{{" and not text[line_start(text, at) : at].strip())


def _line_end(text: str, offset: int) -> int:
    """Where the line after that of an offset begins."""
    return text.find("\n", offset) + 1 or len(text)


def _removed(_: _Spot, fields: Mapping[str, Any], sources: Mapping[str, str]) -> Fix | None:
    """The keys at some places go, each with what is below it."""
    edits = [_without_entry(_spot(place, sources)) for place in fields["remove"]]
    return Fix("take it out", tuple(filter(None, edits))) if all(edits) else None


def _without_entry(spot: _Spot | None) -> Edit | None:
    """The change that takes a key in block style and what is below it away; None for another key."""
    key = spot and _key(spot)
    if not spot or not key or spot.text[spot.start : spot.offset].strip() or _block(spot, key.path)[1]:
        return None
    return Edit(spot.file, spot.start, _line_end(spot.text, key.end), "")


#: By the field that calls for it.
_WAYS: dict[str, Callable[[_Spot, Mapping[str, Any], Mapping[str, str]], Fix | None]] = {
    "replace": _replaced,
    "quotes": _quoted,
    "nearest": _respelled,
    "allowed": _respelled,
    "add": _added,
    "remove": _removed,
}


class Fixed(NamedTuple):
    """The texts of a template before and after fixes, what is still wrong, and what was corrected."""

    before: Mapping[str, str]
    sources: Mapping[str, str]
    problems: Sequence[Diagnostic]
    corrected: Sequence[Diagnostic] = ()

    @property
    def changes(self) -> dict[str, str]:
        """The new texts of the files that are not as they were, by name."""
        return {file: text for file, text in self.sources.items() if text != self.before[file]}


def with_fixes(problems: Iterable[Diagnostic], sources: Mapping[str, str]) -> list[Diagnostic]:
    """The problems, each with its fix among its fields where there is one right edit; `sources` are the texts."""
    fixes = ((problem, fix_for(problem, sources)) for problem in problems)
    return [replace(problem, fields={**problem.fields, "fix": fix}) if fix else problem for problem, fix in fixes]


def apply(text: str, edits: Iterable[Edit]) -> str:
    """A text with changes that do not overlap; every character outside of them stays."""
    for edit in sorted(edits, key=lambda edit: edit.start, reverse=True):
        text = text[: edit.start] + edit.text + text[edit.end :]
    return text


def fixed(sources: Mapping[str, str], problems: Sequence[Diagnostic], *, unsafe: bool = False) -> Fixed:
    """The texts after the fixes of the most urgent problems, but for those that touch an earlier one.

    What is less urgent may be a consequence. Without `unsafe` only safe fixes count. `problems` stay as they are.
    """
    edits: dict[Edit, None] = {}
    corrected = []
    fixable = [problem for problem in problems if (fix := fix_of(problem)) and (fix.safe or unsafe)]
    most = min(map(urgency, fixable), default=0)
    for problem in fixable:
        fix = fix_of(problem) if urgency(problem) == most else None
        if fix and (edits.keys() >= set(fix.edits) or not any(_touch(a, b) for a in fix.edits for b in edits)):
            edits.update(dict.fromkeys(fix.edits))
            corrected.append(problem)
    texts = {file: apply(text, (edit for edit in edits if edit.file == file)) for file, text in sources.items()}
    return Fixed(sources, texts, problems, corrected)


def _touch(edit: Edit, other: Edit) -> bool:
    return edit.file == other.file and edit.start <= other.end and other.start <= edit.end


def fix_all(
    sources: Mapping[str, str], lint: Callable[[Mapping[str, str]], Sequence[Diagnostic]], *, unsafe: bool = False
) -> Fixed:
    """The texts after every fix, without `unsafe` every safe one; `lint` says what is wrong, as `with_fixes` has it.

    Fixes with which a template no longer loads, although it did, do not count.
    """
    result = Fixed(sources, sources, lint(sources))
    for _ in range(_ROUNDS):
        last = fixed(result.sources, result.problems, unsafe=unsafe)
        if not last.corrected:
            break
        problems = lint(last.sources)
        broken, before = (
            {problem.code for problem in both} & {*TEMPLATE_ERRORS} for both in (problems, result.problems)
        )
        if broken and not before:
            break
        result = Fixed(sources, last.sources, problems, [*result.corrected, *last.corrected])
    return result
