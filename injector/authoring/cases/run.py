"""One case: what comes out, held against what is expected."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field

from injector.authoring.cases.bench import Bench, CaseError, Outcome
from injector.authoring.cases.case import decision_of
from injector.authoring.cases.subset import differences
from injector.authoring.cases.suite import Checked
from injector.templates.problem import Problem
from injector.templates.spelling import shortened


@dataclass(slots=True)
class Result:
    """What became of a case. `problems` are none where it passed; `seconds` is the time that it took."""

    checked: Checked
    problems: list[Problem] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def passed(self) -> bool:
        """Whether everything was as expected."""
        return not self.problems


def run_case(bench: Bench, checked: Checked) -> Result:
    """Run a case. Never raises for what a template or a case does."""
    result = Result(checked)
    start = time.perf_counter()
    try:
        outcome = bench.run(checked)
    except CaseError as error:
        result.problems.append(error.problem)
    else:
        result.problems += judge(checked, outcome)
    result.seconds = time.perf_counter() - start
    return result


def judge(checked: Checked, outcome: Outcome) -> Iterator[Problem]:
    """Everything that is not as a case expects it. Where the decision is another, nothing else is looked at."""
    expect, injection = checked.case.expect, outcome.injection
    decision = decision_of(injection)
    if decision != expect.decision:
        message = f"decision: expected {expect.decision}, found {decision}: {injection.message}"
        yield checked.problem("decision", message, "expect", "decision")
        return
    if expect.reason is not None and expect.reason != injection.reason.label:
        message = f"reason: expected {expect.reason}, found {injection.reason}: {injection.message}"
        yield checked.problem("reason", message, "expect", "reason")
    if expect.message is not None and expect.message not in injection.message:
        message = f"message: expected {shortened(expect.message, 160)} in it, found {shortened(injection.message, 300)}"
        yield checked.problem("message", message, "expect", "message")
    if expect.code is not None and expect.code != injection.code:
        yield checked.problem("code", f"code: expected {expect.code}, found {injection.code}", "expect", "code")
    yield from _warnings(checked, injection.warnings)
    if expect.pod is not None:
        for difference in differences(expect.pod, injection.pod, pod=True):
            steps = ("expect", "pod", *difference.steps)
            yield checked.problem("pod", f"{difference.where}: {difference.message}", *steps)


def _warnings(checked: Checked, warnings: tuple[str, ...]) -> Iterator[Problem]:
    expected = checked.case.expect.warnings
    if expected is None:
        return
    for index, part in enumerate(expected):
        if not any(part in warning for warning in warnings):
            found = f"there are: {'; '.join(map(shortened_warning, warnings))}" if warnings else "there are none"
            message = f"no warning with {shortened(part, 160)} in it; {found}"
            yield checked.problem("warnings", message, "expect", "warnings", index)
    for warning in warnings:
        if not any(part in warning for part in expected):
            message = f"a warning that is not expected: {shortened_warning(warning)}"
            yield checked.problem("warnings", message, "expect", "warnings", key=True)


def shortened_warning(warning: str) -> str:
    """A warning as it stands in a sentence."""
    return shortened(warning, 300)
