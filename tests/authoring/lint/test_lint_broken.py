"""What `injector render` says of a broken template, `injector lint` says too: the same words at the same place."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.authoring.lint.support import found
from tests.unit.templates.test_broken import CASES, contents, without_message

#: Those that are broken for every pod, and need no value of the command line to be.
ALWAYS = [case for case in CASES if "args" not in case]


@pytest.mark.parametrize("case", ALWAYS, ids=[case["name"] for case in ALWAYS])
def test_it_is_told_as_render_tells_it(
    case: dict[str, object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / str(case["name"])
    folder.mkdir()
    for name, data in contents(case).items():
        (folder / name).write_bytes(data)
    problems = found(Path(folder.name))
    [problem] = [problem for problem in problems if without_message(str(problem)) == f"{case['name']}{case['expect']}"]
    assert [p.code for p in problems if p.place == problem.place and p.severity == "error"] == [problem.code]
