"""docs/checking.md and docs/csr.md say what the code says."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path
from typing import get_args

import yaml

from injector.cli.checks.check_report import INSTALLED
from injector.cli.fleet import State
from injector.cluster.entries import entries
from injector.cluster.installation import NOTHING, Installation, pausing, resuming
from injector.settings import Settings

DOCS = Path(__file__).resolve().parents[3] / "docs"
CHECKING = (DOCS / "checking.md").read_text()


def first_cells(text: str, header: str) -> list[str]:
    """What stands in backquotes in the first column of the table with this header."""
    body = text[text.index(f"| {header} |") :].splitlines()[2:]
    rows = body[: next(n for n, line in enumerate([*body, ""]) if not line.startswith("|"))]
    return [re.match(r"\| `([^`]+)` \|", row)[1] for row in rows]


def test_sections_are_those_of_the_command():
    assert first_cells(CHECKING, "section") == [section.title for section in INSTALLED]


def test_states_are_those_of_the_command():
    assert first_cells(CHECKING, "state") == list(get_args(State))


def test_the_files_for_kubectl_are_what_the_commands_apply():
    pause, resume = re.findall(r"```yaml\n(apiVersion: admissionregistration.*?)```", CHECKING, re.DOTALL)
    made = entries(Settings(), Installation())
    kinds = {"MutatingWebhookConfiguration": made.mutating, "ValidatingWebhookConfiguration": made.validating}
    live = [
        {"kind": kind, "metadata": {"name": Installation().name}, "webhooks": list(found)}
        for kind, found in kinds.items()
    ]
    applied = [pausing(configuration, "me", datetime.now(UTC)) for configuration in live]
    for one in applied:
        del one["metadata"]["annotations"]
        assert all(entry["objectSelector"] == NOTHING for entry in one["webhooks"])
    assert list(yaml.safe_load_all(pause)) == applied
    assert list(yaml.safe_load_all(resume)) == [resuming(configuration) for configuration in live]
