"""The language server against a real client: what is shown while somebody types is what `injector lint` says."""

from __future__ import annotations

import asyncio
import json
import os
import random
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types
from pygls.workspace import PositionCodec

from injector.authoring.lint.rule import rules
from injector.authoring.lint.sample_pods import SAMPLE_PODS
from injector.authoring.lsp.editor_features import EditorText, disabling
from injector.authoring.lsp.project import ChildError, ForkServer
from injector.loading.template_folders import how_to_install
from tests.authoring.commands import injector
from tests.authoring.lsp.editor import Editor, applied, linted
from tests.authoring.pages import blocks
from tests.command import ROOT

_TUTORIAL = (ROOT / "docs" / "tutorial.md").read_text()
_BOMB = "{% for a in range(99999) %}{% for b in range(99999) %}{{ a }}{% endfor %}{% endfor %}\n"
Scenario = Callable[[Editor], Coroutine[Any, Any, None]]


@pytest.fixture
def greeter(tmp_path: Path) -> Path:
    assert injector("new", "greeter", cwd=tmp_path).code == 0
    return tmp_path / "greeter"


def edit(folder: Path, scenario: Scenario) -> None:
    """Do something in an editor."""

    async def run() -> None:
        async with Editor(folder) as editor:
            await scenario(editor)

    asyncio.run(run())


def tutorial_steps() -> list[tuple[str, str, str]]:
    """File, old and new text of each change of the overlay and the manifest that the tutorial asks for."""
    steps, file = [], ""
    for block in blocks(_TUTORIAL):
        file = block.file or file
        if block.language == "diff" and not file.startswith("greeter/tests/"):
            lines = [(line[:1], line[1:]) for line in block.text.splitlines()]
            old, new = ("".join(f"{text}\n" for mark, text in lines if mark in marks) for marks in ("- ", "+ "))
            steps.append((file.removeprefix("greeter/"), old, new))
    return steps


def test_the_tutorials_mistakes_appear_and_go(greeter: Path) -> None:
    shown: list[list[str]] = []

    async def type_the_steps(editor: Editor) -> None:
        texts = {file: editor.open(file) for file in ("overlay.yaml.j2", "template.yaml", "README.md")}
        for file, old, new in tutorial_steps():
            assert texts[file].count(old) == 1
            texts[file] = texts[file].replace(old, new)
            editor.type(file, texts[file])
            if "prot" in new:
                await editor.until(lambda: ("name", "overlay.yaml.j2", 42, 62) in editor.found)
            editor.save(file, texts[file])
            await editor.until_as_linted()
            shown.append(editor.rules)
        assert injector("docs", greeter, "--write", greeter / "README.md").code == 0
        editor.type("README.md", (greeter / "README.md").read_text())
        await editor.until_clean()

    edit(greeter, type_the_steps)
    assert shown == [
        ["readme-parameters"],
        ["name"],
        ["readme-parameters"],
        ["parameter-unbounded", "parameter-undescribed", "parameter-unused", "readme-parameters"],
        ["readme-parameters"],
    ]


def test_a_rename_in_an_unsaved_manifest_is_an_error_in_a_file_that_is_not_open(greeter: Path) -> None:
    async def rename(editor: Editor) -> None:
        text = editor.open("template.yaml")
        editor.type("template.yaml", text.replace("  port:", "  harbour:"))
        await editor.until(lambda: any(rule == "name" and ".j2" in file for rule, file, *_ in editor.found))
        editor.type("template.yaml", text)
        await editor.until_clean()

    edit(greeter, rename)


def test_a_bomb_is_a_diagnostic_and_the_next_edit_works(greeter: Path) -> None:
    async def explode(editor: Editor) -> None:
        text = editor.open("overlay.yaml.j2")
        editor.type("overlay.yaml.j2", _BOMB + text)
        await editor.until(lambda: "limit" in editor.rules)
        editor.type("overlay.yaml.j2", text)
        await editor.until_clean()

    edit(greeter, explode)


def test_a_child_that_takes_too_long_is_ended_and_the_next_works(tmp_path: Path) -> None:
    folder = shutil.copytree(ROOT / "templates" / "envoy", tmp_path / "envoy")
    envoy = dict.fromkeys(("folder", "path"), str(folder))
    # each value is a render of its own
    colours = {"type": "string", "enum": [f"c{number}" for number in range(2000)], "description": "Many."}
    manifest, overlay = folder / "template.yaml", folder / "overlay.yaml.j2"
    manifest.write_text(manifest.read_text().replace("parameters:", f"parameters:\n  colour: {json.dumps(colours)}", 1))
    overlay.write_text(overlay.read_text() + "# {{ params.colour }}\n")

    async def ask() -> None:
        children = ForkServer()
        try:
            with pytest.raises(ChildError) as ended:
                await children.run("lint", envoy, 1)
            assert ended.value.rule == "limit"
            assert await children.run("check", {**envoy, "pod": "", "cases": True}, 60) == b"[]"
            cancelled = asyncio.create_task(children.run("lint", envoy, 60))
            [*_, forking] = children_of(os.getpid())
            while not children_of(forking):  # noqa: ASYNC110 - it is another process that begins and ends
                await asyncio.sleep(0.01)
            cancelled.cancel()
            while children_of(forking):  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        finally:
            children.stop()

    asyncio.run(ask())


def test_after_the_end_nothing_starts_again() -> None:
    async def ask() -> None:
        before = children_of(os.getpid())
        children = ForkServer()
        children.start()
        children.end()
        with pytest.raises(ChildError):
            await children.run("settings", {"file": "settings.yaml", "text": ""}, 10)
        assert children_of(os.getpid()) == before

    asyncio.run(ask())


def children_of(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def test_a_killed_process_is_replaced(greeter: Path) -> None:
    async def kill(editor: Editor) -> None:
        text = editor.open("overlay.yaml.j2")
        wrong = text.replace("params.", "parms.", 1)
        for _ in range(3):
            editor.type("overlay.yaml.j2", wrong)
            await editor.until(lambda: editor.rules == ["name"])
            [forking] = children_of(editor.process.pid)
            os.kill(forking, signal.SIGKILL)
            editor.type("overlay.yaml.j2", text)
            await editor.until_clean()
            assert children_of(editor.process.pid) != [forking]

    edit(greeter, kill)


def test_nothing_is_left_when_the_editor_dies(greeter: Path) -> None:
    async def die(editor: Editor) -> None:
        editor.open("overlay.yaml.j2", "")
        await editor.until(lambda: bool(editor.rules))
        processes.extend([editor.process.pid, *children_of(editor.process.pid)])

    processes: list[int] = []
    edit(greeter, die)
    assert len(processes) == 2
    assert not [pid for pid in processes if Path(f"/proc/{pid}").exists()]


def test_stale_findings_are_marked_and_move_with_their_lines(greeter: Path) -> None:
    async def insert(editor: Editor) -> None:
        text = editor.open("template.yaml").replace("  port:", "  colour:\n    type: string\n  port:")
        editor.type("template.yaml", text)
        await editor.until(lambda: "parameter-unused" in editor.rules)
        lines = {d.code: d.range.start.line for d in editor.diagnostics["template.yaml"]}
        editor.type("template.yaml", f"# one\n# two\n{text}")
        await editor.until(lambda: editor.stale["parameter-unused"] == 1)
        moved = {d.code: d.range.start.line for d in editor.diagnostics["template.yaml"]}
        assert moved["parameter-unused"] == lines["parameter-unused"] + 2
        await editor.until(lambda: not editor.stale)

    edit(greeter, insert)


def test_quick_fixes_switch_a_finding_off_where_it_is(greeter: Path) -> None:
    text = (greeter / "template.yaml").read_text().replace("  port:", "  colour:\n    type: string\n  port:")
    (greeter / "template.yaml").write_text(text)
    overlay = (greeter / "overlay.yaml.j2").read_text().replace("Escalation: false", "Escalation: true")
    (greeter / "overlay.yaml.j2").write_text(overlay)
    before = linted(greeter)
    assert len({file for _, file, *_ in before}) == 3

    async def fix(editor: Editor) -> None:
        editor.open("template.yaml")
        await editor.until_as_linted()
        for file in [file for file, diagnostics in editor.diagnostics.items() if diagnostics]:
            for action in await editor.quick_fixes(file):
                assert action.edit is not None and action.edit.changes is not None
                [diagnostic] = action.diagnostics
                fixes.append((diagnostic.code, action.edit.changes))

    fixes: list[tuple[str, dict[str, Any]]] = []
    edit(greeter, fix)
    originals = {name: (greeter / name).read_text() for name in ("template.yaml", "overlay.yaml.j2", "README.md")}
    rules_found = {rule for rule, *_ in before}
    assert {rule for rule, _ in fixes} == rules_found
    assert len(fixes) > len(before), "some have the one right edit as well"
    for rule, changes in fixes:
        for uri, edits in changes.items():
            name = uri.rpartition("/")[2]
            (greeter / name).write_text(applied(edits, originals[name]))
        after = linted(greeter)
        assert sum(r == rule for r, *_ in after) < sum(r == rule for r, *_ in before), rule
        assert "disable" not in {r for r, *_ in after}, rule
        for name, original in originals.items():
            (greeter / name).write_text(original)


def test_case_files_are_checked_and_cases_are_run_with_unsaved_texts(greeter: Path) -> None:
    async def run(editor: Editor) -> None:
        text = editor.open("tests/first.yaml")
        editor.type("tests/first.yaml", text.replace("decision:", "desicion:", 1))
        await editor.until(lambda: set(editor.rules) == {"case"})
        editor.type("tests/first.yaml", text)
        await editor.until_clean()
        results = await editor.request("injector/cases", {"folder": editor.uri("")})
        assert results.failed == 0 and results.passed > 4
        editor.open("overlay.yaml.j2", "spec: {}\n")
        results = await editor.request("injector/cases", {"folder": editor.uri("")})
        assert results.failed > 0

    edit(greeter, run)


def test_a_preview_shows_the_pod_before_and_after(greeter: Path) -> None:
    async def look(editor: Editor) -> None:
        editor.open("overlay.yaml.j2")
        ask = {"folder": editor.uri(""), "parameters": {"greeting": "good morning"}}
        shown = await editor.request("injector/preview", ask)
        assert "name: greeter" in shown.after and "name: greeter" not in shown.before
        assert shown.problems == [] and shown.reason == "injected"
        assert next(row.value for row in shown.parameters if row.name == "greeting") == "good morning"
        assert "good morning" in repr(shown.files)
        shown = await editor.request("injector/preview", {**ask, "namespaceLabel": "disabled"})
        assert shown.reason == "namespace-disabled" and shown.difference == "" and shown.problems == []
        for pod, native in ((sample.title, sample.native) for sample in SAMPLE_PODS):
            shown = await editor.request("injector/preview", {**ask, "pod": pod, "nativeSidecars": native})
            assert shown.problems == []
        pod = "kind: Pod\napiVersion: v1\nmetadata: {name: shop}\nspec: {containers: [{name: shop, image: 'shop:1'}]}\n"
        shown = await editor.request("injector/preview", {**ask, "pod": pod})
        assert "name: shop" in shown.before and shown.problems == []
        shown = await editor.request("injector/preview", {**ask, "pod": "a: ["})
        assert [problem.rule for problem in shown.problems] == ["pod"]
        shown = await editor.request("injector/preview", {**ask, "pod": "apiVersion: v1\nkind: Service\n"})
        assert [problem.rule for problem in shown.problems] == ["pod"] and "paths:" not in shown.problems[0].message
        shown = await editor.request("injector/preview", {**ask, "parameters": {"port": "80"}})
        assert [problem.rule for problem in shown.problems] == ["bad-parameter"]
        editor.type("overlay.yaml.j2", _BOMB)
        shown = await editor.request("injector/preview", ask)
        assert [problem.rule for problem in shown.problems] == ["limit"]

    edit(greeter, look)


def test_the_pod_in_view_is_what_is_checked_at_once(greeter: Path) -> None:
    only_jobs = "{% if workload.kind == 'Job' %}{{ params.greeting.nothing }}{% endif %}\n"

    async def look(editor: Editor) -> None:
        text = editor.open("overlay.yaml.j2")
        await editor.until_as_linted()
        client = editor.client
        await client.workspace_execute_command_async(types.ExecuteCommandParams("injector.samplePod", ["a Job"]))
        editor.type("overlay.yaml.j2", only_jobs + text)
        await editor.until(lambda: "renders" in editor.rules)
        editor.type("overlay.yaml.j2", text)
        await editor.until_clean()

    edit(greeter, look)


def test_settings_are_checked_where_they_are(tmp_path: Path) -> None:
    async def check(editor: Editor) -> None:
        editor.open("settings.yaml", "prefix: sidecar.example\nserver:\n  prot: 8443\n")
        await editor.until(lambda: editor.found == [("unknown-key", "settings.yaml", 3, 3)])
        editor.type("settings.yaml", "prefix: sidecar.example\nserver:\n  port: 8443\n")
        await editor.until_clean()
        editor.type("settings.yaml", "prefix: sidecar.example\nserver: {port: 8443\n")
        await editor.until(lambda: editor.rules == ["yaml"])
        editor.type("settings.yaml", "somebody: elses\n")
        await editor.until_clean()

    edit(tmp_path, check)


def test_a_closed_template_shows_nothing(greeter: Path) -> None:
    async def close(editor: Editor) -> None:
        editor.open("overlay.yaml.j2", "spec: [")
        await editor.until(lambda: bool(editor.rules))
        editor.close("overlay.yaml.j2")
        await editor.until_clean()

    edit(greeter, close)


def changed(text: str, chance: random.Random) -> str:
    """A text after an edit such as people make, and some that nobody makes."""
    at, end = sorted(chance.randrange(len(text) + 1) for _ in range(2))
    pieces = [
        "{{",
        "}}",
        "{% if %}",
        "\n",
        "  ",
        ": ",
        "- ",
        "params.",
        "\t",
        "é",
        "🎈",
        "\r\n",
        "\u2028",
        "\0",
        '"',
        "x",
    ]
    match chance.randrange(4):
        case 0:
            return text[:at] + text[min(end, at + 20) :]
        case 1:
            return text[:at] + text[at : at + 30] + text[at:]
        case _:
            return text[:at] + chance.choice(pieces) + text[at:]


def memory_of(pids: list[int]) -> int:
    """Bytes that processes have in memory."""
    return sum(int(Path(f"/proc/{pid}/statm").read_text().split()[1]) for pid in pids) * 4096


def edit_at_random(folder: Path, edits: int) -> None:
    seed = random.randrange(2**32)
    print("seed", seed)
    chance = random.Random(seed)
    used: list[int] = []

    async def type_at_random(editor: Editor) -> None:
        files = ["overlay.yaml.j2", "template.yaml", "nginx.conf.j2", "tests/first.yaml"]
        originals = {file: editor.open(file) for file in files}
        texts = dict(originals)
        await editor.until_as_linted()
        for number in range(edits):
            file = chance.choice(files)
            texts[file] = changed(texts[file], chance) if number % 15 else originals[file]
            editor.type(file, texts[file])
            if number % 10 == 9:
                ask = {"folder": editor.uri("")}
                await editor.request("injector/preview", ask)  # when that is answered, it reads what is typed
            if number % 500 == 499:
                used.append(memory_of([editor.process.pid, *children_of(editor.process.pid)]))
        text = originals["overlay.yaml.j2"].replace("params.", "parms.", 1)
        for file in files:
            editor.type(file, originals[file])
        editor.type("overlay.yaml.j2", text)
        editor.save("overlay.yaml.j2", text)
        await editor.until_as_linted()
        assert editor.rules == ["name"]
        editor.type("overlay.yaml.j2", originals["overlay.yaml.j2"])
        editor.save("overlay.yaml.j2", originals["overlay.yaml.j2"])
        await editor.until_as_linted()

    edit(folder, type_at_random)
    if len(used) > 4:
        print("MiB", [round(bytes_ / 2**20) for bytes_ in used])
        assert max(used) - used[1] < 32 * 2**20


def test_random_edits_end_as_the_saved_text_is_linted(greeter: Path) -> None:
    edit_at_random(greeter, 300)


def test_a_preview_takes_the_example_of_what_is_required_without_a_word(tmp_path: Path) -> None:
    """The page shows it as such; a warning would hide those that matter."""
    folder = tmp_path / "tool"
    folder.mkdir()
    parameter = "parameters: {who: {type: string, required: true, examples: [somebody], description: Who.}}\n"
    (folder / "template.yaml").write_text(f"description: A tool.\n{parameter}")
    overlay = "spec: {containers: [{name: tool, image: 'tool:1', args: ['{{ params.who }}']}]}\n"
    (folder / "overlay.yaml.j2").write_text(overlay)

    async def look(editor: Editor) -> None:
        shown = await editor.request("injector/preview", {"folder": editor.uri("")})
        assert (shown.reason, shown.warnings, shown.problems) == ("injected", [], [])
        assert [(row.name, row.value) for row in shown.parameters] == [("who", "somebody")]
        assert [(one.required, one.examples) for one in shown.declared] == [(True, ["somebody"])]

    edit(folder, look)


@pytest.mark.soak(minutes=60)
def test_ten_thousand_random_edits_leave_memory_flat(greeter: Path) -> None:
    edit_at_random(greeter, 10_000)


def test_without_its_packages_the_command_says_what_to_install(tmp_path: Path) -> None:
    [packages] = [path for path in map(Path, sys.path) if (path / "pygls").is_dir()]
    for entry in packages.iterdir():
        if not entry.name.startswith("pygls"):
            (tmp_path / entry.name).symlink_to(entry)
    environment = {"PYTHONPATH": f"{ROOT}:{tmp_path}", "PATH": os.environ["PATH"]}
    command = [sys.executable, "-S", "-m", "injector", "lsp"]
    done = subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    assert done.returncode == 1 and f"run {how_to_install('pygls')}\n" in done.stderr and not done.stdout


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-32"])
def test_positions_are_those_of_the_editor(encoding: str) -> None:
    pieces = ["a\u2028b", "🎈é", "", "\x0c x"]
    for ending in ("\n", "\r\n", "\r"):
        text = ending.join(pieces)
        editor_text = EditorText(text, PositionCodec(types.PositionEncodingKind(encoding)))
        at, width = text.index("é"), len("🎈".encode(f"{encoding}-le" if encoding != "utf-8" else encoding))
        units = width // {"utf-8": 1, "utf-16": 2, "utf-32": 4}[encoding]
        assert editor_text.range(at, at).start == types.Position(1, units)
        for offset in range(len(text) + 1):
            if text[offset - 1 : offset + 1] != "\r\n":
                assert editor_text.offset(editor_text.range(offset, offset).start) == offset
        assert editor_text.offset(types.Position(99, 99)) == len(text)


def test_no_rule_is_switched_off_that_cannot_be() -> None:
    texts = {"template.yaml": EditorText("a: 1\n", PositionCodec())}
    assert disabling("disable", "template.yaml", 1, texts) == []
    assert disabling("yaml", "template.yaml", 1, texts) == []
    assert all(disabling(rule, "template.yaml", 1, texts) for rule in rules() if rule != "disable")
