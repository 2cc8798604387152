"""`injector docs`: the reference of templates in Markdown, and the JSON Schemas of what people write."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from injector.cli.options import NEW_FILE, TEMPLATE_OPTIONS, CommonOptions, as_one, option, with_options
from injector.errors import DocumentError

if TYPE_CHECKING:
    from injector.settings import Settings
    from injector.templates.template import Template

#: What there are schemas of (`SCHEMAS`).
KINDS = ("template", "case", "settings")


@click.command()
@click.argument("names", nargs=-1, metavar="[TEMPLATE]...")
@option("--write", "FILE", "Write the reference into the marked section of this README.", type=NEW_FILE)
@option("--check", "FILE", "Fail if the marked section of this README is out of date.", type=NEW_FILE)
@option("--schema", "", "Print the JSON Schema of this kind of file, for editors.", type=click.Choice(KINDS))
@with_options(*TEMPLATE_OPTIONS)
@as_one(CommonOptions)
def docs(
    options: CommonOptions, names: tuple[str, ...], write: Path | None, check: Path | None, schema: str | None
) -> int:
    """Write the reference of a template in Markdown: parameters, config files, what it is for and what it adds.

    TEMPLATE is a folder, or the name of a template in the gallery or in --templates-dir. In a README, the reference is
    between the lines <!-- injector docs: begin --> and <!-- injector docs: end -->.

    \b
    injector docs mine --write mine/README.md
    injector docs --schema template > template.schema.json
    """
    from injector.authoring.reference import reference
    from injector.authoring.schemas import schema_of
    from injector.cli.injection_sources import load_one, load_settings

    if schema is not None:
        if names or write or check:
            raise click.UsageError("--schema takes no template; give it alone.")
        click.echo(json.dumps(schema_of(schema), indent=2, ensure_ascii=False))
        return 0
    if not names:
        raise click.UsageError("Name a template, or a --schema.")
    if (write or check) and (len(names) > 1 or (write and check)):
        raise click.UsageError("One template and one README at a time: --write FILE or --check FILE.")
    settings = load_settings(options.settings_file)
    loaded = [load_one(name, options.templates_dirs) for name in names]
    readme = write or check
    if readme is None:
        click.echo("\n".join(reference(template, settings) for template in loaded), nl=False)
        return 0
    _update(readme, loaded[0], settings, names[0], write=write is not None)
    return 0


def _update(file: Path, template: Template, settings: Settings, called: str, *, write: bool) -> None:
    """Write the reference into a README, and say so; or without `write` raise DocumentError if it is out of date."""
    from injector.authoring.output_files import write_within
    from injector.authoring.reference import BEGIN, END, SectionError, with_section

    try:
        with file.open(encoding="utf-8", newline="") as stream:
            before = stream.read()
        after = with_section(before, template, settings)
        if after != before and write:
            write_within(file.parent, {file.name: after.encode()})
    except FileNotFoundError as error:
        to_do = f"make it, with these two lines where the reference is to stand:\n{BEGIN}\n{END}"
        raise DocumentError(f"{file}: {error.strerror}; {to_do}") from None
    except OSError as error:
        raise DocumentError(f"{file}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise DocumentError(f"{file}: is not UTF-8 text") from None
    except SectionError as error:
        raise DocumentError(f"{file}: {error}", error.diagnostic) from None
    if write:
        click.echo(f"{file}: {'is up to date' if after == before else 'written'}", err=True)
    elif after != before:
        to_do = f"update it: injector docs {called} --write {file}"
        raise DocumentError(f"{file}: is out of date with {template.name}; {to_do}")
