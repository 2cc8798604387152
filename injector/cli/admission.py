"""What a cluster would say of an object of a manifest at the settings' `paths`: each that is for it, in turn.

As in an API server the mutating paths come first, each with the object as the path before left it. If a path changed
the object, the paths before it are called once more. Then come the validating paths. The first refusal ends it.
https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/#reinvocation-policy

A template may look at owners, names and users, so the pod of a workload is made to look like its controller's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple

import msgspec

from injector.advice import advised_injection
from injector.cli.injection_sources import Sources
from injector.cli.manifest_objects import metadata_of
from injector.cli.report import Line, OutcomeName, line_for, sentence_with_code
from injector.injection import Injection
from injector.pods.context import Namespace, Object
from injector.pods.resource_kinds import Resource, lies_in, resource_of
from injector.pods.workloads import pod_template
from injector.policies.admit import admit
from injector.policies.request import ObjectRequest, after, asked_of, manifest_request, named_resources, paths_for
from injector.reasons import Reason
from injector.settings import PathTemplates
from injector.templates.snapshot import Snapshot
from injector.templates.template import Template

_PODS = Resource("", "v1", "pods")
#: Stand for what is not known before there is a pod: of a ReplicaSet's name, of a Job's, and the owner's uid.
_HASH, _MINUTES, _UID = "5d4f8c7b9d", "29384756", "00000000-0000-0000-0000-000000000000"
_HASH_LABEL: Final = "pod-template-hash"
#: The fields of metadata that no pod template says and every pod of a controller has.
_MADE: Final = ("generateName", "namespace", "ownerReferences")
#: Service accounts of the controllers that make pods, by kind of workload.
#: https://kubernetes.io/docs/reference/access-authn-authz/rbac/#controller-roles
_CONTROLLERS: Final = {
    "CronJob": "job-controller",
    "DaemonSet": "daemon-set-controller",
    "Deployment": "replicaset-controller",
    "Job": "job-controller",
    "ReplicaSet": "replicaset-controller",
    "ReplicationController": "replication-controller",
    "StatefulSet": "statefulset-controller",
}


class AdmissionAnswer(NamedTuple):
    """What was asked and what was said at a path."""

    path: str
    asked: ObjectRequest
    result: Injection


@dataclass(slots=True)
class Admission:
    """All that was said about an object so far; `asked` has the object as it is by now."""

    asked: ObjectRequest
    namespace: Namespace
    sources: Sources
    answers: list[AdmissionAnswer] = field(default_factory=list)

    @classmethod
    def of_object(
        cls,
        obj: Object,
        space: Namespace,
        sources: Sources,
        user: Object,
        resource: Resource | None = None,
    ) -> Admission | None:
        """What is said about an object of a manifest; `space` is the namespace that it would lie in, `resource` what
        it is where that is known.

        None for what no API server would take as an object.
        """
        request = asked_about(obj, sources.snapshot, space.name, user, resource)
        if request is None:
            return None
        admission = cls(request, namespace_asked(request, space), sources)
        admission.mutate()
        admission.validate()
        return admission

    @property
    def allowed(self) -> bool:
        """Whether no path has refused it."""
        return all(answer.result.allowed for answer in self.answers)

    @property
    def changed(self) -> bool:
        """Whether a path has changed it."""
        return any(answer.result.patch for answer in self.answers)

    def mutate(self) -> None:
        """Ask at the mutating paths."""
        paths = [(path, at) for path, at in paths_for(self.asked, self.sources.snapshot) if at.type == "mutating"]
        changed = [number for number, (path, at) in enumerate(paths) if self._ask(path, at)]
        for path, at in paths[: max(changed, default=0)]:
            self._ask(path, at)

    def validate(self) -> None:
        """Ask at the validating paths."""
        for path, at in paths_for(self.asked, self.sources.snapshot):
            if at.type == "validating":
                self._ask(path, at)

    def _ask(self, path: str, at: PathTemplates) -> bool:
        """Whether the object is another one now."""
        if not self.allowed:
            return False
        result = advised_injection(admit(self.asked, self.namespace, at, self.sources.snapshot, self.sources.overrides))
        self.answers.append(AdmissionAnswer(path, self.asked, result))
        changed = result.object is not self.asked.object
        self.asked = after(self.asked, result.object)
        return changed


def admit_pod(
    obj: Object,
    pod: Object,
    namespace: Namespace,
    sources: Sources,
    user: Object,
    inject: Callable[[Object], Injection] | None,
) -> tuple[Object, Admission]:
    """Call all paths for the pod `pod` of `obj`. Returns the pod as it should be in the manifest, and what was said.

    If a path changed the pod, `inject` is called once more, as an API server does; None means no injection.
    """
    admission = Admission(asked_about_pod(obj, pod, namespace.name, user), namespace, sources)
    before = admission.asked.object
    admission.mutate()
    if admission.asked.object is not before:
        pod = in_manifest(admission.asked.object, pod)
        again = inject and inject(pod)
        if again is not None and again.reason is Reason.INJECTED:
            pod = again.object
            admission.asked = asked_about_pod(obj, pod, namespace.name, user)
    admission.validate()
    return pod, admission


def asked_about(
    obj: Object, snapshot: Snapshot, namespace: str, user: Object, resource: Resource | None = None
) -> ObjectRequest | None:
    """The creation of an object of a manifest, with the namespace that the API server writes into it.

    None for what an API server does not accept as an object, or refuses before it calls a webhook.
    """
    metadata = obj.get("metadata")
    if metadata is not None and not isinstance(metadata, dict):
        return None
    if resource is not None:  # of a cluster, whose objects say where they lie
        return _by(asked_of(obj, resource, lies_in(resource, obj)), user)
    try:
        request = manifest_request(obj, snapshot, namespace)
    except ValueError:
        return None
    within = request.review["namespace"]
    if within and not request.is_namespace and not (metadata or {}).get("namespace"):
        request = after(request, {**obj, "metadata": {**(metadata or {}), "namespace": within}})
    return _by(request, user)


def asked_about_pod(obj: Object, pod: Object, namespace: str, user: Object) -> ObjectRequest:
    """The creation of a bare pod, or of a pod that the workload `obj` makes of its pod template `pod`."""
    if obj.get("kind") == "Pod":
        metadata = {**metadata_of(pod), "namespace": metadata_of(pod).get("namespace") or namespace}
        return _by(asked_of({**pod, "metadata": metadata}, _PODS, namespace), user)
    return _by(asked_of(made_of(obj, pod, namespace), _PODS, namespace), maker_of(obj))


def request_for(
    template: Template, obj: Object, namespace: str, operation: str, old: Object | None, user: Object
) -> ObjectRequest:
    """What a template is asked about an object of a manifest, or about the pods of a workload that it is for.

    `old` is the object before; where it is None, nothing changed. Raises ValueError for what is no object.
    """
    resource, pod = resource_for(template, obj), pod_template(obj)
    if resource is None:
        resource = resource_of(obj)
    elif pod is not None and resource.is_pods:
        obj = asked_about_pod(obj, pod, namespace, {}).object
    within = lies_in(resource, obj, namespace)
    if within and not resource.is_namespaces and not metadata_of(obj).get("namespace"):
        obj = {**obj, "metadata": {**metadata_of(obj), "namespace": within}}
    if old is None and operation != "CREATE":
        old = obj
    return asked_of(obj, resource, within, operation, old, {"userInfo": user})


def resource_for(template: Template, obj: Object) -> Resource | None:
    """Which of the resources that the template is for an object is, or its pods are; None for another."""
    resources = list(named_resources([template]))
    if pod_template(obj) is not None:
        pods = next((resource for resource in resources if resource.is_pods), None)
        if pods is not None:
            return pods
    try:
        guess = resource_of(obj, resources)
    except ValueError:
        return None
    return next((r for r in resources if r.name.partition("/")[0] == guess.name and r[:2] == guess[:2]), None)


def namespace_asked(request: ObjectRequest, namespace: Namespace) -> Namespace:
    """The namespace that selectors check: a Namespace itself, none for a cluster-scoped object, else the one found."""
    if request.is_namespace:
        return request.itself()
    return namespace if request.review["namespace"] else Namespace("")


def _by(request: ObjectRequest, user: Object) -> ObjectRequest:
    return msgspec.structs.replace(request, review={**request.review, "userInfo": user}) if user else request


def admission_line(admission: Admission, obj: Object, place: str, about: str = "") -> Line | None:
    """What became of an object: refused, amended, or else left as it is, and why. None where no template is for it."""
    answers = [a for a in admission.answers if a.result.reason is not Reason.NOT_FOR_TEMPLATES]
    if not answers:
        return None
    # The one that says most: that something failed says more than that nothing was added.
    telling = min(
        answers,
        key=lambda answer: (
            answer.result.allowed,
            not answer.result.patch,
            answer.result.reason is not Reason.NAMESPACE_IGNORED,
            answer.result.reason is Reason.NOTHING_TO_ADD,
        ),
    )
    result, outcome = telling.result, _outcome(telling.result)
    line = line_for(obj, admission.namespace.name, outcome, place)
    if outcome == "amended":
        templates = _templates([answer for answer in answers if answer.result.patch])
    else:
        templates = _templates(answers)
        line = replace(line, reason=str(result.reason), message=_message(result, outcome, templates))
    # the message of a skipped object says already what its result warns of
    warning = [answer for answer in answers if answer is not telling or outcome != "skipped"]
    return replace(
        line,
        templates=templates,
        warnings=tuple(dict.fromkeys(text for answer in warning for text in answer.result.warning_lines)),
        about=about,
        paths=tuple(dict.fromkeys(answer.path for answer in answers)),
    )


def _outcome(result: Injection) -> OutcomeName:
    if not result.allowed:
        return "refused"
    if result.patch:
        return "amended"
    return "unchanged" if result.reason is Reason.NOTHING_TO_ADD else "skipped"


def _message(result: Injection, outcome: OutcomeName, templates: Sequence[str]) -> str:
    """Why an object is refused or stays as it is."""
    if outcome == "unchanged":
        return f"{result.reason.sentence} ({', '.join(templates)})"
    if outcome == "skipped" and result.failures:
        return f"admitted without changes: {result.sentence}"
    return sentence_with_code(result)


def _templates(answers: list[AdmissionAnswer]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for answer in answers for name, _ in answer.result.templates))


def made_of(workload: Object, pod: Object, namespace: str) -> Object:
    """The pod that is made of `pod`, the pod template of a workload."""
    kind, name = str(workload.get("kind")), str(metadata_of(workload).get("name") or "")
    owner = {"apiVersion": workload.get("apiVersion"), "kind": kind, "name": name, "uid": _UID, "controller": True}
    metadata: Object = dict(metadata_of(pod))
    if kind == "Deployment":
        owner |= {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": f"{name}-{_HASH}"}
        metadata["labels"] = {**(metadata.get("labels") or {}), _HASH_LABEL: _HASH}
    elif kind == "CronJob":
        owner |= {"kind": "Job", "name": f"{name}-{_MINUTES}"}
    metadata |= {"generateName": f"{owner['name']}-", "namespace": namespace, "ownerReferences": [owner]}
    return {**pod, "apiVersion": "v1", "kind": "Pod", "metadata": metadata}


def maker_of(workload: Object) -> Object:
    """The user by whom the pods of a workload are created, as `userInfo` of a review; {} where that is not known."""
    controller = _CONTROLLERS.get(str(workload.get("kind")))
    if controller is None:
        return {}
    return {
        "username": f"system:serviceaccount:kube-system:{controller}",
        "groups": ["system:serviceaccounts", "system:serviceaccounts:kube-system", "system:authenticated"],
    }


def in_manifest(after: Object, before: Object) -> Object:
    """An object as it stands in a manifest: `after` without the fields that only a cluster adds.

    `before` is the manifest's object or pod template, `after` was made from it together with the fields that a cluster
    adds.
    """
    was, now = metadata_of(before), metadata_of(after)
    metadata = {
        key: was[key] if key in _MADE else value for key, value in now.items() if key not in _MADE or key in was
    }
    labels = metadata.get("labels")
    if isinstance(labels, dict) and labels.get(_HASH_LABEL) == _HASH:
        metadata["labels"] = {key: value for key, value in labels.items() if key != _HASH_LABEL}
        if not metadata["labels"] and "labels" not in was:
            del metadata["labels"]
    rest = {key: value for key, value in after.items() if key not in ("apiVersion", "kind") or key in before}
    if metadata or "metadata" in before:
        return {**rest, "metadata": metadata}
    return {key: value for key, value in rest.items() if key != "metadata"}
