"""Fields, shapes and selectors as people know them from elsewhere: each gets what to write here."""

from __future__ import annotations

from typing import Any

import pytest

from injector.advice.declarations import selector_help
from injector.advice.field_names import directive_help, renamed_field, unknown_field
from injector.advice.shapes import item_help, misshapen, shape_help
from injector.pods.fields import POD
from tests.messages import Golden

_CONTAINER = "spec.containers.0"
_VOLUME = "spec.volumes.0"


def place(path: str) -> Any:
    return POD.at(int(step) if step.isdecimal() else step for step in path.split("."))


@pytest.mark.parametrize(
    ("path", "name"),
    [
        (f"{_VOLUME}.secret", "name"),
        (f"{_VOLUME}.configMap", "configMapName"),
        (f"{_VOLUME}.persistentVolumeClaim", "name"),
        (f"{_VOLUME}.emptyDir", "size"),
        (_VOLUME, "pvc"),
        (_VOLUME, "mountPath"),
        (f"{_CONTAINER}.volumeMounts.0", "path"),
        (f"{_CONTAINER}.volumeMounts.0", "volume"),
        (f"{_CONTAINER}.env.0", "val"),
        (f"{_CONTAINER}.env.0", "secretKeyRef"),
        (f"{_CONTAINER}.env.0.valueFrom.secretKeyRef", "secretName"),
        (f"{_CONTAINER}.ports.0", "port"),
        (f"{_CONTAINER}.readinessProbe", "interval"),
        (f"{_CONTAINER}.readinessProbe.httpGet", "url"),
        (f"{_CONTAINER}.readinessProbe.httpGet", "periodSeconds"),
        (f"{_CONTAINER}.securityContext", "user"),
        (f"{_CONTAINER}.securityContext", "fsGroup"),
        (f"{_CONTAINER}.resources", "cpu"),
        (_CONTAINER, "when"),
        (_CONTAINER, "with_items"),
        (_CONTAINER, "environment"),
        (_CONTAINER, "entrypoint"),
        (_CONTAINER, "exclude"),
        (_CONTAINER, "hostNetwork"),
        (_CONTAINER, "privileged"),
        (_CONTAINER, "httpGet"),
        (_CONTAINER, "terminationGracePeriodSeconds"),
        (_CONTAINER, "imagePullPolice"),
        (_CONTAINER, "frobnicate"),
        ("spec", "replicas"),
        ("spec", "annotations"),
        ("spec", "imagePullSecret"),
        ("spec", "image"),
    ],
)
def test_a_field_that_a_place_does_not_have(path: str, name: str, golden: Golden) -> None:
    here = place(path)
    assert name not in here.fields.notations
    said = unknown_field(name, here.fields.notations, here)
    golden(said)


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        (f"{_VOLUME}.hostPath", "/data", "write hostPath: {path: /data}"),
        (f"{_VOLUME}.secret", "web", "write secret: {secretName: web}"),
        (f"{_VOLUME}.emptyDir", True, "write emptyDir: {}"),
        (f"{_CONTAINER}.readinessProbe.httpGet", "/ready", "write httpGet: {path: /ready, port: 8080}"),
        (f"{_CONTAINER}.readinessProbe.tcpSocket", 80, "write tcpSocket: {port: 80}"),
        (f"{_CONTAINER}.readinessProbe.periodSeconds", "2m", "write 120"),
        (f"{_CONTAINER}.readinessProbe.periodSeconds", "5", "write it without quotes"),
        (f"{_CONTAINER}.securityContext.runAsUser", "nginx", "write the number of the user or group, such as 101"),
        (f"{_CONTAINER}.resources.limits", "64Mi", "write limits: {memory: 64Mi}"),
        (f"{_CONTAINER}.image", {"repository": "a/b", "tag": 1}, 'write image: "a/b:1"'),
        (f"{_CONTAINER}.tty", "yes", "write true, without quotes"),
        (f"{_CONTAINER}.command", "sh -c 'a b'", 'write ["sh", "-c", "a b"]'),
        (f"{_CONTAINER}.ports", {"http": 80}, "as in `- {name: http, containerPort: 80}`"),
        (f"{_CONTAINER}.env", {"PASSWORD": "secret"}, "as in `- {name: PASSWORD, value: ...}`"),
        ("spec.imagePullSecrets", "regcred", "write `- {name: regcred}`"),
        ("spec.tolerations", {"key": "a"}, "write `- ` in front of it"),
        (f"{_CONTAINER}.args", '["a", "b"]', "write it without quotes"),
        (f"{_CONTAINER}.workingDir", ["a"], ""),
    ],
)
def test_a_value_of_another_shape(path: str, value: object, words: str) -> None:
    said = shape_help(value, place(path))
    assert words in said
    assert "secret" not in said.replace("secretName", "").replace("secret: {", "")
    assert bool(said) == bool(words)


@pytest.mark.parametrize(
    ("path", "item", "words"),
    [
        (f"{_CONTAINER}.env", "PASSWORD=secret", "write {name: PASSWORD, value: ...}"),
        (f"{_CONTAINER}.env", {"PASSWORD": "secret"}, "write {name: PASSWORD, value: ...}"),
        (f"{_CONTAINER}.env", {"key": "A", "value": "b"}, "write name in place of key"),
        (f"{_CONTAINER}.ports", "80:8080/udp", "write {containerPort: 8080, protocol: UDP}"),
        (f"{_CONTAINER}.ports", 8080, "write {containerPort: 8080}"),
        (f"{_CONTAINER}.volumeMounts", "data:/data:ro", "write {name: data, mountPath: /data}"),
        (f"{_CONTAINER}.envFrom", "web", "write {configMapRef: {name: web}}, or secretRef for a Secret"),
        (f"{_CONTAINER}.args", 1, "put it in quotes"),
        ("spec.imagePullSecrets", "on", 'write {name: "on"}'),
        ("spec.containers", "web", "begin each item with `- name: `"),
        (f"{_CONTAINER}.env", {"name": "A", "value": "b"}, ""),
    ],
)
def test_an_item_of_another_shape(path: str, item: object, words: str) -> None:
    assert item_help(item, place(path)) == words


def test_what_is_as_kubernetes_has_it_gets_no_word() -> None:
    container = {
        "name": "a", "image": "x:1", "env": [{"name": "A", "value": "b"}], "command": ["a"], "tty": True,
        "resources": {"limits": {"cpu": 1, "memory": "1Mi"}}, "ports": [{"containerPort": 80}], "args": None,
        "readinessProbe": {"httpGet": {"path": "/", "port": "http"}, "periodSeconds": 5},
    }  # fmt: skip
    volumes = [{"name": "v", "emptyDir": {}}, {"name": "w", "configMap": {"name": "c", "defaultMode": 420}}]
    pod = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [container], "volumes": volumes}, "x": 1}
    assert list(misshapen(pod)) == []
    assert [path for path, _ in misshapen({"spec": {"volumes": [{"name": "v", "emptyDir": True}]}})] == [
        ("spec", "volumes", 0, "emptyDir")
    ]


def test_a_mapping_that_lacks_a_field_names_the_one_that_was_taken_for_it(golden: Golden) -> None:
    secret = place(f"{_VOLUME}.secret")
    golden(renamed_field({"name": "web"}, secret, "secretName"))
    assert renamed_field({"optional": True}, secret, "secretName") == ""


@pytest.mark.parametrize(
    ("path", "name", "value"),
    [
        (f"{_CONTAINER}.env.0", "$patch", "delete"),
        (f"{_CONTAINER}.resources", "$patch", "delete"),
        (f"{_CONTAINER}.resources", "$patch", "replace"),
        (_CONTAINER, "$setElementOrder/env", []),
        (_CONTAINER, "$retainKeys", []),
    ],
)
def test_directives_of_kustomize(path: str, name: str, value: object, golden: Golden) -> None:
    golden(directive_help(name, value, place(path), item=False))


@pytest.mark.parametrize(
    ("value", "of_namespaces", "words"),
    [
        (["shop", "cart"], True, "write {matchExpressions: [{key: kubernetes.io/metadata.name, operator: In, values: "
                                 "[shop, cart]}]}"),
        ("shop", True, "write {matchLabels: {kubernetes.io/metadata.name: shop}}"),
        ({"exclude": ["a", "b"]}, True, "write matchExpressions: [{key: kubernetes.io/metadata.name, operator: NotIn, "
                                        "values: [a, b]}]"),
        ("shop", False, ""),
        ("app=web,tier=front", False, "write {matchLabels: {app: web, tier: front}}"),
        (["app=web"], False, "write {matchLabels: {app: web}}"),
        ({"app": "web", "on": True}, False, 'write matchLabels: {app: web, on: "true"}'),
        (5, False, ""),
        ([], True, ""),
    ],
)  # fmt: skip
def test_selectors_of_another_shape(value: object, of_namespaces: bool, words: str) -> None:
    assert selector_help(value, of_namespaces=of_namespaces) == words
