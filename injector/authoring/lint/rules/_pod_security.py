"""What the Pod Security levels refuse in an overlay, as the constraints know it, with its place in the template."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from typing import Any

from injector.authoring.lint.subject import Finding, RenderedSource, Rendering, Subject
from injector.diagnostics import Diagnostic, Key, Path
from injector.pods.constraints import baseline, restricted
from injector.pods.constraints.pod_view import PodView, mapping, mappings
from injector.pods.context import Object
from injector.pods.fields import CONTAINER_LISTS
from injector.pods.overlay import EVERY_CONTAINER

#: Whom a level refuses, in a finding's words.
WHO = {
    "baseline": "Pod Security baseline and restricted refuse the pod",
    "restricted": "Pod Security restricted refuses the pod",
}
#: The fields that have a rule of their own, by its name; what is refused besides is for the rule `pod-security`.
OWN = {
    "added-capabilities": ("add",),
    "host-namespaces": ("hostNetwork", "hostPID", "hostIPC"),
    "host-path": ("hostPath",),
    "privilege-escalation": ("privileged", "allowPrivilegeEscalation"),
    "run-as-root": ("runAsUser", "runAsNonRoot"),
}
#: What to do, where the constraints' own words are for the author of a pod.
_HELP = {
    "add": "remove it",
    "allowPrivilegeEscalation": "add allowPrivilegeEscalation: false to its securityContext",
    "drop": "add capabilities: {drop: [ALL]} to its securityContext",
    "runAsNonRoot": "add runAsNonRoot: true to its securityContext, and a runAsUser above 0",
    "runAsUser": "set runAsUser to a value above 0, and set runAsNonRoot: true",
    "seccompProfile": "add seccompProfile: {type: RuntimeDefault} to its securityContext",
}


@dataclass(frozen=True, slots=True)
class LevelRefusal:
    """One thing in an overlay that a level refuses, the lowest such level, and the way to it in the overlay."""

    violation: Diagnostic
    path: Path

    @property
    def field(self) -> str:
        """The field that it is about."""
        return str(self.violation.fields["field"])

    def finding(self, rendering: Rendering) -> Finding:
        """The finding that says which level refuses what."""
        found = self.violation
        message = f"{found.message}: {WHO[found.fields['level']]}"
        todo = _HELP.get(self.field, found.help)
        help_ = f"{todo}, or disable this rule and document which Pod Security level the namespaces need"
        return Finding(message, rendering.overlay.place(self.path), help_, found.path, about=self.field)


def findings(subject: Subject, rule: str, *, every: bool = True) -> Iterator[Finding]:
    """A finding for each refusal about a rule's own fields; with `every` false, one for each container, about the
    first of the fields that is refused there.
    """
    fields = OWN[rule]
    for rendering in subject.renderings:
        found = [refusal for refusal in refusals(rendering.overlay, subject.kubernetes[1]) if refusal.field in fields]
        found.sort(key=lambda refusal: fields.index(refusal.field))
        owners = {refusal.path[:3]: refusal for refusal in reversed(found)}
        for refusal in found if every else owners.values():
            yield refusal.finding(rendering)


@lru_cache(maxsize=512)  # several rules ask
def refusals(source: RenderedSource, minor: int) -> tuple[LevelRefusal, ...]:
    """Everything in an overlay that a level of Kubernetes 1.`minor` refuses, each once, at the lowest level."""
    overlay = source.plain
    spec = mapping(mapping(overlay).get("spec"))
    # `"*"` says little about a container of the app, which settles the rest for itself
    named = {list_: _named(spec, list_) for list_ in CONTAINER_LISTS if list_ in spec}
    hardened = {**mapping(overlay), "spec": {**spec, **named}}
    known: list[tuple[Any, ...]] = []
    made: list[LevelRefusal] = []
    levels = baseline.find(PodView(overlay), minor, hardened=False), restricted.find(PodView(hardened), minor, minor)
    for found in chain(*levels):
        what = (found.path, found.fields["field"], found.fields.get("value"))
        if what not in known:
            known.append(what)
            made.append(LevelRefusal(found, _closer(_path(found, spec), found, spec)))
    return tuple(made)


def _named(spec: Object, list_: str) -> list[Object]:
    return [c for c in mappings(spec.get(list_)) if c.get("name") != EVERY_CONTAINER]


def _path(found: Diagnostic, spec: Object) -> Path:
    """The path of a violation as steps into the overlay."""
    path: list[str | int] = []
    for step in found.path:
        if not isinstance(step, Key):
            path.append(step)
            continue
        names = [item.get("name") for item in mappings(spec.get(str(path[-1])))]
        if step not in names:
            break  # what has no name is refused for that
        path.append(names.index(step))
    return tuple(path)


def _closer(path: Path, found: Diagnostic, spec: Object) -> Path:
    """The path; for a capability, the path of its item in the list."""
    if found.fields["field"] != "add" or len(path) < 3:
        return path
    value: Any = {"spec": spec}
    for step in path:
        value = value[step]
    capability = found.fields["value"]
    return (*path, value.index(capability)) if capability in value else path
