"""What a child process does for an editor: it checks a template, or a file of settings, and says what is wrong."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, Final

import msgspec

from injector.authoring.cases.programs import Programs
from injector.authoring.cases.run import Ways
from injector.authoring.cases.runner import TestPlan, results_as_json, run_suites
from injector.authoring.cases.suite import read_suite
from injector.authoring.diagnostic_formats import diagnostic_data
from injector.authoring.lint.engine import LintOptions, lint_sources, lint_subject
from injector.authoring.lint.fixes import with_fixes
from injector.authoring.lint.pod_schema import check_version, versions
from injector.authoring.lint.rendering import make_subject
from injector.authoring.lint.rule import rules
from injector.authoring.lint.sample_pods import STANDARD
from injector.authoring.lint.subject import Subject
from injector.authoring.pod_preview import Surroundings, pod_in_view, preview_choices, preview_of
from injector.authoring.schemas.settings_schema import settings_schema
from injector.authoring.yaml_stream import split_yaml
from injector.diagnostics import Diagnostic, Fix, fix_of
from injector.errors import DocumentError, SettingsError, TemplateError
from injector.loading.shipped import load_shipped
from injector.loading.template_folders import read_folder
from injector.pods.context import Cluster, mapping
from injector.settings import parse_settings
from injector.templates.kubernetes_yaml import compose
from injector.templates.render import Trace
from injector.templates.source_map import normal, yaml_place
from injector.templates.variables import for_one

#: The rule that says whether the sample pod is rendered.
_RENDERS: Final = frozenset({"renders"})


class Problem(msgspec.Struct, frozen=True):
    """What is wrong at a place of a file, as `diagnostic_data` has it, and how to mend it where there is one way."""

    rule: str
    severity: str
    message: str
    help: str = ""
    file: str = ""
    line: int = 1
    column: int = 1
    text: str = ""
    fix: Fix = Fix("", ())


def check(folder: str, path: str, pod: str, *, cases: bool) -> list[Problem]:
    """What can be said at once: whether the template loads, and renders the pod in view; with `cases` what is wrong
    with its case files. `path` is what people call the folder.
    """
    options = LintOptions(_RENDERS, kubernetes=_version())
    sources: Mapping[str, str] = {}
    try:
        sources = read_folder(Path(folder))
        subject = _subject(Path(folder), path, sources, pod)
    except TemplateError as error:
        return _problems(error.diagnostics, sources)
    of_cases = read_suite(Path(folder), path).problems if cases else ()
    return _problems([*lint_subject(subject, options), *of_cases], sources)


def lint_folder(folder: str, path: str) -> list[Problem]:
    """All that `injector lint` says of a template, and what is wrong with its case files."""
    try:
        sources = read_folder(Path(folder))
    except TemplateError as error:  # also where nobody waits any more and the folder is gone
        return _problems(error.diagnostics, {})
    problems = lint_sources(path, sources, LintOptions(kubernetes=_version()))
    return _problems([*problems, *read_suite(Path(folder), path).problems], sources)


def check_settings(file: str, text: str) -> list[Problem]:
    """What is wrong with a file of settings; nothing with a file that has none of their keys."""
    text = normal(text)
    try:
        [document, *_] = split_yaml(text, file)
        if settings_schema()["properties"].keys() & mapping(document.value).keys():
            parse_settings(document.value, file)
    except SettingsError as error:
        tree = compose(text)
        problems = [replace(fault, place=yaml_place(file, text, tree, fault.path)) for fault in error.diagnostics]
    except DocumentError as error:
        problems = [] if error.diagnostic is None else [error.diagnostic]
    else:
        problems = []
    return _problems(problems, {file: text})


def hole_values(folder: str, path: str, pod: str) -> list[tuple[str, int, str]]:
    """File, offset and value of each hole for the pod in view; nothing where the template is not rendered for it."""
    try:
        subject = _subject(Path(folder), path, read_folder(Path(folder)), pod)
    except TemplateError:
        return []
    template = subject.template
    traces = (
        Trace(template, for_one(rendering.context), source)
        for rendering in subject.renderings
        for source in template.program.roots
    )
    return list(dict.fromkeys(hole for trace in traces for hole in trace.holes()))


def preview(folder: str, path: str, pod: str, **around: Any) -> dict[str, Any]:
    """What the template makes of the pod in view, and what is wrong; `around` is that of `Surroundings`."""
    sources: Mapping[str, str] = {}
    template = None
    problems: Sequence[Diagnostic]
    data: dict[str, Any] = {}
    try:
        sources = read_folder(Path(folder))
        template = load_shipped(Path(path).name, sources, path)
        if template.why_not_injected:
            raise ValueError(f"{template.name} is not put into pods: {template.why_not_injected}")
        rendered = preview_of(template, pod_in_view(Path(folder), pod), Surroundings(**around))
        data, problems = rendered.as_data(), rendered.problems
    except TemplateError as error:
        problems = error.diagnostics
    except (DocumentError, ValueError) as error:  # of the pod
        problems = [Diagnostic("pod", "error", str(error))]
    return {**preview_choices(Path(folder), template), **data, "problems": _problems(problems, sources)}


def run_cases(folder: str, path: str) -> Any:
    """What came of the template's cases, as `injector test --output json` has it; `path` is what people call it."""
    started = time.monotonic()
    runs = run_suites([read_suite(Path(folder), path)], TestPlan(Ways(Programs())))
    return msgspec.Raw(results_as_json(runs, time.monotonic() - started).encode())


def _subject(folder: Path, path: str, sources: Mapping[str, str], pod: str) -> Subject:
    """The template rendered for the pod in view alone; for the ordinary sample where that cannot be read.

    Raises TemplateError.
    """
    template = load_shipped(Path(path).name, sources, path)
    try:
        sample = pod_in_view(folder, pod).sample
    except (DocumentError, ValueError):
        sample = STANDARD
    return make_subject(path, template, sources, rules(), _version(), (sample,))


@cache
def _version() -> tuple[int, int]:
    """The version of Kubernetes whose schemas are used. Raises SchemasMissingError."""
    version = min(Cluster().version, max(versions()))
    check_version(version)
    return version


def _problems(diagnostics: Iterable[Diagnostic], sources: Mapping[str, str]) -> list[Problem]:
    data = ({**diagnostic_data(d), "fix": fix_of(d) or Fix("", ())} for d in with_fixes(diagnostics, sources))
    return [msgspec.convert(problem, Problem) for problem in data]


def warm() -> None:
    """Import what the tasks use, once for all children."""
    import jsonschema  # noqa: F401

    _version()
    rules()
    gc.freeze()


#: What a child can be asked for, by name.
TASKS: Final[Mapping[str, Callable[..., Any]]] = {
    "check": check,
    "lint": lint_folder,
    "settings": check_settings,
    "values": hole_values,
    "preview": preview,
    "cases": run_cases,
}
