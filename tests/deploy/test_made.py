"""Files that are made from the chart, the values and the settings are up to date. `--update` makes them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.deploy.helm import CHART, ROOT, Helm
from tests.deploy.made import (
    alerts,
    install_manifest,
    permissions_table,
    shipped_for,
    update_policy_template,
    values_schema,
    values_table,
)

INSTALLING = ROOT / "docs" / "installing.md"
VALUES = ROOT / "docs" / "values.md"
OPERATIONS = ROOT / "docs" / "operations.md"


def with_table(file: Path, table: str) -> str:
    """A page with its table as it should be."""
    head = table.partition("\n")[0] + "\n"
    before, start, rest = file.read_text().partition(head)
    assert start, f"{file} has no table {head}"
    lines = rest.splitlines(keepends=True)
    end = next((number for number, line in enumerate(lines) if not line.startswith("|")), len(lines))
    return before + table + "".join(lines[end:])


def with_alerts() -> str:
    """docs/operations.md with the alerts as they should be."""
    before, start, rest = OPERATIONS.read_text().partition("```yaml\ngroups:\n")
    assert start, "docs/operations.md has no block that begins with groups:"
    return f"{before}```yaml\n{alerts()}```{rest.partition('```')[2]}"


# The schema first: Helm holds the values against it when it renders.
MADE: dict[str, tuple[Path, Callable[[], str]]] = {
    "values.schema.json": (CHART / "values.schema.json", values_schema),
    "shipped-for.yaml": (CHART / "shipped-for.yaml", shipped_for),
    "update-policy.yaml": (CHART / "templates" / "update-policy.yaml", update_policy_template),
    "install.yaml": (ROOT / "deploy" / "install.yaml", lambda: install_manifest(Helm())),
    "installing.md": (INSTALLING, lambda: with_table(INSTALLING, permissions_table())),
    "values.md": (VALUES, lambda: with_table(VALUES, values_table())),
    "operations.md": (OPERATIONS, with_alerts),
}


@pytest.mark.parametrize("name", MADE)
def test_it_is_what_would_be_made_now(name: str, request: pytest.FixtureRequest) -> None:
    file, make = MADE[name]
    wanted = make()
    if request.config.getoption("--update"):
        file.write_text(wanted)
    assert file.exists(), f"{file} is not there: make manifests"
    assert file.read_text() == wanted, f"{file} is out of date: make manifests"


@pytest.mark.programs
def test_both_helms_make_the_same_objects() -> None:
    three, four = (sorted(install_manifest(Helm(major)).split("---\n")) for major in (3, 4))  # in orders of their own
    assert [part.strip() for part in three] == [part.strip() for part in four]
