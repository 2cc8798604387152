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

from injector.advice.fixes import Fix, fix_of
from injector.authoring.cases.programs import Programs
from injector.authoring.cases.results import results_as_json
from injector.authoring.cases.run import Ways
from injector.authoring.cases.runner import TestPlan, run_suites
from injector.authoring.cases.suite import read_suite
from injector.authoring.diagnostic_formats import diagnostic_data
from injector.authoring.lint.apply_fixes import with_fixes
from injector.authoring.lint.engine import LintOptions, lint_sources, lint_subject
from injector.authoring.lint.pod_schema import check_version, version_of, versions
from injector.authoring.lint.rendering import make_subject
from injector.authoring.lint.rule import rules
from injector.authoring.lint.sample_pods import STANDARD
from injector.authoring.lint.subject import Subject
from injector.authoring.pod_preview import PodPreview, Surroundings, pod_in_view, preview_choices
from injector.authoring.schemas.settings_schema import settings_schema
from injector.authoring.yaml_stream import split_yaml
from injector.diagnostics import Diagnostic, Edit
from injector.errors import DocumentError, SettingsError, TemplateError
from injector.loading.shipped import load_shipped
from injector.loading.template_folders import read_folder
from injector.pods.context import Cluster, mapping
from injector.settings import parse_settings
from injector.templates.kubernetes_yaml import compose
from injector.templates.render import Trace
from injector.templates.source_map import normal, yaml_place
from injector.templates.template import Template
from injector.templates.variables import for_one

#: The rule that says whether the sample pod is rendered.
_RENDERS: Final = frozenset({"renders"})
#: The oldest Kubernetes that the injector works with: the first whose matchConditions are stable.
_OLDEST: Final = (1, 30)


class Problem(msgspec.Struct, frozen=True):
    """What is wrong at a place of a file, as `diagnostic_data` has it, and how to mend it where there is one way."""

    rule: str
    severity: str
    message: str
    help: str
    file: str
    line: int
    column: int
    text: str
    fix: str = ""  #: what the edits do, in words
    edits: tuple[Edit, ...] = ()


def check(folder: str, path: str, pod: str, *, cases: bool) -> list[Problem]:
    """What can be said at once: whether the template loads, and renders the pod in view; with `cases` what is wrong
    with its case files. `path` is what people call the folder.
    """
    options = LintOptions(_RENDERS, kubernetes=_version())
    sources: Mapping[str, str] = {}
    try:
        sources = read_folder(Path(folder))
        template = load_shipped(Path(path).name, sources, path)
    except TemplateError as error:
        return _problems(error.diagnostics, sources)
    subject = _subject(Path(folder), template, sources, pod)
    of_cases = read_suite(Path(folder), path).problems if cases else ()
    return _problems([*lint_subject(subject, options), *of_cases], sources)


def lint_folder(folder: str, path: str) -> list[Problem]:
    """All that `injector lint` says of a template, and what is wrong with its case files."""
    sources = read_folder(Path(folder))
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


def hole_values(folder: str, pod: str) -> list[tuple[str, int, str]]:
    """File, offset and value of each hole for the pod in view; nothing where the template is not rendered for it."""
    path, sources = Path(folder), read_folder(Path(folder))
    try:
        subject = _subject(path, load_shipped(path.name, sources, folder), sources, pod)
    except TemplateError:
        return []
    values: dict[tuple[str, int, str], None] = {}
    for rendering in subject.renderings:
        for source in subject.template.program.roots:
            values |= dict.fromkeys(Trace(subject.template, for_one(rendering.context), source).holes())
    return list(values)


def preview(folder: str, pod: str = "", version: str = "", **around: Any) -> dict[str, Any]:
    """What the template makes of the pod in view, and what is wrong; `around` is that of `Surroundings`."""
    path, sources = Path(folder), read_folder(Path(folder))
    template = None
    problems: Sequence[Diagnostic]
    data: dict[str, Any] = {}
    try:
        template = load_shipped(path.name, sources, folder)
        if template.why_not_injected:
            raise ValueError(f"{path.name} is not put into pods: {template.why_not_injected}")
        chosen = version_of(version) or Cluster().version
        made = PodPreview(template, pod_in_view(path, pod), Surroundings(version=chosen, **around))
        data, problems = made.as_data(), made.problems
    except TemplateError as error:
        problems = error.diagnostics
    except (DocumentError, ValueError) as error:  # of the pod
        problems = [Diagnostic("pod", "error", str(error))]
    tried = {
        "versions": [
            f"{major}.{minor}" for major, minor in sorted(versions(), reverse=True) if (major, minor) >= _OLDEST
        ]
    }
    return {**preview_choices(path, template), **tried, **data, "problems": _problems(problems, sources)}


def run_cases(folder: str, path: str) -> Any:
    """What came of the template's cases, as `injector test --output json` has it; `path` is what people call it."""
    started = time.monotonic()
    runs = run_suites([read_suite(Path(folder), path)], TestPlan(Ways(Programs())))
    return msgspec.Raw(results_as_json(runs, time.monotonic() - started).encode())


def _subject(path: Path, template: Template, sources: Mapping[str, str], pod: str) -> Subject:
    """The template rendered for the pod in view alone; for the ordinary sample where that cannot be read."""
    try:
        sample = pod_in_view(path, pod).sample
    except (DocumentError, ValueError):
        sample = STANDARD
    return make_subject(str(path), template, sources, rules(), _version(), (sample,))


@cache
def _version() -> tuple[int, int]:
    """The version of Kubernetes whose schemas are used. Raises SchemasMissingError."""
    version = min(Cluster().version, max(versions()))
    check_version(version)
    return version


def _problems(diagnostics: Iterable[Diagnostic], sources: Mapping[str, str]) -> list[Problem]:
    problems = []
    for diagnostic in with_fixes(diagnostics, sources):
        fix = fix_of(diagnostic) or Fix("", ())
        data = {**diagnostic_data(diagnostic), "fix": fix.title, "edits": fix.edits}
        problems.append(msgspec.convert(data, Problem))
    return problems


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
