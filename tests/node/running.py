"""A Kubernetes of one node: the control plane of tests/cluster, and in kwok's place a kubelet, containerd and runc.

    with Node(control_plane_programs, node_programs, [archive_of_images]) as node:
        node.kubectl("apply", "-f", "pods.yaml")

While it runs, this process is in the node's network namespace, where pods and Services have addresses; nothing is
routed to the machine, and pods reach nothing beyond the node. Needs root. Any number of nodes can run at once.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tests import parts
from tests.cluster.controlplane import NODE, ControlPlane
from tests.cluster.processes import Process, eventually, free_port
from tests.node import flags
from tests.node.images import SANDBOX
from tests.node.namespaces import Namespaces
from tests.node.registry import Registry


class Node(ControlPlane):
    """`programs` are the control plane's, `parts_folder` is what build-node made, `archives` hold images."""

    address = flags.ADDRESS
    _more_names = ("kubernetes.default.svc", "kubernetes.default", flags.API_SERVICE)

    def __init__(self, programs: Path, parts_folder: Path, archives: Sequence[Path]) -> None:
        folder = parts.cache() / "node" / "running" / f"sidecar-injector-node-{os.getpid()}"
        folder.mkdir(parents=True)
        super().__init__(programs, folder)
        self._parts, self._archives = parts_folder, archives
        self._debian = parts_folder / "debian"
        self._exit = ExitStack()
        self.namespaces = Namespaces(folder, flags.variables(), flags.ADDRESS)

    def start(self) -> None:
        """Start everything, and wait until pods can be created."""
        self._exit.enter_context(self.namespaces)
        try:
            super().start()
        except BaseException:
            self._exit.close()
            raise

    def stop(self) -> None:
        """End everything, pods first, and leave nothing."""
        super().stop()
        self._exit.close()

    # ------------------------------------------------------------ the programs

    def _api_server_flags(self, etcd: str, files: Mapping[str, Path]) -> list[str]:
        certificate, key = self._user_files("admin", ["system:masters"])
        client = [f"--kubelet-client-certificate={certificate}", f"--kubelet-client-key={key}"]
        return [*super()._api_server_flags(etcd, files), *flags.API_SERVER, *client]

    def _controller_flags(self, files: Mapping[str, Path]) -> list[str]:
        own = f"--flex-volume-plugin-dir={self.folder / 'volume-plugins'}"  # which would be made on the machine
        return [*super()._controller_flags(files), *flags.CONTROLLERS, own]

    def _find(self, program: str) -> Path:
        own = self._parts / program
        return own if own.exists() else super()._find(program)

    def _start_node(self) -> None:
        (self.folder / "cni").mkdir()
        (self.folder / "cni" / "pods.conflist").write_text(json.dumps(flags.CNI))
        self.registry = Registry()
        self._exit.callback(self.registry.close)
        for archive in self._archives:
            self.registry.add(archive)
        (self.folder / "registries" / "_default").mkdir(parents=True)
        (self.folder / "registries" / "_default" / "hosts.toml").write_text(self.registry.hosts)
        containerd = self._write(
            "containerd.toml", flags.containerd(self._debian / "root", self.folder, SANDBOX).encode()
        )
        self._spawn_inside("containerd", self._debian / "root/usr/bin/containerd", f"--config={containerd}")
        eventually("containerd answers", lambda: self.ctr("version"), 300)
        kubeconfig = self.kubeconfig_for("system:kube-scheduler")
        self._spawn("kube-scheduler", [f"--kubeconfig={kubeconfig}", "--leader-elect=false", "--bind-address=127.0.0.1",
                                       "--kube-api-qps=500", "--kube-api-burst=1000"])  # fmt: skip
        corefile = self._write("Corefile", flags.dns(self.kubeconfig).encode())
        self._spawn("coredns", [f"-conf={corefile}"])
        configuration = flags.proxy(self.kubeconfig_for("system:kube-proxy"))
        file = self._write("proxy.json", json.dumps(configuration).encode())
        self._spawn_inside("kube-proxy", self._parts / "kube-proxy", f"--config={file}")
        self.start_kubelet()
        self._processes["kubelet"].wait_until_ready(self._node_is_ready, 300)

    def start_kubelet(self) -> None:
        """Start it; pods that run go on running."""
        configuration = flags.kubelet(self.folder, self.authority_file)
        self._spawn_inside(
            "kubelet",
            self._parts / "kubelet",
            f"--config={self._write('kubelet.json', json.dumps(configuration).encode())}",
            f"--kubeconfig={self.kubeconfig_for(f'system:node:{NODE}', ['system:nodes'])}",
            "--cert-dir=/var/lib/kubelet/pki",
            f"--node-ip={flags.ADDRESS},{flags.ADDRESS6}",
            f"--hostname-override={NODE}",
        )

    def kill_kubelet(self) -> None:
        """As a crash does."""
        outer = self._processes.pop("kubelet")
        [inner] = Path(f"/proc/{outer.pid}/task/{outer.pid}/children").read_text().split()
        os.kill(int(inner), signal.SIGKILL)
        outer.popen.wait()

    def stop_all(self) -> None:
        """End everything at once, as a power cut does: control plane, node, and what runs in pods. The disks stay."""
        self.namespaces.kill_all([process.pid for process in self._processes.values()])
        for process in self._processes.values():
            process.kill()

    def start_all_again(self, between: Callable[[], object]) -> None:
        """Start the control plane with what it has on its disk, and the node after `between`."""

        def again(name: str) -> Process:
            self._processes[name] = self._processes[name].again()
            return self._processes[name]

        again("etcd")
        again("kube-apiserver").wait_until_ready(lambda: self.api.text("/readyz") == "ok")
        for name in ("kube-controller-manager", "kube-scheduler", "kube-proxy", "coredns"):
            again(name)
        between()
        again("containerd").wait_until_ready(lambda: self.ctr("version"))
        again("kubelet").wait_until_ready(self._node_is_ready)

    def _spawn_inside(self, name: str, *words: str | Path) -> None:
        command = self.namespaces.inside(*words)
        process = Process(command, self.folder / f"{name}.log", self._environment, self.folder)
        self._processes[name] = process

    @property
    def _environment(self) -> Mapping[str, str]:
        folders = [self._debian / "bin", *(self._debian / "root" / f for f in ("usr/bin", "usr/sbin", "sbin", "bin"))]
        path = os.pathsep.join([*map(str, folders), os.environ["PATH"], "/usr/sbin", "/sbin"])
        return {"PATH": path, "TMPDIR": str(self.folder / "tmp")}

    # ------------------------------------------------------------ what a test does

    def run_inside(self, *words: str | Path, check: bool = True) -> str:
        """What a program prints that runs in all of the node's namespaces; this process is only in the network's."""
        done = subprocess.run(
            self.namespaces.inside(*words), capture_output=True, text=True, check=False, timeout=300,
            env={**os.environ, **self._environment},
        )  # fmt: skip
        if check and done.returncode:
            raise AssertionError(f"{words}: {done.returncode} {done.stderr}")
        return done.stdout

    def ctr(self, *words: str) -> str:
        """containerd's own client."""
        return self.run_inside("ctr", "--namespace=k8s.io", *words)

    def kill_container(self, container_id: str) -> None:
        """As the kernel does when its memory is used up: SIGKILL. The ID is the one that a pod's status has."""
        self.ctr("tasks", "kill", "--signal=SIGKILL", container_id.removeprefix("containerd://"))

    @contextmanager
    def forwarded(self, namespace: str, pod: str, port: int) -> Iterator[int]:
        """`kubectl port-forward`: the port of 127.0.0.1 that leads to the pod's."""
        local = free_port()
        words = ["port-forward", f"--kubeconfig={self.kubeconfig}", "-n", namespace, pod, f"{local}:{port}"]
        process = Process([self.programs / "kubectl", *words], self.folder / "port-forward.log")
        try:
            yield local
        finally:
            process.kill()

    @contextmanager
    def outside(self) -> Iterator[None]:
        """This thread is in the machine's network for a while, to fetch or build something."""
        with self.namespaces.outside():
            yield


def missing() -> str:
    """Why no node can run here; nothing if one can."""
    if os.geteuid():
        return "needs root"
    lacking = [name for name in ("unshare", "nsenter", "setpriv", "ip", "flock") if not shutil.which(name)]
    return f"needs {', '.join(lacking)}" if lacking else ""
