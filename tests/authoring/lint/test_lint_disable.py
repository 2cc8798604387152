"""Comments that switch rules off, and those that should not be there."""

from __future__ import annotations

from pathlib import Path

import pytest

from injector.authoring.lint.engine import disables
from tests.authoring.lint.support import BASE, found, write
from tests.messages import Golden

MANIFEST = (BASE / "template.yaml").read_text()
OVERLAY = (BASE / "overlay.yaml.j2").read_text()
IMAGE = "image: {{ params.image }}"
#: The clean overlay with an image that has no tag.
UNTAGGED = OVERLAY.replace(IMAGE, "image: example.com/tool")


def lint(tmp_path: Path, overlay: str, manifest: str = MANIFEST) -> list[tuple[str, str, int]]:
    """Rule, message and line of each problem; but that no file reads the parameter `image` any more."""
    problems = found(write(tmp_path, {"overlay.yaml.j2": overlay, "template.yaml": manifest}))
    return [(p.code, p.message, p.place.line) for p in problems if p.code != "parameter-unused"]


def test_it_is_found_without_a_comment(tmp_path: Path) -> None:
    assert [rule for rule, _, _ in lint(tmp_path, UNTAGGED)] == ["image-tag"]


@pytest.mark.parametrize(
    "overlay",
    [
        UNTAGGED.replace("example.com/tool", "example.com/tool  # lint: disable=image-tag built by hand"),
        UNTAGGED.replace("    image:", "    # lint: disable=image-tag built by hand\n    image:"),
        UNTAGGED.replace("    image:", "    {# lint: disable = image-tag built by hand #}\n    image:"),
        UNTAGGED.replace("    image:", "{# lint: disable=image-tag - built by hand #}\n    image:"),
        UNTAGGED.replace("    image:", "    # lint: disable=image-tag,schema built by hand\n    image:"),
    ],
    ids=["behind", "above", "Jinja above", "with dashes", "with another rule"],
)
def test_a_comment_switches_it_off(overlay: str, tmp_path: Path) -> None:
    assert lint(tmp_path, overlay) == []


@pytest.mark.parametrize("broken", ["image: {{ params.imag }}", 'image: "{{ params.image }}'])
def test_a_comment_is_not_idle_where_nothing_is_rendered(broken: str, tmp_path: Path) -> None:
    overlay = OVERLAY.replace(IMAGE, f"# lint: disable=image-tag built by hand\n    {broken}")
    assert "disable" not in [rule for rule, _, _ in lint(tmp_path, overlay)]


def test_two_comments_above_a_line_are_both_for_it(tmp_path: Path) -> None:
    comments = "    # lint: disable=image-tag built by hand\n    # lint: disable=schema why not\n"
    problems = lint(tmp_path, UNTAGGED.replace("    image:", f"{comments}    image:"))
    assert [(rule, line) for rule, _, line in problems] == [("disable", 8)]


def test_a_comment_above_a_line_that_has_one_too_is_for_that_line(tmp_path: Path) -> None:
    image = "    image: example.com/tool"
    overlay = UNTAGGED.replace(image, f"{{# lint: disable=image-tag mine #}}\n{image}  # lint: disable=schema no")
    assert [(rule, line) for rule, _, line in lint(tmp_path, overlay)] == [("disable", 8)]


def test_a_comment_is_for_its_line_alone(tmp_path: Path) -> None:
    overlay = UNTAGGED.replace("  - name: tool", "  # lint: disable=image-tag built by hand\n  - name: tool")
    assert [rule for rule, _, _ in lint(tmp_path, overlay)] == ["disable", "image-tag"]


def test_a_comment_is_for_its_file_alone(tmp_path: Path) -> None:
    lines = [*MANIFEST.splitlines(), *["overridable:", "- resources", "- image"]][:7]
    lines[6] += "  # lint: disable=image-tag built by hand"
    problems = lint(tmp_path, UNTAGGED, "\n".join(lines) + "\n")
    assert ("image-tag", 7) in [(rule, line) for rule, _, line in problems]
    assert ("disable", 7) in [(rule, line) for rule, _, line in problems]


def test_at_the_margin_of_the_manifest_it_is_for_the_whole_template(tmp_path: Path) -> None:
    assert lint(tmp_path, UNTAGGED, f"# lint: disable=image-tag built by hand\n{MANIFEST}") == []
    further_in = MANIFEST.replace("  image:", "  # lint: disable=image-tag built by hand\n  image:")
    assert [rule for rule, _, _ in lint(tmp_path, UNTAGGED, further_in)] == ["image-tag", "disable"]


@pytest.mark.parametrize(
    "comment",
    [
        "# lint: disable=image-tag",
        "# lint: disable=image-tags built by hand",
        "# lint: disable=",
        "# lint: disable=schema just in case",
    ],
)
def test_a_comment_that_should_not_be_there(comment: str, tmp_path: Path, golden: Golden) -> None:
    problems = lint(tmp_path, UNTAGGED.replace("example.com/tool", f"example.com/tool  {comment}"))
    golden([m for rule, m, line in problems if rule == "disable" and line == 7])


def test_what_was_not_looked_for_says_nothing_of_a_comment(tmp_path: Path) -> None:
    overlay = UNTAGGED.replace("example.com/tool", "example.com/tool  # lint: disable=image-tag built by hand")
    tool = write(tmp_path, {"overlay.yaml.j2": overlay})
    assert found(tool, only=frozenset({"disable", "schema"})) == ()
    assert found(tool, disabled=frozenset({"image-tag", "parameter-unused"})) == ()


def test_the_rule_about_comments_cannot_be_switched_off(tmp_path: Path) -> None:
    problems = lint(tmp_path, OVERLAY.replace(IMAGE, f"{IMAGE}  # lint: disable=disable I know better"))
    assert [rule for rule, _, _ in problems] == ["disable"]


def test_a_readme_that_explains_comments_has_none(golden: Golden) -> None:
    text = "Write `# lint: disable=schema why`:\n\n    x: 1  # lint: disable=schema why\n"
    assert list(disables({"README.md": text})) == []
    [comment] = disables({"README.md": "<!-- lint: disable=readme-parameters of another template -->\ntext\n"})
    assert (comment.rules, comment.line) == (("readme-parameters",), 2)
    golden(comment.reason)
