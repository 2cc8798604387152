"""`injector templates`: the templates of a cluster's injector, or of files: version, age, state, and who uses them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from injector.cli.options import INJECTOR_OPTIONS, TEMPLATE_OPTIONS, CommonOptions, as_one, one_of, option, with_options
from injector.diagnostics import printable
from injector.names import TEAM, cut

if TYPE_CHECKING:
    from injector.cluster.blocking_client import BlockingClient
    from injector.diagnostics import Diagnostic
    from injector.errors import TemplateError
    from injector.settings import Settings
    from injector.templates.snapshot import Catalog
    from injector.templates.template import Template

#: The states, and their colours.
STATES = {"current": "green", "next": "green", "refused": "red", "tried": "cyan", "shadowed": "yellow"}
#: The columns of the table, and in how many characters each shows the names of namespaces, or the pin.
_COLUMNS = ("name", "kind", "version", "age", "state", "namespaces", "settings", "source")
_TABLES = {
    "text": (_COLUMNS, 40),
    "wide": ((*_COLUMNS, "for"), 10_000),
    "team": (("name", "version", "age", "state", "source", "pin"), 32),
}
#: The units of an age, the longest first, and the seconds that each has.
_UNITS = {"d": 86400, "h": 3600, "m": 60, "s": 1}


class Inventory(NamedTuple):
    """What there is: settings, the templates that load, why others do not, and those that load and are not in use.

    By the names of those that are not shipped: where each is, and when it was changed. By the names of namespaces:
    the templates that each names.
    """

    settings: Settings
    catalog: Catalog
    refused: Mapping[str, TemplateError]
    unused: Collection[str]
    sources: Mapping[str, str]
    since: Mapping[str, str] = {}
    users: Mapping[str, Collection[str]] = {}
    warnings: Sequence[Diagnostic] = ()  #: what a trial says of templates that load


@click.command("templates")
@with_options(*TEMPLATE_OPTIONS, *INJECTOR_OPTIONS)
@option("--team", "NS", "List the templates that this namespace has for its own pods, instead of the injector's.")
@one_of("-o --output form", "text wide json yaml name", "Output format.")
@as_one(CommonOptions)
def templates(options: CommonOptions, team: str | None, form: str) -> None:
    """List the templates of the cluster's injector, or with --templates-dir or --settings those of files.

    A template is current (in use), next (the next version of another, for the share of the workloads that its stage
    says), refused (its newest version does not load, and the injector uses the one before),
    tried (it loads, and no injector uses it yet: it is a file, or another template is refused) or shadowed (another
    template of the same name replaces it).
    """
    # The Kubernetes client takes a while to import; `injector templates --help` needs none.
    from injector.authoring.diagnostic_formats import diagnostics_text, json_text
    from injector.authoring.manifest_writer import dump_yaml

    now = datetime.now(UTC)
    if options.templates_dirs or options.settings_file:
        if options.injector_namespace or options.kubeconfig or options.context or team:
            raise click.UsageError(
                "--namespace, --team, --kubeconfig and --context are for a cluster; leave out the files."
            )
        inventory = _in_files(options)
    else:
        with options.connect() as live:
            inventory, now = _in_cluster(live, options.injector_namespace, team), live.clock or now
    rows = [*template_rows(inventory)]
    match form:
        case "json":
            click.echo(json_text({"templates": rows}), nl=False)
        case "yaml":
            click.echo(dump_yaml({"templates": rows}), nl=False)
        case "name":
            click.echo("\n".join(dict.fromkeys(row["name"] for row in rows)))
        case _:
            _show(rows, now, *_TABLES["team" if team else form])
            mistakes = [mistake for error in inventory.refused.values() for mistake in error.diagnostics]
            if mistakes := [*mistakes, *inventory.warnings]:
                click.echo(f"\n{diagnostics_text(mistakes)}")


def _in_cluster(live: BlockingClient, namespace: str | None, team: str | None) -> Inventory:
    """What the cluster's injector has, or a namespace for its own pods.

    The server uses nothing that has changed since a template was refused.
    """
    from injector.cli.live_setup import live_settings, live_snapshot
    from injector.cluster.template_maps import changed_at
    from injector.loading.shipped import try_new
    from injector.pods.shape import string_map
    from injector.templates.choice import names_in
    from injector.templates.snapshot import is_of_template

    space = namespace or live.installation()
    settings = live_settings(live, space)
    query = {"labelSelector": f"{settings.template_label}=true"}
    since = {
        config_map["metadata"]["name"]: changed_at(config_map, settings)
        for config_map in live.objects(f"/api/v1/namespaces/{team or space}/configmaps", query)
    }
    if team:
        return _of_team(live, settings, team, since)
    snapshot, refused = live_snapshot(live, space, settings, trial=try_new)
    sources = {
        template.own_name: f"configmap/{template.origin.rpartition('/')[2]}"
        for template in snapshot.catalog
        if template.origin.startswith("configmap/")
    } | {name: f"configmap/{name}" for name in since}
    broken = [since[name] for name in refused if name in since]
    unused = {name for name, at in since.items() if any(at > refusal for refusal in broken)}
    users = {
        obj["metadata"]["name"]: names_in(string_map(obj, "annotations").get(settings.templates_key, ""))
        for obj in live.objects("/api/v1/namespaces")
    }
    names = {template.own_name for template in snapshot.catalog}
    warnings = [warning for warning in snapshot.warnings if is_of_template(warning, names)]
    return Inventory(settings, snapshot.catalog, refused, unused, sources, since, users, warnings)


def _of_team(live: BlockingClient, settings: Settings, team: str, since: Mapping[str, str]) -> Inventory:
    """What a namespace has for its own pods: its ConfigMaps, by when each was changed. Raises ClusterError."""
    from injector.cli.team_templates import LiveTeamTemplates
    from injector.cluster.blocking_client import ClusterError
    from injector.pods.context import Cluster
    from injector.templates.snapshot import Catalog, Snapshot
    from injector.templates.team import may_have_templates

    namespace = live.namespace(team)
    if not may_have_templates(namespace, settings):
        raise ClusterError(
            f"namespace {team} may not have templates of its own",
            "a cluster admin allows it by the setting `teamTemplates`",
        )
    teams = LiveTeamTemplates(live, settings)
    catalog = teams(Snapshot(settings, Catalog(), Cluster(), ""), namespace, tuple(since))[0].catalog
    sources = {f"{TEAM}{name}": f"configmap/{team}/{name}" for name in since}
    times = {f"{TEAM}{name}": at for name, at in since.items()}
    return Inventory(settings, catalog, catalog.refused, (), sources, times, {team: sources})


def _in_files(options: CommonOptions) -> Inventory:
    """What an injector with these templates and settings would have."""
    from injector.cli.injection_sources import gather
    from injector.loading.shipped import try_new
    from injector.loading.template_folders import find_gallery, gallery_path

    gathered = gather(options, only=())
    catalog = gathered.snapshot.catalog
    origins = {template.own_name: template.origin for template in catalog}
    refused = {error.template: error for error in reversed(gathered.errors)}
    warnings: list[Diagnostic] = []
    refused |= try_new({template.own_name: template.sources for template in catalog}, origins, warnings)
    shipped = {name: str(folder) for name, folder in find_gallery(gallery_path()).items()}
    origins |= {name: error.origin for name, error in refused.items()}
    sources = {
        name: origin if "/" in origin else f"configmap/{name}"
        for name, origin in origins.items()
        if origin != shipped.get(name)
    }
    return Inventory(gathered.settings, catalog, refused, origins, sources, warnings=warnings)


def template_rows(inventory: Inventory) -> Iterator[dict[str, Any]]:
    """Each template for a program, by name; keys are stable. What is in use comes before what it replaces."""
    from injector.loading.shipped import load_shipped
    from injector.loading.template_folders import gallery_path, read_gallery

    shipped, kept = read_gallery(gallery_path()), f"configmap/{inventory.settings.gallery.config_map}"
    loaded = {template.own_name: template for template in inventory.catalog}
    for name in sorted({*loaded, *inventory.refused}):
        if error := inventory.refused.get(name):
            reason = f"{error.diagnostic.located} [{error.rule}]"
            yield _row(inventory, name, "refused") | {"code": error.rule, "reason": reason}
        else:
            in_use = "current" if loaded[name].stage is None else "next"
            yield _row(inventory, name, "tried" if name in inventory.unused else in_use, loaded[name])
        if name in shipped and inventory.sources.get(name, kept) != kept:
            replaced = Inventory(inventory.settings, inventory.catalog, {}, (), {})
            yield _row(replaced, name, "shadowed", load_shipped(name, shipped[name])) | {"settings": []}


def _row(inventory: Inventory, name: str, state: str, template: Template | None = None) -> dict[str, Any]:
    """A template, None where it does not load."""
    from injector.templates.load import content_digest

    settings = [path for path, at in inventory.settings.paths.items() if name in at.templates]
    row = {
        "name": name,
        "kind": "",
        "for": "",
        "version": "",
        "since": inventory.since.get(name, ""),
        "state": state,
        "namespaces": sorted(namespace for namespace, names in inventory.users.items() if name in names),
        "settings": settings,
        "source": inventory.sources.get(name, "shipped"),
    }
    if warnings := [w.located for w in inventory.warnings if w.fields["template"] == name]:
        row["warnings"] = warnings
    if template is not None:
        row |= {"kind": ", ".join(template.applies_to.resources), "for": template.applies_to.words}
        row["version"] = template.digest
        if name.startswith(TEAM):
            row["pin"] = content_digest(template.sources)
        if template.stage is not None:
            row |= {"versionOf": template.name, "stage": template.stage.words}
        elif template.selector is not None:
            settings.insert(0, "selector")
    if name in inventory.settings.templates:
        settings.insert(0, "templates")
    return row


def _show(rows: Iterable[dict[str, Any]], now: datetime, columns: Sequence[str], length: int) -> None:
    from injector.cli.report import padded

    table = [[column.upper() for column in columns]]
    for row in rows:
        namespaces, settings = cut(", ".join(row["namespaces"]), length), ", ".join(row["settings"])
        texts = row | {"age": age(row["since"], now), "namespaces": namespaces, "settings": settings}
        texts["pin"] = row.get("pin", "")[:length]
        if "stage" in row:
            texts["settings"] = f"{row['versionOf']}: {row['stage']}"
        table.append([printable(texts[column]) or "-" for column in columns])
    state = columns.index("state")
    for cells in padded(table):
        cells[state] = click.style(cells[state], fg=STATES.get(cells[state].rstrip()))
        click.echo("  ".join(cells).rstrip())


def age(since: str, now: datetime) -> str:
    """How long ago a time of the API server is, in its longest unit: `3h`; "" for none."""
    if not since:
        return ""
    seconds = max((now - datetime.fromisoformat(since)).total_seconds(), 0)
    return next(f"{seconds // length:.0f}{unit}" for unit, length in _UNITS.items() if seconds >= length or length == 1)
