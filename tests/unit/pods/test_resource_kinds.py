"""Kinds and their resources, without an API server to ask."""

from __future__ import annotations

import pytest

from injector.pods.resource_kinds import Resource, in_a_namespace, resource_of
from tests.messages import Golden


@pytest.mark.parametrize(
    ("version", "kind", "resource"),
    [
        ("v1", "Service", ("", "v1", "services")),
        ("v1", "Endpoints", ("", "v1", "endpoints")),
        ("networking.k8s.io/v1", "NetworkPolicy", ("networking.k8s.io", "v1", "networkpolicies")),
        ("networking.k8s.io/v1", "Ingress", ("networking.k8s.io", "v1", "ingresses")),
        ("storage.k8s.io/v1beta1", "StorageClass", ("storage.k8s.io", "v1beta1", "storageclasses")),
        ("v1", "PersistentVolumeClaim", ("", "v1", "persistentvolumeclaims")),
        ("project.openshift.io/v1", "ProjectRequest", ("project.openshift.io", "v1", "projectrequests")),
    ],
)
def test_a_kind_is_guessed_as_apimachinery_guesses(version: str, kind: str, resource: tuple[str, str, str]) -> None:
    assert resource_of({"apiVersion": version, "kind": kind}) == resource


@pytest.mark.parametrize(
    ("version", "kind", "written"),
    [
        ("gateway.networking.k8s.io/v1", "Gateway", "gateways"),
        ("k8s.cni.cncf.io/v1", "NetworkAttachmentDefinition", "network-attachment-definitions"),
        ("example.com/v1", "Mesh", "meshes"),
        ("example.com/v1", "Sheep", "sheep"),
    ],
)
def test_what_somebody_wrote_down_goes_before_the_guess(version: str, kind: str, written: str) -> None:
    group, _, number = version.rpartition("/")
    others = [Resource("", "v1", "pods"), Resource(group, "v2", written), Resource(group, number, f"{written}/status")]
    obj = {"apiVersion": version, "kind": kind}
    assert resource_of(obj, [*others, Resource(group, number, written)]).name == written
    assert resource_of(obj, others) == resource_of(obj)


@pytest.mark.parametrize(
    ("version", "kind", "written", "right"),
    [("v1", "Service", "service", "services"), ("apps/v1", "Deployment", "deployment", "deployments")],
)
def test_the_plurals_of_kubernetes_are_nobodys_to_choose(version: str, kind: str, written: str, right: str) -> None:
    group, _, number = version.rpartition("/")
    found = resource_of({"apiVersion": version, "kind": kind}, [Resource(group, number, written)])
    assert found == Resource(group, number, right)


@pytest.mark.parametrize("obj", [{}, {"kind": "Pod"}, {"apiVersion": "v1", "kind": ""}, {"apiVersion": 1, "kind": "X"}])
def test_an_object_without_a_kind_is_none(obj: dict[str, object], golden: Golden) -> None:
    with pytest.raises(ValueError) as caught:
        resource_of(obj)
    golden(caught.value)


def test_what_lies_in_no_namespace() -> None:
    assert not in_a_namespace(Resource("", "v1", "namespaces"))
    assert not in_a_namespace(Resource("project.openshift.io", "v1", "projectrequests"))
    assert in_a_namespace(Resource("", "v1", "pods/ephemeralcontainers"))
    assert in_a_namespace(Resource("example.com", "v1", "nodes"))
