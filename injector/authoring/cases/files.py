"""Config files held against what is expected of them: parts of a text, or a part of a YAML or JSON document."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from injector.authoring.cases.document import Absent
from injector.authoring.cases.subset import differences, shown
from injector.authoring.cases.suite import Checked
from injector.templates.problem import Problem
from injector.templates.spelling import hint, nearest, shortened
from injector.templates.yaml import YAMLError, load_manifest

_YAML = (".yaml", ".yml", ".json")


def file_problems(checked: Checked, files: Mapping[str, Mapping[str, str]], template: str) -> Iterator[Problem]:
    """What is not in the config files as a case expects it. `files` are texts by template and name.

    A file of `template`, the one under test, goes before one of the same name of another.
    """
    texts = {name: text for owner in files.values() for name, text in owner.items()} | dict(files.get(template, {}))
    for name, expected in (checked.case.expect.files or {}).items():
        steps = ("expect", "files", name)
        if isinstance(expected, Absent):
            if name in texts:
                yield checked.problem("files", f"{name}: must not be there, and is", *steps)
        elif name not in texts:
            message = f"{name}: no such config file came out{hint(name, texts)}"
            yield checked.problem("files", message, *steps, key=True)
        elif isinstance(expected, list) and all(isinstance(_part(e), str) for e in expected):
            for index, part in enumerate(expected):
                yield from _text(checked, name, part, texts[name], index)
        elif isinstance(expected, dict | list):
            yield from _document(checked, name, expected, texts[name])
        elif isinstance(expected, str):
            yield from _text(checked, name, expected, texts[name])
        else:
            message = f"{name}: expected are parts of its text, or a part of its YAML, and not {shown(expected)}"
            yield checked.problem("files", message, *steps)


def _text(checked: Checked, name: str, expected: Any, text: str, *index: int) -> Iterator[Problem]:
    part = _part(expected)
    if isinstance(expected, Absent):
        if part in text:
            line = text.count("\n", 0, text.index(part)) + 1
            message = f"{name}: {shortened(part, 160)} must not be in it, and is in line {line}"
            yield checked.problem("files", message, "expect", "files", name, *index)
    elif part not in text:
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        near = nearest(part.strip(), lines)
        rest = f"nearest is {shortened(near, 160)}" if near else _among(part, lines)
        message = f"{name}: {shortened(part, 160)} is not in it{f'; {rest}' if rest else ''}"
        yield checked.problem("files", message, "expect", "files", name, *index)


def _among(part: str, lines: list[str]) -> str:
    """The first line that begins with the same word."""
    word = part.split(maxsplit=1)[0] if part.split() else ""
    line = next((line for line in lines if word and line.split(maxsplit=1)[0] == word), None)
    return f"there is {shortened(line, 160)}" if line else ""


def _document(checked: Checked, name: str, expected: Any, text: str) -> Iterator[Problem]:
    steps = ("expect", "files", name)
    if not name.endswith(_YAML):
        yield checked.problem("files", f"{name}: is a text; give a list of parts that have to be in it", *steps)
        return
    try:
        found = load_manifest(text)
    except YAMLError as error:
        yield checked.problem("files", f"{name}: what came out is no YAML: {error}", *steps, key=True)
        return
    for difference in differences(expected, found, pod=False):
        message = f"{name}: {difference}"
        yield checked.problem("files", message, *steps, *difference.steps, key=difference.key)


def _part(expected: Any) -> Any:
    return expected.value if isinstance(expected, Absent) else expected
