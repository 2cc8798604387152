"""Golden files: written, compared, shown as a difference, and told of when nobody needs them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, strategies as st

from injector.authoring.cases.expected_files import _config_file
from tests.authoring.cases.conftest import CONFIG, OVERLAY, Done
from tests.messages import Golden

Write = Callable[..., Path]
Run = Callable[..., Done]

CASES = """\
cases:
- name: whole
  params: {level: debug}
  expect: {decision: injected, golden: whole.golden.yaml}
- name: skipped
  namespace: {labels: {injection: disabled}}
  expect: {decision: skipped, golden: skipped.golden.yaml}
"""


def test_it_is_written_and_then_holds(write: Write, run: Run, golden: Golden) -> None:
    folder = write(CASES)
    done = run(folder)
    assert done.code == 1
    golden(done.out)
    done = run(folder, "--update")
    assert (done.code, "written " + str(folder / "tests/whole.golden.yaml") in done.out) == (0, True)
    golden = folder / "tests/whole.golden.yaml"
    first = golden.read_text()
    done = run(folder, "--update")
    assert (done.code, "written /" in done.out, golden.read_text()) == (0, False, first)
    assert run(folder).code == 0


def test_it_holds_the_whole_output(write: Write, run: Run, golden: Golden) -> None:
    folder = write(CASES)
    run(folder, "--update")
    text = (folder / "tests/whole.golden.yaml").read_text()
    golden(text)
    output = yaml.safe_load(text)
    assert list(output) == ["decision", "reason", "message", "warnings", "pod", "files"]
    assert (output["decision"], output["reason"]) == ("injected", "injected")
    golden(output["warnings"])
    assert output["pod"]["spec"]["initContainers"][0]["args"] == ["--level", "debug"]
    assert output["pod"]["metadata"]["annotations"] == {"sidecar.injector/status": "injected"}
    golden(output["files"]["extra.conf"])
    assert yaml.safe_load(output["files"]["logger.yaml"])["level"] == "debug"
    skipped = yaml.safe_load((folder / "tests/skipped.golden.yaml").read_text())
    assert (list(skipped), skipped["reason"]) == (["decision", "reason", "message", "pod"], "namespace-disabled")
    assert "annotations" not in skipped["pod"]["metadata"]


def test_a_comment_in_a_template_changes_no_golden_file(write: Write, run: Run) -> None:
    run(write(CASES), "--update")
    assert run(write(CASES, **{"overlay.yaml.j2": "# why\n" + OVERLAY})).code == 0


def test_a_change_is_shown_as_a_difference(write: Write, run: Run, golden: Golden) -> None:
    run(write(CASES), "--update")
    folder = write(CASES, **{"logger.yaml.j2": CONFIG.replace("spare", "other")})
    done = run(folder)
    assert done.code == 1
    golden(done.out)
    assert run(folder, "--update").code == 0
    assert run(folder).code == 0


def test_a_case_whose_decision_is_another_writes_nothing(write: Write, run: Run) -> None:
    folder = write(CASES.replace("decision: injected", "decision: refused"))
    assert run(folder, "--update").code == 1
    assert [file.name for file in (folder / "tests").glob("*.golden.yaml")] == ["skipped.golden.yaml"]


def test_one_that_no_case_names_is_told_of(write: Write, run: Run, golden: Golden) -> None:
    folder = write(CASES, **{"tests/old.golden.yaml": "x\n"})
    done = run(folder, "--update")
    assert done.code == 0
    golden(done.err)
    assert "old.golden.yaml" not in run(folder / "tests/cases.yaml").err


def test_a_golden_file_that_cannot_be_written(write: Write, run: Run, golden: Golden) -> None:
    folder = write(CASES)
    (folder / "tests/whole.golden.yaml").mkdir()
    done = run(folder, "--update")
    assert done.code == 1
    golden(done.err)


@given(st.text(alphabet=st.characters(exclude_categories=("Cs",)), max_size=40) | st.text(" \n\ta:#'\"-", max_size=20))
def test_a_config_file_reads_back_as_it_was(text: str) -> None:
    read: Any = yaml.safe_load("files:\n" + _config_file("a.conf", text))
    assert read == {"files": {"a.conf": text}}


@pytest.mark.parametrize("text", ["a\n", "a", "a\n\n\n", " a\n", "\n a\n", "a\n\nb\n", "- x: y\n", "\ta\n", "a \n"])
def test_its_lines_stand_as_they_are(text: str) -> None:
    written = _config_file("a.conf", text).split("\n")[1:]
    for line in text.rstrip("\n").split("\n"):
        assert (f"    {line}" if line else "") in written
