"""YAML 1.1 as Kubernetes sees it: what sigs.k8s.io/yaml (go-yaml v2) makes of a document, and nothing more.

So `yes` and `y` are true, `0644` is 420, `1e3` is a number; a date stays text, and so does 12:30:45 (which other
YAML 1.1 readers take for base 60). Keys become strings. A key twice, an unknown tag and `.nan` are errors.
"""

from __future__ import annotations

import re
from typing import Any

import yaml
from yaml.constructor import ConstructorError

from injector.names import hint

Node = yaml.Node
YAMLError = yaml.YAMLError

#: How many values one document may have, aliases written out, and how deep they may lie within each other.
YAML_VALUES = 1_000_000
DEPTH = 200


class TooMuchError(ConstructorError):
    """A document with more values, or deeper ones, than is allowed."""


_WORDS = {
    **{
        spelling: value
        for value, words in ((True, ("y", "yes", "true", "on")), (False, ("n", "no", "false", "off")))
        for word in words
        for spelling in (word, word.capitalize(), word.upper())
    },
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
}
_SPECIAL = re.compile(r"(?:[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))\Z")
_INTEGER = re.compile(r"([-+]?)(0[xX][0-9a-fA-F]+|0[bB][01]+|0[oO]?[0-7]+|0|[1-9][0-9]*)\Z")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?\Z")

#: What a line may start with that opens values within values.
_INDENT = re.compile(r"^[ \t?-]*", re.MULTILINE)

_PLAIN = "plain"
_QUOTED = "quoted"
_STANDARD = "tag:yaml.org,2002:"
_TAGS = {
    f"{_STANDARD}int": (int,),
    f"{_STANDARD}float": (int, float),
    f"{_STANDARD}bool": (bool,),
    f"{_STANDARD}null": (type(None),),
}


class _Loader(yaml.CSafeLoader):
    """Leaves open what a plain scalar is, but keeps apart what had a tag, what was plain and what was quoted."""

    def resolve(self, kind: Any, value: Any, implicit: Any) -> str:
        """The tag of a node that has none."""
        return _PLAIN if kind is yaml.ScalarNode and implicit[0] else _QUOTED


def compose(text: str) -> Node | None:
    """The nodes of the one document of a text, with their marks; None for an empty one. Raises YAMLError."""
    try:
        mark = _deep(text)
        if mark is not None:
            raise TooMuchError(None, None, f"values are nested more than {DEPTH} levels deep", mark)
        loader = _Loader(text)
        try:
            node = loader.get_single_node()
            return node
        finally:
            loader.dispose()
    except UnicodeEncodeError:
        raise ConstructorError(
            problem="the text holds an incomplete character (half of a surrogate pair); write the character itself"
        ) from None


def index(text: str, mark: Any) -> int:
    """The offset of libyaml's mark in a text: it does not count a byte order mark at the start."""
    return int(mark.index) + text.startswith("\ufeff")


def load_manifest(text: str) -> Any:
    """The value of the one document of a text, None for an empty one; nulls are kept. Raises YAMLError with a mark."""
    node = compose(text)
    return None if node is None else _Faithful(YAML_VALUES).value(node)


def scalar(text: str) -> Any:
    """What a plain scalar is: true, false, None, a number, or the text itself. Raises ValueError for .inf and .nan."""
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in "+-.0123456789":
        return text
    if _SPECIAL.match(text):
        raise ValueError("JSON, and so Kubernetes, cannot express infinity or NaN")
    if text[0] == ".":
        return float(text) if _FLOAT.match(text) else text
    plain = text.replace("_", "")
    integer = _INTEGER.match(plain)
    if integer:
        sign, digits = integer.groups()
        old_octal = len(digits) > 1 and digits[0] == "0" and digits[1].isdigit()
        if len(digits) <= 70:
            number = int(digits, 8 if old_octal else 0) * (-1 if sign == "-" else 1)
            if -(2**63) <= number < 2**64:
                return number
    if _FLOAT.match(plain):
        value = float(plain)
        if value in (float("inf"), float("-inf")):
            return text
        return value
    if integer:
        raise ValueError("the number does not fit into 64 bits; put it in quotes")
    return text


def key_text(value: Any) -> str:
    """A key as the text that JSON needs. Raises ValueError for a null, a list or a mapping."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return repr(value)
    raise ValueError("a key must be a string; put it in quotes")


class Builder:
    """Makes values of nodes. What a scalar, a tag, a mapping and a list become, a subclass may say in its own way.

    One that has raised an error is of no more use.
    """

    #: The tags of its own that it knows.
    tags: tuple[str, ...] = ()

    def __init__(self, limit: int) -> None:
        self._left = limit
        self._depth = 0
        self._within: set[int] = set()

    def value(self, node: Node) -> Any:
        """The value of a node. Raises YAMLError with the mark of what is wrong."""
        self._left -= 1
        if self._left < 0:
            raise TooMuchError(None, None, "too many values (after YAML aliases are expanded)", node.start_mark)
        if isinstance(node, yaml.ScalarNode):
            return self._scalar(node)
        self._enter(node)
        if isinstance(node, yaml.SequenceNode):
            built = self.make_sequence([self.value(item) for item in node.value], node)
        else:
            built = self.make_mapping(self._pairs(node), node)
        self._leave(node)
        if node.tag in (_QUOTED, _PLAIN, f"{_STANDARD}map", f"{_STANDARD}seq"):
            return built
        return self.tagged(node, built)

    def text(self, node: yaml.ScalarNode, plain: bool) -> Any:
        """The value of a scalar; a plain one may be other than text."""
        if not plain:
            return node.value
        try:
            return scalar(node.value)
        except ValueError as error:
            raise _error(node, str(error)) from None

    def key(self, node: Node) -> Any:
        """The value of a key. A word that YAML 1.1 takes for a boolean, such as `on`, is refused: nobody means that."""
        if not isinstance(node, yaml.ScalarNode):
            raise _error(node, "a key must be a string, not a list or a mapping")
        value = self.value(node)
        if isinstance(value, bool):
            raise _error(node, f'YAML reads the key "{node.value}" as a boolean; put it in quotes')
        try:
            return key_text(value)
        except ValueError as error:
            raise _error(node, str(error)) from None

    def tagged(self, node: Node, built: Any) -> Any:
        """The value of a node with a tag of its own."""
        known = hint(node.tag, self.tags) if self.tags else ""
        raise _error(node, f"unknown tag {node.tag}{known}")

    def make_mapping(self, pairs: dict[Any, Any], node: Node) -> Any:
        """The value of a mapping from its keys and values."""
        return pairs

    def make_sequence(self, items: list[Any], node: Node) -> Any:
        """The value of a list from its items."""
        return items

    def _scalar(self, node: yaml.ScalarNode) -> Any:
        tag = node.tag
        if tag == _PLAIN:
            return self.text(node, True)
        if tag in (_QUOTED, "!", f"{_STANDARD}str"):
            return self.text(node, False)
        if tag in _TAGS:
            value = self.text(node, True)
            if type(value) not in _TAGS[tag]:
                raise _error(node, f"this is not a valid {tag.removeprefix(_STANDARD)}")
            return value
        return self.tagged(node, self.text(node, not node.style))

    def _pairs(self, node: Node) -> dict[Any, Any]:
        pairs = {}
        merged: list[Node] = []
        for key_node, value_node in node.value:
            if key_node.tag == _PLAIN and key_node.value == "<<":
                merged += value_node.value if isinstance(value_node, yaml.SequenceNode) else [value_node]
                continue
            key = self.key(key_node)
            if key in pairs:
                raise _error(key_node, f'the key "{key}" appears twice')
            pairs[key] = self.value(value_node)
        # the mapping's own keys win over those it merges in, and earlier ones over later ones
        for merged_node in merged:
            if not isinstance(merged_node, yaml.MappingNode):
                raise _error(merged_node, "<< takes a mapping or a list of mappings")
            self._enter(merged_node)
            for key, value in self._pairs(merged_node).items():
                pairs.setdefault(key, value)
            self._leave(merged_node)
        return pairs

    def _enter(self, node: Node) -> None:
        if id(node) in self._within:
            raise _error(node, "an alias contains itself")
        if self._depth >= DEPTH:
            raise TooMuchError(None, None, f"values are nested more than {DEPTH} levels deep", node.start_mark)
        self._within.add(id(node))
        self._depth += 1

    def _leave(self, node: Node) -> None:
        self._within.discard(id(node))
        self._depth -= 1


class _Faithful(Builder):
    """Builds what Kubernetes builds, also where that is no help to anybody: the key `on` is `"true"`."""

    def key(self, node: Node) -> Any:
        if isinstance(node, yaml.ScalarNode) and isinstance(value := self.value(node), bool):
            return key_text(value)
        return super().key(node)


def _deep(text: str) -> Any:
    """The mark where values lie deeper than DEPTH, or None. libyaml's composer recurses in C and would take the
    process with it.
    """
    brackets = text.count("[") + text.count("{")
    if brackets + 2 * max(len(run) for run in _INDENT.findall(text)) < DEPTH:
        return None
    depth = 0
    for event in yaml.parse(text, Loader=yaml.CSafeLoader):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > DEPTH:
                return event.start_mark
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
    return None


def _error(node: Node, problem: str) -> ConstructorError:
    return ConstructorError(None, None, problem, node.start_mark)
