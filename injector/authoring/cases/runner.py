"""The cases of some templates, several at once; what came of each, and what none reached; for programs as JSON, and as
the XML that build servers read.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event, Lock
from typing import Any, NamedTuple
from xml.etree import ElementTree

from injector.authoring.cases.harness import Harness, Outcome
from injector.authoring.cases.run import CaseResult, Ways, inject_case, look_at_files
from injector.authoring.cases.suite import TESTS, CaseFilter, Checked, Suite, read_suite
from injector.authoring.diagnostic_formats import add_junit, diagnostic_data, for_xml, json_text
from injector.diagnostics import Diagnostic, Place
from injector.errors import TemplateError
from injector.loading.template_folders import is_template, no_templates, templates_of
from injector.pods.context import filled
from injector.templates.manifest import manifest_place


class Missed(NamedTuple):
    """A parameter or a branch that no case has reached; `what` is for people."""

    what: str
    place: Place


class Coverage(NamedTuple):
    """How much of a template its cases have reached."""

    parameters: int
    branches: int
    missed_parameters: tuple[Missed, ...]
    missed_branches: tuple[Missed, ...]

    @property
    def percent(self) -> float:
        """Of all parameters and branches those that were reached, 0 to 100."""
        everything = self.parameters + self.branches
        missed = len(self.missed_parameters) + len(self.missed_branches)
        return 100.0 if not everything else 100.0 * (everything - missed) / everything

    @property
    def sentence(self) -> str:
        """What is missing, in one line; empty where nothing is."""
        counts = (
            (len(self.missed_parameters), self.parameters, "parameters keep their default in every case"),
            (len(self.missed_branches), self.branches, "branches are never reached"),
        )
        return ", and ".join(f"{missed} of {of} {what}" for missed, of, what in counts if missed)


def coverage_of(bench: Harness, results: Iterable[CaseResult]) -> Coverage:
    """The coverage after cases have run, with these results."""
    template, branches = bench.template, bench.branches
    parameters = frozenset[str]().union(*(result.given for result in results))
    missed = [name for name in template.parameters if name not in parameters]
    return Coverage(
        parameters=len(template.parameters),
        branches=len(set(branches.all)),
        missed_parameters=tuple(
            Missed(f"parameter {name}", manifest_place(template, ("parameters", name))) for name in missed
        ),
        missed_branches=tuple(Missed(branch.what, branches.place(branch)) for branch in branches.missed),
    )


@dataclass(slots=True)
class TemplateRun:
    """What came of a template: its problems besides those of cases, the cases' results, and their coverage."""

    suite: Suite
    problems: list[Diagnostic] = field(default_factory=list)
    results: list[CaseResult] = field(default_factory=list)
    coverage: Coverage | None = None
    left_out: int = 0  #: cases that were not chosen, or not ended after a failure

    @property
    def path(self) -> str:
        """The template's folder as people gave it."""
        return self.suite.path

    @property
    def partial(self) -> bool:
        """Whether some of its cases were not run, so that its coverage says little."""
        return self.suite.partial or bool(self.left_out)

    @property
    def failed(self) -> bool:
        """Whether anything is wrong."""
        return bool(self.problems) or any(not result.passed for result in self.results)

    @property
    def all_problems(self) -> list[Diagnostic]:
        """Everything that is wrong, each once."""
        of_cases = (problem for result in self.results for problem in result.problems)
        return list(dict.fromkeys([*self.problems, *of_cases]))


class TestPlan(NamedTuple):
    """What is run, and how."""

    ways: Ways
    chosen: CaseFilter = lambda _: True
    stop_at_first: bool = False


def find_suites(paths: Sequence[str]) -> list[Suite]:
    """The templates that paths stand for, with their cases: folders of a template or of some, or files of cases.

    Raises ValueError for a path that is none of these.
    """
    suites: dict[tuple[Path, str | None], Suite] = {}
    for path in paths:
        resolved = Path(path).resolve()
        only, tests = (resolved.name, resolved.parent) if resolved.is_file() else (None, resolved)
        if only or (tests.name == TESTS and not is_template(tests)):
            folders = [_template_of(tests, path)]
        else:
            try:
                folders = templates_of(Path(path))
            except OSError as error:
                raise ValueError(f"{path}: the folder cannot be read: {error.strerror}") from None
        if not folders:
            raise ValueError(f"{path}: {no_templates(Path(path))}")
        for folder in folders:
            suites.setdefault((folder.resolve(), only), read_suite(folder, str(folder), only))
    return list(suites.values())


def _template_of(tests: Path, path: str) -> Path:
    """The folder of a template, as people would write it, by its folder `tests`, for which `path` stands."""
    if tests.name != TESTS or not is_template(tests.parent):
        raise ValueError(f"{path}: this is not in the folder `{TESTS}` of a template")
    folder = Path(path).parent.parent if Path(path).is_file() else Path(path).parent
    if folder.resolve() != tests.parent:  # `a.yaml` or `.`, from within
        return Path(os.path.relpath(tests.parent))
    return folder


def run_suites(
    suites: Sequence[Suite], plan: TestPlan, report: Callable[[CaseResult], object] = lambda _: None
) -> list[TemplateRun]:
    """Run the cases of templates. `report` is called with each result. Raises DocumentError for golden files."""
    runs = [TemplateRun(suite, list(suite.problems)) for suite in suites]
    chosen = [[c for c in run.suite.cases if plan.chosen(c.label)] for run in runs]
    # First, as a template is loaded within limits on memory, which programs that start meanwhile would inherit.
    benches = [_bench(run, cases) for run, cases in zip(runs, chosen, strict=True)]
    # Threads for the programs: they are what takes long, and they run outside of this process anyway. The rest stays in
    # the main thread, the one whose time can be limited.
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        runner = _CaseRunner(plan, pool, report)
        if any(run.problems for run in runs):
            runner.note_failure()
        try:
            futures = [runner.start(bench, cases) for bench, cases in zip(benches, chosen, strict=True)]
            for run, bench, pending in zip(runs, benches, futures, strict=True):
                run.results = [result for future in pending if (result := future.result()) is not None]
                run.left_out = len(run.suite.cases) - len(run.results)
                if bench is not None and run.results:
                    run.coverage = coverage_of(bench, run.results)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            plan.ways.programs.stop()
            raise
    return runs


class _CaseRunner:
    """Runs cases: injects in this thread, lets programs check the files in threads, stops where the plan says so."""

    def __init__(self, plan: TestPlan, pool: Executor, report: Callable[[CaseResult], object]) -> None:
        self._plan, self._pool, self._report = plan, pool, report
        self._stop, self._lock = Event(), Lock()

    def note_failure(self) -> None:
        """Something failed: start no more cases if the plan is to stop at the first failure."""
        if self._plan.stop_at_first:
            self._stop.set()

    def start(self, bench: Harness | None, cases: Sequence[Checked]) -> list[Future[CaseResult | None]]:
        """The results to come of a template's cases; None of a case that is left out after a failure."""
        pending: list[Future[CaseResult | None]] = []
        for checked in cases:
            if bench is None or self._stop.is_set():
                break
            result, outcome = inject_case(bench, checked, self._plan.ways)
            if not result.passed:
                self.note_failure()
            pending.append(self._pending(result, outcome))
        return pending

    def _pending(self, result: CaseResult, outcome: Outcome | None) -> Future[CaseResult | None]:
        """Finish a case in a thread if programs have to check its files; otherwise finish it at once."""
        if outcome is not None and any(applied.template.files for applied in outcome.injection.applied):
            return self._pool.submit(self._finish, result, outcome)
        future: Future[CaseResult | None] = Future()
        future.set_result(self._finish(result, None))
        return future

    def _finish(self, result: CaseResult, outcome: Outcome | None) -> CaseResult | None:
        if self._stop.is_set() and result.passed:
            return None
        look_at_files(result, outcome, self._plan.ways)
        if not result.passed:
            self.note_failure()
        with self._lock:
            self._report(result)
        return result


def _bench(run: TemplateRun, cases: Sequence[Checked]) -> Harness | None:
    """The template and all that its cases need, loaded; None, and a problem, where it does not load."""
    try:
        bench = Harness(run.suite.folder, run.path)
    except TemplateError as error:
        run.problems += error.diagnostics
        return None
    for checked in cases:
        bench.prepare(checked)
    return bench


def results_as_json(runs: Sequence[TemplateRun], seconds: float) -> str:
    """One object: the templates with their cases, problems and coverage, and the sums. Keys are stable."""
    results = [result for run in runs for result in run.results]
    return json_text(
        {
            "templates": [_template(run) for run in runs],
            "passed": sum(result.passed for result in results),
            "failed": sum(not result.passed for result in results),
            "problems": sum(len(run.all_problems) for run in runs),
            "seconds": round(seconds, 3),
        }
    )


def results_as_junit(runs: Sequence[TemplateRun], seconds: float) -> str:
    """JUnit's XML: a suite for each template, a case for each case, a case that is an error for each other problem."""
    root = ElementTree.Element("testsuites", name="injector test", time=f"{seconds:.3f}")
    for run in runs:
        suite = ElementTree.SubElement(
            root,
            "testsuite",
            name=for_xml(run.path),
            tests=str(len(run.results) + len(run.problems)),
            failures=str(sum(not result.passed for result in run.results)),
            errors=str(len(run.problems)),
            skipped="0",
            time=f"{sum(result.seconds for result in run.results):.3f}",
        )
        for result in run.results:
            _junit_case(suite, result)
        for problem in run.problems:
            case = ElementTree.SubElement(
                suite, "testcase", classname=for_xml(problem.place.origin), name=for_xml(str(problem.place)), time="0"
            )
            add_junit(case, "error", [problem])
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _junit_case(suite: ElementTree.Element, result: CaseResult) -> None:
    checked = result.checked
    case = ElementTree.SubElement(
        suite,
        "testcase",
        classname=for_xml(checked.document.file),
        name=for_xml(checked.case.name),
        file=for_xml(checked.document.file),
        line=str(checked.line),
        time=f"{result.seconds:.3f}",
    )
    if result.problems:
        add_junit(case, "failure", result.problems)
    if result.missing:
        lines = [f"{file}: not checked, {program} is not on PATH" for program, file in result.missing]
        ElementTree.SubElement(case, "system-out").text = for_xml("\n".join(lines))


def _template(run: TemplateRun) -> dict[str, Any]:
    coverage = run.coverage and {
        "percent": round(run.coverage.percent, 1),
        "parameters": run.coverage.parameters,
        "branches": run.coverage.branches,
        "missedParameters": _missed(run.coverage.missed_parameters),
        "missedBranches": _missed(run.coverage.missed_branches),
    }
    return {
        "template": run.suite.name,
        "path": run.path,
        "cases": [_case(result) for result in run.results],
        "leftOut": run.left_out,
        "problems": [diagnostic_data(problem) for problem in run.problems],
        "unusedGoldenFiles": run.suite.unused_golden_files(),
        **filled({"coverage": coverage}),
    }


def _case(result: CaseResult) -> dict[str, Any]:
    checked = result.checked
    return {
        "name": checked.case.name,
        "file": checked.document.file,
        "line": checked.line,
        "outcome": "passed" if result.passed else "failed",
        "seconds": round(result.seconds, 3),
        "problems": [diagnostic_data(problem) for problem in result.problems],
        "validated": result.validated,
        "missingPrograms": sorted({program for program, _ in result.missing}),
        **filled({"examples": result.examples, "written": result.written}),
    }


def _missed(all_missed: Sequence[Missed]) -> list[dict[str, Any]]:
    return [
        {"what": missed.what, "file": missed.place.file, "line": missed.place.line, "column": missed.place.column}
        for missed in all_missed
    ]
