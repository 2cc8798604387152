"""Limits on time and memory: they hold in the main thread, for as long as they are asked for, and leave no trace."""

from __future__ import annotations

import contextlib
import gc
import itertools
import os
import resource
import signal
import subprocess
import sys
import threading
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from injector.errors import TemplateError
from injector.loading import trial
from injector.loading.trial import limited

ROOT = Path(__file__).parents[3]


def state() -> tuple[object, ...]:
    return (
        resource.getrlimit(resource.RLIMIT_AS),
        signal.getsignal(signal.SIGPROF),
        signal.getitimer(signal.ITIMER_PROF),
        gc.isenabled(),
    )


def spin() -> None:
    while True:
        pass


def test_time() -> None:
    before = state()
    with pytest.raises(TemplateError) as caught, limited("mine", "a/mine", seconds=0.05):
        spin()
    assert (caught.value.template, caught.value.rule) == ("mine", "limit")
    assert state() == before


def test_the_time_of_other_threads_does_not_count() -> None:
    done = threading.Event()

    def work() -> None:
        while not done.is_set():
            pass

    busy = threading.Thread(target=work)
    busy.start()
    try:
        with limited("mine", seconds=0.1):
            done.wait(0.5)
    finally:
        done.set()
        busy.join()


def test_memory() -> None:
    before = state()
    with pytest.raises(TemplateError), limited("mine", memory=32 * 1024 * 1024):
        # more than the process may have free from before, which the limit leaves it
        [bytearray(64 * 1024 * 1024) for _ in range(1000)]
    assert state() == before


def test_no_garbage_of_the_process_is_collected_on_the_time_of_a_template() -> None:
    with limited("mine"):
        before = gc.get_stats()
        held: list[list[object]] = [[] for _ in range(50_000)]
        assert gc.get_stats() == before
    assert held and gc.isenabled()


def test_one_that_is_taken_for_something_else_comes_again() -> None:
    with pytest.raises(TemplateError), limited("mine", seconds=0.05):
        try:
            spin()
        except Exception:
            spin()


def test_within_itself_the_outer_one_holds() -> None:
    with pytest.raises(TemplateError) as caught, limited("outer", seconds=0.05), limited("inner", seconds=60):
        spin()
    assert caught.value.template in ("inner", "outer")
    with limited("outer"):
        inside = state()
        with limited("inner"):
            assert state()[:2] == inside[:2]


def test_other_errors_pass_and_other_threads_have_no_limits() -> None:
    before = state()
    with pytest.raises(KeyError), limited("mine"):
        raise KeyError
    seen = []

    def elsewhere() -> None:
        with limited("mine", memory=0):
            seen.append(state())

    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()
    assert seen == [before]
    assert state() == before


def interrupted(at: int, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Do nothing within limits, with the signal before the instruction of this number while the timer runs; whether
    there are so many.
    """
    left = at

    def trace(frame: FrameType, event: str, _argument: object) -> Any:
        nonlocal left
        if frame.f_code.co_filename not in (trial.__file__, contextlib.__file__):
            return None
        frame.f_trace_opcodes = True
        if event == "opcode" and signal.getitimer(signal.ITIMER_PROF)[0]:
            left -= 1
            if left == 0:
                sys.settrace(None)
                handler: Any = signal.getsignal(signal.SIGPROF)
                handler(signal.SIGPROF, frame)
        return trace

    others = sys.gettrace()
    monkeypatch.setattr(trial, "thread_time", itertools.count(step=1000).__next__)  # it is always time
    sys.settrace(trace)
    try:
        with contextlib.suppress(TemplateError), limited("mine"):
            pass
    finally:
        sys.settrace(others)
    return left <= 0


def test_whenever_the_signal_comes_nothing_is_left_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    before = state()
    at = 1
    while interrupted(at, monkeypatch):
        assert state() == before, at
        at += 1
    assert state() == before
    assert 20 < at < 500


def test_what_an_import_takes_is_not_the_templates_time(tmp_path: Path) -> None:
    """Beside packages that check more formats `jsonschema` takes a second to import, as with `rfc3987_syntax`."""
    burn = "from time import process_time\nend = process_time() + 0.8\nwhile process_time() < end: pass\n"
    (tmp_path / "rfc3987_syntax.py").write_text(f"{burn}is_valid_syntax_iri = is_valid_syntax_iri_reference = bool\n")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/template.yaml").write_text("description: x\nparameters: {a: {type: string, default: b}}\n")
    (tmp_path / "mine/overlay.yaml.j2").write_text("metadata: {labels: {a: '{{ params.a }}'}}\n")
    done = subprocess.run(
        [sys.executable, "-m", "injector", "render", "mine"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": f"{tmp_path}:{ROOT}"},
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
