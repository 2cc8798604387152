"""What libyaml's errors mean to a person, and where that person has to look; tabs in branches that no render takes.

libyaml says what it did not find, at the place where it gave up: often a line or more behind the mistake.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import yaml
from jinja2.lexer import Lexer

from injector.library_messages import yaml_message
from injector.templates.expression_errors import is_go
from injector.templates.kubernetes_yaml import index
from injector.templates.structure import OPEN

_TAB = re.compile(r"^ *\t", re.MULTILINE)
#: Tokens of Jinja's that are the author's text, and that begin and end what leaves a value in it.
_TEXT, _HOLE, _END = "data", "variable_begin", "variable_end"
#: The line of a list's item right before a place.
_ITEM = re.compile(r"^( *)- [^\n]*\n\Z", re.MULTILINE)
_HELM = re.compile(r"\{\{")
#: A key whose value follows without a blank.
_RUN_TOGETHER = re.compile(r"([A-Za-z][\w.-]*):(?!//|:)\S")
#: The end of a line on which a text of several lines begins.
TEXT_BEGINS = re.compile(r"(?:^|[\s-])[|>][-+1-9]*\s*(?:#.*)?$")
#: A bracket that a comment hides, as its value begins with #.
_HIDDEN = re.compile(r"[{,\[][^\n#{}\[\]]{0,200}:[ \t]+(#[^\s#][^\n]*[}\]])")
#: How comments begin in other languages.
_COMMENT = re.compile(r"//|<!--|/\*|--\s|;;?\s|REM\b")
#: The same within braces and brackets, as in JSON.
_IN_BRACKETS = re.compile(r"(?:^|[,{\[])[ \t]*(//|/\*|<!--)", re.MULTILINE)


#: How a file begins that is a program.
_PROGRAM = re.compile(r"(?:\s|//[^\n]*\n)*(?=local\s+\w+\s*=|function\s*\()")
#: The line of an offset, for people.
LineOf = Callable[[int], str]


def yaml_mistake(error: yaml.YAMLError, text: str, first: int = 1) -> tuple[str, int | None]:
    """What is wrong with a YAML text, in one sentence, and the offset of it; `first` is the number of its first line.

    What looks like the template of a Helm chart is told to be one: it can hardly be YAML.
    """
    for found in _HELM.finditer(text):
        line = text[text.rfind("\n", 0, found.start()) + 1 :].partition("\n")[0]
        if is_go(line):
            message = "this is the template of a Helm chart, not a manifest; render the chart first: helm template"
            return message, found.start()
    return explain_yaml(error, text, lambda offset: str(first + text.count("\n", 0, offset)))


def explain_yaml(error: yaml.YAMLError, text: str, line_of: LineOf) -> tuple[str, int | None]:
    """What is wrong with a YAML text, in one sentence, and the offset of it. `line_of` names another offset's line."""
    if isinstance(error, yaml.reader.ReaderError):
        return _unreadable(error, text)
    if program := _PROGRAM.match(text):
        return "this is a program, not YAML; write YAML, from `spec:` on", program.end()
    kind, values = yaml_message(error)
    at = _offset(text, getattr(error, "problem_mark", None))
    start = _offset(text, getattr(error, "context_mark", None))
    if at is None:
        return _one_line(str(getattr(error, "problem", None) or error)), start
    opening = line_of(start or 0)
    if kind == "no-colon" and start is not None and (line_mistake := _at_a_line(text, start)):
        return line_mistake, start
    if kind == "no-colon" and start is not None and (left := _here_document(text, start, line_of)):
        return left
    if kind in _AT_THE_START and start is not None:
        ended = _text_above(text, start, line_of) if kind == "no-colon" else ""
        return _AT_THE_START[kind] + (ended and f" If it belongs to {ended}"), start
    if kind == "no-key" and (ended := _text_above(text, at, line_of)):
        return f"this line is indented less than the text above it; if it belongs to {ended}", at
    if kind == "open-bracket" and (comment := _IN_BRACKETS.search(text, start or 0, at + 2)):
        return (
            f"{comment[1]} does not begin a comment here; write {{# ... #}}, which is not in the output",
            comment.start(1),
        )
    above = text.rfind("\n", 0, max(text.rfind("\n", 0, at), 0)) + 1
    if kind in ("open-bracket", "no-value") and (hidden := _HIDDEN.search(text, above, at)):
        return "# begins a comment, which hides the rest of the line; put the value in quotes", hidden.start(1)
    if kind == "open-bracket":
        if text[at : at + 1] == ":":  # a key began before
            at = text.rfind("\n", 0, at) + 1 + _last_word(text[text.rfind("\n", 0, at) + 1 : at])
        return f"a comma or the {values[0]} of the bracket that opens on line {opening} is missing here", at
    if kind == "no-key":
        return _no_key(text, at, start, opening)
    if kind == "no-dash":
        message = (
            f"this line is among the items of the list that begins on line {opening}; indent it further if it belongs "
            "to an item, less if the list has ended"
        )
        return message, at
    if kind == "no-mapping":
        return _no_mapping(text, at)
    if kind == "no-token":
        return _no_token(text[at : at + 1]), at
    if kind == "no-anchor":
        return "a value that begins with * or & needs quotes", start if start is not None else at
    return _WORDS.get(kind) or _one_line(str(getattr(error, "problem", None) or error)), at


#: What is said of a tab that indents.
TAB = "tabs cannot be used here; YAML is indented with spaces only"
_NO_KEY = "this line is neither `key: value` nor `- item`; is a colon or a space missing?"
_AT_THE_START = {
    "no-colon": _NO_KEY,
    "open-quote": "the quote that begins here does not end",
}
_WORDS = {
    "tab": TAB,
    "no-document": "this line does not belong to the lines above it; check its indentation",
    "second-document": "--- begins a second document, and there can be only one; move its content into the first "
    "document. If it is a ConfigMap, write its data as `files:` in template.yaml",
    "unknown-alias": "* begins an alias, and this file has no such anchor above it; a text that begins with * needs "
    "quotes",
    "no-value": "a value is missing here",
    "no-list": "a list cannot begin here; put its first `-` on a line of its own",
    "unknown-escape": "a backslash in double quotes begins an escape; for a plain backslash use single quotes",
    "no-question": "a ? cannot begin a value; put the text in quotes",
}


def _here_document(text: str, start: int, line_of: LineOf) -> tuple[str, int] | None:
    """What is wrong, and where, if a line ends a shell's here-document whose lines are indented too little."""
    word = text[start:].partition("\n")[0].strip()
    begin = (
        re.search(rf"^( *)(?! ).*<<-?[ \t]*[\"']?{re.escape(word)}\b.*\n", text[:start], re.MULTILINE)
        if word.isalnum()
        else None
    )
    if begin is None:
        return None
    less = re.compile(rf"^(?! {{{len(begin[1])}}})(?=.*\S)", re.MULTILINE).search(text, begin.end())
    message = (
        f"the here-document that begins on line {line_of(begin.start())} is indented too little, so the YAML text "
        "ends early; let each of its lines, and "
    )
    return f"{message}{word}, begin in column {len(begin[1]) + 1}", less.start() if less else start


def _at_a_line(text: str, start: int) -> str:
    """What is wrong with a line that is no YAML, where it begins; "" where that is not plain."""
    if _COMMENT.match(text, start):
        return "write a comment with # in YAML, or with {# ... #} in the template"
    if text.startswith(OPEN, start):
        return (
            "a {{ }} alone on its line gives only a value; write a key before it, or, for each key of a mapping, "
            "{% for key, value in x.items() %} and `{{ key }}: {{ value }}`"
        )
    run_together = _RUN_TOGETHER.match(text, start)
    return f"a space is missing after the colon of {run_together[1]}:" if run_together else ""


def _text_above(text: str, at: int, line_of: LineOf) -> str:
    """The text of `|` or `>` that ends above a place's line, and the column of its lines; "" where none does."""
    above = text[: text.rfind("\n", 0, at) + 1].splitlines(keepends=True)
    indentation, column = at - sum(map(len, above)), 0
    while above:
        line = above.pop()
        blanks = len(line) - len(line.lstrip(" "))
        if line.strip() and blanks <= indentation:
            if not column or not TEXT_BEGINS.search(line):
                return ""
            return f"the text that begins on line {line_of(sum(map(len, above)))}, indent it to column {column}"
        column = blanks + 1 if line.strip() else column
    return ""


def _last_word(line: str) -> int:
    """Where the last word of a line begins: the key, of which libyaml only names the colon."""
    word = line.rstrip()
    return max(map(word.rfind, " \t,{[")) + 1


def _no_key(text: str, at: int, start: int | None, opening: str) -> tuple[str, int]:
    line = text.rfind("\n", 0, at) + 1
    if text[line:at].strip(" -"):
        return (
            "the value ended before this point; put the whole value in quotes, or put what follows on a new line"
        ), at
    if start is None:
        return "this line's indentation does not match any line above it", at
    column = start - text.rfind("\n", 0, start)
    if text.startswith("- ", at) and at - line + 1 == column:
        message = (
            f"a list item is among the keys of the mapping that begins on line {opening}; indent it like the items "
            "before it"
        )
        return message, at
    if text[at] in "]}":
        return f"{text[at]} closes nothing here", at
    if at - line + 1 == column:
        return _NO_KEY, at
    message = (
        f"wrong indentation: this line begins in column {at - line + 1}, but the keys of the mapping that begins on "
        f"line {opening} are in column {column}"
    )
    return message, at


def _no_mapping(text: str, at: int) -> tuple[str, int]:
    line = text.rfind("\n", 0, at) + 1
    before = text[line:at]
    if re.search(r":[ \t]", before):
        return "a value that holds `: ` needs quotes", at
    key = line + len(before) - len(before.lstrip(" -"))
    above = text[text.rfind("\n", 0, max(line - 1, 0)) + 1 : line]
    if comment := _COMMENT.match(above.lstrip()):
        at = line - len(above.lstrip())
        return (
            f"{comment[0].strip()} does not begin a comment here; write {{# ... #}}, which is not in the output"
        ), at
    if ":" not in above:
        return "the line above continues on this line; is a colon missing at the end of the line above?", key
    start = text.rfind("\n", 0, max(line - 1, 0)) + 1
    first = len(above) - len(above.lstrip(" -"))
    if (run_together := _RUN_TOGETHER.match(above, first)) and not re.search(r":[ \t]", above):
        return f"a space is missing after the colon of {run_together[1]}:", start + first
    if re.match(r" *-[A-Za-z]", above):
        return "a space is missing after the - of this item", start + len(above) - len(above.lstrip(" "))
    column = len(above) - len(above.lstrip(" "))
    if (item := _ITEM.search(text, 0, start)) and len(item[1]) == column and not above.lstrip(" ").startswith("- "):
        return (
            f"this line is at the same indentation as the - of its list item; indent it to column {column + 3}",
            start + column,
        )
    return "this key is indented further than the line above it, which has a value of its own already", key


def _no_token(character: str) -> str:
    if character == "\t":
        return TAB
    return f"a value cannot begin with {character}; put it in quotes"


def _unreadable(error: Any, text: str) -> tuple[str, int]:
    position = error.position if isinstance(error.position, int) else 0
    offset = len(text.encode("utf-8", "surrogatepass")[:position].decode("utf-8", "ignore"))
    character = text[offset : offset + 1]
    name = f"U+{ord(character):04X}" if character else "a character"
    return f"{name} is not allowed in YAML; it is a control character or not a valid character", offset


def _offset(text: str, mark: Any) -> int | None:
    return None if mark is None else index(text, mark)


def _one_line(text: str) -> str:
    return " ".join(text.split())[:200]


def tab_in(text: str, lexer: Lexer) -> int | None:
    """The offset of the first tab that indents a line of a YAML file, whatever its tags do; None where there is none.

    All branches are read one after the other, token by token, so that a tab in a block scalar, in quotes or in brackets
    is no mistake. The result is None for a text that is not YAML for another reason.
    """
    if not _TAB.search(text):
        return None
    try:
        for _ in yaml.scan(_author_text(text, lexer), Loader=yaml.CSafeLoader):
            pass
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        if mark is not None and yaml_message(error).kind in ("tab", "no-token"):
            line = text.split("\n")[mark.line]
            if line[mark.column : mark.column + 1] == "\t" and not line[: mark.column].strip(" \t"):
                return sum(len(before) + 1 for before in text.split("\n")[: mark.line]) + int(mark.column)
    except yaml.YAMLError:
        pass
    return None


def _author_text(text: str, lexer: Lexer) -> str:
    """A text with a word for each hole and blanks for each tag and comment, in the same lines and columns.

    A hole that is alone on its line writes nothing (`warn()`), or lines of a macro's: blanks as well. Lines of blanks
    are empty, as the first one of a block scalar would say how far that is indented.
    """
    characters = [character if character == "\n" else " " for character in text]
    begin = -1
    for offset, token, piece in lexer.tokeniter(text, None):
        end = offset - 1 + len(piece)
        if token == _TEXT:
            characters[offset - 1 : end] = piece
        elif token == _HOLE:
            begin = offset - 1
        elif token == _END and not _alone(text, begin, end):
            characters[begin:end] = ("\n" if character == "\n" else "x" for character in text[begin:end])
    return "\n".join(line if line.strip() else "" for line in "".join(characters).split("\n"))


def _alone(text: str, begin: int, end: int) -> bool:
    """Whether there is nothing else on the lines of a part of a text."""
    before, after = text[text.rfind("\n", 0, begin) + 1 : begin], text[end:].partition("\n")[0]
    return not before.strip() and not after.strip()
