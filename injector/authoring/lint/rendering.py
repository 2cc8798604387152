"""Making a `Subject`: a template is rendered with every parameter at its edges, for every sample pod or, at a path, for
samples of what it is for and for its cases.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from injector.apply import apply_templates
from injector.authoring.cases.case import question
from injector.authoring.cases.suite import read_suite
from injector.authoring.lint.boundary_values import BoundaryValue, trial, tried
from injector.authoring.lint.sample_pods import SAMPLE_PODS, STANDARD, SamplePod
from injector.authoring.lint.subject import (
    ObjectRendering,
    RenderedSource,
    RenderFailure,
    Rendering,
    Subject,
    until_enough,
)
from injector.authoring.refusal_location import Attempt
from injector.diagnostics import Diagnostic, Place
from injector.errors import InjectionError
from injector.inject import inject
from injector.pods.context import Cluster, Namespace
from injector.pods.delivery import config_map
from injector.policies.admit import admit, object_context
from injector.policies.request import ObjectRequest, asked_of, named_resources
from injector.reasons import Effect, Reason
from injector.settings import PathTemplates, Settings
from injector.templates.parameter_schema import declared_parameter
from injector.templates.samples import SAMPLES, sample_object, sample_value
from injector.templates.snapshot import Catalog, Snapshot
from injector.templates.source_map import place_at
from injector.templates.template import MANIFEST, OVERLAY, UNSET, AppliesTo, Template
from injector.templates.variables import Context

#: How many samples, and how many cases, are looked at.
_SAMPLES = 12
_CASES = 50
#: The defaults, which are at no edge.
_NO_EDGE = BoundaryValue(None)
_USER = {"userInfo": {"username": "jane", "groups": ["system:authenticated"]}}


class _Question(NamedTuple):
    """A request, and what people call it. `given`: parameters by a case; None for a sample, which has none."""

    title: str
    asked: ObjectRequest
    namespace: Namespace
    given: Mapping[str, Any] | None = None


class ObjectRenders:
    """All that one template makes at a path."""

    def __init__(self, template: Template, path: str, kubernetes: tuple[int, int]) -> None:
        self._path = path
        # where it may be used, and for what labels, is for the cluster to say, and no matter here
        self._template = replace(template, namespaces=None, selector=None)
        self._required = {p.name: sample_value(p) for p in template.parameters.values() if p.required}
        self._snapshot = Snapshot(Settings(), Catalog([self._template]), Cluster(kubernetes), "lint")
        self._at = PathTemplates(templates=(template.name,), failure_policy="Fail")

    def all(self) -> tuple[tuple[ObjectRendering, ...], tuple[RenderFailure, ...]]:
        """Renderings and failures, except failures in cases, because a case may expect one."""
        if UNSET in self._required.values():  # told where pods are rendered, or by `renders`
            return (), ()
        renderings, failures = until_enough(self._each())
        return tuple(renderings), tuple(failures)

    def _each(self) -> Iterator[ObjectRendering | RenderFailure | None]:
        samples = list(islice(self._samples(), _SAMPLES))
        for sample in samples:
            yield self._one(sample, {}, standard=sample is samples[0])
        for parameters, edge in tried(self._template.parameters.values()):
            yield self._one(samples[0], parameters, edge)
        for case in self._cases():
            rendering = self._one(case, case.given or {})
            if isinstance(rendering, ObjectRendering):
                yield rendering

    def _samples(self) -> Iterator[_Question]:
        """A request of each operation on each resource; an update changes nothing."""
        covered = self._template.applies_to
        for resource in named_resources([self._template]):
            obj = {"apiVersion": "v1", "kind": "Pod", **SAMPLES[1]} if resource.is_pods else sample_object(resource)
            for operation in covered.operations:
                old = obj if operation in ("UPDATE", "DELETE") else None
                title = f"{operation} of {resource.name}"
                request = asked_of(obj, resource, "sample", operation, old, _USER)
                yield _Question(title, request, Namespace("sample"))

    def _cases(self) -> Iterator[_Question]:
        """What its cases ask at a path. Cases that cannot be read are told of by `injector test`."""
        suite = read_suite(Path(self._path), self._path)
        for checked in [c for c in suite.cases if c.case.at_a_path][:_CASES]:
            case, obj, beside = checked.case, *checked.given
            request, namespace = question(case, obj, beside, checked.names_namespace, [self._template])
            params = {k: v for k, v in case.params.items() if declared_parameter(self._template.parameters, k)}
            yield _Question(f"the case “{case.name}”", request, namespace, params)

    def _one(
        self,
        question: _Question,
        parameters: Mapping[str, Any],
        edge: BoundaryValue = _NO_EDGE,
        *,
        standard: bool = False,
    ) -> Any:
        """The result of one request; None if nothing can be said about it. `standard`: ordinary, with defaults."""
        render = partial(self._made, question, parameters, edge, standard)
        return trial(self._template, question.title, parameters, render)

    def _made(
        self, question: _Question, changed: Mapping[str, Any], edge: BoundaryValue, standard: bool, title: str
    ) -> ObjectRendering | RenderFailure | None:
        # a case says itself what is required, maybe by an annotation of its namespace
        name, parameters = self._template.name, {**(self._required if question.given is None else {}), **changed}
        injection = admit(question.asked, question.namespace, self._at, self._snapshot, {name: parameters})
        if injection.reason in (Reason.BAD_PARAMETER, Reason.NAMESPACE_IGNORED, Reason.NOT_FOR_TEMPLATES):
            return None
        if injection.reason in (Reason.DENIED, Reason.NOT_SERVED):
            return ObjectRendering(title, question.asked, changed, injection, None, None)
        if injection.effect is Effect.REFUSE:
            if edge.invented or (edge.free and injection.reason is not Reason.TEMPLATE_FAILED):
                return None
            mistake = injection.mistake
            place = (mistake.place if mistake else None) or place_at(OVERLAY, self._template.sources[OVERLAY], 0)
            fault = replace(injection.failures[0], place=place)
            broken = mistake.rule if mistake and standard else ""
            return RenderFailure(title, changed, injection.reason, fault, broken=broken)
        [applied] = injection.applied
        request, values = question.asked, dict(applied.parameters.values)
        context = object_context(request, request.object, question.namespace, self._snapshot, values)
        return ObjectRendering(title, request, changed, injection, RenderedSource(self._template, context), context)


#: Bytes that are remembered of what each file of a template renders, and again of how it was parsed.
_MEMORY = 16 * 1024 * 1024
#: What a template says of itself about a pod, or is told: no mistake of its.
_ANSWERS = (Reason.NOT_SERVED, Reason.DENIED, Reason.BAD_PARAMETER)


def make_subject(
    path: str,
    template: Template,
    sources: Mapping[str, str],
    rules: Collection[str],
    kubernetes: tuple[int, int],
    samples: Sequence[SamplePod] = (),
) -> Subject:
    """A template with what it renders. Raises nothing: what cannot be rendered is among its failures.

    For every sample pod, and with parameters at their edges; or with the defaults alone, for the pods in `samples`.
    """
    template = replace(template, program=template.program.remembering(_MEMORY))
    renders = _Renders(template, kubernetes)
    renderings, failures = until_enough(() if template.why_not_injected else renders.all(samples))
    objects: tuple[ObjectRendering, ...] = ()
    if template.applies_to != AppliesTo() or template.why_not_injected:
        # most templates are for pods alone, and need nothing of what this imports
        from injector.authoring.lint.rendering import ObjectRenders

        objects, failed = ObjectRenders(template, path, kubernetes).all()
        failures += [*renders.unknown(), *failed] if template.why_not_injected else failed
    return Subject(
        path=path,
        template=template,
        sources=sources,
        rules=rules,
        kubernetes=kubernetes,
        renderings=tuple(renderings),
        failures=tuple(failures),
        objects=objects,
        not_served="" if renderings or failures or renders.answered else renders.not_served,
    )


class _Renders:
    """All renderings of one template."""

    def __init__(self, template: Template, kubernetes: tuple[int, int]) -> None:
        self.not_served = ""  #: why the first pod was not served
        self.answered = False  #: whether any pod was denied, or had everything already
        # where it may be used is for namespaces to say, and no matter here
        self._template = replace(template, namespaces=None)
        self._required = {p.name: sample_value(p) for p in template.parameters.values() if p.required}
        self._values: dict[tuple[str, str], Any] = {}
        #: What was rendered, by the object that the renderer remembers: most renderings have most of it in common.
        self._sources: dict[tuple[str, int], RenderedSource] = {}
        catalog, cluster = Catalog([self._template]), Cluster(kubernetes)
        self._snapshots = {
            native: Snapshot(Settings(native_sidecars=native), catalog, cluster, "lint") for native in ("auto", "never")
        }

    def all(self, samples: Sequence[SamplePod]) -> Iterator[Rendering | RenderFailure | None]:
        """The defaults for each sample pod, then each parameter at its edges for the standard pod; of `samples`, where
        there are any, the defaults alone.
        """
        if unknown := self.unknown():
            yield from unknown
            return
        defaults = ((sample, dict[str, Any](), _NO_EDGE) for sample in samples or SAMPLE_PODS)
        parameters_tried = () if samples else self._template.parameters.values()
        edges = ((STANDARD, *values_and_edge) for values_and_edge in tried(parameters_tried))
        contents = set()
        for sample, parameters, edge in chain(defaults, edges):
            render = partial(self._made, sample, parameters, edge)
            is_standard = sample is STANDARD and not parameters
            rendering = trial(self._template, sample.title, parameters, render, broken=is_standard)
            if isinstance(rendering, Rendering) and sample is STANDARD:
                content = _content(rendering)
                if content in contents:
                    continue
                contents.add(content)
            yield rendering

    def unknown(self) -> list[RenderFailure]:
        """Required parameters of which no value is known, so that nothing can be rendered."""
        message, help_ = "parameter {} is required, but no valid value is known", "give it `examples`"
        code, place = Reason.BAD_PARAMETER.label, Place(MANIFEST)
        return [
            RenderFailure(
                "", {}, Reason.BAD_PARAMETER, Diagnostic(code, "error", message.format(name), help_, place=place), name
            )
            for name, value in self._required.items()
            if value is UNSET
        ]

    def _made(
        self, sample: SamplePod, parameters: dict[str, Any], edge: BoundaryValue, title: str
    ) -> Rendering | RenderFailure | None:
        """One render; None where the template does not serve this pod, which is an answer too."""
        template, snapshot = self._template, self._snapshots[sample.native]
        overrides = {template.name: {**self._required, **parameters}}
        workload = sample.workload if sample.workload.owner else None
        # of the usual form, and whatever is in the files, so that equal overlays stay equal
        files = dict.fromkeys(template.files, "")
        name = config_map(template.name, files, sample.namespace.name, sample.workload, Settings()).name
        injection = inject(
            sample.pod,
            sample.namespace,
            snapshot,
            names=[template.name],
            overrides=overrides,
            workload=workload,
            config_map_name=name,
        )
        attempt = Attempt(injection, sample.pod, sample.namespace, snapshot, overrides, workload, name)
        if injection.reason is Reason.NOT_SERVED:
            self.not_served = self.not_served or injection.sentence
            return None
        if injection.effect is Effect.SKIP or injection.reason in _ANSWERS:
            self.answered = self.answered or injection.reason is not Reason.HOST_NETWORK
            return None
        if (mistake := injection.mistake) is not None:
            # with the defaults for an ordinary pod this is a mistake in the template
            broken = mistake.rule if sample is STANDARD and not parameters else ""
            fault, hopeless = (
                replace(mistake.diagnostic, place=mistake.place or Place(OVERLAY)),
                mistake.rule == "limit",
            )
            failure = RenderFailure(title, parameters, injection.reason, fault, hopeless=hopeless, broken=broken)
            return None if edge.invented else failure
        overlay = None
        try:
            context, texts = attempt.context_and_files(template)
            overlay = RenderedSource(template, context)
            overlay = self._sources.setdefault(("", id(overlay.rendered)), overlay)
            sources = {file: self._file(context, file, text) for file, text in texts.items()}
            is_whole = injection.effect is Effect.INJECT
            after = injection.object if is_whole else apply_templates(sample.pod, attempt.task(template)).pod
        except InjectionError as error:
            if error.reason in _ANSWERS or edge.invented:
                return None
            fault = replace(error.diagnostic, place=Place(OVERLAY))
            return RenderFailure(title, parameters, error.reason, fault, free=edge.free, overlay=overlay)
        return Rendering(
            title=title,
            context=context,
            given=parameters,
            overlay=overlay,
            files=sources,
            pod=sample.pod,
            injection=injection,
            after=after,
            free=edge.free,
            invented=edge.invented,
        )

    def _file(self, context: Context, name: str, text: str) -> RenderedSource:
        """A config file. Its value is read at once, while the renderer still has it in its cache."""
        key = name, id(text)
        if key not in self._sources:
            file = self._sources[key] = RenderedSource(self._template, context, name, text)
            file.value = self._values.setdefault((name, text), file.value)
        return self._sources[key]


def _content(rendering: Rendering) -> tuple[object, ...]:
    """What a rendering comes to, so that equal ones are looked at once."""
    overlay, files = rendering.overlay, sorted((name, file.text) for name, file in rendering.files.items())
    return msgspec.json.encode(overlay.plain), overlay.warnings, tuple(files)
