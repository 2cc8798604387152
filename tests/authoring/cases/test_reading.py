"""What a template's folder may lead to: files of its own, of a size that somebody wrote."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from injector.authoring.cases.document import LARGEST
from injector.authoring.cases.suite import Suite
from tests.authoring.cases.conftest import Done, Write
from tests.messages import Golden

Run = Callable[..., Done]

CASE = "cases:\n- name: a\n  file: {file}\n  expect: {{decision: injected}}\n"
POD = "kind: Pod\nmetadata: {name: a}\nspec: {containers: [{name: a, image: a}]}\n"
GOLDEN = "cases:\n- name: a\n  expect: {decision: injected, golden: a.golden.yaml}\n"


def _pipe(folder: Path) -> None:
    os.mkfifo(folder / "tests/web.yaml")


def _link(target: str) -> Callable[[Path], None]:
    return lambda folder: (folder / "tests/web.yaml").symlink_to(target)


def _large(folder: Path) -> None:
    with (folder / "tests/web.yaml").open("wb") as file:
        file.truncate(LARGEST + 1)


@pytest.mark.parametrize(
    "make",
    [
        _pipe,
        _link("/dev/zero"),
        _link("../../secret.yaml"),
        _link("web.yaml"),
        lambda folder: (folder / "tests/web.yaml").mkdir(),
        _large,
    ],
)
def test_a_manifest_that_is_no_file_of_the_template(
    suite: Callable[..., Suite], tmp_path: Path, make: Callable[[Path], None], golden: Golden
) -> None:
    (tmp_path / "secret.yaml").write_text(POD)
    folder = suite(CASE.format(file="web.yaml")).folder
    make(folder)
    found = suite(CASE.format(file="web.yaml"))
    assert [str(problem.place) for problem in found.problems] == ["tests/cases.yaml:3:9"]
    golden(found.problems[0].message)


@pytest.mark.parametrize("file", ["../../secret.yaml", "../template.yaml", "/etc/passwd", "/dev/zero", '"a\\0b"'])
def test_a_manifest_is_beside_the_case_file(
    suite: Callable[..., Suite], tmp_path: Path, file: str, golden: Golden
) -> None:
    (tmp_path / "secret.yaml").write_text(POD)
    (problem,) = suite(CASE.format(file=file)).problems
    golden(problem.message)


def test_a_link_to_another_file_of_the_template_is_followed(suite: Callable[..., Suite]) -> None:
    folder = suite(CASE.format(file="web.yaml"), tests__pod_yaml=POD).folder
    (folder / "tests/web.yaml").symlink_to("pod.yaml")
    found = suite(CASE.format(file="web.yaml"))
    assert [checked.given.obj["metadata"] for checked in found.cases] == [{"name": "a"}]


def test_a_case_file_that_is_a_link_out_of_the_folder_is_not_read(
    suite: Callable[..., Suite], tmp_path: Path, golden: Golden
) -> None:
    (tmp_path / "secret.yaml").write_text("password: [\n")
    folder = suite().folder
    (folder / "tests/a.yaml").symlink_to("../../secret.yaml")
    (problem,) = suite().problems
    golden(str(problem))
    assert "password" not in problem.excerpt


@pytest.mark.parametrize("target", ["../../victim", "/dev/null", "cases.yaml"])
def test_update_writes_through_no_link(write: Write, run: Run, tmp_path: Path, target: str) -> None:
    (tmp_path / "victim").write_text("mine")
    folder = write(GOLDEN)
    link = folder / "tests/a.golden.yaml"
    link.symlink_to(target)
    done = run(folder, "--update")
    assert (done.code, done.err.startswith(f"Error: {link}: is ")) == (1, True)
    assert ((tmp_path / "victim").read_text(), (folder / "tests/cases.yaml").read_text()) == ("mine", GOLDEN)


def test_update_makes_no_file_behind_a_dangling_link(write: Write, run: Run, tmp_path: Path) -> None:
    folder = write(GOLDEN)
    (folder / "tests/a.golden.yaml").symlink_to("made.yaml")
    assert run(folder, "--update").code == 1
    assert not (folder / "tests/made.yaml").exists()


def test_update_writes_into_no_folder_elsewhere(write: Write, run: Run, tmp_path: Path, golden: Golden) -> None:
    folder = write(GOLDEN)
    (folder / "tests").rename(tmp_path / "elsewhere")
    (folder / "tests").symlink_to("../elsewhere")
    done = run(folder, "--update")
    assert done.code == 1
    golden(done.out)
    assert [file.name for file in (tmp_path / "elsewhere").iterdir()] == ["cases.yaml"]


def test_update_waits_for_no_pipe(write: Write, run: Run, golden: Golden) -> None:
    folder = write(GOLDEN)
    os.mkfifo(folder / "tests/a.golden.yaml")
    golden(run(folder, "--update").err)
