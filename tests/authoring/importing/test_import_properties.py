"""Whatever a sidecar config holds, a pod with the imported template has exactly that."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any

import yaml
from hypothesis import HealthCheck, assume, example, given, settings, strategies as st

from injector.authoring.importing.folder import Imported
from injector.authoring.importing.imports import ImportResult, import_configs
from injector.inject import inject, uninject
from injector.pods.context import Cluster, Namespace, Object, Workload
from injector.pods.differences import mismatches
from injector.pods.fields import CONTAINER, POD, SPEC
from injector.settings import Settings
from injector.templates.snapshot import Snapshot, build_snapshot
from injector.templates.yaml_writer import dump
from tests.authoring.importing.configs import ODD, configs
from tests.unit.support import OWNER

#: How people write YAML: in blocks, as JSON, with everything in quotes and tagged, with anchors.
WAYS: list[Callable[[Object], str]] = [
    dump,
    json.dumps,
    lambda config: yaml.safe_dump(config, default_style='"', sort_keys=False),
    lambda config: yaml.safe_dump(config, default_style="'", allow_unicode=True),
]
SHOP = Namespace("shop", {"injection": "enabled"})
APP: Object = {"name": "app", "image": "app:1", "env": [{"name": "OWN", "value": "x"}]}
SETUP: Object = {"name": "setup", "image": "setup:1"}
#: YAML's writer ends such a document with `...`, as the last of its texts ends in several line breaks.
OPEN_END: Object = {
    "containers": [],
    "env": [{"name": "A", "value": "a\n\n"}],
    "volumeMounts": [],
    "serviceAccountName": "builder",
}


def pod() -> Object:
    """A pod as the API server sends it."""
    return copy.deepcopy(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "app", "namespace": "shop", "labels": {"app": "app"}},
            "spec": {"serviceAccountName": "default", "containers": [APP], "initContainers": [SETUP]},
        }
    )


def snapshot(template: Imported, **chosen: Any) -> Snapshot:
    """An injector that has this template alone."""
    files = {path: text for path, text in template.files.items() if "/" not in path}
    return build_snapshot(Settings(templates=(template.name,), **chosen), {template.name: files}, Cluster())


def injected(template: Imported, **chosen: Any) -> Object:
    """The pod with an imported template."""
    current = snapshot(template, **chosen)
    result = inject(pod(), SHOP, current)
    assert str(result.reason) == "injected", result.message
    assert result.warnings == ()
    assert not list(mismatches(uninject(result.object, current.settings), pod(), POD, "", exact=True))
    return result.object


def one(result: ImportResult) -> Imported:
    """The one template of a result without an error."""
    assert [str(p) for p in result.problems if p.severity == "error"] == []
    [template] = result.templates
    return template


def with_all(container: Object, config: Object) -> Object:
    """A container with what a config gives to all: variables by name, mounts by their volume's."""
    found = copy.deepcopy(container)
    for field, key in (("env", "name"), ("volumeMounts", "name")):
        own = found.get(field, [])
        more = [item for item in config.get(field, []) if item[key] not in {old[key] for old in own}]
        if own or more:
            found[field] = [*own, *more]
    return found


def expected(config: Object) -> Object:
    """The spec that the other injector would have made of the pod, set-up in our order."""
    spec = pod()["spec"]
    spec["containers"] = [with_all(c, config) for c in (APP, *config.get("containers", []))]
    spec["initContainers"] = [with_all(c, config) for c in (SETUP, *config.get("initContainers", []))]
    for field in ("volumes", "hostAliases", "imagePullSecrets"):
        if config.get(field):
            spec[field] = config[field]
    for field in ("hostNetwork", "hostPID"):
        if config.get(field):
            spec[field] = True
    if config.get("serviceAccountName"):
        spec["serviceAccountName"] = config["serviceAccountName"]
    return spec


def without_nothing(value: Any) -> Any:
    """A value without empty lists and mappings of sizes, which say nothing to Kubernetes."""
    if isinstance(value, list):
        return [without_nothing(item) for item in value]
    if not isinstance(value, dict):
        return value
    pruned = {key: without_nothing(item) for key, item in value.items()}
    nothing = ("limits", "requests", "resources")
    return {k: v for k, v in pruned.items() if v != [] and not (k in nothing and v == {})}


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
@given(config=configs(), write=st.sampled_from(WAYS))
@example(config=OPEN_END, write=dump)
def test_a_pod_has_exactly_what_is_in_the_config(config: Object, write: Callable[[Object], str]) -> None:
    text = write(config)
    assume(yaml.safe_load(text) == config)  # in quotes a writer may leave a NEL as it is, which YAML reads as a space
    template = one(import_configs([("standard input", text.encode())], "" if "name" in config else "it"))
    spec = injected(template, native_sidecars="never")["spec"]
    wanted = expected(config)
    assert list(mismatches(spec, without_nothing(wanted), SPEC, "", exact=True)) == []
    assert without_nothing(spec["containers"][1:]) == without_nothing(_trimmed(wanted["containers"][1:]))
    assert without_nothing(spec.get("volumes", [])) == without_nothing(wanted.get("volumes", []))


def _trimmed(containers: list[Object]) -> list[Object]:
    """Containers without fields of theirs that are what they are anyway: `tty: false`."""
    return [{k: v for k, v in c.items() if v is not False} for c in containers]


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
@given(config=configs())
def test_native_sidecars_are_the_same_containers(config: Object) -> None:
    template = one(import_configs([("it.yaml", json.dumps(config).encode())], "it"))
    spec = injected(template)["spec"]
    wanted = expected(config)
    found = {c["name"]: c for c in (*spec["initContainers"], *spec["containers"])}
    for container in (*wanted["initContainers"], *wanted["containers"]):
        there = {k: v for k, v in found.pop(container["name"]).items() if k != "restartPolicy"}
        assert not list(mismatches(there, without_nothing(container), CONTAINER, "", exact=True))
    assert found == {}


@settings(max_examples=100, deadline=None)
@given(text=st.one_of(st.text(max_size=60), st.sampled_from(ODD).map("containers: {}".format), st.binary(max_size=40)))
def test_whatever_comes_in_something_is_said_of_it(text: str | bytes) -> None:
    data = text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass")
    result = import_configs([("standard input", data)], "it")
    assert not result.templates
    assert result.problems
    assert all(problem.message for problem in result.problems)


_TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r\ufeff"), max_size=60)


@settings(max_examples=50, deadline=None)
@given(text=_TEXT, odd=st.sampled_from(ODD).filter(lambda text: "\r" not in text))
def test_config_files_come_along_to_the_letter(text: str, odd: str) -> None:
    files = {"nginx.conf": text, "values.yaml": odd, "x": f"{text}{odd}\n", "overlay.yaml": f"{odd}{text}"}
    config = {
        "containers": [{"name": "a", "image": "a:1", "volumeMounts": [{"name": "c", "mountPath": "/c"}]}],
        "volumes": [{"name": "c", "configMap": {"name": "its"}}],
    }
    maps = [config_map("its", files), config_map("injector", {"it.yaml": json.dumps(config)})]
    stream = "---\n".join(map(dump, maps))
    template = one(import_configs([("standard input", stream.encode())]))
    result = inject(pod(), SHOP, snapshot(template), workload=Workload("Deployment", "app", OWNER))
    assert [made.data for made in result.files] == [files]
    [volume] = result.object["spec"]["volumes"]
    assert volume == {"name": "c", "configMap": {"name": result.files[0].name}}


def config_map(name: str, data: dict[str, str]) -> Object:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}
