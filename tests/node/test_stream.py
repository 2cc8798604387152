"""Deployments scaled up and down while the injector is upgraded, reloaded and killed, and its certificates renewed."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial

import pytest
import yaml

from tests.cluster.api import Object
from tests.cluster.conftest import NamespaceFactory
from tests.cluster.objects import IMAGE, deployment
from tests.cluster.processes import eventually
from tests.deploy.helm import NAME
from tests.node.calls import app, is_ready, sidecar_names
from tests.node.installation import Installation

DEPLOYMENTS = 20
SECRET = f"{NAME}-certificates"
SIDECAR = "helper"
#: The sidecar is the app's own program, as what is tried is how many get it, and not what it does.
CHOSEN = {
    "sidecar.injector/templates": "container",
    "container.sidecar.injector/name": SIDECAR,
    "container.sidecar.injector/image": IMAGE,
    "container.sidecar.injector/args": '["sleep"]',
}
#: Serving certificates live for 40 s, and are renewed after two thirds; their authority for 80 s.
LIVES = {"lifeSeconds": 40, "authorityLifeSeconds": 80, "settleSeconds": 3, "leaseSeconds": 5}


@dataclass
class Seen:
    """All pods that there were in a namespace: which were Ready, and which had no sidecar."""

    ready: set[str] = field(default_factory=set)
    all: set[str] = field(default_factory=set)
    without: set[str] = field(default_factory=set)

    def look(self, pods: list[Object]) -> None:
        for pod in pods:
            uid = pod["metadata"]["uid"]
            self.all.add(uid)
            if SIDECAR not in sidecar_names(pod):
                self.without.add(pod["metadata"]["name"])
            if is_ready(pod):
                self.ready.add(uid)


class Changes:
    """What is done to the injector meanwhile, in a thread of its own."""

    def __init__(self, injector: Installation) -> None:
        self.injector, self.api = injector, injector.api
        self.done: list[str] = []
        self.error: BaseException | None = None
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> Changes:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._thread.join(300)

    @property
    def going_on(self) -> bool:
        return self._thread.is_alive()

    def _run(self) -> None:
        steps = (self.short_lives, self.upgraded, self.reloaded, self.killed, self.renewed)
        try:
            for step in steps:
                step()
                self.done.append(step.__name__)
        except BaseException as error:
            self.error = error

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


def stream(injector: Installation, space: str, total: int, each: int) -> tuple[Seen, Changes]:
    """Scale up to `each` replicas and down again, until there were so many pods and all changes are made."""
    api, seen = injector.api, Seen()
    for number in range(DEPLOYMENTS):
        made = deployment(f"web-{number}", 0, containers=[app()], nodeName=None, terminationGracePeriodSeconds=5)
        api.create(made, space)
    names = [f"web-{number}" for number in range(DEPLOYMENTS)]

    def scaled(replicas: int) -> None:
        for name in names:
            api.patch("Deployment", name, {"spec": {"replicas": replicas}}, space)

        def there() -> bool:
            pods = api.list("Pod", space)
            seen.look(pods)
            left = [pod for pod in pods if "deletionTimestamp" not in pod["metadata"]]
            return len(left) == replicas * DEPLOYMENTS and all(is_ready(pod) for pod in left)

        eventually(f"{replicas} replicas of each", there, 300, every=0.2)

    with Changes(injector) as changes:
        while changes.going_on or len(seen.all) < total:
            scaled(each)
            scaled(each // 3)
        scaled(0)
    return seen, changes


def run(injector: Installation, space: str, total: int, each: int, record: Callable[[str, object], None]) -> Seen:
    begin = time.monotonic()
    seen, changes = stream(injector, space, total, each)
    assert changes.error is None, changes.error
    assert changes.done == ["short_lives", "upgraded", "reloaded", "killed", "renewed"]
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
    """1,000 pods in a `required` namespace through an upgrade, a reload, kills and renewed certificates: each Ready"""
    space = namespace(labels={"injection": "required"}, annotations=CHOSEN)
    assert not run(restored, space, 1000, 6, record_property).without


@pytest.mark.soak(minutes=25)
def test_a_thousand_pods_in_an_enabled_namespace(
    restored: Installation, namespace: NamespaceFactory, record_property: Callable[[str, object], None]
) -> None:
    """the same with 1,000 pods of an `enabled` namespace, which nobody holds back, for `make soak`"""
    space = namespace(labels={"injection": "enabled"}, annotations=CHOSEN)
    assert len(run(restored, space, 1000, 6, record_property).without) < 50
