"""Writing YAML and JSON so that every reader of Kubernetes manifests reads back exactly the values that went in.

Strings stay strings whatever a reader makes of plain scalars: YAML 1.1 and 1.2, Go and Python differ in what they
take for a number, a boolean or a date, so whatever looks like one to any of them is quoted.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import yaml

from injector.pods.overlay import Replace
from injector.templates.yaml_writer import LONGEST_KEY

#: Words that some reader takes for a boolean, a null or a number (YAML 1.1 type repository; go-yaml; YAML 1.2 core).
_WORDS = frozenset(("y", "n", "yes", "no", "on", "off", "true", "false", "null", "nan", "inf"))
#: Whatever could be a number, a sexagesimal, a date or a time to somebody. Generous: quotes never hurt.
_NUMBER_LIKE = re.compile(r"[-+._]*[0-9][0-9a-fA-FxXoOtTzZ_,.:eE+\- ]*|(?:[-+]\.?|\.)_[-+._]*")

#: Line ends of YAML 1.1 that are none in YAML 1.2: escaped, or one of the two readers changes them.
_ODD_BREAK = re.compile("[\r\x85\u2028\u2029]")
#: The head of a text of several lines, behind its tag and its anchor.
_TEXT_HEAD = re.compile(r"[|>][-+0-9]*(?=[ \t]*(?:#[^\n]*)?\r?\n)")


class Dumper(yaml.SafeDumper):
    """Block style, keys in the order given, aliases written out, nothing folded, nothing escaped needlessly.

    The pure Python emitter: libyaml's escapes characters beyond the Basic Multilingual Plane.
    """

    def ignore_aliases(self, data: Any) -> bool:
        """Write every occurrence in full: manifests with anchors of our own making help nobody."""
        return True

    def check_simple_key(self) -> bool:
        """Let keys be as long as every reader takes them without a `?`, and no longer (annotations have up to 317)."""
        event = self.event
        if not isinstance(event, yaml.ScalarEvent):
            return super().check_simple_key()
        return "\n" not in event.value and sum(map(_written_length, event.value)) <= LONGEST_KEY

    def choose_scalar_style(self) -> Any:
        """Leave a tagged value plain where it would be plain without its tag: `!replace 5` is a number."""
        event = self.event
        if not isinstance(event, yaml.ScalarEvent) or event.tag != "!replace":
            return super().choose_scalar_style()
        implicit, event.implicit = event.implicit, (True, True)
        style = super().choose_scalar_style()
        event.implicit = implicit
        return style


def _written_length(character: str) -> int:
    """How many characters one may become: an escape has up to ten."""
    return 1 if character.isalnum() else 2 if character.isprintable() else 10


def _represent_text(dumper: Dumper, text: str) -> yaml.ScalarNode:
    if _ODD_BREAK.search(text):
        style = '"'
    elif "\n" in text and text.strip():
        style = "|"
    elif text.strip("+-.").lower() in _WORDS or _NUMBER_LIKE.fullmatch(text):
        style = "'"
    else:
        style = ""
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style or None)


def _represent_replace(dumper: Dumper, tagged: Replace) -> yaml.Node:
    node = dumper.represent_data(tagged.value)
    node.tag = "!replace"
    return node


Dumper.add_representer(str, _represent_text)
Dumper.add_representer(Replace, _represent_replace)


def dump_yaml(value: Any) -> str:
    """One YAML document of `value` (dicts, lists and scalars), without a `---`, ending in a line end.

    The tags of an overlay are written as its author wrote them: `!replace Always`.
    """
    text: str = yaml.dump(
        value, Dumper=Dumper, sort_keys=False, allow_unicode=True, default_flow_style=False, width=math.inf
    )
    # A document that is one plain scalar is closed by "..."; nothing else is, and nothing needs it. A line of dots that
    # a value ends with is indented.
    return text.removesuffix("...\n") if text.endswith("\n...\n") else text


class UnwritableError(Exception):
    """A value cannot be written here unless what is around it is written anew."""


class Style(NamedTuple):
    """By how many columns a mapping and a list are indented within a mapping."""

    mapping: int
    list: int


def block_lines(value: Any, style: Style) -> list[str]:
    """A mapping or list that is not empty in block style, as lines."""
    out: list[str] = []
    if isinstance(value, dict):
        for key, held in value.items():
            if isinstance(held, dict | list) and held:
                step = style.mapping if isinstance(held, dict) else style.list
                out += [key_line(key), *(indented(line, step) for line in block_lines(held, style))]
            else:
                out += dump_yaml({key: held}).splitlines()
        return out
    for held in value:
        inner = block_lines(held, style) if isinstance(held, dict | list) and held else dump_yaml(held).splitlines()
        out += [f"- {inner[0]}", *(indented(line, 2) for line in inner[1:])]
    return out


def indented(line: str, columns: int) -> str:
    """A line further to the right; an empty one stays so."""
    return " " * columns + line if line else line


def key_line(key: str) -> str:
    """A key with its colon. Raises UnwritableError for one that is too long for that."""
    text = dump_yaml({key: 0})
    if "\n" in text[:-1]:
        raise UnwritableError
    return text.removesuffix(" 0\n")


def flow_text(value: Any) -> str:
    """A value in flow style. Raises UnwritableError for one that takes several lines."""
    text = yaml.dump(value, Dumper=Dumper, sort_keys=False, allow_unicode=True, default_flow_style=True, width=math.inf)
    text = text.removesuffix("...\n").removesuffix("\n")
    if "\n" in text:
        raise UnwritableError
    return str(text)


def closable(text: str) -> str:
    """A document of YAML such that a line end may follow it, and its value stays the same."""
    root = None if text.endswith("\n") else yaml.compose(text, Loader=yaml.CSafeLoader)
    for start, end, head in [] if root is None else open_heads(text, root):
        text = text[:start] + head + text[end:]
    return text


def open_heads(text: str, node: yaml.Node) -> Iterator[tuple[int, int, str]]:
    """If a document ends with a block scalar without a last line end: where its head is, and the head to write instead.

    A line end is added to the document. With `|` and `|+` it would become part of the value, with `|-` it does not.
    https://yaml.org/spec/1.2.2/#8112-block-chomping-indicator
    """
    while isinstance(node, yaml.CollectionNode) and node.value:
        last = node.value[-1]
        node = last[1] if isinstance(last, tuple) else last
    if isinstance(node, yaml.ScalarNode) and node.style in ("|", ">") and node.end_mark.index == len(text):
        head = _TEXT_HEAD.search(text, node.start_mark.index)
        if head is not None and "-" not in head[0]:
            yield head.start(), head.end(), head[0].replace("+", "") + "-"


def dump_json(value: Any, indent: int | str | None) -> str:
    """`value` as JSON, without a final line end; `indent` as in `json.dumps`, None for one line without spaces."""
    separators = (",", ":") if indent is None else (",", ": ")
    text = json.dumps(value, ensure_ascii=False, indent=indent, separators=separators, allow_nan=False)
    try:
        text.encode()
    except UnicodeEncodeError:  # half of a surrogate pair, which only an escape can carry
        text = json.dumps(value, indent=indent, separators=separators, allow_nan=False)
    return text
