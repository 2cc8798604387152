"""Options of all tests."""

from __future__ import annotations

import pytest
from hypothesis import settings

# Machines are busy: how long an example takes says nothing.
settings.register_profile("here", deadline=None)
settings.load_profile("here")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Each test of `make soak` says how many minutes it may take."""
    for item in items:
        for mark in item.iter_markers("soak"):
            item.add_marker(pytest.mark.timeout(60 * mark.kwargs["minutes"]))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update", action="store_true", help="write what comes out as the new golden files; look at the diff"
    )
