"""Settings and templates as they stand in the cluster: would a server that starts now take them?"""

from __future__ import annotations

from injector.cli.checks.check_context import CheckContext, CheckVerdicts, Section, bad, good, warning
from injector.cli.live_setup import live_snapshot
from injector.diagnostics import spoken_path
from injector.errors import SettingsError
from injector.loading.shipped import try_new
from injector.templates.snapshot import SnapshotError


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
    for problem in snapshot.warnings:
        yield warning("settings", problem.located, "correct the settings, or add the templates that the settings name")
    listed = ", ".join(f"{template.own_name} {template.digest}" for template in snapshot.catalog)
    digests = {template.own_name: template.digest for template in snapshot.catalog}
    if not errors:
        yield good("templates", f"templates and their versions: {listed}", templates=digests)


SECTION = Section("settings-and-templates", (settings, templates))
