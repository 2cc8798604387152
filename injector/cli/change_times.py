"""The pods of a cluster as `injector list` shows them, with when what they are made from was last changed, as the API
server noted it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import NamedTuple

from injector.cli.fleet import Fleet, Row, pods_of
from injector.cli.live_setup import live_sources
from injector.cluster.blocking_client import BlockingClient, ClusterError
from injector.cluster.installation import INSTALLATION
from injector.cluster.managed_fields import last_change
from injector.pods.context import Object
from injector.settings import SETTINGS_KEY, Settings

#: Codes of causes that lie in a template, not in what settings or namespaces say.
_OF_TEMPLATES = ("template-changed", "template-gone")


class ChangeTimes(NamedTuple):
    """The last changes: of templates and of namespaces' annotations by name, and of the settings, "" if not known."""

    templates: Mapping[str, str]
    namespaces: Mapping[str, str]
    settings: str

    def dated(self, row: Row) -> Row:
        """The row with the time of the first of its causes; a change before the pod was created is none of them."""
        given = max(self.settings, self.namespaces.get(row.namespace, ""))
        times = (
            self.templates.get(cause.fields["template"], "") if cause.code in _OF_TEMPLATES else given
            for cause in row.causes
        )
        return replace(row, since=min((time for time in times if time and time >= row.created), default=""))


def dated_rows(
    live: BlockingClient, space: str, selector: str | None, injector_namespace: str | None
) -> tuple[Sequence[Row], Sequence[str]]:
    """What is to be said of the pods of one namespace, or "" for all, in order; and notes for the user."""
    sources, notes = live_sources(live, injector_namespace)
    fleet = Fleet(sources, settings_known=bool(sources.injector_namespace))
    rows = [row for pod, of in pods_of(live, space, selector) if (row := fleet.row(pod, of)) is not None]
    if sources.injector_namespace and any(row.state == "outdated" for row in rows):
        with suppress(ClusterError):  # without the permission to look nothing is said of times
            times = change_times(live, sources.injector_namespace, sources.settings, space)
            rows = [times.dated(row) for row in rows]
    return sorted(rows, key=lambda row: (row.namespace, row.pod)), notes


def change_times(live: BlockingClient, injector_namespace: str, settings: Settings, namespace: str) -> ChangeTimes:
    """Of the injector in its namespace; `namespace` is the one whose time is asked for, "" for all.

    Raises ClusterError.
    """
    maps = f"/api/v1/namespaces/{injector_namespace}/configmaps"
    templates = live.objects(maps, {"labelSelector": f"{settings.template_label}=true"})
    installed = live.objects(maps, {"labelSelector": INSTALLATION})
    query = {"fieldSelector": f"metadata.name={namespace}"} if namespace else {}
    spaces = live.objects("/api/v1/namespaces", query)
    return ChangeTimes(
        _by_name(templates, ("f:data",)),
        _by_name(spaces, ("f:metadata", "f:annotations")),
        max(_by_name(installed, ("f:data", f"f:{SETTINGS_KEY}")).values(), default=""),
    )


def _by_name(objects: Iterable[Object], field: tuple[str, ...]) -> dict[str, str]:
    return {obj["metadata"]["name"]: last_change(obj, field) for obj in objects}
