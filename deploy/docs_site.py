"""What MkDocs has to know of this repository to make the documentation site: hooks that mkdocs.yml names.

Pages outside docs/ become pages of the site: those of `_OUTSIDE`, and the README of each template of the gallery. A
link to one of them leads there, and a link to any other file of the repository leads to a copy of it. So links that
work in the repository work on the site. `folder/*` in the navigation stands for every page of a folder that the
navigation does not name.
https://www.mkdocs.org/dev-guide/plugins/#events
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parent.parent
_DOCS = ROOT / "docs"
_OUTSIDE = ("CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")
#: Pages that a search finds last: they use the words of all others.
_LAST = ("benchmark", "coming-from/", "decisions/", "good-practices", "lint/", "node")
#: What a link to a folder leads to, the first that is there.
_OF_FOLDER = ("README.md", "template.yaml")
#: Code, where nothing is a link, or a link's target.
_LINK = re.compile(r"^( *```).*?^ *```|(?<!`)`[^`\n]+`|\]\((?P<target>[^)\s]+)\)", re.MULTILINE | re.DOTALL)


def pages() -> dict[str, Path]:
    """Every page by its place on the site: the file that it is made of."""
    found = {file.relative_to(_DOCS).as_posix(): file for file in sorted(_DOCS.rglob("*.md"))}
    found |= {name: ROOT / name for name in _OUTSIDE}
    # The site begins as the repository does; the list of pages, which greets readers of docs/, is a page of its own.
    found |= {"README.md": ROOT / "README.md", "all-pages.md": _DOCS / "README.md"}
    return found | {f"gallery/{file.parent.name}.md": file for file in sorted(ROOT.glob("templates/*/README.md"))}


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Put the pages of a folder where the navigation has `folder/*`."""
    config["nav"] = _expanded(config["nav"], _named(config["nav"]))
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages from outside docs/, and every file that a page links to and that is no page."""
    found = pages()
    for name, file in found.items():
        there = files.get_file_from_path(name)
        if there is not None and there.abs_src_path != str(file):
            files.remove(there)
            there = None
        if there is None:
            files.append(File.generated(config, name, abs_src_path=str(file)))
    known = set(found.values())
    for file in found.values():
        for link in _LINK.finditer(file.read_text()):
            target = _file_of(link["target"], file)
            if target is not None and target.is_file() and target not in known and not target.is_relative_to(_DOCS):
                known.add(target)
                files.append(File.generated(config, _copy(target), abs_src_path=str(target)))
    return files


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    """Make each link lead to the place on the site that has the link's target in the repository."""
    if page.file.src_uri.startswith(_LAST):
        page.meta["search"] = {
            "boost": 0.1
        }  # https://squidfunk.github.io/mkdocs-material/setup/setting-up-site-search/
    found = pages()
    source, here = found[page.file.src_uri], Path(page.file.src_uri).parent
    places = {file: name for name, file in found.items()}

    def led(link: re.Match[str]) -> str:
        target = _file_of(link["target"], source)
        if target is None:
            return link[0]
        place = places.get(target)
        if place is None:
            place = target.relative_to(_DOCS).as_posix() if target.is_relative_to(_DOCS) else _copy(target)
        anchor = link["target"].partition("#")[2]
        return f"]({os.path.relpath(place, here)}{'#' if anchor else ''}{anchor})"

    return _LINK.sub(led, markdown)


def _file_of(target: str | None, source: Path) -> Path | None:
    """The file that a link of a file leads to; none for code, another host, or a place on the same page."""
    if not target or target.startswith("#") or re.match("[a-z]+:", target):
        return None
    file = (source.parent / target.partition("#")[0]).resolve()
    return next((one for name in _OF_FOLDER if (one := file / name).is_file()), file) if file.is_dir() else file


def _copy(file: Path) -> str:
    return f"source/{file.relative_to(ROOT).as_posix().lstrip('.')}"


def _named(nav: Any) -> set[str]:
    if isinstance(nav, str):
        return {nav}
    return {name for part in (nav.values() if isinstance(nav, dict) else nav) for name in _named(part)}


def _expanded(nav: Any, named: set[str]) -> Any:
    if isinstance(nav, dict):
        return {title: _expanded(part, named) for title, part in nav.items()}
    if isinstance(nav, list):
        return [
            one for part in nav for one in (_of_folder(part, named) if _is_folder(part) else [_expanded(part, named)])
        ]
    return nav


def _is_folder(part: Any) -> bool:
    return isinstance(part, str) and part.endswith("/*")


def _of_folder(pattern: str, named: set[str]) -> list[str]:
    inside = [name for name in pages() if name.startswith(pattern[:-1]) and name not in named]
    return sorted(inside, key=lambda name: (name.count("/"), name))
