"""Values in text files: which are harmless anywhere, and how others are quoted for the syntax they stand in.

| filter | for | writes | refuses |
| --- | --- | --- | --- |
| (none) | any text file | numbers, and strings of `A-Z a-z 0-9 . _ : / @ % + = , -` as they are | all else |
| `nginx_quote` | nginx: one parameter of a directive | `"..."`, `"` and `\\` escaped | control characters, `$` |
| `json_quote` | a value in JSON, or a string in JavaScript, HCL without templates, TOML | JSON of any value | nothing |
| `ini_value` | the right side of `key = value`, to the line's end | the string as it is | see below |
| `shell_quote` | POSIX shell: one word | `'...'` | NUL |

nginx expands `$name` within double quotes too, and knows no escape for `$`: a value with one is refused. An INI reader
strips blanks, and some take quotes, `;`, `#`, `%`, `\\` or `$` for their own: a value with such a first or last
character, a control character, or any of `;#%$\\` is refused.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from injector.errors import FaultError
from injector.names import shortened

_HARMLESS = re.compile(r"[A-Za-z0-9._:/@%+=,-]*\Z")
#: Control characters of ASCII and Latin-1, and Unicode's line and paragraph separators.
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")


class Quoted(str):
    """A value that a quoting filter has made safe for its place; any operation on it makes it a plain value again."""

    __slots__ = ()


class UnquotedError(FaultError):
    """A value that a text file cannot hold as it is. `advice` is what to do, `filters` are those that write it."""

    def __init__(self, message: str, advice: str, then: str, filters: Iterable[str]) -> None:
        super().__init__(message)
        self.advice = advice
        self.then = then
        self.filters = tuple(filters)

    def sentence(self, source: str) -> str:
        """What is wrong and what to do, with the filters that fit a file of this name: all where that does not tell."""
        fitting = [name for ending, name in _FITTING if re.search(ending, source)] or list(QUOTING)
        shown = ", ".join(f"| {name}" for name in fitting if name in self.filters)
        return f"{self}; {self.advice}{self.then}{shown}" if shown else f"{self}; {self.advice}"


def check_harmless(value: Any) -> str:
    """A value as a text file may hold it without quotes. Raises FaultError naming what to do instead."""
    kind = type(value)
    if kind is int or kind is float:
        return repr(value)
    if kind is str:
        if _HARMLESS.match(value):
            return value  # type: ignore[no-any-return]
        raise UnquotedError(f"{shortened(value)} could change the file's syntax here", "quote it", ": ", QUOTING)
    if kind is bool:
        word = "true" if value else "false"
        raise FaultError(
            f'a boolean has no one spelling in a text; write {{{{ "on" if x else "off" }}}} (it is {word})'
        )
    if value is None:
        raise FaultError("a null in a text; give it a `| default(...)`, or leave the line out with {% if %}")
    raise UnquotedError("a list or mapping in a text", "loop over it with {% for %}", ", or use ", ["json_quote"])


def nginx_quote(value: Any) -> Quoted:
    """One parameter of an nginx directive, in double quotes."""
    text = _string(value)
    _refuse(text, _CONTROL.search(text), "a control character")
    _refuse(text, "$" in text, "a $, which nginx takes for a variable")
    return Quoted('"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"')


def json_quote(value: Any) -> Quoted:
    """Any value as JSON on one line, all of it ASCII, so that no reader takes a character for the end of a line."""
    text = msgspec.json.encode(value).decode()
    return Quoted(re.sub(r"[^\x20-\x7e]|[<>&]", lambda m: _escape(m[0]), text))


def ini_value(value: Any) -> Quoted:
    """The right side of `key = value` in an INI file."""
    text = _string(value)
    _refuse(text, _CONTROL.search(text), "a control character")
    _refuse(text, text != text.strip(), "a blank at an end")
    _refuse(text, text[:1] in ("'", '"', "[") or text[-1:] in ("'", '"'), "a quote or bracket at an end")
    _refuse(text, re.search(r"[;#%$\\]", text), "one of ; # % $ \\")
    return Quoted(text)


def shell_quote(value: Any) -> Quoted:
    """One word of a POSIX shell, in single quotes."""
    text = _string(value)
    _refuse(text, "\0" in text, "a NUL")
    return Quoted("'" + text.replace("'", "'\"'\"'") + "'")


QUOTING: dict[str, Callable[[Any], Quoted]] = {
    "nginx_quote": nginx_quote,
    "json_quote": json_quote,
    "ini_value": ini_value,
    "shell_quote": shell_quote,
}

#: Those for a language that stands within a string of a YAML document: a script, a text that is JSON.
EMBEDDED: dict[str, Callable[[Any], Quoted]] = {"json_quote": json_quote, "shell_quote": shell_quote}
#: By a source's name, the filter that fits it.
_FITTING = (
    (r"nginx.*\.conf\.j2\Z", "nginx_quote"),
    (r"\.(?:json5?|js|toml|hcl)\.j2\Z", "json_quote"),
    (r"\.(?:ini|cfg|properties)\.j2\Z", "ini_value"),
    (r"\.(?:sh|bash)\.j2\Z", "shell_quote"),
)


def _string(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, int | float) and not isinstance(value, bool):
        return repr(value)
    return check_harmless(value)


def _refuse(text: str, found: object, what: str) -> None:
    if found:
        raise FaultError(f"{shortened(text)} holds {what}; it cannot be written here safely")


def _escape(character: str) -> str:
    code = ord(character)
    if code < 0x10000:
        return f"\\u{code:04x}"
    code -= 0x10000
    return f"\\u{0xD800 + (code >> 10):04x}\\u{0xDC00 + (code & 0x3FF):04x}"
