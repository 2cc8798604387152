"""Values as YAML text that every YAML reader reads back as the same values.

Block style. Strings are written plain only where no reader of YAML 1.1 or 1.2 takes them for anything else, and as
JSON strings everywhere else. It does the one thing needed for config files, and does it thirty times as fast as PyYAML.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial
from itertools import groupby
from typing import Any, TypeAlias, TypeGuard

from injector.templates.structure import FillPlan, ItemsPlan, MappingPlan, Structure

#: Appends the lines of a value: value, indent, lines, what the first line starts with.
_Write: TypeAlias = Callable[[Any, str, list[str], str], None]
#: What writes the value of a part with holes, the part, and where it stands.
_Hole: TypeAlias = tuple[_Write, FillPlan, str, str]

#: Begins with a letter or slash, has no colon and no hash; the words that mean something are left out by `_WORDS`.
_PLAIN = re.compile(r"[A-Za-z/][A-Za-z0-9_./@-]*\Z")
_WORDS = frozenset(["y", "n", "yes", "no", "on", "off", "true", "false", "null", "nan", "inf"])
#: What a double-quoted scalar has to escape: all that YAML does not call printable, and what ends lines.
_ESCAPED = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]")
#: Characters of a key as written, quotes and escapes included. Readers look for the colon within 1,024, and behind
#: a longer key only where `?` announces it. https://yaml.org/spec/1.2.2/#742-flow-mappings
LONGEST_KEY = 1000
_SHORT = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"}


def dump(value: Any) -> str:
    """One document of dicts, lists and scalars, ending in a line end."""
    lines: list[str] = []
    if isinstance(value, dict) and value:
        _mapping(value, "", lines, "")
    elif isinstance(value, list) and value:
        _list(value, "", lines, "")
    else:
        lines.append(_scalar(value))
    return "\n".join(lines) + "\n"


class YamlDocument(Structure):
    """A structure that is written as YAML: the text around its holes is made once."""

    __slots__ = ("_pieces",)

    def __init__(self, text: str) -> None:
        """Parse a rendered text. Raises yaml.YAMLError with marks in that text."""
        super().__init__(text, replace=False)
        self._pieces: list[str | _Hole] = []
        lines: list[Any] = []
        if _is_spine(self.root):
            _spine(self.root, "", lines, "")
        for constant, run in groupby(lines, lambda line: isinstance(line, str)):
            if constant:
                self._pieces.append("\n".join(run))
            else:
                self._pieces.extend(run)

    def text(self, values: Sequence[Any]) -> str:
        """What `dump` makes of the document with values in its holes. Raises FaultError."""
        self.check_size(values)
        lines: list[str] = []
        for piece in self._pieces:
            if isinstance(piece, str):
                lines.append(piece)
                continue
            write, plan, indent, start = piece
            value = plan.fill(values)
            if value is None:  # its key is left out, which changes the lines around it
                break
            write(value, indent, lines, start)
        else:
            if lines:
                return "\n".join(lines) + "\n"
        return dump(self.fill(values))


def _spine(plan: MappingPlan | ItemsPlan, indent: str, lines: list[Any], first: str) -> None:
    """The lines of a part with holes; a _Hole stands for those that depend on values."""
    start = first or indent
    if isinstance(plan, ItemsPlan):
        for item in plan.items:
            if _is_spine(item):
                _spine(item, indent + "  ", lines, f"{start}- ")
            else:
                _line(_item, item, indent, lines, start)
            start = indent
        return
    for key, item, _ in plan.entries:
        name = _string(str(key))
        if _is_spine(item) and len(name) <= LONGEST_KEY:
            lines.append(f"{start}{name}:")
            _spine(item, indent if isinstance(item, ItemsPlan) else indent + "  ", lines, "")
        else:
            _line(partial(_entry, name), item, indent, lines, start)
        start = indent


def _line(write: _Write, item: Any, indent: str, lines: list[Any], start: str) -> None:
    if isinstance(item, FillPlan):
        lines.append((write, item, indent, start))
    else:
        write(item, indent, lines, start)


def _is_spine(plan: Any) -> TypeGuard[MappingPlan | ItemsPlan]:
    """Whether a part has holes below it, and is a mapping or list of as many lines whatever stands in them."""
    return isinstance(plan, ItemsPlan) or (isinstance(plan, MappingPlan) and len(plan.plain) == len(plan.entries))


def _mapping(value: dict[str, Any], indent: str, lines: list[str], first: str) -> None:
    """The lines of a mapping; `first` is what its first line starts with instead of the indent."""
    start = first or indent
    for key, item in value.items():
        _entry(_string(key), item, indent, lines, start)
        start = indent


def _entry(name: str, item: Any, indent: str, lines: list[str], start: str) -> None:
    within = indent
    head = f"{start}{name}:"
    if len(name) > LONGEST_KEY:
        lines.append(f"{start}? {name}")
        head, within = f"{indent}:", indent + "  "
    if type(item) is dict and item:
        lines.append(head)
        _mapping(item, indent + "  ", lines, "")
    elif type(item) is list and item:
        lines.append(head)
        _list(item, within, lines, "")
    else:
        lines.append(f"{head} {_scalar(item)}")


def _list(value: list[Any], indent: str, lines: list[str], first: str) -> None:
    start = first or indent
    for item in value:
        _item(item, indent, lines, start)
        start = indent


def _item(item: Any, indent: str, lines: list[str], start: str) -> None:
    if type(item) is dict and item:
        _mapping(item, indent + "  ", lines, f"{start}- ")
    elif type(item) is list and item:
        _list(item, indent + "  ", lines, f"{start}- ")
    else:
        lines.append(f"{start}- {_scalar(item)}")


def _scalar(value: Any) -> str:
    kind = type(value)
    if kind is str:
        return _string(value)
    if kind is bool:
        return "true" if value else "false"
    if value is None:
        return "null"
    if kind is int:
        return str(value)
    if kind is float:
        text = repr(value)
        # YAML 1.1 needs a point before the exponent to see a number
        return text.replace("e", ".0e") if "e" in text and "." not in text else text
    return "{}" if kind is dict else "[]"


def _string(text: str) -> str:
    if _PLAIN.match(text) and text.lower() not in _WORDS:
        return text
    return quoted(text)


def quoted(text: str) -> str:
    """A text in double quotes, on one line."""
    for character, escaped in _SHORT.items():
        text = text.replace(character, escaped)
    return '"' + _ESCAPED.sub(_escape, text) + '"'


def _escape(match: re.Match[str]) -> str:
    return f"\\u{ord(match[0]):04x}"
