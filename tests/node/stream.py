"""Deployments scaled up and down in a namespace, while something is done to the injector."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from tests.cluster.api import Object
from tests.cluster.objects import IMAGE, deployment
from tests.cluster.processes import eventually
from tests.node.calls import app, is_ready, sidecar_names
from tests.node.installation import Installation

DEPLOYMENTS = 20
SIDECAR = "helper"
#: The sidecar is the app's own program, as what is tried is how many get it, and not what it does.
CHOSEN = {
    "sidecar.injector/templates": "container",
    "container.sidecar.injector/name": SIDECAR,
    "container.sidecar.injector/image": IMAGE,
    "container.sidecar.injector/args": '["sleep"]',
}


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
