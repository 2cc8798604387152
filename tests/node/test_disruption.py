"""How many pods of `enabled` namespaces start without their sidecar while replicas are replaced or die, and what helps.

docs/operations.md has these figures. Each run creates pods on trial (dry run) without pause.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from injector import __version__
from tests.cluster.conftest import NamespaceFactory
from tests.cluster.objects import pod
from tests.node import images
from tests.node.calls import ENABLED, app, sidecar_names
from tests.node.installation import Installation
from tests.node.stream import CHOSEN, Doings

Record = Callable[[str, object], None]
TIMES = 3
PAUSE = 0.02
#: What the code does, and what it does in the image that leaves it out: module, text, other text.
LEFT_OUT = {
    "readiness that does not fail when the drain begins": (
        "webhook/app.py",
        "if self.drain.requested.is_set():",
        "if False:",
    ),
    "answers that do not close their connections during the drain": (
        "webhook/exchange.py",
        "if self._close or state.closing:",
        "if self._close:",
    ),
}


@contextmanager
def created(injector: Installation, space: str, record: Record) -> Iterator[None]:
    """Create pods on trial meanwhile, and record how many had no sidecar."""
    stop, count = threading.Event(), {"pods": 0, "without their sidecar": 0}

    def create() -> None:
        while not stop.wait(PAUSE):
            made = injector.api.create(pod("web", containers=[app()]), space, dry_run=True)
            with lock:
                count["pods"] += 1
                count["without their sidecar"] += not sidecar_names(made)

    lock, threads = threading.Lock(), [threading.Thread(target=create) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    for what, number in count.items():
        record(what, number)
    assert count["pods"] > 300


def restart(injector: Installation, namespace: NamespaceFactory, record: Record) -> None:
    """Roll the replicas over under this load."""
    doings, space = Doings(injector), namespace(labels=ENABLED, annotations=CHOSEN)
    with created(injector, space, record):
        for _ in range(TIMES):
            doings.upgraded()


@pytest.mark.soak(minutes=4)
def test_restarts(injector: Installation, namespace: NamespaceFactory, record_property: Record) -> None:
    """three rolling restarts, as the chart has it"""
    restart(injector, namespace, record_property)


@pytest.mark.soak(minutes=4)
@pytest.mark.parametrize("seconds", [2, 0])
def test_restarts_with_a_shorter_drain(
    injector: Installation, namespace: NamespaceFactory, record_property: Record, seconds: int
) -> None:
    """three rolling restarts, with `drainSeconds: {seconds}`"""
    with injector.settings(server={"drainSeconds": seconds}):
        Doings(injector).upgraded()
        restart(injector, namespace, record_property)
    Doings(injector).upgraded()


@pytest.mark.soak(minutes=6)
@pytest.mark.parametrize("what", LEFT_OUT)
def test_restarts_without(
    injector: Installation,
    namespace: NamespaceFactory,
    record_property: Record,
    image: Callable[[Path, str], None],
    tmp_path: Path,
    what: str,
) -> None:
    """three rolling restarts, with {what}"""
    module, text, other = LEFT_OUT[what]
    images.copy_sources(tmp_path)
    code = (tmp_path / "injector" / module).read_text()
    assert code.count(text) == 1
    (tmp_path / "injector" / module).write_text(code.replace(text, other))
    image(tmp_path, f"{__version__}-{list(LEFT_OUT).index(what)}")
    restart(injector, namespace, record_property)


@pytest.mark.soak(minutes=4)
def test_kills(injector: Installation, namespace: NamespaceFactory, record_property: Record) -> None:
    """each replica killed by SIGKILL in turn, three times"""
    doings, space = Doings(injector), namespace(labels=ENABLED, annotations=CHOSEN)
    doings.upgraded()  # containers that were killed before wait longer and longer
    with created(injector, space, record_property):
        for _ in range(TIMES):
            doings.killed()
