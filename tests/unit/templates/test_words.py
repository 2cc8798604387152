"""What Python, Jinja and libyaml say is told in an author's words."""

from __future__ import annotations

import pytest

from injector.errors import TemplateError
from injector.templates.render import RenderError
from tests.messages import Golden
from tests.unit.templates.build import overlay

#: An expression that fails, and what is said.
EXPRESSIONS = {
    "5 | length": "a number has no length",
    "range('a')": "a whole number is needed here, and this is a string",
    "'a,b' | split(',', 1, 2)": "split: too many arguments",
    "'abc' | replace('a')": "replace(): the argument new is missing",
    "[1, 'a'] | sort": "a string and a number cannot be compared with < or >",
    "1 < none": "a number and null cannot be compared with < or >",
    "[[1], [2]] | unique": "a list cannot be used as a key",
    "'a' in 5": "a number has no items to search with `in`",
    "'x' | round": "a number is needed here, and this is a string",
    "-'x'": "a number is needed here, and this is a string",
    "'x'.startswith(1)": "a string is needed here, and this is a number",
    "'x'.split(1)": "a string is needed here, and this is a number",
    "[] | first": "the list is empty, so there is nothing to take from it; use `| default(...)`",
    "5 | first": "a list is needed here, and this is a number",
    "5 | join": "a list is needed here, and this is a number",
    "true()": "a boolean cannot be called",
    "1 if not native": "nothing is written here: the `if` within {{ }} is false and has no else",
}


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_expressions(expression: str) -> None:
    with pytest.raises(RenderError) as caught:
        overlay(f"a: 1\nb: {{{{ {expression} }}}}\n")
    assert EXPRESSIONS[expression] in caught.value.diagnostic.message
    assert (caught.value.place.line, caught.value.place.column) == (2, 7)


@pytest.mark.parametrize(
    "call",
    [
        "warn()",
        "fail('a', 'b')",
        "deny('x', cod=3)",
        "native()",
        "deny('x', code=200)",
    ],
)
def test_calls_that_never_work_where_nothing_comes_by(call: str, golden: Golden) -> None:
    with pytest.raises(TemplateError) as caught:
        overlay(f"a: 1\n{{% if native %}}\nb: {{{{ {call} }}}}\n{{% endif %}}\n")
    golden(caught.value.diagnostic.message)
    assert caught.value.place
    assert (caught.value.place.line, caught.value.place.column) == (3, 7)


@pytest.mark.parametrize(
    "text",
    [
        "{% for k, v in object %}{% endfor %}",
        "{% for k, v in ports %}{% endfor %}",
        "{% macro m(a) %}{% endmacro %}{{ m(1, 2) }}",
        "{% macro m(a) %}{% endmacro %}{{ m(b=2) }}",
    ],
)
def test_statements(text: str, golden: Golden) -> None:
    with pytest.raises(RenderError) as caught:
        overlay(text)
    golden(caught.value.diagnostic.message)


def test_a_macro_that_is_not_defined_on_this_way(golden: Golden) -> None:
    macros = "{% if not native %}{% macro m() %}{% endmacro %}{% endif %}"
    with pytest.raises(RenderError) as caught:
        overlay('{% from "_m.j2" import m %}\n{{ m() }}\n', **{"_m.j2": macros})
    golden(caught.value.diagnostic.message)


@pytest.mark.parametrize("quote", "\u201c\u2019")
def test_a_typesetters_quotes_are_none(quote: str, golden: Golden) -> None:
    with pytest.raises(TemplateError) as caught:
        overlay(f"a: 1\nb: {{{{ native | default({quote}x) }}}}\n")
    golden(str(caught.value))
