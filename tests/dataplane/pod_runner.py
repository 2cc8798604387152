"""Runs a pod, as rendered, with real programs: a kubelet in small.

    with network() as net, RunningPod(pod, config_maps, net, folder) as running:
        running.start()
        running.probe("envoy-sidecar", "readinessProbe")
        ...
        running.output("envoy-sidecar")

Init containers run one after another and must succeed; one with `restartPolicy: Always` keeps running, and its
startupProbe, or the end of its postStart hook, holds back what follows; then the containers start, and the pod is ready
when all of them answer. Each has the user, capabilities, read-only root, volumes, environment and command of its spec;
its programs are this machine's. Volumes: configMap, secret with its items, emptyDir, downwardAPI for annotations, and
the projected token of a service account. Probes but those by exec go from outside to the pod's address, as kubelet's
do. Whatever was started is ended, by its own process id.
"""

from __future__ import annotations

import copy
import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from tests.dataplane.network import Network
from tests.parts import find, require

Object = dict[str, Any]

_CONTAINER = Path(__file__).with_name("container.py")
_PARTS = (
    "cloud-sql-proxy",
    "envoy",
    "fluent-bit",
    "nginx",
    "oauth2-proxy",
    "otelcol",
    "prometheus-nginx-exporter",
    "sdk-server",
    "vault",
)
#: What an image starts by itself, by the image's name, where a container's spec has no command.
_ENTRYPOINTS = {"agones-sdk": "sdk-server", "opentelemetry-collector": "otelcol"}
_LIMIT = 90.0
#: Seconds that a probe waits at least: how fast this machine is, is not the pod's matter.
_PATIENCE = 10


class PodFailed(AssertionError):
    """A container did not do what the pod needs of it; the text holds what it printed."""


class RunningPod:
    """A pod in a network namespace. `config_maps` and `secrets` have the texts of each one's keys, by its name."""

    def __init__(
        self,
        pod: Object,
        config_maps: Mapping[str, Mapping[str, str]],
        network: Network,
        folder: Path,
        secrets: Mapping[str, Mapping[str, str]] | None = None,
    ) -> None:
        # a copy: tests may change it, and what inject() gives shares parts with the injector's caches
        self.spec: Object = copy.deepcopy(pod["spec"])
        self.metadata: Object = pod.get("metadata", {})
        self.network = network
        self._folder = folder
        self._config_maps = config_maps
        self._secrets = secrets or {}
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self._volumes: dict[str, Path] = {}

    def __enter__(self) -> RunningPod:
        for volume in self.spec.get("volumes", []):
            self._volumes[volume["name"]] = self._make_volume(volume)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for name in reversed(self._processes):
            self.stop(name, seconds=5)

    # ------------------------------------------------------------------------------------------------ life

    def start(self) -> None:
        """All of the pod, in kubelet's order, until it is ready. Raises PodFailed."""
        running: list[Object] = []
        for container in self.spec.get("initContainers", []):
            if container.get("restartPolicy") == "Always":
                self.launch(container)
                self.await_start(container["name"])
                running.append(container)
            else:
                self.run_init(container["name"])
        for container in self.spec["containers"]:
            self.launch(container)
        for container in [*running, *self.spec["containers"]]:
            probes = [probe for probe in ("startupProbe", "readinessProbe", "livenessProbe") if probe in container]
            self._await_probes(container["name"], probes[:1], again=container in running)

    def run_init(self, name: str) -> None:
        """One init container, to its end. Raises PodFailed when it fails."""
        process = self.launch(self.container(name))
        try:
            code = process.wait(_LIMIT)
        except subprocess.TimeoutExpired:
            raise PodFailed(f"init container {name} does not end: {self.errors(name)}") from None
        if code:
            raise PodFailed(f"init container {name} ended with {code}: {self.errors(name)}")

    def await_start(self, name: str) -> None:
        """Until what follows may start: the startup probe of a container has succeeded, or its hook has ended. Raises
        PodFailed when the container ends or takes too long.
        """
        container = self.container(name)
        self._await_probes(name, ["startupProbe"] if "startupProbe" in container else [])
        if hook := container.get("lifecycle", {}).get("postStart"):
            self._await(name, lambda: Path("/proc", str(self.process(name)), "root").readlink() != Path("/"))
            with subprocess.Popen(self._line_within(name, hook["exec"]["command"])) as running:
                try:
                    self._await(name, lambda: running.poll() is not None)
                finally:
                    running.kill()
            if running.returncode:
                raise PodFailed(f"the hook of container {name} ended with {running.returncode}: {self.errors(name)}")

    def _await_probes(self, name: str, probes: list[str], *, again: bool = False) -> None:
        self._await(name, lambda: all(self.probe(name, probe) for probe in probes), again=again)

    def _await(self, name: str, done: Callable[[], bool], *, again: bool = False) -> None:
        """With `again` a container that has ended starts anew, as kubelet does with a native sidecar."""
        end = time.monotonic() + _LIMIT
        while not done():
            if self._processes[name].poll() is not None:
                if not again:
                    code = self._processes[name].returncode
                    raise PodFailed(f"container {name} ended with {code}: {self.errors(name)}")
                self.launch(self.container(name))
            if time.monotonic() > end:
                raise PodFailed(f"container {name} does not start: {self.errors(name)}")
            time.sleep(0.02)

    def stop(self, name: str, sign: signal.Signals = signal.SIGTERM, seconds: float = 300) -> int:
        """Ends a container, by SIGKILL if it takes longer than `seconds`; what it returned."""
        process = self._processes[name]
        if process.poll() is None:
            process.send_signal(sign)
            try:
                process.wait(seconds)
            except subprocess.TimeoutExpired:
                process.kill()
        return process.wait(300)

    def launch(self, container: Object) -> subprocess.Popen[bytes]:
        """Starts one container."""
        name = container["name"]
        folder = self._folder / name
        (folder / "root").mkdir(parents=True, exist_ok=True)
        user = self._security(container, "runAsUser", 0)
        spec = folder / "spec.json"
        spec.write_text(json.dumps(self._container_spec(container, folder / "root", user)))
        line = [str(require("ip")), "netns", "exec", self.network.pod.name, sys.executable, str(_CONTAINER), str(spec)]
        with (folder / "out").open("ab") as out, (folder / "err").open("ab") as err:
            for stream in (out, err):
                os.fchown(stream.fileno(), user, -1)  # as container runtimes do, so that /dev/stdout opens
            process = subprocess.Popen(line, stdin=subprocess.DEVNULL, stdout=out, stderr=err)
        self._processes[name] = process
        return process

    # ------------------------------------------------------------------------------------------------ looking

    def container(self, name: str) -> Object:
        """A container's spec by its name."""
        found: Object = next(
            c for c in self.spec.get("initContainers", []) + self.spec["containers"] if c["name"] == name
        )
        return found

    def volume(self, name: str) -> Path:
        """The folder of a volume, before the pod starts."""
        return self._volumes[name]

    def started(self, name: str) -> bool:
        """Whether a container has been started."""
        return name in self._processes

    def process(self, name: str) -> int:
        """The process id of a container's first process."""
        return self._processes[name].pid

    def output(self, name: str) -> str:
        """What a container has printed to standard output."""
        return (self._folder / name / "out").read_text()

    def errors(self, name: str) -> str:
        """What a container has printed to standard error."""
        return (self._folder / name / "err").read_text()

    def probe(self, name: str, which: str) -> bool:
        """Whether a probe of a container succeeds; httpGet and tcpSocket ask from outside, as kubelet does."""
        probe = self.container(name)[which]
        seconds = max(probe.get("timeoutSeconds", 1), _PATIENCE)
        if "exec" in probe:
            return self.run_within(name, *probe["exec"]["command"], seconds=seconds).returncode == 0
        with self.network.outside.entered():
            try:
                if "tcpSocket" in probe:
                    port = self._port(name, probe["tcpSocket"]["port"])
                    socket.create_connection((self.network.pod.ipv4, port), seconds).close()
                    return True
                request = probe["httpGet"]
                port = self._port(name, request["port"])
                connection = http.client.HTTPConnection(self.network.pod.ipv4, port, timeout=seconds)
                try:
                    connection.request("GET", request.get("path", "/"), headers={"Connection": "close"})
                    return 200 <= connection.getresponse().status < 400
                finally:
                    connection.close()
            except (OSError, http.client.HTTPException):
                return False

    def run_within(self, name: str, *command: str, seconds: float = _PATIENCE) -> subprocess.CompletedProcess[str]:
        """A command in the file system of a container that runs, as its user."""
        line = self._line_within(name, command)
        return subprocess.run(line, capture_output=True, text=True, timeout=seconds, check=False)

    # ------------------------------------------------------------------------------------------------ within

    def _line_within(self, name: str, command: Sequence[str]) -> list[str]:
        user = self._security(self.container(name), "runAsUser", 0)
        group = self._security(self.container(name), "runAsGroup", user)
        line = ["nsenter", f"--target={self.process(name)}", "--mount", "--net", "--root", "--wd", f"--setuid={user}"]
        program = Path(command[0]).name
        words = [f"/parts/{program}" if program in _PARTS else command[0], *command[1:]]
        return [*line, f"--setgid={group}", "--", *words]

    def _port(self, name: str, port: int | str) -> int:
        if isinstance(port, int):
            return port
        number: int = next(p["containerPort"] for p in self.container(name)["ports"] if p["name"] == port)
        return number

    def _make_volume(self, volume: Object) -> Path:
        folder: Path = self._folder / "volumes" / volume["name"]
        folder.mkdir(parents=True)
        if "configMap" in volume:
            for file, text in self._config_maps[volume["configMap"]["name"]].items():
                (folder / file).write_text(text)
            folder.chmod(0o755)
        elif "secret" in volume:
            for item in volume["secret"]["items"]:
                (folder / item["path"]).write_text(self._secrets[volume["secret"]["secretName"]][item["key"]])
            folder.chmod(0o755)
        elif "downwardAPI" in volume:
            for item in volume["downwardAPI"]["items"]:
                key = item["fieldRef"]["fieldPath"].removeprefix("metadata.annotations['").removesuffix("']")
                (folder / item["path"]).write_text(self.metadata["annotations"][key])
            folder.chmod(0o755)
        elif "projected" in volume:
            ((kind, source),) = volume["projected"]["sources"][0].items()
            assert kind == "serviceAccountToken"
            (folder / source["path"]).write_text(self._secrets[kind][source.get("audience", "")])
            folder.chmod(0o755)
        elif "emptyDir" in volume:
            folder.chmod(0o777)
        else:
            raise NotImplementedError(f"volume {volume}")
        return folder

    def _security(self, container: Object, field: str, default: int) -> int:
        pod: Object = self.spec.get("securityContext", {})
        value: int = container.get("securityContext", {}).get(field, pod.get(field, default))
        return value

    def _environment(self, container: Object) -> dict[str, str]:
        fields = {
            "metadata.name": self.metadata.get("name", "pod"),
            "metadata.namespace": self.metadata.get("namespace", "default"),
            "metadata.uid": "5e2f6b1c-0000-4000-8000-000000000001",
            "spec.nodeName": "node-1",
            "status.podIP": self.network.pod.ipv4,
        }

        def value(item: Object) -> str:
            source = item.get("valueFrom", {})
            if "secretKeyRef" in source:
                return self._secrets[source["secretKeyRef"]["name"]][source["secretKeyRef"]["key"]]
            return fields[source["fieldRef"]["fieldPath"]] if source else item["value"]

        return {item["name"]: value(item) for item in container.get("env", [])}

    def _container_spec(self, container: Object, root: Path, user: int) -> Object:
        security = container.get("securityContext", {})
        capabilities = security.get("capabilities", {})
        environment = self._environment(container)
        image = container["image"].rpartition("/")[2].partition(":")[0]
        words = container.get("command", [_ENTRYPOINTS.get(image, image)]) + container.get("args", [])
        if Path(words[0]).name in _PARTS:
            words[0] = Path(words[0]).name  # wherever the image has it
        return {
            "root": str(root),
            "command": [re.sub(r"\$\((\w+)\)", lambda m: environment.get(m[1], m[0]), word) for word in words],
            "environment": environment,
            "user": user,
            "group": self._security(container, "runAsGroup", user),
            "allCapabilities": "ALL" not in capabilities.get("drop", []),
            "capabilities": capabilities.get("add", []),
            "noNewPrivileges": security.get("allowPrivilegeEscalation") is False,
            "readOnlyRoot": security.get("readOnlyRootFilesystem", False),
            "programs": {name: str(path) for name in _PARTS if (path := find(name))},
            "mounts": {
                mount["mountPath"]: {
                    "source": str(self._volumes[mount["name"]] / mount.get("subPath", "")),
                    "readOnly": mount.get("readOnly", False),
                }
                for mount in container.get("volumeMounts", [])
            },
        }
