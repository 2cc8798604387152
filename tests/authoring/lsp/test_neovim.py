"""The language server in a real Neovim, set up as the page on editors says: the tutorial's steps, typed key by key."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests import command, parts
from tests.command import ROOT

_SET_UP = re.search(r"Older versions.*?\n\n((?:    .*\n|\n)+)", (ROOT / "docs" / "editors.md").read_text())


@pytest.mark.programs
def test_the_tutorials_steps_in_neovim(tmp_path: Path) -> None:
    assert command.run("new", "greeter", "--dir", tmp_path).code == 0
    greeter, shown = tmp_path / "greeter", tmp_path / "shown.json"
    assert _SET_UP is not None
    (tmp_path / "init.lua").write_text(re.sub(r"(?m)^    ", "", _SET_UP[1]))
    words = [parts.require("nvim"), "--clean", "--headless", "-u", tmp_path / "init.lua"]
    script = Path(__file__).with_name("in_neovim.lua")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT), "SHOWN": str(shown), "HOME": str(tmp_path)}
    done = subprocess.run(
        [*words, "-c", f"luafile {script}"], cwd=greeter, env=environment, capture_output=True, text=True, timeout=500
    )
    assert shown.exists(), done.stderr
    seen = json.loads(shown.read_text())
    codes = {
        step: sorted(code for code, *_ in seen[step]) for step in ("changed", "broken", "mended", "linted", "clean")
    }
    assert codes == {
        "changed": ["readme-parameters"],
        "broken": ["name"],
        "mended": ["readme-parameters"],
        "linted": ["parameter-unbounded", "parameter-undescribed", "parameter-unused", "readme-parameters"],
        "clean": ["readme-parameters"],
    }
    assert seen["broken"][0][1:] == ["overlay.yaml.j2", 42, 62]
    assert "write port" in seen["actions"]
    assert {"port", "greeting", "image"} <= set(seen["completion"])
    assert "18090" in seen["hover"]
    assert "listen-port:" in (greeter / "template.yaml").read_text()
    assert "params.listen_port" in (greeter / "nginx.conf.j2").read_text()
    assert command.run("test", greeter).code == 0
    linted = json.loads(command.run("lint", "--output", "json", greeter).out)["problems"]
    assert [problem["rule"] for problem in linted] == ["readme-parameters"]
