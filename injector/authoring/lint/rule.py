"""A rule of the linter, and its documentation from its docstring: for a terminal, and as a page in docs/lint."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
import textwrap
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any, NamedTuple

import injector
from injector.authoring.lint import rules as package
from injector.authoring.lint.subject import Finding, Subject
from injector.diagnostics import Diagnostic, Severity, page_address
from injector.errors import TEMPLATE_ERRORS

_SECTION = re.compile(r"^(Bad|Good|Proof):[ \t]*", re.MULTILINE)
_FILE = re.compile(r"#\s*(\S+)\s*\Z")


_Files = Mapping[str, str]


class Documentation(NamedTuple):
    """What a rule's docstring says: one sentence, the text after it, and the files of its examples by name.

    `changed` are those files of the good example that the bad one does not have, or has otherwise.
    """

    summary: str
    text: str
    bad: _Files
    changed: _Files
    proof: str = ""

    @property
    def good(self) -> dict[str, str]:
        """All files of the good example."""
        return {**self.bad, **self.changed}

    @property
    def examples(self) -> tuple[tuple[str, _Files], ...]:
        """The examples as people read them, each with its title."""
        repeated = self.bad.keys() - self.changed.keys()
        return ("Bad", self.bad), ("Good, with the other files as they are" if repeated else "Good", self.changed)


class Rule(NamedTuple):
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
        documentation = self.documentation
        return {
            **({"helpUri": address(self.name)} if injector.DOCUMENTATION else {}),
            "shortDescription": {"text": documentation.summary},
            "fullDescription": {"text": documentation.text or documentation.summary},
            "help": {"text": self.docstring, "markdown": as_markdown(self)},
            "defaultConfiguration": {"level": self.severity},
        }


@cache
def rules() -> Mapping[str, Rule]:
    """Every rule by its name, sorted."""
    modules = [info.name for info in pkgutil.iter_modules(package.__path__) if not info.name.startswith("_")]
    return dict(sorted((name, rule) for module in modules for name, rule in rules_in(module).items()))


@cache
def rules_in(module_name: str) -> Mapping[str, Rule]:
    """The rules of a module of `rules` by name: its public functions of a `Subject` that yield findings."""
    module = importlib.import_module(f"{package.__name__}.{module_name}")
    return {
        (rule := name.replace("_", "-")): Rule(rule, module.SEVERITY, check, inspect.cleandoc(check.__doc__ or ""))
        for name, check in vars(module).items()
        if name[0] != "_" and getattr(check, "__annotations__", {}) == {"subject": "Subject", "return": "Findings"}
    }


def findings_of(rule: Rule, subject: Subject) -> Iterator[Diagnostic]:
    """A rule's findings as problems of the template's folder.

    A finding that occurs again with other values or in another container is reported once.
    """
    reported = set()
    for finding in rule.check(subject):
        place = finding.place
        key = (place.file, place.line, place.column, finding.fields.get("about"))
        if key not in reported:
            reported.add(key)
            severity = finding.severity if finding.severity == "note" else rule.severity
            message, help_, path = finding.message, finding.help, finding.path
            yield Diagnostic(rule.name, severity, message, help_, path, place, finding.fields).of(subject.path)


def read_docstring(docstring: str) -> Documentation:
    """A rule's docstring, taken apart. Raises ValueError for a block without a file's name."""
    head, *sections = _SECTION.split(docstring)
    summary, _, text = head.strip().partition("\n")
    by_title = dict(zip(sections[::2], sections[1::2], strict=True))
    proof = " ".join(by_title.get("Proof", "").split())
    return Documentation(
        summary.strip(), text.strip(), _files(by_title.get("Bad", "")), _files(by_title.get("Good", "")), proof
    )


def _files(section: str) -> dict[str, str]:
    """The files of an example by name: indented blocks, each of which begins anew with `# NAME` at the margin."""
    files: dict[str, list[str]] = {}
    name = ""
    for line in textwrap.dedent(section.strip("\n")).split("\n"):
        heading = _FILE.match(line)
        if heading and ("." in heading[1]):
            name = heading[1]
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
    documentation = rule.documentation
    parts = [f"{bold(rule.name)} ({rule.severity})", documentation.summary, documentation.text]
    for title, files in documentation.examples:
        lines = [line for file, text in files.items() for line in (f"# {file}", *text.rstrip("\n").split("\n"))]
        if files:
            parts.append("\n".join([bold(title), *(f"    {line}".rstrip() for line in lines)]))
    if documentation.proof:
        parts.append(f"{bold('Proof')}\n{documentation.proof}")
    parts.append(f"Page: {address(rule.name)}")
    return "\n\n".join(part for part in parts if part) + "\n"


def as_markdown(rule: Rule) -> str:
    """A rule's documentation as Markdown, without a heading."""
    documentation = rule.documentation
    parts = [documentation.summary, documentation.text]
    for title, files in documentation.examples:
        parts += [f"**{title}**", *_fenced(files)]
    return "\n\n".join(part for part in parts if part) + "\n"


def rules_table() -> str:
    """What follows the mark on the page docs/lint.md: what keeps a template from loading, and a row for each rule."""
    errors = "\n".join(f"### {name}\n\nWhat is wrong: {mistake}.\n" for name, mistake in TEMPLATE_ERRORS.items())
    rows = "\n".join(
        f"| [`{name}`](lint/{name}.md) | {rule.severity} | {rule.documentation.summary} |"
        for name, rule in rules().items()
    )
    return f"{MARK}\n\n{errors}\n## Rules\n\n| rule | is | what it finds |\n| --- | --- | --- |\n{rows}\n"


def rule_page(rule: Rule) -> str:
    """The page of a rule: docs/lint/NAME.md."""
    introduction = (
        f"A rule of [`injector lint`](../lint.md). The linter reports each finding as {_KIND[rule.severity]}."
    )
    return f"# {rule.name}\n\n{_MADE}\n\n{introduction}\n\n{as_markdown(rule)}"


_MADE = "<!-- Made from the rule's docstring. -->"
_KIND = {"error": "an error", "warning": "a warning", "note": "a note"}


def _fenced(files: _Files) -> Iterator[str]:
    for file, text in files.items():
        suffix = re.search(r"\.(?:yaml|json)\.j2$|\.[^.]*$", file)
        yield f"`{file}`"
        yield f"```{_LANGUAGES.get(suffix[0] if suffix else '', 'text')}\n{text.rstrip()}\n```"
