"""What rules ask about Envoy's bootstrap and the files that it reads: listeners, clusters, filters."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from injector.authoring.lint.rules._values import numbered
from injector.diagnostics import Path
from injector.pods.constraints.pod_view import mapping, mappings
from injector.pods.context import Object

_TYPE = "@type"


def listeners(config: Any) -> Iterator[tuple[Path, Object]]:
    """Path and value of each listener, of a bootstrap or of a file that the bootstrap reads listeners from."""
    static = mapping(mapping(config).get("static_resources"))
    for index, listener in numbered(static.get("listeners")):
        yield ("static_resources", "listeners", index), listener
    for index, resource in numbered(mapping(config).get("resources")):
        if str(resource.get(_TYPE)).endswith(".Listener"):
            yield ("resources", index), resource


def bindings(config: Any) -> Iterator[tuple[str, int, Path]]:
    """Host, port and path of each address that a listener or the admin interface binds."""
    owners = [*listeners(config), (("admin",), mapping(mapping(config).get("admin")))]
    for path, owner in owners:
        address = mapping(mapping(owner.get("address")).get("socket_address"))
        host, port = address.get("address"), address.get("port_value")
        if isinstance(host, str) and isinstance(port, int):
            yield host, port, (*path, "address", "socket_address", "address")


def clusters(config: Any) -> list[Object]:
    """The clusters of a bootstrap."""
    return mappings(mapping(mapping(config).get("static_resources")).get("clusters"))


def filters(listener: Object) -> Iterator[tuple[Path, Object]]:
    """Path within the listener and configuration of each network filter."""
    for chain_index, chain in numbered(listener.get("filter_chains")):
        for index, item in numbered(chain.get("filters")):
            path = ("filter_chains", chain_index, "filters", index, "typed_config")
            yield path, mapping(item.get("typed_config"))


def is_type(config: Object, name: str) -> bool:
    """Whether a typed configuration is of this type, in whatever version."""
    return str(config.get(_TYPE)).endswith(f".{name}")
