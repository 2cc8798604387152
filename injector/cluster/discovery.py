"""What an API server calls a kind of object, and where it has the objects: as kubectl finds `svc/web` and `pvc/data`.

https://kubernetes.io/docs/concepts/overview/kubernetes-api/#discovery-api
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import NamedTuple

from injector.cluster.api_error import ApiError
from injector.cluster.client import Client
from injector.pods.context import Object
from injector.pods.resource_kinds import Resource


class DiscoveredResource(NamedTuple):
    """A resource, and whether its objects lie in namespaces."""

    resource: Resource
    namespaced: bool

    def path(self, name: str, namespace: str) -> str:
        """Where an object of it is."""
        group, version, plural = self.resource
        api = f"/apis/{group}/{version}" if group else f"/api/{version}"
        return f"{api}/namespaces/{namespace}/{plural}/{name}" if self.namespaced else f"{api}/{plural}/{name}"


async def find_resource(client: Client, word: str) -> DiscoveredResource | None:
    """The resource that `word` names: its plural, singular, kind or a short name, with `.group` behind it or not.

    Of several the first in the API server's order, in the version that it prefers. Raises ApiError; a group whose own
    server does not answer is passed over.
    """
    name, _, group = word.lower().partition(".")
    async for within, version, resources in _lists(client, group):
        for resource in resources:
            plural = str(resource.get("name"))
            names = {plural, resource.get("singularName"), str(resource.get("kind")).lower()}
            if "/" not in plural and name in names | set(resource.get("shortNames") or ()):
                return DiscoveredResource(Resource(within, version, plural), bool(resource.get("namespaced")))
    return None


async def _lists(client: Client, wanted: str) -> AsyncIterator[tuple[str, str, list[Object]]]:
    """Group, version and resources of each group that has the wanted name, or begins with it."""
    if not wanted:
        yield "", "v1", (await client.get("/api/v1")).get("resources") or []
    for group in (await client.get("/apis")).get("groups") or ():
        name = str(group.get("name"))
        if wanted and name != wanted and not name.startswith(f"{wanted}."):
            continue
        version = str((group.get("preferredVersion") or {}).get("version"))
        try:
            found = await client.get(f"/apis/{name}/{version}")
        except ApiError:
            continue
        yield name, version, found.get("resources") or []
