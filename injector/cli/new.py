"""`injector new`: a folder with a template that works, for its author to change."""

from __future__ import annotations

from pathlib import Path

import click

from injector.cli.options import FOLDER, option
from injector.errors import DocumentError
from injector.loading.template_folders import find_gallery, gallery_path
from injector.names import is_dns_label, legal_name, shortened

#: The names of the templates that come with the injector.
GALLERY = list(find_gallery(gallery_path()))


@click.command(epilog=f"The gallery: {', '.join(GALLERY)}.")
@click.argument("name")
@option("--from original", "TEMPLATE", "A template to copy: a folder, or a name of the gallery.")
@option("--for resource", "RESOURCE", "Make a policy for this resource, such as services or gateways.example.com.")
@option("--dir parent", "DIR", "Where the folder is made. Default: here.", default=".", type=FOLDER)
def new(name: str, original: str | None, resource: str | None, parent: Path) -> int:
    """Create a template: make the folder NAME with everything that a sidecar needs.

    Without --from and --for, the template is a small web server with one config file. Change the template into what you
    need. It has no lint findings, and tests/first.yaml contains its first cases. Editors that support JSON Schema can
    check its YAML files, offline.

    With --for, the template is a policy for objects of that resource. To use the policy, list it at a path in the
    settings.

    \b
    injector new hello
    injector new owners --for services
    injector new edge --from nginx --dir ./templates
    """
    from injector.authoring.scaffold import POLICY, STARTER, scaffold, target, write_goldens
    from injector.cli.injection_sources import template_folder
    from injector.cli.output_files import refuse_taken, write_folder

    check_name(name)
    if resource is not None and original is not None:
        raise click.UsageError("Use either --for or --from: --for starts from a built-in policy.")
    try:
        to = None if resource is None else target(resource)
        source = (STARTER if to is None else POLICY) if original is None else template_folder(original)
    except ValueError as error:
        raise click.UsageError(f"--for {shortened(resource)}: {error}") from None
    except DocumentError as error:
        raise click.UsageError(f"--from {original}: {error}") from None
    folder = parent / name
    refuse_taken(folder, "choose another name, or another --dir")
    files = scaffold(name, source, to)
    write_folder(folder, files)
    write_goldens(folder)
    _report(folder, [file for file in files if not file.startswith(".")], for_pods=to is None)
    if name in GALLERY:
        click.echo(f"The gallery also has a template {name}. Yours takes precedence.")
    return 0


def check_name(name: str) -> None:
    """Raise click.UsageError for what is not a name of a template, with the nearest that is."""
    if not is_dns_label(name):
        near = legal_name(name)
        raise click.UsageError(
            f"{shortened(name)} is not a name of a template: up to 63 characters of a-z, 0-9 and -, "
            "without a - at the beginning or the end" + (f"; write {near}" if near else "")
        )


def _report(folder: Path, files: list[str], *, for_pods: bool) -> None:
    """What was made, and what to do now."""
    click.echo(f"Made {folder}: {', '.join(sorted(files))}.")
    steps = {
        f"injector lint {folder}": "mistakes in the template",
        f"injector test {folder}": "its cases, in tests/",
    }
    if for_pods:
        steps = {f"injector render {folder}": "what it adds to a pod; --watch shows it while you write", **steps}
    else:
        steps[f"injector docs {folder}"] = "how to list it at a path in the settings"
    width = max(map(len, steps))
    click.echo("Next:")
    for command, purpose in steps.items():
        click.echo(f"  {command:{width}}   {purpose}")
