"""What is half written, or leads elsewhere, stops nobody's work with what lies beside it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from injector.cli.watch import watch
from injector.loading.template_folders import gallery_path
from tests.authoring.commands import injector
from tests.messages import Golden

POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: [{name: app, image: app:1}]}\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A template `mine` that is whole, `other` that is half written, and a pod."""
    shutil.copytree(gallery_path() / "nginx", tmp_path / "mine")
    (tmp_path / "other").mkdir()
    (tmp_path / "other/template.yaml").write_text("description: [\n")
    (tmp_path / "web.yaml").write_text(POD)
    return tmp_path


@pytest.mark.parametrize("command", ["inject", "explain"])
def test_a_neighbour_that_nobody_asked_for_is_told_of(folder: Path, command: str, golden: Golden) -> None:
    arguments = (command, "--templates-dir", folder, folder / "web.yaml")
    assert injector(*arguments).code == 1
    done = injector(*arguments, "--templates", "mine", "--param", "mine.app-port=8080")
    assert done.code == 0, done.err
    golden(done.err)
    assert "mine" in done.out
    broken = injector(*arguments, "--templates", "other")
    assert broken.code == 1
    golden(broken.err)


def test_templates_are_not_chosen_for_what_is_in_a_cluster(folder: Path, golden: Golden) -> None:
    done = injector("explain", "--templates", "mine", "pod/web")
    assert done.code == 2
    golden(done.err)


@pytest.mark.parametrize("link", ["secret.conf.j2", "tests/secret.yaml"])
def test_a_copy_takes_nothing_that_a_link_leads_out_to(folder: Path, link: str, golden: Golden) -> None:
    (folder / "secret").write_text("password")
    (folder / "mine" / link).symlink_to(folder / "secret")
    done = injector("new", "copy", "--from", folder / "mine", "--dir", folder)
    assert done.code == 1
    golden(done.err)
    assert not (folder / "copy").exists()


def test_a_copy_follows_links_within(folder: Path) -> None:
    (folder / "mine/README.md").rename(folder / "mine/text.md")
    (folder / "mine/README.md").symlink_to("text.md")
    assert injector("new", "copy", "--from", folder / "mine", "--dir", folder).code == 0
    assert (folder / "copy/README.md").read_text() != ""


def test_a_preview_outlives_whatever_a_save_leads_to(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], golden: Golden
) -> None:
    file = tmp_path / "overlay.yaml.j2"
    file.write_text("a")
    texts = iter(["first\n", ZeroDivisionError("of\x1b a save"), "third\n", KeyboardInterrupt()])

    def draw() -> str:
        text = next(texts)
        file.write_text(file.read_text() + "a")
        if isinstance(text, BaseException):
            raise text
        return text

    assert watch(lambda: [file], draw, "mine") == 0
    shown = capsys.readouterr().out
    assert shown.startswith("first\n===== ")
    golden(shown)
    assert shown.endswith("third\n")
