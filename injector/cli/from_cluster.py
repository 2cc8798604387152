"""What manifests are judged by: options and files, or with --from-cluster a running cluster."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import click

from injector.cli.injection_sources import Sources, gather, read_parameters, templates_given
from injector.cli.manifest_objects import ManifestNamespaces, namespaces_in
from injector.cli.options import ClusterOptions, NamespaceOptions, SourceOptions
from injector.pods.context import Object


def sources_and_namespaces(
    source_options: SourceOptions,
    namespace_options: NamespaceOptions,
    cluster_options: ClusterOptions,
    objects: Iterable[Object],
    *,
    only: Sequence[str] | None = None,
) -> tuple[Sources, ManifestNamespaces]:
    """What the objects of manifests are injected from, and what is known of their namespaces.

    `only` are the templates that are asked for by name. Raises what `gather` raises, ClusterError where the cluster or
    its injector cannot be reached, and click.UsageError for options that exclude one another.
    """
    objects = list(objects)
    if not cluster_options.from_cluster:
        if cluster_options.kubeconfig or cluster_options.context or cluster_options.injector_namespace:
            raise click.UsageError("--kubeconfig, --context and --injector-namespace are for --from-cluster; add it.")
        sources = gather(source_options, only=only)
        return sources, namespaces_in(objects, sources.settings, namespace_options)
    if source_options.settings_file is not None or source_options.version is not None:
        raise click.UsageError(
            "--from-cluster uses the settings and the version of the cluster; leave out --settings and "
            "--kubernetes-version."
        )
    # The Kubernetes client takes a while to import; files need none.
    from injector.cli.live_setup import live_namespace, live_settings, live_snapshot
    from injector.cluster.blocking_client import BlockingClient

    with BlockingClient(cluster_options.kubeconfig, cluster_options.context) as live:
        namespace = cluster_options.injector_namespace or live.installation()
        settings = live_settings(live, namespace)
        snapshot, errors = live_snapshot(live, namespace, settings, more=templates_given(source_options.templates_dirs))
        namespaces = namespaces_in(objects, settings, namespace_options)
        spaces = {name: live_namespace(live, name, namespaces.found) for name in sorted(namespaces.names(objects))}
        origin = f"the settings and templates of the injector in namespace {namespace} of {live.host}"
        if source_options.templates_dirs:
            origin += ", and of --templates-dir"
    left_out = tuple(
        f"the template {name} is ignored, because it is invalid: {error}" for name, error in errors.items()
    )
    namespaces = replace(namespaces, in_cluster=spaces)
    return Sources(snapshot, read_parameters(source_options.params, snapshot), left_out, origin), namespaces
