"""What manifests are judged by: options and files, or with --from-cluster a running cluster."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import click

from injector.cli.injection_sources import Sources, gather, read_parameters, templates_given
from injector.cli.manifest_objects import ManifestNamespaces, namespaces_in
from injector.cli.options import CommonOptions
from injector.pods.context import Object


def sources_and_namespaces(options: CommonOptions, objects: Iterable[Object]) -> tuple[Sources, ManifestNamespaces]:
    """What the objects of manifests are injected from, and what is known of their namespaces.

    Raises what `gather` raises, ClusterError where the cluster or its injector cannot be reached, and click.UsageError
    for options that exclude one another.
    """
    objects = list(objects)
    if not options.from_cluster:
        if options.kubeconfig or options.context or options.injector_namespace:
            raise click.UsageError("--kubeconfig, --context and --injector-namespace are for --from-cluster; add it.")
        sources = gather(options, only=options.templates)
        return sources, namespaces_in(objects, sources.settings, options)
    if options.settings_file is not None or options.version is not None:
        raise click.UsageError(
            "--from-cluster uses the settings and the version of the cluster; leave out --settings and "
            "--kubernetes-version."
        )
    # The Kubernetes client takes a while to import; files need none.
    from injector.cli.live_setup import live_namespace, live_settings, live_snapshot
    from injector.cli.team_templates import LiveTeamTemplates

    # open as long as the command runs: which templates of teams pods name is seen one by one
    live = click.get_current_context().with_resource(options.connect())
    namespace = options.injector_namespace or live.installation()
    settings = live_settings(live, namespace)
    snapshot, errors = live_snapshot(live, namespace, settings, more=templates_given(options.templates_dirs, settings))
    namespaces = namespaces_in(objects, settings, options)
    spaces = {
        name: live_namespace(live, name, namespaces.found) for name in sorted(set(map(namespaces.name_for, objects)))
    }
    origin = f"the settings and templates of the injector in namespace {namespace} of {live.host}"
    if options.templates_dirs:
        origin += ", and of --templates-dir"
    left_out = tuple(
        f"the template {name} is ignored, because it is invalid: {error}" for name, error in errors.items()
    )
    namespaces = replace(namespaces, in_cluster=spaces)
    parameters = read_parameters(options.params, snapshot)
    return Sources(snapshot, parameters, left_out, origin, team_templates=LiveTeamTemplates(live, settings)), namespaces
