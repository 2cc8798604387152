"""`injector import`: templates out of the sidecar configs of other injectors."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import click

from injector.cli.inputs import read_inputs, with_files
from injector.cli.options import FOLDER, flag, option


@click.command(name="import")
@with_files()
@option(
    "--output parent",
    "DIR",
    "The folder in which the template folders are created. Default: the current folder.",
    default=".",
    type=FOLDER,
)
@option("--name", "NAME", "Name of the template. Only for an input with exactly one config.", default="")
@flag("--overwrite", "Replace template folders that already exist.")
def import_(files: tuple[str, ...], parent: Path, name: str, overwrite: bool) -> int:
    """Make templates from the sidecar configs of other injectors.

    FILE is a file, a folder, a URL, or - for standard input. It contains a config (containers, volumes and so on), a
    ConfigMap with configs under any keys, or a List or a stream of these. If a config mounts a ConfigMap that is in
    the input too, the ConfigMap's data becomes the template's config files.

    Each config becomes a folder with a template and a test that passes. The command reports what it cannot convert,
    with its place. If there is an error, it writes nothing.

    \b
    injector import sidecarconfig.yaml
    kubectl get configmaps -l app=k8s-sidecar-injector -o yaml | injector import - --output sidecars
    """
    from injector.authoring.diagnostic_formats import diagnostics_text
    from injector.authoring.importing.folder import settings_for
    from injector.authoring.importing.imports import import_configs
    from injector.authoring.output_files import ScaffoldError, refuse_taken, write_folder
    from injector.cli.new import GALLERY, check_name

    if name:
        check_name(name)
    result = import_configs([(source.name, source.data) for source in read_inputs(files, sys.stdin.buffer)], name)
    if result.problems:
        click.echo(diagnostics_text(result.problems).rstrip("\n"), err=True)
    if not result.templates:
        return 1
    for template in result.templates:
        refuse_taken(parent / template.name, "choose another --output, or --overwrite it", overwrite=overwrite)
    folders_made: list[Path] = []
    for template in result.templates:
        folder = parent / template.name
        was_there = folder.exists()
        try:
            write_folder(folder, template.files)
        except ScaffoldError:  # all folders, or none that was not there before
            for folder_made in folders_made:
                shutil.rmtree(folder_made, ignore_errors=True)
            raise
        if not was_there:
            folders_made.append(folder)
    for template in result.templates:
        click.echo(f"Made {parent / template.name}: {', '.join(sorted(template.files))}.")
        if template.name in GALLERY:
            click.echo(f"The gallery also has a template {template.name}. Yours takes precedence.")
    click.echo(
        "\nTo keep using your labels and annotations, use these settings (docs/settings.md). Replace the names in them "
        "with the names that your pods and namespaces use:\n"
    )
    click.echo(settings_for(result.templates), nl=False)
    alone = len(result.templates) == 1
    folder = parent / result.templates[0].name if alone else parent
    click.echo(f"\nNext: injector test {folder}, injector render {folder if alone else parent / 'NAME'}")
    return 0
