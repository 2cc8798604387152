"""A template as its author sees it now: the files of its folder, with unsaved texts in place of the saved ones."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from injector.authoring.cases.suite import TESTS
from injector.loading.template_folders import read_folder


@dataclass(frozen=True)
class Project:
    """One template. `files` are the texts by path within the folder: `overlay.yaml.j2`, `tests/first.yaml`."""

    folder: Path
    files: Mapping[str, str]

    @property
    def name(self) -> str:
        """The template's name."""
        return self.folder.name

    @property
    def sources(self) -> dict[str, str]:
        """The files of the template itself, without its cases, as `load_template` takes them."""
        return {path: text for path, text in self.files.items() if "/" not in path}


def read_project(folder: Path, unsaved: Mapping[str, str]) -> Project:
    """The project of a folder, by its absolute path; `unsaved` are texts by path within it. Raises TemplateError."""
    files = read_folder(folder)
    cases = folder / TESTS
    if cases.is_dir():
        files |= {f"{TESTS}/{name}": text for name, text in read_folder(cases).items()}
    return Project(folder, {**files, **unsaved})


@contextmanager
def as_folder(project: Project, neighbours: Iterable[Path] = ()) -> Iterator[Path]:
    """The project as a folder of the same name, unsaved texts too, for as long as the context lasts; beside it links to
    the folders of other templates.
    """
    with TemporaryDirectory(prefix="injector-") as room:
        folder = Path(room) / project.name
        (folder / TESTS).mkdir(parents=True)
        for path, text in project.files.items():
            (folder / path).write_bytes(text.encode("utf-8", "surrogatepass"))
        for neighbour in neighbours:
            if neighbour.name != project.name:
                (Path(room) / neighbour.name).symlink_to(neighbour)
        yield folder
