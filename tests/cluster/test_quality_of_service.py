"""The class that a template sees of a pod is the one that the real API server gives it."""

from __future__ import annotations

from injector.pods.context import Object, without
from tests.cluster.conftest import NamespaceFactory
from tests.cluster.controlplane import ControlPlane
from tests.cluster.objects import pod
from tests.unit.templates.test_app_size import CLASSES


def test_the_class_is_the_api_server_s(control_plane: ControlPlane, namespace: NamespaceFactory) -> None:
    space, found = namespace(), []
    for spec, _ in CLASSES:
        made: Object = pod("web") | {"spec": without(spec, ("ephemeralContainers",))}
        found.append(control_plane.api.create(made, space, dry_run=True)["status"]["qosClass"])
    assert found == [expected for _, expected in CLASSES]
