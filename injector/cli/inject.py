"""`injector inject`: manifests in, the same manifests with sidecars out, and as the settings' `paths` have them."""

from __future__ import annotations

import click

from injector.cli.inputs import with_files
from injector.cli.options import (
    CLUSTER_OPTIONS,
    NAMES_OPTION,
    NAMESPACE_OPTIONS,
    REPORT_OPTION,
    SOURCE_OPTIONS,
    STRICT_OPTION,
    CommonOptions,
    as_one,
    flag,
    with_options,
    with_user,
)
from injector.cli.results import RESULT_OPTIONS, Result, ResultOptions


@click.command()
@with_files()
@NAMES_OPTION
@with_options(*SOURCE_OPTIONS, *NAMESPACE_OPTIONS, *CLUSTER_OPTIONS)
@with_user
@flag("--reinject", "Remove what an earlier injection added, and inject again.")
@flag("--policies-only", "Put no sidecars in; only apply the templates under the settings' `paths`.")
@with_options(*RESULT_OPTIONS)
@STRICT_OPTION
@REPORT_OPTION
@as_one(CommonOptions)
@as_one(ResultOptions, "to")
def inject(
    files: tuple[str, ...],
    options: CommonOptions,
    reinject: bool,
    policies_only: bool,
    to: ResultOptions,
    strict: bool,
    form: str,
) -> int:
    """Put sidecars into the pods of manifests.

    FILE is a file, a folder, a URL, or - for standard input; YAML or JSON. Each object with a pod is injected: Pod,
    Deployment, StatefulSet, DaemonSet, ReplicaSet, Job, CronJob, and any other kind that has its pod template where
    these have it. The report names resources that run containers by other fields: the webhook injects their pods. The
    manifests go to standard output, and the report to standard error. If an object is refused, nothing is written.

    Without --from-cluster, the default settings and the gallery count unless options say otherwise, and a namespace
    counts as enabled unless its Namespace object in the input, or --namespace-label, says otherwise.

    If the settings have `paths` (URL paths of more webhooks), the templates listed there change or refuse objects of
    every kind, as if the objects were created now. The same happens to the pods that a workload will create.

    For manifests in Git, --in-place writes the files, and --check fails if a file would change. If a comment cannot be
    kept, the report names its line, and --in-place writes nothing.

    \b
    injector inject --in-place deploy/
    injector inject --check --diff deploy/
    """
    from injector.cli.documents import empty_inputs, read_manifests
    from injector.cli.from_cluster import sources_and_namespaces
    from injector.cli.injection_sources import warn_of
    from injector.cli.manifest_injector import Injector
    from injector.cli.manifest_objects import edit, objects_in
    from injector.cli.report import progress_bar

    documents = read_manifests(files)
    result = Result(to, documents, files)
    objects = list(objects_in(documents))
    sources, namespaces = sources_and_namespaces(options, objects)
    of_snapshot = (warning.located for warning in sources.snapshot.warnings)
    warned = warn_of([*sources.warnings, *of_snapshot, *namespaces.mistaken_option()])
    injector = Injector(
        sources,
        options.templates,
        namespaces,
        documents=documents,
        user=options.user,
        sidecars=not policies_only,
        reinject=reinject,
    )
    injector.report.sources, injector.report.strict, injector.report.warned = sources.origin, strict, warned
    injector.report.in_place = to.in_place
    with progress_bar(documents) as bar:
        result.take(injector.report.following(edit(bar, injector.change)))
    injector.report.warnings += empty_inputs(documents)
    if not injector.report.failed:  # of what failed nobody knows which templates it gets
        injector.report.warnings += sources.idle_parameters(n for line in injector.report.lines for n in line.templates)
    return result.finish(injector.report, form)
