"""Paths of the settings where the store does not know the namespace: the API server is asked, and may not answer."""

from __future__ import annotations

import asyncio
import io
import json
from typing import Any

import pytest

from injector.errors import ReviewError
from injector.pods.context import Cluster, Namespace
from injector.settings import parse_settings
from injector.telemetry import LogOutput, Metrics, make_logger
from injector.templates.snapshot import build_snapshot
from injector.webhook.evaluators import PolicyEvaluator
from injector.webhook.namespace_resolver import NamespaceResolver
from injector.webhook.pipeline import Pipeline
from injector.webhook.record import Recorder
from tests.messages import Golden
from tests.unit.webhook.support import review, to_bytes
from tests.unit.webhook.test_waiting import Kept, World

POLICY = {
    "template.yaml": "for: {resources: [services]}\nnamespaces: {matchLabels: {tier: a}}\n",
    "overlay.yaml.j2": '{{ deny("none in " ~ namespace.name) }}\n',
}
SERVICES = {"group": "", "version": "v1", "resource": "services"}


async def answered(
    world: World, name: str, policy: str = "Fail", seconds: float = 2.0, at_start: str = "Ignore"
) -> dict[str, Any]:
    settings, before = (
        parse_settings({"paths": {"/x": {"templates": ["policy"], "failurePolicy": which}}})
        for which in (policy, at_start)
    )
    kept = Kept(build_snapshot(settings, {"policy": POLICY}, Cluster()))
    output = LogOutput(io.BytesIO())
    recorder = Recorder("/x", Metrics(), output)
    evaluator = PolicyEvaluator("/x", before.paths["/x"], make_logger(output))
    handler = Pipeline(evaluator, kept, NamespaceResolver(world), recorder)
    answer = handler(to_bytes(review({"spec": {}}, resource=SERVICES, namespace=name)), seconds)
    found: dict[str, Any] = json.loads(answer if isinstance(answer, bytes) else await answer)["response"]
    return found


def asked(world: World, name: str = "shop", **more: Any) -> dict[str, Any]:
    return asyncio.run(answered(world, name, **more))


def test_the_api_server_says_what_the_store_does_not_know(golden: Golden) -> None:
    labelled, bare = Namespace("shop", {"tier": "a"}), Namespace("shop")
    golden(asked(World(truth={"shop": labelled}))["status"]["message"])
    for world in (World(truth={"shop": bare}), World(), World(stored={"shop": bare}, truth={"shop": labelled})):
        assert asked(world)["auditAnnotations"]["reason"] == "not-for-templates"


@pytest.mark.parametrize(
    ("world", "why"),
    [
        (World(fetch_error=OSError("away")), "OSError: away"),
        (World(fetch_seconds=30), "no answer in time"),
    ],
)
def test_labels_that_cannot_be_read_are_told_by_the_failure_policy(world: World, why: str, golden: Golden) -> None:
    refused = asked(world, seconds=0.2)
    assert not refused["allowed"]
    golden(refused["status"]["message"], why)
    passed = asked(world, seconds=0.2, policy="Ignore", at_start="Fail")
    assert passed["allowed"]
    golden(passed["warnings"])


def test_of_a_namespace_that_is_left_alone_nothing_is_asked() -> None:
    world = World(fetch_error=OSError("away"))
    assert asked(world, "kube-system")["auditAnnotations"]["reason"] == "namespace-ignored"
    assert world.fetched == []


def test_what_is_no_name_is_not_asked_for(golden: Golden) -> None:
    world = World()
    with pytest.raises(ReviewError) as caught:
        asked(world, "../../secrets")
    golden(caught.value)
    assert world.fetched == []


def test_a_path_waits_for_the_first_snapshot_too() -> None:
    async def go(failed: bool) -> dict[str, Any]:
        settings = parse_settings({"paths": {"/x": {"templates": ["policy"], "failurePolicy": "Fail"}}})
        kept = Kept(build_snapshot(settings, {}, Cluster()), ready=False)
        output = LogOutput(io.BytesIO())
        evaluator = PolicyEvaluator("/x", settings.paths["/x"], make_logger(output))
        resolver = NamespaceResolver(World(stored={"shop": Namespace("shop", {"tier": "a"})}))
        handler = Pipeline(evaluator, kept, resolver, Recorder("/x", Metrics(), output))
        answer = handler(to_bytes(review({"spec": {}}, resource=SERVICES)), 5.0)
        assert not isinstance(answer, bytes)
        if failed:
            kept.first_build.set()
        else:
            kept.swap(build_snapshot(settings, {"policy": POLICY}, Cluster()))
        found: dict[str, Any] = json.loads(await answer)["response"]
        return found

    assert asyncio.run(go(failed=False))["auditAnnotations"]["reason"] == "denied"
    refused = asyncio.run(go(failed=True))
    assert (refused["allowed"], refused["auditAnnotations"]["reason"]) == (False, "not-ready")


@pytest.mark.parametrize(("policy", "allowed"), [("Fail", False), ("Ignore", True)])
def test_a_core_that_raises_is_answered_by_the_failure_policy(
    policy: str, allowed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any) -> Any:
        raise KeyError("hunter2")

    monkeypatch.setattr("injector.webhook.evaluators.admit", broken)
    response = asked(World(stored={"shop": Namespace("shop")}), policy=policy)
    assert (response["allowed"], response["auditAnnotations"]["reason"]) == (allowed, "internal-error")
    assert "hunter2" not in json.dumps(response)
