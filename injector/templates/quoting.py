r"""Values in text files: which are harmless anywhere, and how others are quoted for the syntax of their file.

The filter `quote` does what the file's syntax needs: `template.yaml` says it (`syntax:`), or the file's name. Without a
filter a text file takes numbers, and strings of `A-Z a-z 0-9 . _ : / @ % + = , -`.

| syntax | `quote` writes | refuses |
| --- | --- | --- |
| json | JSON of any value, all of it ASCII | nothing |
| hcl, toml, lua | a literal of any value but null; a string in double quotes | hcl: control characters |
| nginx | one parameter, in double quotes | control characters, `$` |
| sh | one word, in single quotes | NUL |
| nftables | a string, in double quotes | control characters, `"`, `$`, a last `*` |
| env | a harmless string as it is, another in single quotes | control characters, `'`, `\`, `$` |
| properties | a key or a value, with backslashes | `${`, `#{` |
| xml | text, or an attribute's value where quotes stand around it | what XML cannot hold, `${`, `#{` |
| ini | the rest of a line as it is | control characters, `;#%$\`, blanks, quotes and a bracket at an end |
| plain | one line of text as it is | control characters |

A value is refused where the syntax, or one of the usual readers of it, has no way to write it. nginx expands `$name`
within quotes and has no escape for it, nor has nft for `"`, or for `$` in a log prefix, and a last `*` makes the name
of an interface a pattern. The readers of dotenv files agree on nothing within quotes but plain characters. Spring,
Log4j and Ant expand `${...}` and `#{...}` after the parser has taken every escape away. HCL of Vault and Consul
(version 1) does not know `$${`, so `{` is written by its number, which both versions read.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import msgspec

from injector.budget import FaultError
from injector.names import kind_of, shortened

_HARMLESS = re.compile(r"[A-Za-z0-9._:/@%+=,-]*\Z")
#: Control characters of ASCII and Latin-1, and Unicode's line and paragraph separators.
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")
#: In a harmless string, what begins a comment or an interpolation in one syntax.
_HARMFUL = {
    "hcl": re.compile(r"(?<!:)//"),
    "ini": re.compile("%"),
    "json": re.compile(r"(?<!:)//"),
    "lua": re.compile("--"),
}
#: What quotes of a foreign syntax may hold all the same: a list of harmless words in double quotes.
_MILD = re.compile(r"""[A-Za-z0-9._:/@%+=, "'\[\]-]*\Z""")
#: What XML 1.0 cannot hold, not even as a reference (XML 1.0, section 2.2).
_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
#: What marks places in a text that is being rendered, see `structure` and `quoted_places`.
_MARKS = re.compile("[\ufdd0-\ufdd5]")
#: What to do about a value that is not quoted, or quoted for another syntax.
USE_QUOTE = "write `| quote`, without quotes around it"


class Quoted(str):
    """A value that a quoting filter has made safe for its place; any operation on it makes it a plain value again.

    `value` is what it was, `syntax` the one that it is quoted for.
    """

    __slots__ = ("syntax", "value")

    syntax: str
    value: Any

    def __new__(cls, text: str, value: Any = None, syntax: str = "") -> Quoted:
        """The text of a quoted value."""
        quoted = super().__new__(cls, text)
        quoted.value = value
        quoted.syntax = syntax
        return quoted


def check_harmless(value: Any, syntax: str = "") -> str:
    """A value as a text file may hold it without quotes. Raises FaultError naming what to do instead."""
    if value is None or isinstance(value, bool | list | tuple | dict):
        raise FaultError(f"{kind_of(value)} cannot be written into a text as it is; {_INSTEAD.get(type(value), _LOOP)}")
    text = value if isinstance(value, str) else repr(value)
    if not _HARMLESS.match(text) or ((rule := _HARMFUL.get(syntax)) and rule.search(text)):
        raise FaultError(f"{shortened(text)} could change the file's syntax here; {quoting_advice(syntax)}")
    return text


def quoting_advice(syntax: str) -> str:
    """What to write for a value that a file of this syntax cannot hold as it is; "" is a syntax that is not known."""
    return USE_QUOTE if syntax else f"{_name_it()}, and {USE_QUOTE}"


#: What to write for a value that a text cannot hold, by its type.
_INSTEAD = {
    bool: 'write {{ "on" if x else "off" }}, or `| quote` in a language with literals',
    type(None): "give it a `| default(...)`, or leave the line out with {% if x is not none %}",
}
_LOOP = 'write | join(",") for one line, {% for %} for several, or `| quote` in a language with literals'


def check_quoted(quoted: Quoted, syntax: str) -> str:
    """A quoted value as a file of this syntax may hold it. Raises FaultError if quotes of another do not hold it."""
    if not syntax or quoted.syntax == syntax or _MILD.match(quoted):
        return str(quoted)
    try:
        fits = SYNTAXES[syntax](quoted.value) == quoted
    except FaultError:
        fits = False
    if fits:
        return str(quoted)
    raise FaultError(f"{shortened(quoted.value)} is quoted for {quoted.syntax}, and this file is {syntax}; {USE_QUOTE}")


# ------------------------------------------------------------------------------- one function for each syntax


def json_quote(value: Any) -> str:
    """Any value as JSON on one line, all of it ASCII, so that no reader takes a character for the end of a line."""
    return re.sub(r"[^\x20-\x7e]|[<>&]", lambda m: _utf16(m[0]), msgspec.json.encode(value).decode())


def _toml(text: str) -> str:
    # https://toml.io/en/v1.0.0#string: JSON's escapes, but a character above U+FFFF in one
    text = msgspec.json.encode(text).decode()
    return re.sub(r"[^\x20-\x7e]|[<>&]", lambda m: _numbered(m[0]), text)


def _hcl(text: str) -> str:
    # https://github.com/hashicorp/hcl/blob/main/hclsyntax/spec.md#template-expressions
    _refuse(text, _CONTROL.search(re.sub("[\t\n\r]", "", text)), "a control character")
    return re.sub(r"[$%]\{", lambda m: m[0][0] + "\\u007b", _toml(text))


def _lua(text: str) -> str:
    # https://www.lua.org/manual/5.1/manual.html#2.1: a byte by its three digits
    escaped = (chr(b) if 0x20 <= b < 0x7F and b not in b'"\\' else f"\\{b:03d}" for b in text.encode())
    return '"' + "".join(escaped) + '"'


def _double_quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _properties(text: str) -> str:
    # https://docs.oracle.com/en/java/javase/21/docs/api/java.base/java/util/Properties.html#load(java.io.Reader)
    return re.sub(r"[^\x21-\x7e]|[\\#!=:]", lambda m: f"\\{m[0]}" if m[0] in "\\#!=: " else _utf16(m[0]), text)


def _xml(text: str) -> str:
    return re.sub("[&<>\"'\t\n\r\x7f-\x9f\u2028\u2029]", lambda m: f"&#{ord(m[0])};", text)


def _of_text(write: Callable[[str], str], *refused: tuple[str | re.Pattern[str], str]) -> Callable[[Any], str]:
    """A language for texts: how it writes one, and what such a text cannot hold."""

    def write_text(value: Any) -> str:
        text = _string(value)
        for pattern, kind in refused:
            _refuse(text, re.search(pattern, text), kind)
        return write(text)

    return write_text


#: What a line cannot hold.
_CONTROLS = (_CONTROL, "a control character")
_EXPANDED = (r"[$#]\{", "${ or #{, which many readers expand even if it is escaped")


def _literal(string: Callable[[str], str], around: str, pair: str) -> Callable[[Any], str]:
    """A language with literals for all values: how it writes a string, a list and a pair of a mapping."""

    def write(value: Any) -> str:
        kind = type(value)
        if kind is str:
            return string(value)
        if kind is bool:
            return str(value).lower()
        if kind is list:
            return around[0] + ",".join(map(write, value)) + around[1]
        if kind is dict:
            return "{" + ",".join(pair.format(string(key), write(item)) for key, item in value.items()) + "}"
        return check_harmless(value)

    return write


LITERALS = {
    "hcl": _literal(_hcl, "[]", "{}:{}"),
    "json": json_quote,
    "lua": _literal(_lua, "{}", "[{}]={}"),
    "toml": _literal(_toml, "[]", "{}={}"),
}
#: What `quote` writes, by the syntax of the file.
SYNTAXES: dict[str, Callable[[Any], str]] = {
    **LITERALS,
    "env": _of_text(
        lambda text: text if _HARMLESS.match(text) else f"'{text}'",
        _CONTROLS,
        (r"['\\$]", "one of ' \\ $, which readers of dotenv files read in different ways"),
    ),
    "ini": _of_text(
        str,
        _CONTROLS,
        (r"\A\s|\s\Z", "a space at the beginning or the end"),
        (r"""\A['"\[]|['"]\Z""", "a quote or bracket at the beginning or the end"),
        (r"[;#%$\\]", "one of ; # % $ \\"),
    ),
    "nginx": _of_text(_double_quoted, _CONTROLS, (r"\$", "a $, which nginx takes for a variable")),
    "nftables": _of_text('"{}"'.format, _CONTROLS, (r'["$]|\*\Z', 'a " or $, or a * at the end')),
    "plain": _of_text(str, _CONTROLS),
    "properties": _of_text(_properties, _EXPANDED),
    "sh": _of_text(lambda text: "'" + text.replace("'", "'\"'\"'") + "'", ("\0", "a NUL")),
    "xml": _of_text(_xml, _EXPANDED, (_NO_XML, "a character that XML has no way to write")),
}
#: The filters that name a syntax themselves, and which.
NAMED = {"ini_value": "ini", "json_quote": "json", "nginx_quote": "nginx", "shell_quote": "sh"}
#: Those for a language that stands within a string of a YAML document: a script, a text that is JSON.
EMBEDDED = ("json_quote", "shell_quote")


def quote(value: Any, syntax: str) -> Quoted:
    """A value as a file of this syntax holds it. Raises FaultError for one that the syntax cannot hold safely."""
    if not syntax:
        raise FaultError(f"quote needs to know the syntax of the file; {_name_it()}")
    text = SYNTAXES[syntax](value)
    _refuse(text, _MARKS.search(text), "a noncharacter of Unicode, which is never text")
    return Quoted(text, value, syntax)


def _name_it() -> str:
    return f"set `syntax:` of the file in template.yaml, to one of {', '.join(sorted(SYNTAXES))}"


def _string(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, int | float) and not isinstance(value, bool):
        return repr(value)
    return check_harmless(value)


def _refuse(text: str, match: object, kind: str) -> None:
    if match:
        raise FaultError(f"{shortened(text)} holds {kind}; it cannot be written here safely")


def _utf16(character: str) -> str:
    data = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{data[at]:02x}{data[at + 1]:02x}" for at in range(0, len(data), 2))


def _numbered(character: str) -> str:
    return f"\\u{ord(character):04x}" if ord(character) < 0x10000 else f"\\U{ord(character):08x}"


# ------------------------------------------------------------------------- the syntax of a file, by its name

_BY_NAME = tuple(
    (re.compile(pattern), syntax)
    for pattern, syntax in (
        (r"\.(?:hcl|nomad|tf|tfvars)\Z", "hcl"),
        (r"\.(?:js|json[5c]?)\Z", "json"),
        (r"\.toml\Z", "toml"),
        (r"\.lua\Z", "lua"),
        (r"nginx.*\.conf\Z|\.nginx\Z", "nginx"),
        (r"\.(?:bash|sh)\Z", "sh"),
        (r"\.nft\Z", "nftables"),
        (r"(?:\A|\.)env\Z", "env"),
        (r"\.properties\Z", "properties"),
        (r"\.xml\Z", "xml"),
        (r"\.ini\Z", "ini"),
        (r"\.(?:md|txt)\Z", "plain"),
    )
)


def syntax_of(file: str) -> str:
    """The syntax that the name of a file tells, "" where it tells none."""
    return next((syntax for pattern, syntax in _BY_NAME if pattern.search(file)), "")
