"""The chart's values.yaml as a table: each value with its default and its description.

A description is the comment right above a key, `# -- ...`, on one line or more. A key without one is a section: what
is in it is described.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import yaml

from tests.deploy.helm import CHART


class Value(NamedTuple):
    """A value: its dotted path, its default, its description ("" where there is none)."""

    path: str
    default: Any
    description: str


def values() -> list[Value]:
    """Every value in the order of the file; a section without a description counts through what is in it."""
    text = (CHART / "values.yaml").read_text()
    return list(_walk(yaml.compose(text), yaml.safe_load(text), text.splitlines(), ""))


def _walk(node: Any, data: Any, lines: list[str], path: str) -> Iterator[Value]:
    for key, inner in node.value:
        where, default = f"{path}{key.value}", data[key.value]
        description = _comment(lines, key.start_mark.line)
        if not description and isinstance(inner, yaml.MappingNode) and inner.value:
            yield from _walk(inner, default, lines, f"{where}.")
        else:
            yield Value(where, default, description)


def _comment(lines: list[str], line: int) -> str:
    found: list[str] = []
    while line > 0 and lines[line - 1].lstrip().startswith("#"):
        line -= 1
        found.insert(0, lines[line].lstrip().removeprefix("#").strip())
        if found[0].startswith("--"):
            return " ".join(found).removeprefix("--").strip()
    return ""


def nested(path: str, value: Any) -> dict[str, Any]:
    """`a.b` and a value as `{a: {b: value}}`."""
    first, _, rest = path.partition(".")
    return {first: nested(rest, value) if rest else value}


def together(*all_values: dict[str, Any]) -> dict[str, Any]:
    """Values on top of one another, the last on top."""
    merged: dict[str, Any] = {}
    for values in all_values:
        for key, value in values.items():
            inner = merged.get(key)
            merged[key] = together(inner, value) if isinstance(inner, dict) and isinstance(value, dict) else value
    return merged
