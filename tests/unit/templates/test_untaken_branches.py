"""Tabs that indent: found whatever branch is taken, and left alone where YAML allows them."""

from __future__ import annotations

import pytest

from injector.templates.yaml_errors import tab_in


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("a: 1\n{% if x %}\n\tb: 2\n{% endif %}\n", 16),
        ("{{ warn('a: b') }}\na:\n  {{ lines() }}\n{% if x %}\n  \t- b\n{% endif %}\n", 51),
        ("a: {{ x }}\n\tb: c\n", 11),
    ],
)
def test_a_tab_that_indents(text: str, at: int) -> None:
    assert tab_in(text) == at
    assert text[at] == "\t"


@pytest.mark.parametrize(
    "text",
    [
        "a: |\n  b:\n  \tc: d\n",
        "a: |\n{% if x %}\n  b:\n  \tc: d\n{% endif %}\n",
        'a: "b\n\tc: d"\n',
        "a: [\n\tb, c]\n",
        "\t{% if x %}\na: b\n\t{% endif %}\n",
        "{# a\n\tb: c #}\na: b\n",
        "a: b\t# c\n",
        "{{ a b\n\tc: [\n",
        "a: b\n\t\nc: d\n",
    ],
)
def test_any_other_tab_is_no_matter_here(text: str) -> None:
    try:
        assert tab_in(text) is None
    except Exception as error:  # of Jinja's, which tells it first
        assert type(error).__name__ == "TemplateSyntaxError"
