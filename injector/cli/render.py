"""`injector render`: what a template makes of a pod, before anything is merged, or as a difference to the manifest.

For a template that is for a path: what it makes of an object of any kind.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from injector.cli.options import (
    NAMESPACE_OPTIONS,
    SOURCE_OPTIONS,
    PreviewOptions,
    as_one,
    flag,
    one_of,
    option,
    with_options,
    with_user,
)
from injector.diagnostics import printable
from injector.errors import InjectorError

if TYPE_CHECKING:
    from injector.cli.documents import Document

_OPERATIONS = ("CREATE", "UPDATE", "DELETE", "CONNECT")
_SAME = "No difference: the manifest already has everything that the template adds, or the template adds nothing."


@click.command()
@click.argument("template")
@click.argument("manifest", metavar="[FILE]", required=False)
@option(
    "-f --pod pod",
    "FILE",
    "Manifest with a pod, or with an object that the template is for; - for standard input. Default: a sample object.",
)
@flag("--diff", "Show a diff of the manifest instead, and the ConfigMap that the template generates.")
@option("--file", "NAME", "Only this config file, as the sidecar reads it.")
@flag("--watch", "Show the result again whenever the template, the manifest or the settings change.")
@one_of("--output form", "text json", "Output format.")
@option(
    "--operation",
    "",
    "Only for a template under `paths:` in the settings: the operation of the request. Default: the template's "
    "first operation.",
    type=click.Choice(_OPERATIONS),
)
@option("--old", "FILE", "Only for a template under `paths:` in the settings: manifest of the object before an UPDATE.")
@with_user
@with_options(*SOURCE_OPTIONS, *NAMESPACE_OPTIONS)
@as_one(PreviewOptions)
def render(options: PreviewOptions, manifest: str | None, watch: bool) -> int:
    """Show how TEMPLATE changes a pod, or another object that the template is for.

    Prints the overlay and then each config file, with a comment that names it. TEMPLATE is a folder, or the name of a
    template in the gallery or in --templates-dir. With --param you can leave out the template's name: --param
    cpu-limit=500m.

    FILE, or --pod FILE, contains one object with a pod. For a template at a path, it contains one object that the
    template is for. Without FILE, the command uses a minimal sample; without --user, the user's name is sample.

    \b
    injector render mine --watch               show a preview while you write
    injector render mine -f web.yaml --diff    show the changes to your manifest
    injector render nginx --file nginx.conf    show one config file
    injector render no-balancers web.yaml --operation UPDATE --old before.yaml
    """
    if manifest is not None and options.pod is not None:
        raise click.UsageError("Either FILE or --pod FILE, not both.")
    if options.diff + (options.file is not None) + (options.form == "json") > 1:
        raise click.UsageError("--diff, --file and --output json exclude one another.")
    if manifest is not None:
        options = replace(options, pod=manifest)
    if watch:
        return _watch(options)
    remarks, text = _preview(options)
    click.echo(remarks, err=True, nl=False)
    click.echo(text, nl=False)
    return 0


def _preview(options: PreviewOptions, documents: list[Document] | None = None) -> tuple[str, str]:
    """What there is to say beside a preview, in lines, and its text; a difference in the colours of git."""
    from injector.cli.injection_sources import gather_one
    from injector.cli.preview import preview
    from injector.cli.report import coloured

    text, warnings = preview(options, gather_one(options.template, options), documents)
    remarks = "".join(f"{click.style('warning', fg='yellow')}: {printable(warning)}\n" for warning in warnings)
    if not options.diff:
        return remarks, text
    return remarks + f"{_SAME}\n" * (not text), coloured(text)


def _watch(options: PreviewOptions) -> int:
    from injector.authoring.diagnostic_formats import error_text
    from injector.cli.documents import read_manifests
    from injector.cli.injection_sources import template_folder
    from injector.cli.watch import watch as watch_files
    from injector.loading.template_folders import files_of

    # Standard input is read once, before it is watched for nothing.
    documents = read_manifests(["-"]) if options.pod == "-" else None

    def files() -> Iterator[Path]:
        try:
            yield from files_of(template_folder(options.template, options.templates_dirs))
        except (InjectorError, OSError, ValueError):
            yield Path(options.template)  # gone for a moment, or not there yet
        inputs = (options.pod, options.old, options.settings_file)
        yield from (Path(file) for file in inputs if file is not None and file != "-")

    def draw() -> str:
        try:
            return "".join(_preview(options, documents))
        except (InjectorError, click.ClickException) as error:
            return error_text(error) + "\n"

    return watch_files(files, draw, options.template)
