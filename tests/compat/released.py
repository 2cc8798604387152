"""A release as it was: the commit that CHANGELOG.md names, out of the repository's history."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from tests import parts

PROJECT = Path(__file__).parents[2]
_COMMIT = re.compile(r"^## (\S+) - .*\n\nCommit ([0-9a-f]{40})\.", re.MULTILINE)


def released(version: str, folder: Path) -> Path:
    """Its files, in this folder: code, templates, chart, Dockerfile. Without the history the test is skipped."""
    commit = dict(_COMMIT.findall((PROJECT / "CHANGELOG.md").read_text()))[version]
    git = ["git", "-C", str(PROJECT)]
    if subprocess.run([*git, "cat-file", "-e", commit], capture_output=True, check=False).returncode:
        parts.go_without("history")
    archive = subprocess.run([*git, "archive", commit], stdout=subprocess.PIPE, check=True)
    subprocess.run(["tar", "-x", "-C", str(folder)], input=archive.stdout, check=True)
    return folder
