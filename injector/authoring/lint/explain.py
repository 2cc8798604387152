"""The documentation of rules: one for a terminal, and all as the page docs/lint.md."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping

from injector.authoring.lint.rule import Rule, rules
from injector.errors import TemplateError

#: The line that ends what is written by hand on the page.
MARK = "<!-- Made from the rules' docstrings: everything below this line. -->"
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
    return "\n\n".join(part for part in parts if part) + "\n"


def kinds() -> Mapping[str, str]:
    """What keeps a template from loading, by the word in brackets behind such an error: no rule, and never off."""
    return dict(re.findall(r"^\s*\| `(\w+)` \| (.*) \|$", TemplateError.__doc__ or "", re.MULTILINE))


def as_markdown(rule: Rule) -> str:
    """A rule's documentation as Markdown, without a heading."""
    said = rule.documentation
    parts = [said.summary, said.text]
    for title, files in (("Bad", said.bad), ("Good", said.good)):
        if files:
            parts += [f"**{title}**", *_fenced(files)]
    return "\n\n".join(part for part in parts if part) + "\n"


def rules_page() -> str:
    """What follows the mark on the page: a table of the rules, and a section for each."""
    rows = "\n".join(
        f"| [`{name}`](#{name}) | {r.severity} | {r.documentation.summary} |" for name, r in rules().items()
    )
    sections = "\n".join(f"### {name}\n\n{as_markdown(rule)}" for name, rule in rules().items())
    return f"{MARK}\n\n| rule | is | what it finds |\n| --- | --- | --- |\n{rows}\n\n{sections}"


def _indented(files: Mapping[str, str]) -> str:
    lines = [line for file, text in files.items() for line in (f"# {file}", *text.rstrip("\n").split("\n"))]
    return "\n".join(f"    {line}".rstrip() for line in lines)


def _fenced(files: Mapping[str, str]) -> Iterator[str]:
    for file, text in files.items():
        suffix = re.search(r"\.(?:yaml|json)\.j2$|\.[^.]*$", file)
        yield f"`{file}`"
        yield f"```{_LANGUAGES.get(suffix[0] if suffix else '', 'text')}\n{text.rstrip()}\n```"
