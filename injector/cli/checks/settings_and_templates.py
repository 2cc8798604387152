"""Settings and templates as they stand in the cluster: would a server that starts now take them?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime

from injector import __version__
from injector.cli.checks.check_context import CheckContext, CheckVerdicts, Section, bad, good, warning
from injector.cli.live_setup import gallery_and_maps, live_snapshot
from injector.cluster.template_maps import changed_at
from injector.diagnostics import spoken_path
from injector.errors import SettingsError
from injector.loading.shipped import try_new
from injector.templates.snapshot import Catalog, SnapshotError, is_of_template

#: Days after which a stage that nobody has changed is forgotten rather than watched.
_STANDING = 14


def settings(context: CheckContext) -> CheckVerdicts:
    """They are read as the server reads them."""
    try:
        current = context.settings
    except SettingsError as error:
        to_do = (
            "correct the settings' ConfigMap (docs/settings.md); until then, the injector uses its previous settings"
        )
        yield bad("settings", str(error), to_do, paths=[spoken_path(fault.path) for fault in error.diagnostics])
        return
    label = current.namespace_label
    yield good("settings", f"settings are right: label {label.key}, templates {', '.join(current.templates) or 'none'}")


def templates(context: CheckContext) -> CheckVerdicts:
    """Each template is tried in a child process with limits, as the server does."""
    try:
        snapshot, errors = live_snapshot(context.live, context.namespace, context.settings, trial=try_new)
    except SnapshotError as error:
        for fault in error.errors:
            to_do = "correct the settings' ConfigMap; until then, the injector uses its previous settings"
            yield bad("settings", str(fault), to_do)
        return
    for name, mistake in errors.items():
        to_do = f"correct or remove ConfigMap {name}; until then, the injector uses its previous settings and templates"
        yield bad("template", str(mistake), to_do, template=name, place=mistake.diagnostic.place.whole)
    names = {template.own_name for template in snapshot.catalog}
    dropped = [problem for problem in snapshot.warnings if is_of_template(problem, names)]
    for problem in dropped:
        to_do = "correct the template, if no newer Kubernetes has the field"
        yield warning("template-field", problem.located, to_do, template=problem.fields["template"])
    for problem in (problem for problem in snapshot.warnings if problem not in dropped):
        yield warning("settings", problem.located, "correct the settings, or add the templates that the settings name")
    for name, days in standing_stages(
        snapshot.catalog, times_of_changes(context), context.live.clock or datetime.now(UTC)
    ):
        yield warning(
            "version-stage",
            f"the stage of the next version {name} has not changed for {days} days",
            "raise it, replace the template by it, or delete it (docs/versions.md)",
            template=name,
            days=days,
        )
    listed = ", ".join(f"{template.own_name} {template.digest}" for template in snapshot.catalog)
    digests = {template.own_name: template.digest for template in snapshot.catalog}
    if not errors:
        yield good("templates", f"templates and their versions: {listed}", templates=digests)


def kept_gallery(context: CheckContext) -> CheckVerdicts:
    """Whether the cluster still uses the gallery of another release, and what of it cannot be used."""
    gallery, _ = gallery_and_maps(context.live, context.namespace, context.settings)
    kept = f"configmap/{context.namespace}/{context.settings.gallery.config_map}"
    for problem in gallery.problems:
        yield warning("kept-gallery", f"{kept}: {problem}", "delete it to use the gallery of this release")
    if names := sorted(template.name for template in gallery.loaded if template.stage is None):
        stage = f"{context.settings.stage_key}={__version__}:10%"
        to_do = f"annotate it with {stage} or more, or delete it (docs/versions.md)"
        message = f"{kept} keeps templates of another release: {', '.join(names)}"
        yield warning("kept-gallery", message, to_do, templates=names)


def times_of_changes(context: CheckContext) -> dict[str, str]:
    """When each ConfigMap of a template was changed, by name."""
    path = f"/api/v1/namespaces/{context.namespace}/configmaps"
    maps = context.live.objects(path, {"labelSelector": f"{context.settings.template_label}=true"})
    return {config_map["metadata"]["name"]: changed_at(config_map, context.settings) for config_map in maps}


def standing_stages(catalog: Catalog, changed: Mapping[str, str], now: datetime) -> Iterator[tuple[str, int]]:
    """The next versions that nobody has touched for `_STANDING` days, and for how many."""
    for template in catalog:
        since = changed.get(template.own_name, "")
        days = (now - datetime.fromisoformat(since)).days if since and template.stage is not None else 0
        if days >= _STANDING:
            yield template.own_name, days


SECTION = Section("settings-and-templates", (settings, templates, kept_gallery))
