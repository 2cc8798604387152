"""The language server in a real VS Code, with the extension that the page on editors builds."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import command
from tests.authoring.lsp.vscode import Window, greeter, vscode
from tests.authoring.workbench.screen import chromium


@pytest.mark.programs
def test_the_extension_shows_a_mistake_and_mends_it(tmp_path: Path) -> None:
    folder = greeter(tmp_path)
    overlay, config = folder / "overlay.yaml.j2", folder / "nginx.conf.j2"
    with vscode(tmp_path / "vscode") as address, chromium() as browser:
        window = Window(browser, address, folder.parent)  # whose folder has a template, and is none
        window.find_file(overlay.name)
        window.keys("Control+Shift+m", "Control+1")
        window.until(lambda: window.codes() == {"readme-parameters": "51, Col 1"})
        window.go(42, 62)
        window.keys("Control+Delete")
        window.page.keyboard.type("prot")
        window.until(lambda: window.codes() == {"name": "42, Col 62"})
        window.until(lambda: window.squiggles.count() == 1)
        assert window.ask("action", "Escape", "Control+.") == ["write port"]
        window.keys("Enter")
        window.until(lambda: "params.port }}" in window.text)
        window.until(lambda: window.codes() == {"readme-parameters": "51, Col 1"})
        window.until(lambda: window.squiggles.count() == 0)
        assert "18090" in window.hover()
        window.go(42, 62)
        window.keys("Control+Delete", "Control+Space")
        assert "greeting" in [choice.splitlines()[0] for choice in window.choices("suggest")]
        window.page.keyboard.type("po")
        window.until(lambda: [choice.splitlines()[0] for choice in window.choices("suggest")] == ["port"])
        window.keys("Enter", "F2")
        window.page.locator(".rename-box input").fill("listen-port")
        window.keys("Enter")
        window.until(lambda: "listen-port:" in (folder / "template.yaml").read_text())
        window.until(lambda: "params.listen_port" in window.text)
        window.keys("Control+k", "s")
        window.until(lambda: "params.listen_port }}/" in overlay.read_text())
        window.find_file(config.name)
        before = config.read_text().partition("params.listen_port")[0]
        window.go(before.count("\n") + 1, len(before.splitlines()[-1]) + len(" params"))
        assert "18090" in window.hover()
        window.context.close()
    assert command.run("test", folder).code == 0
