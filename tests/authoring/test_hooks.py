"""The hooks of pre-commit for repositories of templates: what they run, and which files lead to a run."""

from __future__ import annotations

import re
import shlex
import shutil
import tomllib
from pathlib import Path

import pytest
import yaml

from injector.loading.template_folders import gallery_path
from tests.authoring.commands import injector
from tests.deploy.helm import ROOT
from tests.messages import Golden

HOOKS = {hook["id"]: hook for hook in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())}


@pytest.mark.parametrize("name", sorted(HOOKS))
def test_a_hook_passes_what_is_good_and_stops_what_is_broken(name: str, tmp_path: Path, golden: Golden) -> None:
    template = tmp_path / "templates" / "nginx"
    shutil.copytree(gallery_path() / "nginx", template)
    program, *words = shlex.split(HOOKS[name]["entry"])
    assert program == "injector"
    done = injector(*words, tmp_path / "templates")
    assert done.code == 0, done.err
    overlay = template / "overlay.yaml.j2"
    overlay.write_text(overlay.read_text().replace("params.", "parms.", 1))
    done = injector(*words, tmp_path / "templates")
    assert done.code == 1
    golden(done.out + done.err)


def test_every_file_of_a_template_leads_to_a_run() -> None:
    linted, tested = (re.compile(HOOKS[name]["files"]) for name in ("injector-lint", "injector-test"))
    for file in (path for path in gallery_path().rglob("*") if path.is_file() and path.suffix != ".md"):
        is_case = file.parent.name == "tests" or "golden" in file.parts
        assert tested.search(file.as_posix()), file
        assert is_case or linted.search(file.as_posix()), file


def test_the_linter_brings_what_the_extra_brings() -> None:
    extra = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]["lint"]
    assert HOOKS["injector-lint"]["additional_dependencies"] == extra
