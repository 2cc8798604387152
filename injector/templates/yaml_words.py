"""What libyaml's words mean to a person, and where that person has to look.

libyaml says what it did not find, at the place where it gave up: often a line or more behind the mistake.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import yaml

from injector.templates import foreign_habits
from injector.templates.kubernetes_yaml import index

_HELM = re.compile(r"\{\{")


@dataclass(frozen=True, slots=True)
class Explained:
    """A message and its offset in the text. `{line}` in the message stands for the line of the offset `other`."""

    message: str
    offset: int | None
    other: int | None = None


def yaml_mistake(error: yaml.YAMLError, text: str, first: int = 1) -> tuple[str, int | None]:
    """What is wrong with a YAML text, in one sentence, and the offset of it; `first` is the number of its first line.

    What looks like the template of a Helm chart is told to be one: it can hardly be YAML.
    """
    for found in _HELM.finditer(text):
        line = text[text.rfind("\n", 0, found.start()) + 1 :].partition("\n")[0]
        if foreign_habits.instead(line) is not None:
            message = "this is the template of a Helm chart, not a manifest; render the chart first: helm template"
            return message, found.start()
    words = explain_yaml(error, text)
    number = first + text.count("\n", 0, words.other or 0)
    return words.message.replace("{line}", str(number)), words.offset


def explain_yaml(error: yaml.YAMLError, text: str) -> Explained:
    """What is wrong with a YAML text."""
    if isinstance(error, yaml.reader.ReaderError):
        return _unreadable(error, text)
    problem = str(getattr(error, "problem", None) or error)
    context = getattr(error, "context", None) or ""
    at = _offset(text, getattr(error, "problem_mark", None))
    start = _offset(text, getattr(error, "context_mark", None))
    if at is None:
        return Explained(_one_line(problem), start)
    if problem in _AT_THE_START and start is not None:
        return Explained(_AT_THE_START[problem], start)
    if problem.startswith("did not find expected ',' or"):
        closing = problem[-2]
        if text[at : at + 1] == ":":  # a key began before
            at = text.rfind("\n", 0, at) + 1 + _last_word(text[text.rfind("\n", 0, at) + 1 : at])
        return Explained(
            f"a comma or the {closing} of the bracket that opens on line {{line}} is missing here", at, start
        )
    if problem == "did not find expected key" and "block mapping" in context:
        return _no_key(text, at, start)
    if problem == "did not find expected '-' indicator":
        return Explained(
            "this line is among the items of the list that begins on line {line}; indent it further if it belongs to "
            "an item, less if the list has ended",
            at,
            start,
        )
    if problem == "mapping values are not allowed in this context":
        return _no_mapping(text, at)
    if problem == "found character that cannot start any token":
        return Explained(_no_token(text[at : at + 1]), at)
    if problem == "did not find expected <document start>":
        return Explained("this line does not belong to what stands above it; look at its indentation", at)
    if problem == "but found another document":
        return Explained("--- begins a second document, and there can be only one", at)
    if problem == "did not find expected alphabetic or numeric character":
        return Explained("a value that begins with * or & needs quotes", start if start is not None else at)
    if problem.startswith("found undefined alias"):
        return Explained("* begins an alias, and there is no such anchor; a text that begins with * needs quotes", at)
    for start_of_problem, words in _WORDS.items():
        if problem.startswith(start_of_problem):
            return Explained(words, at)
    return Explained(_one_line(problem), at)


_AT_THE_START = {
    "could not find expected ':'": "this line is neither `key: value` nor `- item`; is a colon and a blank missing?",
    "found unexpected end of stream": "the quote that begins here does not end",
    "found unexpected document indicator": "the quote that begins here does not end",
}
_WORDS = {
    "found a tab character": "a tab; YAML is indented with blanks only",
    "did not find expected node content": "a value is missing here",
    "block sequence entries are not allowed": "a list cannot begin here; its first `-` stands on a line of its own",
    "found unknown escape character": "a backslash in double quotes begins an escape; for a plain backslash use single "
    "quotes",
    "block mapping entries are not allowed": "a key cannot begin here; it stands on a line of its own",
    "mapping keys are not allowed": "a ? cannot begin a value; put the text in quotes",
}


def _last_word(line: str) -> int:
    """Where the last word of a line begins: the key, of which libyaml tells the colon."""
    found = re.search(r"[^\s,{\[]*\s*\Z", line)
    return found.start() if found else len(line)


def _no_key(text: str, at: int, start: int | None) -> Explained:
    line = text.rfind("\n", 0, at) + 1
    if text[line:at].strip(" -"):
        return Explained("the value has ended before this; put all of it in quotes, or what follows on a new line", at)
    if start is None:
        return Explained("this line's indentation fits no line above it", at)
    column = start - text.rfind("\n", 0, start)
    if text.startswith("- ", at) and at - line + 1 == column:
        return Explained(
            "a list's item stands among the keys of the mapping that begins on line {line}; indent it like the items "
            "before it",
            at,
            start,
        )
    if text[at] in "]}":
        return Explained(f"{text[at]} closes nothing here", at)
    return Explained(
        f"wrong indentation: this line begins in column {at - line + 1}, the keys of the mapping that begins on line "
        f"{{line}} in column {column}",
        at,
        start,
    )


def _no_mapping(text: str, at: int) -> Explained:
    line = text.rfind("\n", 0, at) + 1
    before = text[line:at]
    if re.search(r":[ \t]", before):
        return Explained("a value that holds `: ` needs quotes", at)
    key = line + len(before) - len(before.lstrip(" -"))
    above = text[text.rfind("\n", 0, max(line - 1, 0)) + 1 : line]
    if ":" not in above:
        return Explained("the line above is a text that goes on here; is a colon missing at its end?", key)
    return Explained("this key is indented further than the line above it, which has a value of its own already", key)


def _no_token(character: str) -> str:
    if character == "\t":
        return "a tab; YAML is indented with blanks only"
    return f"a value cannot begin with {character}; put it in quotes"


def _unreadable(error: Any, text: str) -> Explained:
    position = error.position if isinstance(error.position, int) else 0
    offset = len(text.encode("utf-8", "surrogatepass")[:position].decode("utf-8", "ignore"))
    found = text[offset : offset + 1]
    name = f"U+{ord(found):04X}" if found else "a character"
    return Explained(f"{name} cannot stand in YAML; it is a control character or none at all", offset)


def _offset(text: str, mark: Any) -> int | None:
    return None if mark is None else index(text, mark)


def _one_line(text: str) -> str:
    return " ".join(text.split())[:200]
