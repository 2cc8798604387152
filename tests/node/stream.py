"""Deployments scaled up and down in a namespace, while something is done to the injector."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

import yaml

from tests.cluster.api import Object
from tests.cluster.objects import IMAGE, config_map, deployment
from tests.cluster.processes import eventually
from tests.deploy.helm import NAME, ROOT
from tests.node.calls import app, is_ready, sidecar_names
from tests.node.installation import Installation

DEPLOYMENTS = 20
SIDECAR = "helper"
#: The template that the pods get, and that changes.
CHANGED = "container"
#: The sidecar is the app's own program, as what is tried is how many get it, and not what it does.
CHOSEN = {
    "sidecar.injector/templates": CHANGED,
    "container.sidecar.injector/name": SIDECAR,
    "container.sidecar.injector/image": IMAGE,
    "container.sidecar.injector/args": '["sleep"]',
}


SECRET = f"{NAME}-certificates"
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


class Doings:
    """What is done to the injector meanwhile."""

    def __init__(self, injector: Installation) -> None:
        self.injector, self.api = injector, injector.api

    @property
    def steps(self) -> list[Callable[[], None]]:
        return [self.short_lives, self.upgraded, self.template_changed, self.killed, self.renewed]

    def short_lives(self) -> None:
        """An upgrade to settings with short-lived certificates."""
        settings = yaml.safe_load(self.api.get("ConfigMap", NAME, NAME)["data"]["settings.yaml"])
        settings["certificates"].update(LIVES)
        self.injector.configure(json.dumps(settings))  # JSON is YAML
        self.upgraded()
        self.new_authority()

    def new_authority(self) -> None:
        """As docs/certificates.md says."""
        before = self._held("ca.crt")
        self.api.delete("Secret", SECRET, NAME)
        eventually("another authority", partial(self._other, "ca.crt", before), 300)

    def upgraded(self) -> None:
        """A rolling upgrade."""
        self.injector.node.kubectl("rollout", "restart", "-n", NAME, f"deployment/{NAME}")
        self.injector.rolled_out()

    def template_changed(self) -> None:
        """A ConfigMap in the place of the image's template."""
        files = {file.name: file.read_text() for file in (ROOT / "templates" / CHANGED).iterdir() if file.is_file()}
        files["overlay.yaml.j2"] += "metadata: {annotations: {generation: '2'}}\n"
        with self.injector.reloading():
            self.api.create(config_map(CHANGED, files, labels={"sidecar.injector/template": "true"}), NAME)

    def killed(self) -> None:
        """Each replica by SIGKILL, one after the other."""
        for pod in self.injector.pods():
            self._killed([pod])

    def killed_at_once(self) -> None:
        """All replicas by SIGKILL."""
        self._killed(self.injector.pods())

    def _killed(self, pods: Sequence[Object]) -> None:
        before = {pod["metadata"]["name"]: pod["status"]["containerStatuses"][0]["containerID"] for pod in pods}
        for container in before.values():
            self.injector.node.kill_container(container)
        for name, container in before.items():
            self.injector.replaced(name, container)

    def renewed(self) -> None:
        """Two serving certificates later, and one authority."""
        for key in ("tls.crt", "tls.crt", "ca.crt"):
            before = self._held(key)
            eventually(f"another {key}", partial(self._other, key, before), 300)

    def _other(self, key: str, before: str) -> bool:
        return self._held(key) not in ("", before)

    def _held(self, key: str) -> str:
        """What the Secret has under this key; nothing while there is none."""
        held = [one for one in self.api.list("Secret", NAME) if one["metadata"]["name"] == SECRET]
        return str(held[0].get("data", {}).get(key, "")) if held else ""


class Changes:
    """Steps, one after the other, in a thread of its own."""

    def __init__(self, steps: Sequence[Callable[[], object]]) -> None:
        self._steps = steps
        self.left = [step.__name__ for step in steps]
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
        try:
            for step in self._steps:
                step()
                self.left.pop(0)
        except BaseException as error:
            self.error = error


def stream(injector: Installation, space: str, total: int, each: int, steps: Sequence[Callable[[], object]]) -> Seen:
    """Scale up to `each` replicas and down again, until there were so many pods and all steps are done.

    Raises the error of the step that fails.
    """
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

    with Changes(steps) as changes:
        while changes.going_on or len(seen.all) < total:
            scaled(each)
            scaled(each // 3)
        scaled(0)
    if changes.error:
        raise changes.error
    assert not changes.left
    return seen
