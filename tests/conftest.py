"""Options of all tests, in which order they run, and what is told of the parts that they lacked."""

from __future__ import annotations

import gc
import itertools
import os
import signal
import tempfile
from collections import Counter
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from tests import messages, parts, silence
from tests.messages import Golden, Sections

# Machines are busy: how long an example takes says nothing.
settings.register_profile("here", deadline=None)
settings.load_profile("here")

# Looking for garbage among all tests took a tenth of their processor time.
gc.set_threshold(50_000, 20, 100)

# A shell ignores SIGINT for what it starts in the background, and every program that the tests start would inherit it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

#: The folders whose tests need parts come last, first those whose parts are there sooner.
_ORDER = {"cluster": 1, "deploy": 2, "dataplane": 3}

#: What `make test-programs` has built, those first that more tests wait for.
_BUILT = ("helm-3", "oauth2-proxy", "cloud-sql-proxy", "otelcol", "vault")

#: The folders whose tests wait most of their time, for the control plane or for programs.
_WAITING = frozenset(("cluster", "dataplane"))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update", action="store_true", help="write what comes out as the new golden files; look at the diff"
    )


def _folder(item: pytest.Item) -> str:
    return item.nodeid.split("/")[1]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Each test of `make soak` says how long it may take. While the control plane is built, the tests run that can do
    without it; otherwise those that wait run beside those that compute.
    """
    for item in items:
        for mark in item.iter_markers("soak"):
            item.add_marker(pytest.mark.timeout(60 * mark.kwargs["minutes"]))
    if "PARTS_LATER" in os.environ:
        items.sort(key=lambda item: _ORDER.get(_folder(item), 0))
    else:
        kinds: dict[bool, dict[Path, float]] = {True: {}, False: {}}
        for item in reversed(items):  # the longest are the walkthroughs, and no long one should come last
            kinds[_folder(item) in _WAITING].setdefault(item.path, 0)
        for files in kinds.values():
            files.update((file, number / len(files)) for number, file in enumerate(files))
        places = kinds[True] | kinds[False]
        items.sort(key=lambda item: places[item.path])


def pytest_collection_finish(session: pytest.Session) -> None:
    """What many tests will need is got beside the first ones. What is here now is no garbage."""
    gc.freeze()
    folders = {_folder(item) for item in session.items}
    if "dataplane" in folders:
        parts.begin_to_get("nginx")
    if "cluster" in folders:
        parts.begin_to_get(parts.CONTROL_PLANE)
    if "deploy" in folders:
        parts.begin_to_get("helm-4")
    if folders >= set(_ORDER) and parts.FEW_PARTS not in os.environ:
        for part in _BUILT:
            parts.begin_to_get(part)


# ---------------------------------------------------------------------------------------------- words for people


@pytest.fixture
def codes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Diagnostics say their code and fields in place of words, in this process and in the commands that it starts."""
    with tempfile.NamedTemporaryFile() as file, silence.saying("codes"):
        monkeypatch.setenv(silence.WORDS, file.name)
        yield


@pytest.fixture(scope="module")
def sections(request: pytest.FixtureRequest) -> Iterator[Sections]:
    """The golden file of the test's module."""
    made = Sections(request.path.with_suffix(".messages.txt"))
    yield made
    made.write()


@pytest.fixture
def golden(request: pytest.FixtureRequest, codes: None, sections: Sections, tmp_path: Path) -> Golden:
    """Compares what texts for people say, whatever their words are, with the golden file: see tests/messages.py."""
    name, update = request.node.name, request.config.getoption("--update")
    family, numbers = messages.family(request.path), itertools.count(1)

    def check(*values: Any) -> None:
        text = messages.clean("\n".join(messages.texts(values)), tmp_path)
        number = next(numbers)
        if family:
            request.config.stash[_WORDS].setdefault(family, set()).update(messages.spoken(text))
        sections.check(name if number == 1 else f"{name} {number}", text, update)

    return check


_WORDS = pytest.StashKey[dict[str, set[str]]]()


def pytest_configure(config: pytest.Config) -> None:
    config.stash[_WORDS] = {}


def pytest_testnodedown(node: Any, error: object) -> None:
    """A worker of xdist has ended: what was said there."""
    for family, lines in getattr(node, "workeroutput", {}).get("words", {}).items():
        node.config.stash[_WORDS].setdefault(family, set()).update(lines)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Compare the words of the whole run with tests/words."""
    config, words = session.config, session.config.stash[_WORDS]
    if hasattr(config, "workeroutput"):
        config.workeroutput["words"] = {family: sorted(lines) for family, lines in words.items()}
    elif config.getoption("--update"):
        messages.update(
            words, whole=not config.option.keyword and config.args_source is pytest.Config.ArgsSource.TESTPATHS
        )
    else:
        config.stash[_DIFFERENCES] = list(messages.differences(words))
        if config.stash[_DIFFERENCES] and not session.exitstatus:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED


_DIFFERENCES = pytest.StashKey[list[str]]()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    call: pytest.CallInfo[None],
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """A report says which part it lacked, across processes."""
    report = yield
    if call.excinfo and hasattr(call.excinfo.value, "wanted"):
        report.wanted = call.excinfo.value.wanted
    return report


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> Generator[None, None, None]:
    """The last words: what was not tested, and what it takes."""
    yield
    if differences := terminalreporter.config.stash.get(_DIFFERENCES, []):
        terminalreporter.section("words that are not those of tests/words; --update writes them anew", red=True)
        terminalreporter.write("".join(f"{line}\n" for line in differences))
    skipped = terminalreporter.stats.get("skipped", [])
    wanted = Counter(report.wanted for report in skipped if hasattr(report, "wanted"))
    if wanted:
        told = ", ".join(f"{part} - {count} test{'s' * (count > 1)}" for part, count in wanted.most_common())
        terminalreporter.write_line(f"not tested, for want of: {told}", yellow=True)
