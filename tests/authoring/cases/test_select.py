"""The little language of `-k`."""

from __future__ import annotations

import pytest

from injector.authoring.cases.runner import chosen_by

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
    ("expression", "message"),
    [
        ("", "it is empty"),
        ("  ", "it is empty"),
        ("a and", "a word is missing at its end"),
        ("not", "a word is missing at its end"),
        ("and a", "a word is missing before and"),
        ("a b", "b has no `and` or `or` before it"),
        ("(a", "a ( is not closed"),
        ("a)", ") has no `and` or `or` before it"),
        ("()", "a word is missing before )"),
        ("'a", "a quote in 'a is not closed"),
    ],
)
def test_it_says_what_is_wrong(expression: str, message: str) -> None:
    with pytest.raises(ValueError) as error:
        chosen_by(expression)
    assert str(error.value) == message
