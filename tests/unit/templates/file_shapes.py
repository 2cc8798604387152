"""The structure of a config file, as the program that it is for reads it: what no value may change."""

from __future__ import annotations

import functools
import json
import re
import shlex
import tomllib
from typing import Any

from injector.templates.kubernetes_yaml import load_manifest
from tests.unit.templates.test_hostile import shape

#: What a program expands that doubles a dollar to write one.
_EXPANDED = re.compile(r"(?<!\$)(?:\$\$)*(\$\{[^}]*\})")
#: Literals and actions of Go's templates, which Vault reads: https://pkg.go.dev/text/template
_LITERAL = re.compile(r'"(?:[^"\\]|\\.)*"|`[^`]*`')
_ACTION = re.compile(r'\{\{(?:"(?:[^"\\]|\\.)*"|`[^`]*`|[^"`}]|\}(?!\}))*\}\}')


@functools.lru_cache(512)
def file_shape(name: str, text: str, syntax: str = "") -> Any:
    """The structure of a file of the gallery's; with a `syntax`, of a document as well what is expanded in it."""
    if name.endswith((".yaml", ".json")):
        found = json.loads(text) if name.endswith(".json") else load_manifest(text)
        contents = [one["contents"] for one in found["template"]] if name == "agent.json" else ()
        actions = [[_LITERAL.sub('""', action) for action in _ACTION.findall(text)] for text in contents]
        return shape(found), _EXPANDED.findall(text) if syntax else (), actions
    if name.endswith(".cfg"):
        return shape(tomllib.loads(text))
    if name.endswith(".conf"):
        return nginx_shape(text)
    lines = [shlex.split(line) for line in text.splitlines() if not line.lstrip().startswith("#")]
    return [(line[:1], len(line)) for line in lines]


def nginx_shape(text: str) -> list[Any]:
    """How nginx reads a configuration: each directive, how many words it has, and its block.

    https://nginx.org/en/docs/beginners_guide.html#conf_structure; words end at blanks, `;` and `{`, quotes hold them
    together, a backslash takes the next character as it is.
    """
    tokens = re.findall(
        r'#[^\n]*|[;{}]|"(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)*\'|(?:\\.|\$\{[^}]*\}|[^\s;{}])+', text, re.S
    )
    stack: list[list[Any]] = [[]]
    words: list[str] = []
    for token in (t for t in tokens if not t.startswith("#")):
        if token in ("{", ";"):
            stack[-1].append((words[0], len(words), []))
            if token == "{":
                stack.append(stack[-1][-1][2])
            words = []
        elif token == "}":
            assert not words
            stack.pop()
        else:
            words.append(token)
    assert not words
    assert len(stack) == 1
    return stack[0]
