"""Values as YAML text that every YAML reader reads back as the same values.

Block style. Strings are written plain only where no reader of YAML 1.1 or 1.2 takes them for anything else, and as
JSON strings everywhere else. It does the one thing needed for config files, and does it thirty times as fast as PyYAML.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache, partial
from itertools import groupby
from typing import Any, TypeAlias

from injector.templates.structure import FillPlan, ItemsPlan, MappingPlan, Structure, Values

#: The lines of a document; a _Hole stands for those that depend on values.
Lines: TypeAlias = list[Any]
#: Appends the lines of a value: value, indent, lines, what the first line starts with.
_Write: TypeAlias = Callable[[Any, str, Lines, str], None]
#: What writes the value of a part with holes, the part, and where it stands.
_Hole: TypeAlias = tuple[_Write, FillPlan, str, str]

#: Begins with a letter or slash, has no colon and no hash, and is none of the words that mean something.
_PLAIN = re.compile(r"(?!(?i:y|n|yes|no|on|off|true|false|null|nan|inf)\Z)[A-Za-z/][A-Za-z0-9_./@-]*\Z")
_SCALARS = frozenset((str, int, bool, float, type(None)))
#: What a double-quoted scalar has to escape: all that YAML does not call printable, and what ends lines or the scalar.
_ESCAPED = re.compile('[\\\\"\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]')
#: Characters of a key as written, quotes and escapes included. Readers look for the colon within 1,024, and behind
#: a longer key only where `?` announces it. https://yaml.org/spec/1.2.2/#742-flow-mappings
LONGEST_KEY = 1000
#: Characters of a string that is remembered as it is written.
_SHORT_TEXT = 64
_SHORT = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"}


def dump(value: Any) -> str:
    """One document of dicts, lists and scalars, ending in a line end."""
    return "\n".join(_lines(value)) + "\n"


class YamlDocument(Structure):
    """A structure that is written as YAML: the text around its holes is made once."""

    __slots__ = ("_pieces",)

    def __init__(self, text: str) -> None:
        """Parse a rendered text. Raises yaml.YAMLError with marks in that text."""
        super().__init__(text, replace=False)
        self._pieces: list[str | _Hole] = []
        for constant, run in groupby(_lines(self.root), lambda line: isinstance(line, str)):
            if constant:
                self._pieces.append("\n".join(run))
            else:
                self._pieces.extend(run)

    def text(self, values: Values) -> str:
        """What `dump` makes of the document with values in its holes. Raises FaultError."""
        self.check_size(values)
        lines = []
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


def _lines(value: Any) -> Lines:
    """The lines of a document; a _Hole stands for those that depend on values."""
    lines: Lines = []
    inner = _inner(value)
    if isinstance(inner, dict):
        _mapping(inner, "", lines, "")
    elif inner:
        _list(inner, "", lines, "")
    elif not isinstance(value, FillPlan):
        lines.append(_scalar(value))
    return lines


def _inner(value: Any) -> dict[Any, Any] | list[Any] | None:
    """What a mapping or a list holds that is as many lines whatever stands in its holes; None for all else."""
    if type(value) in _SCALARS:
        return None
    if isinstance(value, ItemsPlan):
        return value.items
    if isinstance(value, MappingPlan) and len(value.plain) == len(value.entries):
        return {key: item for key, item, _ in value.entries}
    return None if isinstance(value, FillPlan) else value or None


def _mapping(value: dict[Any, Any], indent: str, lines: Lines, start: str) -> None:
    """The lines of a mapping; `start` is what its first line starts with."""
    for key, item in value.items():
        _entry(_string(key), item, indent, lines, start)
        start = indent


def _list(value: list[Any], indent: str, lines: Lines, start: str) -> None:
    for item in value:
        _item(item, indent, lines, start)
        start = indent


def _entry(name: str, item: Any, indent: str, lines: Lines, start: str) -> None:
    within, head, deeper = indent, f"{start}{name}:", indent + "  "
    inner = _inner(item)
    if inner is None and isinstance(item, FillPlan):
        lines.append((partial(_entry, name), item, indent, start))
        return
    if len(name) > LONGEST_KEY:
        lines.append(f"{start}? {name}")
        within, head = deeper, f"{indent}:"
    if inner is None:
        lines.append(f"{head} {_scalar(item)}")
        return
    lines.append(head)
    if isinstance(inner, dict):
        _mapping(inner, deeper, lines, deeper)
    else:
        _list(inner, within, lines, within)


def _item(item: Any, indent: str, lines: Lines, start: str) -> None:
    inner = _inner(item)
    if isinstance(inner, dict):
        _mapping(inner, indent + "  ", lines, f"{start}- ")
    elif inner:
        _list(inner, indent + "  ", lines, f"{start}- ")
    elif isinstance(item, FillPlan):
        lines.append((_item, item, indent, start))
    else:
        lines.append(f"{start}- {_scalar(item)}")


def _scalar(value: Any) -> str:
    kind = type(value)
    if kind is str:
        return _string(value)
    if kind is bool:
        return str(value).lower()
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
    return _short_string(text) if len(text) <= _SHORT_TEXT else _any_string(text)


def _any_string(text: str) -> str:
    return text if is_plain(text) else quoted(text)


#: Remembered, as keys and words come again and again: at most 1,024 of them.
_short_string = lru_cache(maxsize=1024)(_any_string)


def is_plain(text: str) -> bool:
    """Whether every reader of YAML takes a text for the text itself when it stands without quotes."""
    return _PLAIN.match(text) is not None


def quoted(text: str) -> str:
    """A text in double quotes, on one line."""
    return '"' + _ESCAPED.sub(lambda match: _SHORT.get(match[0]) or f"\\u{ord(match[0]):04x}", text) + '"'
