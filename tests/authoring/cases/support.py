"""Running one case, as the tests want it: both halves at once."""

from __future__ import annotations

from injector.authoring.cases.harness import Harness
from injector.authoring.cases.run import CaseResult, Ways, inject_case, look_at_files
from injector.authoring.cases.suite import Checked


def run_case(bench: Harness, checked: Checked, ways: Ways) -> CaseResult:
    """What becomes of a case, its config files looked at too."""
    return look_at_files(*inject_case(bench, checked, ways), ways)
