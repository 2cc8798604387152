"""Pods of a test on the node: Ready, and what they answer."""

from __future__ import annotations

import time
import urllib.error
import urllib.request
from dataclasses import dataclass
from typing import Any

from tests.cluster.api import Api, Object
from tests.cluster.objects import IMAGE
from tests.cluster.processes import eventually

PORT = 8080


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


def wait_until_ready(api: Api, namespace: str, name: str, timeout: float = 90) -> Object:
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


def call(address: str, path: str = "/", port: int = PORT, timeout: float = 10, **headers: str) -> Answer:
    """One GET; a redirect is an answer."""
    host = f"[{address}]" if ":" in address else address
    request = urllib.request.Request(
        f"http://{host}:{port}{path}", headers={k.replace("_", "-"): v for k, v in headers.items()}
    )
    begin = time.monotonic()
    try:
        with _OPENER.open(request, timeout=timeout) as answer:
            return Answer(answer.status, answer.read().decode(), dict(answer.headers), time.monotonic() - begin)
    except urllib.error.HTTPError as error:
        return Answer(error.code, error.read().decode(), dict(error.headers), time.monotonic() - begin)
    except OSError as error:
        return Answer(0, str(error), {}, time.monotonic() - begin)
