"""What stands in for the nodes: pods are bound to the one there is, and the injector's run as processes here.

A process has what its container says: arguments, environment, service account, the Secrets and ConfigMaps that are
mounted, kept up to date. It listens on the ports that its settings name, at an address of its own, behind the Service's
ClusterIP. Its pod is bound, and so runs, when it is ready. Mounted files are in a folder: where the arguments, the
environment or the settings name a path below a `mountPath`, it is put before that path.
"""

from __future__ import annotations

import base64
import contextlib
import random
import re
import threading
from collections.abc import Sequence
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import urlopen

from tests.cluster.api import ApiError, Object
from tests.cluster.balancer import Balancer
from tests.cluster.components import WORKER
from tests.cluster.controlplane import NODE, ControlPlane
from tests.cluster.processes import Process, eventually
from tests.cluster.server import INJECTOR, PROJECT

#: What the image is called on the pages, whatever the registry.
IMAGE = re.compile(r"(^|/)sidecar-injector[:@]")
_METRICS = 9443  # the settings' default; no page changes it
_LOOK = 0.2  # seconds between two looks at the pods


class PodProcess:
    """The process of one of the injector's pods."""

    def __init__(self, control_plane: ControlPlane, folder: Path, pod: Object) -> None:
        self.control_plane = control_plane
        self.folder = folder
        self.pod = pod
        [self.container] = injector_containers(pod)
        # no other's, also where two runs of the tests share a machine
        self.address = f"127.{32 + WORKER}.{random.randrange(256)}.{random.randrange(1, 255)}"
        self.port = int(next(port["containerPort"] for port in self.container["ports"] if port["name"] != "metrics"))
        self.mounts: dict[str, Object] = {
            mount["mountPath"]: volume
            for mount in self.container.get("volumeMounts", ())
            for volume in pod["spec"]["volumes"]
            if mount["name"] == volume["name"] and ("secret" in volume or "configMap" in volume)
        }
        self.process: Process | None = None

    def start(self) -> None:
        """Start it as the pod's service account. Raises ApiError while something that is mounted is not there."""
        self.mount()
        metadata, spec = self.pod["metadata"], self.pod["spec"]
        account = self.control_plane.kubeconfig_for_service_account(metadata["namespace"], spec["serviceAccountName"])
        env = {"KUBECONFIG": str(account)}
        for variable in self.container.get("env", ()):
            value = variable.get("value")
            if value is None:
                section, _, field = variable["valueFrom"]["fieldRef"]["fieldPath"].partition(".")
                value = self.pod[section][field]
            env[variable["name"]] = self._here(value)
        arguments = [self._here(argument) for argument in self.container["args"]]
        command = [*INJECTOR, *arguments, f"--address={self.address}"]
        self.process = Process(command, self.folder / "log", env, PROJECT)

    def mount(self) -> None:
        """Write what is mounted into the folder, where it changed."""
        for mount, volume in self.mounts.items():
            for file, content in self._contents(volume).items():
                path = self.folder / mount.strip("/") / file
                if not path.exists() or path.read_bytes() != content:
                    path.parent.mkdir(parents=True, exist_ok=True)
                    path.with_name(f"..{file}").write_bytes(content)
                    path.with_name(f"..{file}").replace(path)

    def status(self, path: str) -> int:
        """What the plain port answers at a path."""
        try:
            with urlopen(f"http://{self.address}:{_METRICS}{path}", timeout=5) as response:
                return int(response.status)
        except HTTPError as error:
            return error.code

    @property
    def ready(self) -> bool:
        """Whether it says that it is ready, as the kubelet asks it."""
        if self.process is not None and self.process.popen.poll() is not None:
            raise AssertionError(f"the injector ended with {self.process.popen.returncode}:\n{self.process.log}")
        try:
            return self.status(self.container["readinessProbe"]["httpGet"]["path"]) == 200
        except OSError:
            return False

    def _contents(self, volume: Object) -> dict[str, bytes]:
        namespace = self.pod["metadata"]["namespace"]
        api = self.control_plane.api
        if "secret" in volume:
            data = api.get("Secret", volume["secret"]["secretName"], namespace).get("data") or {}
            return {key: base64.b64decode(value) for key, value in data.items()}
        texts = api.get("ConfigMap", volume["configMap"]["name"], namespace).get("data") or {}
        return {key: self._here(text).encode() for key, text in texts.items()}

    def _here(self, text: str) -> str:
        for mount in self.mounts:
            text = re.sub(rf"(?<![\w/.-]){re.escape(mount)}(?=[/\s\"',}}]|$)", f"{self.folder}{mount}", text)
        return text


def injector_containers(pod: Object) -> list[Object]:
    """The pod's container that runs the injector; none for a pod of another."""
    return [c for c in pod["spec"]["containers"] if IMAGE.search(c["image"])]


class Kubelet:
    """Looks after the pods of these namespaces until it is closed. `trouble` is what went wrong."""

    def __init__(self, control_plane: ControlPlane, folder: Path, namespaces: Sequence[str]) -> None:
        self.control_plane = control_plane
        self.folder = folder
        self.namespaces = namespaces
        self.processes: dict[str, PodProcess] = {}
        self.trouble: BaseException | None = None
        self._services: dict[tuple[str, int], Balancer] = {}
        self._done = threading.Event()
        self._looks = 0
        self._thread = threading.Thread(target=self._tend, daemon=True)

    def __enter__(self) -> Kubelet:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join(300)
        for balancer in self._services.values():
            balancer.__exit__(None, None, None)
        for running in self.processes.values():
            if running.process is not None:
                running.process.kill()

    @property
    def log(self) -> str:
        """All that the injector's pods have logged."""
        return "".join(running.process.log for running in self.processes.values() if running.process)

    def look(self) -> None:
        """Wait until it has looked after everything that is so by now. Raises what went wrong, if something did."""
        begun = self._looks

        def seen() -> object:
            return self.trouble or (self._looks > begun + 1 and all(map(_in_use, list(self._services.values()))))

        eventually("the nodes have been looked after", seen)
        if self.trouble is not None:
            raise self.trouble

    def _tend(self) -> None:
        while not self._done.wait(_LOOK):
            self._looks += 1
            try:
                for namespace in self.namespaces:
                    with contextlib.suppress(ApiError):  # it is not there yet, or something is being deleted
                        self._tend_namespace(namespace)
            except BaseException as error:
                self.trouble = error
                return

    def _tend_namespace(self, namespace: str) -> None:
        pods = self.control_plane.api.list("Pod", namespace)
        for pod in pods:
            uid = pod["metadata"]["uid"]
            if not injector_containers(pod) or self._runs(uid, pod):
                self._bind(pod)
        there = {pod["metadata"]["uid"] for pod in pods}
        served = {pod["metadata"]["uid"] for pod in pods if "deletionTimestamp" not in pod["metadata"]}
        for uid, running in self.processes.items():
            if running.pod["metadata"]["namespace"] == namespace and running.process:
                if uid in there:
                    running.mount()
                else:
                    running.process.kill()  # its pod is gone, and so would its containers be
        for service in self.control_plane.api.list("Service", namespace):
            self._serve(service, served)

    def _runs(self, uid: str, pod: Object) -> bool:
        """Whether the pod's process is ready; it is started when it is not there."""
        if uid not in self.processes:
            folder = self.folder / uid
            folder.mkdir(exist_ok=True)
            running = PodProcess(self.control_plane, folder, pod)
            running.start()
            self.processes[uid] = running
        return self.processes[uid].ready if not pod["spec"].get("nodeName") else True

    def _bind(self, pod: Object) -> None:
        if pod["spec"].get("nodeName"):
            return
        name, namespace = pod["metadata"]["name"], pod["metadata"]["namespace"]
        target = {"apiVersion": "v1", "kind": "Node", "name": NODE}
        binding = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": name}, "target": target}
        self.control_plane.api.call("POST", f"/api/v1/namespaces/{namespace}/pods/{name}/binding", binding)

    def _serve(self, service: Object, served: set[str]) -> None:
        """Put the processes of these pods, of those that the Service selects, behind its address and port."""
        selector = (service["spec"].get("selector") or {}).items()
        behind = [
            running
            for uid, running in self.processes.items()
            if uid in served and selector and selector <= (running.pod["metadata"].get("labels") or {}).items()
        ]
        port = next(iter(service["spec"].get("ports", ())), None)
        where = (service["spec"].get("clusterIP", ""), port["port"] if port else 0)
        if port is None or not (behind or where in self._services):
            return
        target = port.get("targetPort", port["port"])
        for running in behind:
            named = {p.get("name"): p["containerPort"] for p in running.container["ports"]}
            assert named.get(target, target) == running.port, (
                f"the Service's targetPort {target} is not the container's"
            )
        if where not in self._services:
            self._services[where] = Balancer(*where, behind).__enter__()
        self._services[where].servers = tuple(behind)


def _in_use(balancer: Balancer) -> bool:
    """Whether those, and only those, get connections that are ready."""
    for server in balancer.servers:
        try:
            ready = server.status("/readyz") == 200
        except OSError:
            ready = False
        if balancer.gives(server) != ready:
            return False
    return True
