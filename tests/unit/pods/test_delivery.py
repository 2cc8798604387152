"""Config files by annotation: every way in which an overlay may take them from the ConfigMap that is not made."""

from __future__ import annotations

import re
from typing import Any

import pytest

from injector.errors import InjectionError
from injector.pods.context import Object, Workload
from injector.pods.delivery import by_annotation, config_map
from injector.reasons import Reason
from injector.settings import Settings

FILES = {"a.conf": "a", "b.conf": "b"}


def reference(file: str) -> Object:
    return {"apiVersion": "v1", "fieldPath": f"metadata.annotations['sidecar.injector/proxy.{file}']"}


def turned(spec: Object) -> Object:
    overlay = {"metadata": {"annotations": {"own": "x"}}, "spec": spec}
    result = by_annotation(overlay, "made", "proxy", FILES, Settings())
    assert result["metadata"]["annotations"] == {
        "own": "x",
        "sidecar.injector/proxy.a.conf": "a",
        "sidecar.injector/proxy.b.conf": "b",
    }
    return result["spec"]


@pytest.mark.parametrize("name", ["a" * 99 + ".b", "a" * 98 + "-.b", "-.-", "web"])
def test_the_name_of_the_config_map_is_one_that_kubernetes_takes(name: str) -> None:
    made = config_map("proxy", FILES, "shop", Workload("Deployment", name), Settings()).name
    assert re.fullmatch(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*", made), made
    assert "-proxy-" in made and len(made) <= 253
    assert not re.search(r"[-.]-proxy", made), "cut, and then no dot or dash is left at the end"


def test_a_volume_holds_all_files_or_those_it_names() -> None:
    some = {"name": "made", "items": [{"key": "b.conf", "path": "c/d.conf", "mode": 256}], "defaultMode": 292}
    volumes = [{"name": "all", "configMap": {"name": "made"}}, {"name": "some", "configMap": some}]
    assert turned({"volumes": volumes})["volumes"] == [
        {
            "name": "all",
            "downwardAPI": {"items": [{"path": name, "fieldRef": reference(name)} for name in FILES]},
        },
        {
            "name": "some",
            "downwardAPI": {
                "items": [{"path": "c/d.conf", "mode": 256, "fieldRef": reference("b.conf")}],
                "defaultMode": 292,
            },
        },
    ]


def test_a_source_of_a_projected_volume_is_turned_as_well() -> None:
    other = [{"configMap": {"name": "other"}}, {"secret": {"name": "made"}}]
    ours = {"configMap": {"name": "made", "items": [{"key": "a.conf", "path": "a"}]}}
    volume = {"name": "v", "projected": {"defaultMode": 292, "sources": [ours, *other]}}
    downward = {"downwardAPI": {"items": [{"path": "a", "fieldRef": reference("a.conf")}]}}
    assert turned({"volumes": [volume]})["volumes"] == [
        {"name": "v", "projected": {"defaultMode": 292, "sources": [downward, *other]}}
    ]


@pytest.mark.parametrize(
    "spec",
    [
        {"containers": [{"name": "x", "envFrom": [{"configMapRef": {"name": "made"}}]}]},
        {"containers": [{"name": "*", "env": [{"valueFrom": {"configMapKeyRef": {"name": "made", "key": "a.conf"}}}]}]},
        {"volumes": [{"name": "v", "configMap": {"name": "made", "items": [{"key": "c.conf", "path": "c"}]}}]},
        {"volumes": [{"name": "v", "configMap": {"name": "made", "items": [{"path": "c"}]}}]},
        {"volumes": [{"name": "v", "configMap": {"name": "made", "items": 1}}]},
    ],
)
def test_what_would_wait_for_a_config_map_for_ever_is_refused(spec: dict[str, Any]) -> None:
    with pytest.raises(InjectionError) as caught:
        turned(spec)
    assert caught.value.reason is Reason.TEMPLATE_FAILED
