"""Where things are in the text of a YAML document: its comments and dashes, and the lines of its values."""

from __future__ import annotations

import re
from bisect import bisect_left

import yaml
from yaml import CollectionNode, MappingNode, Node, ScalarNode, SequenceNode

from injector.authoring.manifest_writer import Style, UnwritableError
from injector.authoring.yaml_stream import comments_in

#: Lines of comments, and blank ones between them.
_COMMENTS = re.compile(r"(?:[ \t\r]*\n)*(?:[ ]*#[^\n]*(?:\n|\Z)(?:[ \t\r]*\n(?=[ ]*#))*)+")

#: The first line of a block scalar that is not blank, and its indentation.
_FIRST_LINE = re.compile(r"\n( *)[^ \r\n]")
#: The head of a block scalar to which the blank lines behind it belong.
_KEEPS_BLANK = re.compile(r"[|>][0-9]*\+")


class Layout:
    """The places of a text. Those of its values come from the marks of their nodes."""

    def __init__(self, text: str) -> None:
        """Find the comments and the dashes."""
        self._text = text
        self._comments = list(comments_in(text))
        tokens = yaml.scan(text, Loader=yaml.CSafeLoader) if "-" in text else ()
        self._dashes = [token.start_mark for token in tokens if isinstance(token, yaml.BlockEntryToken)]
        self._dash_places = [mark.index for mark in self._dashes]

    def after(self, head: int, node: Node) -> int:
        """Where the line begins that follows a value behind its key, which ends at `head`, or behind its dash there."""
        end = int(node.end_mark.index)
        if node.start_mark.index < head:  # an alias
            return self.next_line(head)
        if isinstance(node, MappingNode) and is_block(node):
            return self.after(node.value[-1][0].end_mark.index, node.value[-1][1])
        if isinstance(node, SequenceNode) and is_block(node):
            return self.after(self.dashes_of(node)[-1], node.value[-1])
        if isinstance(node, ScalarNode) and node.style in ("|", ">"):
            block = self._text[node.start_mark.index : end]
            if _KEEPS_BLANK.match(block):
                return end if block.endswith("\n") else self.next_line(end)
            first = _FIRST_LINE.search(block)
            deepest = len(first[1]) if first else 0
            blank = re.search(rf"(?:\r?\n {{0,{deepest}}})*\Z", block)  # lines behind it that are none of it
            end = int(node.start_mark.index) + (blank.start() if blank else len(block))
        return self.next_line(max(end, head))

    def column(self, node: CollectionNode) -> int:
        """Where the keys of a block mapping begin, or the dashes of a block list: a tag may stand before these."""
        if isinstance(node, MappingNode):
            return int(node.value[0][0].start_mark.column)
        return int(self._dashes[bisect_left(self._dash_places, node.start_mark.index)].column)

    def style_of(self, root: Node) -> Style:
        """The indentation of a text, by its first mapping and its first list that stand within a mapping."""
        steps: dict[type[Node], int] = {}
        queue = [root]
        while queue and len(steps) < 2:
            node = queue.pop(0)
            if isinstance(node, MappingNode) and not node.flow_style:
                for _, value in node.value:
                    step = self.column(value) - self.column(node) if is_block(value) else -1
                    if step > 0 or (step == 0 and isinstance(value, SequenceNode)):
                        steps.setdefault(type(value), step)
                    queue.append(value)
            elif isinstance(node, SequenceNode):
                queue += node.value
        return Style(steps.get(MappingNode, 2), steps.get(SequenceNode, 0))

    def dashes_of(self, node: SequenceNode) -> list[int]:
        """Where the dashes of a block list are."""
        column = self.column(node)
        start, end = (bisect_left(self._dash_places, mark.index) for mark in (node.start_mark, node.end_mark))
        dashes = [mark.index for mark in self._dashes[start:end] if mark.column == column]
        if len(dashes) != len(node.value):
            raise UnwritableError
        return dashes

    def bracket(self, node: Node) -> int:
        """Where the bracket of a flow node is: a tag or an anchor may stand before."""
        return self._text.index("{" if isinstance(node, MappingNode) else "[", node.start_mark.index)

    def comments_within(self, start: int, end: int) -> list[tuple[int, int]]:
        """Where the comments begin and end that begin between two places."""
        return self._comments[bisect_left(self._comments, (start,)) : bisect_left(self._comments, (end,))]

    def above_comments(self, at: int) -> int:
        """Above the comments, and blank lines, that stand directly above a line."""
        while at:
            start = self._text.rfind("\n", 0, at - 1) + 1
            if self._text[start:at].strip() and self._text[start:at].lstrip()[0] != "#":
                break
            at = start
        return at

    def past_comments(self, at: int, column: int) -> int:
        """Behind the comments that are indented further than a column, from a line's beginning on.

        They belong to what is before them, and would become lines of a block of text that is put there.
        """
        comments = _COMMENTS.match(self._text, at)
        for line in comments[0].splitlines(keepends=True) if comments else ():
            if line.strip() and len(line) - len(line.lstrip(" ")) <= column:
                break
            at += len(line)
        return at

    def next_line(self, at: int) -> int:
        """Where the next line begins, or the text ends."""
        line_end = self._text.find("\n", at)
        return len(self._text) if line_end < 0 else line_end + 1

    def line_start(self, at: int) -> tuple[int, bool]:
        """Where the line of a place begins, and whether nothing else stands in front of it there."""
        start = self._text.rfind("\n", 0, at) + 1
        return start, not self._text[start:at].strip(" \ufeff")


def is_block(node: Node) -> bool:
    """Whether a node is a mapping or a list in block style that holds something."""
    return isinstance(node, CollectionNode) and not node.flow_style and bool(node.value)
