"""What came of the cases, for programs: JSON, and the XML that build servers read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from xml.etree import ElementTree  # only written here, never read

from injector.authoring.cases.run import CaseResult
from injector.authoring.cases.runner import Missed, TemplateRun
from injector.authoring.diagnostic_formats import add_junit, diagnostic_data, for_xml, json_text
from injector.pods.context import filled


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
