"""Templates of teams as commands read them: from a cluster, with the user's own rights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from injector.cluster.blocking_client import BlockingClient, ClusterError
from injector.cluster.namespaces import version_metadata, versions_of
from injector.errors import TemplateError
from injector.loading.trial import limited
from injector.pods.context import Namespace
from injector.settings import Settings
from injector.templates.snapshot import Snapshot
from injector.templates.team import load_team_template, may_have_templates
from injector.webhook.team_templates import Loaded, extended, files_of, is_template


class LiveTeamTemplates:
    """Reads the templates of teams that pods name, each ConfigMap once; called as `TeamTemplatesOf`.

    One that may not be read is refused as one that is wrong.
    """

    def __init__(self, live: BlockingClient) -> None:
        self._live = live
        self._versions: dict[str, tuple[tuple[str, str], ...]] = {}
        self._loaded: dict[tuple[str, str], Loaded] = {}

    def __call__(self, snapshot: Snapshot, namespace: Namespace, names: Sequence[str]) -> tuple[Snapshot, Namespace]:
        """The snapshot with these templates of a namespace, and the namespace with its `team_templates`."""
        if not may_have_templates(namespace, snapshot.settings):
            return snapshot, namespace
        namespace = replace(namespace, team_templates=self.versions(namespace.name, snapshot.settings))
        loaded = {name: self._loaded_once(namespace.name, name, snapshot.settings) for name in names}
        return extended(snapshot, namespace, loaded), namespace

    def versions(self, namespace: str, settings: Settings) -> tuple[tuple[str, str], ...]:
        """`Namespace.team_templates` of a namespace; none where the user may not list its ConfigMaps."""
        if namespace not in self._versions:
            query = {"labelSelector": f"{settings.template_label}=true"}
            listed = self._live.objects(f"/api/v1/namespaces/{namespace}/configmaps", query)
            try:
                self._versions[namespace] = versions_of(map(version_metadata, listed))
            except ClusterError:
                self._versions[namespace] = ()
        return self._versions[namespace]

    def _loaded_once(self, namespace: str, name: str, settings: Settings) -> Loaded:
        key = (namespace, name)
        if key not in self._loaded:
            self._loaded[key] = self._read(namespace, name, settings)
        return self._loaded[key]

    def _read(self, namespace: str, name: str, settings: Settings) -> Loaded:
        origin = f"configmap/{namespace}/{name}"
        try:
            obj = self._live.found(f"/api/v1/namespaces/{namespace}/configmaps/{name}", origin)
            if obj is None or not is_template(obj, settings):
                return None
            with limited(name, origin):
                return load_team_template(name, files_of(name, obj, settings, origin), origin)
        except ClusterError as error:
            return TemplateError(name, f"it could not be read: {error.message}", rule="file", origin=origin)
        except TemplateError as error:
            return error
