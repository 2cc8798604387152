"""What a cluster would say of an object of a manifest at the settings' `paths`: each that is for it, in turn.

As in an API server the mutating ones come first, each about what the one before it has left; those that were called
before another changed something are called once more; then the validating ones. The first refusal ends it.
https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/#reinvocation-policy
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import msgspec

from injector.cli.made_pods import in_manifest, made_of, maker_of
from injector.cli.objects import metadata_of
from injector.injection import Injection
from injector.making import Overrides
from injector.paths.amend import amend
from injector.paths.asking import after, asked_of, manifest_request, paths_for
from injector.paths.request import ObjectRequest
from injector.pods.context import Namespace, Object
from injector.pods.kinds import Resource, lies_in
from injector.reasons import Reason
from injector.settings import PathTemplates
from injector.templates.snapshot import Snapshot

_PODS = Resource("", "v1", "pods")


@dataclass(frozen=True, slots=True)
class Answer:
    """What was asked and what was said at a path."""

    path: str
    at: PathTemplates
    asked: ObjectRequest
    result: Injection


@dataclass(slots=True)
class Admission:
    """All that was said about an object so far; `asked` has the object as it is by now."""

    asked: ObjectRequest
    namespace: Namespace
    snapshot: Snapshot
    overrides: Overrides
    answers: list[Answer] = field(default_factory=list)

    @classmethod
    def of_object(
        cls,
        obj: Object,
        found: Namespace,
        snapshot: Snapshot,
        overrides: Overrides,
        user: Object,
        resource: Resource | None = None,
    ) -> Admission | None:
        """What is said about an object of a manifest; `found` is the namespace that it would lie in, `resource` what
        it is where that is known.

        None for what no API server would take as an object.
        """
        asked = asked_about(obj, snapshot, found.name, user, resource)
        if asked is None:
            return None
        admission = cls(asked, namespace_asked(asked, found), snapshot, overrides)
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
        earlier: list[tuple[str, PathTemplates]] = []
        stale: list[tuple[str, PathTemplates]] = []
        for path, at in paths_for(self.asked, self.snapshot):
            if at.type == "mutating":
                if self._ask(path, at):
                    stale = list(earlier)
                earlier.append((path, at))
        for path, at in stale:
            self._ask(path, at)

    def validate(self) -> None:
        """Ask at the validating paths."""
        for path, at in paths_for(self.asked, self.snapshot):
            if at.type == "validating":
                self._ask(path, at)

    def _ask(self, path: str, at: PathTemplates) -> bool:
        """Whether the object is another one now."""
        if not self.allowed:
            return False
        result = amend(self.asked, self.namespace, at, self.snapshot, self.overrides)
        self.answers.append(Answer(path, at, self.asked, result))
        changed = result.object is not self.asked.object
        self.asked = after(self.asked, result.object)
        return changed


def admit_pod(
    obj: Object, pod: Object, admission: Admission, user: Object, inject: Callable[[Object], Injection]
) -> Object:
    """Ask everywhere about the pod `pod` of `obj`, whose admission this is; as it should be in the manifest.

    Where a path has changed it, the injection is asked once more, as an API server does.
    """
    before = admission.asked.object
    admission.mutate()
    if admission.asked.object is not before:
        pod = in_manifest(admission.asked.object, pod)
        again = inject(pod)
        if again.reason is Reason.INJECTED:
            pod = again.object
            admission.asked = asked_about_pod(obj, pod, admission.namespace.name, user)
    admission.validate()
    return pod


def asked_about(
    obj: Object, snapshot: Snapshot, namespace: str, user: Object, resource: Resource | None = None
) -> ObjectRequest | None:
    """The creation of an object of a manifest, with the namespace that the API server writes into it.

    None for what no API server would take as an object, or would look at before any webhook does.
    """
    metadata = obj.get("metadata")
    if metadata is not None and not isinstance(metadata, dict):
        return None
    if resource is not None:  # of a cluster, whose objects say where they lie
        return _by(asked_of(obj, resource, lies_in(resource, obj)), user)
    try:
        asked = manifest_request(obj, snapshot, namespace)
    except ValueError:
        return None
    within = asked.review["namespace"]
    if within and not asked.is_namespace and not (metadata or {}).get("namespace"):
        asked = after(asked, {**obj, "metadata": {**(metadata or {}), "namespace": within}})
    return _by(asked, user)


def asked_about_pod(obj: Object, pod: Object, namespace: str, user: Object) -> ObjectRequest:
    """The creation of a bare pod, or of a pod that the workload `obj` makes of its pod template `pod`."""
    if obj.get("kind") == "Pod":
        metadata = {**metadata_of(pod), "namespace": metadata_of(pod).get("namespace") or namespace}
        return _by(asked_of({**pod, "metadata": metadata}, _PODS, namespace), user)
    return _by(asked_of(made_of(obj, pod, namespace), _PODS, namespace), maker_of(obj))


def namespace_asked(asked: ObjectRequest, found: Namespace) -> Namespace:
    """The namespace that selectors go by: none for what lies in none, its own for a Namespace, else the one found."""
    if asked.is_namespace:
        return asked.itself()
    return found if asked.review["namespace"] else Namespace("")


def _by(asked: ObjectRequest, user: Object) -> ObjectRequest:
    return msgspec.structs.replace(asked, review={**asked.review, "userInfo": user}) if user else asked
