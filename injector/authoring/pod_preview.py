"""What a template makes of the pod in view, as data: the pod before and after, config files, the decision, problems."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from difflib import unified_diff
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from injector.advice import advised_injection
from injector.authoring.author_warnings import overlay_warnings, text_warnings
from injector.authoring.cases.case_objects import Given, given
from injector.authoring.cases.harness import config_files, examples_of
from injector.authoring.cases.suite import read_suite
from injector.authoring.lint.sample_pods import SAMPLE_PODS, STANDARD, SamplePod
from injector.authoring.manifest_writer import dump_yaml
from injector.authoring.refusal_location import Attempt
from injector.authoring.yaml_stream import split_yaml
from injector.diagnostics import Diagnostic, Place
from injector.inject import inject
from injector.injection import Applied, Injection
from injector.loading.limits import limited
from injector.names import shortened
from injector.pods.context import Cluster, Namespace, Object, Workload
from injector.pods.workloads import pod_template, with_pod_template, workload_with_pods
from injector.reasons import Effect
from injector.settings import Settings
from injector.templates.families import declared_parameter
from injector.templates.snapshot import Catalog, Snapshot
from injector.templates.template import OVERLAY, UNSET, Template

#: Where a value of a parameter comes from that nobody set.
DEFAULT = "default"


class PodInView(NamedTuple):
    """A pod that templates are shown with, the object that it is in, and the parameters of its case."""

    sample: SamplePod
    obj: Object
    parameters: Mapping[str, Any] = {}


class Surroundings(NamedTuple):
    """What counts for a preview beside template and pod: the value of the namespace's label, "" for none; the version
    of the API server and the setting of native sidecars; parameters as texts, as annotations have them.
    """

    namespace_label: str = "enabled"
    version: tuple[int, int] = Cluster().version
    native: str = "auto"
    parameters: Mapping[str, Any] = {}


def preview_choices(folder: Path, template: Template | None) -> Object:
    """What a preview can be of: the titles of samples, the names of the template's cases, and its parameters as
    declared; none of a template that does not load.
    """
    declared = {} if template is None else template.parameters
    return {
        "samples": [sample.title for sample in SAMPLE_PODS],
        "cases": [checked.case.name for checked in read_suite(folder, str(folder)).cases if not checked.case.at_a_path],
        "declared": [
            {
                **parameter.schema,
                "name": name,
                "description": parameter.description,
                "required": parameter.required,
                "secret": parameter.secret,
                **({} if parameter.default is UNSET else {"default": parameter.masked(parameter.default)}),
            }
            for name, parameter in declared.items()
        ],
    }


def pod_in_view(folder: Path, pod: str) -> PodInView:
    """A pod by the title of a sample, by the name of one of the template's cases, or by its manifest.

    The ordinary sample for an empty text. Raises ValueError or DocumentError where it is no such manifest.
    """
    for sample in SAMPLE_PODS:
        if sample.title == (pod or STANDARD.title):
            return PodInView(sample, {"apiVersion": "v1", "kind": "Pod", **sample.pod})
    for checked in read_suite(folder, str(folder)).cases:
        case = checked.case
        if case.name == pod and not case.at_a_path:
            namespace = checked.given.namespace(case.namespace, checked.names_namespace, Settings())
            return PodInView(_sample(pod, checked.given, namespace), checked.given.obj, case.params)
    manifest = given([piece.value for piece in split_yaml(pod, "the pod") if piece.value is not None])
    return PodInView(_sample("the pod", manifest, STANDARD.namespace), manifest.obj)


def _sample(title: str, manifest: Given, namespace: Namespace) -> SamplePod:
    workload = workload_with_pods(manifest.obj) or Workload("Pod", title)
    return SamplePod(title, manifest.pod, workload, namespace)


class PodPreview:
    """One template, one pod, and what comes of them."""

    def __init__(self, template: Template, view: PodInView, around: Surroundings) -> None:
        """Inject. Raises TemplateError where that takes more than it may."""
        settings = Settings()
        label = {settings.namespace_label.key: around.namespace_label} if around.namespace_label else {}
        self._template, self._view = template, view
        self._settings = msgspec.structs.replace(settings, native_sidecars=around.native)
        self._snapshot = Snapshot(self._settings, Catalog([template]), Cluster(around.version), "preview")
        own = view.sample.namespace
        others = {key: value for key, value in own.labels.items() if key != settings.namespace_label.key}
        self._namespace = replace(own, labels={**others, **label})
        declared = {k: v for k, v in view.parameters.items() if declared_parameter(template.parameters, k)}
        self._parameters = {**declared, **around.parameters}
        self.examples: Mapping[str, Any] = {}
        with limited(template.name, template.origin):
            self.result = self._injected()
            self.examples = {k: v for f in self.result.failures for k, v in examples_of(template, f).items()}
            if self.examples:
                self._parameters = {**self.examples, **self._parameters}
                self.result = self._injected()

    def _injected(self) -> Injection:
        (sample, obj, _), name = self._view, self._template.name
        pod, overrides = pod_template(obj) or sample.pod, {name: self._parameters}
        workload = sample.workload if sample.workload.owner or obj.get("kind") != "Pod" else None
        result = inject(pod, self._namespace, self._snapshot, names=[name], overrides=overrides, workload=workload)
        self._attempt = Attempt(result, pod, self._namespace, self._snapshot, overrides, workload)
        return advised_injection(result)

    @property
    def problems(self) -> tuple[Diagnostic, ...]:
        """What keeps the template from being applied, at its place in the template's files."""
        result, template = self.result, self._template
        if result.mistake is not None:
            return tuple(result.mistake.diagnostics)
        if result.applied or result.effect is Effect.SKIP:  # the trail says why
            return ()
        place = self._attempt.blamed_place(template) or Place(OVERLAY)
        return (Diagnostic(result.reason.label, "error", result.message, place=place),)

    @property
    def warnings(self) -> list[str]:
        """What the author and the pod's owner are warned of, a line each."""
        used = (f"{key} is required: {shortened(value)} is an example" for key, value in self.examples.items())
        if not self.result.applied:
            return [*used, *self.result.warning_lines]
        of_author = (*text_warnings(self._template), *overlay_warnings(self._attempt, self._template))
        return [*used, *self.result.warning_lines, *(warning.sentence for warning in of_author)]

    def as_data(self) -> Object:
        """For a program; keys are stable."""
        result, obj = self.result, self._view.obj
        before = dump_yaml(obj)
        after = dump_yaml(with_pod_template(obj, result.object)) if result.applied else before
        lines = unified_diff(before.splitlines(), after.splitlines(), "before", "after", lineterm="")
        return {
            "before": before,
            "after": after,
            "difference": "".join(f"{line}\n" for line in lines),
            "files": config_files(result, self._settings).get(self._template.name, {}),
            "reason": str(result.reason),
            "effect": str(result.effect),
            "message": result.message,
            "trail": [
                {"step": str(s.reason), "saw": s.saw, "fits": s.fits, "overruled": s.overruled}
                for s in result.decision.trail
            ],
            "warnings": self.warnings,
            "parameters": [
                {"name": name, "value": value, "from": origin}
                for applied in result.applied
                for name, value, origin in parameters_of(applied)
            ],
        }


def parameters_of(applied: Applied) -> list[tuple[str, Any, str]]:
    """Name, value and origin of each parameter of a template, those set on purpose first."""
    resolved = applied.parameters
    rows: list[tuple[str, Any, str]] = []
    for name, parameter in applied.template.parameters.items():
        value, origin = resolved.values[parameter.variable], resolved.origins.get(name, "")
        if parameter.member is not None and value:  # each member has an origin of its own
            members = {f"{name[:-1]}{key}": parameter.masked(member) for key, member in value.items()}
            rows += [(key, member, resolved.origins.get(key, DEFAULT)) for key, member in members.items()]
        else:
            rows.append((name, None if value is None else parameter.masked(value), origin or DEFAULT))
    return sorted(rows, key=lambda row: row[2] == DEFAULT)
