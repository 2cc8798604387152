"""Expressions and tags as other languages write them, where Jinja's parser gives up: what to write here."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence

from injector.templates.foreign_calls import instead_of_call
from injector.templates.other_languages import of_go

#: A hole or a tag on one line: the tag's word and what stands within.
_WITHIN = re.compile(r"\{\{-?\s*(?P<hole>.*?)\s*-?\}\}|\{%[-+]?\s*(?P<tag>\w+)\s*(?P<inner>.*?)\s*[-+]?%\}")
#: What is longer is no slip of a person's, and takes too much time to look at.
_LONGEST = 400
#: A choice: condition, value, other value.
_CHOICES = tuple(
    re.compile(pattern)
    for pattern in (
        r"(?:if\s+)?(.+?)\s+then\s+(.+?)\s+else\s+(.+)",
        r"if\s+(.+?)\s+(\"[^\"]*\"|'[^']*')\s+else\s+(.+)",
        r"(.+?)\s*\?\s*(?![?:.])(.+?)\s*:\s*(.+)",
    )
)
_INSTEAD_OF_NULL = re.compile(r"(.+?)\s*\?[?:]\s*(.+)")
_TRIPLE = re.compile(r"\{\{\{\s*([^{}]+?)\s*\}\}\}")
#: What stands between two values, with ours.
_OPERATORS = {
    "eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "equals": "==", "AND": "and", "OR": "or",
    "NOT": "not", "IN": "in", "mod": "%", "div": "//", "isnt": "!=", "xor": "!=", "===": "==", "!==": "!=", "<>": "!=",
}  # fmt: skip
_SIGN = re.compile(r"!==|===|<>|=>|=~|\+\+|--|\?\.|\?\[")
#: Comparisons that are words, with ours for their two sides.
_COMPARISONS = {
    **dict.fromkeys(("contains", "includes", "has"), "{1} in {0}"),
    **dict.fromkeys(("startswith", "starts_with", "hasPrefix", "startsWith"), "{0}.startswith({1})"),
    **dict.fromkeys(("endswith", "ends_with", "hasSuffix", "endsWith"), "{0}.endswith({1})"),
}
_COMPARED = re.compile(rf"([\w.\[\]\"']+)\s+({'|'.join(_COMPARISONS)})\s+([^%}}]+)")
#: The name of a filter, and a value behind it without brackets: `| default "x"`.
_FILTER = re.compile(r"\|\s*(\w+)\s*:?\s*\Z")
#: Numbers from one to another, as a loop counts them.
_NUMBERS = re.compile(r"(\w+)\s+in\s+\(?(\d{1,6})\s*\.\.+\s*(\d{1,6})")
_SET = re.compile(r"(\w+)\s*(?::=|[-+*/]=|:)\s*")
_IS = re.compile(r"\bis\s+(?:not\s+)?\Z")
_PATH = re.compile(r"[A-Za-z_]\w*(?:\.\w+)*")
_LOOP = "{% for item in list %}"
_NO_PATTERNS = 'a template has no regular expressions: write params.x.startswith("a"), or "a" in params.x'

_Said = tuple[str, int] | None


def choice(text: str, begin: int, offset: int) -> _Said:
    """What to say about a choice between two values in the hole or tag that begins at an offset, and where; or None."""
    within = _within(text, begin)
    inner = (within["hole"] or within["inner"] or "") if within else ""
    for pattern in _CHOICES:
        if found := pattern.fullmatch(inner):
            condition, value, other = (part.strip() for part in found.groups())
            written = f"{{{{ {value} if {condition} else {other} }}}}"
            return f"`if` follows the value here: write {written}", offset
    if found := _INSTEAD_OF_NULL.fullmatch(inner):
        left, right = found[1].strip(), found[2].strip()
        return f"for a default value, write {{{{ {left} | default({right}) }}}}", offset
    at = text.rfind("{{{", 0, offset)
    if at >= 0 and (triple := _TRIPLE.match(text[at : at + _LONGEST])):
        return f"two braces are enough: write {{{{ {triple[1]} }}}}", offset
    return None


def _within(text: str, begin: int) -> re.Match[str] | None:
    """The hole or tag that begins at an offset; None for one that has several lines, or is very long."""
    return _WITHIN.match(text[begin : begin + _LONGEST].partition("\n")[0])


def habit(kind: str, values: Sequence[str], text: str, begin: int, offset: int) -> _Said:
    """What to say of the hole or tag that begins at an offset, and where; None for a mistake of another kind.

    `kind` and `values` are the parser's words, see `library_messages`, and `offset` is where it gave up.
    """
    within = _within(text, begin)
    if within is None or begin + within.end() <= offset:
        return None
    wanted, got = (values[0], values[1]) if kind == "wrong-token" else ("", values[0] if values else "")
    if said := _sign(text, offset):
        return said, offset
    tag, inner = within["tag"] or "", within["inner"] or within["hole"] or ""
    if said := _of_tag(tag, inner, wanted, got, text[begin : begin + 2 * _LONGEST]):
        return said, offset if tag == "for" else begin
    if "lambda" in inner or "=>" in inner:
        return "a template defines no functions; write a filter, such as map, select or reject, or a {% for %}", offset
    if got == "for" and kind == "wrong-token":
        return f"a loop inside brackets is not available; write {_LOOP}, or a filter such as map or select", offset
    return _between(kind, wanted, got, text, begin, offset, inner)


def _between(kind: str, wanted: str, got: str, text: str, begin: int, offset: int, inner: str) -> _Said:
    """The same of what stands between two values."""
    if kind != "wrong-token":
        return None
    end = wanted.startswith("end of")
    if end and (filter_ := _FILTER.search(text, begin, offset)):
        given = re.split(r"-?[%}]\}|\|", text[offset:].partition("\n")[0])[0].strip(" :-")
        return f"a filter has its arguments in parentheses: write {filter_[1]}({given[:40]})", offset
    if wanted == "name" and _IS.search(text[begin:offset]):
        return "`is` is for tests such as `is defined`; write == or != to compare", offset
    if got in _OPERATORS:
        return f"write {_OPERATORS[got]} in place of {got}", offset
    if compared := _COMPARED.search(inner):
        written = _COMPARISONS[compared[2]].format(compared[1], compared[3].strip())
        return f"there is no operator `{compared[2]}` here; write {written}", offset
    if end and (called := _words(inner)):
        return called, offset
    if got == ";":
        return "a tag holds one expression; leave ; out", offset
    return None


def _sign(text: str, offset: int) -> str:
    """What to write for a sign that other languages have at an offset; "" for none."""
    found = next((one for one in _SIGN.finditer(text, max(offset - 2, 0), offset + 3) if one.end() > offset), None)
    before = _PATH.findall(text[:offset].rpartition("\n")[2])
    name = before[-1] if before else "params.x"
    twice = text[:offset].rstrip()[-2:]
    sign = found[0] if found else twice if twice in ("++", "--") else ""
    if sign in _OPERATORS:
        return f"write {_OPERATORS[sign]} in place of {sign}"
    if sign in ("++", "--"):
        return f"write {name} {sign[0]} 1"
    if sign in ("?.", "?["):
        return "leave ? out: a field of a missing value is missing too, so `| default(...)` at the end is enough"
    return _NO_PATTERNS if sign == "=~" else ""


def _words(inner: str) -> str:
    """What to write for a function with its values behind it, as in `len params.hosts`; "" for anything else."""
    try:
        name, *values = shlex.split(inner.replace('"', "'\"'"), posix=True) if inner.count('"') % 2 == 0 else [""]
    except ValueError:
        return ""
    if not name.isidentifier() or not values:
        return ""
    return instead_of_call(name, [value for value in values if value != "."])


def _of_tag(tag: str, inner: str, wanted: str, got: str, text: str) -> str:
    """What is wrong with a tag by its word, `inner` being what follows that; "" for nothing that is of this tag.

    `text` is that of the file from the tag on.
    """
    if tag == "for" and (numbers := _NUMBERS.search(inner)):
        return f"write {{% for {numbers[1]} in range({numbers[2]}, {int(numbers[3]) + 1}) %}}"
    if tag == "for" and (got == "=" or wanted == "in"):
        return f"a loop is written {_LOOP}"
    if tag == "set" and (_SET.match(inner) or "=" not in inner):
        name, _, value = _SET.sub(r"\1=", inner, count=1).partition("=")
        return f"a variable is set by {{% set {name if name.isidentifier() else 'name'} = {value or 'value'} %}}"
    if tag == "else" and got == "if":
        return "write {% elif ... %}"
    if tag in ("if", "elif", "for") and got in ("then", "do", "{"):
        end = "endfor" if tag == "for" else "endif"
        return f"leave `{got}` out: write {{% {tag} {inner.removesuffix(got).strip()} %}}, and {{% {end} %}} at the end"
    if got in (".", "float") and (path := re.search(r"(?<![\w\])])\.[A-Za-z_][\w.]*", inner)):
        return f"this looks like a Go template: here write {of_go(path[0])}"
    if tag == "with" and wanted == "=":
        value, _, name = inner.partition(" as ")
        name = name.strip() or (re.findall(r"\w+", value) or ["x"])[-1]
        dotted = re.search(r"\{\{-?\s*\.(\w+)", text)
        below = f"{{{{ {name}.{dotted[1] if dotted else 'x'} }}}}"
        return f"`with` gives a name to a value: write {{% with {name} = {value.strip()} %}}, and {below} after it"
    if tag == "include" and wanted.startswith("end of"):
        return (
            "`include` takes only the name of a file; that file can use params and what {% set %} sets, and its "
            "lines keep their own indentation"
        )
    if tag == "macro" and wanted == "(":
        return f"a macro has parentheses: write {{% macro {inner or 'name'}() %}}"
    if tag == "import" and wanted == "as":
        return f"write {{% import {inner} as name %}}, and {{{{ name.macro() }}}} to use it"
    return ""
