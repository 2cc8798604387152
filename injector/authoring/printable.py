"""Text of others for a terminal, a log or a report: nothing in it does anything, and no line of it begins on its own.

Names of files, of cases and of keys are what their authors chose; a terminal obeys control characters, and a build
server takes a line that begins with `::` for a command.
"""

from __future__ import annotations

import re

#: Half of a pair, which no encoding of Unicode has: a byte of a file's name that is not UTF-8, or `\ud800` in JSON.
_HALF = re.compile("[\ud800-\udfff]")
#: What XML 1.0 cannot hold at all.
_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_SPELLED = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


def encodable(text: str) -> str:
    """A text that can be written as UTF-8: half of a pair is U+FFFD."""
    return _HALF.sub("\ufffd", text)


def for_xml(text: str) -> str:
    """A text that XML can hold: what it cannot is U+FFFD."""
    return _NO_XML.sub("\ufffd", text)


def one_line(text: str) -> str:
    """A text on one line, all of it to be seen: line ends and tabs are spelled as in Python, other control is `?`."""
    return "".join(map(_seen, encodable(text)))


def path_line(path: str) -> str:
    """A path where a line begins with it: as `one_line`, and no command of a build server."""
    line = one_line(path)
    return f"./{line}" if line.lstrip().startswith("::") else line


def quoted_lines(text: str) -> list[str]:
    """The lines of a program's output, each behind `| `, so that it is told from the words around it."""
    return [f"| {''.join(map(_seen, encodable(line.expandtabs())))}".rstrip() for line in text.splitlines()]


def _seen(character: str) -> str:
    return character if character.isprintable() else _SPELLED.get(character, "?")
