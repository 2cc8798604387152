"""The workbench's page in a real Chromium: what its users do with it, and what must never happen on it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests import command
from tests.authoring.workbench.screen import Screen, chromium, violations, workbench

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.programs
_OVERLAY = "overlay.yaml.j2"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as running:
        yield running


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    assert command.run("new", "greeter", "--dir", tmp_path).code == 0
    return tmp_path / "greeter"


@pytest.fixture
def screen(browser: Browser, folder: Path) -> Iterator[Screen]:
    with workbench(folder) as address:
        shown = Screen(browser, address)
        yield shown
        shown.close()


def test_the_pod_follows_each_change(screen: Screen) -> None:
    assert "name: greeter-config" in screen.view("Difference")
    screen.replace(_OVERLAY, "greeter-temp", "greeter-scratch")
    screen.until(lambda: "greeter-scratch" in screen.view("Difference"))


def test_a_file_that_changes_on_disk_shows(screen: Screen, folder: Path) -> None:
    overlay = folder / _OVERLAY
    before = overlay.read_text()
    overlay.write_text(before.replace("greeter-temp", "greeter-scratch"))
    screen.open(_OVERLAY)
    screen.until(lambda: screen.text == overlay.read_text())
    screen.until(lambda: "greeter-scratch" in screen.view("Difference"))


@pytest.mark.parametrize("answer", ["Take the text", "Keep mine", "Cancel"])
def test_a_conflict_is_asked_about_and_loses_nothing(screen: Screen, folder: Path, answer: str) -> None:
    overlay = folder / _OVERLAY
    theirs = overlay.read_text() + "# theirs\n"
    screen.replace(_OVERLAY, "greeter-temp", "greeter-mine")
    mine = screen.text
    overlay.write_text(theirs)
    screen.until(lambda: _OVERLAY in screen.page.locator("#notice").inner_text())
    assert screen.text == mine
    screen.page.locator("#save").click()
    screen.page.locator("#ask button", has_text=answer).click()
    if answer == "Take the text":
        screen.until(lambda: screen.text == theirs)
        screen.page.locator("#files > :not([hidden]) .cm-content").focus()
        screen.page.keyboard.press("Control+z")
        screen.until(lambda: screen.text == mine)
        assert overlay.read_text() == theirs
    elif answer == "Keep mine":
        screen.until(lambda: overlay.read_text() == mine)
    else:
        assert (screen.text, overlay.read_text()) == (mine, theirs)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(browser: Browser, folder: Path, scheme: str) -> None:
    with workbench(folder) as address:
        screen = Screen(browser, address, color_scheme=scheme)
        for name in ("Difference", "Config files", "Decision", "Warnings", "Cases"):
            screen.view(name)
            screen.page.locator("summary").click()
            screen.picture(f"{name.lower().replace(' ', '-')}-{scheme}")
            assert violations(screen.page) == []
        screen.page.locator("#new-file").click()
        assert violations(screen.page) == []
        screen.page.keyboard.press("Escape")
        screen.close()
