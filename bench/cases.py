"""What is measured: for each case the server, the path and the reviews that it is sent."""

from __future__ import annotations

import base64
import http.client
import json
import ssl
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import count
from typing import Any

import jsonpatch

from bench.reviews import MARK, review
from bench.workloads import workload

#: Settings of the servers. Standalone, each namespace has the value for `enabled`, in the second that of `required`.
SETTINGS: dict[str, dict[str, Any]] = {
    "enabled": {"paths": {"/mutate/images": {"templates": ["always-pull-images"]}}},
    "required": {"namespaceLabel": {"enabled": "not-used", "required": "enabled"}},
    "two": {"templates": ["envoy", "fluent-bit"]},
}
#: How many workloads `again` has.
AGAIN = 400
#: No workload is drawn twice, whichever case it is for.
_numbers = count(AGAIN)


@dataclass(frozen=True)
class Target:
    """A server: its process id, its port, and the authority that signed its certificate."""

    pid: int
    port: int
    ca: str


@dataclass(frozen=True)
class Case:
    """`bodies` are the reviews of a run of so many requests on a server, never empty."""

    name: str
    server: str
    bodies: Callable[[Target, int], Sequence[bytes]]
    path: str = "/mutate"


def _one(_: Target, __: int, variables: int | None = None) -> Sequence[bytes]:
    return [review(workload(0, variables))]


def _new(_: Target, requests: int, variables: int | None = None) -> Sequence[bytes]:
    return [review(workload(next(_numbers), variables)) for _ in range(requests)]


def _again(_: Target, __: int) -> Sequence[bytes]:
    def restarted(number: int) -> dict[str, Any]:
        pod = workload(number)
        pod["metadata"]["annotations"]["checksum/config"] = MARK.decode()
        return pod

    return [review(restarted(number)) for number in range(AGAIN)]


def _injected(target: Target, requests: int) -> Sequence[bytes]:
    context = ssl.create_default_context(cafile=target.ca)
    context.check_hostname = False  # the certificate is for HOST
    connection = http.client.HTTPSConnection("127.0.0.1", target.port, context=context)
    found = []
    for body in _new(target, requests):
        connection.request("POST", "/mutate?timeout=5s", body, {"Content-Type": "application/json"})
        patch = json.loads(connection.getresponse().read())["response"]["patch"]
        pod = json.loads(body)["request"]["object"]
        found.append(review(jsonpatch.JsonPatch(json.loads(base64.b64decode(patch))).apply(pod, in_place=True)))
    connection.close()
    return found


CASES = (
    Case("a `RequestHandler` of Tornado, the injector's web framework, that does nothing", "nothing", _new),
    Case("a Go webhook that decodes the pod and answers a constant", "constant", _new),
    Case("a replica of a pod seen before", "enabled", _one),
    Case(f"a new rollout of one of {AGAIN} known workloads: only a checksum annotation changes", "enabled", _again),
    Case("a new workload", "enabled", _new),
    Case("a new workload, two templates", "two", _new),
    Case("a new workload, `required`", "required", _new),
    Case("the same at the guard", "required", _injected, "/validate"),
    Case("a new pod at a URL path that the setting `paths` adds", "enabled", _new, "/mutate/images"),
)


def with_variables(variables: int) -> tuple[Case, ...]:
    """The Go webhook, a replica and a new workload whose first container has so many environment variables."""
    new = partial(_new, variables=variables)
    return (
        Case("Go webhook", "constant", new),
        Case("replica", "enabled", partial(_one, variables=variables)),
        Case("new workload", "enabled", new),
    )
