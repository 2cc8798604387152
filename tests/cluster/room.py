"""Room for an injector that is installed as people do: what other tests have left in the control plane has no say."""

from __future__ import annotations

from tests.cluster.api import ApiError
from tests.cluster.controlplane import ControlPlane
from tests.cluster.objects import CONFIGURATIONS, wait_until_in_force
from tests.cluster.processes import eventually
from tests.deploy.helm import NAME

#: What `injector check` and the entries go by; a namespace that is nobody's any more needs none of it.
_LABELS = ("injection", "pod-security.kubernetes.io/enforce")


def make_room(control_plane: ControlPlane) -> None:
    """Take off the labels of all namespaces, and wait until nobody has the injector's and deleted webhooks are gone.

    Namespaces of the one who asks come after it.
    """
    unlabel_namespaces(control_plane)
    eventually("nobody has the namespace", lambda: not control_plane.api.exists("Namespace", NAME), 300)
    for kind in CONFIGURATIONS:
        assert not control_plane.api.exists(kind, NAME), f"a test has left {kind} {NAME}"
    wait_until_in_force(control_plane)


def unlabel_namespaces(control_plane: ControlPlane) -> None:
    """Take off the labels of all namespaces that are there."""
    for space in control_plane.api.list("Namespace"):
        if set(_LABELS) & space["metadata"]["labels"].keys():
            try:
                change = {"metadata": {"labels": dict.fromkeys(_LABELS)}}
                control_plane.api.patch("Namespace", space["metadata"]["name"], change)
            except ApiError as error:
                if error.code != 404:  # it is gone by now
                    raise
