"""Where cases run: the template under test and those that go with it, loaded once, and a snapshot for each case."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

from injector.advice import advised_injection
from injector.advice.values import value_help
from injector.apply import Overrides
from injector.authoring.author_warnings import text_warnings
from injector.authoring.cases.branches import marked
from injector.authoring.cases.case import CHOSEN, case_path, question
from injector.authoring.cases.suite import Checked
from injector.authoring.lint.pod_schema import version_of
from injector.authoring.refusal_location import Attempt
from injector.diagnostics import Diagnostic, Place
from injector.errors import InjectionError, InjectorError, SettingsError, TemplateError
from injector.inject import inject
from injector.injection import Applied, Injection
from injector.loading.template_folders import gallery_path, read_folder
from injector.loading.trial import limited, load_within_limits
from injector.names import hint, shortened
from injector.pods.context import Cluster, Namespace
from injector.pods.delivery import file_annotation
from injector.pods.shape import string_map
from injector.pods.workloads import workload_with_pods
from injector.policies.admit import admit
from injector.policies.request import ObjectRequest
from injector.reasons import Reason
from injector.settings import Settings, parse_settings
from injector.templates.choice import names_in
from injector.templates.parameter_schema import declared_parameter, similar_names
from injector.templates.parameter_values import value_of
from injector.templates.parameters import Resolved, resolve
from injector.templates.samples import has_example, sample_value
from injector.templates.snapshot import Catalog, Snapshot, SnapshotError, build_snapshot
from injector.templates.template import MANIFEST, UNSET, Parameter, Template

#: The decisions of cases whose parameters have to be right.
_GOOD = ("injected", "amended", "unchanged")


class CaseError(InjectorError):
    """A case cannot be run. `problem` is the one to tell."""

    def __init__(self, problem: Diagnostic) -> None:
        super().__init__(str(problem))
        self.problem = problem


class Outcome(NamedTuple):
    """What came out of a case: the injection, or what came of an object at a path, and the snapshot that made it."""

    injection: Injection
    snapshot: Snapshot
    namespace: Namespace
    config_files: Mapping[str, Mapping[str, str]]  #: texts by template and file
    given: frozenset[str]  #: parameters of the template under test that are not at their defaults
    blamed: Place | None = None  #: where the template under test says what the injection was refused for
    asked: ObjectRequest | None = None  #: what was asked at a path; None for an injection
    examples: Mapping[str, Any] = {}  #: values of required parameters that nobody gives, as `params` has them


class Harness:
    """Runs the cases of one template. Others come from the folder that holds it, and then from the gallery."""

    def __init__(self, folder: Path, path: str) -> None:
        """Load the template. Raises TemplateError."""
        self.folder = folder.resolve()
        self.path = path
        loaded = load_within_limits(self.folder.name, read_folder(folder, path), origin=path)
        self._unmarked = [loaded]  #: until its mistakes are told
        with limited(loaded.name, path):
            self.template, self.branches = marked(loaded)
        self._parents = (self.folder.parent, gallery_path())
        self._loaded = cache(self._load)

    def mistakes(self) -> list[Diagnostic]:
        """What is wrong with the template by its text alone, when that is asked for the first time; then nothing."""
        templates, self._unmarked = self._unmarked, []
        return [mistake.of(self.path) for template in templates for mistake in text_warnings(template)]

    def prepare(self, checked: Checked) -> None:
        """Load what a case needs."""
        with suppress(CaseError):  # told when the case is run
            self._known(checked, self._settings(checked))

    def run(self, checked: Checked) -> Outcome:
        """What inject() makes of a case, or admit(). Raises CaseError for an unknown name."""
        case = checked.case
        settings = self._settings(checked)
        templates = self._known(checked, settings)
        overrides = self._overrides(checked, templates)
        snapshot = _snapshot(settings, Catalog(templates.values()), checked)
        request, obj = None, checked.given.obj
        if case.at_a_path:
            request, namespace = question(case, obj, checked.given.others, checked.names_namespace, templates.values())
            subject = request.subject
        elif self.template.why_not_injected and case.templates is None:
            message = f"template {self.template.name} cannot be injected: {self.template.why_not_injected}"
            help_ = "write such an object in `object:`, in place of the pod; with `file:`, add `operation:`"
            steps = () if case.pod is None else ("pod",)
            raise CaseError(checked.problem("case", message, *steps, help=help_, key=True))
        else:
            subject = checked.given.pod
            namespace = checked.given.namespace(case.namespace, checked.names_namespace, settings)
        of_subject = partial(
            resolve,
            annotations=string_map(subject, "annotations"),
            namespace_annotations=namespace.annotations,
            settings=settings,
        )
        examples = _examples(checked, templates, overrides, of_subject)
        overrides = {name: {**examples.get(name, {}), **overrides.get(name, {})} for name in {**overrides, **examples}}
        used = {
            name if owner == self.template.name else f"{owner}.{name}": templates[owner].parameters[name].masked(value)
            for owner, values in examples.items()
            for name, value in values.items()
        }
        changed = self._changed(of_subject, overrides)
        if request is not None:
            injection = advised_injection(admit(request, namespace, case_path(case, templates), snapshot, overrides))
            return Outcome(injection, snapshot, namespace, {}, changed, asked=request, examples=used)
        workload = workload_with_pods(obj)
        names = None if case.templates == CHOSEN else list(templates)
        injection = advised_injection(
            inject(subject, namespace, snapshot, names=names, overrides=overrides, workload=workload)
        )
        blamed = Attempt(injection, subject, namespace, snapshot, overrides, workload).blamed_place(self.template)
        texts = config_files(injection, settings)
        return Outcome(injection, snapshot, namespace, texts, changed, blamed, examples=used)

    def _changed(self, of_subject: partial[Resolved], overrides: Overrides) -> frozenset[str]:
        """The parameters of the template under test whose value for the case's object is not the default."""
        try:
            resolved = of_subject(self.template, overrides=overrides.get(self.template.name, {}))
        except InjectionError:  # a value that is not allowed: nothing is rendered with it
            return frozenset()
        parameters = self.template.parameters.values()
        defaults = {p.name: None if p.default is UNSET else p.default for p in parameters}
        return frozenset(p.name for p in parameters if resolved.values[p.variable] != defaults[p.name])

    def _settings(self, checked: Checked) -> Settings:
        try:
            return parse_settings(checked.case.settings or None, "settings")
        except InjectorError as error:
            raise CaseError(_settings_problem(checked, error)) from None

    def _known(self, checked: Checked, settings: Settings) -> dict[str, Template]:
        """The templates that there are for a case, by name, in its order."""
        templates = checked.case.templates
        if templates != CHOSEN:
            names = [self.template.name] if templates is None else templates
            return {name: self._template(checked, index, name) for index, name in enumerate(names)}
        # those that somebody may name; the others of the folder are no business of this case
        annotations = (string_map(checked.given.pod, "annotations"), checked.case.namespace.annotations)
        by_annotation = [name for texts in annotations for name in names_in(texts.get(settings.templates_key, ""))]
        names = [
            self.template.name,
            *(name for name in (*by_annotation, *settings.templates) if self._loaded(name) is not None),
        ]
        return {name: self._template(checked, 0, name) for name in names}

    def _template(self, checked: Checked, index: int, name: str) -> Template:
        template = self._loaded(name)
        if isinstance(template, Diagnostic):
            raise CaseError(template)
        if template is None:
            names = {f.parent.name for p in self._parents for f in p.glob(f"*/{MANIFEST}")}
            message = f"there is no template {shortened(name)}{hint(name, names)}"
            raise CaseError(checked.problem("case", message, "templates", index))
        return template

    def _load(self, name: str) -> Template | Diagnostic | None:
        """A template, what is wrong with it, or None where there is none of this name."""
        if name == self.template.name:
            return self.template
        folder = next((p / name for p in self._parents if "/" not in name and (p / name / MANIFEST).is_file()), None)
        if folder is None:
            return None
        # as people would call it who called the template under test `path`
        path = os.path.relpath(folder) if not Path(self.path).is_absolute() else str(folder)
        try:
            return load_within_limits(name, read_folder(folder, path), origin=path)
        except TemplateError as error:
            return error.diagnostic

    def _overrides(self, checked: Checked, templates: Mapping[str, Template]) -> Overrides:
        """The parameters of a case: `app-port` of the template under test, `envoy.app-port` of another."""
        overrides: dict[str, Any] = {}
        for key, value in checked.case.params.items():
            owner, _, name = key.rpartition(".")
            owner = owner or self.template.name
            template, message, help_ = templates.get(owner), "", ""
            declared = declared_parameter(template.parameters, name) if template is not None else None
            if template is None:
                message = f"{key}: this case has no template {shortened(owner)}{hint(owner, templates, 'it has')}"
            elif declared is None:
                near = hint(name, similar_names(template.parameters, name))
                message = f"template {owner} has no parameter `{name}`{near}"
            elif checked.case.expect.decision in _GOOD and declared.member is None:
                try:
                    value_of(declared, value)
                except ValueError as error:
                    message = f"{key} = {shortened(declared.masked(value))}: {error}"
                    help_ = value_help(declared, value)
            if message:
                raise CaseError(checked.problem("case", message, "params", key, help=help_, key=declared is None))
            overrides.setdefault(owner, {})[name] = value
        return overrides


def _examples(
    checked: Checked,
    templates: Mapping[str, Template],
    overrides: Overrides,
    of_subject: partial[Resolved],
) -> Overrides:
    """An example of each required parameter that nobody gives, by template; of one without examples a value it takes.

    `of_subject` resolves a template's parameters for the case's object. A case that may be about a missing parameter
    gets no examples: one that expects no result, and no other reason for that.
    """
    expect = checked.case.expect
    if expect.decision not in _GOOD and expect.reason in (None, Reason.BAD_PARAMETER.label):
        return {}
    examples = {}
    for template in templates.values():
        try:
            of_subject(template, overrides=overrides.get(template.name, {}))
        except InjectionError as error:
            values = {parameter.name: sample_value(parameter) for parameter in missing(template, error.diagnostic)}
            if UNSET not in values.values():
                examples[template.name] = values
    return examples


def missing(template: Template, failure: Diagnostic) -> list[Parameter]:
    """The required parameters without a value, by which resolving a template's parameters failed."""
    return [template.parameters[name] for name in failure.fields.get("missing", ())]


def examples_of(template: Template, failure: Diagnostic) -> dict[str, Any]:
    """The author's example of each required parameter that is missing; none where one of these has no example."""
    parameters = missing(template, failure)
    return {p.name: sample_value(p) for p in parameters} if all(map(has_example, parameters)) else {}


def _snapshot(settings: Settings, catalog: Catalog, checked: Checked) -> Snapshot:
    """A snapshot of templates that are loaded, for the settings and the cluster of a case."""
    version = version_of(checked.case.kubernetes or "") or Cluster().version
    cluster = Cluster(version, settings.cluster_domain)
    for name in settings.parameters:
        if catalog.get(name) is None:
            near = hint(name, catalog.names, "it has")
            message = f"settings: parameters.{name}: this case has no such template{near}"
            raise CaseError(checked.problem("case", message, "settings", "parameters", name, key=True))
    # what the snapshot before holds is taken over as it is: compiled, and with its branches marked
    before = Snapshot(Settings(), catalog, cluster, "")
    try:
        snapshot = build_snapshot(settings, {t.own_name: t.sources for t in catalog}, cluster, before)
    except SnapshotError as error:
        raise CaseError(_settings_problem(checked, error.errors[0])) from None
    return replace(snapshot, previous=None)


def _settings_problem(checked: Checked, error: InjectorError) -> Diagnostic:
    """What is wrong with the settings of a case, at its key."""
    if not isinstance(error, SettingsError) or not error.diagnostics:
        return checked.problem("case", str(error), "settings", key=True)
    first = error.diagnostics[0]
    return replace(
        checked.problem("case", first.message, "settings", *first.path, help=first.help, key=True),
        path=("settings", *first.path),
    )


def config_files(injection: Injection, settings: Settings) -> dict[str, dict[str, str]]:
    """The texts of config files, by template and file: those of ConfigMaps, and those of annotations.

    A template without any is left out.
    """
    by_template = {applied.template.name: _texts(applied, settings) for applied in injection.applied}
    return {name: texts for name, texts in by_template.items() if texts}


def _texts(applied: Applied, settings: Settings) -> dict[str, str]:
    annotations = (applied.overlay.get("metadata") or {}).get("annotations") or {}
    keys = {file: file_annotation(applied.template.name, file, settings) for file in applied.template.files}
    texts = {file: annotations[key] for file, key in keys.items() if isinstance(annotations.get(key), str)}
    return texts | {file: text for generated in applied.files for file, text in generated.data.items()}
