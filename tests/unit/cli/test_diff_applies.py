"""What a command prints as the diff of a file is a patch: `git apply` and `patch` make of the file what it writes."""

from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given, settings, strategies as st

from injector.authoring.manifest_writer import line_text
from injector.cli.main import cli
from injector.cli.report import file_difference
from tests.corpus.commands import templates_loaded_once

PROGRAMS = (["git", "apply", "-p0", "--whitespace=nowarn"], ["patch", "-p0", "--binary", "--quiet"])
#: Characters of a comment or a value, some of which end a line for one reader and not for another.
LETTERS = st.text("ab é\u2028\u2029\x85\t#-+@\\", max_size=8)
#: Letters that names of files have.
FILES = st.text("ab é\t\"'\\\u2028\x85@-", min_size=1, max_size=8).filter(lambda name: name.strip() not in ("", "-"))


@st.composite
def pods(draw: st.DrawFn) -> str:
    """The text of a Pod, with comments, and the line ends of one system or of both."""
    value, comment = draw(LETTERS), draw(st.text("ab é\t#-+@", max_size=8))
    lines = [
        f"# {comment}",
        "apiVersion: v1",
        "kind: Pod",
        f"metadata: {{name: web, annotations: {{note: {line_text(value, flow=True)}}}}}",
        "",
        "spec:",
        f"  containers:  # {comment}",
        "  - name: app",
        "    image: app:1",
        f"    args: ['{draw(LETTERS)}']",
    ]
    ends = draw(st.sampled_from([["\n"], ["\r\n"], ["\n", "\r\n"]]))
    text = "".join(line + draw(st.sampled_from(ends)) for line in lines)
    return text if draw(st.booleans()) else text.rstrip("\r\n")


def applied(program: list[str], folder: Path, file: Path, before: bytes, difference: bytes) -> bytes:
    """What a program makes of a file by a diff."""
    file.write_bytes(before)
    subprocess.run(program, input=difference, cwd=folder, check=True, capture_output=True)
    return file.read_bytes()


@pytest.mark.parametrize("examples", [20, pytest.param(10_000, marks=pytest.mark.soak(minutes=45))])
def test_the_diff_of_an_injection_is_the_patch_to_its_result(examples: int, monkeypatch: pytest.MonkeyPatch) -> None:
    @settings(max_examples=examples, deadline=None)
    @given(text=pods(), name=FILES, folder=st.sampled_from(["", "de ploy"]))
    def check(text: str, name: str, folder: str) -> None:
        with tempfile.TemporaryDirectory() as home:
            monkeypatch.chdir(home)
            path, before = Path(folder) / f"{name}.yaml", text.encode()
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(before)
            options = ["inject", "--templates", "always-pull-images", f"./{path}"]
            printed = CliRunner().invoke(cli, [*options, "--diff"], standalone_mode=False, catch_exceptions=False)
            assert path.read_bytes() == before
            CliRunner().invoke(cli, [*options, "--in-place"], standalone_mode=False, catch_exceptions=False)
            after = path.read_bytes()
            assert after != before
            for program in PROGRAMS:
                assert applied(program, Path(home), path, before, printed.stdout_bytes) == after

    with templates_loaded_once():
        check()


@pytest.mark.parametrize("examples", [50, pytest.param(10_000, marks=pytest.mark.soak(minutes=10))])
def test_the_diff_of_two_texts_is_the_patch_from_one_to_the_other(examples: int) -> None:
    """As `injector lint --fix --diff` prints it."""
    texts = st.lists(st.text("ab-+@ \\\r\n\u2028\x85\x0c", min_size=1, max_size=4), min_size=1, max_size=9).map("".join)

    @settings(max_examples=examples, deadline=None)
    @given(before=texts, after=texts, name=FILES)
    def check(before: str, after: str, name: str) -> None:
        difference = file_difference(before, after, name).encode()
        assert bool(difference) == (before != after)
        with tempfile.TemporaryDirectory() as home:
            for program in PROGRAMS if difference else ():
                assert applied(program, Path(home), Path(home) / name, before.encode(), difference) == after.encode()

    check()


def test_the_diff_is_utf_8_whatever_the_locale(program, tmp_path):
    file = tmp_path / "é.yaml"
    file.write_text("# é\nkind: Pod\nspec: {containers: [{name: a, image: x}]}\n")
    env = {**os.environ, "LC_ALL": "C", "PYTHONIOENCODING": "ascii", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}
    done = program("inject", "--diff", "--templates", "always-pull-images", file, env=env)
    assert (done.code, " # é\n" in done.out) == (0, True)
