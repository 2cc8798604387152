"""What to write for an expression or a tag that a template may not hold, from the line that it stands on."""

from __future__ import annotations

import re

from injector.advice import words
from injector.advice.go_templates import go_help, values_of_call
from injector.diagnostics import Diagnostic
from injector.names import to_write

#: A hole or a tag on one line: the tag's word and what stands within.
_WITHIN = re.compile(r"\{\{-?\s*(?P<hole>.*?)\s*-?\}\}|\{%[-+]?\s*(?P<tag>\w+)\s*(?P<inner>.*?)\s*[-+]?%\}")
#: What cannot stand in an expression, by its first character, with what people mean by it.
_CHARACTERS = words.by_word(
    {
        "?": "write `a if x else b`",
        "&": "write `and`",
        "!": "write `not`",
        "$": "names have no $ here",
        "`": "strings are quoted with \" or '",
        "@": "names have no @ here",
        "#": "a comment is {# ... #}",
        "\\": "write quotes without \\ before them",
        "\u201c \u201d \u2018 \u2019": "strings are quoted with plain \" or '",
    }
)
#: How tags are written, by the tag and what the parser wants in it ("" for anything).
_TAGS = {
    ("for", "in"): "a loop is written {% for item in list %}",
    ("with", "="): "`with` gives a name to a value: write {% with name = value %}, and {{ name }} after it",
    ("include", "end of statement block"): "`include` takes only the name of a file; that file can use params and what "
    "{% set %} sets, and its lines keep their own indentation",
    ("macro", "("): "a macro has parentheses: write {% macro name() %}",
    ("import", "as"): 'write {% import "_file.j2" as name %}, and {{ name.macro() }} to use it',
    ("else", "end of statement block"): "write {% elif ... %}",
}
#: The name of a filter, and a value behind it without brackets: `| default "x"`.
_FILTER = re.compile(r"\|\s*(\w+)\s*:?\s*\Z")
_SET = re.compile(r"(\w+)\s*:?=?\s*(.*)")
#: The left side and the right side of an operator that is a word.
_LEFT, _RIGHT = re.compile(r"([\w.\[\]\"']+)\s*\Z"), re.compile(r"\s*([\w.\[\]]+|\"[^\"]*\"|'[^']*')")
#: A value in front of a filter or a method.
_VALUE = re.compile(
    r"((?:[A-Za-z_]\w*|[\])])(?:[\w.]|\[[^\[\]]*\])*|\"[^\"]*\"|'[^']*')\s*(?:\||\.|\bis(?:\s+not)?)\s*\Z"
)


def syntax_help(diagnostic: Diagnostic, kind: str = "", *values: str) -> str:
    """What to write where Jinja's parser gave up; `kind` and `values` are its words, see `library_messages`."""
    line, at = diagnostic.place.text, max(diagnostic.place.column - 1, 0)
    if kind == "open-comment":
        shell = re.match(r"\$\{#[^}\s]*\}", line[max(at - 1, 0) :])
        return f"for the shell write {{% raw %}}{shell[0]}{{% endraw %}}" if shell else ""
    if go := go_help(line, diagnostic.place.file, at):
        return go
    if kind == "unknown-tag":
        return to_write(words.TAGS.get(values[0]))
    if kind in ("wrong-character", "unexpected"):
        return _CHARACTERS.get(line[at : at + 1] if kind == "wrong-character" else values[0], "")
    return _of_token(line, at, *values) if kind == "wrong-token" else ""


def _of_token(line: str, at: int, wanted: str, symbol: str) -> str:
    """What to write where a token stands that the parser does not want."""
    within = next((part for part in _WITHIN.finditer(line) if part.end() > at), None)
    tag, inner = (within["tag"] or "", within["inner"] or "") if within else ("", "")
    if tag == "set" and (wanted == "=" or "=" not in inner or ":=" in inner):
        variable = _SET.match(inner)
        name, value = variable.groups() if variable else ("name", "value")
        return f"a variable is set by {{% set {name} = {value or 'value'} %}}"
    if text := _TAGS.get((tag, wanted)):
        return text
    if wanted.startswith("end of") and (filter_ := _FILTER.search(line, 0, at)):
        argument = re.split(r"-?[%}]\}|\|", line[at:])[0].strip(" :-")
        return f"a filter has its arguments in parentheses: write {filter_[1]}({argument[:40]})"
    if symbol in ("then", "do"):
        return f"leave `{symbol}` out, and write {{% {'endfor' if tag == 'for' else 'endif'} %}} at the end"
    return _of_symbol(line[:at], line[at:], wanted, symbol)


def _of_symbol(before: str, behind: str, wanted: str, symbol: str) -> str:
    """What to write for a word that is no operator here, or has no meaning in front of what follows."""
    if wanted == "name" and re.search(r"\bis\s+(?:not\s+)?\Z", before):
        return "`is` is for tests such as `is defined`; write == or != to compare"
    if symbol == "for":
        return "there is no loop inside brackets; write {% for item in list %}, or a filter such as map or select"
    left, right = _LEFT.search(before), _RIGHT.match(behind, len(symbol))
    return words.help_with(symbol, [left[1], right[1]]) if symbol in words.MEANINGS and left and right else ""


def name_help(diagnostic: Diagnostic, name: str) -> str:
    """What to write for a name that nothing defines."""
    line, at = diagnostic.place.text, max(diagnostic.place.column - 1, 0)
    expression = line[at:]
    if go := re.search(rf"\{{\{{-?\s*{re.escape(name)}\b(?!\s*\()", line) and go_help(line, diagnostic.place.file, at):
        return go
    if name in words.HOLDERS:
        field = re.match(r"\w+\.(?:parameters\.)?(\w+)\b(?!\()", expression)
        variable = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", field[1]).lower() if field else "x"
        return f"write params.{variable}, and declare the parameter `{variable.replace('_', '-')}` in template.yaml"
    return words.help_with_value(name)


def call_help(diagnostic: Diagnostic, name: str) -> str:
    """What to write for a call of a function that there is not."""
    _, bracket, rest = diagnostic.place.text[max(diagnostic.place.column - 1, 0) :].partition("(")
    operands = words.subject_first(name, values_of_call(rest) if bracket else [])
    if name == "include" and operands:
        to_do = "and begin each line of that file with the indentation that it needs here"
        return f"write {{% include {operands[0]} %}}, {to_do}"
    return words.help_with(name, operands) or words.help_with_value(name)


def attached_help(diagnostic: Diagnostic, name: str) -> str:
    """What to write for a filter, a test or a method that there is not: these stand behind their value."""
    line, at = diagnostic.place.text, max(diagnostic.place.column - 1, 0)
    start = re.compile(rf"\b{re.escape(name)}\b").search(line, at)
    value = _VALUE.search(line[: start.start()]) if start else None
    rest = line[start.end() :] if start else ""
    return words.help_with(
        name, [value[1] if value else "params.x", *values_of_call(rest[1:] if rest[:1] == "(" else "")]
    )
