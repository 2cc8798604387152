"""Writing YAML and JSON so that every reader of Kubernetes manifests reads back exactly the values that went in.

Strings stay strings whatever a reader makes of plain scalars: YAML 1.1 and 1.2, Go and Python differ in what they
take for a number, a boolean or a date, so whatever looks like one to any of them is quoted.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, NamedTuple

import yaml

from injector.pods.overlay import Append, Replace
from injector.templates.yaml_writer import LONGEST_KEY, quoted

#: Words that some reader takes for a boolean, a null or a number (YAML 1.1 type repository; go-yaml; YAML 1.2 core).
_WORDS = frozenset(("y", "n", "yes", "no", "on", "off", "true", "false", "null", "nan", "inf"))
#: Whatever could be a number, a sexagesimal, a date or a time to somebody. Generous: quotes never hurt.
_NUMBER_LIKE = re.compile(r"[-+._]*[0-9][0-9a-fA-FxXoOtTzZ_,.:eE+\- ]*|(?:[-+]\.?|\.)_[-+._]*")

#: Line ends of YAML 1.1 that are none in YAML 1.2: escaped, or one of the two readers changes them.
_ODD_BREAK = re.compile("[\r\x85\u2028\u2029]")
#: What PyYAML, and every reader, takes for itself without quotes; `:` only outside of brackets.
_PLAIN = re.compile(r"[A-Za-z/][\w./@+=-]*(?:(?::| |, )[A-Za-z0-9_/.][\w./@+=-]*)*", re.ASCII)
#: What may stand within single quotes, and in a block scalar.
_PRINTABLE = re.compile("[\n\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010fffe]*")
#: A text of one line that is not plain by its first character.
_QUOTED = re.compile(rf"[#,\[\]{{}}&*!|>'\"%@`]{_PRINTABLE.pattern}")
#: The head of a text of several lines, behind its tag and its anchor.
_TEXT_HEAD = re.compile(r"[|>][-+0-9]*(?=[ \t]*(?:#[^\n]*)?\r?\n)")


def dump_yaml(value: Any) -> str:
    """One YAML document of `value` (dicts, lists and scalars), without a `---`, ending in a line end.

    Block style, keys in the order given, nothing shared, nothing folded. The tags of an overlay are written as its
    author wrote them: `!replace Always`.
    """
    lines = block_lines(value, _DUMPED) if isinstance(value, dict | list) and value else [line_text(value)]
    return "\n".join([*lines, ""])


class UnwritableError(Exception):
    """A value cannot be written here unless what is around it is written anew."""


class Style(NamedTuple):
    """By how many columns a mapping and a list are indented within a mapping."""

    mapping: int
    list: int


_DUMPED = Style(2, 0)


def block_lines(value: Any, style: Style, indent: str = "") -> Iterator[str]:
    """The lines of a mapping or list that is not empty, in block style. Raises UnwritableError as `line_text` does."""
    if isinstance(value, dict):
        for key, item in value.items():
            text = line_text(key)
            head, list_step = f"{indent}{text}:", style.list
            if len(text) > LONGEST_KEY:
                yield f"{indent}? {text}"
                head, list_step = f"{indent}:", style.mapping
            if isinstance(item, Replace):
                head, item = f"{head} !replace", item.value
            elif isinstance(item, Append):
                head, item = f"{head} !append", item.fields
            if isinstance(item, dict | list) and item:
                yield head
                step = style.mapping if isinstance(item, dict) else list_step
                yield from block_lines(item, style, indent + " " * step)
            else:
                yield from _scalar_lines(head, item, indent)
        return
    for item in value:
        if isinstance(item, dict | list) and item:
            first, *more = block_lines(item, style, indent + "  ")
            yield f"{indent}- {first[len(indent) + 2 :]}"
            yield from more
        else:
            yield from _scalar_lines(f"{indent}-", item, indent)


def _scalar_lines(head: str, value: Any, indent: str) -> Iterator[str]:
    """The line of a scalar behind `head`; a text of several lines is a block scalar, where one can hold it."""
    if not (isinstance(value, str) and "\n" in value and _is_literal(value)):
        yield f"{head} {line_text(value)}"
        return
    lines = value.removesuffix("\n").split("\n")
    indentation = "2" if value[0] in " \n" else ""
    chomping = "-" if value[-1] != "\n" else "" if lines[-1] else "+"
    yield f"{head} |{indentation}{chomping}"
    yield from (f"{indent}  {line}" if line else line for line in lines)


def _is_literal(text: str) -> bool:
    """Whether a block scalar may hold a text: https://yaml.org/spec/1.2.2/#812-literal-style."""
    return bool(text.strip() and _PRINTABLE.fullmatch(text)) and " \n" not in text and text[-1] != " "


def line_key(key: str, *, flow: bool = False) -> str:
    """A key as it stands before its colon. Raises UnwritableError for one that is too long for that."""
    text = line_text(key, flow=flow)
    if len(text) > LONGEST_KEY:
        raise UnwritableError
    return text


def line_text(value: Any, *, flow: bool = False) -> str:
    """A value on one line: as it may stand within brackets if `flow`.

    Raises UnwritableError for a key that is too long.
    """
    if isinstance(value, str):
        return _string_text(value, flow=flow)
    if isinstance(value, dict):
        return f"{{{', '.join(f'{line_key(key, flow=True)}: {line_text(v, flow=True)}' for key, v in value.items())}}}"
    if isinstance(value, list):
        return f"[{', '.join(line_text(item, flow=True) for item in value)}]"
    if value is None or isinstance(value, bool | int):
        return json.dumps(value)
    if isinstance(value, Replace):
        return f"!replace {line_text(value.value, flow=flow)}"
    if isinstance(value, Append):
        return f"!append {line_text(value.fields, flow=flow)}"
    return _emitted(value)[:-1]


def text_like(node: yaml.Node, value: Any, *, flow: bool = False) -> str:
    """A value on one line in place of a node: a string within the quotes of that. Raises as `line_text` does."""
    if isinstance(value, str) and isinstance(node, yaml.ScalarNode):
        if node.style == '"':
            return quoted(value)
        if node.style == "'" and "\n" not in value and _PRINTABLE.fullmatch(value):
            return "'" + value.replace("'", "''") + "'"
    return line_text(value, flow=flow)


def _string_text(value: str, *, flow: bool) -> str:
    is_word = value.strip("+-.").lower() in _WORDS
    if _PLAIN.fullmatch(value) and not is_word and not (flow and ":" in value):
        return value
    if "\n" in value or _ODD_BREAK.search(value):
        return quoted(value)
    if is_word or _NUMBER_LIKE.fullmatch(value) or _QUOTED.fullmatch(value):
        return "'" + value.replace("'", "''") + "'"
    return _as_emitted(value, flow)


@lru_cache(1024)
def _as_emitted(text: str, flow: bool) -> str:
    """A text of one line as PyYAML writes it: plain where it may be."""
    return _emitted([text], flow=True)[1:-2] if flow else _emitted(text)[:-1]


def _emitted(value: Any, *, flow: bool = False) -> str:
    # The pure Python emitter: libyaml's escapes characters beyond the Basic Multilingual Plane.
    text: str = yaml.dump(value, Dumper=yaml.SafeDumper, allow_unicode=True, default_flow_style=flow, width=math.inf)
    return text.removesuffix("...\n")  # a document that is one plain scalar is closed by these dots


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
