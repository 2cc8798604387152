"""The README is typed line by line in the repository: what it says is what comes."""

from __future__ import annotations

import re
import subprocess

from injector import PACKAGE
from tests.authoring.pages import Typist, blocks
from tests.command import ROOT

README = (ROOT / "README.md").read_text()
#: Commands that stand in lines of four blanks: those that take minutes or a cluster are typed by other tests.
INDENTED = re.findall(r"^    (.+)$", re.sub(r"^```.*?^```$", "", README, flags=re.MULTILINE | re.DOTALL), re.MULTILINE)


def test_every_command_says_what_the_readme_shows() -> None:
    assert {block.language for block in blocks(README)} == {"console"}
    Typist(ROOT).type(README)


def test_it_is_short_and_begins_with_what_it_does() -> None:
    lines = README.splitlines()
    assert len(lines) <= 150
    assert "- name: hello" in "\n".join(lines[:40]) and "+  - name: hello" in "\n".join(lines[:40])


def test_make_has_its_targets() -> None:
    targets = [line.split()[1] for line in INDENTED if line.startswith("make ")]
    assert targets == ["demo", "test"]
    subprocess.run(["make", "--dry-run", *targets], cwd=ROOT, check=True, capture_output=True)


def test_its_figures_are_those_of_the_benchmark() -> None:
    page = (ROOT / "docs/benchmark.md").read_text()
    stated = r"takes (\d+) us of processor time, and one for a new workload (\d+) us[^|]*?at most (\d+) MiB"
    [(replica, new, memory)] = re.findall(stated, README)
    waits = (ROOT / "docs/benchmark-api-server.md").read_text()
    for wait, row in zip(
        *re.findall(r"waits ([\d.]+) or ([\d.]+) ms", README), ("a replica", "a new workload"), strict=True
    ):
        [exact] = re.findall(rf"^\| {row}[^|]*\| ([\d.]+) \|", waits, re.MULTILINE)
        assert float(wait) == round(float(exact), 1)
    rows = {
        name: cells.split("|")[0].strip() for name, cells in re.findall(r"^\| ([^|]+) \| (.*)$", page, re.MULTILINE)
    }
    assert (replica, new) == (rows["a replica of a pod seen before"], rows["a new workload"])
    assert f"{memory} MiB at the end" in page


def test_nothing_tells_anybody_to_install_a_stranger_s_package() -> None:
    """The name in the package index is not ours before a release has published it."""
    files = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    texts = [(name, (ROOT / name).read_bytes().decode(errors="replace")) for name in files if "tests/" not in name]
    of_index = re.compile(
        r"\b(?:pip|pipx|uv|uvx)\b[^\n]*?[\s'\"]sidecar-injector(?:\[\w+\])?(?! @)['\"`]?(?:[=>]=|\s|$)"
    )
    assert bool(PACKAGE) or [f"{name}: {found[0]}" for name, text in texts for found in of_index.finditer(text)] == []
