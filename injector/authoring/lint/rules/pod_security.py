"""Rules about what the levels of Pod Security refuse."""

from __future__ import annotations

from functools import lru_cache
from itertools import chain
from typing import Any, NamedTuple

from injector.authoring.lint.rules._values import keys_to_add
from injector.authoring.lint.subject import Finding, Findings, RenderedSource, Rendering, Subject
from injector.authoring.refusal_location import value_at
from injector.diagnostics import Diagnostic, Key, Path
from injector.pods.constraints import baseline, restricted
from injector.pods.constraints.pod_view import PodView
from injector.pods.context import Object, mapping, mappings
from injector.pods.fields import CONTAINER_LISTS
from injector.pods.overlay import EVERY_CONTAINER

SEVERITY = "warning"

#: Whom a level refuses, in a finding's words.
WHO = {
    "baseline": "Pod Security baseline and restricted refuse the pod",
    "restricted": "Pod Security restricted refuses the pod",
}
#: The fields that have a rule of their own, by its name; what is refused besides is for the rule of this module.
OWN = {
    "added-capabilities": ("add",),
    "host-namespaces": ("hostNetwork", "hostPID", "hostIPC"),
    "host-path": ("hostPath",),
    "privilege-escalation": ("privileged", "allowPrivilegeEscalation"),
    "run-as-root": ("runAsUser", "runAsNonRoot"),
}
#: By the field that is missing: the value that it has to have.
_ADDED: dict[str, Any] = {
    "allowPrivilegeEscalation": False,
    "drop": ["ALL"],
    "runAsNonRoot": True,
    "seccompProfile": "RuntimeDefault",
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


class LevelRefusal(NamedTuple):
    """One thing in an overlay that a level refuses, the lowest such level, and the way to it in the overlay."""

    violation: Diagnostic
    path: Path

    @property
    def field(self) -> str:
        """The field that it is about."""
        return str(self.violation.fields["field"])

    def finding(self, rendering: Rendering) -> Finding:
        """The finding that says which level refuses what."""
        violation = self.violation
        message = f"{violation.message}: {WHO[violation.fields['level']]}"
        todo = _HELP.get(self.field, violation.help)
        help_ = f"{todo}, or disable this rule and document which Pod Security level the namespaces need"
        fields = {"about": self.field, **self._keys_to_add(rendering.overlay.plain)}
        return rendering.finding_at(message, rendering.overlay.place(self.path), help_, violation.path, **fields)

    def _keys_to_add(self, overlay: Any) -> dict[str, Any]:
        """The fields of a finding that say what is missing, where one value is right."""
        is_user = self.field == "runAsNonRoot"  # which user an image can run as is for its author to know
        container = mapping(value_at(overlay, self.path[:3]))
        if self.field not in _ADDED or (is_user and not mapping(container.get("securityContext")).get("runAsUser")):
            return {}
        return keys_to_add(overlay, self.path, _ADDED[self.field])


def pod_security(subject: Subject) -> Findings:
    """Something in the overlay is not allowed in namespaces with the Pod Security level `baseline` or `restricted`.

    The message names the least strict level that refuses it. Users, capabilities, privileges, host paths and host
    namespaces have rules of their own. This rule is about everything else: a missing `seccompProfile` or `drop: [ALL]`,
    host ports, SELinux and AppArmor options, sysctls, types of volumes, and the field `host` of probes.

    Source: Kubernetes docs, "Pod Security Standards".

    Bad:
        # overlay.yaml.j2
        spec:
          containers:
          - name: shipper
            image: example.com/shipper:1.2
            securityContext:
              runAsNonRoot: true
              runAsUser: 1000
              allowPrivilegeEscalation: false

    Good:
        # overlay.yaml.j2
        spec:
          containers:
          - name: shipper
            image: example.com/shipper:1.2
            securityContext:
              runAsNonRoot: true
              runAsUser: 1000
              allowPrivilegeEscalation: false
              capabilities: {drop: [ALL]}
              seccompProfile: {type: RuntimeDefault}
    """
    with_rule = {field for fields in OWN.values() for field in fields}
    for rendering in subject.overlays:
        for refusal in refusals(rendering.overlay, subject.kubernetes[1]):
            if refusal.field not in with_rule:
                yield refusal.finding(rendering)


def added_capabilities(subject: Subject) -> Findings:
    """A container asks for a capability that Pod Security refuses.

    Level `baseline` allows a short list of capabilities, without NET_ADMIN and NET_RAW. Level `restricted` allows
    only NET_BIND_SERVICE. In a namespace at such a level the pod starts without its sidecar; if the namespace is
    `required`, the injector refuses the pod. If the sidecar needs the capability, disable this rule on the line,
    and say which level the namespace needs: `- NET_ADMIN # lint: disable=added-capabilities iptables needs it;
    namespaces at level privileged`.

    Source: Kubernetes docs, "Pod Security Standards", Capabilities.

    Bad:
        # overlay.yaml.j2
        spec:
          containers:
          - name: shipper
            image: example.com/shipper:1.2
            securityContext:
              runAsNonRoot: true
              runAsUser: 1000
              allowPrivilegeEscalation: false
              capabilities: {drop: [ALL], add: [NET_ADMIN]}
              seccompProfile: {type: RuntimeDefault}

    Good:
        # overlay.yaml.j2
        spec:
          containers:
          - name: shipper
            image: example.com/shipper:1.2
            securityContext:
              runAsNonRoot: true
              runAsUser: 1000
              allowPrivilegeEscalation: false
              capabilities: {drop: [ALL], add: [NET_BIND_SERVICE]}
              seccompProfile: {type: RuntimeDefault}
    """
    yield from _findings(subject, "added-capabilities")


def host_path(subject: Subject) -> Findings:
    """A volume is a folder of the node.

    With a hostPath volume a pod can reach the files of its node, so Pod Security levels `baseline` and `restricted`
    refuse such a pod. The pod also depends on what its node has in the folder, and two pods on the same node share
    the folder. If a sidecar needs the app's files, let both containers mount an emptyDir.

    Source: Kubernetes docs, "Pod Security Standards", HostPath Volumes.

    Bad:
        # overlay.yaml.j2
        spec:
          containers:
          - name: shipper
            image: example.com/shipper:1.2
            volumeMounts:
            - {name: shipper-logs, mountPath: /logs}
          volumes:
          - name: shipper-logs
            hostPath: {path: /var/log/pods}

    Good:
        # overlay.yaml.j2
        spec:
          containers:
          - name: shipper
            image: example.com/shipper:1.2
            volumeMounts:
            - {name: shipper-logs, mountPath: /logs}
          - name: "*"
            volumeMounts:
            - {name: shipper-logs, mountPath: /logs}
          volumes:
          - name: shipper-logs
            emptyDir: {sizeLimit: 256Mi}
    """
    yield from _findings(subject, "host-path")


def privilege_escalation(subject: Subject) -> Findings:
    """A container may gain privileges: it is privileged, or `allowPrivilegeEscalation: false` is missing.

    By default Kubernetes allows privilege escalation: a program with the setuid bit runs as the owner of its file. Pod
    Security level `restricted` refuses a container that allows privilege escalation. Level `baseline` refuses only
    `privileged: true`.

    Source: Kubernetes docs, "Pod Security Standards", Privilege Escalation and Privileged Containers.

    Bad:
        # overlay.yaml.j2
        spec:
          containers:
          - name: shipper
            image: example.com/shipper:1.2
            securityContext:
              runAsNonRoot: true
              runAsUser: 1000
              capabilities: {drop: [ALL]}
              seccompProfile: {type: RuntimeDefault}

    Good:
        # overlay.yaml.j2
        spec:
          containers:
          - name: shipper
            image: example.com/shipper:1.2
            securityContext:
              runAsNonRoot: true
              runAsUser: 1000
              allowPrivilegeEscalation: false
              capabilities: {drop: [ALL]}
              seccompProfile: {type: RuntimeDefault}
    """
    yield from _findings(subject, "privilege-escalation", every=False)


def run_as_root(subject: Subject) -> Findings:
    """A container runs as root, or may do so.

    A process that gets out of a container as root is root on the node. Pod Security level `restricted` requires
    `runAsNonRoot: true` and forbids `runAsUser: 0`. With `runAsNonRoot: true` the kubelet does not start an image
    whose user is 0. Some containers need root, for example to set up iptables. Pods with such containers cannot run
    in namespaces at level `restricted`. Disable this rule at the `runAsUser` of such a container, and say why.

    Source: Kubernetes docs, "Pod Security Standards", Running as Non-root.

    Bad:
        # overlay.yaml.j2
        spec:
          containers:
          - name: shipper
            image: example.com/shipper:1.2
            securityContext: {runAsUser: 0, allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}

    Good:
        # overlay.yaml.j2
        spec:
          containers:
          - name: shipper
            image: example.com/shipper:1.2
            securityContext:
              runAsNonRoot: true
              runAsUser: 1000
              allowPrivilegeEscalation: false
              capabilities: {drop: [ALL]}
              seccompProfile: {type: RuntimeDefault}
    """
    yield from _findings(subject, "run-as-root", every=False)


#: The rules of this module besides its own: each has the name and the docstring of its function.
def _findings(subject: Subject, rule: str, *, every: bool = True) -> Findings:
    """A finding for each refusal about a rule's own fields; with `every` false, one for each container, about the
    first of the fields that is refused there.
    """
    fields = OWN[rule]
    for rendering in subject.overlays:
        own = [refusal for refusal in refusals(rendering.overlay, subject.kubernetes[1]) if refusal.field in fields]
        own.sort(key=lambda refusal: fields.index(refusal.field))
        of_containers = {refusal.path[:3]: refusal for refusal in reversed(own)}
        for refusal in own if every else of_containers.values():
            yield refusal.finding(rendering)


@lru_cache(maxsize=512)  # several rules ask
def refusals(source: RenderedSource, minor: int) -> tuple[LevelRefusal, ...]:
    """Everything in an overlay that a level of Kubernetes 1.`minor` refuses, each once, at the lowest level."""
    overlay = source.plain
    spec = mapping(mapping(overlay).get("spec"))
    # `"*"` says little about a container of the app, which settles the rest for itself
    sidecars = {
        list_: [c for c in mappings(spec[list_]) if c.get("name") != EVERY_CONTAINER]
        for list_ in CONTAINER_LISTS
        if list_ in spec
    }
    hardened = {**mapping(overlay), "spec": {**spec, **sidecars}}
    keys: list[tuple[Any, ...]] = []
    unique: list[LevelRefusal] = []
    levels = baseline.find(PodView(overlay), minor, hardened=False), restricted.find(PodView(hardened), minor, minor)
    for violation in chain(*levels):
        key = (violation.path, violation.fields["field"], violation.fields.get("value"))
        if key not in keys:
            keys.append(key)
            unique.append(LevelRefusal(violation, _path(violation, spec)))
    return tuple(unique)


def _path(violation: Diagnostic, spec: Object) -> Path:
    """The path of a violation as steps into the overlay; of a capability, that of its item in the list."""
    path: list[str | int] = []
    for step in violation.path:
        if not isinstance(step, Key):
            path.append(step)
            continue
        names = [item.get("name") for item in mappings(spec.get(str(path[-1])))]
        if step not in names:
            break  # what has no name is refused for that
        path.append(names.index(step))
    if violation.fields["field"] == "add" and len(path) > 2:
        capabilities, capability = value_at({"spec": spec}, tuple(path)), violation.fields["value"]
        if capability in capabilities:
            path.append(capabilities.index(capability))
    return tuple(path)
