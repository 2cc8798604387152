"""What a template that is for a path is for, and how the settings would list it, in words for people."""

from __future__ import annotations

from injector.errors import InjectionError
from injector.templates.render import render_overlay
from injector.templates.samples import sample_contexts
from injector.templates.template import AppliesTo, Template


def covered_words(covered: AppliesTo) -> str:
    """The requests of a `for`: `services` of the core group (v1), on CREATE and UPDATE."""
    groups = _and([f"`{group}`" if group else "the core group" for group in covered.api_groups])
    resources = _and([f"`{name}`" for name in covered.resources])
    return f"{resources} of {groups} ({', '.join(covered.api_versions)}), on {_and(list(covered.operations))}"


def only_judges(template: Template) -> bool:
    """Whether a template adds nothing to any sample, so that a validating webhook will do."""
    for context in sample_contexts(template):
        try:
            if render_overlay(template, context).overlay:
                return False
        except InjectionError:  # an answer too
            continue
    return True


def as_a_path(template: Template) -> str:
    """The settings that give it a path of its own, in YAML."""
    kind = "type: validating, " if only_judges(template) else ""
    verb = "validate" if kind else "mutate"
    return f"paths:\n  /{verb}/{template.name}: {{{kind}templates: [{template.name}]}}\n"


def _and(words: list[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
