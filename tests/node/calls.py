"""Pods of a test on the node: Ready, and what they answer."""

from __future__ import annotations

import itertools
import time
import urllib.error
import urllib.request
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tests.cluster.api import Api, Object
from tests.cluster.conftest import NamespaceFactory
from tests.cluster.objects import IMAGE, pod
from tests.cluster.processes import eventually

if TYPE_CHECKING:
    from tests.node.installation import Installation

PORT = 8080
ENABLED = {"injection": "enabled"}


def app(**fields: Any) -> Object:
    """The app's container: it serves HTTP, and is Ready when it does."""
    ready = {"httpGet": {"path": "/ready", "port": PORT}, "periodSeconds": 1}
    return {"name": "app", "image": IMAGE, "ports": [{"containerPort": PORT}], "readinessProbe": ready, **fields}


def sidecar_names(pod: Object) -> list[str]:
    """The names of all containers but the app's, as they start."""
    spec = pod["spec"]
    return [c["name"] for c in (*spec.get("initContainers", []), *spec["containers"]) if c["name"] != "app"]


def is_ready(pod: Object) -> bool:
    """Whether its condition Ready is true."""
    return any(c["type"] == "Ready" and c["status"] == "True" for c in pod["status"].get("conditions", []))


def wait_until_ready(api: Api, namespace: str, name: str, timeout: float = 300) -> Object:
    """The pod when it is Ready. What it waits for is in the error otherwise."""

    def ready() -> Object | None:
        nonlocal last
        last = api.get("Pod", name, namespace)
        return last if is_ready(last) else None

    last: Object = {}
    try:
        return eventually(f"pod {name} is Ready", ready, timeout)
    except TimeoutError as error:
        states = {c["name"]: c["state"] for c in statuses(last).values()}
        events = [e["message"] for e in api.list("Event", namespace, fieldSelector=f"involvedObject.name={name}")]
        raise AssertionError(f"{error}; {states}; {events[-5:]}") from None


def statuses(pod: Object) -> dict[str, Object]:
    """The status of each container, by its name."""
    status = pod["status"]
    found = [*status.get("initContainerStatuses", []), *status.get("containerStatuses", [])]
    return {one["name"]: one for one in found}


@dataclass(frozen=True)
class Answer:
    """Of an HTTP call; `code` is 0 where there was none, and then `text` says why."""

    code: int
    text: str
    headers: dict[str, str]
    seconds: float


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None


_OPENER = urllib.request.build_opener(_NoRedirect, urllib.request.ProxyHandler({}))


def call(
    address: str, path: str = "/", port: int = PORT, timeout: float = 10, body: bytes | None = None, **headers: str
) -> Answer:
    """One GET, or a POST of a body; a redirect is an answer."""
    host = f"[{address}]" if ":" in address else address
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    request = urllib.request.Request(f"http://{host}:{port}{path}", body, named)
    begin = time.monotonic()
    try:
        with _OPENER.open(request, timeout=timeout) as answer:
            return Answer(answer.status, answer.read().decode(), dict(answer.headers), time.monotonic() - begin)
    except urllib.error.HTTPError as error:
        return Answer(error.code, error.read().decode(), dict(error.headers), time.monotonic() - begin)
    except OSError as error:
        return Answer(0, str(error), {}, time.monotonic() - begin)


class Try:
    """Makes pods with templates and parameters, and waits until they are Ready.

    Parameters are of the one template, or of several by their names. `space` is the namespace of the last pod.
    """

    def __init__(self, injector: Installation, namespace: NamespaceFactory) -> None:
        self.injector, self.node, self.api = injector, injector.node, injector.api
        self._namespace = namespace
        self._numbers = itertools.count(1)
        self.space = ""

    def __call__(
        self,
        templates: str,
        parameters: dict[str, Any] | None = None,
        name: str = "web",
        space: str = "",
        labels: dict[str, str] | None = None,
        container: Object | None = None,
        annotations: dict[str, str] | None = None,
        **spec: Any,
    ) -> Object:
        self.space = space or self.make_space(labels or ENABLED)
        self.make(templates, name, container, parameters, annotations, **spec)
        return wait_until_ready(self.api, self.space, name)

    def make(
        self,
        templates: str,
        name: str,
        container: Object | None = None,
        parameters: dict[str, Any] | None = None,
        annotations: dict[str, str] | None = None,
        **spec: Any,
    ) -> Object:
        """Such a pod in the namespace of the last one, without waiting."""
        one = {templates: parameters} if parameters and "," not in templates else parameters or {}
        given = {f"{of}.sidecar.injector/{name}": value for of, values in one.items() for name, value in values.items()}
        chosen = {} if templates == "none" else {"sidecar.injector/templates": templates}
        fields = {key: value for key, value in app(**(container or {})).items() if value is not None}
        made = pod(name, {"app": name}, {**chosen, **given, **(annotations or {})}, containers=[fields], **spec)
        return self.api.create(made, self.space)

    def make_space(self, labels: dict[str, str]) -> str:
        """A namespace."""
        return self._namespace(labels=labels)

    def make_service(self, space: str, name: str, port: int = PORT, target: int = PORT) -> str:
        """A Service for the pods whose label `app` is this name; its address."""
        spec = {"selector": {"app": name}, "ports": [{"port": port, "targetPort": target}]}
        made = self.api.create({"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": spec}, space)
        address: str = made["spec"]["clusterIP"]
        return address

    def log(self, of: Object, container: str) -> str:
        """What the container has printed."""
        where = of["metadata"]
        return self.node.kubectl("logs", "-n", where["namespace"], where["name"], "-c", container).stdout

    def addresses(self, of: Object) -> list[str]:
        """The pod's, of each family."""
        return [one["ip"] for one in of["status"]["podIPs"]]
