"""The repository as a GitHub action: its shell lines pass what is right and fail what is wrong."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.command import ROOT

ACTION = yaml.safe_load((ROOT / "action.yml").read_text())
STEPS: dict[str, Any] = {step["name"]: step for step in ACTION["runs"]["steps"]}
WEB = "apiVersion: v1\nkind: Pod\nmetadata: {name: web%s}\nspec: {containers: [{name: web, image: 'web:1'}]}\n"
MISSPELT = ", annotations: {envoy.sidecar.injector/cpu-limt: '1'}"


def run(step: str, folder: Path, **inputs: str) -> subprocess.CompletedProcess[str]:
    """A step with these inputs, by the command that a runner has for `shell: bash`."""
    given = {name: declared["default"] for name, declared in ACTION["inputs"].items()} | inputs

    def value(expression: str) -> str:
        [(name, choice)] = re.findall(r"^\$\{\{ inputs\.(\w+)(.*) \}\}$", expression)
        if not choice:
            return given[name]
        assert choice == " == 'true' && '--strict' || ''"
        return "--strict" if given[name] == "true" else ""

    env = {name: value(text) for name, text in STEPS[step].get("env", {}).items()}
    env |= {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "HOME": str(folder)}
    command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", STEPS[step]["run"]]
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False)


def test_every_step_is_a_shell_s_and_installs_this_repository() -> None:
    assert all(step["shell"] == "bash" for step in STEPS.values())
    assert '"$GITHUB_ACTION_PATH[lint]"' in STEPS["Install the command"]["run"]


@pytest.mark.parametrize(("right", "code"), [(True, 0), (False, 1)])
def test_templates(tmp_path: Path, right: bool, code: int) -> None:
    subprocess.run([sys.executable, "-m", "injector", "new", "mine"], cwd=tmp_path, check=True, capture_output=True)
    if not right:
        overlay = tmp_path / "mine/overlay.yaml.j2"
        overlay.write_text(overlay.read_text().replace("params.port", "params.prot"))
    done = run("Lint and test templates", tmp_path, templates="mine", sarif="out")
    assert done.returncode == code, done.stdout + done.stderr
    assert json.loads((tmp_path / "out/lint.sarif").read_text())["version"] == "2.1.0"
    assert ("::error file=mine/overlay.yaml.j2" in done.stdout) is not right


@pytest.mark.parametrize(
    ("manifest", "strict", "code"),
    [(WEB % "", "true", 0), (WEB % MISSPELT, "true", 1), (WEB % MISSPELT, "false", 0), ("a: [\n", "false", 1)],
)
def test_manifests(tmp_path: Path, manifest: str, strict: str, code: int) -> None:
    (tmp_path / "web.yaml").write_text(manifest)
    assert run("Check manifests", tmp_path, manifests="web.yaml", strict=strict).returncode == code


def test_policies(tmp_path: Path) -> None:
    (tmp_path / "web.yaml").write_text(WEB.replace("image: 'web:1'", "image: 'web:1', env: [{name: A, value: b}]") % "")
    path = {"type": "validating", "templates": ["deny-env"], "failurePolicy": "Fail"}
    (tmp_path / "settings.yaml").write_text(yaml.safe_dump({"paths": {"/validate/env": path}}))
    done = run("Check manifests", tmp_path, manifests="web.yaml", settings="settings.yaml", sarif="out")
    assert done.returncode == 1 and "::error file=web.yaml" in done.stdout
    [result] = json.loads((tmp_path / "out/policies.sarif").read_text())["runs"][0]["results"]
    assert result["ruleId"] == "denied"
