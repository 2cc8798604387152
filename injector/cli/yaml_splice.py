"""A changed value written into its own YAML text: what stays the same keeps every character.

Comments, quoting, flow style, anchors and the order of keys stand as somebody typed them; lines that are added have the
text's own indentation. A value that cannot be written into its text is written anew behind its key or its dash, where
its comments stay. Places come from libyaml's marks: https://yaml.org/spec/1.2.2/#3231-node-styles
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import yaml
from yaml import CollectionNode, MappingNode, Node, ScalarNode, SequenceNode

from injector.authoring.manifest_writer import (
    UnwritableError,
    block_lines,
    closable,
    line_key,
    line_text,
    open_heads,
    text_like,
)
from injector.cli.yaml_layout import Layout
from injector.pods.context import mapping
from injector.templates.kubernetes_yaml import load_manifest

#: Between a part within brackets and a comment beside it.
_BESIDE = re.compile(r"[ \t]*,?[ \t]*(?=#)")
#: The head of a block scalar.
_TEXT = re.compile(r" *[|>]")
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
        if load_manifest(new_text) == new:
            return new_text, lines
        if text.endswith("\n") or (again := spliced(f"{closable(text)}\n", old, new)) is None:
            return None
        return again[0], (*again[1], text.count("\n") + 1)  # a text that comes in last needs a line end
    except (UnwritableError, yaml.YAMLError, RecursionError):
        return None


class _Splice:
    def __init__(self, text: str, root: Node) -> None:
        self._text, self._root = text, root
        self._layout = Layout(text)
        self._style = self._layout.style_of(root)

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
        in_brackets = isinstance(node, CollectionNode) and node.flow_style
        splices: dict[tuple[Any, ...], Callable[..., Iterator[_Change]]] = {
            (MappingNode, dict, dict): self._flow_mapping if in_brackets else self._mapping,
            (SequenceNode, list, list): self._flow_list if in_brackets else self._list,
        }
        splice = splices.get((type(node), type(old), type(new)))
        start, end = node.start_mark.index, node.end_mark.index
        commented = self._layout.comments_within(start, end)
        if splice is not None and (new or in_brackets):
            yield from splice(node, old, new)
        elif start < end and not commented and (flow or _may_stay_on_its_line(node, new)):
            yield _Change(start, end, text_like(node, new, flow=flow))
        else:
            raise UnwritableError

    def _mapping(self, node: MappingNode, old: Any, new: Any) -> Iterator[_Change]:
        entries = self._entries(node, old, new)
        column = self._layout.column(node)
        if not entries.keys() & new.keys():
            raise UnwritableError
        starts = [key_node.start_mark.index for key_node, _ in node.value]
        for key, (key_node, value_node) in entries.items():
            head = key_node.end_mark.index
            after = self._layout.after(head, value_node)
            if key not in new:
                yield self._without(starts, key_node.start_mark.index, after)
            else:
                yield from self._slot(value_node, old[key], {key: new[key]}, head, after, column)
        added = {key: value for key, value in new.items() if key not in old}
        if added:
            last_key, last_value = node.value[-1]
            at = self._layout.past_comments(self._layout.after(last_key.end_mark.index, last_value), column)
            yield _Change(at, at, self._block(added, column), whole=True)

    def _list(self, node: SequenceNode, old: list[Any], new: list[Any]) -> Iterator[_Change]:
        items, matched = node.value, _matched(old, new)
        if len(items) != len(old) or not matched:
            raise UnwritableError
        column, dashes = self._layout.column(node), self._layout.dashes_of(node)
        ends = {}
        for index, (dash, item) in enumerate(zip(dashes, items, strict=True)):
            end = self._layout.after(dash, item)
            if index in matched:
                ends[matched[index]] = end
                yield from self._slot(item, old[index], [new[matched[index]]], dash, end, column)
            else:
                yield self._without(dashes, dash, end)
        at, clean = self._layout.line_start(dashes[0])
        at = self._layout.above_comments(at) if clean else dashes[0]
        for index, value in enumerate(new):
            if index in ends:
                at, clean = self._layout.past_comments(ends[index], column), True
            elif clean:
                yield _Change(at, at, self._block([value], column), whole=True)
            else:
                yield _Change(at, at, self._block([value], column)[column:] + " " * column)

    def _slot(self, node: Node, old: Any, entry: Any, head: int, after: int, column: int) -> Iterator[_Change]:
        """The changes of a value behind its key or its dash, which ends or is at `head` and has this column.

        `entry` has the new value alone; `after` is where the line begins that follows the old one.
        """
        [new] = entry.values() if isinstance(entry, dict) else entry
        try:
            if node.start_mark.index < head and old != new:  # an alias
                raise UnwritableError
            yield from list(self._value(node, old, new))
        except UnwritableError:
            yield self._anew(entry, head, after, column)

    def _anew(self, entry: Any, head: int, after: int, column: int) -> _Change:
        """A value written anew behind its key or dash. The comment beside that stays there, and the others follow."""
        text, in_list = self._text, isinstance(entry, list)
        name = "-" if in_list else f"{line_key(next(iter(entry)))}:"
        is_null = isinstance(entry, dict) and None in entry.values()
        body = "\n" if is_null else self._block(entry, column)[column + len(name) :]
        start = head + 1 if in_list else text.index(":", head) + 1
        within = self._layout.comments_within(start, after)
        beside = [comment for comment in within if "\n" not in text[start : comment[0]]]
        more = "".join(f"{' ' * column}{text[at:end]}\n" for at, end in within[len(beside) :])
        first, _, rest = body.partition("\n")
        if in_list and within and rest and not _TEXT.match(first):  # a mapping or a list that begins beside its dash
            first, rest = "", f"{' ' * column} {first}\n{rest}"
        for at, end in beside:
            first += text[start + len(text[start:at].rstrip(" \t")) : end]
        parts = [first, "\n", rest, more] if _TEXT.match(first) else [first, "\n", more, rest]
        return _Change(start, after, "".join(parts))

    def _without(self, starts: list[int], start: int, after: int) -> _Change:
        """Without an entry or item, of those that begin at `starts`; beside a dash the next one takes its place."""
        line, clean = self._layout.line_start(start)
        if clean:
            return _Change(line, after, "", whole=True)
        following = bisect_left(starts, start + 1)
        if following == len(starts):
            raise UnwritableError
        return _Change(start, starts[following], "")

    def _flow_mapping(self, node: MappingNode, old: Any, new: Any) -> Iterator[_Change]:
        entries = self._entries(node, old, new)
        if len(entries) < len(node.value):
            raise UnwritableError
        for key, (key_node, value_node) in entries.items():
            if value_node.start_mark.index < key_node.end_mark.index:
                raise UnwritableError
            if key in new and old[key] != new[key]:
                yield from self._value(value_node, old[key], new[key], flow=True)
        parts = [(key.start_mark, value.end_mark) for key, value in entries.values()]
        added = [line_text({key: value}, flow=True)[1:-1] for key, value in new.items() if key not in old]
        yield from self._flow_parts(node, parts, [*(n for n, key in enumerate(entries) if key in new), *added])

    def _flow_list(self, node: SequenceNode, old: list[Any], new: list[Any]) -> Iterator[_Change]:
        matched = _matched(old, new)
        if len(node.value) != len(old):
            raise UnwritableError
        for index, counterpart in matched.items():
            yield from self._value(node.value[index], old[index], new[counterpart], flow=True)
        origins = {counterpart: index for index, counterpart in matched.items()}
        parts = [(item.start_mark, item.end_mark) for item in node.value]
        order = [origins.get(index, line_text(value, flow=True)) for index, value in enumerate(new)]
        yield from self._flow_parts(node, parts, order)

    def _flow_parts(self, node: Node, parts: list[tuple[Any, Any]], order: list[int | str]) -> Iterator[_Change]:
        """The parts of a mapping or list within brackets, by their marks, brought into an order: of those that stay by
        their number, and of texts that come in.
        """
        places = [(start.index, end.index) for start, end in parts]
        bounds = [node.start_mark.index, *(place for part in places for place in part), node.end_mark.index]
        if bounds != sorted(bounds):  # an alias stands for what is elsewhere
            raise UnwritableError
        staying = [part for part in order if isinstance(part, int)]
        first = staying[0] if staying else 0
        for index in sorted({*range(len(parts))}.difference(staying)):
            yield from self._out_of_flow(self._layout.bracket(node) + 1, places, index, first)
        texts: list[str] = []
        before = None
        for part in (*order, None):
            if isinstance(part, str):
                texts.append(part)
                continue
            if texts:
                yield from self._into_flow(node, parts, before, ", ".join(texts), last=part is None)
            before, texts = part, []

    def _out_of_flow(self, inside: int, places: list[tuple[int, int]], index: int, first: int) -> Iterator[_Change]:
        """Without a part and its comma: the one behind it where nothing that stays is before, else the one before it. A
        comment that stands between these stays.
        """
        text, layout, (start, end) = self._text, self._layout, places[index]
        before = places[index - 1][1] if index else start
        line, clean = layout.line_start(start)
        if index >= first and not layout.comments_within(before, start):
            yield _Change(before, end, "")
        elif index + 1 < len(places):
            comma, following = text.index(",", end) + 1, places[index + 1][0]
            alone = start == inside and "\n" in text[end:following]
            if not alone and not layout.comments_within(end, following):
                yield _Change(start, following, "")
            elif clean and not text[comma : layout.next_line(comma)].strip():
                yield _Change(line, layout.next_line(comma), "")
            else:
                yield _Change(start, comma, "")
        else:
            comma = text.index(",", before)
            yield _Change(comma, comma + 1, "")
            yield _Change(line, layout.next_line(end), "") if clean else _Change(start, end, "")

    def _into_flow(
        self, node: Node, parts: list[Any], before: int | None, text: str, *, last: bool
    ) -> Iterator[_Change]:
        """A text that comes in behind a part, or behind the bracket; on a line of its own where a comment is beside."""
        at = parts[before][1].index if before is not None else self._layout.bracket(node) + 1
        beside = _BESIDE.match(self._text, at)
        column = parts[before or 0][0].column if parts else 0
        if parts and beside is not None and self._layout.comments_within(beside.end(), beside.end() + 1):
            if before is not None and "," not in beside[0]:
                yield _Change(at, at, ",")
            at = self._layout.next_line(beside.end())
            yield _Change(at, at, f"{' ' * column}{text}{'' if last else ','}\n")
        elif before is not None:
            yield _Change(at, at, f", {text}")
        elif last or "\n" in self._text[at : parts[0][0].index]:
            yield _Change(at, at, text if last else f"{text},")
        else:
            yield _Change(parts[0][0].index, parts[0][0].index, f"{text}, ")

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

    def _block(self, value: Any, column: int) -> str:
        return "".join(f"{line}\n" for line in block_lines(value, self._style, " " * column))


def _may_stay_on_its_line(node: Node, new: Any) -> bool:
    """Whether a value may be written on one line where this node stands, outside of brackets."""
    if isinstance(node, CollectionNode):
        return bool(node.flow_style)
    return isinstance(node, ScalarNode) and node.style not in ("|", ">") and not isinstance(new, dict | list)


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
