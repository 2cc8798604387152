"""docs/coming-from/meetup-example/, typed: Envoy beside the app by a namespace's label, limited, and switched off."""

from __future__ import annotations

import pytest

from tests.cluster.controlplane import ControlPlane
from tests.cluster.walkthroughs.conftest import Open

pytestmark = pytest.mark.programs


def test_from_the_first_command_to_the_last(control_plane: ControlPlane, opened: Open) -> None:
    terminal = opened("meetup-example", "injector", "demoapp", "other")
    terminal.type((terminal.folder / "README.md").read_text())
    api = control_plane.api
    found = api.get("Pod", "demoapp", "demoapp")
    assert [container["name"] for container in found["spec"]["containers"]] == ["demoapp", "envoy-sidecar"]
    assert found["metadata"]["annotations"]["sidecar.injector/status"] == "injected"
    [entry] = api.get("MutatingWebhookConfiguration", "injector")["webhooks"]
    kept = {key: entry[key] for key in ("sideEffects", "timeoutSeconds", "reinvocationPolicy", "failurePolicy")}
    assert kept == {
        "sideEffects": "None",
        "timeoutSeconds": 5,
        "reinvocationPolicy": "Never",
        "failurePolicy": "Ignore",
    }
    assert entry["admissionReviewVersions"] == ["v1", "v1beta1"]
