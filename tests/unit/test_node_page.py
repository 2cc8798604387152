"""docs/node.md has a row for each test of tests/node, which writes it (`make test-node NODE_ARGS=--update`)."""

from __future__ import annotations

import ast
import re

from tests.deploy.helm import ROOT
from tests.node.page import PAGE, one_line
from tests.node.test_times import KINDS


def test_each_test_of_the_node_is_on_the_page() -> None:
    rows = PAGE.read_text()
    missing = []
    for file in sorted((ROOT / "tests" / "node").glob("test_*.py")):
        for found in ast.parse(file.read_text()).body:
            if isinstance(found, ast.FunctionDef) and found.name.startswith("test_"):
                said = one_line(ast.get_docstring(found))
                assert said, f"{file.name}: {found.name} says in its docstring what it shows"
                row = re.sub(r"\\{\w+\\}", ".+", re.escape(f"| {said} |"))
                if not re.search(row, rows):
                    missing.append(said)
    missing += [what for what in KINDS if f"| time to start a pod with {what}, and a pod" not in rows]
    assert not missing
    assert "| failed" not in rows
