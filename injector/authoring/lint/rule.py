"""A rule of the linter, and its documentation from its docstring: for a terminal, and as a page in docs/lint."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
import textwrap
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import injector
from injector.authoring.lint import rules as package
from injector.authoring.lint.subject import Finding, Subject
from injector.diagnostics import Severity, page_address
from injector.errors import TEMPLATE_ERRORS

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

    def as_sarif(self) -> dict[str, Any]:
        """The rule as a SARIF log describes it: a `reportingDescriptor` less its id."""
        said = self.documentation
        return {
            **({"helpUri": address(self.name)} if injector.DOCUMENTATION else {}),
            "shortDescription": {"text": said.summary},
            "fullDescription": {"text": said.text or said.summary},
            "help": {"text": self.docstring, "markdown": as_markdown(self)},
            "defaultConfiguration": {"level": self.severity},
        }


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


def address(code: str) -> str:
    """Where the documentation of a rule is, or of an error that keeps a template from loading."""
    return page_address("lint", code) if code in TEMPLATE_ERRORS else page_address(f"lint/{code}")


#: The line that ends what is written by hand on the page.
MARK = "<!-- Made from the code: everything below this line. -->"
_LANGUAGES = {".yaml.j2": "yaml", ".yaml": "yaml", ".json.j2": "json", ".md": "markdown"}


def explanation(rule: Rule, bold: Callable[[str], str] = str) -> str:
    """A rule's documentation as a terminal shows it; `bold` is for headings."""
    said = rule.documentation
    parts = [f"{bold(rule.name)} ({rule.severity})", said.summary, said.text]
    for title, files in (("Bad", said.bad), ("Good", said.good)):
        if files:
            parts.append(f"{bold(title)}\n{_indented(files)}")
    if said.proof:
        parts.append(f"{bold('Proof')}\n{said.proof}")
    parts.append(f"Page: {address(rule.name)}")
    return "\n\n".join(part for part in parts if part) + "\n"


def as_markdown(rule: Rule) -> str:
    """A rule's documentation as Markdown, without a heading."""
    said = rule.documentation
    parts = [said.summary, said.text]
    for title, files in (("Bad", said.bad), ("Good", said.good)):
        if files:
            parts += [f"**{title}**", *_fenced(files)]
    return "\n\n".join(part for part in parts if part) + "\n"


def rules_table() -> str:
    """What follows the mark on the page docs/lint.md: what keeps a template from loading, and a row for each rule."""
    errors = "\n".join(f"### {name}\n\nWhat is wrong: {what}.\n" for name, what in TEMPLATE_ERRORS.items())
    rows = "\n".join(
        f"| [`{name}`](lint/{name}.md) | {rule.severity} | {rule.documentation.summary} |"
        for name, rule in rules().items()
    )
    return f"{MARK}\n\n{errors}\n## Rules\n\n| rule | is | what it finds |\n| --- | --- | --- |\n{rows}\n"


def rule_page(rule: Rule) -> str:
    """The page of a rule: docs/lint/NAME.md."""
    what = f"A rule of [`injector lint`](../lint.md). The linter reports each finding as {_KIND[rule.severity]}."
    return f"# {rule.name}\n\n{_MADE}\n\n{what}\n\n{as_markdown(rule)}"


_MADE = "<!-- Made from the rule's docstring. -->"
_KIND = {"error": "an error", "warning": "a warning", "note": "a note"}


def _indented(files: Mapping[str, str]) -> str:
    lines = [line for file, text in files.items() for line in (f"# {file}", *text.rstrip("\n").split("\n"))]
    return "\n".join(f"    {line}".rstrip() for line in lines)


def _fenced(files: Mapping[str, str]) -> Iterator[str]:
    for file, text in files.items():
        suffix = re.search(r"\.(?:yaml|json)\.j2$|\.[^.]*$", file)
        yield f"`{file}`"
        yield f"```{_LANGUAGES.get(suffix[0] if suffix else '', 'text')}\n{text.rstrip()}\n```"
