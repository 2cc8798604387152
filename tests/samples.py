"""Every so many cases of a long list stay in `make test`; all the others are of `make soak`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def sampled(cases: Iterable[Any], every: int, minutes: float = 1) -> list[Any]:
    """What `parametrize` takes: a tuple has a value for each name."""
    return [case if number % every == 0 else _for_soak(case, minutes) for number, case in enumerate(cases)]


def _for_soak(case: Any, minutes: float) -> Any:
    soak = pytest.mark.soak(minutes=minutes)
    if hasattr(case, "marks"):  # made with pytest.param
        return pytest.param(*case.values, id=case.id, marks=[*case.marks, soak])
    return pytest.param(*(case if isinstance(case, tuple) else [case]), marks=soak)
