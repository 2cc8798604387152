"""The settings' `paths`: which templates are at each, and what the API server asks about there."""

from __future__ import annotations

from collections.abc import Iterator

from injector.cli.checks.scene import Scene
from injector.cli.checks.verdict import Verdict, failed, good, some
from injector.cluster.entries import templates_at
from injector.templates.template import AppliesTo


def at_paths(scene: Scene) -> Iterator[Verdict]:
    """A line for each path. Of a template that is not there nobody knows what it is for, and so what to ask about."""
    settings = scene.settings
    for path, at in settings.paths.items():
        templates, unknown = templates_at(at, scene.at_paths)
        where = f"path {path} ({at.type}, failurePolicy {at.failure_policy})"
        if unknown:
            meanwhile = "refused" if at.failure_policy == "Fail" else "let through with a warning"
            names = " and ".join(unknown[:3])
            yield failed(
                f"path {path}",
                f"{where}: {names} cannot be used, so its entry cannot be told; what is asked there is {meanwhile}",
                f"apply ConfigMap {unknown[0]} to namespace {scene.namespace} with label "
                f"{settings.template_label}=true, correct it if it is there, or correct paths in the settings",
                templates=list(at.templates),
            )
        else:
            text = "; ".join(f"{template.name} for {words_of(template.applies_to)}" for template in templates)
            yield good(f"path {path}", f"{where}: {text}", templates=list(at.templates))


def words_of(covered: AppliesTo) -> str:
    """What a template is for, as in `services v1 on CREATE, UPDATE` or `deployments of apps v1 on CREATE`."""
    groups = [group for group in covered.api_groups if group]
    of = f" of {some(groups)}" if groups else ""
    core = " and the core group" if groups and "" in covered.api_groups else ""
    versions, operations = " ".join(covered.api_versions), ", ".join(covered.operations)
    return f"{some(list(covered.resources))}{of}{core} {versions} on {operations}"
