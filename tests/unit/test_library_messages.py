"""Each pattern over another library's words holds for what that library says today."""

from __future__ import annotations

import inspect
import operator
import subprocess
import sys
from collections.abc import Callable

import jinja2
import jinja2.lexer
import pytest
import re2
import yaml

from injector import library_messages as messages
from injector.library_messages import LibraryMessage, jinja_message, python_message, yaml_message

#: By kind, a text that libyaml cannot read, and the values in what it says.
YAML = {
    "no-colon": ("a: b\nc\n", ()),
    "open-quote": ("a: 'b\n", ()),
    "open-bracket": ("a: [b\nc: d\n", ("]",)),
    "no-key": ("a: 'b' c: d\n", ()),
    "no-dash": ("- a\nb: c\n", ()),
    "no-mapping": ("a: b: c\n", ()),
    "no-token": ("a: @b\n", ()),
    "no-document": ("[a]\nb\n", ()),
    "second-document": ("a: b\n---\nc: d\n", ()),
    "no-anchor": ("a: *\n", ()),
    "unknown-alias": ("a: *b\n", ()),
    "tab": ("a: |\n\tb\n", ()),
    "no-value": ("a: [\n", ()),
    "no-list": ("a: - b\n", ()),
    "unknown-escape": ('a: "\\q"\n', ()),
    "no-question": ("a: ? b\n", ()),
}


@pytest.mark.parametrize("kind", list(messages._yaml_words))
def test_libyaml(kind: str) -> None:
    text, values = YAML[kind]
    with pytest.raises(yaml.YAMLError) as caught:
        yaml.compose(text, yaml.CSafeLoader)
    assert yaml_message(caught.value) == LibraryMessage(kind, values), caught.value


#: By kind, a text that Jinja cannot read, and the values in what it says; of a position, that of the first line.
JINJA = {
    "open-block": ("{% if a %}", ()),
    "early-end": ("{{ a", ()),
    "open-comment": ("{# a", ()),
    "open-raw": ("{% raw %}a", ()),
    "unknown-tag": ("{% if a %}{% endfor %}", ("endfor", "if")),
    "wrong-token": ("{{ a b }}", ("end of print statement", "b")),
    "no-expression": ("{{ }}", ()),
    "wrong-bracket": ("{{ (a] }}", (")",)),
    "no-name": ("{{ a.() }}", ()),
    "wrong-character": ("{{ a ? }}", ("5",)),
    "unexpected": ("{{ a } }}", ("}",)),
}


@pytest.mark.parametrize("kind", list(messages.jinja_message))
def test_jinja(kind: str) -> None:
    text, values = JINJA[kind]
    with pytest.raises(jinja2.TemplateSyntaxError) as caught:
        jinja2.Environment().parse(text)
    assert jinja_message(caught.value.message or "") == LibraryMessage(kind, values), caught.value.message


def test_a_tag_that_no_block_is_open_for_has_none() -> None:
    with pytest.raises(jinja2.TemplateSyntaxError) as caught:
        jinja2.Environment().parse("{% endfor %}")
    assert jinja_message(caught.value.message or "") == LibraryMessage("unknown-tag", ("endfor", ""))


@pytest.mark.parametrize("token", messages.TOKENS)
def test_jinja_has_these_names_for_its_tokens(token: str) -> None:
    types = ("variable_begin", "variable_end", "block_begin", "block_end", "data", "eof")
    assert token in [jinja2.lexer.describe_token_expr(kind) for kind in types]


RE2 = {
    "no-look-around": "(?=a)",
    "no-escape": r"(a)\1",
    "too-often": "a{1001}",
    "too-large": r"(\pL{100}){10}" * 100,
}


@pytest.mark.parametrize("kind", list(messages.re2_message))
def test_re2(kind: str) -> None:
    options = re2.Options()
    options.log_errors = False
    with pytest.raises(re2.error) as caught:
        re2.compile(RE2[kind], options)
    assert messages.re2_message(caught.value.args[0].decode()).kind == kind, caught.value


UNDEFINED = {
    "no-else": ("{{ (1 if false).a }}", ()),
    "empty-list": ("{{ [] | first }}", ()),
    "no-argument": ("{% macro m(a) %}{{ a }}{% endmacro %}{{ m() }}", ("a",)),
    "not-exported": ("{% from 'other' import m %}{{ m() }}", ("other",)),
}


@pytest.mark.parametrize("kind", list(messages.undefined_message))
def test_what_jinja_says_of_something_that_is_not_there(kind: str) -> None:
    text, values = UNDEFINED[kind]
    environment = jinja2.Environment(
        undefined=jinja2.StrictUndefined, optimized=False, loader=jinja2.DictLoader({"other": "", "a": text})
    )
    with pytest.raises(jinja2.UndefinedError) as caught:
        environment.get_template("a").render()
    assert messages.undefined_message(caught.value.message or "") == LibraryMessage(kind, values), caught.value.message


def _signature(*args: object, **kwargs: object) -> None:
    inspect.signature(lambda what: what).bind(*args, **kwargs)


def _unpack(value: object) -> None:
    _, _ = value  # type: ignore[misc]


def _macro(text: str) -> Callable[[], object]:
    return lambda: jinja2.Environment().from_string("{% macro m(a) %}{% endmacro %}" + text).render()


#: By kind, what Python (or a macro) raises it for, and the values in what it says.
PYTHON: dict[str, list[tuple[Callable[[], object], tuple[str, ...]]]] = {
    "uneven-items": [(lambda: _unpack([1]), ()), (lambda: _unpack([1, 2, 3]), ())],
    "one-value": [(lambda: _unpack(5), ("int",))],
    "no-order": [(lambda: 1 < None, ("int", "NoneType"))],  # type: ignore[operator]
    "no-whole-number": [(lambda: range("a"), ("str",))],  # type: ignore[call-overload]
    "no-iteration": [(lambda: list(5), ("int",))],  # type: ignore[call-overload]
    "no-length": [(lambda: len(5), ("int",))],  # type: ignore[arg-type]
    "no-items": [(lambda: operator.getitem(5, 0), ("int",))],  # type: ignore[call-overload]
    "missing-argument": [((lambda: _unpack()), ("_unpack", "value"))],  # type: ignore[call-arg]
    "too-many-arguments": [
        (lambda: _unpack(1, 2), ("_unpack",)),  # type: ignore[call-arg]
        (_macro("{{ m(1, 2) }}"), ("m",)),
    ],
    "unknown-argument": [
        (lambda: _unpack(values=1), ("_unpack", "values")),  # type: ignore[call-arg]
        (_macro("{{ m(b=2) }}"), ("m", "b")),
    ],
    "missing-in-call": [(_signature, ("what",))],
    "too-many-in-call": [(lambda: _signature(1, 2), ())],
    "unknown-in-call": [(lambda: _signature(1, other=2), ("other",))],
    "no-hash": [(lambda: {[]}, ("list",))],
    "no-container": [(lambda: "a" in 5, ("int",))],  # type: ignore[operator]
    "no-text-in": [(lambda: 5 in "a", ("int",))],  # type: ignore[operator]
    "no-number": [(lambda: round("x"), ("str", "")), (lambda: -"x", ("", "str"))],  # type: ignore[call-overload, operator]
    "no-string": [(lambda: "x".split(1), ("int",))],  # type: ignore[arg-type]
}


@pytest.mark.parametrize("kind", list(messages.python_message))
def test_python(kind: str) -> None:
    for raising, values in PYTHON[kind]:
        with pytest.raises((TypeError, ValueError)) as caught:
            raising()
        assert python_message(str(caught.value)) == LibraryMessage(kind, values), caught.value


def test_a_denial_that_says_cannot_is_no_missing_permission() -> None:
    words = 'admission webhook "policy.example.com" denied the request: containers cannot run as root'
    assert messages.api_server_message(words).kind == ""


def test_python_says_that_memory_is_gone() -> None:
    code = "import resource; resource.setrlimit(resource.RLIMIT_AS, (1 << 28, 1 << 28)); bytearray(1 << 29)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert done.returncode != 0
    assert messages.ran_out_of_memory(done.stderr)
