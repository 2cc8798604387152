"""What rules ask about Envoy's configuration."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import ip_address
from typing import Any

from injector.authoring.lint.rules._values import is_written, numbered
from injector.authoring.lint.subject import Findings, RenderedSource, Rendering, Subject
from injector.diagnostics import Path
from injector.names import hint
from injector.pods.context import Object, mapping, mappings, string_field

SEVERITY = "error"

_Placed = tuple[RenderedSource, Path, Object]


def envoy_config(subject: Subject) -> Findings:
    """`envoy --mode validate` accepts the configuration, but Envoy does not work with it.

    Envoy's own check does not find these mistakes:

    - a tcp_proxy to a cluster that does not exist: Envoy closes each connection
    - an HTTP connection manager without an HTTP filter: no request gets an answer
    - two listeners with the same name: Envoy ignores the second one
    - an address to listen on that no pod has, such as a fixed IP address: Envoy does not start
    - a cluster of type ORIGINAL_DST behind a listener without the filter original_dst: no connection gets through

    Source: Envoy docs, "TCP proxy", "HTTP connection manager", "Listener", "Original destination".

    Bad:
        # template.yaml
        description: Envoy beside the app.
        parameters:
          port: {type: integer, format: port, minimum: 1024, maximum: 65535, default: 15020, description: Its port.}
        files:
          envoy.yaml: {validate: [envoy, --mode, validate, -c, "{path}"]}
        # envoy.yaml.j2
        static_resources:
          listeners:
          - name: inbound
            address: {socket_address: {address: 0.0.0.0, port_value: {{ params.port }}}}
            filter_chains:
            - filters:
              - name: envoy.filters.network.tcp_proxy
                typed_config:
                  "@type": type.googleapis.com/envoy.extensions.filters.network.tcp_proxy.v3.TcpProxy
                  stat_prefix: inbound
                  cluster: the-app
          clusters:
          - name: app
            type: STATIC
            load_assignment:
              cluster_name: app
              endpoints:
              - lb_endpoints:
                - endpoint: {address: {socket_address: {address: 127.0.0.1, port_value: 8080}}}
        # overlay.yaml.j2
        spec:
          containers:
          - name: proxy
            image: example.com/envoy:1.2
            volumeMounts:
            - {name: proxy-config, mountPath: /etc/envoy, readOnly: true}
          volumes:
          - name: proxy-config
            configMap: {name: "{{ files.configmap }}"}

    Good:
        # envoy.yaml.j2
        static_resources:
          listeners:
          - name: inbound
            address: {socket_address: {address: 0.0.0.0, port_value: {{ params.port }}}}
            filter_chains:
            - filters:
              - name: envoy.filters.network.tcp_proxy
                typed_config:
                  "@type": type.googleapis.com/envoy.extensions.filters.network.tcp_proxy.v3.TcpProxy
                  stat_prefix: inbound
                  cluster: app
          clusters:
          - name: app
            type: STATIC
            load_assignment:
              cluster_name: app
              endpoints:
              - lb_endpoints:
                - endpoint: {address: {socket_address: {address: 127.0.0.1, port_value: 8080}}}
    """
    for rendering in subject.renderings:
        placed: list[_Placed] = [
            (file, path, listener) for file in rendering.files.values() for path, listener in listeners(file.value)
        ]
        if placed:
            yield from _names(rendering, placed)
            yield from _addresses(rendering)
            yield from _filters(rendering, placed)


def _names(rendering: Rendering, placed: list[_Placed]) -> Findings:
    names: set[str] = set()
    for file, path, listener in placed:
        name = string_field(listener.get("name"))
        if name and name in names:
            yield rendering.finding_at(
                f"two listeners are called {name}: Envoy ignores the second",
                file.place((*path, "name")),
                "rename one",
            )
        names.add(name)


def _addresses(rendering: Rendering) -> Findings:
    for file in rendering.files.values():
        for host, _, path in bindings(file.value):
            if not _is_local(host):
                place = file.place(path)
                if is_written(place):
                    yield rendering.finding_at(
                        f"not every pod has the address {host}: in a pod without it, Envoy does not start",
                        place,
                        'bind "0.0.0.0" or "::", or "127.0.0.1" for the pod alone',
                    )


def _is_local(host: str) -> bool:
    """Whether any pod has this address; what is not an address at all, validate refuses."""
    try:
        address = ip_address(host)
    except ValueError:
        return True
    return address.is_unspecified or address.is_loopback


def _filters(rendering: Rendering, placed: list[_Placed]) -> Findings:
    bootstraps = [file.value for file in rendering.files.values()]
    static = {string_field(cluster.get("name")): cluster for config in bootstraps for cluster in clusters(config)}
    dynamic = any(mapping(mapping(config).get("dynamic_resources")).get("cds_config") for config in bootstraps)
    for file, path, listener in placed:
        restored = _restores_destination(listener)
        for filter_path, config in filters(listener):
            at = (*path, *filter_path)
            if is_type(config, "HttpConnectionManager") and not config.get("http_filters"):
                yield rendering.finding_at(
                    "there is no HTTP filter, so no request is ever answered",
                    file.place((*at, "http_filters"), key=True),
                    "end http_filters with envoy.filters.http.router",
                )
            for target_path, target in _targets(config):
                cluster = static.get(target)
                if cluster is None and not dynamic:
                    yield rendering.finding_at(
                        f"there is no cluster `{target}`{hint(target, static)}",
                        file.place((*at, *target_path)),
                        "name one of the clusters",
                    )
                elif cluster is not None and cluster.get("type") == "ORIGINAL_DST" and not restored:
                    yield rendering.finding_at(
                        f"cluster `{target}` uses the original destination, and this listener does not restore it",
                        file.place((*at, *target_path)),
                        "add the listener filter envoy.filters.listener.original_dst",
                    )


def _restores_destination(listener: Object) -> bool:
    """Whether a listener knows where a redirected connection was going."""
    return listener.get("use_original_dst") is True or any(
        is_type(mapping(item.get("typed_config")), "OriginalDst") for item in mappings(listener.get("listener_filters"))
    )


def _targets(config: Object) -> Iterator[tuple[Path, str]]:
    """Path within a network filter and name of each cluster that it sends to."""
    if isinstance(config.get("cluster"), str):
        yield ("cluster",), config["cluster"]
    for host_index, host in numbered(mapping(config.get("route_config")).get("virtual_hosts")):
        for index, route in numbered(host.get("routes")):
            target = mapping(route.get("route")).get("cluster")
            if isinstance(target, str):
                path: Path = ("route_config", "virtual_hosts", host_index, "routes", index, "route", "cluster")
                yield path, target


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
