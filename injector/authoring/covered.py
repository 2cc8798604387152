"""What a template that is for a path is for, and how the settings would list it, in words for people."""

from __future__ import annotations

from collections.abc import Iterable

from jinja2 import nodes

from injector.templates.applies_to import AppliesTo
from injector.templates.environment import Environment
from injector.templates.template import OVERLAY, Template

#: Functions that say something of an object and add nothing to it.
_VERDICTS = ("deny", "fail", "warn")


def covered_words(covered: AppliesTo) -> str:
    """The requests of a `for`: `services` of the core group (v1), on CREATE and UPDATE."""
    groups = _and([f"`{group}`" if group else "the core group" for group in covered.api_groups])
    resources = _and([f"`{name}`" for name in covered.resources])
    return f"{resources} of {groups} ({', '.join(covered.api_versions)}), on {_and(list(covered.operations))}"


def only_judges(template: Template) -> bool:
    """Whether there is nothing in a template's overlay but verdicts and their conditions: a validating webhook will do.

    By its text: what no sample is given may still be for an object that no sample is like.
    """
    return not _adds(Environment(document=True).parse(template.sources[OVERLAY]).body)


def as_a_path(template: Template) -> str:
    """The settings that give it a path of its own, in YAML."""
    kind = "type: validating, " if only_judges(template) else ""
    verb = "validate" if kind else "mutate"
    return f"paths:\n  /{verb}/{template.name}: {{{kind}templates: [{template.name}]}}\n"


def _adds(body: Iterable[nodes.Node]) -> bool:
    """Whether these may put anything into the overlay; what is not known here may."""
    return any(_may_add(node) for node in body)


def _may_add(node: nodes.Node) -> bool:
    match node:
        case nodes.Output():
            return any(_writes(part) for part in node.nodes)
        case nodes.If():
            return _adds([*node.body, *node.elif_, *node.else_])
        case nodes.For():
            return _adds([*node.body, *node.else_])
        case nodes.With():
            return _adds(node.body)
        case nodes.Macro() | nodes.Assign() | nodes.AssignBlock() | nodes.Import() | nodes.FromImport():
            return False
    return True


def _writes(part: nodes.Expr) -> bool:
    match part:
        case nodes.TemplateData():
            lines = [line.strip() for line in part.data.splitlines()]
            return any(line not in ("", "{}") and not line.startswith("#") for line in lines)
        case nodes.Call(node=nodes.Name(name=name)):
            return name not in _VERDICTS
    return True


def _and(words: list[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
