"""Where the figures of a page come from."""

from __future__ import annotations

import os
import platform
import subprocess
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PYTHON = f"{platform.python_implementation()} {platform.python_version()}"


def written_by(target: str) -> str:
    """The first sentence of a page: which target of make wrote it, when, at which commit, and on what."""
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False
    ).stdout.strip()
    at = f"commit {commit}" if commit else "no commit"
    return (
        f"`make {target}` wrote this page on {datetime.now(UTC):%Y-%m-%d} at {at}, on {os.cpu_count()} cores "
        f"with {PYTHON}. Run it to get the figures of your machine."
    )
