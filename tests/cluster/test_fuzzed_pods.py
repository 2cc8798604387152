"""Odd pods of the fuzzers: what a real API server accepts, it accepts with its sidecar too."""

from __future__ import annotations

from collections import Counter
from typing import Any

from injector.inject import guard, inject
from injector.pods.context import Namespace
from injector.reasons import Effect, Reason
from tests.cluster.api import ApiError
from tests.cluster.conftest import NamespaceFactory
from tests.cluster.controlplane import ControlPlane
from tests.fuzz.run import SECONDS, fuzz
from tests.fuzz.targets import TARGETS, Target
from tests.unit.support import snapshot


def test_for_some_seconds(control_plane: ControlPlane, namespace: NamespaceFactory) -> None:
    name, seen = namespace(), Counter[Reason]()

    def refusal(pod: Any) -> str:
        metadata = {**pod["metadata"], "namespace": name}
        try:
            control_plane.api.create({**pod, "metadata": metadata}, name, dry_run=True)
        except ApiError as error:
            return str(error)
        return ""

    def is_accepted_with_its_sidecar(pod: Any) -> None:
        if not isinstance(pod, dict) or not isinstance(pod.get("metadata"), dict):
            return
        if (pod.get("apiVersion"), pod.get("kind")) != ("v1", "Pod") or refusal(pod):
            return
        for label in ("enabled", "required"):
            where = Namespace(name, {"injection": label})
            for template in ("envoy", "nginx"):
                result = inject(pod, where, snapshot(template))
                seen[result.reason] += 1
                if result.effect in (Effect.INJECT, Effect.MARK):
                    assert not refusal(result.object), (template, label)
                if result.reason is Reason.INJECTED and label == "required":
                    assert guard(result.object, where, snapshot(template)).allowed

    fuzz(Target(TARGETS["pods"].given, is_accepted_with_its_sidecar), SECONDS)
    assert seen[Reason.INJECTED], seen
