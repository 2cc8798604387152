"""Rules about what an overlay says of the pod."""

from __future__ import annotations

import re
from collections.abc import Iterator

from injector.authoring.lint.rules._values import in_containers, numbered, word_list
from injector.authoring.lint.rules._volumes import sources
from injector.authoring.lint.rules._whole_object import whole_object
from injector.authoring.lint.rules.pod_security import OWN, WHO
from injector.authoring.lint.subject import Finding, Findings, Rendering, Subject
from injector.diagnostics import Path
from injector.names import hint, respelling
from injector.pods.context import Object, mapping, string_field
from injector.pods.overlay import bare_value

SEVERITY = "error"

_OWN = word_list("name generateName namespace ownerReferences uid resourceVersion")


def pod_name(subject: Subject) -> Findings:
    """The overlay sets the pod's name, namespace or owner: `metadata.name`, `namespace`, `ownerReferences`.

    When a controller, such as that of a ReplicaSet, creates pods, they have only the beginning of a name
    (`metadata.generateName`). So each of these pods would get the overlay's name.

    Why: the API server refuses the second replica with "already exists". If the pod's namespace is not that of the
    request, the API server refuses the pod with "does not match". A controller does not recognise a pod that has
    another owner, and creates another pod.
    https://kubernetes.io/docs/concepts/overview/working-with-objects/names/

    Bad:
        # overlay.yaml.j2
        metadata:
          name: tool
        spec:
          containers:
          - name: tool
            image: {{ params.image }}

    Good:
        # overlay.yaml.j2
        metadata:
          labels: {example.com/tool: "yes"}
        spec:
          containers:
          - name: tool
            image: {{ params.image }}
    """
    for rendering in subject.renderings:
        if whole := whole_object(rendering):
            yield from whole.get("pod-name", ())
            continue
        for field in _OWN:
            if field in rendering.overlay.metadata:
                yield rendering.finding(
                    f"metadata.{field} would be the same for every pod that gets this template",
                    ("metadata", field),
                    "remove it: only the pod's author or the pod's controller sets this field",
                    key=True,
                    remove=(rendering.overlay.place(("metadata", field), key=True),),
                )


_NAMESPACES = {
    **dict.fromkeys(OWN["host-namespaces"], WHO["baseline"]),
    "shareProcessNamespace": "the app is no longer process 1, and the other containers can read its files",
}


def host_namespaces(subject: Subject) -> Findings:
    """The overlay sets `hostNetwork`, `hostPID`, `hostIPC` or `shareProcessNamespace`.

    Pod Security levels `baseline` and `restricted` refuse `hostNetwork`, `hostPID` and `hostIPC`. With `hostNetwork`
    every port of the app is a port of its node. With `shareProcessNamespace` the app is no longer process 1, so images
    with an init system of their own fail, and each container can see the files of the others. All these fields change
    the app and not only the sidecar, so the author of the pod has to decide about them.

    Source: Kubernetes docs, "Pod Security Standards", Host Namespaces, and "Share Process Namespace between
    Containers".

    Bad:
        # overlay.yaml.j2
        spec:
          hostPID: true
          containers:
          - name: shipper
            image: example.com/shipper:1.2

    Good:
        # overlay.yaml.j2
        spec:
          containers:
          - name: shipper
            image: example.com/shipper:1.2
    """
    for rendering in subject.renderings:
        for field, consequence in _NAMESPACES.items():
            if bare_value(rendering.overlay.spec.get(field)) is True:
                message = f"spec.{field} applies to the whole pod: {consequence}"
                yield rendering.finding(message, ("spec", field), "drop it", key=True)


_OVERRIDABLE = word_list(
    """
args command env envFrom image imagePullPolicy lifecycle livenessProbe ports readinessProbe resizePolicy resources
restartPolicy restartPolicyRules securityContext startupProbe stdin stdinOnce terminationMessagePath
terminationMessagePolicy tty volumeDevices volumeMounts workingDir
"""
)


def overridable(subject: Subject) -> Findings:
    """`overridable` names something that is not a field of a container.

    In a `required` namespace a pod may customise a sidecar with a container of the same name, in which it may set only
    the fields that `overridable` lists. If the name of a field is misspelt there, the injector refuses pods that set
    this field. Name whole fields: `resources`, not `resources.limits`.

    Source: docs/templates.md, "template.yaml"; Kubernetes API reference, Container.

    Bad:
        # template.yaml
        description: Ships the app's logs.
        overridable: [resource]
        # overlay.yaml.j2
        spec:
          containers:
          - name: shipper
            image: example.com/shipper:1.2
            resources:
              requests: {cpu: 10m, memory: 16Mi}

    Good:
        # template.yaml
        description: Ships the app's logs.
        overridable: [resources]
    """
    for name in sorted(subject.template.overridable):
        if name not in _OVERRIDABLE:
            near = hint(name.partition(".")[0], _OVERRIDABLE, "they are")
            place, fields = subject.manifest(("overridable",)), respelling(name, _OVERRIDABLE)
            yield Finding(f"{name} is not a field of a container{near}", place, **fields)


_OF_PODS = word_list("metadata.annotations metadata.labels metadata.name metadata.namespace metadata.uid")
#: Of these two a variable takes one key only, a file all of them as well.
_MAPS = _OF_PODS[:2]
_OF_VARIABLES = (
    *_OF_PODS[2:],
    *word_list("spec.nodeName spec.serviceAccountName status.hostIP status.hostIPs status.podIP status.podIPs"),
)
_KEY = re.compile(r"metadata\.(?:annotations|labels)\['[^']+'\]\Z")
_RESOURCE = re.compile(r"(?:limits|requests)\.(?:cpu|memory|ephemeral-storage|hugepages-\S+)\Z")
_RESOURCES = ("limits.cpu", "limits.memory", "requests.cpu", "requests.memory")


def field_path(subject: Subject) -> Findings:
    """A variable or a file refers to a field of the pod that the downward API does not offer.

    `fieldRef` can name about a dozen fields of the pod, and `resourceFieldRef` can name the container's requests and
    limits. The API server refuses a pod that names any other field. A schema cannot find this mistake, because the name
    of the field is a string.

    Source: Kubernetes docs, "Downward API", Available fields.

    Bad:
        # overlay.yaml.j2
        spec:
          containers:
          - name: shipper
            image: example.com/shipper:1.2
            env:
            - name: NODE
              valueFrom: {fieldRef: {fieldPath: spec.node}}

    Good:
        # overlay.yaml.j2
        spec:
          containers:
          - name: shipper
            image: example.com/shipper:1.2
            env:
            - name: NODE
              valueFrom: {fieldRef: {fieldPath: spec.nodeName}}
    """
    for rendering in subject.renderings:
        for path, reference, valid in _references(rendering):
            field = mapping(reference.get("fieldRef")).get("fieldPath")
            if field is not None and field not in valid and not _KEY.match(string_field(field)):
                yield _finding(rendering, (*path, "fieldRef", "fieldPath"), string_field(field), valid)
            resource = mapping(reference.get("resourceFieldRef")).get("resource")
            if resource is not None and not _RESOURCE.match(string_field(resource)):
                yield _finding(rendering, (*path, "resourceFieldRef", "resource"), string_field(resource), _RESOURCES)


def _finding(rendering: Rendering, path: Path, field: str, valid: tuple[str, ...]) -> Finding:
    same_end = next((name for name in valid if name.endswith(f".{field.rpartition('.')[2]}")), field)
    message, help_ = f"the downward API does not have {field}{hint(same_end, valid)}", ""
    if field in _MAPS:
        message, help_ = f"a variable cannot hold all of {field}", f"name one of its keys, {field}['KEY']"
    return rendering.finding(message, path, help_, **respelling(field, valid))


def _references(rendering: Rendering) -> Iterator[tuple[Path, Object, tuple[str, ...]]]:
    """Path and value of everything that refers to fields, and the fields that it may name."""
    for path, variable in in_containers(rendering, "env"):
        yield (*path, "valueFrom"), mapping(variable.get("valueFrom")), _OF_VARIABLES
    for path, source in sources(rendering):
        for index, item in numbered(mapping(source.get("downwardAPI")).get("items")):
            yield (*path, "downwardAPI", "items", index), item, _OF_PODS
