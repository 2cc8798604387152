"""What is said of a README: each mistake once, and nothing while nobody knows what the template renders."""

from __future__ import annotations

from pathlib import Path

from injector.authoring.reference import BEGIN, END, with_section
from injector.diagnostics import Diagnostic
from injector.loading.template_folders import read_folder
from injector.templates.load import load_template
from tests.authoring.lint.support import found, write
from tests.messages import Golden

_ONLY = frozenset({"readme-parameters"})


def _written(folder: Path) -> Path:
    """A template with a README as `injector docs --write` leaves it."""
    tool = write(folder, {"README.md": f"# tool\n\n{BEGIN}\n{END}\n"})
    readme = tool / "README.md"
    readme.write_text(with_section(readme.read_text(), load_template("tool", read_folder(tool), "tool")))
    return tool


def _changed(tool: Path, name: str, old: str, new: str) -> tuple[Diagnostic, ...]:
    """What is found once a text has been changed in a file."""
    text = (tool / name).read_text()
    assert old in text
    (tool / name).write_text(text.replace(old, new))
    return found(tool, only=_ONLY)


def test_a_section_as_it_is_written_is_fine(tmp_path: Path) -> None:
    assert found(_written(tmp_path), only=_ONLY) == ()


def test_a_stale_section_is_told_once_with_what_is_there_and_what_should_be(tmp_path: Path, golden: Golden) -> None:
    tool = _written(tmp_path)
    [problem] = _changed(tool, "template.yaml", "default: 19901", "default: 19902")
    assert problem.place.text[problem.place.column - 1 :].startswith("1` |")
    golden(problem)


def test_names_within_the_section_are_not_told_again(tmp_path: Path, golden: Golden) -> None:
    tool = _written(tmp_path)
    files = {"overlay.yaml.j2": (tool / "overlay.yaml.j2").read_text().replace("params.port", "params.tool_port")}
    write(tmp_path, {**files, "README.md": (tool / "README.md").read_text()})
    [problem] = _changed(tool, "template.yaml", "  port:", "  tool-port:")
    golden(problem.message)
    by_hand, section = _changed(tool, "README.md", "# tool\n", "# tool\n\n--param port=1\n")
    assert (by_hand.place.line, section.message) == (3, problem.message)
    golden(by_hand.message)


def test_lines_that_are_gone_or_too_many_are_told(tmp_path: Path, golden: Golden) -> None:
    [gone] = _changed(_written(tmp_path / "a"), "README.md", "## Which pods\n", "")
    golden(gone.message)
    [more] = _changed(_written(tmp_path / "b"), "README.md", "## Which pods\n", "by hand\n## Which pods\n")
    golden(more.message)


def test_nothing_is_said_while_the_template_does_not_render(tmp_path: Path) -> None:
    assert [p.code for p in _changed(_written(tmp_path), "overlay.yaml.j2", "params.image", "params.imag")] == ["name"]
