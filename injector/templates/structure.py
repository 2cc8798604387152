"""The structure of a document with holes: parsed once from the author's text, then filled with values many times.

A hole stands in the text as a placeholder: its number between two noncharacters of Unicode (U+FDD0, U+FDD1), which
are for a program's own use and never text. A placeholder that is a whole plain scalar keeps the type of its value;
in quotes, in a block scalar or beside other text it becomes part of a string.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence, Set
from copy import copy
from typing import Any

import msgspec
import yaml

from injector.budget import FaultError, LimitError
from injector.names import kind_of
from injector.pods.overlay import Append, Default, Replace
from injector.templates.kubernetes_yaml import Builder, Node, compose
from injector.templates.quoted_places import START, misplaced_quote, with_marks, without_marks
from injector.templates.quoting import Quoted

OPEN, CLOSE = "\ufdd0", "\ufdd1"
HOLE = re.compile(f"{OPEN}([0-9]+){CLOSE}")
#: Marks a placeholder that stands for nothing but a place, see `source_map`.
TAG = "\ufdd2"
TAGGED = re.compile(f"{OPEN}{TAG}[0-9]+{CLOSE}")
#: `name:web` within braces: to YAML a key without a value.
_RUN_TOGETHER = re.compile(r"([A-Za-z][\w.-]*):(?!//|:)\S")
#: How many values a template's document may have, aliases written out.
DOCUMENT_VALUES = 100_000
#: How many characters one render may come to, values included.
OUTPUT = 1024 * 1024


def scalar_text(value: Any) -> str:
    """A value within a string. Raises FaultError for a null, a list and a mapping, which have no one spelling."""
    kind = type(value)
    if isinstance(value, str):
        return value
    if kind is bool:
        return str(value).lower()
    if kind is int or kind is float:
        return repr(value)
    if value is None:
        raise FaultError(
            "a null is used inside a string; give it a `| default(...)`, or leave the line out with "
            "{% if x is not none %}"
        )
    to_do = "write the {{ ... }} alone and without quotes, or use `| tojson`"
    raise FaultError(f"{kind_of(value)} is used inside a string; {to_do}")


_Tag = Replace | Append | Default
#: What stands in the holes, by their numbers.
Values = Sequence[Any]


class FillPlan(msgspec.Struct, eq=False):
    """A part of a document that holds holes; `offset` is where it begins in the rendered text."""

    offset: int

    def fill(self, values: Values) -> Any:
        """The part with values in its holes. Raises FaultError with the offset."""
        raise NotImplementedError


class WholePlan(FillPlan):
    """A hole that is a whole value."""

    index: int

    def fill(self, values: Values) -> Any:
        """The value with its own type."""
        value = values[self.index]
        if type(value) is Quoted:
            raise FaultError(
                "no shell reads this value, so the quotes of shell_quote would stay in it; leave shell_quote out, or "
                "write the value within a script"
            ).at(self.offset, self.index)
        return value


class MixedPlan(FillPlan):
    """A string with holes in it: texts, and behind each but the last the number of the hole that follows it."""

    texts: Sequence[str]
    indices: Sequence[int]

    def fill(self, values: Values) -> str:
        """The string."""
        pieces = list(self.texts[:1])
        index = -1
        quoted = []
        try:
            for index, text in zip(self.indices, self.texts[1:], strict=True):
                value = values[index]
                if type(value) is Quoted:
                    quoted.append(index)
                    value = with_marks(value, value.syntax)
                pieces.append(scalar_text(value))
                pieces.append(text)
        except FaultError as fault:
            raise fault.at(self.offset, index) from None
        return _script("".join(pieces), quoted, self.offset) if quoted else "".join(pieces)


def _script(text: str, quoted: Sequence[int], offset: int) -> str:
    """A script in the document at an offset, without the marks of the values quoted for the shell in those holes."""
    if misplaced := misplaced_quote(text, "sh"):
        raise FaultError(misplaced[1]).at(offset, quoted[text.count(START, 0, misplaced[0])])
    return without_marks(text)


class MappingPlan(FillPlan):
    """A mapping with holes in keys or values; a key whose value turns out null is left out."""

    entries: list[tuple[str | MixedPlan, Any, bool]]
    plain: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        self.plain = frozenset(key for key, _, _ in self.entries if isinstance(key, str))

    def fill(self, values: Values) -> dict[str, Any]:
        """The mapping."""
        result = {}
        for key, value, holes in self.entries:
            if holes:
                value = value.fill(values)
                if value is None:
                    continue
            if isinstance(key, MixedPlan):
                name = key.fill(values)
                if name in result or name in self.plain:
                    raise FaultError(f'the key "{name[:60]}" appears twice').at(key.offset)
                result[name] = value
            else:
                result[key] = value
        return result


class ItemsPlan(FillPlan):
    """A list with holes in its items."""

    items: list[Any]

    def fill(self, values: Values) -> Any:
        """The list."""
        result = [item.fill(values) if isinstance(item, FillPlan) else item for item in self.items]
        if None in result:
            for item, value in zip(self.items, result, strict=True):
                if value is None and item is not None:
                    raise FaultError("a list's item is null; leave it out with {% if %}").at(item.offset)
        return result


class TaggedPlan(FillPlan):
    """A `!replace`, `!append` or `!default` whose value holds holes."""

    plan: FillPlan
    tag: type[_Tag]

    def fill(self, values: Values) -> Any:
        """The tag, or None for a null: only a written `!replace null` takes a field away, not a value not given."""
        value = self.plan.fill(values)
        return None if value is None else self.tag(value)


class Structure:
    """A parsed document, ready to be filled."""

    __slots__ = ("_often", "root", "tags")

    def __init__(self, text: str, *, replace: bool) -> None:
        """Parse a rendered text. `replace` allows `!replace`, `!append` and `!default`; `tags` are those that it has.

        Raises yaml.YAMLError with marks in that text.
        """
        builder = _Builder(replace)
        node = compose(text)
        self.root = None if node is None else builder.value(node)
        self.tags = builder.found
        self._often = {index: times for index, times in builder.used.items() if times > 1}

    def filled(self, values: Values, later: Set[int]) -> Structure:
        """This structure with values in its holes but for those `later`; only for values that can be filled in."""
        structure = copy(self)
        structure.root = _filled(self.root, values, later)
        return structure

    def check_size(self, values: Values) -> None:
        """Raises LimitError where values that stand in several holes make the document too large."""
        if self._often and sum(weight(values[i]) * times for i, times in self._often.items()) > OUTPUT:
            raise LimitError(f"the output is larger than {OUTPUT} characters")

    def fill(self, values: Values) -> Any:
        """The document with values in its holes. Raises FaultError."""
        self.check_size(values)
        return self.root.fill(values) if isinstance(self.root, FillPlan) else self.root


def _filled(plan: Any, values: Values, later: Set[int]) -> Any:
    """A part with values in all but some holes; a part without such a hole can be shared by all results."""
    if isinstance(plan, WholePlan):
        return plan if plan.index in later else plan.fill(values)
    if isinstance(plan, MixedPlan):
        return plan.fill(values) if later.isdisjoint(plan.indices) else plan
    if isinstance(plan, TaggedPlan):
        inner = _filled(plan.plan, values, later)
        return TaggedPlan(plan.offset, inner, plan.tag) if isinstance(inner, FillPlan) else plan.fill(values)
    if isinstance(plan, ItemsPlan):
        items = [_filled(item, values, later) for item in plan.items]
        return ItemsPlan(plan.offset, items) if any(isinstance(item, FillPlan) for item in items) else items
    if isinstance(plan, MappingPlan):
        pairs = [(_filled(key, values, later), _filled(value, values, later)) for key, value, _ in plan.entries]
        entries = [(key, value, isinstance(value, FillPlan)) for key, value in pairs if value is not None]
        if any(holes or isinstance(key, FillPlan) for key, _, holes in entries):
            return MappingPlan(plan.offset, entries)
        return {key: value for key, value, _ in entries}
    return plan


def weight(value: Any) -> int:
    """How many characters a value roughly comes to when it is written."""
    if isinstance(value, str):
        return len(value)
    if isinstance(value, dict):
        return sum(len(k) + weight(v) for k, v in value.items()) + 2
    if isinstance(value, list):
        return sum(map(weight, value)) + 2
    return 8


_OVERLAY_TAGS: dict[str, type[_Tag]] = {"!replace": Replace, "!append": Append, "!default": Default}


class _Builder(Builder):
    def __init__(self, replace: bool) -> None:
        super().__init__(DOCUMENT_VALUES)
        self.used: Counter[int] = Counter()
        self.tags = tuple(_OVERLAY_TAGS) if replace else ()
        self.found: set[type[_Tag]] = set()

    def text(self, node: yaml.ScalarNode, plain: bool) -> Any:
        if OPEN not in node.value:
            return super().text(node, plain)
        pieces = HOLE.split(node.value)
        if any(OPEN in piece or CLOSE in piece for piece in pieces):
            raise yaml.MarkedYAMLError(
                problem="YAML changes or cuts the {{ }} here; write the whole {{ }} on one line, without a backslash",
                problem_mark=node.start_mark,
            )
        texts, indices = pieces[::2], [int(piece) for piece in pieces[1::2]]
        self.used.update(indices)
        offset = node.start_mark.index
        if plain and texts == ["", ""]:
            return WholePlan(offset, indices[0])
        return MixedPlan(offset, texts, indices)

    def key(self, node: Node) -> Any:
        if isinstance(node, yaml.ScalarNode) and OPEN in node.value:
            return self.text(node, False)
        return super().key(node)

    def tagged(self, node: Node, built: Any) -> Any:
        if node.tag not in self.tags:
            return super().tagged(node, built)
        tag = _OVERLAY_TAGS[node.tag]
        self.found.add(tag)
        if isinstance(built, FillPlan):
            return TaggedPlan(node.start_mark.index, built, tag)
        return None if tag is Default and built is None else tag(built)

    def make_mapping(self, pairs: dict[Any, Any], node: Node) -> Any:
        for key, value in node.value if getattr(node, "flow_style", False) else ():
            if value.start_mark.index == value.end_mark.index and (run_together := _RUN_TOGETHER.match(key.value)):
                raise yaml.MarkedYAMLError(
                    problem=f"a space is missing after the colon of {run_together[1]}:", problem_mark=key.start_mark
                )
        entries = [(k, v, isinstance(v, FillPlan)) for k, v in pairs.items() if v is not None]
        if any(holes or isinstance(k, FillPlan) for k, _, holes in entries):
            return MappingPlan(node.start_mark.index, entries)
        return {k: v for k, v, _ in entries}

    def make_sequence(self, items: list[Any], node: Node) -> Any:
        return ItemsPlan(node.start_mark.index, items) if any(isinstance(i, FillPlan) for i in items) else items
