"""Options of all tests, in which order they run, and what is told of the parts that they lacked."""

from __future__ import annotations

import os
import signal
from collections import Counter
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from tests import parts, silence

# Machines are busy: how long an example takes says nothing.
settings.register_profile("here", deadline=None)
settings.load_profile("here")

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
    """What many tests will need is got beside the first ones."""
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


@pytest.fixture
def codes() -> Iterator[None]:
    """Diagnostics say their code and fields in place of words, in this process and in the commands that it starts."""
    with silence.saying("codes"):
        yield


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
    skipped = terminalreporter.stats.get("skipped", [])
    wanted = Counter(report.wanted for report in skipped if hasattr(report, "wanted"))
    if wanted:
        told = ", ".join(f"{part} - {count} test{'s' * (count > 1)}" for part, count in wanted.most_common())
        terminalreporter.write_line(f"not tested, for want of: {told}", yellow=True)
