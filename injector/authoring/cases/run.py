"""One case: what comes out, held against what is expected."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from injector.authoring.cases.case import decision_of
from injector.authoring.cases.expected_files import author_place, file_problems, golden_problem, unreadable
from injector.authoring.cases.harness import CaseError, Harness, Outcome
from injector.authoring.cases.programs import ProgramRefusal, Programs
from injector.authoring.cases.subset import mismatches_of
from injector.authoring.cases.suite import Checked
from injector.authoring.diagnostic_formats import quoted_lines
from injector.authoring.file_syntax import unended_line
from injector.diagnostics import Diagnostic
from injector.errors import TemplateError
from injector.injection import Injection
from injector.loading.trial import limited
from injector.names import shortened
from injector.reasons import Reason
from injector.templates.template import request_words

#: Seconds of processor time that a case may take, programs apart.
SECONDS = 5.0
#: What only a regular expression has.
_PATTERN = re.compile(r"\[[^\]\s]+\][+*]|\.[*+]|\\[dwsb.]|\(\?:|\A\^|\$\Z")
#: Bytes, more than there are: programs that start meanwhile would have the limit too.
_NO_LIMIT = 1 << 46


@dataclass(slots=True)
class CaseResult:
    """What became of a case. `problems` are none where it passed; `seconds` is the time that it took."""

    checked: Checked
    problems: list[Diagnostic] = field(default_factory=list)
    seconds: float = 0.0
    examples: Mapping[str, Any] = field(default_factory=dict)  #: values of required parameters that nobody gives
    given: frozenset[str] = frozenset()  #: parameters that it gave another value than the default
    validated: int = 0  #: config files that a program has looked at
    missing: tuple[tuple[str, str], ...] = ()  #: programs that are not here, each with the file it is for
    written: str = ""  #: the golden file that was written

    @property
    def passed(self) -> bool:
        """Whether everything was as expected."""
        return not self.problems


class Ways(NamedTuple):
    """How cases are run: the programs, whether one that is missing is a failure, whether golden files are written."""

    programs: Programs
    require_programs: bool = False
    update: bool = False


def inject_case(bench: Harness, checked: Checked, ways: Ways) -> tuple[CaseResult, Outcome | None]:
    """The first half of a case: everything but the programs. Returns the outcome only if they have to run.

    In the main thread of a process it has a limit on processor time. Never raises for what a template or a case does;
    raises DocumentError for a golden file that cannot be read or written.
    """
    result = CaseResult(checked)
    start = time.perf_counter()
    for_programs = None
    try:
        with limited(bench.template.name, bench.path, SECONDS, _NO_LIMIT):
            outcome = bench.run(checked)
        result.given, result.examples = outcome.given, outcome.examples
        result.problems += judge(checked, outcome, bench.template.name)
        if any(problem.code == "decision" for problem in result.problems):
            result.problems += bench.mistakes()
        if decision_of(outcome.injection) == checked.case.expect.decision:
            if (name := checked.case.expect.golden) is not None:
                problem, is_written = golden_problem(checked, name, outcome, bench.folder, update=ways.update)
                result.problems += filter(None, [problem])
                if is_written:
                    result.written = name
            for_programs = outcome if checked.case.validate and outcome.asked is None else None
    except CaseError as error:
        result.problems.append(error.problem)
    except TemplateError as error:
        message = f"{error.message}; the limit is {SECONDS:g} s"
        result.problems += [checked.problem(error.rule, message, "name"), error.diagnostic]
    result.seconds = time.perf_counter() - start
    return result, for_programs


def look_at_files(result: CaseResult, outcome: Outcome | None, ways: Ways) -> CaseResult:
    """The second half: the programs look at the config files of an outcome. May be done in any thread."""
    start = time.perf_counter()
    if outcome is not None:
        _validate(result, outcome, ways)
    result.seconds += time.perf_counter() - start
    return result


def _validate(result: CaseResult, outcome: Outcome, ways: Ways) -> None:
    """Let the programs look at the config files."""
    checked = result.checked
    for applied in outcome.injection.applied:
        texts = outcome.config_files.get(applied.template.name, {})
        result.problems += unreadable(checked, outcome, applied)
        verdicts = ways.programs.check(applied, texts, outcome.injection.object)
        result.validated += verdicts.checked
        for refusal in verdicts.refusals:
            message = f"{refusal.file}: {refusal.program} {refusal.message}"
            fields = {"program": refusal.program, "code": refusal.code, "output": refusal.output.splitlines()}
            text = refusal_text(refusal, texts)
            result.problems.append(checked.problem("validate", message, "name", help=text, fields=fields))
            above = unended_line(texts.get(refusal.named, ""), refusal.line) if refusal.program.endswith("nginx") else 0
            place = author_place(checked, outcome, applied, refusal._replace(line=above or refusal.line))
            if place is not None:
                template = applied.template
                message = f"{refusal.program} does not accept the output of this line"
                help_ = f"add a ; at the end of this line ({refusal.program} itself names a later line)"
                place = replace(place, origin=template.origin or template.name)
                result.problems.append(Diagnostic("validate", "error", message, help_ if above else "", place=place))
        if ways.require_programs:
            for program, file in verdicts.missing:
                message = f"{file}: {program} is not on PATH, so it cannot be checked"
                result.problems.append(checked.problem("validate", message, "name"))
        else:
            result.missing += tuple(verdicts.missing)


def refusal_text(refusal: ProgramRefusal, texts: Mapping[str, str]) -> str:
    """What a program wrote, and the rendered line that it names."""
    lines = texts.get(refusal.named, "").split("\n")
    parts = quoted_lines(refusal.output)
    if 0 < refusal.line <= len(lines):
        parts.append(f"{refusal.named} as rendered:")
        first = max(refusal.line - 2, 1)
        for number in range(first, min(refusal.line + 1, len(lines)) + 1):
            mark = ">" if number == refusal.line else " "
            parts.append(f"{mark}{number:4d} {quoted_lines(lines[number - 1][:200] or ' ')[0]}")
    return "\n".join(parts)


def judge(checked: Checked, outcome: Outcome, template: str) -> Iterator[Diagnostic]:
    """Everything that is not as a case expects it. If the decision is not the expected one, nothing else is compared.

    `template` is the name of the one under test.
    """
    if decision_of(outcome.injection) != checked.case.expect.decision:
        yield from _wrong_decision(checked, outcome, template)
        return
    yield from _wrong_answer(checked, outcome.injection)
    yield from _warnings(checked, outcome.injection.warning_lines)
    yield from _wrong_object(checked, outcome)
    yield from file_problems(checked, outcome.config_files, template)


def _wrong_decision(checked: Checked, outcome: Outcome, template: str) -> Iterator[Diagnostic]:
    """That the decision is not the expected one, and the mistake in the template that led to it."""
    expected, injection = checked.case.expect.decision, outcome.injection
    cause = f"{injection.reason}, see below" if injection.mistake is not None else injection.message
    yield checked.unmet(
        "decision",
        f"decision: expected {expected}, found {decision_of(injection)}: {cause}",
        help=_why_not_for(outcome, template),
    )
    if injection.mistake is not None:
        yield injection.mistake.diagnostic
    elif outcome.blamed is not None:
        yield replace(injection.failures[0], place=replace(outcome.blamed, origin=checked.document.path))


def _wrong_answer(checked: Checked, injection: Injection) -> Iterator[Diagnostic]:
    """The expected reason, message and code that the injection does not have."""
    expect = checked.case.expect
    if expect.reason is not None and expect.reason != injection.reason.label:
        message = f"reason: expected {expect.reason}, found {injection.reason}: {injection.message}"
        yield checked.unmet("reason", message)
    if expect.message is not None and expect.message not in injection.message:
        message = f"message: expected {shortened(expect.message, 160)} in it, found {shortened(injection.message, 300)}"
        if _PATTERN.search(expect.message):
            message += "; `message` is a part of the text, not a regular expression"
        yield checked.unmet("message", message)
    if expect.code is not None and expect.code != injection.code:
        yield checked.unmet("code", f"code: expected {expect.code}, found {injection.code}")


def _wrong_object(checked: Checked, outcome: Outcome) -> Iterator[Diagnostic]:
    """What the pod, or the object at a path, lacks of what is expected of it."""
    expect = checked.case.expect
    is_pod = outcome.asked is not None and outcome.asked.is_pod
    for field_, expected, pod in (("pod", expect.pod, True), ("object", expect.object, is_pod)):
        if expected is not None:
            for difference in mismatches_of(expected, outcome.injection.object, pod=pod):
                yield checked.unmet(field_, str(difference), *difference.steps, key=difference.key)


def _why_not_for(outcome: Outcome, template: str) -> str:
    """A hint why no template is for the object, or what gives a missing parameter a value."""
    if missing := [name for failure in outcome.injection.failures for name in failure.fields.get("missing", ())]:
        return f"give {' and '.join(missing)} `examples` in template.yaml, or give the case a value in `params`"
    if outcome.asked is None or outcome.injection.reason is not Reason.NOT_FOR_TEMPLATES:
        return ""
    tested = outcome.snapshot.catalog.get(template)
    if tested is not None and tested.applies_to.covers(outcome.asked.request):
        asks = {"`namespaces`": tested.namespaces, "`selector`": tested.selector}
        selectors = " or ".join(name for name, selector in asks.items() if selector is not None)
        return (
            f"the template's `for` matches this request, but its {selectors} does not: add the missing labels to the "
            "case's namespace or object"
        )
    return f"the request was {request_words(outcome.asked.request)}; if that is wrong, set `resource:`"


def _warnings(checked: Checked, warnings: tuple[str, ...]) -> Iterator[Diagnostic]:
    expected = checked.case.expect.warnings
    if expected is None:
        return
    short = [shortened(warning, 300) for warning in warnings]
    for index, part in enumerate(expected):
        if not any(part in warning for warning in warnings):
            present = f"there are: {'; '.join(short)}" if warnings else "there are none"
            yield checked.unmet("warnings", f"no warning with {shortened(part, 160)} in it; {present}", index)
    for warning, words in zip(warnings, short, strict=True):
        if not any(part in warning for part in expected):
            yield checked.unmet("warnings", f"a warning that is not expected: {words}", key=True)
