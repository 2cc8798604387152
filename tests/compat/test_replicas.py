"""Replicas of a release and of now beside each other, as during an upgrade: they know each other's receipts."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cluster.certificates import Authority
from tests.compat.released import PROJECT, released
from tests.unit.support import names, stored, web

pytestmark = pytest.mark.programs

#: Each of these makes something else: redirection by init containers, files by annotation and ConfigMap, mounts in the
#: app's containers, values put in the place of the pod's own.
_TEMPLATES = (["envoy"], ["nginx"], ["fluent-bit"], ["fluentd"], ["fault"], ["envoy", "always-pull-images"])


class Replica:
    """One replica, in a process of its own."""

    def __init__(self, code: Path, key: Path, directory: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, str(Path(__file__).parent / "replica.py"), str(key), directory],
            env={**os.environ, "PYTHONPATH": str(code), "PYTHONSAFEPATH": "1"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def ask(self, do: str, pod: Any, *templates: str) -> dict[str, Any]:
        question = {"do": do, "pod": pod, "namespace": "required", "templates": templates}
        self.process.stdin.write(json.dumps(question) + "\n")
        self.process.stdin.flush()
        answer: dict[str, Any] = json.loads(self.process.stdout.readline())
        return answer

    def end(self) -> None:
        self.process.stdin.close()
        assert self.process.wait(300) == 0
        self.process.stdout.close()


@pytest.fixture(scope="module")
def replicas(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Replica, Replica]]:
    """One of 0.1.0 and one of now, which serve the same certificate and have other templates."""
    key = tmp_path_factory.mktemp("certificate") / "tls.key"
    key.write_bytes(Authority("test-webhook").for_server("localhost").key)
    both = (Replica(released("0.1.0", tmp_path_factory.mktemp("released")), key, "/old"), Replica(PROJECT, key, "/new"))
    yield both
    for replica in both:
        replica.end()


def test_they_are_two(replicas: tuple[Replica, Replica]) -> None:
    """Their snapshots are different ones, so nothing but the seal says that a receipt is a replica's word."""
    old, new = (replica.ask("inject", web(), "envoy") for replica in replicas)
    assert old["generation"] != new["generation"]
    texts = [answer["pod"]["metadata"]["annotations"]["sidecar.injector/receipt"] for answer in (old, new)]
    assert [set(json.loads(text)) & {"seal", "mac"} for text in texts] == [{"seal"}, {"seal", "mac"}]


@pytest.mark.parametrize("templates", _TEMPLATES, ids=" ".join)
@pytest.mark.parametrize("order", list(itertools.product((0, 1), repeat=3)), ids=lambda order: "".join(map(str, order)))
def test_a_required_pod_that_both_see(
    replicas: tuple[Replica, Replica], order: tuple[int, int, int], templates: list[str]
) -> None:
    """One injects it, one is called again after another webhook, one guards it: 0 is of 0.1.0, 1 of now."""
    first, again, last = (replicas[number] for number in order)
    injected = first.ask("inject", web({"nginx.sidecar.injector/rate-limit": "5"}), *templates)
    assert injected["reason"] == "injected", injected["message"]
    reinvoked = again.ask("inject", injected["pod"], *templates)
    assert reinvoked["allowed"], reinvoked["message"]
    assert len(names(reinvoked["pod"])) == len(names(injected["pod"]))
    seen = last.ask("guard", stored(reinvoked["pod"]), *templates)
    assert (seen["allowed"], seen["reason"]) == (True, "already-injected"), seen["message"]


@pytest.mark.parametrize("order", [(0, 1), (1, 0)], ids=str)
def test_neither_takes_the_word_of_somebody_else(replicas: tuple[Replica, Replica], order: tuple[int, int]) -> None:
    first, last = (replicas[number] for number in order)
    injected = first.ask("inject", web(), "envoy")["pod"]
    for container in injected["spec"]["initContainers"]:
        container["image"] = "registry.example/other:1"
    assert not last.ask("guard", stored(injected), "envoy")["allowed"]
