"""What a template makes of the pod in view, as data: the pod before and after, config files, the decision, problems."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from difflib import unified_diff
from operator import attrgetter
from pathlib import Path
from typing import Any, Literal, NamedTuple

import msgspec

from injector.advice import advised_injection
from injector.apply import Overrides
from injector.authoring.author_warnings import beside_refusal, overlay_warnings, place_of, text_warnings
from injector.authoring.cases.case import Given, given
from injector.authoring.cases.harness import config_files, examples_of
from injector.authoring.cases.suite import read_suite
from injector.authoring.lint.pod_schema import version_of, versions
from injector.authoring.lint.sample_pods import SAMPLE_PODS, STANDARD, SamplePod
from injector.authoring.manifest_writer import dump_yaml
from injector.authoring.refusal_location import Attempt
from injector.authoring.yaml_stream import split_yaml
from injector.diagnostics import Diagnostic, Place
from injector.inject import inject
from injector.injection import Applied
from injector.loading.trial import limited
from injector.names import shortened
from injector.pods.context import OLDEST, Cluster, Namespace, Object, Workload, objects_of
from injector.pods.workloads import pod_template, with_pod_template, workload_with_pods
from injector.reasons import Effect
from injector.settings import Settings
from injector.templates.parameter_schema import declared_parameter
from injector.templates.snapshot import Catalog, Snapshot
from injector.templates.template import OVERLAY, UNSET, Template

#: Where a value of a parameter comes from that nobody set.
DEFAULT = "default"


class PodInView(NamedTuple):
    """A pod that templates are shown with, the object that it is in, and the parameters of its case."""

    sample: SamplePod
    obj: Object
    parameters: Mapping[str, Any] = {}


class Surroundings(msgspec.Struct, rename="camel", kw_only=True):
    """What counts for a preview beside template and pod: the value of the namespace's label, "" for none; the version
    of the API server and the setting of native sidecars; parameters as texts, as annotations have them.
    """

    namespace_label: str = "enabled"
    kubernetes_version: str = ""
    native_sidecars: Literal["auto", "always", "never"] = "auto"
    parameters: dict[str, Any] = {}


def preview_choices(folder: Path, template: Template | None) -> Object:
    """What a preview can be of: the titles of samples, the names of the template's cases, and its parameters as
    declared; none of a template that does not load.
    """
    declared = {} if template is None else template.parameters
    supported = sorted((version for version in versions() if version >= OLDEST), reverse=True)
    return {
        "versions": [f"{major}.{minor}" for major, minor in supported],
        "samples": [sample.title for sample in SAMPLE_PODS],
        "cases": [
            {"name": case.name, "kubernetes": case.kubernetes or "", "parameters": case.params}
            for case in (checked.case for checked in read_suite(folder, str(folder)).cases)
            if not case.at_a_path
        ],
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
    objects = [obj for piece in split_yaml(pod, "the pod") for obj in objects_of(piece.value)]
    if sum(pod_template(obj) is not None for obj in objects) != 1:
        kinds = shortened(", ".join(str(obj.get("kind")) for obj in objects))
        raise ValueError(
            f"paste one Pod, or one object that makes pods, such as a Deployment; this is {kinds or 'none'}"
        )
    manifest = given(objects)
    return PodInView(_sample("the pod", manifest, STANDARD.namespace), manifest.obj)


def _sample(title: str, manifest: Given, namespace: Namespace) -> SamplePod:
    workload = workload_with_pods(manifest.obj) or Workload("Pod", title)
    return SamplePod(title, manifest.pod, workload, namespace)


def preview_of(template: Template, view: PodInView, around: Surroundings) -> PodPreview:
    """The preview of a template with the pod in view. Raises TemplateError where that takes more than it may."""
    (sample, obj, of_case), key = view, Settings().namespace_label.key
    settings = msgspec.structs.replace(Settings(), native_sidecars=around.native_sidecars)
    snapshot = Snapshot(
        settings, Catalog([template]), Cluster(version_of(around.kubernetes_version) or Cluster().version), "preview"
    )
    labels = {**sample.namespace.labels, key: around.namespace_label}
    namespace = replace(sample.namespace, labels={k: v for k, v in labels.items() if k != key or v})
    parameters = {k: v for k, v in of_case.items() if declared_parameter(template.parameters, k)}
    overrides = {template.name: {**parameters, **around.parameters}}
    workload = sample.workload if sample.workload.owner or obj.get("kind") != "Pod" else None
    return PodPreview(template, obj, namespace, snapshot, overrides, workload)


class PodPreview:
    """One template, the pod of an object, and what comes of them.

    A required parameter that nobody gives has its example, where all such parameters have one.
    """

    def __init__(
        self,
        template: Template,
        obj: Object,
        namespace: Namespace,
        snapshot: Snapshot,
        overrides: Overrides,
        workload: Workload | None,
    ) -> None:
        """Inject. Raises TemplateError where that takes more than it may."""
        name, pod = template.name, pod_template(obj) or {}

        def attempt(overrides: Overrides) -> Attempt:
            result = inject(pod, namespace, snapshot, names=[name], overrides=overrides, workload=workload)
            return Attempt(advised_injection(result), pod, namespace, snapshot, overrides, workload)

        self._template, self._obj = template, obj
        with limited(name, template.origin):
            self.attempt = attempt(overrides)
            failures = self.attempt.injection.failures
            #: The values of parameters that are required and not given.
            self.examples = {k: v for failure in failures for k, v in examples_of(template, failure).items()}
            if self.examples:
                self.attempt = attempt({**overrides, name: {**self.examples, **overrides.get(name, {})}})
        self.result = self.attempt.injection
        self.files = config_files(self.result, snapshot.settings).get(name, {})

    @property
    def problems(self) -> tuple[Diagnostic, ...]:
        """What keeps the template from being applied; at a place with an origin where the template says it itself."""
        result, template = self.result, self._template
        if result.mistake is not None:
            return tuple(result.mistake.diagnostics)
        if result.applied or result.effect is Effect.SKIP:  # the trail says why
            return ()
        place = place_of(self.attempt, [template.name])
        refusal = Diagnostic(result.reason.label, "error", result.message, place=place or Place(OVERLAY))
        return (*beside_refusal(overlay_warnings(self.attempt, template), place), refusal)

    def warnings(self, line: Callable[[Diagnostic], str]) -> list[str]:
        """What the author and the pod's owner are warned of; `line` is what of a Diagnostic is said."""
        of_author: Sequence[Diagnostic] = ()
        if self.result.applied:
            of_author = (*text_warnings(self._template), *overlay_warnings(self.attempt, self._template))
        return [*self.result.warning_lines, *map(line, of_author)]

    def as_data(self) -> Object:
        """For a program; keys are stable."""
        result, obj = self.result, self._obj
        before = dump_yaml(obj)
        after = dump_yaml(with_pod_template(obj, result.object)) if result.applied else before
        lines = unified_diff(before.splitlines(), after.splitlines(), "before", "after", lineterm="")
        return {
            "before": before,
            "after": after,
            "difference": "".join(f"{line}\n" for line in lines),
            "files": self.files,
            "reason": str(result.reason),
            "effect": str(result.effect),
            "message": result.message,
            "trail": [
                {"step": str(s.reason), "saw": s.saw, "fits": s.fits, "overruled": s.overruled}
                for s in result.decision.trail
            ],
            "warnings": self.warnings(attrgetter("sentence")),
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
