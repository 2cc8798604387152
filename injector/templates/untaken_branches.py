"""Mistakes in YAML that a render shows only in the branches that it takes: tabs, which can indent nothing in YAML."""

from __future__ import annotations

import re

import yaml
from jinja2.lexer import Lexer

from injector.library_messages import yaml_message

_TAB = re.compile(r"^ *\t", re.MULTILINE)
#: Tokens of Jinja's that are the author's text, and that begin and end what leaves a value in it.
_TEXT, _HOLE, _END = "data", "variable_begin", "variable_end"


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
    shown = [character if character == "\n" else " " for character in text]
    begin = -1
    for offset, token, piece in lexer.tokeniter(text, None):
        end = offset - 1 + len(piece)
        if token == _TEXT:
            shown[offset - 1 : end] = piece
        elif token == _HOLE:
            begin = offset - 1
        elif token == _END and not _alone(text, begin, end):
            shown[begin:end] = ("\n" if character == "\n" else "x" for character in text[begin:end])
    return "\n".join(line if line.strip() else "" for line in "".join(shown).split("\n"))


def _alone(text: str, begin: int, end: int) -> bool:
    """Whether there is nothing else on the lines of a part of a text."""
    before, after = text[text.rfind("\n", 0, begin) + 1 : begin], text[end:].partition("\n")[0]
    return not before.strip() and not after.strip()
