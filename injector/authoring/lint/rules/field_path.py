"""A variable or a file refers to a field of the pod that the downward API does not offer.

`fieldRef` can name about a dozen fields of the pod, and `resourceFieldRef` can name the container's requests and
limits. The API server refuses a pod that names any other field. A schema cannot find this mistake, because the name of
the field is a string.

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

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from injector.authoring.lint.rules._values import numbered
from injector.authoring.lint.subject import Finding, Rendering, Subject
from injector.diagnostics import Path
from injector.names import hint
from injector.pods.constraints.pod_view import mapping, string_field

SEVERITY = "error"

_OF_PODS = ("metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid")
#: Of these two a variable takes one key only, a file all of them as well.
_MAPS = _OF_PODS[:2]
_OF_VARIABLES = (
    *_OF_PODS[2:],
    "spec.nodeName",
    "spec.serviceAccountName",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
)
_KEY = re.compile(r"metadata\.(?:annotations|labels)\['[^']+'\]\Z")
_RESOURCE = re.compile(r"(?:limits|requests)\.(?:cpu|memory|ephemeral-storage|hugepages-\S+)\Z")
_RESOURCES = ("limits.cpu", "limits.memory", "requests.cpu", "requests.memory")


def check(subject: Subject) -> Iterator[Finding]:
    """One finding for each such reference."""
    for rendering in subject.renderings:
        for path, reference, valid in _references(rendering):
            field = mapping(reference.get("fieldRef")).get("fieldPath")
            if field is not None and field not in valid and not _KEY.match(string_field(field)):
                yield _finding(rendering, (*path, "fieldRef", "fieldPath"), string_field(field), valid)
            resource = mapping(reference.get("resourceFieldRef")).get("resource")
            if resource is not None and not _RESOURCE.match(string_field(resource)):
                yield _finding(rendering, (*path, "resourceFieldRef", "resource"), string_field(resource), _RESOURCES)


def _finding(rendering: Rendering, path: Path, field: str, valid: tuple[str, ...]) -> Finding:
    key = f"name one of its keys, {field}['KEY']" if field in _MAPS else ""
    message = f"a variable cannot hold all of {field}" if key else f"the downward API does not have {field}"
    return Finding(f"{message}{'' if key else hint(field, valid)}", rendering.overlay.place(path), key)


def _references(rendering: Rendering) -> Iterator[tuple[Path, dict[str, Any], tuple[str, ...]]]:
    """Path and value of everything that refers to fields, and the fields that it may name."""
    for path, container in (*rendering.containers(), *rendering.everywhere()):
        for index, variable in numbered(container.get("env")):
            yield (*path, "env", index, "valueFrom"), mapping(variable.get("valueFrom")), _OF_VARIABLES
    for path, volume in rendering.volumes():
        owners = [((*path, "downwardAPI"), mapping(volume.get("downwardAPI")))]
        for index, source in numbered(mapping(volume.get("projected")).get("sources")):
            api_path = (*path, "projected", "sources", index, "downwardAPI")
            owners.append((api_path, mapping(source.get("downwardAPI"))))
        for api_path, owner in owners:
            for index, item in numbered(owner.get("items")):
                yield (*api_path, "items", index), item, _OF_PODS
