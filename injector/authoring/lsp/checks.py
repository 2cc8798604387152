"""What a child process does for an editor: it checks a template, or a file of settings, and says what is wrong."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, Final

import msgspec

from injector.authoring.cases.suite import read_suite
from injector.authoring.diagnostic_formats import diagnostic_data
from injector.authoring.lint.engine import LintOptions, lint_subject, lint_template
from injector.authoring.lint.pod_schema import check_version, versions
from injector.authoring.lint.rendering import make_subject
from injector.authoring.lint.rule import rules
from injector.authoring.lint.sample_pods import SAMPLE_PODS, STANDARD, SamplePod
from injector.authoring.schemas.settings_schema import settings_schema
from injector.authoring.yaml_stream import split_yaml
from injector.diagnostics import Diagnostic, Edit
from injector.errors import DocumentError, SettingsError, TemplateError
from injector.loading.shipped import load_shipped
from injector.loading.template_folders import read_folder
from injector.pods.context import Cluster, mapping
from injector.settings import parse_settings
from injector.templates.kubernetes_yaml import compose
from injector.templates.source_map import normal, yaml_place

#: The rule that says whether the sample pod is rendered.
_RENDERS: Final = frozenset({"renders"})


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


def check(folder: str, pod: str) -> list[Problem]:
    """What can be said at once: whether the template loads, and renders the sample pod of this title."""
    path, options = Path(folder), LintOptions(_RENDERS, kubernetes=_version())
    sources: Mapping[str, str] = {}
    try:
        sources = read_folder(path)
        template = load_shipped(path.name, sources, folder)
    except TemplateError as error:
        return _problems(error.diagnostics, sources)
    subject = make_subject(folder, template, sources, rules(), options.kubernetes, (sample_pod(pod),))
    return _problems([*lint_subject(subject, options), *read_suite(path, folder).problems], sources)


def lint_folder(folder: str) -> list[Problem]:
    """All that `injector lint` says of a template, and what is wrong with its case files."""
    path = Path(folder)
    problems = lint_template(folder, LintOptions(kubernetes=_version())).problems
    return _problems([*problems, *read_suite(path, folder).problems], read_folder(path))


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


def sample_pod(title: str) -> SamplePod:
    """The sample pod of a title; the ordinary one where there is none of that title."""
    return next((sample for sample in SAMPLE_PODS if sample.title == title), STANDARD)


@cache
def _version() -> tuple[int, int]:
    """The version of Kubernetes whose schemas are used. Raises SchemasMissingError."""
    version = min(Cluster().version, max(versions()))
    check_version(version)
    return version


def _problems(diagnostics: Iterable[Diagnostic], sources: Mapping[str, str]) -> list[Problem]:
    return [msgspec.convert(diagnostic_data(diagnostic), Problem) for diagnostic in diagnostics]


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
}
