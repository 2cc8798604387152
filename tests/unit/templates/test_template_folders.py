"""What is read of a folder: ordinary files, and no more of them than fit."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from injector.authoring.workbench.template_files import TemplateFiles
from injector.errors import TemplateError
from injector.loading.template_folders import LARGEST_FOLDER, how_to_install, read_folder, read_ordinary
from injector.templates.template import LARGEST

_READ = """
import resource, sys, pathlib
from injector.errors import TemplateError
from injector.loading.template_folders import read_folder
resource.setrlimit(resource.RLIMIT_AS, (2**30, 2**30))
try:
    read_folder(pathlib.Path(sys.argv[1]))
except TemplateError as error:
    print(error.rule, error.place.file)
"""


def sparse(file: Path, size: int) -> None:
    with file.open("wb") as stream:
        stream.truncate(size)


def test_many_large_files_are_not_all_read(tmp_path: Path) -> None:
    for number in range(20):
        sparse(tmp_path / f"{number:02}.txt", 2 * LARGEST)
    with pytest.raises(TemplateError) as refused:
        read_folder(tmp_path)
    assert refused.value.rule == "limit"
    assert refused.value.place is not None and refused.value.place.file == "04.txt"
    texts = TemplateFiles(tmp_path).read()
    assert sum(len(text) for text, _ in texts.values()) == LARGEST_FOLDER


def test_what_fits_is_read(tmp_path: Path) -> None:
    for number in range(4):
        sparse(tmp_path / f"{number}.txt", 2 * LARGEST)
    assert list(read_folder(tmp_path)) == ["0.txt", "1.txt", "2.txt", "3.txt"]


def test_a_device_that_calls_itself_an_ordinary_file(tmp_path: Path) -> None:
    """Its size is 0, and it has no end."""
    (tmp_path / "map.txt").symlink_to("/proc/self/pagemap")
    command = [sys.executable, "-c", _READ, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.stdout.split() == ["limit", "map.txt"], done.stderr


def test_what_is_not_ordinary_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("pipe")
    for path in (tmp_path / "pipe", tmp_path, Path("/dev/zero")):
        with pytest.raises(ValueError, match="is "):
            read_ordinary(path, 100)
    with pytest.raises(OSError, match="Errno"):
        read_ordinary(tmp_path / "link", 100)
    assert read_folder(tmp_path) == {}


@pytest.mark.parametrize(
    ("python", "command"),
    [
        (f"{Path(__file__).parents[3]}/.venv/bin/python", "make setup"),
        ("/usr/bin/python3", "/usr/bin/python3 -m pip install a b"),
        ("/srv/.venv/bin/python", "/srv/.venv/bin/python -m pip install a b"),
    ],
)
def test_how_to_install(monkeypatch: pytest.MonkeyPatch, python: str, command: str) -> None:
    monkeypatch.setattr(sys, "executable", python)
    assert how_to_install("a", "b") == command
