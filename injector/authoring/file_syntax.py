"""Text files as a parser of their syntax reads them: what it does not take, at the author's line."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from shutil import which
from subprocess import run
from typing import NamedTuple
from xml.parsers import expat

from injector.diagnostics import Place
from injector.errors import InjectionError
from injector.library_messages import toml_mistake
from injector.names import shortened
from injector.templates.render import Trace
from injector.templates.template import Template

#: What a syntax is called, where not by its name in capital letters.
_NAMES = {"nginx": "nginx configuration", "env": "content of an env file", "sh": "shell script"}
#: Braces, and the beginning of what a brace may stand in without being one, of files that have no parser here.
_TOKENS = {
    "nginx": re.compile(r"[{}\"']|\$\{|(?<!\S)#"),
    "hcl": re.compile(r"[{}\"#]|//|/\*|<<[-~]?(\w+)\n"),
}
#: The end of what begins with a token.
_ENDS = {
    '"': re.compile(r'(?:[^"\\]|\\.)*"', re.DOTALL),
    "'": re.compile(r"(?:[^'\\]|\\.)*'", re.DOTALL),
    **dict.fromkeys(("#", "//"), re.compile(r"[^\n]*")),
    "/*": re.compile(r".*?\*/", re.DOTALL),
}
#: How many values without quotes are told of in one file.
_MOST = 20
#: A hole that is a whole value: behind an equals sign, a colon, a comma or a bracket, and in front of the end of it.
_BARE = re.compile(r"(?<=[=:,\[({])\s*(?P<hole>\{\{-?\s*(?P<value>[^{}]+?)\s*-?\}\})(?=\s*(?:[,\]})]|#|//|--|$))")
#: An expression behind which a filter takes all of it.
_FILTERED = re.compile(r"[\w.\[\]\"']+(?:\s*\|.*)?\Z")


#: A line of an env file, with the lines that its quotes hold; no blank is beside its =.
_ASSIGNMENT = re.compile(r"""\s*(?:#[^\n]*|[^\n=]*(?<![ \t])=(?![ \t]+[^\s#])(?:'[^']*'|"[^"]*"|[^\n])*)?(?:\n|\Z)""")
#: What statements of nginx are made of: comments, what ends a statement or a block, and words.
_NGINX = re.compile(
    r"""(?P<comment>#[^\n]*)|(?P<end>[;{}])|"(?:[^"\\]|\\.)*"?|'(?:[^'\\]|\\.)*'?|(?:\\.|\$\{|[^\s;{\\])+""", re.DOTALL
)
#: The line of another statement, and the end of a block.
_NEXT = re.compile(r"\}|[a-z][a-z0-9_]*[ \t]+(?:(?!=)[^;{\n]*;|[^;{\n]*\s*\{)")
#: The head of a section of an INI file without its end.
_OPEN_SECTION = re.compile(r"^\[[^\]\n]*$", re.MULTILINE)
#: The first line of a script: the shells that may read it, of which bash reads more.
_INTERPRETER = re.compile(r"#!.*?\b(?:(?P<bash>bash)|sh|dash|ash)\b|(?!#!)")
#: The line at which a shell gives up, and why.
_UNREAD = re.compile(r": (?:line )?(\d+): (?!warning)(?:[Ss]yntax error:? )?(.*)")


#: The offset at which a parser gives a text up, and why; None where it reads it.
_Fault = tuple[int, str] | None


class SyntaxMistake(NamedTuple):
    """What a parser does not take of a rendered text: where in the template, what is wrong, and what to do or ""."""

    place: Place
    message: str
    help: str = ""


def syntax_mistakes(text: str, name: str, syntax: str, place_of: Callable[[int], Place]) -> Iterator[SyntaxMistake]:
    """What a parser does not take of a rendered file with this name and syntax: all values without quotes, or one.

    `place_of` gives the author's place of an offset in the text.
    """
    for count in range(_MOST):
        mistake = parse_error(text, name, syntax)
        if mistake is None:
            return
        offset, reason = mistake
        place = place_of(offset)
        hole = bare_hole(place.text, place.column - 1) if syntax in ("toml", "json") else None
        if hole is not None and syntax == "toml" and place.text[: hole.start("hole")].rstrip().endswith(":"):
            yield SyntaxMistake(place, "in TOML, a key is followed by =, not by a colon", "write = in place of :")
            return
        if hole is None:
            if not count:  # behind another mistake it may be no more than what that leads to
                yield SyntaxMistake(place, f"this is not valid {_NAMES.get(syntax, syntax.upper())}: {reason}")
            return
        message = f"this string is not in quotes, but {syntax.upper()} needs them"
        value = hole["value"] if _FILTERED.match(hole["value"]) else f"({hole['value']})"
        at = replace(place, column=hole.start("hole") + 1)
        yield SyntaxMistake(at, message, f"write {{{{ {value} | quote }}}}")
        if syntax != "toml":
            return
        begin, end = text.rfind("\n", 0, offset) + 1, text.find("\n", offset)
        end = len(text) if end < 0 else end
        text = text[:begin] + " " * (end - begin) + text[end:]


def unreadable_files(
    template: Template, texts: Mapping[str, str], trace: Callable[[str], Trace]
) -> Iterator[SyntaxMistake]:
    """What a parser does not take of the rendered files of a template, by the author's lines.

    `trace` renders a source once more. Of the file as a whole where that differs: an earlier template may have changed
    the pod.
    """
    for spec in template.files.values():
        text = texts.get(spec.name)
        if text is None or parse_error(text, spec.name, spec.syntax) is None:
            continue
        with suppress(InjectionError):
            traced = trace(spec.template)
            place_of = traced.place_of if traced.value == text else lambda _, file=spec.template: Place(file)
            yield from syntax_mistakes(text, spec.name, spec.syntax, place_of)


def bare_hole(line: str, column: int) -> re.Match[str] | None:
    """The hole of a line that is a whole value without quotes: the last that begins up to a column from 0, or None."""
    holes = [hole for hole in _BARE.finditer(line) if line[: hole.start("hole")].count('"') % 2 == 0]
    before = [hole for hole in holes if hole.start("hole") <= column]
    return next(iter([*before[-1:], *holes]), None)


def parse_error(text: str, name: str, syntax: str) -> _Fault:
    """The offset at which a parser gives a file up, and why; None where it reads it, or there is no parser for it."""
    if syntax == "toml":
        try:
            tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            message, line, column = toml_mistake(error)
            return line_offset(text, line, column - 1), message
    elif syntax == "json" and name.endswith(".json"):
        try:
            json.loads(text)
        except json.JSONDecodeError as error:
            return error.pos, error.msg[:1].lower() + error.msg[1:]
    elif syntax == "env":
        return _no_assignment(text)
    elif syntax == "sh":
        return _unread(text)
    elif syntax == "ini" and (section := _OPEN_SECTION.search(text)):
        return section.start(), "the [ of this section is not closed with ]"
    elif syntax in _TOKENS:
        return _unbalanced(text, _TOKENS[syntax]) or (_unended(text) if syntax == "nginx" else None)
    elif syntax == "xml":
        parser = expat.ParserCreate()
        try:
            parser.Parse(text.encode(errors="replace"), True)
        except expat.ExpatError as error:
            return line_offset(text, error.lineno, error.offset), expat.ErrorString(error.code)
    return None


def _no_assignment(text: str) -> _Fault:
    """The offset of a line of an env file without NAME=, and what is wrong; quotes hold values of several lines."""
    at = 0
    while at < len(text):
        assignment = _ASSIGNMENT.match(text, at)
        if assignment is None:
            line = text[at:].partition("\n")[0]
            name = re.match(r"\s*([A-Za-z_]\w*)\s*[:=]", line)
            wrong = "a blank beside the" if "=" in line else "no"
            message = f"there is {wrong} = in this line" + (f"; write {name[1]}=..." if name else "")
            return at + len(line) - len(line.lstrip()), message
        at = assignment.end()
    return None


@lru_cache
def _unread(text: str) -> _Fault:
    """The offset of the line at which shells give a script up, and why. They only read it: nothing runs.

    None where one of them reads it, there is none here, or another program runs it.
    """
    interpreter = _INTERPRETER.match(text)
    shells = filter(None, map(which, ("bash",) if interpreter and interpreter["bash"] else ("sh", "bash")))
    refusals = [
        _UNREAD.search(
            run(
                [shell, "-n", "/dev/stdin"],
                input=text,
                capture_output=True,
                check=False,
                encoding="utf-8",
                errors="replace",
                env={"LC_ALL": "C"},
            ).stderr
        )
        for shell in (shells if interpreter else ())
    ]
    found = [(line_offset(text.rstrip(), int(refusal[1])), refusal[2]) for refusal in refusals if refusal]
    return min(found) if found and len(found) == len(refusals) else None


def _unbalanced(text: str, tokens: re.Pattern[str]) -> _Fault:
    """The offset of a brace that has no other, and what is wrong with it; None too where a string has no end."""
    opened: list[int] = []
    at = 0
    while token := tokens.search(text, at):
        piece, at = token[0], token.end()
        if piece in ("{", "${"):
            opened.append(token.start())
        elif piece == "}" and not opened:
            return token.start(), "this } closes nothing"
        elif piece == "}":
            opened.pop()
        else:
            end = _ENDS.get(piece) or re.compile(rf"(?:.*\n)*?[ \t]*{token[1]}[ \t]*$", re.MULTILINE)
            if (rest := end.match(text, at)) is None:
                return None
            at = rest.end()
    return (opened[-1], "the { of this line is not closed with }") if opened else None


def line_offset(text: str, line: int, column: int = 0) -> int:
    """The offset of a line from 1 and a column from 0; that of the end where the line is 0."""
    lines = text.split("\n")
    if not 0 < line <= len(lines):
        return max(len(text) - 1, 0)
    return sum(len(earlier) + 1 for earlier in lines[: line - 1]) + min(column, len(lines[line - 1]))


def _unended(text: str) -> _Fault:
    """The offset of the last word of an nginx statement without its `;`, and what is wrong.

    The rest of a statement is indented further than its first line, or does not look like a statement.
    """
    for begin, last, below in _broken_statements(text):
        if text[below] == "}" or _column(text, below) <= _column(text, begin):
            return last, f"a ; is missing after {shortened(text[last:below].split()[0])}"
    return None


def unended_line(text: str, below: int) -> int:
    """The line of an nginx file that lacks its `;`, where nginx names the line `below`; 0 if that is not the cause."""
    for _, last, offset in _broken_statements(text):
        if text.count("\n", 0, offset) + 1 == below:
            return text.count("\n", 0, last) + 1
    return 0


def _broken_statements(text: str) -> Iterator[tuple[int, int, int]]:
    """The offsets of the first word, and of the last above, of nginx statements that go on with the line of another or
    the end of a block, and the offset of that.

    Blocks of Lua are no statements: nothing is said of a file that has one.
    """
    words: list[re.Match[str]] = []
    for token in _NGINX.finditer(text if "_by_lua_block" not in text else ""):
        if token["comment"] is None:
            at = token.start()
            if words and ("\n" in text[words[-1].end() : at] or token["end"] == "}") and _NEXT.match(text, at):
                yield words[0].start(), words[-1].start(), at
            words = [] if token["end"] else [*words, token]


def _column(text: str, offset: int) -> int:
    return offset - text.rfind("\n", 0, offset)
