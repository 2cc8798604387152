"""A rule of the linter, and its documentation read from its docstring."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
import textwrap
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache

from injector.authoring.lint import rules as package
from injector.authoring.lint.subject import Finding, Subject
from injector.templates.problem import Severity

_SECTION = re.compile(r"^(Bad|Good|Proof):[ \t]*", re.MULTILINE)
_FILE = re.compile(r"#\s*(\S+)\s*\Z")


@dataclass(frozen=True, slots=True)
class Documentation:
    """What a rule's docstring says: one sentence, the text after it, and the files of its examples by name."""

    summary: str
    text: str
    bad: Mapping[str, str]
    good: Mapping[str, str]
    proof: str = ""


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule: its name, how bad what it finds is, and the function that finds it."""

    name: str
    severity: Severity
    check: Callable[[Subject], Iterator[Finding]]
    docstring: str

    @property
    def documentation(self) -> Documentation:
        """The docstring, taken apart."""
        return read_docstring(self.docstring)


@cache
def rules() -> Mapping[str, Rule]:
    """Every rule by its name, sorted: one for each module of the package `rules`."""
    found = {}
    for module in sorted(info.name for info in pkgutil.iter_modules(package.__path__) if info.name[0] != "_"):
        loaded = importlib.import_module(f"{package.__name__}.{module}")
        name = module.replace("_", "-")
        found[name] = Rule(name, loaded.SEVERITY, loaded.check, inspect.cleandoc(loaded.__doc__ or ""))
    return found


def read_docstring(docstring: str) -> Documentation:
    """A rule's docstring, taken apart. Raises ValueError for a block without a file's name."""
    head, *sections = _SECTION.split(docstring)
    summary, _, text = head.strip().partition("\n")
    found = dict(zip(sections[::2], sections[1::2], strict=True))
    proof = " ".join(found.get("Proof", "").split())
    return Documentation(
        summary.strip(), text.strip(), _files(found.get("Bad", "")), _files(found.get("Good", "")), proof
    )


def _files(section: str) -> dict[str, str]:
    """The files of an example by name: indented blocks, each of which begins anew with `# NAME` at the margin."""
    files: dict[str, list[str]] = {}
    name = ""
    for line in textwrap.dedent(section.strip("\n")).split("\n"):
        found = _FILE.match(line)
        if found and ("." in found[1]):
            name = found[1]
            files[name] = []
        elif name:
            files[name].append(line)
        elif line.strip():
            raise ValueError(f"an example begins with a line `# FILE NAME`, not with {line.strip()!r}")
    return {file: "\n".join(lines).strip("\n") + "\n" for file, lines in files.items()}
