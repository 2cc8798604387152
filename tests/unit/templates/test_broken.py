"""Broken templates: each gives one clear message at the right file, line and column, exit 1, and no traceback."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from injector.cli.main import main
from injector.loading.trial import try_templates
from tests.messages import Golden

CASES: list[dict[str, Any]] = yaml.load(
    (Path(__file__).parent / "broken" / "templates.yaml").read_text(), yaml.CSafeLoader
)
RIGHT = {
    "template.yaml": "description: A test.\n",
    "overlay.yaml.j2": "spec:\n  containers:\n  - name: x\n    image: x:1\n",
}
RULES = {"syntax", "name", "yaml", "manifest", "parameter", "overlay", "value", "file", "limit"}


def contents(case: dict[str, Any]) -> dict[str, bytes]:
    files = {name: text if isinstance(text, bytes) else text.encode() for name, text in case["files"].items()}
    if "times" in case:
        files = {name: data * case["times"] if len(data) == 1 else data for name, data in files.items()}
    return {**{name: text.encode() for name, text in RIGHT.items()}, **files}


def without_message(line: str) -> str:
    """`FILE:LINE:COLUMN: error: MESSAGE [RULE]` without the message."""
    return re.sub(r": error: .* (\[\w+\])$", r": error \1", line)


def test_there_are_enough_and_of_every_kind() -> None:
    assert len(CASES) >= 60
    assert len({case["name"] for case in CASES}) == len(CASES)
    assert {re.search(r"\[(\w+)\]$", case["expect"])[1] for case in CASES} == RULES  # type: ignore[index]
    assert sum(re.match(r"/[^ ]+:\d+:\d+: error ", case["expect"]) is not None for case in CASES) >= len(CASES) - 4


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_one_clear_message(
    case: dict[str, Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    golden: Golden,
) -> None:
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / case["name"]
    folder.mkdir()
    for name, data in contents(case).items():
        (folder / name).write_bytes(data)
    with pytest.raises(SystemExit) as end:
        main(["render", f"./{case['name']}", *case.get("args", [])])
    out, err = capsys.readouterr()
    assert (end.value.code, out) == (1, "")
    first, *excerpt = err.splitlines()
    assert without_message(first) == f"./{case['name']}{case['expect']}"
    golden(first)
    *excerpt, help_ = excerpt if excerpt and excerpt[-1].startswith("      = ") else [*excerpt, ""]
    assert len(excerpt) in (0, 2), err
    assert not help_ or help_[8:].strip()
    if excerpt:
        found = re.search(r":(\d+):(\d+): error: ", first)
        assert found
        line = contents(case)[first.split("/")[2].split(":")[0]].decode().split("\n")[int(found[1]) - 1]
        shown, caret = excerpt
        assert shown.startswith(f"{found[1]:>5} | ")
        column = caret.index("^") - len("      | ")
        assert shown[len("      | ") :][column : column + 5].isascii()
        assert line.isprintable() is False or shown[len("      | ") :][column:][:5] == line[int(found[2]) - 1 :][:5]


def test_the_trial_of_a_server_refuses_them_too() -> None:
    texts = {
        case["name"]: {name: data.decode() for name, data in contents(case).items()}
        for case in CASES
        if not any(isinstance(data, bytes) for data in case["files"].values())
    }
    failed = try_templates(texts)
    assert set(texts) == set(failed)
    for case in CASES:
        error = failed.get(case["name"])
        if error is not None and error.place is not None:
            assert without_message(str(error)) == case["name"] + case["expect"]
