"""`injector render`: what a template makes of a pod, before anything is merged, or as a difference to the manifest."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click

from injector.cli.options import NamespaceOptions, SourceOptions, with_namespace_options, with_source_options
from injector.cli.preview import Preview, Wanted, coloured, preview, read_pod
from injector.cli.problems import words_of
from injector.cli.sources import template_folder
from injector.cli.watch import watch as watch_files
from injector.errors import InjectorError
from injector.webhook.sources import files_of

_SAME = "No difference: the pod has all of it already, or there is nothing to add."


@click.command()
@click.argument("template")
@click.option("-f", "--pod", "pod", metavar="FILE", help="Manifest with a pod, or -. Default: a Deployment, port 8080.")
@click.option("--diff", is_flag=True, help="The manifest before and after instead, with the ConfigMap it needs.")
@click.option("--file", metavar="NAME", help="Only this config file, as the sidecar reads it.")
@click.option("--watch", is_flag=True, help="Show it again whenever the template, the pod or the settings change.")
@click.option("--output", "form", type=click.Choice(["text", "json"]), default="text", help="Form of the output.")
@with_source_options
@with_namespace_options
def render(
    template: str,
    pod: str | None,
    diff: bool,
    file: str | None,
    watch: bool,
    form: str,
    source_options: SourceOptions,
    namespace_options: NamespaceOptions,
) -> int:
    """Show what TEMPLATE makes of a pod.

    Prints the overlay and then each config file, every one under a comment that names it. TEMPLATE is a folder, or else
    the name of one in the gallery or in --templates-dir. --param needs no template's name here: --param app-port=8080.

    \b
    injector render mine --watch               a preview while you write
    injector render mine -f web.yaml --diff    what becomes of your manifest
    injector render nginx --file nginx.conf    one config file
    """
    if diff + (file is not None) + (form == "json") > 1:
        raise click.UsageError("--diff, --file and --output json exclude one another.")
    wanted = Wanted(
        template=template,
        pod=pod,
        source_options=source_options,
        namespace_options=namespace_options,
        diff=diff,
        file=file,
        json=form == "json",
    )
    if watch:
        return _watch(wanted)
    made = preview(wanted)
    for line in _warnings(made):
        click.echo(line, err=True)
    click.echo(_shown(made, wanted), nl=False)
    if diff and not made.text:
        click.echo(_SAME, err=True)
    return 0


def _watch(wanted: Wanted) -> int:
    # Standard input is read once, before it is watched for nothing.
    documents = read_pod("-") if wanted.pod == "-" else None
    options = wanted.source_options

    def files() -> Iterator[Path]:
        try:
            yield from files_of(template_folder(wanted.template, options.templates_dirs))
        except (InjectorError, OSError, ValueError):
            yield Path(wanted.template)  # gone for a moment, or not there yet
        yield from (Path(file) for file in (wanted.pod, options.settings_file) if file is not None and file != "-")

    def draw() -> str:
        try:
            made = preview(wanted, documents)
        except (InjectorError, click.ClickException) as error:
            return words_of(error) + "\n"
        return "".join(f"{line}\n" for line in _warnings(made)) + (_shown(made, wanted) or f"{_SAME}\n")

    return watch_files(files, draw, wanted.template)


def _shown(made: Preview, wanted: Wanted) -> str:
    return coloured(made.text) if wanted.diff else made.text


def _warnings(made: Preview) -> list[str]:
    return [f"{click.style('warning', fg='yellow')}: {warning}" for warning in made.warnings]
