"""What Python, Jinja and libyaml say is told in an author's words."""

from __future__ import annotations

import pytest

from injector.errors import TemplateError
from injector.templates.render import RenderError
from tests.messages import Golden
from tests.unit.templates.build import overlay

#: Expressions that fail.
EXPRESSIONS = [
    "5 | length",
    "range('a')",
    "'a,b' | split(',', 1, 2)",
    "'abc' | replace('a')",
    "[1, 'a'] | sort",
    "1 < none",
    "[[1], [2]] | unique",
    "'a' in 5",
    "'x' | round",
    "-'x'",
    "'x'.startswith(1)",
    "'x'.split(1)",
    "[] | first",
    "5 | first",
    "5 | join",
    "true()",
    "1 if not native",
]


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_expressions(expression: str, golden: Golden) -> None:
    with pytest.raises(RenderError) as caught:
        overlay(f"a: 1\nb: {{{{ {expression} }}}}\n")
    golden(caught.value.diagnostic.message)
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
