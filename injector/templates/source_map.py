"""Where things are in a template's files: offsets, which Jinja carries in the place of lines, and what they mean.

An offset counts the characters of a file whose line ends are all `\\n`, from 0. Jinja knows lines only, so the lexer
here hands it the offset of each token, plus 1, in the line's stead: nodes, errors and compiled code carry it along
without looking at it. The line and column of an offset are worked out where a person reads them.

A root that is rendered once more, tagged, says which file and offset each character of the rendered text came from.
Before every piece of the author's text and every hole stands a tag, a number between noncharacters, which is taken out
again once the text is whole. That is slow, and only for errors, the linter and tests.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from operator import attrgetter
from typing import Any, NamedTuple

import msgspec
import yaml
from jinja2 import Template as JinjaTemplate, TemplateSyntaxError, nodes
from jinja2.lexer import Lexer

from injector.diagnostics import Path, Place
from injector.library_messages import jinja_message
from injector.names import flow_value
from injector.templates.holes import Run, current, document
from injector.templates.kubernetes_yaml import Builder, Node, YAMLError, compose, index
from injector.templates.quoted_places import BARE, END, START, without_marks
from injector.templates.structure import CLOSE, HOLE, OPEN, OUTPUT, TAG, TAGGED, scalar_text

_LINE_END = re.compile(r"\r\n|\r")
_END = re.compile(r"[}%]\}")


def normal(text: str) -> str:
    """A text with `\\n` for line ends, as offsets count it."""
    return _LINE_END.sub("\n", text) if "\r" in text else text


def line_start(text: str, offset: int) -> int:
    """Where the line begins in which an offset lies."""
    return text.rfind("\n", 0, offset) + 1


def place_at(file: str, text: str, offset: int | None) -> Place:
    """The place of an offset in a file's normal text; one behind the end is where the text's last word ends.

    Of the file where the offset is None.
    """
    if offset is None:
        return Place(file)
    if offset >= len(text):
        offset = len(text.rstrip())
    start = line_start(text, offset)
    end = text.find("\n", offset)
    if start == 0 and text.startswith("\ufeff"):  # a byte order mark, which no editor counts
        start, offset = 1, max(offset, 1)
    return Place(
        file, text.count("\n", 0, offset) + 1, offset - start + 1, text[start : end if end >= 0 else len(text)]
    )


def yaml_place(file: str, text: str, node: Node | None, path: Sequence[Any], *, key: bool = True) -> Place:
    """The place of a key (or of its value) in a YAML file, or of the nearest parent; `node` is what `text` composes."""
    entry = _entry_at(node, path)
    return place_at(file, text, index(text, entry[not key].start_mark) if entry else None)


#: The nodes of a key and of its value; of an item, and of what is no key's, the same twice.
_Entry = tuple[Node, Node]


_value_of = attrgetter("value")


def _entry_at(node: Node | None, path: Sequence[Any], key_of: Callable[[Node], Any] = _value_of) -> _Entry | None:
    """The nodes at the end of a path, or those of the nearest parent; None where there is nothing at all."""
    entry = (node, node) if node else None
    for step in path:
        inner = entry and entry_below(entry[1], step, key_of)
        if not inner:
            break
        entry = inner
    return entry


def entry_below(node: Node | None, step: Any, key_of: Callable[[Node], Any] = _value_of) -> _Entry | None:
    """The nodes of a key or an item, and of its value; `<<` is followed. None where there is none."""
    if isinstance(node, yaml.SequenceNode):
        return (node.value[step],) * 2 if isinstance(step, int) and 0 <= step < len(node.value) else None
    merged: list[Node] = []
    for key, value in node.value if isinstance(node, yaml.MappingNode) else ():
        if key_of(key) == step:
            return key, value
        if key.value == "<<":
            merged += value.value if isinstance(value, yaml.SequenceNode) else [value]
    return next(filter(None, (entry_below(inner, step, key_of) for inner in merged)), None)


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


def _gave_up(message: str, text: str, start: int, end: int) -> int:
    """Where the lexer gave up, by its words; `start` and `end` are those of the token before."""
    kind, values = jinja_message(message)
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
    match = re.search(rf"(?<![\w-]){re.escape(word)}(?![\w-])", expression_at(text, offset))
    return offset + match.start() if match else offset


def expression_at(text: str, offset: int) -> str:
    """The text of the expression that begins at an offset, as far as the end of its hole or tag."""
    end = _END.search(text, offset)
    return text[offset : end.start() if end else len(text)]


#: A tag, or a mark of a quoted value.
_TAG = re.compile(f"{OPEN}{TAG}([0-9]+){CLOSE}|[{START}{END}{BARE}]")


class TaggedPiece(NamedTuple):
    """A piece of the author's text, or a hole (whose `length` is 0), in a file from an offset on."""

    file: str
    offset: int
    length: int = 0


class Tags(msgspec.Struct):
    """The pieces by the numbers of their tags; files add theirs as they are compiled."""

    pieces: list[TaggedPiece] = []

    def tag(self, tree: nodes.Template, file: str, text: str) -> None:
        """Put a tag before everything that a file writes; `text` is the file's, as `normal` has it."""
        for output in tree.find_all(nodes.Output):
            children: list[nodes.Expr] = []
            for child in output.nodes:
                if isinstance(child, nodes.TemplateData):
                    child.data = self._new(TaggedPiece(file, child.lineno - 1, len(child.data))) + child.data
                elif child.lineno and not (isinstance(child, nodes.Filter) and child.name == "check:spend"):
                    begin = max(text.rfind("{{", 0, child.lineno), 0)
                    children.append(nodes.TemplateData(self._new(TaggedPiece(file, begin)), lineno=child.lineno))
                children.append(child)
            output.nodes = children

    def _new(self, piece: TaggedPiece) -> str:
        self.pieces.append(piece)
        return f"{OPEN}{TAG}{len(self.pieces) - 1}{CLOSE}"


class Tagged:
    """A rendered text and where each of its characters came from; `run` holds its values and warnings."""

    def __init__(self, template: JinjaTemplate, tags: Tags, variables: Mapping[str, Any], syntax: str) -> None:
        """Render. Raises whatever the template raises."""
        self.run = Run(OUTPUT * 8, tagged=True, syntax=syntax)
        token = current.set(self.run)
        try:
            text = document(template.root_render_func(template.new_context(dict(variables))), self.run)
        finally:
            current.reset(token)
        self.text = without_marks(TAGGED.sub("", text))
        self._starts = []
        self._pieces = []
        removed = 0
        for tag in _TAG.finditer(text):
            number = int(tag[1] or -1)
            if 0 <= number < len(tags.pieces):
                self._starts.append(tag.start() - removed)
                self._pieces.append(tags.pieces[number])
            removed += len(tag[0])

    def source(self, offset: int) -> tuple[str, int] | None:
        """The author's file and offset for an offset in the rendered text; None where nothing was written."""
        at = bisect_right(self._starts, offset) - 1
        if at < 0:
            return None
        piece = self._pieces[at]
        return piece.file, piece.offset + min(offset - self._starts[at], piece.length)

    def holes(self) -> Iterator[tuple[str, int, str]]:
        """File, offset and value of each hole that holds one, in the order that they are filled."""
        for start, end, piece in zip(self._starts, [*self._starts[1:], len(self.text)], self._pieces, strict=True):
            if not piece.length and start < end:
                pieces = HOLE.split(self.text[start:end])
                pieces[1::2] = [flow_value(self.run.values[int(number)]) for number in pieces[1::2]]
                yield piece.file, piece.offset, "".join(pieces)

    def hole(self, number: int, after: int) -> int:
        """Where in the rendered text a hole stands, at or behind an offset; that offset where it does not."""
        return max(self.text.find(f"{OPEN}{number}{CLOSE}", after), after)

    def offset_of(self, path: Path, *, key: bool) -> int:
        """Where in the rendered YAML or JSON a value, or its key, begins; its nearest parent where it is not there."""
        entry = _entry_at(_composed(self.text), path, self._key)
        return index(self.text, entry[not key].start_mark) if entry else 0

    def _key(self, node: Node) -> str | None:
        try:
            if isinstance(node, yaml.ScalarNode) and OPEN in node.value:
                pieces = HOLE.split(node.value)
                pieces[1::2] = [scalar_text(self.run.values[int(number)]) for number in pieces[1::2]]
                return "".join(pieces)
            return str(Builder(10).key(node))
        except Exception:  # no key of the value then
            return None


@lru_cache(maxsize=32)
def _composed(text: str) -> Node | None:
    """The nodes of a rendered text; that of many pods is the same but for the values in its holes."""
    try:
        return compose(text)
    except YAMLError:
        return None
