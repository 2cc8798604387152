"""Reads messages of other programs that give nothing but words: which kind of mistake one means, and the values in it.

No other module of the injector reads words. Each pattern has a test in which the library says them, so that a release
with other words is noticed (tests/unit/test_library_messages.py; for the API server tests/cluster/test_config_maps.py).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

import yaml


class LibraryMessage(NamedTuple):
    """What a library says: its kind ("" for unknown words) and the values in it ("" for a value that is missing)."""

    kind: str
    values: tuple[str, ...] = ()


class _Reader(dict[str, str]):
    """What a library says: the patterns of its messages by their kinds. The first that fits all of the words counts."""

    def __call__(self, words: str) -> LibraryMessage:
        matches = ((kind, re.fullmatch(pattern, words, re.DOTALL)) for kind, pattern in self.items())
        return next((LibraryMessage(kind, match.groups("")) for kind, match in matches if match), LibraryMessage(""))


#: What libyaml's scanner and parser say; behind a line end what they were at.
_yaml_words = _Reader(
    {
        "no-colon": r"could not find expected ':'\n.*",
        "open-quote": r"found unexpected (?:end of stream|document indicator)\n.*",
        "open-bracket": r"did not find expected ',' or '(.)'\n.*",
        "no-key": r"did not find expected key\n.*block mapping.*",
        "no-dash": r"did not find expected '-' indicator\n.*",
        "no-mapping": r"mapping values are not allowed in this context\n.*",
        "no-token": r"found character that cannot start any token\n.*",
        "no-document": r"did not find expected <document start>\n.*",
        "second-document": r"but found another document\n.*",
        "no-anchor": r"did not find expected alphabetic or numeric character\n.*",
        "unknown-alias": r"found undefined alias.*",
        "tab": r"found a tab character.*",
        "no-value": r"did not find expected node content.*",
        "no-list": r"block sequence entries are not allowed.*",
        "unknown-escape": r"found unknown escape character.*",
        "no-question": r"mapping keys are not allowed.*",
    }
)

#: What Jinja's lexer and parser say.
jinja_message = _Reader(
    {
        "open-block": r"Unexpected end of template.*",
        "early-end": r"unexpected end of template.*",
        "open-comment": r"Missing end of comment.*",
        "open-raw": r"Missing end of raw.*",
        "unknown-tag": r"Encountered unknown tag '(\w+)'\.(?:.*needs to be closed is '(\w+)')?.*",
        "wrong-token": r".*expected token '(.*?)', got '(.*)'\.?",
        "no-expression": r"Expected an expression.*|unexpected 'end of.*",
        "wrong-bracket": r"unexpected '[\])}]', expected '([\])}])'",
        "no-name": r"expected name or number",
        "wrong-character": r"unexpected char (?:'.*'|\".*\") at ([0-9]+)",
        "unexpected": r"unexpected '(.*)'",
    }
)

#: What Jinja calls the ends of holes and tags, as authors write them.
TOKENS = {
    "end of print statement": "}}",
    "end of statement block": "%}",
    "begin of statement block": "{%",
    "begin of print statement": "{{",
    "end of template": "the end of the file",
    "template data / text": "text",
}

#: What Jinja says of something that is not there.
undefined_message = _Reader(
    {
        "no-else": r"the inline if-expression.*",
        "empty-list": r".*sequence was empty.*",
        "no-argument": r"parameter '(\w+)' was not provided",
        "not-exported": r"the template '([^']*)' \(imported on .* does not export the requested name.*",
    }
)

#: What RE2 says of a pattern that others would take.
re2_message = _Reader(
    {
        "no-look-around": r"invalid perl operator.*",
        "no-escape": r"invalid escape sequence.*",
        "too-often": r"invalid repetition size.*",
        "too-large": r"pattern too large - compile failed.*",
    }
)

#: What Python says of the values in an expression; the values are names of types, functions and arguments.
python_message = _Reader(
    {
        "uneven-items": r"(?:not enough|too many) values to unpack.*",
        "one-value": r"cannot unpack non-iterable (\w+) object",
        "no-order": r"'[<>]=?' not supported between instances of '(\w+)' and '(\w+)'",
        "no-whole-number": r"'(\w+)' object cannot be interpreted as an integer",
        "no-iteration": r"'(\w+)' object is not iterable",
        "no-length": r"object of type '(\w+)' has no len\(\)",
        "no-items": r"'(\w+)' object is not subscriptable",
        "missing-argument": r"(\w+)\(\) missing \d+ required positional arguments?: '(\w+)'.*",
        "too-many-arguments": r"(?:macro )?'?(\w+)'?(?:\(\))? takes (?!no keyword).*arguments?.*",
        "unknown-argument": r"(?:macro )?'?(\w+)'?(?:\(\))? (?:takes no|got an unexpected) keyword argument '(\w+)'",
        "missing-in-call": r"missing a required argument: '(\w+)'",
        "too-many-in-call": r"too many positional arguments",
        "unknown-in-call": r"got an unexpected keyword argument '(\w+)'",
        "no-hash": r"unhashable type: '(\w+)'",
        "no-container": r"argument of type '(\w+)' is not iterable",
        "no-text-in": r"'in <string>' requires string as left operand, not (\w+)",
        "no-number": r"type (\w+) doesn't define __\w+__ method|bad operand type for .*: '(\w+)'",
        "no-string": r".*must be str\b.* not '?(\w+)'?",
    }
)


#: What the API server says of a request that it forbids (RBAC, quota and admission all answer 403 Forbidden), and, as
#: controllers repeat it, of a webhook that does not answer.
api_server_message = _Reader(
    {
        "webhook-failed": r".*\bfailed calling webhook \"([^\"]+)\".*",
        "over-quota": r".*exceeded quota.*",
        "no-permission": r".*\bUser \".*\" cannot \w+ (?:resource|path) .*",
    }
)


def yaml_message(error: yaml.YAMLError) -> LibraryMessage:
    """What libyaml means."""
    return _yaml_words(f"{getattr(error, 'problem', None) or error}\n{getattr(error, 'context', None) or ''}")


#: What Python's reader of TOML says, and where.
_TOML = re.compile(r"(.*?)(?: \(at (?:line (\d+), column (\d+)|end of document)\))?", re.DOTALL)


def toml_mistake(error: Exception) -> tuple[str, int, int]:
    """What Python's reader of TOML says of a text, and the line and column; 0 and 0 for its end."""
    match = _TOML.fullmatch(str(error))
    assert match is not None  # noqa: S101 - every text matches
    message, line, column = match.groups("0")
    return message[:1].lower() + message[1:], int(line), int(column)


#: Where a program's output speaks of a line, and what it has in quotes.
_LINE = re.compile(r"\bline:? ?(\d+)", re.IGNORECASE)


def named_line(output: str, file: str, files: Iterable[str]) -> tuple[str, int]:
    """The first of `files` that a program's output names, and the line. If the output names only a line, it is a line
    of `file`. Without a line: "", 0.
    """
    names = "|".join(re.escape(name) for name in sorted(files, key=len, reverse=True))
    if match := re.search(rf"(?<![\w.-])({names})[\"']?(?::| ?\(|,? line )\s?(\d+)", output):
        return match[1], int(match[2])
    alone = _LINE.search(output)
    return (file, int(alone[1])) if alone else ("", 0)


def ran_out_of_memory(output: bytes) -> bool:
    """Whether a Python process ended for want of memory, by what it wrote."""
    return b"MemoryError" in output
