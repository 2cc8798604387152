"""docs/coming-from/validating-walkthrough/, typed: projects are refused and allowed, by reviews of both versions."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.cluster.controlplane import ControlPlane
from tests.cluster.processes import eventually
from tests.cluster.walkthroughs.conftest import Open

pytestmark = pytest.mark.programs

GROUP = "project.openshift.io"
#: What OpenShift has and a plain API server has not: the resource, and everybody's right to ask for a project.
DEFINITION = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": f"projectrequests.{GROUP}"},
    "spec": {
        "group": GROUP,
        "names": {"kind": "ProjectRequest", "plural": "projectrequests", "singular": "projectrequest"},
        "scope": "Cluster",
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
            }
        ],
    },
}
ROLE = {
    "apiVersion": "rbac.authorization.k8s.io/v1",
    "kind": "ClusterRole",
    "metadata": {"name": "self-provisioner"},
    "rules": [{"apiGroups": [GROUP], "resources": ["projectrequests"], "verbs": ["create"]}],
}
BINDING = {
    "apiVersion": "rbac.authorization.k8s.io/v1",
    "kind": "ClusterRoleBinding",
    "metadata": {"name": "self-provisioners"},
    "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "self-provisioner"},
    "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": "system:authenticated:oauth"}],
}


@pytest.fixture
def openshift(control_plane: ControlPlane) -> Iterator[None]:
    """The API server knows projects."""
    path = f"/apis/{GROUP}/v1/projectrequests"
    made = (DEFINITION, ROLE, BINDING)
    for obj in made:
        control_plane.api.create(obj)
    try:
        eventually("projects can be asked for", lambda: control_plane.api.call("GET", path))
        yield
    finally:
        for obj in reversed(made):
            control_plane.api.delete(str(obj["kind"]), obj["metadata"]["name"])  # type: ignore[index]
        definition = DEFINITION["metadata"]["name"]  # type: ignore[index]
        eventually("nobody knows", lambda: not control_plane.api.exists("CustomResourceDefinition", definition))


def test_from_the_first_command_to_the_last(control_plane: ControlPlane, openshift: None, opened: Open) -> None:
    terminal = opened("validating-walkthrough", "validation", "shop")
    terminal.type((terminal.folder / "README.md").read_text())
    [project] = control_plane.api.call("GET", f"/apis/{GROUP}/v1/projectrequests")["items"]
    assert project["metadata"]["name"] == "shop-web"
    assert '"path":"/validate-project"' in terminal.kubelet.log
