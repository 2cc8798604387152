"""The little language of `-k`."""

from __future__ import annotations

import pytest

from injector.authoring.cases.suite import chosen_by
from tests.messages import Golden

NAME = "templates/envoy/tests/basic.yaml: a Deployment gets it, redirected"


@pytest.mark.parametrize(
    ("expression", "chosen"),
    [
        ("envoy", True),
        ("ENVOY", True),
        ("nginx", False),
        ("not nginx", True),
        ("not not nginx", False),
        ("envoy and deployment", True),
        ("envoy and nginx", False),
        ("nginx or envoy", True),
        ("nginx or envoy and fault", False),
        ("(nginx or envoy) and deployment", True),
        ("nginx or (envoy and not fault)", True),
        ("not (nginx or envoy)", False),
        ('"gets it"', True),
        ("'gets nothing'", False),
        ("'and'", False),
        ("not envoy or redirected", True),
        ("basic.yaml", True),
        ("it,", True),
    ],
)
def test_it_chooses(expression: str, chosen: bool) -> None:
    assert chosen_by(expression)(NAME) is chosen


@pytest.mark.parametrize(
    "expression",
    [
        "",
        "  ",
        "a and",
        "not",
        "and a",
        "a b",
        "(a",
        "a)",
        "()",
        "'a",
    ],
)
def test_it_says_what_is_wrong(expression: str, golden: Golden) -> None:
    with pytest.raises(ValueError) as error:
        chosen_by(expression)
    golden(str(error.value))
