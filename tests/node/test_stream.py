"""Deployments scaled up and down while the injector is upgraded, reloaded and killed, and its certificates renewed."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from functools import partial

import pytest
import yaml

from tests.cluster.api import Object
from tests.cluster.conftest import NamespaceFactory
from tests.cluster.processes import eventually
from tests.deploy.helm import NAME
from tests.node.installation import Installation
from tests.node.stream import CHOSEN, Seen, stream

SECRET = f"{NAME}-certificates"
#: Serving certificates live for 40 s, and are renewed after two thirds; their authority for 80 s.
LIVES = {"lifeSeconds": 40, "authorityLifeSeconds": 80, "settleSeconds": 3, "leaseSeconds": 5}


class Doings:
    """What is done to the injector meanwhile."""

    def __init__(self, injector: Installation) -> None:
        self.injector, self.api = injector, injector.api

    @property
    def steps(self) -> list[Callable[[], None]]:
        return [self.short_lives, self.upgraded, self.reloaded, self.killed, self.renewed]

    def short_lives(self) -> None:
        """An upgrade to settings with short-lived certificates; new ones come as docs/certificates.md says."""
        self._settings(lambda settings: settings["certificates"].update(LIVES))
        self.upgraded()
        before = self._held("ca.crt")
        self.api.delete("Secret", SECRET, NAME)
        eventually("another authority", partial(self._other, "ca.crt", before), 150)

    def upgraded(self) -> None:
        """A rolling upgrade."""
        self.injector.node.kubectl("rollout", "restart", "-n", NAME, f"deployment/{NAME}")
        self.injector.rolled_out()

    def reloaded(self) -> None:
        """Other parameters of the template."""
        self._settings(lambda settings: settings.update(parameters={"container": {"env": {"GENERATION": "2"}}}))

    def killed(self) -> None:
        """Each replica by SIGKILL, one after the other."""
        for pod in self.injector.pods():
            before = pod["status"]["containerStatuses"][0]["containerID"]
            self.injector.node.kill_container(before)
            self.injector.replaced(pod["metadata"]["name"], before)

    def renewed(self) -> None:
        """Two serving certificates later, and one authority."""
        for key in ("tls.crt", "tls.crt", "ca.crt"):
            before = self._held(key)
            eventually(f"another {key}", partial(self._other, key, before), 150)

    def _other(self, key: str, before: str) -> bool:
        return self._held(key) not in ("", before)

    def _held(self, key: str) -> str:
        """What the Secret has under this key; nothing while there is none."""
        held = [one for one in self.api.list("Secret", NAME) if one["metadata"]["name"] == SECRET]
        return str(held[0].get("data", {}).get(key, "")) if held else ""

    def _settings(self, change: Callable[[Object], object]) -> None:
        settings = yaml.safe_load(self.api.get("ConfigMap", NAME, NAME)["data"]["settings.yaml"])
        change(settings)
        self.injector.configure(json.dumps(settings))  # JSON is YAML


@pytest.fixture
def restored(injector: Installation) -> Iterator[Installation]:
    """The injector as other tests want it comes back."""
    yield injector
    injector.apply()
    injector.node.kubectl("rollout", "restart", "-n", NAME, f"deployment/{NAME}")
    injector.rolled_out()


def run(injector: Installation, space: str, total: int, each: int, record: Callable[[str, object], None]) -> Seen:
    begin = time.monotonic()
    seen = stream(injector, space, total, each, Doings(injector).steps)
    record("pods", len(seen.all))
    record("without their sidecar", len(seen.without))
    record("seconds", round(time.monotonic() - begin))
    assert seen.all == seen.ready, "none was refused for good, and each was Ready"
    return seen


@pytest.mark.soak(minutes=15)
def test_a_stream_in_a_required_namespace(
    restored: Installation, namespace: NamespaceFactory, record_property: Callable[[str, object], None]
) -> None:
    """20 Deployments scaled up and down in a `required` namespace, while the injector is upgraded, reloaded and killed,
    and its certificates and authority are renewed: each pod Ready, none without its sidecar
    """
    space = namespace(labels={"injection": "required"}, annotations=CHOSEN)
    assert not run(restored, space, 200, 4, record_property).without


@pytest.mark.soak(minutes=25)
def test_a_thousand_pods_in_a_required_namespace(
    restored: Installation, namespace: NamespaceFactory, record_property: Callable[[str, object], None]
) -> None:
    """1,000 pods in a `required` namespace through an upgrade, a reload, kills and new certificates: each is Ready"""
    space = namespace(labels={"injection": "required"}, annotations=CHOSEN)
    assert not run(restored, space, 1000, 6, record_property).without


@pytest.mark.soak(minutes=25)
def test_a_thousand_pods_in_an_enabled_namespace(
    restored: Installation, namespace: NamespaceFactory, record_property: Callable[[str, object], None]
) -> None:
    """1,000 pods in an `enabled` namespace through the same: each is Ready, and how many have no sidecar"""
    space = namespace(labels={"injection": "enabled"}, annotations=CHOSEN)
    assert len(run(restored, space, 1000, 6, record_property).without) < 50
