"""`injector inject`: manifests in, the same manifests with sidecars out, and as the settings' `paths` have them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

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

if TYPE_CHECKING:
    from collections.abc import Sequence


@click.command()
@with_files()
@NAMES_OPTION
@with_options(*SOURCE_OPTIONS, *NAMESPACE_OPTIONS, *CLUSTER_OPTIONS)
@with_user
@flag("--reinject", "Remove what an earlier injection added, and inject again.")
@flag("--policies-only", "Put no sidecars in; only apply the templates under the settings' `paths`.")
@flag("--in-place", "Write the result back to each FILE, and nothing to standard output.")
@flag("--diff", "Print what would change in each FILE, and write nothing.")
@flag("--check", "Write nothing; exit with 1 where a FILE would change.")
@flag("--summary", "Only report what each object gets and why; write no manifests.")
@STRICT_OPTION
@REPORT_OPTION
@as_one(CommonOptions)
def inject(
    files: tuple[str, ...],
    options: CommonOptions,
    reinject: bool,
    policies_only: bool,
    in_place: bool,
    diff: bool,
    check: bool,
    summary: bool,
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
    from injector.cli.documents import (
        document_stream,
        empty_inputs,
        read_manifests,
        spooled,
        texts_by_source,
        write_manifests,
    )
    from injector.cli.from_cluster import sources_and_namespaces
    from injector.cli.injection_sources import warn_of
    from injector.cli.manifest_injector import Injector
    from injector.cli.manifest_objects import edit, objects_in
    from injector.cli.report import progress_bar

    previews = any((diff, check, summary))
    if in_place and previews:
        raise click.UsageError(
            "--in-place writes files, but --diff, --check and --summary write none. Leave --in-place out, or use it "
            "alone."
        )
    documents = read_manifests(files)
    streams = [document.source for document in documents if not Path(document.source).is_file()]
    if in_place and streams:
        raise click.UsageError(f"--in-place writes files, and {streams[0]} is not a file.")
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
    injector.report.in_place = in_place
    to_files = in_place or previews
    as_json = all(document.json for document in documents)
    with progress_bar(documents) as bar:
        edited = injector.report.following(edit(bar, injector.change))
        output = texts_by_source(edited) if to_files else spooled(document_stream(edited, as_json=as_json))
    injector.report.warnings += empty_inputs(documents)
    if not injector.report.failed:  # of what failed nobody knows which templates it gets
        injector.report.warnings += sources.idle_parameters(n for line in injector.report.lines for n in line.templates)
    failed = injector.report.failed
    if isinstance(output, dict):
        before = texts_by_source(documents)
        if in_place and not failed:
            _write(before, output, files)
        injector.report.show(form, summary=summary)
        return 1 if failed else _compare(before, output, diff=diff, check=check)
    injector.report.show(form)
    if failed:
        return 1
    write_manifests(output)
    return 0


def _write(before: dict[str, str], after: dict[str, str], files: Sequence[str]) -> None:
    """Write the inputs that differ, all or none. `files` are the arguments of the command.

    Raises DocumentError, also for a link that leads out of its folder.
    """
    from injector.authoring.output_files import write_files
    from injector.errors import DocumentError

    folders = [Path(file) for file in files if Path(file).is_dir()]
    changed = {}
    for name in (name for name in before if after[name] != before[name]):
        file = Path(name).resolve()
        of = [folder for folder in folders if Path(name).is_relative_to(folder)]
        if of and not any(file.is_relative_to(folder.resolve()) for folder in of):
            reason = f"{name} is a link to {file}, outside of {of[0]}; nothing was written"
            raise DocumentError(f"{reason}. To change that file, name it")
        changed[file] = (after[name].encode(), file.stat().st_mode & 0o777)
    try:
        write_files(changed)
    except OSError as error:
        raise DocumentError(f"{error.filename}: {error.strerror}; nothing was written") from None


def _compare(before: dict[str, str], after: dict[str, str], *, diff: bool, check: bool) -> int:
    """Show or tell of the inputs that differ; the exit code."""
    from injector.cli.report import file_difference, show_difference

    changed = [name for name in before if after[name] != before[name]]
    for name in changed:
        if diff:
            show_difference(file_difference(before[name], after[name], name))
        if check:
            click.echo(f"{name} would change: run injector inject --in-place", err=True)
    return int(check and bool(changed))
