"""An API server that goes away and comes back, and a user with few permissions: what tests of `cluster/` need."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

import yaml

from tests.cluster.api import Object
from tests.cluster.controlplane import ControlPlane
from tests.cluster.processes import Process

T = TypeVar("T")
_numbers = itertools.count(1)


class ApiServerAlone(ControlPlane):
    """An API server with its etcd and no controllers, for one test to kill and to start again."""

    def start(self) -> None:
        self._start_api_server()

    def kill_api_server(self) -> None:
        """End it in the middle of whatever it does; etcd keeps the objects."""
        self._processes["kube-apiserver"].kill()

    def start_api_server_again(self) -> None:
        """Start it as it was, and wait until it answers. In the main thread: the kernel ends it with its thread."""
        self._again("kube-apiserver").wait_until_ready(lambda: self.api.text("/readyz") == "ok", timeout=300)

    def restart_etcd(self) -> None:
        """End etcd in the middle of whatever it does, and start it again with what it has on disk."""
        self._processes["etcd"].kill()
        self._again("etcd").wait_until_ready(lambda: urlopen(f"{self._etcd}/health", timeout=2).status == 200)

    def compact(self) -> None:
        """Have etcd forget all history."""
        revision = self._ask_etcd("range", {"key": "AA=="})["header"]["revision"]
        self._ask_etcd("compaction", {"revision": revision, "physical": True})

    def _ask_etcd(self, what: str, body: Object) -> Object:
        request = Request(f"{self._etcd}/v3/kv/{what}", json.dumps(body).encode())
        with urlopen(request, timeout=10) as response:
            answer: Object = json.load(response)
        return answer

    @property
    def _etcd(self) -> str:
        flag = "--listen-client-urls="
        words = map(str, self._processes["etcd"].popen.args)
        return next(word.removeprefix(flag) for word in words if word.startswith(flag))

    def _again(self, name: str) -> Process:
        """The program as it was started before."""
        process = self._processes[name] = self._processes[name].again()
        return process


class Relay:
    """A TCP relay in front of the API server, in the test's event loop; TLS passes through it.

    `cut()` makes the API server unreachable, `freeze()` lets nothing through either way while the connections stay
    open (as a dead router does), and `mend()` ends both. `connections` counts those that were accepted.
    """

    def __init__(self, control_plane: ControlPlane) -> None:
        self._target = urlsplit(control_plane.server)
        self._source = control_plane.kubeconfig
        self._server: asyncio.Server | None = None
        self._writers: set[asyncio.StreamWriter] = set()
        self._open = asyncio.Event()
        self._open.set()
        self.port = 0
        self.connections = 0

    async def __aenter__(self) -> Relay:
        await self.mend()
        return self

    async def __aexit__(self, *_: object) -> None:
        self.cut()

    def kubeconfig(self, folder: Path) -> str:
        """The administrator's kubeconfig, by way of this relay."""
        config = yaml.safe_load(self._source.read_text())
        config["clusters"][0]["cluster"]["server"] = f"https://127.0.0.1:{self.port}"
        file = folder / "relayed"
        file.write_text(yaml.safe_dump(config))
        return str(file)

    def cut(self) -> None:
        if self._server:
            self._server.close()
        for writer in list(self._writers):
            writer.transport.abort()

    def freeze(self) -> None:
        self._open.clear()

    async def mend(self) -> None:
        self._open.set()
        if self._server is None or not self._server.is_serving():
            self._server = await asyncio.start_server(self._accept, "127.0.0.1", self.port)
            self.port = self._server.sockets[0].getsockname()[1]

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        await self._open.wait()
        try:
            far_reader, far_writer = await asyncio.open_connection(self._target.hostname, self._target.port)
        except OSError:
            writer.close()
            return
        await asyncio.gather(self._pump(reader, far_writer), self._pump(far_reader, writer))

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        with contextlib.suppress(OSError):
            while data := await reader.read(65536):
                await self._open.wait()
                writer.write(data)
                await writer.drain()
        self._writers.discard(writer)
        writer.close()


def user_with(control_plane: ControlPlane, *rules: Object) -> str:
    """A kubeconfig file of a new user who may do just what these RBAC rules allow, in every namespace."""
    name = f"limited-{next(_numbers)}"
    group = "rbac.authorization.k8s.io"
    metadata = {"name": name}
    role: Object = {"apiVersion": f"{group}/v1", "kind": "ClusterRole", "metadata": metadata, "rules": list(rules)}
    control_plane.api.create(role)
    control_plane.api.create(
        {
            "apiVersion": f"{group}/v1",
            "kind": "ClusterRoleBinding",
            "metadata": metadata,
            "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": name},
            "subjects": [{"apiGroup": group, "kind": "User", "name": name}],
        }
    )
    return str(control_plane.kubeconfig_for(name))


def rule(verbs: str, resources: str) -> Object:
    """An RBAC rule of the core API group: `rule("get list", "configmaps")`."""
    return {"apiGroups": [""], "resources": resources.split(), "verbs": verbs.split()}


async def asked(ask: Callable[[], Awaitable[T]], good: Callable[[T], object], seconds: float = 60) -> T:
    """Ask again and again until the answer is good, and return it."""
    async with asyncio.timeout(seconds):
        while not good(answer := await ask()):  # noqa: ASYNC110 - many different things are asked
            await asyncio.sleep(0.1)
    return answer


async def until(check: Any, what: str = "", seconds: float = 60) -> None:
    """Wait in the event loop until `check()` is true."""
    try:
        async with asyncio.timeout(seconds):
            while not check():  # noqa: ASYNC110 - many different things are waited for
                await asyncio.sleep(0.01)
    except TimeoutError:
        raise AssertionError(f"not within {seconds:g} s: {what or check}") from None
