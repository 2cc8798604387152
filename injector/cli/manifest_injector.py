"""What `injector inject` makes of each object: its pod injected, and all of it as the settings' `paths` have it."""

from __future__ import annotations

from dataclasses import replace

from injector.advice import advised_injection
from injector.advice.commands import foreign_object
from injector.advice.object_mistakes import cause_of, missing_template, namespace_mistakes
from injector.authoring.author_warnings import AuthorWarnings, place_of
from injector.authoring.diagnostic_formats import one_line
from injector.authoring.refusal_location import Attempt
from injector.cli.admission import Admission, admission_line, admit_pod, in_manifest
from injector.cli.documents import Document
from injector.cli.hidden_variables import hidden_variables, keys_in
from injector.cli.injection_sources import Sources
from injector.cli.manifest_objects import (
    ManifestNamespaces,
    is_of_command,
    line_of_field,
    metadata_of,
    objects_in,
    path_in_object,
    place_in_pod,
)
from injector.cli.pod_remarks import cannot_repeat, remarks_on, repeated, what_differs
from injector.cli.report import Line, OutcomeName, Report, line_for, parts_of, sentence_with_code
from injector.diagnostics import Diagnostic, Path, spoken_path
from injector.errors import InjectionError
from injector.inject import inject as inject_pod
from injector.injection import Injection
from injector.loading.template_folders import gallery_path
from injector.names import TEAM
from injector.pods.context import Object, Request
from injector.pods.decision import decide
from injector.pods.receipt import read_receipt, take_off
from injector.pods.shape import check_shape
from injector.pods.workloads import (
    has_unknown_pods,
    is_kustomize_patch,
    object_name_of,
    pod_template,
    with_pod_template,
    workload_with_pods,
)
from injector.reasons import Effect, Reason

_OUTCOMES: dict[Effect, OutcomeName] = {
    Effect.INJECT: "injected",
    Effect.SKIP: "skipped",
    Effect.MARK: "failed",
    Effect.REFUSE: "refused",
}


#: The code of an object that is no whole one, so that no policy is asked about it either.
_PATCH = "kustomize-patch"


class Injector:
    """Injects objects one by one and keeps the report. Knows which ConfigMaps are there already.

    `user` is who asks, as a review's `userInfo`; {} where that is not known. Without `sidecars` only the settings'
    paths are called. `reinject` first removes an earlier injection. Without it, the templates and parameters of the
    receipt are used again, except for those that this command gives.
    """

    def __init__(
        self,
        sources: Sources,
        names: list[str] | None,
        namespaces: ManifestNamespaces,
        *,
        documents: list[Document],
        user: Object | None = None,
        sidecars: bool = True,
        reinject: bool = False,
    ) -> None:
        self.report = Report() if sidecars else Report(others_are="for which there is no policy")
        self._sources = sources
        self._names = names
        self._namespaces = namespaces
        self._user = user or {}
        self._sidecars = sidecars
        self._reinject = reinject
        self._paths = bool(sources.settings.paths)
        self._author_warnings = AuthorWarnings()
        self._documents = documents
        self._keys = keys_in((obj, namespaces.name_for(obj)) for obj in objects_in(documents))
        self._present = {(namespace, name) for kind, namespace, name in self._keys if kind == "ConfigMap"}

    def change(self, obj: Object, document: Document) -> list[Object] | None:
        """The object as the settings' paths have it, with its pod injected, and the ConfigMaps that it needs."""
        lines = self.report.lines
        reported = len(lines)
        new = obj
        if self._sidecars and not self._look(obj, document):
            return None
        if self._paths and obj.get("kind") != "Pod":
            amended = self._amended(obj, document)
            if amended is None:
                return None
            new = amended
        pod, config_maps = pod_template(new), list[Object]()
        if pod is not None:
            after, config_maps = self._pod(new, pod, document)
            new = new if after is pod else with_pod_template(new, after)
        if len(lines) == reported:
            self.report.others += 1
        return None if new is obj and not config_maps else [new, *config_maps]

    def _look(self, obj: Object, document: Document) -> bool:
        """Report what is wrong with an object that holds no pod and should, or that says something about others.

        Whether there is more to do with it.
        """
        settings, report = self._sources.settings, self.report
        if not_injected := _not_injected(obj):
            reason, message = not_injected
            name = self._namespaces.name_for(obj)
            report.lines.append(line_for(obj, name, "skipped", document.place, reason=reason, message=message))
            return reason != _PATCH
        mistake = missing_template(obj)
        fails = mistake is not None and mistake.severity == "error"
        warnings = list(namespace_mistakes(obj, settings)) if obj.get("kind") == "Namespace" else []
        if mistake is not None and fails:
            report.lines.append(self._failed(obj, document, mistake, mistake.path))
        elif mistake is not None:
            warnings.append(mistake.sentence)
        report.warnings += [f"{one_line(object_name_of(obj))} ({document.place}): {warning}" for warning in warnings]
        if warning := foreign_object(obj, document.source):
            report.warnings.append(f"{document.source}: {warning}")
        return not fails

    def _at(self, line: Line, obj: Object, path: Path) -> Line:
        """A line with the place of a field of its object, or of the nearest one above that the input has."""
        place = line_of_field(self._documents, obj, path)
        if place is None:
            return line
        document, number = place
        at = f"{document.source}, document {document.number}, line {number}"
        return replace(line, at=at, line=number if document.place == line.place else 0)

    def _pod(self, obj: Object, pod: Object, document: Document) -> tuple[Object, list[Object]]:
        """An object's pod as it is to be, and the ConfigMaps that it needs."""
        after, config_maps = pod, list[Object]()
        if self._sidecars:
            line, result = self._injected(obj, pod, document)
            if result is not None and line.bad:
                line = self._at_mistake(line, obj, pod, result)
            self.report.lines.append(line)
            if line.bad:
                return pod, []
            if result is not None and line.outcome in ("injected", "unchanged"):
                after, config_maps = result.object, self._config_maps(obj, result, document)
        elif (line_of_shape := self._malformed(obj, pod, document)) is not None:
            self.report.lines.append(line_of_shape)
            return pod, []
        return self._amended_pod(obj, after, document) if self._paths else after, config_maps

    def _malformed(self, obj: Object, pod: Object, document: Document) -> Line | None:
        """The line of a pod that the API server would not take, so that no policy is asked about it."""
        try:
            check_shape(pod)
        except InjectionError as error:
            return self._failed(obj, document, error.diagnostic, path_in_object(obj, error.diagnostic.path))
        return None

    def _failed(self, obj: Object, document: Document, fault: Diagnostic, path: Path) -> Line:
        name = self._namespaces.name_for(obj)
        line = line_for(obj, name, "failed", document.place, reason=fault.code, message=fault.sentence)
        return self._at(line, obj, path)

    def _injected(self, obj: Object, pod: Object, document: Document) -> tuple[Line, Injection | None]:
        """The report line for a pod's injection, and the injection if its result is to be used."""
        snapshot, namespace = self._sources.for_pod(pod, self._namespaces.of(obj))
        line = line_for(obj, namespace.name, "unchanged", document.place)
        names, overrides = self._names, self._sources.overrides
        receipt = None if self._reinject else read_receipt(pod, self._sources.settings)
        if receipt is not None and (fault := cannot_repeat(receipt, names, overrides, snapshot.catalog)):
            return replace(line, warnings=(fault,), templates=tuple(receipt.templates)), None
        result = self._inject(obj, pod)
        if receipt is not None and (difference := what_differs(receipt, result, names, overrides)):
            return replace(line, warnings=(difference,), templates=tuple(receipt.templates)), None
        return self._line(line, obj, pod, result), result

    def _line(self, line: Line, obj: Object, pod: Object, result: Injection) -> Line:
        """The line of a pod, with what its injection came to and what there is to warn of."""
        sources, names = self._sources, self._names or ()
        snapshot, namespace = sources.for_pod(pod, self._namespaces.of(obj))
        attempt = Attempt(result, pod, namespace, snapshot, sources.overrides, workload_with_pods(obj))
        remarks = [
            *remarks_on(obj, attempt, self._names, self._author_warnings),
            *hidden_variables(pod, result, namespace.name, sources.settings, self._keys),
        ]
        place, at = place_of(attempt, names), ""
        if place is not None and not place.origin.startswith(str(gallery_path())):
            at = place.whole  # where a template of the user says what a pod is refused for
        line = replace(
            line,
            outcome=_outcome(result),
            message=": ".join(filter(None, (at, _message(result)))),
            templates=tuple(name for name, _ in result.templates),
            warned=bool(result.failures),
            warnings=(*(warning.warning_line for warning in result.warnings), *remarks),
        )
        if result.reason is Reason.INJECTED:
            adds = parts_of(result.object, sources.settings, len(result.files))
            reason = result.decision.reason
            assumed = self._namespaces.assumed(obj) if reason is Reason.NAMESPACE_ENABLED else ""
            because = f"{assumed} is assumed" if assumed else reason.sentence
            return replace(line, adds=adds, because=because, assumed=assumed)
        return line if result.reason is Reason.ALREADY_INJECTED else replace(line, reason=str(result.reason))

    def _at_mistake(self, line: Line, obj: Object, pod: Object, result: Injection) -> Line:
        if is_of_command(result):
            return line
        if cause := cause_of(result, pod):
            message = f"{spoken_path(cause[0])}: {cause[1]}; because of this mistake, the template says: {line.message}"
            return self._at(replace(line, message=message), obj, path_in_object(obj, cause[0]))
        path, in_namespace = place_in_pod(result, self._sources.settings)
        if in_namespace:
            return self._at(line, self._namespaces.found.get(self._namespaces.name_for(obj), obj), path)
        return self._at(line, obj, path_in_object(obj, path))

    def _inject(self, obj: Object, pod: Object) -> Injection:
        """A pod's injection: with this command's options, and where it has one already those of its receipt."""
        settings, names, overrides = self._sources.settings, self._names, self._sources.overrides
        snapshot, namespace = self._sources.for_pod(pod, self._namespaces.of(obj))
        decision = decide(pod, namespace, settings, Request())
        receipt = read_receipt(pod, settings)
        if receipt is not None and self._reinject:
            pod = take_off(pod, receipt, settings)
        elif receipt is not None:
            overrides = repeated(receipt, overrides)
            # not where the namespace says what has to be in, nor of a team, which only a pod's own annotation names
            if not decision.required and not any(name.startswith(TEAM) for name in receipt.templates):
                names = names or list(receipt.templates) or None
        result = inject_pod(
            pod,
            namespace,
            snapshot,
            names=names,
            overrides=overrides,
            workload=workload_with_pods(obj),
            decision=decision,
        )
        return advised_injection(result)

    def _amended(self, obj: Object, document: Document) -> Object | None:
        """An object as the settings' paths have it; None where they refuse it."""
        admission = Admission.of_object(obj, self._namespaces.of(obj), self._sources, self._user)
        if admission is None:
            return obj
        self._tell(admission, obj, document)
        if not admission.allowed:
            return None
        return in_manifest(admission.asked.object, obj) if admission.changed else obj

    def _amended_pod(self, obj: Object, pod: Object, document: Document) -> Object:
        """A pod, or the pod template of a workload, as the settings' paths have the pods that are made of it."""
        inject = (lambda pod: self._inject(obj, pod)) if self._sidecars else None
        pod, admission = admit_pod(obj, pod, self._namespaces.of(obj), self._sources, self._user, inject)
        self._tell(admission, obj, document, "" if obj.get("kind") == "Pod" else "its pods")
        return pod

    def _tell(self, admission: Admission, obj: Object, document: Document, about: str = "") -> None:
        line = admission_line(admission, obj, document.place, about)
        if line is not None:
            self.report.lines.append(line)

    def _config_maps(self, obj: Object, result: Injection, document: Document) -> list[Object]:
        """Those that the input does not hold and no earlier object needed."""
        new = []
        for file in result.files:
            config_map = file.to_object()
            metadata = {**config_map["metadata"], "namespace": file.namespace}
            if not (self._namespaces.default is not None or metadata_of(obj).get("namespace")):
                del metadata["namespace"]  # whoever applies it says which one, as for the object itself
            config_map = {**config_map, "metadata": metadata}
            if self._key(config_map) not in self._present:
                self._present.add(self._key(config_map))
                new.append(config_map)
                self.report.lines.append(line_for(config_map, file.namespace, "added", document.place))
        return new

    def _key(self, obj: Object) -> tuple[str, str]:
        return self._namespaces.name_for(obj), str(metadata_of(obj).get("name"))


def _not_injected(obj: Object) -> tuple[str, str] | None:
    """Why an object passes through that holds no pod, or no whole one: a code and a sentence."""
    if is_kustomize_patch(obj):
        return _PATCH, (
            "it is a patch, which passes through unchanged; build the whole objects first: "
            "kustomize build DIR | injector inject -"
        )
    if has_unknown_pods(obj):
        return "unknown-pod-template", (
            f"this command does not know where a {one_line(str(obj.get('kind')))} keeps its pods; the webhook injects "
            "them when they are created"
        )
    return None


def _message(result: Injection) -> str:
    """What there is to say besides the outcome."""
    if result.reason is Reason.ALREADY_INJECTED:
        return "already has its sidecar; to inject it again, add --reinject"
    return "" if result.reason is Reason.INJECTED else sentence_with_code(result)


def _outcome(result: Injection) -> OutcomeName:
    if result.reason in (Reason.ALREADY_INJECTED, Reason.NOTHING_TO_ADD):
        return "unchanged"
    return "failed" if result.reason is Reason.MALFORMED_POD else _OUTCOMES[result.effect]
