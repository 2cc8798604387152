"""`injector check-manifests`: what the policies of a cluster say about manifests, before anybody applies them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from injector.cli.inputs import with_files
from injector.cli.options import (
    CLUSTER_OPTIONS,
    NAMESPACE_OPTIONS,
    OUTPUT_OPTION,
    SOURCE_OPTIONS,
    STRICT_OPTION,
    CommonOptions,
    as_one,
    with_options,
    with_user,
)
from injector.diagnostics import Diagnostic, Place

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from injector.cli.documents import Document
    from injector.cli.report import Line


@click.command("check-manifests")
@with_files()
@with_options(*SOURCE_OPTIONS, *NAMESPACE_OPTIONS, *CLUSTER_OPTIONS)
@with_user
@STRICT_OPTION
@OUTPUT_OPTION
@as_one(CommonOptions)
def check_manifests(files: tuple[str, ...], options: CommonOptions, strict: bool, output: str) -> int:
    """Say which objects the policies under `paths` in the settings refuse, and change nothing.

    FILE is a file, a folder, a URL, or - for standard input; YAML or JSON. Each object is checked as if it were created
    now, and so are the pods that a workload will create. No sidecar is added. Exits with 1 if an object is refused.

    \b
    injector check-manifests --settings settings.yaml deploy/
    injector check-manifests --settings settings.yaml --output sarif deploy/ > policies.sarif
    """
    from injector.cli.documents import read_manifests
    from injector.cli.from_cluster import sources_and_namespaces
    from injector.cli.injection_sources import warn_of
    from injector.cli.lint import written_problems
    from injector.cli.manifest_injector import Injector
    from injector.cli.manifest_objects import edit, objects_in

    documents = read_manifests(files)
    objects = list(objects_in(documents))
    sources, namespaces = sources_and_namespaces(options, objects)
    if not sources.settings.paths:
        raise click.UsageError(
            "The settings have no `paths`, so there are no policies. Give --settings FILE or --from-cluster."
        )
    warned = warn_of([*sources.warnings, *(warning.located for warning in sources.snapshot.warnings)])
    injector = Injector(sources, None, namespaces, documents=documents, user=options.user, sidecars=False)
    for _ in edit(documents, injector.change):
        pass  # the report alone counts
    report = injector.report
    report.writes, report.sources, report.strict, report.warned = False, sources.origin, strict, warned
    if output == "text":
        report.show("text")
    else:
        places = {document.place: document for document in documents}
        problems = [problem for line in report.lines for problem in _problems(line, places)]
        click.echo(written_problems(problems, files, output, "injector check-manifests", {}), nl=False)
    return int(report.failed)


def _problems(line: Line, documents: Mapping[str, Document]) -> Iterator[Diagnostic]:
    """What a line of the report says that somebody should change."""
    document = documents[line.place]
    place = Place(document.source, line.line or document.line)
    subject = f"{line.object}, {line.about}" if line.about else line.object
    if line.bad:
        yield Diagnostic(line.reason, "error", f"{subject}: {line.message}", place=place)
    for warning in line.warnings:
        yield Diagnostic(line.reason or line.outcome, "warning", f"{subject}: {warning}", place=place)
