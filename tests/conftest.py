"""Options of all tests."""

from __future__ import annotations

import pytest
from hypothesis import settings

# Machines are busy: how long an example takes says nothing.
settings.register_profile("here", deadline=None)
settings.load_profile("here")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update", action="store_true", help="write what comes out as the new golden files; look at the diff"
    )
