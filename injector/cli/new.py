"""`injector new`: a folder with a template that works, for its author to change."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from injector.cli.options import FOLDER, flag, option, with_options
from injector.errors import DocumentError
from injector.loading.template_folders import find_gallery, gallery_path
from injector.names import flow_value, is_dns_label, legal_name, shortened

#: The names of the templates that come with the injector.
GALLERY = list(find_gallery(gallery_path()))
#: The shapes that a template can start from, each an option and a folder of the scaffold.
SHAPES = {
    "minimal": "The least: one container.",
    "init": "An init container that prepares a folder for the app.",
    "agent": "An agent that reads what the app writes into a shared folder, with a token from a Secret.",
    "proxy": "A reverse proxy in front of the app.",
    "policy": "A policy for services; with --for, for another resource.",
}


@click.command(epilog=f"The gallery: {', '.join(GALLERY)}.")
@click.argument("name")
@option("--from original", "TEMPLATE", "A template to copy: a folder, or a name of the gallery.")
@option("--for resource", "RESOURCE", "Make a policy for this resource, such as services or gateways.example.com.")
@with_options(*(flag(f"--{shape}", text) for shape, text in SHAPES.items()))
@option("--image", "IMAGE", "The sidecar's image; the default of the template's one image parameter.")
@option("--dir parent", "DIR", "Where the folder is made. Default: here.", default=".", type=FOLDER)
def new(name: str, original: str | None, resource: str | None, image: str | None, parent: Path, **shapes: Any) -> int:
    """Create a template: make the folder NAME with everything that a sidecar needs.

    Without an option, the template is a small web server with one config file; an option such as --proxy names another
    shape to start from. Change the template into what you need. It has no lint findings, and tests/first.yaml contains
    its first cases. Editors that support JSON Schema can check its YAML files, offline.

    With --policy or --for, the template is a policy for objects of a resource. To use the policy, list it at a path in
    the settings.

    \b
    injector new hello
    injector new cache --minimal --image redis:8.2
    injector new owners --for services
    injector new edge --from nginx --dir ./templates
    """
    from injector.authoring import scaffold
    from injector.authoring.output_files import refuse_taken, write_folder
    from injector.cli.injection_sources import template_folder

    check_name(name)
    if flow_value(name) != name:
        raise click.UsageError(f"{name} without quotes is no text in YAML; choose another name, such as {name}-sidecar")
    shape = _shape([shape for shape, is_chosen in shapes.items() if is_chosen], original, resource)
    try:
        to = None if resource is None else scaffold.target(resource)
        source = scaffold.SHAPES / shape if original is None else template_folder(original)
    except ValueError as error:
        raise click.UsageError(f"--for {shortened(resource)}: {error}") from None
    except DocumentError as error:
        raise click.UsageError(f"--from {original}: {error}") from None
    folder = parent / name
    refuse_taken(folder, "choose another name, or another --dir")
    try:
        files = scaffold.scaffold(name, source, to, image)
    except ValueError as error:
        raise click.UsageError(f"--image {shortened(image)}: {error}") from None
    write_folder(folder, files)
    scaffold.write_goldens(folder)
    _report(folder, [file for file in files if not file.startswith(".")], for_pods=shape != "policy")
    if name in GALLERY:
        click.echo(f"The gallery also has a template {name}. Yours takes precedence.")
    return 0


def _shape(chosen: list[str], original: str | None, resource: str | None) -> str:
    """The one shape that the options ask for. Raises click.UsageError for two ways to start at once."""
    sources = {"from": original is not None, "for": resource is not None and chosen != ["policy"]}
    options = [*chosen, *(name for name, is_used in sources.items() if is_used)]
    if len(options) > 1:
        ways = " or ".join(f"--{name}" for name in options)
        raise click.UsageError(f"Use only one of {ways}: each is a template to start from.")
    return "policy" if resource is not None else next(iter(chosen), "starter")


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
        purpose = "what it adds to a pod; --watch shows it while you write, as `injector workbench` does in the browser"
        steps = {f"injector render {folder}": purpose, **steps}
    else:
        steps[f"injector docs {folder}"] = "how to list it at a path in the settings"
    width = max(map(len, steps))
    click.echo("Next:")
    for command, purpose in steps.items():
        click.echo(f"  {command:{width}}   {purpose}")
