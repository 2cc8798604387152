"""A changed value written into its own YAML text: what stays the same keeps every character.

Comments, quoting, flow style, anchors and the order of keys stand as somebody typed them; lines that are added have the
text's own indentation. Places come from libyaml's marks: https://yaml.org/spec/1.2.2/#3231-node-styles
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import yaml
from yaml import CollectionNode, MappingNode, Node, ScalarNode, SequenceNode

from injector.authoring.manifest_writer import Style, UnwritableError, block_lines, line_key, line_text, open_heads
from injector.pods.context import mapping
from injector.templates.kubernetes_yaml import load_manifest

#: Lines of comments, and blank ones between them.
_COMMENTS = re.compile(r"(?:[ \t\r]*\n)*(?:[ ]*#[^\n]*(?:\n|\Z)(?:[ \t\r]*\n(?=[ ]*#))*)+")


_MERGE = "tag:yaml.org,2002:merge"


class _Change(NamedTuple):
    """Characters of the text to take out, and what to put there; `whole` where these are lines of their own."""

    start: int
    end: int
    text: str
    whole: bool = False


def spliced(text: str, old: Any, new: Any) -> tuple[str, tuple[int, ...]] | None:
    """The text of `old` as the text of `new`, and the numbers of its lines that did not stay as they were, from 1.

    None where only a text that is written anew has the new value.
    """
    try:
        root = yaml.compose(text, Loader=yaml.CSafeLoader)
        if root is None:
            return None
        new_text, lines = _Splice(text, root).write(old, new)
        return (new_text, lines) if load_manifest(new_text) == new else None
    except (UnwritableError, yaml.YAMLError, RecursionError):
        return None


class _Splice:
    def __init__(self, text: str, root: Node) -> None:
        self._text, self._root = text, root
        self._style = _style_of(root)

    def write(self, old: Any, new: Any) -> tuple[str, tuple[int, ...]]:
        """The text of the new value, and the numbers of the lines that did not stay as they were."""
        text = self._text
        line_end = "\r\n" if "\r\n" in text else "\n"
        new_text = ""
        lines: list[int] = []
        at = 0
        for change in self._changes(old, new):
            if change.start < at:
                raise UnwritableError
            inserted = change.text
            new_text += text[at : change.start]
            at = change.end
            at_end = self._at_open_end(change)
            if at_end and inserted:
                inserted = "\n" + inserted.removesuffix("\n")
            elif at_end:  # what comes before is the last line now, and has no line end either
                new_text = new_text.removesuffix(line_end)
            new_text += inserted.replace("\n", line_end)
            if at_end or not (change.whole and (change.start == change.end or not inserted)):
                first = text.count("\n", 0, change.start) + 1
                lines += range(first, first + text.count("\n", change.start, max(change.start, change.end - 1)) + 1)
        return new_text + text[at:], tuple(dict.fromkeys(lines))

    def _changes(self, old: Any, new: Any) -> list[_Change]:
        """The changes, in the order of the text. The sort is stable: at one place that of the inner part is first."""
        changes = list(self._value(self._root, old, new))
        if any(self._at_open_end(change) and change.text for change in changes):
            changes += (_Change(*head) for head in open_heads(self._text, self._root))
        return sorted(changes, key=lambda change: change[:2])

    def _at_open_end(self, change: _Change) -> bool:
        """Whether lines change at the end of a text whose last line has no line end."""
        return change.whole and change.end == len(self._text) and not self._text.endswith("\n")

    # ---------------------------------------------------------------------------------------- what changes where

    def _value(self, node: Node, old: Any, new: Any, *, flow: bool = False) -> Iterator[_Change]:
        """The changes of a value; `flow`: it stands within brackets."""
        if type(old) is type(new) and old == new:
            return
        if isinstance(node, MappingNode) and isinstance(old, dict) and isinstance(new, dict) and new:
            yield from (self._flow_mapping if node.flow_style else self._mapping)(node, old, new)
        elif isinstance(node, SequenceNode) and isinstance(old, list) and isinstance(new, list) and new:
            yield from (self._flow_list if node.flow_style else self._list)(node, old, new)
        elif flow or _may_stay_on_its_line(node, new):
            yield _Change(node.start_mark.index, node.end_mark.index, line_text(new, flow=flow))
        else:
            raise UnwritableError

    def _mapping(self, node: MappingNode, old: Any, new: Any) -> Iterator[_Change]:
        entries = self._entries(node, old, new)
        column = _column(node)
        if not entries.keys() & new.keys():
            raise UnwritableError
        for key, (key_node, value_node) in entries.items():
            if key not in new:
                yield _Change(self._line_start(key_node), self._after(key_node, value_node), "", whole=True)
                continue
            try:
                if _is_alias(key_node, value_node) and old[key] != new[key]:
                    raise UnwritableError
                yield from list(self._value(value_node, old[key], new[key]))
            except UnwritableError:
                yield self._anew(key_node, value_node, key, new[key], column)
        added = {key: value for key, value in new.items() if key not in old}
        if added:
            at = self._past_comments(self._after(*node.value[-1]), column)
            yield _Change(at, at, self._block(added, column), whole=True)

    def _anew(self, key_node: Node, value_node: Node, key: str, value: Any, column: int) -> _Change:
        """One entry of a mapping, written anew behind its key."""
        name = f"{' ' * column}{line_key(key)}:"
        body = "" if value is None else self._block({key: value}, column).removeprefix(name).removesuffix("\n")
        start = self._text.index(":", key_node.end_mark.index) + 1
        return _Change(start, self._after(key_node, value_node), body + "\n")

    def _list(self, node: SequenceNode, old: list[Any], new: list[Any]) -> Iterator[_Change]:
        items, matched = node.value, _matched(old, new)
        if len(items) != len(old) or not matched:
            raise UnwritableError
        column = _column(node)
        starts = [self._dash_line(item, column) for item in items]
        ends = {}
        for index, item in enumerate(items):
            end = self._after(item, item)
            if index in matched:
                ends[matched[index]] = end
                yield from self._value(item, old[index], new[matched[index]])
            else:
                yield _Change(starts[index], end, "", whole=True)
        at = starts[0]
        for index, value in enumerate(new):
            if index in ends:
                at = self._past_comments(ends[index], column)
            else:
                yield _Change(at, at, self._block([value], column), whole=True)

    def _flow_mapping(self, node: MappingNode, old: Any, new: Any) -> Iterator[_Change]:
        entries = self._entries(node, old, new)
        if len(entries) < len(node.value) or any(_is_alias(*entry) for entry in entries.values()):
            raise UnwritableError
        parts = [(key.start_mark.index, value.end_mark.index) for key, value in entries.values()]
        for key, (_, value_node) in entries.items():
            if key in new and old[key] != new[key]:
                yield from self._value(value_node, old[key], new[key], flow=True)
        removed = [index for index, key in enumerate(entries) if key not in new]
        added = {key: value for key, value in new.items() if key not in old}
        yield from self._flow_parts(node, parts, removed, line_text(added)[1:-1])

    def _flow_list(self, node: SequenceNode, old: list[Any], new: list[Any]) -> Iterator[_Change]:
        matched = _matched(old, new)
        at_end = [*matched.values()] == [*range(len(matched))]  # items are put in at the end alone
        if len(node.value) != len(old) or not at_end:
            raise UnwritableError
        parts = [(item.start_mark.index, item.end_mark.index) for item in node.value]
        for index, counterpart in matched.items():
            yield from self._value(node.value[index], old[index], new[counterpart], flow=True)
        removed = [index for index in range(len(old)) if index not in matched]
        yield from self._flow_parts(node, parts, removed, line_text(new[len(matched) :])[1:-1])

    @staticmethod
    def _flow_parts(node: Node, parts: list[tuple[int, int]], removed: list[int], added: str) -> Iterator[_Change]:
        """The parts of a mapping or list within brackets: some are taken out, others put in behind the last.

        With each part goes its comma: the one before it, or behind it where nothing that stays is before.
        """
        first = next((index for index in range(len(parts)) if index not in removed), 0)
        for index in removed:
            if index < first:
                yield _Change(parts[index][0], parts[index + 1][0], "")
            else:
                yield _Change(parts[index - 1][1] if index else parts[0][0], parts[index][1], "")
        if added and len(parts) - 1 in removed:
            raise UnwritableError
        if added and parts:
            yield _Change(parts[-1][1], parts[-1][1], f", {added}")
        elif added:
            yield _Change(node.start_mark.index + 1, node.start_mark.index + 1, added)

    # ------------------------------------------------------------------------------------------------ where things are

    def _entries(self, node: MappingNode, old: Any, new: Any) -> dict[str, tuple[Node, Node]]:
        """The entries by key, only those of the mapping itself. Raises if merged ones (`<<: *base`) change."""
        own = [(key, value) for key, value in node.value if key.tag != _MERGE]
        if len(own) == len(node.value) == len(old):
            return dict(zip(old, own, strict=True))  # by order: a key `n` is read as "false"
        entries = {key.value: (key, value) for key, value in own}
        merged = [key for key in old if key not in entries]
        if not entries.keys() <= old.keys() or any(key not in new or new[key] != old[key] for key in merged):
            raise UnwritableError
        return entries

    def _after(self, key: Node, node: Node) -> int:
        """Where the line begins that follows a value, which stands behind its key."""
        if key is not node and _is_alias(key, node):
            return self._next_line(key.end_mark.index)
        if isinstance(node, CollectionNode) and not node.flow_style and node.value:
            last = node.value[-1]
            return self._after(*last) if isinstance(last, tuple) else self._after(last, last)
        end = int(node.end_mark.index)
        if isinstance(node, ScalarNode) and node.style in ("|", ">"):
            return end if self._text[end - 1 : end] == "\n" else self._next_line(end)
        return self._next_line(max(end, key.end_mark.index))

    def _past_comments(self, at: int, column: int) -> int:
        """Behind the comments that are indented further than a column, from a line's beginning on.

        They belong to what is before them, and would become lines of a block of text that is put there.
        """
        comments = _COMMENTS.match(self._text, at)
        for line in comments[0].splitlines(keepends=True) if comments else ():
            if line.strip() and len(line) - len(line.lstrip(" ")) <= column:
                break
            at += len(line)
        return at

    def _next_line(self, at: int) -> int:
        line_end = self._text.find("\n", at)
        return len(self._text) if line_end < 0 else line_end + 1

    def _line_start(self, node: Node) -> int:
        """Where the line of a node begins. Raises where something else stands in front of it there."""
        start = self._text.rfind("\n", 0, node.start_mark.index) + 1
        if self._text[start : node.start_mark.index].strip(" \ufeff"):
            raise UnwritableError
        return start

    def _dash_line(self, item: Node, column: int) -> int:
        start = self._text.rfind("\n", 0, item.start_mark.index) + 1
        before = self._text[start : item.start_mark.index]
        if before[:column].strip(" ") or before[column : column + 1] != "-" or before[column + 1 :].strip(" "):
            raise UnwritableError
        return start

    def _block(self, value: Any, column: int) -> str:
        return "".join(f"{line}\n" for line in block_lines(value, self._style, " " * column))


def _is_alias(key: Node, value: Node) -> bool:
    return bool(value.start_mark.index < key.end_mark.index)


def _may_stay_on_its_line(node: Node, new: Any) -> bool:
    """Whether a value may be written on one line where this node stands, outside of brackets."""
    if isinstance(node, CollectionNode):
        return bool(node.flow_style)
    return isinstance(node, ScalarNode) and node.style not in ("|", ">") and not isinstance(new, dict | list)


def _is_block(node: Node) -> bool:
    return isinstance(node, CollectionNode) and not node.flow_style and bool(node.value)


def _column(node: CollectionNode) -> int:
    """Where the keys of a block mapping begin, or the dashes of a block list: a tag or an anchor may stand before."""
    first = node.value[0]
    if isinstance(first, tuple):
        return int(first[0].start_mark.column)
    tagged = node.start_mark.line < first.start_mark.line
    return int(first.start_mark.column - 2 if tagged else node.start_mark.column)


def _matched(old: list[Any], new: list[Any]) -> dict[int, int]:
    """The items that are the same, as indices in the new list by those in the old one; both ascend.

    Items are the same by name or by value; where none has a name, and there are as many as before, by their place.
    """
    if len(old) == len(new) and not any(any(_name(item)) for item in (*old, *new)):
        return {index: index for index in range(len(old))}
    pairs = {}
    at = 0
    for old_index, item in enumerate(old):
        counterpart = next((index for index in range(at, len(new)) if _same_item(item, new[index])), None)
        if counterpart is not None:
            pairs[old_index] = counterpart
            at = counterpart + 1
    return pairs


def _same_item(item: Any, counterpart: Any) -> bool:
    name = _name(item)
    return name == _name(counterpart) if any(name) else type(item) is type(counterpart) and bool(item == counterpart)


def _name(item: Any) -> tuple[Any, ...]:
    """What tells an item from the others: a container by its name, an object of a List by kind and name."""
    if not isinstance(item, dict):
        return ()
    metadata = mapping(item.get("metadata"))
    return (item.get("name"), item.get("kind"), metadata.get("name"), metadata.get("generateName"))


def _style_of(root: Node) -> Style:
    """The indentation of a text, by its first mapping and its first list that stand within a mapping."""
    steps: dict[type[Node], int] = {}
    queue = [root]
    while queue and len(steps) < 2:
        node = queue.pop(0)
        if isinstance(node, MappingNode) and not node.flow_style:
            for _, value in node.value:
                step = _column(value) - _column(node) if _is_block(value) else -1
                if step > 0 or (step == 0 and isinstance(value, SequenceNode)):
                    steps.setdefault(type(value), step)
                queue.append(value)
        elif isinstance(node, SequenceNode):
            queue += node.value
    return Style(steps.get(MappingNode, 2), steps.get(SequenceNode, 0))
