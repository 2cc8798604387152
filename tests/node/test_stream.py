"""Deployments scaled up and down while the injector is upgraded, reloaded and killed, and its certificates renewed."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from tests.cluster.conftest import NamespaceFactory
from tests.deploy.helm import NAME
from tests.node.installation import Installation
from tests.node.stream import CHANGED, CHOSEN, Doings, Seen, stream


@pytest.fixture
def restored(injector: Installation) -> Iterator[Installation]:
    """The injector; afterwards it is again as other tests need it."""
    yield injector
    injector.api.delete("ConfigMap", CHANGED, NAME, missing_ok=True)
    injector.apply()
    injector.node.kubectl("rollout", "restart", "-n", NAME, f"deployment/{NAME}")
    injector.rolled_out()


def run(injector: Installation, space: str, record: Callable[[str, object], None]) -> Seen:
    seen = stream(injector, space, 1000, 6, Doings(injector).steps)
    record("pods", len(seen.all))
    record("without their sidecar", len(seen.without))
    assert seen.all == seen.ready, "none was refused for good, and each was Ready"
    return seen


@pytest.mark.soak(minutes=25)
def test_a_thousand_pods_in_a_required_namespace(
    restored: Installation, namespace: NamespaceFactory, record_property: Callable[[str, object], None]
) -> None:
    """1,000 `required` pods during an upgrade, a reload, kills and new certificates: each is Ready"""
    space = namespace(labels={"injection": "required"}, annotations=CHOSEN)
    assert not run(restored, space, record_property).without


@pytest.mark.soak(minutes=25)
def test_a_thousand_pods_in_an_enabled_namespace(
    restored: Installation, namespace: NamespaceFactory, record_property: Callable[[str, object], None]
) -> None:
    """1,000 `enabled` pods during the same: each is Ready"""
    space = namespace(labels={"injection": "enabled"}, annotations=CHOSEN)
    assert len(run(restored, space, record_property).without) < 50
