"""What a template makes at a path: of samples of what it is for, with parameters at their edges, and of its cases."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from injector.authoring.cases.case_objects import question
from injector.authoring.cases.suite import read_suite
from injector.authoring.lint.boundary_values import BoundaryValue, trial, tried
from injector.authoring.lint.subject import ObjectRendering, RenderedSource, RenderFailure, until_enough
from injector.pods.context import Cluster, Namespace
from injector.policies.admit import admit, object_context
from injector.policies.request import ObjectRequest, asked_of, named_resources
from injector.reasons import Effect, Reason
from injector.settings import PathTemplates, Settings
from injector.templates.families import declared_parameter
from injector.templates.samples import SAMPLES, sample_object, sample_value
from injector.templates.snapshot import Catalog, Snapshot
from injector.templates.source_map import place_at
from injector.templates.template import OVERLAY, UNSET, Template

#: How many samples, and how many cases, are looked at.
_SAMPLES = 12
_CASES = 50
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
