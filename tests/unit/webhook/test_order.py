"""An answer depends on its review alone: not on which reviews came before, nor on what is remembered of them."""

from __future__ import annotations

import asyncio
import pickle
from collections.abc import Callable
from functools import cache
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from bench.reviews import review
from bench.workloads import workload
from injector.loading.template_folders import gallery_path, read_gallery
from injector.pods.context import Cluster, Namespace
from injector.settings import Settings
from injector.templates.load import load_template
from injector.templates.snapshot import build_snapshot
from injector.templates.template import Template
from tests.unit.webhook.test_waiting import ENABLED, REQUIRED, Kept, Webhook, World

_LOADED = {
    name: pickle.dumps(load_template(name, files))
    for name, files in read_gallery(gallery_path()).items()
    if name in ("envoy", "nginx", "resource-defaults")
}
_ANNOTATIONS: list[dict[str, str]] = [
    {},
    {},
    {"envoy.sidecar.injector/log-level": "debug"},
    {"envoy.sidecar.injector/log-level": "loud"},
    {"sidecar.injector/templates": "envoy,resource-defaults"},
    {"sidecar.injector/templates": "nginx"},
    {"sidecar.injector/inject": "false"},
]


class _Everything(World):
    """A cluster in which every ConfigMap was seen to exist, so that no answer waits."""

    def known(self, files: Any) -> bool:
        return True


def _server() -> Callable[[bytes], bytes]:
    """A server that has seen nothing: not even a template is shared with another one."""

    def load(name: str, *_: Any) -> Template:
        template: Template = pickle.loads(_LOADED[name])
        return template

    sources: dict[str, dict[str, str]] = {name: {} for name in _LOADED}
    snapshot = build_snapshot(Settings(templates=("envoy",)), sources, Cluster(), load=load)
    stored = {name: Namespace(name, labels) for name, labels in (("shop", ENABLED), ("bank", REQUIRED))}
    webhook = Webhook(_Everything(stored=stored, truth=stored), Kept(snapshot))

    async def answer(body: bytes) -> bytes:
        given = webhook.mutate(body, 2.0)
        return given if isinstance(given, bytes) else await given

    return lambda body: asyncio.run(answer(body))


def _review(number: int, revision: int, annotations: dict[str, str], namespace: str) -> bytes:
    pod = workload(number)
    given_ = {**pod["metadata"].get("annotations", {}), "checksum/config": str(revision), **annotations}
    text = review({**pod, "metadata": {**pod["metadata"], "annotations": given_}})
    return text.replace(b'"namespace":"shop"', b'"namespace":"%b"' % namespace.encode())


# Few numbers, so that the same workload comes again with something else about it.
_REVIEWS = st.builds(
    _review, st.integers(0, 5), st.integers(0, 1), st.sampled_from(_ANNOTATIONS), st.sampled_from(["shop", "bank"])
)


@settings(max_examples=30, deadline=None)
@given(st.lists(_REVIEWS, min_size=2, max_size=8), st.randoms(use_true_random=False))
def test_in_whichever_order_they_come(reviews: list[bytes], random: Random) -> None:
    first, second = _server(), _server()
    answers = {body: first(body) for body in reviews}
    for body in random.sample(reviews, len(reviews)):
        assert second(body) == answers[body]
        assert second(body) == answers[body]


@cache
def _seen(others: int) -> Callable[[bytes], bytes]:
    server, random = _server(), Random(others)
    for number in range(others):
        server(_review(1000 + number, 0, random.choice(_ANNOTATIONS), random.choice(("shop", "bank"))))
    return server


@pytest.mark.parametrize("others", [1000, pytest.param(10_000, marks=pytest.mark.soak(minutes=2))])
def test_a_server_that_has_seen_many_others_answers_as_a_fresh_one(others: int) -> None:
    experienced, random = _seen(others), Random(1)
    for number in range(50):
        # half of them it has seen, with another checksum or with other annotations
        body = _review(975 + number, 1, random.choice(_ANNOTATIONS), random.choice(("shop", "bank")))
        assert experienced(body) == _server()(body)
