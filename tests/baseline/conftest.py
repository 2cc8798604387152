"""The baseline holds no words, and warnings that say the same are counted once: so each says its code and fields."""

from collections.abc import Iterator

import pytest

from tests import silence


@pytest.fixture(autouse=True)
def codes_in_place_of_words() -> Iterator[None]:
    with silence.saying("codes"):
        yield
