"""Templates of teams as commands read them: from a cluster, with the user's own rights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache

from injector.cluster.blocking_client import BlockingClient, ClusterError
from injector.cluster.namespaces import version_metadata, versions_of
from injector.cluster.template_maps import is_template_map
from injector.errors import TemplateError
from injector.loading.trial import limited
from injector.pods.context import Namespace
from injector.settings import Settings
from injector.templates.snapshot import Snapshot
from injector.templates.team import Loaded, extended, load_team_template, may_have_templates
from injector.webhook.team_templates import bounded_files


class LiveTeamTemplates:
    """Reads the templates of teams that pods name, each ConfigMap once; called as `TeamTemplatesOf`.

    `settings` are the injector's. A template that may not be read is refused as one that is wrong.
    """

    def __init__(self, live: BlockingClient, settings: Settings) -> None:
        self._live, self._settings, self._query = live, settings, {"labelSelector": f"{settings.template_label}=true"}
        self._versions, self._loaded = cache(self._read_versions), cache(self._read)

    def __call__(self, snapshot: Snapshot, namespace: Namespace, names: Sequence[str]) -> tuple[Snapshot, Namespace]:
        """The snapshot with these templates of a namespace, and the namespace with its `team_templates`."""
        if not may_have_templates(namespace, self._settings):
            return snapshot, namespace
        namespace = replace(namespace, team_templates=self._versions(namespace.name))
        return extended(snapshot, namespace, {name: self._loaded(namespace.name, name) for name in names}), namespace

    def _read_versions(self, namespace: str) -> tuple[tuple[str, str], ...]:
        """`Namespace.team_templates`; none where the user may not list a namespace's ConfigMaps."""
        try:
            return versions_of(
                map(version_metadata, self._live.objects(f"/api/v1/namespaces/{namespace}/configmaps", self._query))
            )
        except ClusterError:
            return ()

    def _read(self, namespace: str, name: str) -> Loaded:
        origin = f"configmap/{namespace}/{name}"
        try:
            obj = self._live.found(f"/api/v1/namespaces/{namespace}/configmaps/{name}", "it could not be read")
            if obj is None or not is_template_map(obj, self._settings):
                return None
            with limited(name, origin):
                return load_team_template(name, bounded_files(name, obj, self._settings, origin), origin)
        except ClusterError as error:
            return TemplateError(name, error.message, rule="file", origin=origin)
        except TemplateError as error:
            return error
