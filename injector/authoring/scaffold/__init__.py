"""A new template's files: those of a template that is there, under another name, with help for editors."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path

from injector.authoring.cases.suite import TESTS
from injector.authoring.reference import BEGIN, with_section
from injector.authoring.scaffold.renaming import LongNameError, renamed
from injector.authoring.scaffold.targets import POLICY, Target, retargeted
from injector.authoring.schemas import schema_of
from injector.errors import InjectorError
from injector.loading.template_folders import gallery_path, read_folder
from injector.templates.load import load_template
from injector.templates.template import MANIFEST

#: The template that a new one starts from when nobody says which: small, plain, and complete.
STARTER = Path(__file__).parent / "starter"

#: What tells a file of cases from the manifests and golden files beside it.
_CASES = re.compile(r"^cases:", re.MULTILINE)
_SCHEMA_LINE = re.compile(r"\A# yaml-language-server: [^\n]*\n")


class ScaffoldError(InjectorError):
    """No template can be started so: the name is none, or what it is to be made from cannot be copied."""


def scaffold(name: str, original: Path, to: Target | None = None) -> dict[str, str]:
    """The files of a new template by their path within its folder: a copy of another's under this name.

    With `to` it is the starter of policies, for that resource.

    Raises ScaffoldError where the name is too long for what is in the template and where a link leads out of it,
    TemplateError where the copy does not load.
    """
    cases = original / TESTS
    _refuse_links_out(original, (original, cases))
    files = read_folder(original)
    if cases.is_dir():
        files |= {f"{TESTS}/{file}": text for file, text in read_folder(cases).items()}
    try:
        files = renamed(files, original.resolve().name, name)
    except LongNameError as error:
        raise ScaffoldError(str(error)) from None
    if to is not None:
        files = retargeted(files, to)
    for path, text in files.items():
        if path == MANIFEST:
            files[path] = _with_schema(text, ".schemas/template.json")
        elif path.startswith(f"{TESTS}/") and _CASES.search(text):
            files[path] = _with_schema(text, "../.schemas/case.json")
    template = load_template(name, {path: text for path, text in files.items() if "/" not in path})
    if BEGIN in files.get("README.md", ""):
        files["README.md"] = with_section(files["README.md"], template)
    for kind in ("template", "case"):
        files[f".schemas/{kind}.json"] = json.dumps(schema_of(kind), indent=2, ensure_ascii=False) + "\n"
    return files


def _refuse_links_out(original: Path, folders: Iterable[Path]) -> None:
    """Refuse a template of somebody whose links lead elsewhere: what they point to is none of the template.

    Not one that comes with the injector: some installers make links of all its files. Raises ScaffoldError.
    """
    home = original.resolve()
    if original in (STARTER, POLICY) or home.parent == gallery_path().resolve():
        return
    for folder in folders:
        for file in (folder, *(sorted(folder.iterdir()) if folder.is_dir() else ())):
            try:
                within = file.resolve().is_relative_to(home)
            except RuntimeError:  # links in a circle
                within = False
            if not within:
                raise ScaffoldError(
                    f"{file} is a link that leads out of the template's folder; copy the file there first"
                )


def _with_schema(text: str, path: str) -> str:
    """A YAML file with the line at its top by which editors find its schema."""
    return f"# yaml-language-server: $schema={path}\n{_SCHEMA_LINE.sub('', text)}"
