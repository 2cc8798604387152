"""The settings' `paths`: which templates are at each, and what the API server asks about there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from injector.authoring.template_summary import only_judges
from injector.cli.checks.check_context import CheckContext
from injector.cli.checks.check_result import bad, good, warning
from injector.diagnostics import Diagnostic
from injector.settings import PathTemplates
from injector.templates.template import Template


def paths(context: CheckContext) -> Iterator[Diagnostic]:
    """A line for each path.

    If a template is missing, its `for` is not known, so the entry's rules are not known either.
    """
    settings = context.settings
    for path, at in settings.paths.items():
        unknown = context.path_templates.missing(at.templates)
        subject = f"path {path} ({at.type}, failurePolicy {at.failure_policy})"
        if unknown:
            meanwhile = "refused" if at.failure_policy == "Fail" else "let through with a warning"
            names = " and ".join(unknown[:3])
            yield bad(
                f"path {path}",
                (
                    f"{subject}: template {names} cannot be loaded, so this path's webhook entry cannot be checked; "
                    f"requests at the path are {meanwhile}"
                ),
                f"if ConfigMap {unknown[0]} does not exist, apply it to namespace {context.namespace} with label "
                f"{settings.template_label}=true; if it exists, correct it; or correct paths in the settings",
                templates=list(at.templates),
            )
        else:
            templates = context.path_templates.found(at.templates)
            text = "; ".join(f"{template.name} for {template.applies_to.words}" for template in templates)
            yield good(f"path {path}", f"{subject}: {text}", templates=list(at.templates))
            yield from _of_the_other_type(path, at, templates)


def _of_the_other_type(path: str, at: PathTemplates, templates: Sequence[Template]) -> Iterator[Diagnostic]:
    """A line for each template that changes objects at a validating path."""
    for template in templates:
        if at.type == "validating" and not only_judges(template):
            text = f"path {path} (validating): template {template.name} changes objects, which fails at such a path"
            yield warning(f"path {path}", text, "list it at a path of type mutating", templates=[template.name])
