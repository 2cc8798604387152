"""Places in a template's files: offsets, which Jinja carries where it has line numbers, and what they mean to people.

An offset counts the characters of a file whose line ends are all `\\n`, from 0. Jinja knows lines only, so the lexer
here hands it the offset of each token, plus 1, in the line's stead: nodes, errors and compiled code carry it along
without looking at it. The line and column of an offset are worked out where a person reads them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

from jinja2 import TemplateSyntaxError, nodes
from jinja2.lexer import Lexer

from injector.diagnostics import Place
from injector.templates.library_messages import jinja_message

_LINE_END = re.compile(r"\r\n|\r")
_END = re.compile(r"[}%]\}")


def normal(text: str) -> str:
    """A text with `\\n` for line ends, as offsets count it."""
    return _LINE_END.sub("\n", text) if "\r" in text else text


def place_at(file: str, text: str, offset: int) -> Place:
    """The place of an offset in a file's normal text; one behind the end is where the text's last word ends."""
    if offset >= len(text):
        offset = len(text.rstrip())
    start = text.rfind("\n", 0, offset) + 1
    end = text.find("\n", offset)
    if start == 0 and text.startswith("\ufeff"):  # a byte order mark, which no editor counts
        start, offset = 1, max(offset, 1)
    return Place(
        file, text.count("\n", 0, offset) + 1, offset - start + 1, text[start : end if end >= 0 else len(text)]
    )


class PlacedLexer(Lexer):
    """Jinja's lexer, with the 1-based offset of a token where its line would be."""

    def tokeniter(
        self, source: str, name: str | None, filename: str | None = None, state: str | None = None
    ) -> Iterator[tuple[int, str, str]]:
        """Each token's offset + 1, kind and text. Raises TemplateSyntaxError with an offset + 1 for its line."""
        text = normal(source)
        start = end = 0
        tokens = super().tokeniter(text, name, filename, state)
        while True:
            try:
                _, token, piece = next(tokens)
            except StopIteration:
                return
            except TemplateSyntaxError as error:
                offset = _gave_up(error.message or "", text, start, end)
                raise TemplateSyntaxError(error.message or "", offset + 1, name, filename) from None
            # what lies between two tokens are blanks that Jinja stripped
            start = text.find(piece, end)
            end = start + len(piece)
            if token in ("integer", "float") and _too_large(piece.lower()):
                raise TemplateSyntaxError("the number is too large", start + 1, name, filename)
            yield start + 1, token, piece


def _too_large(number: str) -> bool:
    return len(number) > 400 or (("e" in number and "x" not in number) and not math.isfinite(float(number)))


def _gave_up(words: str, text: str, start: int, end: int) -> int:
    """Where the lexer gave up, of its words; `start` and `end` are those of the token before."""
    kind, values = jinja_message(words)
    if kind == "wrong-character":
        return int(values[0])
    return start if kind in ("open-comment", "open-raw") else end + len(text[end:]) - len(text[end:].lstrip())


def first_offset(node: nodes.Node) -> int:
    """The offset + 1 where an expression begins; Jinja's own is that of its last dot, filter or bracket."""
    return min((n.lineno for n in (node, *node.find_all(nodes.Node)) if n.lineno), default=0)


def begin_with_first(tree: nodes.Template) -> None:
    """Let expressions that are written, and statements, carry the offset where their expression begins."""
    for output in tree.find_all(nodes.Output):
        for child in output.nodes:
            if not isinstance(child, nodes.TemplateData):
                child.lineno = first_offset(child)
    for statement in tree.find_all((nodes.If, nodes.For, nodes.Assign)):
        part = getattr(statement, {nodes.If: "test", nodes.For: "iter"}.get(type(statement), "node"))
        statement.lineno = first_offset(part) or statement.lineno


def word_at(text: str, offset: int, word: str) -> int:
    """The offset of a word within the expression that begins at an offset; that of the expression where it is not."""
    found = re.search(rf"(?<![\w-]){re.escape(word)}(?![\w-])", expression_at(text, offset))
    return offset + found.start() if found else offset


def expression_at(text: str, offset: int) -> str:
    """The text of the expression that begins at an offset, as far as the end of its hole or tag."""
    end = _END.search(text, offset)
    return text[offset : end.start() if end else len(text)]
