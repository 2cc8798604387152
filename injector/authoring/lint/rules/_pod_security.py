"""What the Pod Security levels refuse in an overlay, as the constraints know it, with its place in the template."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from injector.authoring.lint.subject import Finding, Rendering, Steps, Subject
from injector.pods.constraints import baseline, restricted
from injector.pods.constraints.pod_view import PodView, mapping, mappings
from injector.pods.context import Object
from injector.pods.fields import CONTAINER_LISTS
from injector.pods.overlay import EVERY_CONTAINER, plain

#: How a sentence of the constraints begins: where, and what.
_WHERE = re.compile(r"(?P<where>(?:spec|metadata)(?:\[[^\]]*\]|[^\s:\[])*):? (?P<what>.*)")
_STEP = re.compile(r"\[\"?(?P<name>[^\]\"]*)\"?\]|(?P<field>[^.\[]+)")
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
    "add": "drop it",
    "allowPrivilegeEscalation": "add allowPrivilegeEscalation: false to its securityContext",
    "drop": "add capabilities: {drop: [ALL]} to its securityContext",
    "runAsNonRoot": "add runAsNonRoot: true to its securityContext, and a runAsUser above 0",
    "runAsUser": "take a user above 0, and say runAsNonRoot: true",
    "seccompProfile": "add seccompProfile: {type: RuntimeDefault} to its securityContext",
}


@dataclass(frozen=True, slots=True)
class LevelRefusal:
    """One thing in an overlay that a level refuses: the lowest such level, the field it is about, its place."""

    level: str
    field: str
    path: Steps
    what: str
    todo: str

    def finding(self, rendering: Rendering) -> Finding:
        """The finding that says which level refuses what."""
        todo = _HELP.get(self.field, self.todo)
        help_ = f"{todo}, or disable this rule and say which level its namespaces need"
        return Finding(f"{self.what}: {WHO[self.level]}", rendering.overlay.place(self.path), help_, about=self.field)


def findings(subject: Subject, rule: str, *, every: bool = True) -> Iterator[Finding]:
    """A finding for each refusal about a rule's own fields; with `every` false, one for each container, about the
    first of the fields that is refused there.
    """
    fields = OWN[rule]
    for rendering in subject.renderings:
        found = [refusal for refusal in refusals(rendering, subject.kubernetes[1]) if refusal.field in fields]
        found.sort(key=lambda refusal: fields.index(refusal.field))
        owners = {refusal.path[:3]: refusal for refusal in reversed(found)}
        for refusal in found if every else owners.values():
            yield refusal.finding(rendering)


def refusals(rendering: Rendering, minor: int) -> Iterator[LevelRefusal]:
    """Everything in the overlay that a level of Kubernetes 1.`minor` refuses, each once, at the lowest level."""
    overlay = plain(rendering.overlay.value)
    spec = mapping(mapping(overlay).get("spec"))
    # `"*"` says little about a container of the app, which settles the rest for itself
    named = {list_: _named(spec, list_) for list_ in CONTAINER_LISTS if list_ in spec}
    hardened = {**mapping(overlay), "spec": {**spec, **named}}
    known: set[str] = set()
    levels = (
        ("baseline", baseline.find(PodView(overlay), minor, hardened=False)),
        ("restricted", restricted.find(PodView(hardened), minor, minor)),
    )
    for level, sentences in levels:
        for sentence in sentences:
            what, _, todo = sentence.rpartition("; ")
            found = _WHERE.match(what)
            if found is not None and what not in known:
                known.add(what)
                path = _path(found["where"], spec)
                field = _field(found["where"], found["what"])
                yield LevelRefusal(level, field, _closer(path, field, found["what"], spec), what, todo)


def _named(spec: Object, list_: str) -> list[Object]:
    return [c for c in mappings(spec.get(list_)) if c.get("name") != EVERY_CONTAINER]


def _path(where: str, spec: Object) -> Steps:
    """`spec.containers[envoy].securityContext` as steps into the overlay."""
    path: list[str | int] = []
    for step in _STEP.finditer(where):
        if step["field"]:
            path.append(step["field"])
            continue
        names = [item.get("name") for item in mappings(spec.get(str(path[-1])))]
        if step["name"] not in names:
            break  # what has no name is refused for that
        path.append(names.index(step["name"]))
    return tuple(path)


def _closer(path: Steps, field: str, what: str, spec: Object) -> Steps:
    """The path; of a capability, that of its item in the list."""
    if field != "add" or len(path) < 3:
        return path
    value: Any = {"spec": spec}
    for step in path:
        value = value[step]
    capability = what.partition(" ")[0]
    return (*path, value.index(capability)) if capability in value else path


def _field(where: str, what: str) -> str:
    """The field that a refusal is about: of volumes and ports, what it names first."""
    last = where.removesuffix(".type").rpartition(".")[2]
    return what.partition(" ")[0] if last.endswith("]") or last == "ports" else last
