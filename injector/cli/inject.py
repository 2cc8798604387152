"""`injector inject`: manifests in, the same manifests with sidecars out, and as the settings' `paths` have them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from injector.cli.inputs import with_files
from injector.cli.options import (
    NAMES_OPTION,
    REPORT_OPTION,
    NamespaceOptions,
    SourceOptions,
    with_namespace_options,
    with_source_options,
    with_user,
)

if TYPE_CHECKING:
    from injector.pods.context import Object


@click.command()
@with_files("files", "FILE...")
@NAMES_OPTION
@with_source_options
@with_namespace_options
@with_user
@REPORT_OPTION
def inject(
    files: tuple[str, ...],
    templates: list[str] | None,
    source_options: SourceOptions,
    namespace_options: NamespaceOptions,
    user: Object,
    form: str,
) -> int:
    """Put sidecars into the pods of manifests.

    FILE is a file, a folder, a URL, or - for standard input; YAML or JSON. Everything that holds a pod is injected:
    Pod, Deployment, StatefulSet, DaemonSet, ReplicaSet, Job, CronJob, and any kind with a pod template. The manifests
    go to standard output, the report to standard error; when anything is refused nothing is written.

    A namespace counts as enabled unless its Namespace object in the input, or --namespace-label, says otherwise.

    Where --settings has paths, objects of every kind are asked about at these as if they were created now: completed,
    or refused. So are the pods that a workload will make.
    """
    from injector.cli.documents import read_manifests, write_manifests
    from injector.cli.injection_sources import gather, warn_of
    from injector.cli.manifest_injector import Injector
    from injector.cli.manifest_objects import edit, namespaces_in, objects_in

    sources = gather(source_options, only=templates)
    warn_of(sources, [one.located for one in sources.snapshot.warnings] if sources.settings.paths else ())
    documents = read_manifests(files)
    objects = list(objects_in(documents))
    namespaces = namespaces_in(objects, sources.settings, namespace_options)
    explicit = namespace_options.namespace is not None
    injector = Injector(sources, templates, namespaces, explicit=explicit, objects=objects, user=user)
    edited = edit(documents, injector.change)
    injector.report.tell_written(edited)
    injector.report.show(form)
    if injector.report.failed:
        return 1
    write_manifests(edited)
    return 0
