"""What an editor lists beside a text, and the outline that it comes from."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path as Folder

import pytest
import yaml

from injector.authoring.half_written import outline, position_at
from injector.authoring.lsp.navigation import Symbol, symbols
from injector.diagnostics import Path
from injector.templates.kubernetes_yaml import YAMLError, compose, index
from tests.authoring.lsp.marked import CASES, FILES, MANIFEST, OVERLAY, project, real_projects


def names(listed: tuple[Symbol, ...] | list[Symbol]) -> list[object]:
    return [(s.kind, s.name, names(s.children)) if s.children else (s.kind, s.name) for s in listed]


def test_of_each_file() -> None:
    template = project()
    assert names(symbols(template, MANIFEST)) == [
        ("group", "parameters", [("parameter", name) for name in ("app-port", "mode", "targets", "secret-*")]),
        ("group", "files", [("file", "tool.json"), ("file", "other.json")]),
    ]
    assert names(symbols(template, OVERLAY)) == [
        ("macro", "own"),
        ("group", "initContainers", [("init container", "rules")]),
        ("group", "containers", [("container", "tool-sidecar")]),
        ("group", "volumes", [("volume", "tool-config")]),
    ]
    assert names(symbols(template, "_macros.j2")) == [("macro", "mount"), ("macro", "wait")]
    assert names(symbols(template, CASES)) == [("group", "cases", [("case", "one")])]
    assert symbols(template, "README.md") == symbols(template, "nowhere.yaml") == []


def test_places() -> None:
    (parameters, _) = symbols(project(), MANIFEST)
    mode = parameters.children[1]
    assert FILES[MANIFEST][mode.start : mode.end].startswith("mode:\n    type: string")
    assert FILES[MANIFEST][mode.start : mode.end].endswith("description: How it works.")
    (macro, *_) = symbols(project(), OVERLAY)
    assert FILES[OVERLAY][macro.start : macro.end] == "macro own(name) %}{{ name }}{% endmacro"


def test_half_written() -> None:
    template = project(**{MANIFEST: "parameters:\n  a: {type: \n  b:\n    type\n  c: [\nfiles:\n  d: {}\n"})
    assert names(symbols(template, MANIFEST)) == [
        ("group", "parameters", [("parameter", "a"), ("parameter", "b"), ("parameter", "c")]),
        ("group", "files", [("file", "d")]),
    ]


def keys(text: str, node: yaml.Node | None, path: Path, seen: set[int]) -> Iterator[tuple[Path, int]]:
    """Path and offset of each key, as the parser has them; what an alias repeats is left out."""
    if id(node) in seen:
        return
    seen.add(id(node))
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            yield (*path, key.value), index(text, key.start_mark) + (key.style in ('"', "'"))
            yield from keys(text, value, (*path, key.value), seen)
    elif isinstance(node, yaml.SequenceNode):
        for number, item in enumerate(node.value):
            yield from keys(text, item, (*path, number), seen)


def test_the_outline_is_that_of_the_parser() -> None:
    """Keys stand where the parser has them, in every YAML file here that it takes and whose keys are strings."""
    compared = 0
    root = Folder(__file__).parents[3]
    for file in [
        *root.glob("templates/*/**/*.yaml"),
        *root.glob("tests/corpus/**/*.yaml"),
        *root.glob("deploy/*.yaml"),
    ]:
        try:
            text = file.read_text()
            if re.search(r"^ *\? ", text, re.MULTILINE):
                continue
            expected = list(keys(text, compose(text), (), set()))
        except (YAMLError, UnicodeDecodeError, AttributeError):
            continue
        compared += 1
        assert expected == [(e.path, e.start) for e in outline(text) if isinstance(e.path[-1], str)], file
    assert compared > 50


def test_line_ends_of_windows_change_nothing() -> None:
    for template in real_projects().values():
        for file, text in template.files.items():
            if file.endswith(".yaml"):
                lines = [(entry.path, entry.scalar) for entry in outline(text) if "\n" not in entry.scalar]
                windows = [(entry.path, entry.scalar) for entry in outline(text.replace("\n", "\r\n"))]
                assert [entry for entry in windows if "\n" not in entry[1]] == lines, file


@pytest.mark.parametrize(
    ("before", "path", "key", "value"),
    [
        ("", (), True, False),
        ("a: 1\n", (), True, False),
        ("a:\n  - b: 1\n    ", ("a", 0), True, False),
        ("a:\n- ", ("a", 0), True, True),
        ("a: ", ("a",), False, True),
        ("a: {b: 1, ", ("a",), True, False),
        ("a: {b: ", ("a", "b"), False, True),
        ("a: [1, ", ("a", 1), False, True),
        ("a: [{b: 1}, {", ("a", 1), True, False),
        ("a:\n  ", ("a",), True, True),
        ("a:\n  b:\n    c: 1\n  ", ("a",), True, False),
        ('a: "x\nb:\n  c: 1\n  ', ("b",), True, False),
        ("a: {b\nc:\n  d: ", ("c", "d"), False, True),
        ("a: |\n  x: 1\nb: ", ("b",), False, True),
        ("a:\n  foo\n  b: 1\n  ", ("a",), True, False),
        ("a: 1\n---\nb:\n  c: ", ("b", "c"), False, True),
    ],
)
def test_position(before: str, path: tuple[str | int, ...], key: bool, value: bool) -> None:
    assert position_at(before, len(before)) == (path, key, value)


def test_real_files_have_symbols() -> None:
    for template in real_projects().values():
        assert symbols(template, MANIFEST) or "parameters:" not in template.files[MANIFEST]
        for file in template.files:
            if file.startswith("tests/") and "\ncases:" in f"\n{template.files[file]}":
                (group,) = symbols(template, file)
                assert len(group.children) == template.files[file].count("\n- name: ")
