"""Parts are got beside the tests: once, waited for, ended with the run, and with words for what is missing.

The getters here are small ones in place of those that take minutes; what they share with these, getting.bash, is real.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests import parts
from tests.parts.test_parts import program

HERE = Path(__file__).parent
ROOT = HERE.parents[1]

#: Runs a command beside the getters of a folder, as `python -m tests.parts` does beside its own.
BESIDE = "import sys, pathlib, tests.parts.__main__ as m; sys.exit(m.main(sys.argv[2:], pathlib.Path(sys.argv[1])))"
REQUIRE = [sys.executable, "-uc", "from tests import parts; print(f'{parts.require(\"sdk-server\")}\\n', end='')"]
TRY_TWICE = """
from tests import parts
try:
    parts.require("sdk-server")
finally:
    parts.require("sdk-server")
"""

GETTER = f"""\
#!/usr/bin/env bash
set -euo pipefail
. {HERE}/getting.bash
mkdir -p "$CACHE" && echo asked >>"$CACHE/asked"
if [ -e "$CACHE/programs/$1" ]; then exit; fi
one_at_a_time
if [ -e "$CACHE/programs/$1" ]; then exit; fi
echo made >>"$CACHE/made"
mkdir -p "$GO_CACHE" && touch "$GO_CACHE/compiled"
SECONDS_OF=([v1]=1)
make() {{ {{making}}; }}
step v1 make
mkdir -p "$CACHE/programs" && cp /bin/true "$WORK/program" && mv "$WORK/program" "$CACHE/programs/$1"
"""

Make = Callable[[str], list[str]]


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The cache of a machine without parts."""
    for name in ("CI", "GET_PARTS", "PARTS_LATER", "KUBEBUILDER_ASSETS", parts.FEW_PARTS):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("GO_CACHE", str(tmp_path / "own"))
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    return tmp_path / "cache" / "sidecar-injector"


@pytest.fixture
def beside(machine: Path, tmp_path: Path) -> Make:
    """Gives the words that run a command beside a getter, which makes a program by these shell commands."""

    def words(making: str) -> list[str]:
        folder = tmp_path / "getters"
        folder.mkdir()
        for name in {getter.split()[0] for getter in parts.GETTERS}:
            (folder / name).write_text(GETTER.replace("{making}", making))
            (folder / name).chmod(0o755)
        return [sys.executable, "-c", BESIDE, str(folder)]

    return words


def run(words: list[str], *more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*words, *more], cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)


def left(machine: Path) -> list[str]:
    return sorted(str(found.relative_to(machine)) for found in machine.rglob("*") if found.is_file())


def lines(file: Path) -> int:
    return len(file.read_text().splitlines())


def eventually(true: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not true():
        assert time.monotonic() < end
        time.sleep(0.05)


def test_who_requires_a_part_waits_until_it_is_there(beside: Make, machine: Path) -> None:
    done = run(beside("sleep 1"), "sh", "-c", '"$@" & "$@" & wait', "sh", *REQUIRE)
    assert done.stdout.split() == [str(machine / "programs" / "sdk-server")] * 2
    assert done.stderr.startswith("build-program sdk-server: v1: built in ")
    assert (lines(machine / "asked"), lines(machine / "made")) == (1, 1)
    assert left(machine) == ["asked", "getting/build-program-sdk-server/lock", "made", "programs/sdk-server"]


def test_a_test_s_time_limit_is_not_for_getting_parts(beside: Make, tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(
        "import time\n"
        "from tests import parts\n"
        "def test_waits():\n"
        "    parts.require('sdk-server')\n"
        "def test_waits_and_hangs():\n"
        "    parts.require('vault')\n"
        "    time.sleep(60)\n"
    )
    pytest_here = ["-m", "pytest", "-q", "-c", "/dev/null", f"--rootdir={tmp_path}", "-p", "no:cacheprovider"]
    done = run(beside("sleep 4"), sys.executable, *pytest_here, "--timeout=2", str(tmp_path / "test_it.py"))
    assert "1 failed, 1 passed" in done.stdout, done.stdout
    assert "Timeout (>2.0s)" in done.stdout


def test_what_another_run_is_getting_is_waited_for(beside: Make, machine: Path, tmp_path: Path) -> None:
    words = beside(f"until [ -e {tmp_path}/go-on ]; do sleep 0.1; done")
    other = subprocess.Popen([tmp_path / "getters" / "build-program", "sdk-server"], stderr=subprocess.DEVNULL)
    eventually((machine / "made").exists)
    with subprocess.Popen([*words, *REQUIRE], cwd=ROOT, stderr=subprocess.PIPE, text=True) as waiting:
        assert waiting.stderr
        assert waiting.stderr.readline() == "build-program sdk-server: waiting for another run that gets the same\n"
        (tmp_path / "go-on").touch()
        assert waiting.wait(60) == other.wait(60) == 0
    assert lines(machine / "made") == 1


def test_a_getter_that_fails_says_why_once(beside: Make, machine: Path) -> None:
    done = run(beside("return 1"), "sh", "-c", '"$@"; "$@"; true', "sh", sys.executable, "-c", TRY_TWICE)
    why = "build-program sdk-server: v1 could not be built"
    assert done.stderr.splitlines().count(why) == 1
    assert (
        done.stderr.count(f"Skipped: sdk-server is not on this machine: {why}") == 4
    )  # two processes, each in two tries
    assert lines(machine / "asked") == 1


def test_nothing_is_got_unless_asked_for(beside: Make, machine: Path) -> None:
    assert run(beside("true"), "true").returncode == 0
    with pytest.raises(pytest.skip.Exception):
        parts.require("helm-4")
    assert not machine.exists()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_getters_end_with_the_run(beside: Make, machine: Path, number: signal.Signals) -> None:
    words = [*beside(f"echo $$ >{machine}/pid; touch $WORK/half; sleep 1000"), *REQUIRE]
    with subprocess.Popen(words, cwd=ROOT, stderr=subprocess.DEVNULL, start_new_session=True) as process:
        eventually(lambda: (machine / "pid").exists() and (machine / "pid").read_text() != "")
        if number == signal.SIGINT:
            os.killpg(process.pid, number)  # as a terminal does
        else:
            process.send_signal(number)
        assert process.wait(60) == 128 + number
    with pytest.raises(ProcessLookupError):
        os.killpg(int((machine / "pid").read_text()), 0)
    assert left(machine) == ["asked", "getting/build-program-sdk-server/lock", "made", "pid"]


def test_all_parts_at_once(beside: Make, machine: Path) -> None:
    done = run(beside("true"))
    assert done.returncode == 1  # these getters do not get what they should
    assert lines(machine / "asked") == len(parts.GETTERS)
    assert (machine / "programs" / "oauth2-proxy").exists()


def test_how_long_it_still_takes() -> None:
    script = """
        . ./getting.bash
        takes() { SECONDS=$((SECONDS + $1)); }
        SECONDS_OF=([long]=100 [short]=10 [last]=20)
        say "$(about "$(known_seconds)")"
        for name in long short last; do step $name takes $((SECONDS_OF[$name] * 4)); done
    """
    done = subprocess.run(["bash", "-euc", script, "getter"], cwd=HERE, capture_output=True, text=True, check=True)
    assert done.stderr.splitlines() == [
        "getter: about 2 minutes",
        "getter: long: built in 400 s; about 2 minutes left",
        "getter: short: built in 40 s; about 80 s left",
        "getter: last: built in 80 s",
    ]


TESTS = {
    "cluster": "def test_it(): parts.require(parts.CONTROL_PLANE)",
    "deploy": "def test_it(): parts.require('helm-4')\ndef test_another(): parts.require('helm-4')",
    "unit": "def test_it(): parts.require('envoy')",
}


@pytest.fixture
def tests_of(tmp_path: Path) -> list[str]:
    """The words that run a few tests that need parts, in folders as here and with the same conftest.py."""
    for folder, text in TESTS.items():
        (tmp_path / "tests" / folder).mkdir(parents=True)
        (tmp_path / "tests" / folder / "test_it.py").write_text(f"from tests import parts\n{text}\n")
    options = [f"--rootdir={tmp_path}", "--import-mode=importlib", "-p", "tests.conftest", "-p", "no:cacheprovider"]
    return [sys.executable, "-m", "pytest", "-v", *options, str(tmp_path / "tests")]


@pytest.mark.parametrize("workers", [[], ["-n", "1"]])
def test_what_was_not_tested_is_told_in_one_line(machine: Path, tests_of: list[str], workers: list[str]) -> None:
    done = run(tests_of, *workers)
    told = (
        "not tested, for want of: helm-4 (run tests/parts/build-program helm-4) - 2 tests, "
        "control-plane (run tests/parts/build-control-plane) - 1 test"
    )
    assert told in done.stdout.splitlines()
    assert "1 passed, 3 skipped" in done.stdout


def test_without_a_control_plane_the_cluster_comes_last(beside: Make, machine: Path, tests_of: list[str]) -> None:
    words = [*beside("true"), *tests_of]
    cluster, unit = "tests/cluster/test_it.py::test_it", "tests/unit/test_it.py::test_it"
    without = run(words).stdout
    assert without.index(f"{unit} PASSED") < without.index(f"{cluster} SKIPPED")
    assert lines(machine / "asked") == 2  # the control plane and Helm, once each
    for name in parts.GETTERS["build-control-plane"][1:]:
        program(machine / "control-plane" / "v1.0.0" / name)
    there = run(words).stdout
    assert there.index(f"{cluster} PASSED") < there.index(f"{unit} PASSED")
