"""A root rendered once more, tagged: which file and offset each character of the rendered text came from.

Before every piece of the author's text and every hole stands a tag, a number between noncharacters, which is taken out
again once the text is whole. It is slow, and only for errors, the linter and tests.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import yaml
from jinja2 import Template as JinjaTemplate
from jinja2 import nodes

from injector.templates.holes import Run, current, document
from injector.templates.kubernetes_yaml import Builder, Node, YAMLError, compose, index
from injector.templates.structure import CLOSE, HOLE, OPEN, OUTPUT, TAG, scalar_text, untagged

#: A path into a rendered value: keys and list indices.
Path = Sequence[str | int]

_TAG = re.compile(f"{OPEN}{TAG}([0-9]+){CLOSE}")


@dataclass(frozen=True, slots=True)
class TaggedPiece:
    """A piece of the author's text, or a hole (whose `length` is 0), in a file from an offset on."""

    file: str
    offset: int
    length: int = 0


@dataclass(slots=True)
class Tags:
    """The pieces by the numbers of their tags; files add theirs as they are compiled."""

    pieces: list[TaggedPiece] = field(default_factory=list)

    def tag(self, tree: nodes.Template, file: str, text: str) -> None:
        """Put a tag before everything that a file writes; `text` is the file's, as `places.normal` has it."""
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

    def __init__(self, template: JinjaTemplate, tags: Tags, variables: Mapping[str, Any]) -> None:
        """Render. Raises whatever the template raises."""
        self.run = Run(OUTPUT * 8, tagged=True)
        token = current.set(self.run)
        try:
            text = document(template.root_render_func(template.new_context(dict(variables))), self.run)
        finally:
            current.reset(token)
        self.text = untagged(text)
        self._starts: list[int] = []
        self._pieces: list[TaggedPiece] = []
        removed = 0
        for found in _TAG.finditer(text):
            number = int(found[1])
            if number < len(tags.pieces):
                self._starts.append(found.start() - removed)
                self._pieces.append(tags.pieces[number])
            removed += len(found[0])

    def source(self, offset: int) -> tuple[str, int] | None:
        """The author's file and offset for an offset in the rendered text; None where nothing was written."""
        at = bisect_right(self._starts, offset) - 1
        if at < 0:
            return None
        piece = self._pieces[at]
        return piece.file, piece.offset + min(offset - self._starts[at], piece.length)

    def hole(self, number: int, after: int) -> int:
        """Where in the rendered text a hole stands, at or behind an offset; that offset where it does not."""
        return max(self.text.find(f"{OPEN}{number}{CLOSE}", after), after)

    def offset_of(self, path: Path, *, key: bool = False) -> int:
        """Where in the rendered YAML or JSON a value, or its key, begins; its nearest parent where it is not there."""
        node, key_node = self._composed, None
        for step in path:
            found = self._step(node, step)
            if found is None:
                break
            key_node, node = found
        shown = key_node if key and key_node is not None else node
        return 0 if shown is None else index(self.text, shown.start_mark)

    @cached_property
    def _composed(self) -> Node | None:
        try:
            return compose(self.text)
        except YAMLError:
            return None

    def _step(self, node: Node | None, step: str | int) -> tuple[Node | None, Node] | None:
        if isinstance(node, yaml.SequenceNode):
            inside = isinstance(step, int) and 0 <= step < len(node.value)
            return (None, node.value[step]) if inside else None
        if not isinstance(node, yaml.MappingNode):
            return None
        merged: list[Node] = []
        for key, value in node.value:
            if self._key(key) == step:
                return key, value
            if key.value == "<<":
                merged += value.value if isinstance(value, yaml.SequenceNode) else [value]
        return next((found for other in merged if (found := self._step(other, step))), None)

    def _key(self, node: Node) -> str | None:
        try:
            if isinstance(node, yaml.ScalarNode) and OPEN in node.value:
                pieces = HOLE.split(node.value)
                pieces[1::2] = [scalar_text(self.run.values[int(number)]) for number in pieces[1::2]]
                return "".join(pieces)
            return str(Builder(10).key(node))
        except Exception:  # no key of the value then
            return None
