"""A real Kubernetes control plane on this machine, for the length of a test run.

etcd, kube-apiserver and kube-controller-manager decide everything as they do in a cluster; kwok
stands in for the kubelets and says of every pod that it runs. All listen on 127.0.0.1, keep their
state in one folder, and end with the test. Neither root nor a container runtime is needed.

There is no scheduler: pods name their node, `NODE`.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import Any
from urllib.request import urlopen

from tests.cluster import components
from tests.cluster.api import Api
from tests.cluster.certificates import Authority, new_key_pair
from tests.cluster.exposition import values_of
from tests.cluster.processes import Process, eventually, free_port

NODE = "node-0"
"""The one node. A pod template says `nodeName: node-0`, as there is no scheduler."""


class ControlPlane:
    """The control plane. `programs` is the folder with its binaries, `folder` an empty one for its state."""

    address = "127.0.0.1"
    """Where the API server is reached."""

    def __init__(self, programs: Path, folder: Path) -> None:
        self.programs = programs
        self.folder = folder
        self.authority = Authority("test-cluster")
        self.server = f"https://{self.address}:{free_port()}"
        self.audit_log = folder / "audit.log"
        self.authority_file = self._write("authority.crt", self.authority.certificate)
        self.kubeconfig = self.kubeconfig_for("admin", ["system:masters"])
        self.api = self.api_for("admin", ["system:masters"])
        self._processes: dict[str, Process] = {}

    # ------------------------------------------------------------ start and stop

    def __enter__(self) -> ControlPlane:
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.stop()

    def start(self) -> None:
        """Start everything, and wait until pods can be created."""
        try:
            self._start_api_server()
            self._start_controllers()
            self._start_node()
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """End everything at once: no state is worth keeping."""
        for process in reversed(self._processes.values()):
            process.kill()
        self._processes.clear()

    @cached_property
    def minor(self) -> int:
        """30 for Kubernetes 1.30."""
        return int(json.loads(self.api.text("/version"))["minor"])

    @property
    def settings(self) -> dict[str, Any]:
        """The injector's settings with which pods look on an older Kubernetes as they do on the newest."""
        return {} if self.minor >= 32 else {"nativeSidecars": "always"}

    def log(self, program: str) -> str:
        """What a program has said, such as kube-apiserver."""
        return self._processes[program].log

    def _start_api_server(self) -> None:
        etcd, peer = (f"http://127.0.0.1:{free_port()}" for _ in range(2))
        self._spawn("etcd", components.etcd(etcd, peer, self.folder / "etcd"))
        private, public = new_key_pair()
        serving = self.authority.for_server("localhost", self.address, *self._more_names)
        files = {
            "client-ca-file": self.authority_file,
            "tls-cert-file": self._write("server.crt", serving.certificate),
            "tls-private-key-file": self._write("server.key", serving.key),
            "service-account-signing-key-file": self._write("tokens.key", private),
            "service-account-key-file": self._write("tokens.pub", public),
            "audit-policy-file": self._write("audit-policy.json", json.dumps(components.AUDIT_POLICY).encode()),
            "audit-log-path": self.audit_log,
        }
        self._spawn("kube-apiserver", self._api_server_flags(etcd, files))
        etcd_process, process = self._processes["etcd"], self._processes["kube-apiserver"]
        etcd_process.wait_until_ready(lambda: urlopen(f"{etcd}/health", timeout=2).status == 200)
        process.wait_until_ready(lambda: self.api.text("/readyz") == "ok", timeout=300)

    def _start_controllers(self) -> None:
        files = {
            "kubeconfig": self.kubeconfig,
            "root-ca-file": self.authority_file,
            "service-account-private-key-file": self.folder / "tokens.key",
            "cluster-signing-cert-file": self.authority_file,
            "cluster-signing-key-file": self._write("authority.key", self.authority.key),
            "cert-dir": self.folder / "controllers",
        }
        process = self._spawn("kube-controller-manager", self._controller_flags(files))
        process.wait_until_ready(lambda: self.api.exists("ServiceAccount", "default", "default"), timeout=300)

    _more_names: Sequence[str] = ("kubernetes.default.svc",)

    def _api_server_flags(self, etcd: str, files: Mapping[str, Path]) -> list[str]:
        return components.api_server(self.server, etcd, files)

    def _controller_flags(self, files: Mapping[str, Path]) -> list[str]:
        return components.controller_manager(free_port(), files)

    def _start_node(self) -> None:
        self.api.create(components.node(NODE))
        ours = (Path(__file__).with_name(f"kwok-{name}-stage.yaml") for name in ("job", "sick"))
        stages = [self.programs / "kwok-stages.yaml", *ours]
        flags = components.kwok(free_port(), self.kubeconfig, stages)
        home = {"HOME": str(self.folder)}  # not the settings of whoever runs the tests
        self._spawn("kwok", flags, home).wait_until_ready(self._node_is_ready)

    def _node_is_ready(self) -> bool:
        conditions = self.api.get("Node", NODE)["status"].get("conditions", [])
        return any(condition["type"] == "Ready" and condition["status"] == "True" for condition in conditions)

    def _find(self, program: str) -> Path:
        return self.programs / program

    def _spawn(self, program: str, flags: Sequence[str | Path], env: dict[str, str] | None = None) -> Process:
        # memory is there, and collecting garbage takes time from the tests
        env = {"GOGC": "400", **(env or {})}
        process = Process([self._find(program), *flags], self.folder / f"{program}.log", env, self.folder)
        self._processes[program] = process
        return process

    def _write(self, name: str, content: bytes) -> Path:
        file = self.folder / name
        file.touch(mode=0o600)
        file.write_bytes(content)
        return file

    # ------------------------------------------------------------ users

    def kubeconfig_for(self, user: str, groups: Sequence[str] = ()) -> Path:
        """A kubeconfig with which a client is this user. The group system:masters may do everything."""
        certificate, key = self._user_files(user, groups)
        return self._kubeconfig(
            _file_name(user, *groups), {"client-certificate": str(certificate), "client-key": str(key)}
        )

    def kubeconfig_for_service_account(self, namespace: str, name: str) -> Path:
        """A kubeconfig with which a client is this service account, and may do what it may do."""
        return self._kubeconfig(f"{namespace}-{name}", {"token": self._token(namespace, name)})

    def api_for(self, user: str, groups: Sequence[str] = ()) -> Api:
        """The API as this user sees it."""
        return Api(self.server, self.authority.certificate, self._user_files(user, groups))

    def api_for_service_account(self, namespace: str, name: str) -> Api:
        """The API as this service account sees it."""
        return Api(self.server, self.authority.certificate, token=self._token(namespace, name))

    def _token(self, namespace: str, name: str) -> str:
        url = f"/api/v1/namespaces/{namespace}/serviceaccounts/{name}/token"
        request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
        token: str = self.api.call("POST", url, request)["status"]["token"]
        return token

    def _user_files(self, user: str, groups: Sequence[str]) -> tuple[Path, Path]:
        pair = self.authority.for_user(user, groups)
        name = _file_name(user, *groups)
        return self._write(f"{name}.crt", pair.certificate), self._write(f"{name}.key", pair.key)

    def _kubeconfig(self, name: str, user: dict[str, str]) -> Path:
        content = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [
                {"name": "test", "cluster": {"server": self.server, "certificate-authority": str(self.authority_file)}}
            ],
            "users": [{"name": "test", "user": user}],
            "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test"}}],
            "current-context": "test",
        }
        return self._write(f"{name}.kubeconfig", json.dumps(content).encode())  # JSON is YAML

    # ------------------------------------------------------------ what a test looks at

    def kubectl(
        self, *arguments: str, stdin: str | None = None, check: bool = True
    ) -> subprocess.CompletedProcess[str]:
        """Run kubectl as the admin. Unless `check` is false, an exit code other than 0 is an error."""
        result = subprocess.run(
            [str(self.programs / "kubectl"), f"--kubeconfig={self.kubeconfig}", *arguments],
            input=stdin,
            text=True,
            capture_output=True,
            timeout=180,
            check=False,
            env={**os.environ, "HOME": str(self.folder)},
        )
        if check and result.returncode:
            raise AssertionError(f"kubectl {' '.join(arguments)} ended with {result.returncode}: {result.stderr}")
        return result

    def metric(self, name: str, /, **labels: str) -> float:
        """The sum of the API server's own metric of that name, over the series with these labels."""
        return sum(values_of(self.api.text("/metrics"), name, labels))

    def webhook_calls(self, webhook: str) -> int:
        """How often the API server has called the webhook of that name."""
        return int(self.metric("apiserver_admission_webhook_admission_duration_seconds_count", name=webhook))

    def audit_events(self, namespace: str, resource: str = "pods") -> Iterable[dict[str, Any]]:
        """The audit log's events for a namespace, oldest first.

        Only what the policy above keeps is there. Wait for an event with `eventually`: it is
        written after the answer was sent.
        """
        for line in filter(None, self.audit_log.read_text().split("\n")):  # a value may hold other separators
            event: dict[str, Any] = json.loads(line)
            about = event.get("objectRef", {})
            if about.get("namespace") == namespace and about.get("resource") == resource:
                yield event

    def wait_for_default_account(self, namespace: str) -> None:
        """Wait until pods can be created in a new namespace: before, they are refused."""
        what = f"namespace {namespace} has its default service account"
        eventually(what, lambda: self.api.exists("ServiceAccount", "default", namespace))


class GatedControlPlane(ControlPlane):
    """One whose API server has pod certificates and trust bundles, which are on by default from Kubernetes 1.37."""

    def _api_server_flags(self, etcd: str, files: Mapping[str, Path]) -> list[str]:
        flags = super()._api_server_flags(etcd, files)
        version = subprocess.check_output([self._find("kube-apiserver"), "--version"], text=True)
        if int(version.split(".")[1]) >= 37:
            return flags
        gates = ",".join(f"{gate}=true" for gate in components.GATES)
        return [*flags, f"--feature-gates={gates}", "--runtime-config=certificates.k8s.io/v1beta1=true"]


def _file_name(*parts: str) -> str:
    return re.sub(r"[^\w.-]", "_", "-".join(parts))
