"""Processor time as a multiple of a reference measured beside it: how fast or busy a machine is says nothing."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager


def reference() -> float:
    """Processor seconds of a fixed piece of work, at this moment: 5 ms on a quiet machine."""
    began = time.process_time()
    total = 0
    for number in range(150_000):
        total += number
    return time.process_time() - began


@contextmanager
def at_most(multiple: float) -> Iterator[None]:
    """What runs within costs this process at most so many times the reference, measured before and after."""
    before = reference()
    began = time.process_time()
    yield
    spent = time.process_time() - began
    assert spent < multiple * max(before, reference())
