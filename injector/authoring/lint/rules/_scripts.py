"""Scripts that stand in a container's commands, behind `sh -c` and the like, and the quotes around a place in them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import PurePosixPath
from typing import Any, NamedTuple

from injector.diagnostics import Path
from injector.pods.constraints.handlers import HOOKS, PROBES
from injector.pods.context import Object, mapping, sequence

#: Programs that run a script from their arguments, and the options behind which it stands.
_INTERPRETERS = {
    "sh": (re.compile(r"(?:ba|da|a|k|z)?sh\Z"), re.compile(r"-[A-Za-z]*c[A-Za-z]*\Z")),
    "python": (re.compile(r"python[\d.]*\Z"), re.compile(r"-[A-Za-z]*c\Z")),
    "perl": (re.compile(r"perl[\d.]*\Z"), re.compile(r"-[A-Za-z]*[eE]\Z")),
    "node": (re.compile(r"node(?:js)?\Z"), re.compile(r"(?:-[ep]{1,2}|--eval|--print)\Z")),
}
#: `-o pipefail`, `-eo pipefail`: an option of shells with a word of its own.
_WITH_WORD = re.compile(r"[-+][A-Za-z]*o\Z")
_COMMENTS = {"sh": "#", "python": "#", "perl": "#", "node": "//"}
#: What ends a script's own meaning, by the quotes it stands in; `#` is a comment.
_HARMFUL = {
    "sh": {"": "'\";$`|&<>()\n", "'": "'", '"': '"$`\\', "#": "\n"},
    "python": {"": "'\";()\n", "'": "'\\", '"': '"\\', "#": "\n"},
    "perl": {"": "'\";()`\n", "'": "'\\", '"': '"\\$@', "#": "\n"},
    "node": {"": "'\";()`\n", "'": "'\\", '"': '"\\', "`": "`\\$", "#": "\n"},
}


class Script(NamedTuple):
    """A script: its path within the container, its text, and its language: sh, python, perl or node."""

    path: Path
    text: str
    language: str


def harmful(language: str) -> str:
    """Every character that changes a script's meaning at some place of a script."""
    return "".join(dict.fromkeys("".join(_HARMFUL[language].values())))


def is_harmful(script: Script, offset: int) -> bool:
    """Whether the character at an offset changes what the script around it means."""
    return script.text[offset] in _HARMFUL[script.language].get(_quotes(script, offset), "")


def scripts(container: Object) -> Iterator[Script]:
    """The scripts of a container: of its command with its arguments, its probes and its lifecycle hooks."""
    for command in commands(container):
        yield from script_of(command)


def commands(container: Object) -> Iterator[list[tuple[Path, Any]]]:
    """The words of each command of a container with their paths: with its arguments, of its probes and its hooks."""
    yield [*_words(container, ("command",)), *_words(container, ("args",))]
    for path in (*((name,) for name in PROBES), *(("lifecycle", name) for name in HOOKS)):
        yield _words(container, (*path, "exec", "command"))


@lru_cache(maxsize=256)
def interpreter(word: str) -> str:
    """The language that the program of a path runs scripts in; empty where it is none of these."""
    name = PurePosixPath(word).name
    return next((language for language, (program, _) in _INTERPRETERS.items() if program.match(name)), "")


def _words(container: Object, path: tuple[str, ...]) -> list[tuple[Path, Any]]:
    value: Any = container
    for step in path:
        value = mapping(value).get(step)
    return [((*path, index), word) for index, word in enumerate(sequence(value))]


def script_of(command: Sequence[tuple[Path, Any]]) -> Iterator[Script]:
    """The script that a command runs, behind whatever starts the interpreter: `tini -- sh -ec SCRIPT`."""
    language, is_script, skipped = "", False, False
    for path, word in command:
        if not isinstance(word, str):
            continue
        if not language:
            language = interpreter(word)
        elif skipped:
            skipped = False
        elif word[:1] in ("-", "+") and len(word) > 1:
            is_script = is_script or bool(_INTERPRETERS[language][1].match(word))
            skipped = language == "sh" and bool(_WITH_WORD.match(word))
        elif is_script:
            yield Script(path, word, language)
            return
        else:
            language = interpreter(word)  # `env sh`, `busybox sh`; or a file that the interpreter runs


def _quotes(script: Script, offset: int) -> str:
    """The quote that the character at an offset stands within, `#` for a comment, empty for none."""
    text, comment = script.text, _COMMENTS[script.language]
    quotes = "'\"`" if script.language == "node" else "'\""
    within, at = "", 0
    while at < offset:
        character = text[at]
        if within == "#":
            within = "" if character == "\n" else within
        elif character == "\\" and not (within == "'" and script.language == "sh"):
            at += 1
        elif within:
            within = "" if character == within else within
        elif character in quotes:
            within = character
        elif text.startswith(comment, at) and (at == 0 or text[at - 1] in " \t\n;|&("):
            within = "#"
        at += 1
    return within
