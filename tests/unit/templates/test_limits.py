"""Limits on time and memory: they hold in the main thread, for as long as they are asked for, and leave no trace."""

from __future__ import annotations

import resource
import signal
import threading

import pytest

from injector.errors import TemplateError
from injector.templates.limits import TOO_LARGE, TOO_SLOW, limited


def state() -> tuple[object, ...]:
    return (
        resource.getrlimit(resource.RLIMIT_AS),
        signal.getsignal(signal.SIGPROF),
        signal.getitimer(signal.ITIMER_PROF),
    )


def spin() -> None:
    while True:
        pass


def test_time() -> None:
    before = state()
    with pytest.raises(TemplateError) as caught, limited("mine", "a/mine", seconds=0.05):
        spin()
    assert str(caught.value) == f"a/mine: error: {TOO_SLOW} [limit]"
    assert state() == before


def test_memory() -> None:
    before = state()
    with pytest.raises(TemplateError, match=TOO_LARGE), limited("mine", memory=32 * 1024 * 1024):
        bytearray(64 * 1024 * 1024)
    assert state() == before


def test_one_that_is_taken_for_something_else_comes_again() -> None:
    with pytest.raises(TemplateError, match=TOO_SLOW), limited("mine", seconds=0.05):
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
