"""Text files: values are harmless or quoted, or the render fails; and the quoted ones are read back as they were."""

# ruff: noqa: E501 - cases read best on one line

from __future__ import annotations

import configparser
import json
import shlex
import subprocess
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from injector.budget import FaultError
from injector.errors import InjectionError, TemplateError
from injector.templates.holes import Run, current
from injector.templates.quoting import SYNTAXES, check_harmless, json_quote
from tests.messages import Golden
from tests.unit.templates.build import file, overlay
from tests.unit.templates.hostile import HOSTILE

ini_value, nginx_quote, shell_quote = (SYNTAXES[syntax] for syntax in ("ini", "nginx", "sh"))
_TEXT = st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=40) | st.sampled_from(
    [value for value in HOSTILE if len(value) < 1000]
)


@pytest.mark.parametrize(
    "value", [0, 8080, -1, 1.5, "", "a", "10.0.0.0/8", "a=b,c", "fd00::1", "user@host", "50%", "A_b-c+d"]
)
def test_harmless_values_are_written_as_they_are(value: Any) -> None:
    assert file("x.conf", "a {{ params.v }};\n", {"v": value}) == f"a {value};\n"


@pytest.mark.parametrize(
    "value", ["a b", "a;b", "a\nb", "$a", '"', "'", "{", "}", "#", "\\", "é", "a\n", "`", "(", "<", "\x00"]
)
@pytest.mark.parametrize(
    "text",
    [
        "{{ params.v }}",
        "{{ 'x' ~ params.v }}",
        "{{ (params.v | nginx_quote) ~ '' }}" if False else "{{ params.v | string }}",
        "{{ (params.v | shell_quote) ~ params.v }}",
        "{{ params.v | shell_quote | trim }}",
        "{{ [params.v | shell_quote] | join }}",
        "{% macro m(v) %}{{ v }}{% endmacro %}{{ m(params.v) }}",
        "{% set x %}{{ params.v }}{% endset %}{{ x }}",
    ],
)
def test_others_are_refused_with_file_and_line(text: str, value: str) -> None:
    with pytest.raises(InjectionError) as caught:
        file("x.conf", f"a\n{text}\n", {"v": value})
    assert str(caught.value).startswith("sample/x.conf.j2:2:")


@pytest.mark.parametrize("value", [True, None, ["a"], {"a": "b"}])
def test_what_has_no_one_spelling_is_refused(value: Any, golden: Golden) -> None:
    with pytest.raises(InjectionError) as caught:
        file("x.conf", "a {{ params.v }}", {"v": value})
    golden(caught.value)


def test_quoted_values_go_through_macros() -> None:
    text = "{% macro m(v) %}set {{ v | nginx_quote }};{% endmacro %}{{ m(params.v) }}\n{% set x = params.v | nginx_quote %}{{ x }}"
    assert file("x.conf", text, {"v": 'a "b" \\'}) == 'set "a \\"b\\" \\\\";\n"a \\"b\\" \\\\"'


@pytest.mark.parametrize("name", ["nginx_quote", "ini_value"])
def test_in_documents_there_is_nothing_to_quote(name: str, golden: Golden) -> None:
    with pytest.raises(TemplateError) as caught:
        overlay(f"a: {{{{ params.v | {name} }}}}", {"v": "x"})
    golden(caught.value)


def script(text: str, value: str) -> str:
    """The script of a container, as it is rendered."""
    made = overlay(f"spec: {{containers: [{{name: x, command: [sh, -c, {text}]}}]}}", {"v": value})
    found: str = made["spec"]["containers"][0]["command"][2]
    return found


@pytest.mark.parametrize(
    "text",
    [
        '"printf %s {{ params.v | shell_quote }}"',
        "'printf %s {{ params.v | shell_quote }}'",
        '"{% set quoted = params.v | shell_quote %}printf %s {{ quoted }}"',
        '{{ "printf %s " ~ (params.v | shell_quote) }}',
        '"printf %s {{ [params.v] | map("shell_quote") | join(" ") }}"',
        '"{% macro say(v) %}printf %s {{ v | shell_quote }}{% endmacro %}{{ say(params.v) }}"',
    ],
)
@pytest.mark.parametrize("value", ["a b", "$(id)", "'; id; '", "`id`", "x\ny", "", '"', "\\"])
def test_a_script_within_a_document_takes_a_value_as_one_word(text: str, value: str) -> None:
    done = subprocess.run(["sh", "-c", script(text, value)], capture_output=True, check=True)
    assert done.stdout.decode() == value


def test_a_script_in_a_block_scalar() -> None:
    made = overlay("a: |\n  set -e\n  printf %s {{ params.v | shell_quote }}\n", {"v": "$(id)"})
    assert made["a"] == "set -e\nprintf %s '$(id)'\n"


def test_a_word_of_a_shell_does_not_stand_alone(golden: Golden) -> None:
    with pytest.raises(InjectionError) as caught:
        script("{{ params.v | shell_quote }}", "x")
    golden(caught.value)
    assert script('"{{ params.v | shell_quote }}"', "x") == "'x'"


def test_json_within_a_document() -> None:
    made = overlay('a: "{\\"k\\": {{ params.v | json_quote }}}"\nb: {{ params.v | json_quote }}', {"v": 'a"\n</'})
    assert json.loads(made["a"]) == {"k": 'a"\n</'}
    assert json.loads(made["b"]) == 'a"\n</'


@pytest.mark.parametrize(
    "text",
    [
        '{{ deny("add the label {{ params.v }}") }}',
        'a: "{{ "port-{{ params.v }}" }}"',
        'a: {{ ["{{ object.metadata.name }}"] }}',
        "{% for port in ports %}\na: {{ 'x{{ port }}' }}\n{% endfor %}",
        "{% set x = 'x{{- params.v }}' %}",
    ],
)
def test_a_hole_within_a_string_within_a_hole_is_an_error(text: str, golden: Golden) -> None:
    with pytest.raises(TemplateError) as caught:
        overlay(text, {"v": "x"})
    golden(caught.value)
    assert caught.value.place is not None and caught.value.place.column > 1


def test_braces_for_somebody_else_are_a_string_like_any() -> None:
    text = "a: \"{{ '{{ $labels.job }}' }} {{ '{{' }} {{ '{{ .Values.x }}' }} {{ '{{ job }}' }}\""
    assert overlay(text)["a"] == "{{ $labels.job }} {{ {{ .Values.x }} {{ job }}"


@settings(max_examples=300, deadline=None)
@given(_TEXT)
def test_json_quote_is_read_back(value: str) -> None:
    token = current.set(Run())
    quoted = json_quote(value)
    current.reset(token)
    assert json.loads(quoted) == value
    assert quoted.isascii() and "\n" not in quoted and "<" not in quoted


@settings(max_examples=300, deadline=None)
@given(_TEXT)
def test_shell_quote_is_one_word(value: str) -> None:
    if "\0" in value:
        with pytest.raises(FaultError):
            shell_quote(value)
    else:
        assert shlex.split(shell_quote(value)) == [value]


def test_shell_quote_in_a_shell() -> None:
    values = [v for v in HOSTILE if "\0" not in v and 0 < len(v) < 2000][:150]
    script = "printf '%s\\0' " + " ".join(shell_quote(v) for v in values)
    done = subprocess.run(["sh", "-c", script], capture_output=True, check=True)
    assert done.stdout.decode().split("\0")[:-1] == values


@settings(max_examples=300, deadline=None)
@given(_TEXT)
def test_ini_value_is_read_back(value: str) -> None:
    try:
        quoted = ini_value(value)
    except FaultError:
        return
    parser = configparser.ConfigParser()
    parser.read_string(f"[a]\nbefore = 1\nkey = {quoted}\nafter = 2\n")
    assert dict(parser["a"]) == {"before": "1", "key": value, "after": "2"}


def nginx_read(text: str) -> str:
    """A double-quoted parameter as nginx's own parser reads it: a backslash takes the next character as it is."""
    assert text[0] == '"'
    result = ""
    position = 1
    while text[position] != '"':
        if text[position] == "\\":
            # \t, \r and \n become characters; \" \' and \\ lose their backslash; others keep it
            position += 1
            result += {"t": "\t", "r": "\r", "n": "\n", '"': '"', "'": "'", "\\": "\\"}.get(
                text[position], "\\" + text[position]
            )
        else:
            result += text[position]
        position += 1
    assert position == len(text) - 1
    return result


@settings(max_examples=300, deadline=None)
@given(_TEXT)
def test_nginx_quote_is_read_back(value: str) -> None:
    try:
        quoted = nginx_quote(value)
    except FaultError:
        assert "$" in value or any(not c.isprintable() for c in value)
        return
    assert "$" not in quoted and "\n" not in quoted
    assert nginx_read(quoted) == value


@settings(max_examples=300, deadline=None)
@given(_TEXT)
def test_nothing_but_harmless_characters_passes(value: str) -> None:
    try:
        text = check_harmless(value)
    except FaultError:
        return
    assert text == value
    assert value.isascii() and not set(value) & set(" \t\n;{}()[]<>\"'`$#\\&|*?!~^")
