r"""Where values stand in a text file: quoted ones only where its syntax begins a value, others in a name as a name.

What `quote` writes has its own quotes. Within quotes that the author writes around it, the two pairs cancel each other
out, and the value is free to change the file: a shell runs the `$(id)` of `"{{ params.v | quote }}"`. The same is true
of a comment that the value ends, and of a here-document. A text carries a mark at each end of a quoted value until
`checked` has looked at its place.

The scanners know the quotes and comments of each syntax, and no more of it:

- HCL: https://github.com/hashicorp/hcl/blob/main/hclsyntax/spec.md#lexical-elements
- JSON5: https://spec.json5.org/#lexical-grammar
- Lua: https://www.lua.org/manual/5.4/manual.html#3.1
- TOML: https://toml.io/en/v1.0.0
- shell: https://pubs.opengroup.org/onlinepubs/9699919799/utilities/V3_chap02.html#tag_18_02
- nginx takes a quote for a quote only where a word begins, as its source (`ngx_conf_file.c`) shows.

What `quote` writes for the other syntaxes has no quotes, and means the same everywhere on its line.

A harmless value without quotes can still be more than one name: `PATH=/evil:` in front of `_URL=` in an env file is
another variable, `a.b` another table of TOML. So such a value carries marks as well, and where a key, a tag or a
command begins it may hold only what a name there holds.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from injector.budget import FaultError, charge
from injector.names import shortened

#: Stand around a quoted value: noncharacters of Unicode, which are never text.
START, END = "\ufdd3", "\ufdd4"
#: Stands before a value without quotes that is more than a word of letters and digits, with `END` behind it.
BARE = "\ufdd5"
_MARKS = str.maketrans("", "", START + END + BARE)
_BARE_VALUE = re.compile(f"{BARE}([^{END}]*){END}")
_WORD = re.compile(r"\w*\Z", re.ASCII)
_VALUE = f"(?P<value>{START}[^{END}]*{END})"
_DOUBLE = r"""(?P<quotes>"(?:\\.|[^"\\])*"?)"""
_EITHER = r"""(?P<quotes>"(?:\\.|[^"\\])*"?|'(?:\\.|[^'\\])*'?)"""

#: The parts of a text that matter, by its syntax; the first that fits at a place is the one that is there.
_PARTS = {
    syntax: re.compile("|".join((_VALUE, *parts)), re.DOTALL)
    for syntax, parts in {
        "env": (r"""(?<==)[ \t]*(?P<quotes>'[^']*'?|"(?:\\.|[^"\\])*"?)""", r"(?P<comment>(?<![^\s])#[^\n]*)"),
        "hcl": (
            _DOUBLE,
            r"(?P<here><<-?(?P<end>[\w-]+)\n.*?(?:\n[ \t]*(?P=end)(?![\w-])|\Z))",
            r"(?P<comment>#[^\n]*|//[^\n]*|/\*.*?(?:\*/|\Z))",
        ),
        "json": (_EITHER, r"(?P<template>`(?:\\.|[^`\\])*`?)", r"(?P<comment>//[^\n]*|/\*.*?(?:\*/|\Z))"),
        "lua": (
            r"(?P<comment>--\[(?P<dashes>=*)\[.*?(?:\](?P=dashes)\]|\Z)|--[^\n]*)",
            r"(?P<long>\[(?P<level>=*)\[.*?(?:\](?P=level)\]|\Z))",
            _EITHER,
        ),
        "nftables": (r'(?P<quotes>"[^"]*"?)', r"(?P<comment>#[^\n]*)"),
        "nginx": (_EITHER, r"(?P<comment>#[^\n]*)", r"(?P<word>(?![\s;{}])(?:\\.|\$\{|[^\s;{\\])+)"),
        "toml": (
            r'''(?P<long>"""(?:\\.|[^\\])*?(?:"""|\Z)|\'\'\'.*?(?:\'\'\'|\Z))''',
            r"""(?P<quotes>"(?:\\.|[^"\\\n])*"?|'[^'\n]*'?)""",
            r"(?P<comment>#[^\n]*)",
        ),
    }.items()
}
_SHELL = re.compile(
    "|".join(
        (
            _VALUE,
            r"(?P<escape>\\.)",
            r"(?P<quotes>\$?'(?:(?<=\$')(?:\\.|[^'\\])*|[^']*)'?)",
            r"(?P<arithmetic>\$\(\((?:[^()]|\([^()]*\))*\)\))",
            r"(?P<comment>(?<![^\s;|&()`])#[^\n]*)",
            r"(?P<string><<<)",
            r"""(?P<here><<-?[ \t]*\\?(?P<mark>["']?)(?P<end>[A-Za-z_]\w*)(?P=mark))""",
            r'(?P<double>")',
            r"(?P<open>\$?\()",
            r"(?P<case>(?<!\w)case(?=\s))",
            r"(?P<close>\))",
            r"(?P<backtick>`)",
            rf"(?P<expansion>\$(?={START}))",
            r"(?P<line>\n)",
        )
    ),
    re.DOTALL,
)
#: The parts of a shell's text within double quotes.
_SHELL_DOUBLE = re.compile(
    rf'(?P<value>{START})|(?P<escape>\\.)|(?P<double>")|(?P<open>\$\()|(?P<backtick>`)', re.DOTALL
)

_FAULTS = {
    "arithmetic": (
        "is inside $((...)), where only numbers are valid; declare an integer parameter and leave `| quote` out"
    ),
    "backtick": "is between backticks, and the value could contain a backtick; write $(...) instead",
    "case": 'is in or after a `case` within "$(...)"; take the `case` out of the quotes',
    "comment": "is in a comment; take it out of the comment",
    "escape": "is directly after a backslash, which escapes its first quote; remove the backslash",
    "expansion": "is directly after a $, which gives its quotes another meaning; remove the $",
    "here": "is in a here-document, where its quotes are part of the text; write the text as a quoted string instead",
    "word": "is inside a word, where nginx does not read quotes; apply `| quote` to the whole word, for example {{ "
    '("http://" ~ params.host) | quote }}',
}
#: Of a line, no more than this is looked at before a value without quotes.
_NEAR = 300
_DELIMITERS = re.compile(r"[{\[(,;]")
_COMMAND = re.compile(
    r"(?:.*(?:[;|&(`{]|\b(?:then|do|else|elif|if|while|until|exec|env|export|local|readonly)\s))?"
    r"\s*(?:[A-Za-z_]\w*=\S*\s+)*\w*\Z"
)
_TAG = re.compile(r"""<(?!!--)(?:[^<>"']|"[^"]*"|'[^']*')*\Z""")


_OF_LITERALS = (
    (
        lambda before: not re.search("[=:]", _DELIMITERS.split(before)[-1]),
        re.compile(r"[\w-]*\Z", re.ASCII),
        "a key",
    ),
    (lambda before: True, re.compile(r"[^=,]*\Z"), "one value"),
)
_OF_LINES = ((lambda before: not re.search("[=:]|\\A\\s*[#;!]", before), re.compile(r"[^=:]*\Z"), "a key"),)
#: By syntax: whether what stands on the line before a value makes its place one for a name, what a name there holds,
#: and what it is called.
_NAMES: dict[str, tuple[tuple[Callable[[str], object], re.Pattern[str], str], ...]] = {
    "env": ((lambda before: "=" not in before, _WORD, "the name of a variable"),),
    "hcl": _OF_LITERALS,
    "ini": _OF_LINES,
    "json": _OF_LITERALS,
    "lua": _OF_LITERALS,
    "properties": _OF_LINES,
    "sh": ((_COMMAND.match, re.compile(r"(?!\w*=)"), "a command"),),
    "toml": _OF_LITERALS,
    "xml": ((lambda before: _TAG.search(before, max(before.rfind("<"), 0)), re.compile(r"[\w.:-]*\Z"), "a name"),),
}
#: Here `quote` may write a value as it is.
_AS_IT_IS = frozenset(("env", "ini", "xml"))
_QUOTES = "is inside quotes that the file already has; remove those quotes: the quote filter adds its own"


def with_marks(text: str, syntax: str) -> str:
    """What `quote` wrote for a syntax, marked if its place has to be looked at."""
    if syntax in _AS_IT_IS:
        text = with_bare_marks(text, syntax)
    return f"{START}{text}{END}" if syntax in _PARTS or syntax == "sh" else text


def with_bare_marks(text: str, syntax: str) -> str:
    """A harmless text without quotes, marked if its place has to be looked at."""
    return text if syntax not in _NAMES or _WORD.match(text) else f"{BARE}{text}{END}"


def without_marks(text: str) -> str:
    """A text without marks."""
    return text.translate(_MARKS) if START in text or BARE in text else text


def checked(text: str, syntax: str) -> str:
    """A text without its marks. Raises FaultError, with an offset in that text, for a value in a wrong place."""
    misplaced = misplaced_quote(text, syntax) if START in text else None
    if misplaced or (misplaced := _misplaced_name(text, syntax) if BARE in text else None):
        offset, fault = misplaced
        raise FaultError(fault).at(len(without_marks(text[:offset])))
    return without_marks(text)


def misplaced_quote(text: str, syntax: str) -> tuple[int, str] | None:
    """Where in a marked text the first value in a wrong place stands, and what is wrong; None if there is no such."""
    for kind, offset in _in_shell(text) if syntax == "sh" else _in_other(text, _PARTS[syntax]):
        return offset, f"a quoted value {_FAULTS.get(kind, _QUOTES)}"
    return None


def _misplaced_name(text: str, syntax: str) -> tuple[int, str] | None:
    """Where the first value without quotes stands that is more than a name, in the place of a name, and its fault."""
    if parts := _PARTS.get(syntax):  # what is within quotes or a comment is neither
        text = parts.sub(lambda part: part[0] if part.lastgroup == "value" else "x" * len(part[0]), text)
    for value in _BARE_VALUE.finditer(text):
        charge(50)
        begin = max(text.rfind("\n", 0, value.start()) + 1, value.start() - _NEAR)
        before = text[begin : value.start()].translate(_MARKS)
        for is_there, name, kind in _NAMES[syntax]:
            if is_there(before):
                if not name.match(value[1]):
                    message = f"{shortened(value[1])} would not be {kind} here"
                    return value.start(), f"{message}; give the parameter a pattern, or write the value elsewhere"
                break
    return None


def _in_other(text: str, parts: re.Pattern[str]) -> Iterator[tuple[str, int]]:
    """The kinds of the wrong places, and where values stand in them."""
    for part in parts.finditer(text):
        if part.lastgroup != "value" and START in part[0]:
            yield str(part.lastgroup), part.start() + part[0].index(START)


def _in_shell(text: str) -> Iterator[tuple[str, int]]:
    """The kinds of the wrong places in a script, and where values stand in them; `$(...)` within `"` begins anew."""
    within: list[str] = []  # what is open: `"`, `(` of a substitution or a group, a backtick
    ends = []  # of the here-documents that begin with the next line
    at = 0
    while part := (_SHELL_DOUBLE if within[-1:] == ['"'] else _SHELL).search(text, at):
        at, kind, start = part.end(), str(part.lastgroup), max(part[0].find(START), 0) + part.start()
        if kind == "value":
            if within[-1:] == ['"'] or "`" in within:
                yield "quotes" if within[-1] == '"' else "backtick", start
        elif START in part[0]:
            yield kind, start
        elif kind == "expansion":
            yield kind, at
        elif kind == "case" and '"' in within and (marked := text.find(START, at)) > 0:
            yield kind, marked  # the `)` of its patterns would be taken for the end of the substitution
        elif kind in ("double", "backtick") and within[-1:] == [part[0]]:
            within.pop()
        elif kind in ("double", "backtick", "open"):
            within.append(part[0][-1])
        elif kind == "close" and within[-1:] == ["("]:
            within.pop()
        elif kind == "here":
            ends.append(part["end"])
        elif kind == "line":
            for end in ends:
                line = re.compile(rf"^\t*{end}$", re.MULTILINE).search(text, at)
                body = text[at : line.end() if line else None]
                if START in body:
                    yield "here", at + body.index(START)
                at += len(body)
            ends.clear()
