"""Each target, with a number of examples or for a while."""

from __future__ import annotations

import logging

import pytest

from tests.fuzz.run import SECONDS, fuzz
from tests.fuzz.targets import CORPUS, TARGETS


@pytest.mark.parametrize("name", TARGETS)
def test_each(name: str) -> None:
    tried = fuzz(TARGETS[name], SECONDS)
    logging.info("%s: %s examples", name, f"{tried:,}")
    assert tried > 100


@pytest.mark.soak(minutes=5)
@pytest.mark.parametrize("name", TARGETS)
def test_for_longer(name: str) -> None:
    """Ten minutes in all, with examples of its own in every run."""
    logging.info("%s: %s examples", name, f"{fuzz(TARGETS[name], 600 / len(TARGETS)):,}")


def test_the_corpus_is_small() -> None:
    files = [path for path in CORPUS.rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) < 64 * 1024
