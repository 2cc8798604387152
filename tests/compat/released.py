"""A release as it was: the commit that CHANGELOG.md names, out of the repository's history."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from tests import parts

PROJECT = Path(__file__).parents[2]
_GIT = ("git", "-C", str(PROJECT))
_COMMIT = re.compile(r"^## (\S+) - .*\n\nCommit ([0-9a-f]{40})\.", re.MULTILINE)


def released(version: str, folder: Path) -> Path:
    """Its files, in this folder: code, templates, chart, Dockerfile.

    In a copy without the history (a shallow clone, an archive) the test is skipped.
    """
    commit = dict(_COMMIT.findall((PROJECT / "CHANGELOG.md").read_text()))[version]
    if not (PROJECT / ".git").exists() or _git("rev-parse", "--is-shallow-repository") == "true":
        parts.go_without("history")
    archive = subprocess.run([*_GIT, "archive", commit], stdout=subprocess.PIPE, check=True)
    subprocess.run(["tar", "-x", "-C", str(folder)], input=archive.stdout, check=True)
    return folder


def _git(*words: str) -> str:
    return subprocess.run([*_GIT, *words], stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
