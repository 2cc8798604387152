"""`app_containers`: what a template sees of the app in every list of containers."""

from __future__ import annotations

from typing import Any

import pytest

from injector.inject import inject
from injector.pods.context import Cluster, Namespace
from injector.pods.fields import CONTAINER_LISTS
from injector.settings import Settings
from injector.templates.snapshot import Snapshot, build_snapshot
from tests.messages import Golden

_FIRST = """\
spec:
  containers:
  - {name: side, image: side}
  - {name: "*", env: [{name: A, value: b}]}
"""
_SECOND = """\
metadata:
  annotations:
    seen: {{ app_containers | map(attribute="name") | join(" ") }}
    env: {{ app_containers | selectattr("env", "defined") | map(attribute="name") | join(" ") }}
spec:
  containers: [{name: other, image: other}]
"""
_APP = {
    "initContainers": [{"name": "migrate", "image": "x"}, {"name": "cache", "image": "x", "restartPolicy": "Always"}],
    "containers": [{"name": "web", "image": "x"}],
}


def snapshot(native: str) -> Snapshot:
    sources = {
        name: {"template.yaml": "description: One.\n", "overlay.yaml.j2": overlay}
        for name, overlay in (("first", _FIRST), ("second", _SECOND))
    }
    return build_snapshot(Settings(templates=("first", "second"), native_sidecars=native), sources, Cluster())


def seen(spec: dict[str, Any], native: str) -> dict[str, str]:
    pod = {"metadata": {"name": "web"}, "spec": spec}
    injection = inject(pod, Namespace("shop", {"injection": "enabled"}), snapshot(native))
    assert injection.patch, injection.message
    annotations: dict[str, str] = injection.object["metadata"]["annotations"]
    return annotations


@pytest.mark.parametrize("native", ["always", "never"])
def test_every_list_as_the_templates_before_left_it_and_no_sidecar(native: str, golden: Golden) -> None:
    found = seen(_APP, native)
    golden(found["seen"])
    assert found["env"] == "web"


@pytest.mark.parametrize("native", ["always", "never"])
@pytest.mark.parametrize("list_", CONTAINER_LISTS[:2])
def test_a_sidecar_that_the_pod_customises_is_none_of_the_app(native: str, list_: str, golden: Golden) -> None:
    spec = {**_APP, list_: [*_APP[list_], {"name": "other", "image": "mine"}]}
    golden(seen(spec, native)["seen"])


def test_lists_that_are_null() -> None:
    assert seen({**_APP, "initContainers": None, "ephemeralContainers": None}, "always")["seen"] == "web"
