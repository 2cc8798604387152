"""The values that docs/operations.md gives for clouds, rendered."""

from __future__ import annotations

import re

import pytest
import yaml

from tests.deploy.helm import MAJORS, ROOT, Helm, one

PAGE = (ROOT / "docs" / "operations.md").read_text()


@pytest.mark.parametrize("major", MAJORS)
def test_the_label_for_the_admissions_enforcer_is_on_both_configurations(major: int) -> None:
    [written] = re.findall(r"`(commonLabels: \{.*?\})`", PAGE)
    values = yaml.safe_load(written)
    objects = Helm(major).objects(values)
    for kind in ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"):
        assert one(objects, kind)["metadata"]["labels"].items() >= values["commonLabels"].items()


def test_another_port_is_the_container_s_and_that_which_the_service_leads_to() -> None:
    [port] = re.findall(r"`settings\.server\.port: (\d+)`", PAGE)
    objects = Helm().objects({"settings": {"server": {"port": int(port)}}})
    [container] = one(objects, "Deployment")["spec"]["template"]["spec"]["containers"]
    assert {p["name"]: p["containerPort"] for p in container["ports"]}["https"] == int(port)
    assert one(objects, "Service")["spec"]["ports"][0]["targetPort"] == "https"


def test_a_new_pod_is_ready_before_an_old_one_ends() -> None:
    """What the page says of upgrades; with the node's network each pod needs a node for itself."""
    for values in ({}, {"hostNetwork": True}, {"highAvailability": True}):
        strategy = one(Helm().objects(values), "Deployment")["spec"]["strategy"]
        assert strategy["rollingUpdate"] == {"maxUnavailable": 0, "maxSurge": 1}
