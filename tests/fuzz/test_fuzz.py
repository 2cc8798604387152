"""Each target for a while."""

from __future__ import annotations

import logging
import random

import pytest

from tests.fuzz.run import FIRST, SECONDS, fuzz
from tests.fuzz.targets import CORPUS, TARGETS


@pytest.mark.parametrize("name", TARGETS)
def test_for_some_seconds(name: str) -> None:
    tried = fuzz(TARGETS[name], SECONDS, FIRST)
    logging.info("%s: %s examples from seed %s", name, f"{tried:,}", FIRST)
    assert tried > 1


@pytest.mark.soak(minutes=5)
@pytest.mark.parametrize("name", TARGETS)
def test_for_longer(name: str) -> None:
    """Ten minutes in all, with examples of its own in every run."""
    first = random.SystemRandom().randrange(1 << 30)
    logging.info("%s: %s examples from seed %s", name, f"{fuzz(TARGETS[name], 600 / len(TARGETS), first):,}", first)


def test_the_corpus_is_small() -> None:
    files = [path for path in CORPUS.rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) < 64 * 1024
