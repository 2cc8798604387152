"""`quote`: in a file of each syntax a hostile value is read back as it was, in the same place, by a real parser."""

from __future__ import annotations

import configparser
import functools
import importlib
import io
import json
import re
import subprocess
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml
from hypothesis import example, given, settings, strategies as st

from injector.budget import FaultError
from injector.errors import InjectionError, TemplateError
from injector.reasons import Reason
from injector.templates.load import load_template
from injector.templates.quoting import SYNTAXES, quote, syntax_of
from injector.templates.render import render_files, render_overlay
from injector.templates.template import Template
from tests import parts
from tests.messages import Golden
from tests.unit.templates.build import context
from tests.unit.templates.hostile import HOSTILE

#: Values that end a string, open a block or begin an expansion in one of the syntaxes.
_ENDS = (
    "${", "%{", "$${a}", "$", "%", '${"', ', b = 1 } pwned { a = 1 } #', "]] os.exit() --", "--[[", "]]>", "<!--",
    "&lt;", "' ; id ; '", "$(id)", "`id`", "\\", '\\"', "'", "a\\", "#{T(java.lang.Runtime)}", "-j ACCEPT", "! -s",
    "[evil]", "\ufeff", "é", "😀", "a😀b", "\x00", "\x1f", "\x7f", "\x85", "\u2028", "a\nb = 1", "a\rb", "\t", " a ",
    "", "a b",
    '"""', "'''", "=", ":", "#", "!", "export X=1", "*/", "//",
)  # fmt: skip
_TEXT = (
    st.sampled_from(_ENDS)
    | st.sampled_from([value for value in HOSTILE if len(value) < 500])
    | st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=30)
    | st.lists(st.sampled_from(_ENDS), min_size=2, max_size=4).map("".join)
)
_DATA = st.recursive(
    _TEXT | st.booleans() | st.integers(-(2**53), 2**53),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_TEXT, inner, max_size=3),
    max_leaves=6,
)


def library(name: str) -> Any:
    """A parser of the development dependencies."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError:
        if parts.in_ci():
            raise
        pytest.skip(f"{name} is missing; install the development dependencies: pip install -e '.[dev]'")


def rendered(file: str, text: str, value: Any, syntax: str = "") -> str:
    """A config file with a value in it, through all of a template."""
    return render_files(_made(file, text, syntax), context({"v": value, "w": "second"}))[file]


@functools.cache
def _made(file: str, text: str, syntax: str) -> Template:
    said = {"syntax": syntax} if syntax else {}
    return load_template("sample", manifest(file, said, **{f"{file}.j2": text}))


def manifest(file: str, said: dict[str, Any], **sources: str) -> dict[str, str]:
    """The sources of a template with one config file."""
    declared = {"parameters": {"v": {"type": "string"}, "w": {"type": "string"}}, "files": {file: said}}
    return {"template.yaml": json.dumps(declared), "overlay.yaml.j2": "{}", **sources}


def hcl_value(found: Any) -> Any:
    """A value as python-hcl2 hands it over: strings with their quotes and escapes."""
    if isinstance(found, str):
        assert not re.search(r"[$%]\{", found)
        return json.loads(re.sub(r"\\U([0-9a-f]{8})", lambda m: json.dumps(chr(int(m[1], 16)))[1:-1], found))
    if isinstance(found, list):
        return [hcl_value(item) for item in found]
    if isinstance(found, dict):
        return {hcl_value(key): hcl_value(item) for key, item in found.items() if key != "__is_block__"}
    return found


def in_hcl(value: Any) -> Any:
    text = "first { v = {{ params.v | quote }}, w = {{ params.w | quote }} }\nlast = 1\n"
    text = text.replace(", w", "\n w").replace(" }\nlast", "\n}\nlast").replace("{ v", "{\n v")
    found = library("hcl2").loads(rendered("agent.hcl", text, value))
    assert found.keys() == {"first", "last"} and found["last"] == 1
    (block,) = found["first"]
    assert block.keys() - {"__is_block__"} == {"v", "w"} and hcl_value(block["w"]) == "second"
    return hcl_value(block["v"])


def in_toml(value: Any) -> Any:
    found = tomllib.loads(rendered("a.toml", "[a]\nv = {{ params.v | quote }} # c\nw = 1\n", value))
    assert found.keys() == {"a"} and found["a"].keys() == {"v", "w"}
    return found["a"]["v"]


def in_lua(value: Any) -> Any:
    text = "return {{ params.v | quote }}, {{ params.w | quote }} -- c\n"
    results = []
    for lua in (library("lupa.lua51"), library("lupa.lua54")):
        runtime = lua.LuaRuntime(encoding=None, register_eval=False, register_builtins=False)
        first, second = runtime.execute(rendered("a.lua", text, value).encode())
        assert second == b"second"
        results.append(lua_value(first, value, lua))
    assert results[0] == results[1]
    return results[0]


def lua_value(found: Any, like: Any, lua: Any) -> Any:
    if isinstance(found, bytes):
        return found.decode()
    if lua.lua_type(found) == "table":
        items = [(lua_value(k, "", lua), v) for k, v in found.items()]
        if isinstance(like, list):
            return [lua_value(item, one, lua) for (_, item), one in zip(sorted(items), like, strict=True)]
        return {key: lua_value(item, like[key], lua) for key, item in items}
    return int(found) if isinstance(found, float) else found


def in_json(value: Any) -> Any:
    found = json.loads(rendered("a.json5", '{"v": {{ params.v | quote }}, "w": [{{ params.w | quote }}]}', value))
    assert found.keys() == {"v", "w"} and found["w"] == ["second"]
    return found["v"]


def in_properties(value: str) -> str:
    read = library("javaproperties").loads
    found = read(rendered("a.properties", "a={{ params.v | quote }}\nw : second\n", value))
    assert found.keys() == {"a", "w"} and found["w"] == "second"
    key = read(rendered("a.properties", "{{ params.v | quote }}=1\n", value))
    assert list(key.items()) == [(value, "1")]
    return found["a"]


def in_ini(value: str) -> str:
    parser = configparser.ConfigParser()
    parser.read_string(rendered("a.ini", "[a]\nbefore = 1\nv = {{ params.v | quote }}\nafter = 2\n", value))
    assert parser.sections() == ["a"] and parser["a"].keys() == {"before", "v", "after"}
    return parser["a"]["v"]


def in_env(value: str) -> str:
    text = rendered("a.env", "A={{ params.v | quote }}\nB=second\n", value)
    found = library("dotenv").dotenv_values(stream=io.StringIO(text))
    assert found.keys() == {"A", "B"} and found["B"] == "second"
    done = subprocess.run(["sh", "-c", f'{text}\nprintf %s "$A"'], capture_output=True, check=True)
    assert done.stdout.decode() == found["A"]
    return str(found["A"])


def in_xml(value: str) -> str:
    text = '<a><b c="{{ params.v | quote }}" d="1">{{ params.v | quote }}</b><e/></a>'
    root = ElementTree.fromstring(rendered("a.xml", text, value))
    assert [(child.tag, len(child)) for child in root] == [("b", 0), ("e", 0)]
    assert root[0].attrib == {"c": root[0].text or "", "d": "1"}
    return root[0].text or ""


def in_sh(value: str) -> str:
    text = "printf '%s\\0' a {{ params.v | quote }} {{ params.w | quote }}\n"
    done = subprocess.run(["sh", "-c", rendered("a.sh", text, value)], capture_output=True, check=True)
    first, read, second, rest = done.stdout.decode().split("\0")
    assert (first, second, rest) == ("a", "second", "")
    return read


def in_plain(value: str) -> str:
    before, read, after, end = rendered("a.txt", "before\n{{ params.v | quote }}\nafter\n", value).split("\n")
    assert (before, after, end) == ("before", "after", "")
    return read


_READERS: dict[str, Callable[[Any], Any]] = {
    "env": in_env,
    "hcl": in_hcl,
    "ini": in_ini,
    "json": in_json,
    "lua": in_lua,
    "plain": in_plain,
    "properties": in_properties,
    "sh": in_sh,
    "toml": in_toml,
    "xml": in_xml,
}


def check_read_back(syntax: str, value: Any) -> None:
    """That a file reads back as the value, or refuses it."""
    try:
        read = _READERS[syntax](value)
    except InjectionError as error:
        assert error.diagnostic.code == "template-failed"  # the refusal, and none by chance
        return
    assert read == value


@pytest.mark.parametrize("syntax", sorted(_READERS))
def test_hostile_values_are_read_back(syntax: str) -> None:
    for value in _ENDS:
        check_read_back(syntax, value)

    @settings(max_examples=40 if syntax in ("env", "sh") else 75, deadline=None)
    @given(_TEXT)
    def any_text(value: str) -> None:
        check_read_back(syntax, value)

    any_text()


@pytest.mark.parametrize("syntax", ["hcl", "json", "lua", "toml"])
def test_lists_and_mappings_are_read_back(syntax: str) -> None:
    @settings(max_examples=50, deadline=None)
    @given(_DATA)
    @example(["a", {"b": [True, 1, "${x}"]}])
    def any_data(value: Any) -> None:
        check_read_back(syntax, value)

    any_data()


#: What each syntax can hold, of what people write: a refusal would be one too many.
@pytest.mark.parametrize("syntax", sorted(SYNTAXES))
@pytest.mark.parametrize("value", ["a b", "https://example.com/a?b=c&d=e", "web (blue)", "{a}", "10%", "a,b", "é"])
def test_usual_values_are_held(syntax: str, value: str) -> None:
    if (syntax, value) == ("ini", "10%"):
        pytest.skip("a % is the interpolation's")
    assert quote(value, syntax)


@pytest.mark.parametrize(
    ("syntax", "value"),
    [
        ("nginx", "$a"), ("nginx", "a\nb"), ("sh", "\x00"), ("env", "'"), ("env", "$HOME"), ("env", "a\nb"),
        ("env", "\\n"),
        ("properties", "${jndi:ldap://x}"), ("xml", "${env:X}"), ("xml", "\x00"), ("ini", "a;b"), ("ini", "a\nb"),
        ("plain", "a\nb"), ("nftables", 'a"'), ("nftables", "$a"), ("nftables", "a\nb"), ("nftables", "eth*"),
        ("hcl", "\x00"), ("toml", None), ("lua", [None]), ("hcl", None), ("sh", ["a"]), ("xml", {"a": "b"}),
        ("env", True),
    ],
)  # fmt: skip
def test_what_a_syntax_cannot_hold_is_refused(syntax: str, value: Any) -> None:
    with pytest.raises(FaultError):
        quote(value, syntax)


def test_nginx_reads_the_same_value(tmp_path: Path) -> None:
    nginx = parts.require("nginx")
    held = 0
    for value in _ENDS:
        try:
            text = rendered("nginx.conf", "error_log stderr {{ params.v | quote }};\nevents {}\n", value)
        except InjectionError:
            continue
        (tmp_path / "nginx.conf").write_text(text)
        command = [str(nginx), "-t", "-p", str(tmp_path), "-e", "stderr", "-c", "nginx.conf"]
        done = subprocess.run(command, capture_output=True)
        said = re.search(rb'invalid log level "(.*)" in [^ ]*nginx\.conf:1\n', done.stderr, re.DOTALL)
        assert said, done.stderr
        assert said[1].decode() == value
        held += 1
    assert held > 25


def test_nft_reads_the_same_value() -> None:
    nft = parts.require("nft")
    held = [v for v in _ENDS if v and len(v.encode()) < 128 and not _refused("nftables", v)]
    lines = (f"add rule inet t c accept comment {quote(v, 'nftables')}\n" for v in held)
    text = "add table inet t\nadd chain inet t c\n" + "".join(lines)
    command = ["unshare", "-n", "sh", "-c", f"{nft} -f - && {nft} --json list ruleset"]
    done = subprocess.run(command, input=text.encode(), capture_output=True)
    if not parts.in_ci() and (b"Operation not permitted" in done.stderr or b"Permission denied" in done.stderr):
        pytest.skip("needs root: network namespaces")
    assert done.returncode == 0, done.stderr
    assert [item["rule"]["comment"] for item in json.loads(done.stdout)["nftables"] if "rule" in item] == held


def _refused(syntax: str, value: str) -> bool:
    try:
        quote(value, syntax)
    except FaultError:
        return True
    return False


# ---------------------------------------------------------------------------------------- which syntax, and whose


@pytest.mark.parametrize(
    ("file", "syntax"),
    [
        ("agent.hcl", "hcl"), ("app.properties", "properties"), ("a.ini", "ini"), ("a.toml", "toml"), (".env", "env"),
        ("prod.env", "env"), ("env", "env"), ("a.xml", "xml"), ("a.lua", "lua"), ("nginx.conf", "nginx"),
        ("nginx-extra.conf", "nginx"), ("run.sh", "sh"), ("redirect.nft", "nftables"), ("motd.txt", "plain"),
        ("a.js", "json"), ("extra.conf", ""), ("a.cfg", ""), ("environment", ""),
    ],
)  # fmt: skip
def test_the_name_tells_the_syntax(file: str, syntax: str) -> None:
    assert syntax_of(file) == syntax


def test_template_yaml_says_the_syntax() -> None:
    assert rendered("extra.conf", "a {{ params.v | quote }}", 'x "y"', "nginx") == 'a "x \\"y\\""'
    assert rendered("agent.hcl", "a {{ params.v | quote }}", "x y", "sh") == "a 'x y'"


def test_a_file_whose_syntax_is_not_known(golden: Golden) -> None:
    with pytest.raises(InjectionError) as caught:
        rendered("extra.conf", "a {{ params.v | quote }}", "x")
    golden(caught.value)


@pytest.mark.parametrize(
    ("file", "said"),
    [
        ("a.conf", {"syntax": "hlc"}),
        ("a.conf", {"syntax": 1}),
        ("a.yaml", {"syntax": "toml"}),
    ],
)
def test_a_syntax_that_is_none(file: str, said: dict[str, Any], golden: Golden) -> None:
    with pytest.raises(TemplateError) as caught:
        load_template("sample", manifest(file, said, **{f"{file}.j2": "a"}))
    golden(str(caught.value))


def test_a_source_has_one_syntax(golden: Golden) -> None:
    sources = manifest("a.hcl", {"template": "x.j2"}, **{"x.j2": "a"})
    declared = json.loads(sources["template.yaml"])
    declared["files"]["a.toml"] = {"template": "x.j2"}
    with pytest.raises(TemplateError) as caught:
        load_template("sample", {**sources, "template.yaml": json.dumps(declared)})
    golden(caught.value)


def test_a_macro_quotes_for_the_file_that_it_writes_into() -> None:
    shared = "{% macro m(v) %}{{ v | quote }}{% endmacro %}"
    use = '{% from "_m.j2" import m %}{{ m(params.v) }}'
    sources = manifest("a.sh", {}, **{"a.sh.j2": use, "a.lua.j2": use, "_m.j2": shared})
    declared = json.loads(sources["template.yaml"])
    declared["files"]["a.lua"] = {}
    made = load_template("sample", {**sources, "template.yaml": json.dumps(declared)})
    assert render_files(made, context({"v": "a b", "w": ""})) == {"a.sh": "'a b'", "a.lua": '"a b"'}


@pytest.mark.parametrize(
    ("file", "value"),
    [("agent.hcl", "${"), ("run.sh", "$(id)"), ("nginx.conf", "$request_uri"), ("a.toml", "😀"), ("a.xml", "</a>")],
)
def test_quotes_of_another_syntax_let_no_value_out(file: str, value: str, golden: Golden) -> None:
    for text in ("{{ params.v | json_quote }}", "{% set q = params.v | json_quote %}{{ q }}"):
        with pytest.raises(InjectionError) as caught:
            rendered(file, text, value)
        golden(caught.value)
        assert rendered(file, text, "a b") == '"a b"'


def test_two_values_of_hcl_open_no_block() -> None:
    text = "vault {\n  a = {{ params.v | json_quote }}, b = {{ params.w | json_quote }}\n}\n"
    with pytest.raises(InjectionError):
        rendered("agent.hcl", text, "${")


@pytest.mark.parametrize(("file", "value"), [("a.lua", "--"), ("a.hcl", "1//"), ("a.ini", "50%"), ("a.js", "//")])
def test_what_begins_a_comment_is_not_harmless(file: str, value: str, golden: Golden) -> None:
    with pytest.raises(InjectionError) as caught:
        rendered(file, "a {{ params.v }}", value)
    golden(caught.value)


def test_an_address_is_harmless() -> None:
    assert rendered("a.hcl", 'a = "{{ params.v }}"', "https://vault:8200/v1") == 'a = "https://vault:8200/v1"'


# ------------------------------------------------------------------------------------ where a quoted value may stand

#: Places that take no quoted value, by file: `Q` stands for one.
_NO_PLACES = [
    ("a.sh", 'echo "Q"'), ("a.sh", "echo 'Q'"),
    ("a.sh", "echo $'Q'"),
    ("a.sh", "# Q\n"), ("a.sh", "true;# Q\n"),
    ("a.sh", "cat <<EOF\nit's\nQ\nEOF\n"), ("a.sh", "cat <<-'E' <<F\n\tE\nQ\nF\n"),
    ("a.sh", "echo `printf Q`"), ("a.sh", "echo $Q"),
    ("a.sh", "echo \\Q"), ("a.sh", "echo $((1 + Q))"),
    ("a.sh", 'echo "$(case $a in a) echo "Q";; esac)"'), ("a.sh", 'echo "$(echo "Q")"'),
    ("a.sh", 'echo "${a:-Q}"'),
    ("nginx.conf", 'a "Q";'), ("nginx.conf", "a 'Q';"),
    ("nginx.conf", "a http://Q;"), ("nginx.conf", "if (Q) {"),
    ("nginx.conf", "# Q\n"),
    ("a.hcl", 'a = "Q"'), ("a.hcl", "a = <<E\nQ\nE\n"),
    ("a.hcl", "/* Q */"), ("a.hcl", "// Q"),
    ("a.toml", 'a = "Q"'), ("a.toml", "a = 'Q'"),
    ("a.toml", 'a = """x\nQ"""'), ("a.toml", "a = '''x\nQ'''"),
    ("a.lua", "return [[Q]]"), ("a.lua", "return 'Q'"),
    ("a.lua", "--[==[ ]] Q ]==]"),
    ("a.json5", "{a: 'Q'}"), ("a.js", "a = `Q`"), ("a.js", "/* Q */"),
    ("a.env", 'A="Q"'), ("a.env", "A=1 # Q"),
    ("a.nft", 'accept comment "Q"'), ("a.nft", "accept # Q\n"),
]  # fmt: skip
#: Places that take one: quotes and what begins a comment stand before it, and are none there.
_PLACES = [
    ("a.sh", "echo it\\'s $# ${x#'y'} a#b 'it' \"$(echo Q)\" Q"), ("a.sh", "cat <<EOF Q\nit's\nEOF\necho Q"),
    ("a.sh", "x=--a=Q # it's\necho Q"), ("a.sh", 'case $a in "b") echo Q;; esac; grep x <<<Q'),
    ("a.sh", '(echo "$(echo `date`)" Q)'), ("a.sh", "echo $'it\\'s' Q"),
    ("nginx.conf", "a it's a#b Q; # it's\nb 'x\\'y' Q;"), ("nginx.conf", "map $a $b { Q 1;}"),
    ("a.hcl", 'a = <<E\nit is a "\nE\nb = Q # "\nc = Q'), ("a.toml", "a = Q # it's\nb = '''it's'''\nc = Q"),
    ("a.lua", "-- it's\nlocal a = [[it's]] return Q"), ("a.js", "a = 'x' // it's\n/* \" */ b = Q"),
    ("a.env", "A=it's\nB=a#b\nC=Q"), ("a.nft", '# "\nlog prefix "#" comment Q'), ("a.xml", '<a b="Q"/>'),
    ("a.ini", "a = Q"), ("a.properties", "# it's Q\na=Q"), ("a.txt", '"Q"'),
]  # fmt: skip


@pytest.mark.parametrize(("file", "text"), _NO_PLACES)
def test_a_quoted_value_needs_a_place_of_its_own(file: str, text: str, golden: Golden) -> None:
    with pytest.raises(InjectionError) as caught:
        rendered(file, text.replace("Q", "{{ params.w | quote }}"), "a")
    golden(caught.value)
    before = text[: text.index("Q")]
    place = f"{file}.j2:{before.count(chr(10)) + 1}:{len(before) - before.rfind(chr(10))}"
    assert place in str(caught.value)


@pytest.mark.parametrize(("file", "text"), _PLACES)
def test_places_of_a_quoted_value(file: str, text: str) -> None:
    wanted = quote("a b", syntax_of(file))
    assert rendered(file, text.replace("Q", "{{ params.v | quote }}"), "a b") == text.replace("Q", wanted)


#: Pieces of scripts around a value: however they come together, the value is one word or the script is refused.
_PIECES = st.sampled_from(
    [
        "'",
        '"',
        "`",
        "$(",
        ")",
        "\\",
        "# ",
        "\n",
        " ",
        "$",
        "${x:-",
        "}",
        "<<E\n",
        "E\n",
        "$((",
        "))",
        "case a in a",
        "a",
    ]
)


@settings(max_examples=200, deadline=None)
@given(st.lists(_PIECES, max_size=6).map("".join), st.lists(_PIECES, max_size=4).map("".join))
@example('echo "', '"')
@example("cat <<E\n", "\nE\n")
@example("echo `echo ", "`")
def test_no_script_around_a_value_runs_it(before: str, after: str) -> None:
    value = "'\nE\n\"; `echo $PWNED`; $(echo $PWNED); echo $PWNED #'\"\\'`\nE\n$(echo $PWNED)"
    try:
        text = rendered("a.sh", before + "{{ params.v | quote }}" + after, value)
    except (InjectionError, TemplateError):
        return
    command = ["sh", "-c", f"set -f; PATH=/nowhere\n{text}"]
    done = subprocess.run(command, env={"PWNED": "out-of-its-place"}, capture_output=True, timeout=300)
    assert b"out-of-its-place" not in done.stdout + done.stderr


def overlay(script: str, value: str) -> Any:
    """The script of a container that a template renders with `Q` quoted for the shell."""
    script = script.replace("Q", "{{ params.v | shell_quote }}")
    text = json.dumps({"spec": {"containers": [{"name": "a", "command": ["sh", "-c", script]}]}})
    made = load_template("sample", {**manifest("a.txt", {}, **{"a.txt.j2": "a"}), "overlay.yaml.j2": text})
    return render_overlay(made, context({"v": value, "w": ""})).overlay["spec"]["containers"][0]["command"][2]


@pytest.mark.parametrize("script", ['echo "Q"', "echo 'Q'", "cat <<E\nQ\nE", "# Q", "echo `echo Q`"])
def test_a_script_of_an_overlay_has_no_quotes_around_its_values(script: str, golden: Golden) -> None:
    with pytest.raises(InjectionError) as caught:
        overlay(f"echo Q; {script}", "a")
    golden(caught.value)
    column = 63 + len(json.dumps(f"echo {{{{ params.v | shell_quote }}}}; {script}".split("Q")[0]))
    assert f"sample/overlay.yaml.j2:1:{column}: " in str(caught.value)
    golden(overlay('echo Q && echo "it\'s" Q', "a b"))


# --------------------------------------------------------------------------- where a name stands, a name is written

#: By file and line: values that stay the name, option, command or value in whose place they stand, and others.
NAMES = {
    ("a.env", "{{ params.v }}_URL=x"): ("A a_1", "PATH=/evil: A.b A-B"),
    ("a.env", "export {{ params.v }}=x"): ("A", "A=b"),
    ("a.env", "{{ params.v | quote }}=x"): ("A", "A=b"),
    ("a.env", "A={{ params.v }}"): ("a=b a/b:c", ""),
    ("a.env", "A='{{ params.v }}'"): ("a=b", ""),
    ("a.env", "# {{ params.v }}"): ("a=b", ""),
    ("a.hcl", "{{ params.v }} = 1"): ("a-b", "a=b a.b a/b"),
    ("a.hcl", "block {{ params.v }} {\n}"): ("a", "a=b"),
    ("a.hcl", "x = {{ params.v }}"): ("5.5", "a=b 1,b=2"),
    ("a.hcl", 'x = "{{ params.v }}"'): ("a=b", ""),
    ("a.toml", "{{ params.v }} = 1"): ("a-b", "a=b a.b"),
    ("a.toml", "[t.{{ params.v }}]"): ("a", "a.b"),
    ("a.toml", "x = {{ params.v }}"): ("2026-01-01T00:00:00", "1,b=2"),
    ("a.lua", "{{ params.v }} = 1"): ("a", "a.b a=b"),
    ("a.jsonc", "{ {{ params.v }}: 1}"): ("a", "a.b a:b"),
    ("a.sh", "{{ params.v }} run"): ("/bin/x", "LD_PRELOAD=/x"),
    ("a.sh", "LD_PRELOAD{{ params.v }} run"): ("_x", "=/x"),
    ("a.sh", "A={{ params.v }} run"): ("a=b", ""),
    ("a.sh", "true; {{ params.v }} run"): ("/bin/x", "LD_PRELOAD=/x"),
    ("a.sh", "export {{ params.v }}"): ("A", "LD_PRELOAD=/x"),
    ("a.sh", "dd {{ params.v }}"): ("if=/dev/x", ""),
    ("a.ini", "{{ params.v }} = 1"): ("a.b", "a=b a:b"),
    ("a.ini", "{{ params.v | quote }} = 1"): ("a.b", "a=b"),
    ("a.ini", "a = {{ params.v | quote }}"): ("a=b", ""),
    ("a.ini", "# {{ params.v }}"): ("a=b", ""),
    ("a.properties", "{{ params.v }}=1"): ("a.b", "a=b a:b"),
    ("a.xml", "<{{ params.v }}>"): ("n:a", "a/ a=b"),
    ("a.xml", "<{{ params.v | quote }}>"): ("a", "a/"),
    ("a.xml", '<a b="{{ params.v | quote }}">{{ params.v }}</a>'): ("a/=b", ""),
    ("a.xml", "<!-- {{ params.v }} -->"): ("a/=b", ""),
    ("a.txt", "{{ params.v }}"): ("-a=b", ""),
}


@pytest.mark.parametrize(
    ("file", "line", "value", "refused"),
    [
        (file, line, value, refused)
        for (file, line), values in NAMES.items()
        for refused, some in zip((False, True), values, strict=True)
        for value in some.split()
    ],
)
def test_where_a_name_stands_a_name_is_written(file: str, line: str, value: str, refused: bool) -> None:
    text = f"{line}\n"
    if not refused:
        assert rendered(file, text, value) == re.sub(r"\{\{.*?\}\}", value, text)
        return
    with pytest.raises(InjectionError) as caught:
        rendered(file, text, value)
    assert caught.value.reason is Reason.TEMPLATE_FAILED
    assert f"{file}.j2:1:{line.index('{{') + 1}: " in str(caught.value)


_HARMLESS = st.text(alphabet="aB1._:/@%+=,-", min_size=1, max_size=6)


def _of_ini(text: str) -> Any:
    found = configparser.RawConfigParser(delimiters=("=", ":"))
    found.read_string(text)
    return {section: dict(found.items(section)) for section in found.sections()}


@pytest.mark.parametrize(
    ("file", "text", "read"),
    [
        ("a.toml", "[s]\n{{ params.v }} = 1\n", tomllib.loads),
        ("a.toml", "[s]\nx = {{ params.v }}\n", tomllib.loads),
        ("a.toml", "[{{ params.v }}]\nx = 1\n", tomllib.loads),
        ("a.ini", "[s]\n{{ params.v }} = 1\n", _of_ini),
        ("a.ini", "[s]\nx = {{ params.v }}\n", _of_ini),
        ("a.xml", "<s><{{ params.v }} x='1'/></s>", lambda text: _shape_of(ElementTree.fromstring(text))),
    ],
)
@given(value=_HARMLESS)
def test_no_value_makes_a_key_more(file: str, text: str, read: Callable[[str], Any], value: str) -> None:
    """As a real parser reads it; what it does not take is for the linter and the program's own check."""
    try:
        found = read(rendered(file, text, value))
    except (InjectionError, ValueError, configparser.Error, ElementTree.ParseError):
        return
    assert _shape(found) == _shape(read(rendered(file, text, "1")) if "xml" not in file else ["s", ["a", "x"]])


def _shape(found: Any) -> Any:
    """How many keys there are, and within what."""
    return (
        [_shape(item) for item in found.values()]
        if isinstance(found, dict)
        else (found if isinstance(found, list) else 0)
    )


def _shape_of(found: ElementTree.Element) -> list[Any]:
    assert len(found) == 1 and len(found[0]) == 0
    return [found.tag, ["a", *found[0].attrib]]


# ------------------------------------------------------------------- documents whose program expands ${...}

_EXPANDED = """
own: "${env:KEY}"
alone: {{ params.v }}
within: "a {{ params.v }} b"
data: {{ {"k": params.v, "l": [params.v]} }}
"{{ params.w }}": 1
"""


def read_by_collector(value: Any) -> Any:
    """What the OpenTelemetry Collector reads: `$$` is a dollar, anything else behind one is expanded."""
    if isinstance(value, str):
        assert "$" not in value.replace("$$", "")
        return value.replace("$$", "$")
    if isinstance(value, dict):
        return {read_by_collector(key): read_by_collector(item) for key, item in value.items()}
    return [read_by_collector(item) for item in value] if isinstance(value, list) else value


@pytest.mark.parametrize("file", ["a.yaml", "a.json"])
@given(value=_TEXT)
@example(value="${env:KEY}")
@example(value="$$${env:KEY}")
def test_the_collector_expands_no_value(file: str, value: str) -> None:
    found = (json.loads if file == "a.json" else yaml.safe_load)(rendered(file, _EXPANDED, value, "otelcol"))
    assert found.pop("own") == "${env:KEY}"
    expected = {"alone": value, "within": f"a {value} b", "data": {"k": value, "l": [value]}, "second": 1}
    assert read_by_collector(found) == expected


@pytest.mark.parametrize("syntax", ["fluent-bit", "fluentd"])
@pytest.mark.parametrize("value", ["${KEY}", "$", "a$b", "{KEY}", "#{1}", "a"])
def test_where_a_dollar_cannot_be_written_it_is_refused(syntax: str, value: str) -> None:
    if "$" not in value:
        assert rendered("a.yaml", _EXPANDED, value, syntax) == rendered("a.yaml", _EXPANDED, value)
        return
    with pytest.raises(InjectionError) as caught:
        rendered("a.yaml", _EXPANDED, value, syntax)
    assert caught.value.reason is Reason.TEMPLATE_FAILED
    assert "a.yaml.j2:3" in str(caught.value)


@pytest.mark.parametrize(("file", "syntax"), [("a.yaml", "nginx"), ("a.json", "json"), ("a.conf", "otelcol")])
def test_a_document_has_no_syntax_of_a_text_file(file: str, syntax: str) -> None:
    with pytest.raises(TemplateError) as caught:
        _made(file, "{}", syntax)
    assert "syntax" in str(caught.value.place and caught.value.place.text)
