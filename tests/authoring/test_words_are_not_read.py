"""Nothing reads a message: with `x` in the place of every one the same comes out, but for the words."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from injector.authoring.importing.imports import import_configs
from injector.cli.checks.check_context import Section
from injector.cli.checks.check_report import look
from tests.authoring.importing.test_import_command import NAMED, REFUSED
from tests.baseline.check import check
from tests.baseline.entrances import Output, command, templates_loaded_once
from tests.silence import Switch, wordless
from tests.unit.cli.manifests import POD
from tests.unit.cli.test_check_parts import broken, fine, forbidden, lost, wrong_settings
from tests.unit.templates.test_broken import CASES as BROKEN, contents
from tests.unit.test_settings import MISTAKES as SETTINGS_MISTAKES

#: Lines of a sidecar config that are imported, refused, or told of.
IMPORTED = ["", "vloumes: []\n", "inherits: base.yaml\n", "containers: 5\n", "env: [{name: A}]\n"]
#: Parts of the baseline: reasons, effects, exit codes, places, rules, as they were recorded with all words.
PARTS = ["broken/templates", "broken/rules", "broken/cases", "broken/settings"]


@pytest.fixture
def switch(monkeypatch: pytest.MonkeyPatch) -> Switch:
    return Switch(monkeypatch)


@pytest.fixture(scope="module")
def loaded_once() -> Iterator[None]:
    with templates_loaded_once():
        yield


@pytest.mark.soak(minutes=3)
@pytest.mark.parametrize("part", PARTS)
def test_templates_cases_settings_and_manifests(part: str, switch: Switch) -> None:
    check(part)
    sentences = {text for made in switch.made for text in texts(list(made.fields.values())) if is_sentence(text)}
    assert not sentences


def texts(value: Any) -> Iterator[str]:
    """The strings in a value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from texts([*value, *value.values()])
    elif isinstance(value, list | tuple | set | frozenset):
        for item in value:
            yield from texts(item)


def is_sentence(text: str) -> bool:
    """Whether a string is more than a value: four words of letters alone in a row."""
    words = [word.strip(",;:.").isalpha() for word in text.split()]
    return any(all(words[start : start + 4]) for start in range(len(words) - 3))


def test_imports(switch: Switch) -> None:
    def found(text: str) -> list[Any]:
        problems = import_configs([("standard input", text.encode())]).problems
        return [(p.code, p.severity, p.place, p.path, p.fields) for p in problems]

    for text in REFUSED:
        spoken, silent = switch.both(lambda text=text: found(text))
        assert silent == spoken, text
    assert switch.made


@pytest.mark.parametrize("text", [*REFUSED, *(f"{NAMED}{line}" for line in IMPORTED)])
def test_imports_as_a_command(text: str, switch: Switch, tmp_path: Path) -> None:
    def found() -> tuple[Output, dict[str, bytes]]:
        folder = tmp_path / str(switch.on)
        done = command("import", "-", "--output", str(folder), data=text.encode())
        return done, {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}

    (spoken, files), (silent, same) = switch.both(found)
    assert (silent.exit, bool(silent.err)) == (spoken.exit, bool(spoken.err))
    assert same == files
    assert bool(files) is (spoken.exit == 0)


def explained(switch: Switch, *arguments: str) -> None:
    """`injector explain` says the same of a pod with the words and without."""
    given = ("explain", "-", "--output", "json", *arguments)
    spoken, silent = switch.both(lambda: command(*given, data=POD.encode()))
    assert (silent.exit, bool(silent.out), bool(silent.err)) == (spoken.exit, bool(spoken.out), bool(spoken.err))
    if spoken.out:
        assert wordless(json.loads(silent.out)) == wordless(json.loads(spoken.out))


@pytest.mark.usefixtures("loaded_once")
@pytest.mark.parametrize(
    ("label", "templates"),
    [("injection=required", "nginx"), ("injection=enable", "nginx"), ("injection=enabled", "gone")],
)
def test_explanations(label: str, templates: str, switch: Switch) -> None:
    explained(switch, "--namespace-label", label, "--templates", templates)


@pytest.mark.usefixtures("loaded_once")
@pytest.mark.parametrize("text", SETTINGS_MISTAKES)
def test_explanations_by_wrong_settings(text: str, switch: Switch, tmp_path: Path) -> None:
    (tmp_path / "settings.yaml").write_text(text)
    explained(switch, "--settings", str(tmp_path / "settings.yaml"))


@pytest.mark.soak(minutes=3)
@pytest.mark.usefixtures("loaded_once")
@pytest.mark.parametrize("case", BROKEN, ids=[case["name"] for case in BROKEN])
def test_explanations_by_broken_templates(case: dict[str, Any], switch: Switch, tmp_path: Path) -> None:
    folder = tmp_path / "tool"
    folder.mkdir()
    for name, data in contents(case).items():
        (folder / name).write_bytes(data)
    explained(switch, "--templates-dir", str(folder), "--templates", "tool")


def test_checks(switch: Switch) -> None:
    sections = [Section("one", (fine, forbidden, wrong_settings, broken)), Section("two", (forbidden, lost, fine))]

    def found() -> list[Any]:
        return [[(v.code, v.severity, dict(v.fields)) for v in verdicts] for _, verdicts in look(None, sections)]  # type: ignore[arg-type]

    spoken, silent = switch.both(found)
    assert silent == spoken
    assert switch.made


#: What holds words, by its name: the parts of a Diagnostic and of a result, and an error as text.
_HOLDERS = {"message", "help", "headline", "sentence", "advice", "warnings"}
#: The same under a bare name.
_WORDS = _HOLDERS | {"help_", "warning", "why", "words"}
_ERRORS = {"error", "failure", "mistake", "refusal", "problem", "finding"}
_METHODS = {"partition", "rpartition", "split", "rsplit", "startswith", "endswith", "removeprefix", "removesuffix"}
_METHODS |= {"find", "index", "replace", "match", "search", "fullmatch", "sub", "findall", "finditer"}
#: The module for words of others: of the API server, and of libraries that give nothing else.
_OTHERS = {"library_messages.py"}
#: The layout of a help of several lines, each below the other.
_LAYOUT = {"diagnostics.py", "authoring/cases/suite.py"}
#: Looks for what people gave: the words that a case's author wants to see, the values of a Secret, which nobody may.
_ASKED_FOR = {"authoring/cases/run.py", "policies/admit.py"}


def reads(tree: ast.AST) -> Iterator[int]:
    """The lines on which words are looked into."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare) and any(isinstance(op, ast.In | ast.NotIn) for op in node.ops):
            if any(map(is_words, node.comparators)):
                yield node.lineno
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _METHODS:
            blanks = node.func.attr == "split" and not node.args  # words on one line, whatever they are
            yield from [node.lineno] if not blanks and any(map(is_words, [node.func.value, *node.args])) else []


def is_words(node: ast.AST) -> bool:
    """Whether an expression is a message, or an error as text."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "str" and node.args:
        return isinstance(node.args[0], ast.Name) and node.args[0].id in _ERRORS
    if isinstance(node, ast.Name):
        return node.id in _WORDS
    return isinstance(node, ast.Attribute) and node.attr in _HOLDERS


def test_no_module_looks_into_words() -> None:
    root = Path(__file__).parents[2] / "injector"
    found = {}
    for file in sorted(root.rglob("*.py")):
        lines = list(reads(ast.parse(file.read_text())))
        if lines and str(file.relative_to(root)) not in _OTHERS | _LAYOUT | _ASKED_FOR:
            found[str(file.relative_to(root))] = lines
    assert not found


@pytest.mark.parametrize(
    "code",
    [
        'message.partition(": ")[2] if not error.message.partition(": ")[0] else 0',
        '"x" in str(error)',
        "re.match(_PATTERN, injection.message)",
        "_PATTERN.finditer(one.help)",
        "warning not in result.message",
        'str(error).startswith("a")',
        '"injector resume" if why.endswith("paused") else ""',
        '"is paused" in message',
        "re.search(_PATTERN, sentence)",
        'words.split(": ")',
    ],
)
def test_what_looks_into_words(code: str) -> None:
    assert list(reads(ast.parse(code)))
