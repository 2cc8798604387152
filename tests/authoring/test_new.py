"""`injector new`: what it makes lints clean and passes its cases, under every name and from every template."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from zipfile import ZipFile

import pytest

from injector.authoring.scaffold import SHAPES, STARTER, renamed, scaffold
from injector.authoring.schemas import schema_of
from injector.authoring.template_summary import brought_by
from injector.cli.demo_programs import free_ports
from injector.loading.template_folders import read_folder
from injector.names import legal_name
from injector.templates.load import load_template
from tests import parts
from tests.authoring.commands import GALLERY, ROOT, injector
from tests.messages import Golden

NEW = "mine"
LONG = "an-unusually-long-name-for-a-sidecar"


def files_below(folder: Path) -> dict[str, str]:
    return {str(f.relative_to(folder)): f.read_text() for f in folder.rglob("*") if f.is_file()}


@pytest.fixture(scope="module")
def copies(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a copy of each template of the gallery, half of them under a long name, and the starter."""
    parent = tmp_path_factory.mktemp("copies")
    assert injector("new", NEW, "--dir", parent).code == 0
    for number, name in enumerate(GALLERY):
        done = injector("new", copy_name(number, name), "--from", name, "--dir", parent)
        assert (done.code, done.err) == (0, "")
    return parent


def copy_name(number: int, name: str) -> str:
    return f"my-{name}" if number % 2 else f"{LONG}-{number}"


#: The starter's copy and every third one of the gallery; in `make soak` all of them.
SOME = [NEW, *(copy_name(number, name) for number, name in enumerate(GALLERY) if number % 3 == 0)]
ALL = [NEW, *(copy_name(number, name) for number, name in enumerate(GALLERY))]


@pytest.mark.parametrize("names", [SOME, pytest.param(ALL, marks=pytest.mark.soak(minutes=5))], ids=["some", "all"])
def test_copies_of_the_gallery_and_the_starter_lint_clean(copies: Path, names: list[str]) -> None:
    done = injector("lint", "--output", "json", *(copies / name for name in names))
    problems = json.loads(done.out)
    found = problems if isinstance(problems, list) else problems["problems"]
    assert [str(p) for p in found if p["severity"] == "error"] == []
    assert [str(p) for p in found if f"/{NEW}" in str(p)] == []
    assert done.code == 0


def test_copies_of_the_gallery_and_the_starter_pass_their_cases(copies: Path) -> None:
    done = injector("test", copies)
    assert done.code == 0, done.out + done.err
    passed = {Path(folder).name: int(count) for folder, count in re.findall(r"^(\S+): (\d+) passed$", done.out, re.M)}
    assert passed[NEW] == 6
    with_cases = [n for n, name in enumerate(GALLERY) if [*(ROOT / "templates" / name / "tests").glob("*.yaml")]]
    assert {copy_name(n, GALLERY[n]) for n in with_cases} <= set(passed)


@pytest.mark.parametrize(("number", "name"), list(enumerate(GALLERY)), ids=GALLERY)
def test_a_copy_is_named_anew_and_keeps_the_program_s_names(copies: Path, number: int, name: str) -> None:
    new = copy_name(number, name)
    folder, original = copies / new, ROOT / "templates" / name
    ours, theirs = (load_template(f.name, read_folder(f)) for f in (folder, original))
    assert list(ours.parameters) == list(theirs.parameters)
    assert list(ours.files) == list(theirs.files)
    assert [f.validate for f in ours.files.values()] == [f.validate for f in theirs.files.values()]
    added, before = brought_by(ours), brought_by(theirs)
    assert added is not None and before is not None
    assert [c.image for c in added.containers] == [c.image for c in before.containers]
    assert [c.name for c in added.containers] == [container(c.name, name, new) for c in before.containers]
    ports = [port.rstrip(")").rpartition("(")[2] for c in added.containers for port in c.ports if "(" in port]
    assert [port for port in ports if len(port) > 15 or not re.fullmatch("[a-z0-9]([-a-z0-9]*[a-z0-9])?", port)] == []
    assert len(set(ports)) == len(ports)
    assert len([volume for label, values in added.lists if label == "Volumes" for volume in values]) == len(
        [volume for label, values in before.lists if label == "Volumes" for volume in values]
    )
    readme = folder / "README.md"
    if readme.exists() and (original / "README.md").read_text().startswith(f"# {name}\n"):
        text = readme.read_text()
        assert text.startswith(f"# {new}\n")
        assert not re.search(rf"(?<![\w-]){name}\.sidecar\.injector/", text)


def container(name: str, old: str, new: str) -> str:
    return new + name.removeprefix(old) if name == old or name.startswith(f"{old}-") else name


@pytest.mark.parametrize("name", [*GALLERY, "starter"])
def test_renamed_and_back_is_what_it_was(name: str) -> None:
    """So nothing was lost, and nothing renamed that only looks like the template's own."""
    files = files_below(STARTER if name == "starter" else ROOT / "templates" / name)
    there = renamed(files, name, "zz")
    assert there != files or not re.search(rf"name: {name}|{name}\.sidecar|^# {name}$", "\n".join(files.values()), re.M)
    assert renamed(there, "zz", name) == files
    assert set(re.findall(r"image: *\S+|command: .*|/etc/[\w/.-]+", "\n".join(there.values()))) == set(
        re.findall(r"image: *\S+|command: .*|/etc/[\w/.-]+", "\n".join(files.values()))
    )


def test_editors_find_the_schemas_offline(copies: Path) -> None:
    folder = copies / NEW
    first = (folder / "template.yaml").read_text().splitlines()[0]
    assert first.endswith(" $schema=.schemas/template.json")
    assert json.loads((folder / ".schemas/template.json").read_text()) == schema_of("template")
    line = (folder / "tests/first.yaml").read_text().splitlines()[0]
    assert line.endswith(" $schema=../.schemas/case.json")
    assert json.loads((folder / ".schemas/case.json").read_text()) == schema_of("case")
    assert not [name for name in read_folder(folder) if "schemas" in name]


def test_the_starter_itself_is_what_new_makes_of_it() -> None:
    made = scaffold("starter", STARTER)
    for path, text in files_below(STARTER).items():
        if path != "README.md":
            assert made[path] == text


def test_the_starter_s_readme_has_its_reference(copies: Path) -> None:
    readme = copies / NEW / "README.md"
    assert injector("docs", copies / NEW, "--check", readme).code == 0
    assert "`mine.sidecar.injector/greeting`" in readme.read_text()


def test_what_the_starter_describes_runs(copies: Path, tmp_path: Path) -> None:
    nginx = parts.require("nginx")
    [port] = free_ports(1)
    params = ("--param", f"port={port}", "--param", "greeting=good morning")
    config = injector("render", copies / NEW, "--file", "nginx.conf", *params)
    assert config.code == 0
    file = tmp_path / "nginx.conf"
    file.write_text(config.out.replace(" /tmp/", f" {tmp_path}/"))  # the sidecar's own /tmp
    process = subprocess.Popen([nginx, "-e", "stderr", "-c", file], stderr=subprocess.PIPE)
    try:
        assert answer(port, "/healthz") == "ok"
        assert answer(port, "/") == "good morning"
        process.send_signal(signal.SIGQUIT)
        assert process.wait(300) == 0
    finally:
        process.kill()
        process.wait(300)


def answer(port: int, path: str) -> str:
    """What the sidecar answers, once it listens."""
    deadline = time.monotonic() + 20
    while True:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=5) as response:
                return str(response.read().decode())
        except (ConnectionError, urllib.error.URLError):
            assert time.monotonic() < deadline
            time.sleep(0.05)


def test_it_says_what_it_made_and_what_comes_next_and_those_commands_work(tmp_path: Path, golden: Golden) -> None:
    done = injector("new", "hello", cwd=tmp_path)
    assert (done.code, done.err) == (0, "")
    lines = done.out.splitlines()
    golden(lines[0])
    commands = [re.split(r"  +", line.strip())[0] for line in lines[2:]]
    golden(commands)
    for command in commands:
        assert injector(*command.split()[1:], cwd=tmp_path).code == 0, command


@pytest.mark.parametrize("name", ["null", "true", "1", "on", "0x1f", "y"])
def test_a_name_that_is_no_text_in_yaml_is_refused(name: str, tmp_path: Path) -> None:
    assert injector("new", name, cwd=tmp_path).code == 2
    assert not (tmp_path / name).exists()


def test_nothing_is_ever_overwritten(tmp_path: Path, golden: Golden) -> None:
    (tmp_path / "hello").mkdir()
    assert injector("new", "hello", cwd=tmp_path).code == 0  # an empty folder holds nothing to lose
    before = files_below(tmp_path)
    again = injector("new", "hello", cwd=tmp_path)
    assert (again.code, again.out) == (1, "")
    golden(again.err)
    (tmp_path / "file").write_text("mine\n")
    assert injector("new", "file", cwd=tmp_path).code == 1
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    assert injector("new", "link", cwd=tmp_path).code == 1
    assert files_below(tmp_path) == before | {"file": "mine\n"}


def test_what_cannot_be_written_leaves_nothing_behind(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("")
    done = injector("new", "hello", "--dir", tmp_path / "taken" / "deeper")
    assert done.code in (1, 2) and done.out == ""
    assert "taken" in done.err
    assert [path.name for path in tmp_path.iterdir()] == ["taken"]


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("Hello", "hello"),
        ("hello_world", "hello-world"),
        ("my sidecar", "my-sidecar"),
        ("-x-", "x"),
        ("a/b", "a-b"),
        ("é", ""),
        ("x" * 64, "x" * 63),
    ],
)
def test_a_name_that_is_none_gets_the_nearest(tmp_path: Path, name: str, near: str, golden: Golden) -> None:
    done = injector("new", "--", name, cwd=tmp_path)
    assert (done.code, done.out) == (2, "")
    golden(done.err)
    assert (f"write {near}" in done.err) is bool(near)
    assert legal_name(name) == near
    assert not list(tmp_path.iterdir())


def test_a_template_that_there_is_not_gets_the_nearest(tmp_path: Path, golden: Golden) -> None:
    done = injector("new", "x", "--from", "ngnix", cwd=tmp_path)
    assert done.code == 2
    golden(done.err)


def test_a_name_too_long_for_its_parts_is_refused(tmp_path: Path, golden: Golden) -> None:
    done = injector("new", "x" * 60, cwd=tmp_path)
    assert (done.code, done.out) == (1, "")
    golden(done.err)
    assert not list(tmp_path.iterdir())


def test_a_folder_of_one_s_own_can_be_copied_too(copies: Path, tmp_path: Path) -> None:
    done = injector("new", "yours", "--from", copies / NEW, "--dir", tmp_path)
    assert done.code == 0
    added = brought_by(load_template("yours", read_folder(tmp_path / "yours")))
    assert added is not None and [c.name for c in added.containers] == ["yours"]


def test_manifests_and_golden_files_beside_cases_come_along(copies: Path, tmp_path: Path) -> None:
    manifest = "# mine\nkind: Pod\nmetadata: {name: web}\nspec: {containers: [{name: web, image: 'web:1'}]}\n"
    original = tmp_path / "yours"
    assert injector("new", "yours", "--dir", tmp_path).code == 0
    (original / "tests/web.yaml").write_text(manifest)
    cases = "cases:\n- name: a\n  file: web.yaml\n  expect: {decision: injected, golden: whole.golden.yaml}\n"
    (original / "tests/more.yaml").write_text(cases)
    assert injector("test", original, "--update").code == 0
    assert "(yours)" in (original / "tests/whole.golden.yaml").read_text()
    assert injector("new", "theirs", "--from", original, "--dir", tmp_path).code == 0
    tests = tmp_path / "theirs" / "tests"
    assert (tests / "web.yaml").read_text() == manifest
    assert (tests / "more.yaml").read_text().startswith("# yaml-language-server: $schema=../.schemas/case.json\ncases:")
    assert "(theirs)" in (tests / "whole.golden.yaml").read_text()
    assert injector("test", tmp_path / "theirs").code == 0


def test_a_name_of_the_gallery_is_told(tmp_path: Path) -> None:
    done = injector("new", "nginx", "--from", "nginx", "--dir", tmp_path)
    assert done.code == 0 and "Yours takes precedence" in done.out
    (tmp_path / "nginx/overlay.yaml.j2").write_text("spec: {priority: 7}\n")
    assert "priority: 7" in injector("render", "nginx", "--templates-dir", tmp_path).out


def test_the_scaffold_is_in_the_wheel(tmp_path: Path) -> None:
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", tmp_path],
        cwd=ROOT, check=True, capture_output=True, timeout=300,
    )  # fmt: skip
    [wheel] = tmp_path.glob("*.whl")
    names = set(ZipFile(wheel).namelist())
    shapes = [file.parent for file in SHAPES.glob("*/template.yaml")]
    files_of_shapes = {f"{shape.name}/{path}" for shape in shapes for path in files_below(shape)}
    assert len(shapes) == 6
    pages = {f"injector/cli/report_pages/{path}" for path in files_below(ROOT / "injector/cli/report_pages")}
    assert len(pages) == 4 and {*pages, "injector/authoring/colours.css", "injector/authoring/page.css"} <= names
    assert {f"injector/authoring/scaffold/{path}" for path in files_of_shapes} <= names
    for name in GALLERY:
        assert {f"injector/gallery/{name}/{path}" for path in files_below(ROOT / "templates" / name)} <= names
