"""A real API server accepts what `injector inject` makes of a manifest whenever it accepts the manifest itself."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from injector.pods.workloads import pod_template
from tests.cluster.api import ApiError, Object
from tests.cluster.conftest import NamespaceFactory
from tests.cluster.controlplane import ControlPlane
from tests.cluster.processes import eventually
from tests.corpus.commands import objects, place, run, templates_loaded_once
from tests.corpus.manifests import MANIFESTS, VARIANTS, VERSIONS, Manifest, balanced
from tests.samples import sampled

#: What a manifest says about the namespace that its objects are for.
_OF_NAMESPACES = ("LimitRange", "ResourceQuota")

#: Manifests of which the API server takes no object with a pod as it is, whatever we make of it, and what it says.
#: Everything else must be accepted, before and after.
NOT_ACCEPTED = {
    "broken/image-number.yaml": "cannot unmarshal number into Go struct field Container.spec.containers.image",
    "broken/number-too-large.yaml": "cannot unmarshal number 1.2345678901234568e+29",
    "broken/port-text.yaml": "cannot unmarshal string into Go struct field ContainerPort",
    "broken/security-context-text.yaml": "cannot unmarshal",
    "containers/named-envoy-without-image.yaml": "spec.containers[1].image: Required value",
    "kinds/deploymentconfig.yaml": "must not have leading or trailing whitespace",  # but its own API server does
}


def injectable(manifest: Manifest) -> bool:
    """Whether the command line injects something there, by one way at least."""
    verdicts = [manifest.verdicts(variant) for variant in VARIANTS]
    return any(v is None or "injected" in v for v in verdicts)


CASES = {name: manifest for name, manifest in MANIFESTS.items() if injectable(manifest)}


@pytest.fixture(scope="module", autouse=True)
def templates_once() -> Iterator[None]:
    with templates_loaded_once():
        yield


@pytest.fixture(scope="module")
def common(control_plane: ControlPlane) -> Iterator[str]:
    """The namespace of manifests that say nothing about theirs."""
    name = "corpus"
    control_plane.api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    control_plane.wait_for_default_account(name)
    yield name
    control_plane.api.delete("Namespace", name)


def ruled(control_plane: ControlPlane, name: str, rules: list[Object]) -> str:
    """The namespace, with these limit ranges and quotas."""
    for rule in rules:
        control_plane.api.create(at(rule, name), name)
        if rule["kind"] == "ResourceQuota":
            eventually("the quota is counted", lambda: "status" in control_plane.api.list("ResourceQuota", name)[0])
    return name


def flat(value: Any) -> Iterator[Object]:
    """The objects of a document, those of lists one by one."""
    if isinstance(value, dict) and isinstance(value.get("items"), list):
        for item in value["items"]:
            yield from flat(item)
    elif isinstance(value, dict):
        yield value


def at(obj: Object, namespace: str) -> Object:
    """The object in another namespace."""
    return {**obj, "metadata": {**obj["metadata"], "namespace": namespace}}


def as_pod(obj: Object) -> Object | None:
    """The pod that the API server's controllers would make of an object of a kind that is not known here."""
    template = pod_template(obj)
    if template is None:
        return None
    metadata = {k: v for k, v in (template.get("metadata") or {}).items() if k in ("labels", "annotations")}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "probe", **metadata}, "spec": template["spec"]}


def refusal(control_plane: ControlPlane, obj: Object, namespace: str, validation: str) -> str | None:
    """What the API server says to the object as a dry run; None when it takes it."""
    for candidate in (obj, as_pod(obj)):
        if candidate is None:
            continue
        try:
            control_plane.api.create(at(candidate, namespace), namespace, dry_run=True, fieldValidation=validation)
        except ApiError as error:
            if error.code == 404 and candidate is obj:  # a kind that it does not know
                continue
            return str(error)
        return None
    return None


@pytest.mark.parametrize("name", sampled(CASES, 2))
def test_accepted_with_its_sidecar_as_without(
    name: str,
    control_plane: ControlPlane,
    common: str,
    namespace: NamespaceFactory,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    manifest = CASES[name]
    before = [obj for value in objects(manifest.data) for obj in flat(value)]
    labels = next((o["metadata"].get("labels") or {} for o in before if o.get("kind") == "Namespace"), {})
    rules = [obj for obj in before if obj.get("kind") in _OF_NAMESPACES]
    where = ruled(control_plane, namespace(labels), rules) if labels or rules else common
    with_pods = [obj for obj in before if obj.get("kind") not in _OF_NAMESPACES and pod_template(obj) is not None]
    strict = [refusal(control_plane, o, where, "Strict") for o in with_pods]
    # what is accepted strictly is accepted all the more where unknown fields are ignored
    said = [text and refusal(control_plane, o, where, "Ignore") for text, o in zip(strict, with_pods, strict=True)]
    assert (name in NOT_ACCEPTED) == all(said), said
    if name in NOT_ACCEPTED:
        assert any(NOT_ACCEPTED[name] in str(text) for text in said)
        return
    modes = [None if text else "Ignore" if refused else "Strict" for text, refused in zip(said, strict, strict=True)]

    path = place(manifest, tmp_path_factory.mktemp("corpus"))
    for variant, sidecars in balanced(list(MANIFESTS).index(name)):
        result = run("inject", str(path), *VARIANTS[variant], "--kubernetes-version", VERSIONS[sidecars])
        after = [obj for value in objects(result.out) for obj in flat(value)]
        injected = [obj for obj in after if obj.get("kind") not in _OF_NAMESPACES and pod_template(obj) is not None]
        if result.status:
            assert injected == []
            continue
        for mode, obj in zip(modes, injected, strict=True):
            if mode is not None:
                assert refusal(control_plane, obj, where, mode) is None, (variant, sidecars, mode)
        for obj in after:
            if obj.get("kind") == "ConfigMap" and obj.get("immutable"):
                assert refusal(control_plane, obj, where, "Strict") is None
