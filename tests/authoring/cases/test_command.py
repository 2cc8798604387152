"""`injector test` as a person or a build server runs it."""

from __future__ import annotations

import os
import pty
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import click
import pytest

from tests.authoring.cases.conftest import TEMPLATE, Done
from tests.messages import Golden

Write = Callable[..., Path]
Run = Callable[..., Done]

TWO = """\
cases:
- name: good
  expect: {decision: injected}
- name: bad
  expect: {decision: refused}
"""
GOOD = "cases:\n- name: good\n  expect: {decision: injected}\n"
ALL = (
    GOOD
    + """\
- name: all
  params: {level: debug, tags: [a], port: 8080}
  expect: {decision: refused}
- name: more
  params: {level: debug, tags: [a]}
  expect: {decision: injected}
- name: many
  pod: {spec: {containers: [{name: web, ports: [{containerPort: 1}, {containerPort: 2}, {containerPort: 3}]}]}}
  expect: {decision: failed}
"""
)


def test_good_cases(write: Write, run: Run) -> None:
    folder = write(ALL)
    done = run(folder)
    assert (done.code, done.out) == (0, f"{folder}: 4 passed\n")
    assert done.err.startswith("4 cases passed; ")


def test_a_bad_case(write: Write, run: Run, golden: Golden) -> None:
    folder = write(TWO)
    done = run(folder)
    assert done.code == 1
    golden(done.out.splitlines())
    golden(done.err)


def test_verbose_has_a_line_for_each(write: Write, run: Run) -> None:
    folder = write(TWO)
    lines = run(folder, "-v").out.splitlines()
    assert re.fullmatch(rf"passed {re.escape(str(folder))}/tests/cases\.yaml: good \(\d+\.\d\d s\)", lines[0])
    assert lines[1] == f"FAILED {folder}/tests/cases.yaml: bad"


def test_paths_of_many_kinds(write: Write, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write(GOOD, **{"tests/more.yaml": GOOD.replace("good", "more")})
    for path, passed in (
        (folder, 2), (folder.parent, 2), (folder / "tests", 2), (folder / "tests/more.yaml", 1), (f"{folder}/", 2),
    ):  # fmt: skip
        done = run(path)
        assert (done.code, f"{passed} passed" in done.out) == (0, True), path
    monkeypatch.chdir(folder)
    assert run().out.startswith(".: 2 passed")
    monkeypatch.chdir(folder / "tests")
    for path, passed in ((".", 2), ("..", 2), ("more.yaml", 1), ("../..", 2)):
        done = run(path)
        assert (done.code, done.out[:12]) == (0, f"..: {passed} passed" if path != "../.." else "../../logger"), path
    done = run(folder, folder.parent, "--output", "json")
    assert done.data["passed"] == 2  # each template once


@pytest.mark.parametrize("path", ["tests/none.yaml", "overlay.yaml.j2", "empty"])
def test_paths_that_are_no_templates(write: Write, run: Run, path: str) -> None:
    folder = write(GOOD)
    (folder / "empty").mkdir()
    with pytest.raises(click.UsageError):
        run(folder / path)


def test_no_case_at_all_is_a_failure(write: Write, run: Run, golden: Golden) -> None:
    folder = write()
    done = run(folder)
    assert (done.code, done.out) == (1, f"{folder}: no cases\n")
    golden(done.err)


def test_a_template_that_does_not_load(write: Write, run: Run, golden: Golden) -> None:
    folder = write(GOOD, **{"template.yaml": TEMPLATE.replace("type: integer", "type: intger")})
    done = run(folder)
    assert done.code == 1
    assert done.out.splitlines()[0].startswith(f"{folder}/template.yaml:4:")
    golden(done.out.splitlines()[-1])
    golden(done.err)


def test_a_broken_case_file_fails_beside_good_cases(write: Write, run: Run, golden: Golden) -> None:
    folder = write(GOOD, **{"tests/broken.yaml": "cases:\n- name: [\n"})
    done = run(folder)
    assert done.code == 1
    golden(done.out)
    golden(done.err)


def test_choosing_by_name(write: Write, run: Run, golden: Golden) -> None:
    folder = write(TWO)
    done = run(folder, "-k", "good and not bad")
    assert (done.code, done.out) == (0, f"{folder}: 1 passed\n")
    golden(done.err)
    done = run(folder, "-k", "nothing")
    assert done.code == 1
    golden(done.err)
    with pytest.raises(click.UsageError) as caught:
        run(folder, "-k", "good and")
    golden(caught.value)


def test_stopping_at_the_first_failure(write: Write, run: Run) -> None:
    cases = "cases:\n" + "".join(f"- {{name: c{n}, expect: {{decision: refused}}}}\n" for n in range(200))
    done = run(write(cases), "-x", "--output", "json")
    assert done.code == 1
    assert 1 <= done.data["failed"] < 100
    assert done.data["failed"] + done.data["templates"][0]["leftOut"] == 200


def test_coverage_as_a_list_and_as_a_bound(write: Write, run: Run, golden: Golden) -> None:
    folder = write(GOOD)
    done = run(folder, "--coverage", "--fail-under", "5")
    assert done.code == 0
    golden(done.out.splitlines())
    done = run(folder, "--fail-under", "10.5")
    assert done.code == 1
    golden(done.err)
    assert run(write(ALL), "--fail-under", "100").code == 0


def test_a_missing_program_is_loud_and_may_be_a_failure(write: Write, run: Run, golden: Golden) -> None:
    template = TEMPLATE.replace("{template: extra.conf.j2}", '{template: extra.conf.j2, validate: [no-such, "{path}"]}')
    folder = write(ALL, **{"template.yaml": template})
    done = run(folder)
    assert done.code == 0
    warning = f"no-such is not on PATH, so config files were not checked: {folder}/extra.conf of 2 cases"
    assert done.err.splitlines()[0] == f"warning: {warning}"
    golden(done.err.splitlines()[1])
    done = run(folder, "--require-programs")
    assert done.code == 1
    golden(done.out)
    assert "warning" not in done.err


def test_json(write: Write, run: Run) -> None:
    folder = write(TWO)
    data = run(folder, "--output", "json").data
    (template,) = data.pop("templates")
    assert data.pop("seconds") > 0
    assert data == {"passed": 1, "failed": 1, "problems": 1}
    good, bad = template["cases"]
    assert (good["name"], good["outcome"], good["line"], good["problems"]) == ("good", "passed", 2, [])
    assert (bad["name"], bad["outcome"], bad["file"]) == ("bad", "failed", f"{folder}/tests/cases.yaml")
    assert [(p["rule"], p["file"], p["line"], p["column"]) for p in bad["problems"]] == [
        ("decision", "tests/cases.yaml", 5, 22)
    ]
    assert template["coverage"]["percent"] == 10.0
    assert template["coverage"]["missedBranches"][0] == {
        "what": "inline if", "file": "extra.conf.j2", "line": 2, "column": 10,
    }  # fmt: skip


def test_junit(write: Write, run: Run, tmp_path: Path, golden: Golden) -> None:
    folder = write(TWO.replace("bad", '"bad \\x01 <&>"'), **{"tests/broken.yaml": "cases: []\n"})
    file = tmp_path / "out.xml"
    assert run(folder, "--junit", file).code == 1
    root = ElementTree.parse(file).getroot()
    (suite,) = root
    assert {k: suite.get(k) for k in ("name", "tests", "failures", "errors")} == {
        "name": str(folder), "tests": "3", "failures": "1", "errors": "1",
    }  # fmt: skip
    good, bad, broken = suite
    assert (good.get("name"), good.get("classname"), good.get("line")) == ("good", f"{folder}/tests/cases.yaml", "2")
    assert len(good) == 0
    assert bad.get("name") == "bad \ufffd <&>"
    assert (bad[0].tag, bad[0].get("type")) == ("failure", "decision")
    golden(bad[0].text or "")
    assert (broken[0].tag, broken.get("name")) == ("error", "tests/broken.yaml:1:1")


def test_junit_into_a_folder_that_is_not_there(write: Write, run: Run, tmp_path: Path, golden: Golden) -> None:
    done = run(write(GOOD), "--junit", tmp_path / "no/out.xml")
    assert done.code == 1
    golden(done.err)


def test_progress_and_colours_are_for_terminals(write: Write) -> None:
    command = [sys.executable, "-m", "injector", "test", str(write(TWO))]
    plain = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert "\x1b" not in plain.stdout + plain.stderr
    shown = _on_a_terminal(command, {})
    assert "1/2" in shown
    assert "\x1b[31m" in shown
    assert "\x1b[31m" not in _on_a_terminal(command, {"NO_COLOR": "1"})


def test_stopping_it_ends_the_programs(write: Write, tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    command = f'[sh, -c, "echo $$ > {pid}; exec sleep 100", "{{path}}"]'
    template = TEMPLATE.replace("{template: extra.conf.j2}", f"{{template: extra.conf.j2, validate: {command}}}")
    folder = write(GOOD, **{"template.yaml": template})
    process = subprocess.Popen(
        [sys.executable, "-m", "injector", "test", str(folder)],
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        until = time.monotonic() + 30
        while not (pid.exists() and pid.read_text().strip()) and time.monotonic() < until:
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=300)
    finally:
        process.kill()
    assert (process.returncode, err.strip()) == (130, "Stopped.")
    assert not Path(f"/proc/{pid.read_text().strip()}").exists()


def _on_a_terminal(command: list[str], environment: dict[str, str]) -> str:
    parent, child = pty.openpty()
    with os.fdopen(child, "wb") as terminal:
        process = subprocess.Popen(command, stdout=terminal, stderr=terminal, env={**os.environ, **environment})
    shown = b""
    try:
        while piece := os.read(parent, 65536):
            shown += piece
    except OSError:  # all who write are gone
        pass
    os.close(parent)
    assert process.wait(300) == 1
    return shown.decode()
