"""Generated pods with every other template of the gallery; a file of its own as other processes run it then."""

import pytest

from tests.baseline.check import check_share
from tests.baseline.parts import PARTS


@pytest.mark.parametrize("part", [name for name in PARTS if name.startswith("pods/")][::2])
def test_pods(part: str) -> None:
    check_share(part)
