"""An installation with built-in certificates: namespace, Service, webhook configurations, and processes as its pods."""

from __future__ import annotations

import base64
import contextlib
import itertools
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

from injector.cluster.bundles import FIELD_MANAGER
from injector.cluster.certificate_controller import data_of
from injector.cluster.installation import KINDS, RESOURCES
from injector.cluster.rotation import CertificateState, read_certificate_state
from tests.cluster.api import ApiError, Object
from tests.cluster.away import user_with
from tests.cluster.balancer import Balancer
from tests.cluster.controlplane import ControlPlane
from tests.cluster.objects import ANY_PODS_CREATION, service, webhook_configuration
from tests.cluster.processes import eventually, free_port
from tests.cluster.server import InjectorServer

SECRET = "sidecar-injector-certificates"
_numbers = itertools.count(1)


def everything_but(installation: str, *resources: str) -> list[Object]:
    """RBAC rules of a server that has what it needs and nothing more, except what is named."""
    group = "admissionregistration.k8s.io"
    names = {"resourceNames": [SECRET]}
    rules = [
        {"apiGroups": [""], "resources": ["namespaces"], "verbs": ["get", "list", "watch"]},
        {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list", "watch", "create"]},
        {"apiGroups": [""], "resources": ["resourcequotas", "limitranges"], "verbs": ["list", "watch"]},
        {"apiGroups": [""], "resources": ["secrets"], "verbs": ["get", "list", "watch", "update"], **names},
        {"apiGroups": [""], "resources": ["secrets"], "verbs": ["create"]},
        {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["get", "create", "update"]},
        *(
            {
                "apiGroups": [group],
                "resources": [configurations],
                "resourceNames": [installation],
                "verbs": ["get", "list", "watch", "patch"],
            }
            for configurations in RESOURCES
        ),
    ]
    return [rule for rule in rules if not set(rule["resources"]) & set(resources)]


def reading_only(rule: Object) -> Object:
    """The same RBAC rule without a verb that changes anything."""
    return {**rule, "verbs": [verb for verb in rule["verbs"] if verb in ("get", "list", "watch")]}


class Install(Protocol):
    """`install(leaseSeconds=3)` makes an installation with these settings of certificates, until the test's end."""

    def __call__(self, **certificates: Any) -> BuiltinInstallation: ...


class BuiltinInstallation:
    """One that no other test meets: every name is its own. `certificates` are settings of that section."""

    def __init__(self, control_plane: ControlPlane, folder: Path, **certificates: Any) -> None:
        self.control_plane = control_plane
        self.api = control_plane.api
        self.folder = folder
        self.name = f"built-in-{next(_numbers)}"
        self.entries = [f"{entry}.{self.name}.internal" for entry in ("required", "more", "guard")]
        self.certificates = {"source": "builtin", "service": "injector", "webhooks": self.name, **certificates}
        self.servers: list[InjectorServer] = []
        self._folders = itertools.count(1)
        self.api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": self.name}})
        self.shop = f"{self.name}-shop"
        labels = {self.name: "required"}
        self.api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": self.shop, "labels": labels}})
        control_plane.wait_for_default_account(self.shop)
        self.port = free_port()
        address = self.api.create(service("injector", self.port), self.name)["spec"]["clusterIP"]
        self.balancer = Balancer(address, self.port, ())
        self.balancer.__enter__()
        self._log_begin = len(control_plane.log("kube-apiserver"))

    # ------------------------------------------------------------ the configurations

    def configure(self) -> None:
        """Create both configurations, without a bundle, as a chart does; with an entry that is not the injector's."""
        required, more, guard = (self._entry(name) for name in self.entries)
        other = {"url": "https://127.0.0.1:1/other", "caBundle": None}
        elsewhere = {**self._entry(f"other.{self.name}.internal"), "clientConfig": other, "failurePolicy": "Ignore"}
        elsewhere["namespaceSelector"] = {"matchLabels": {"no": "namespace"}}
        self.api.create(webhook_configuration(self.name, required, more, elsewhere))
        self.api.create(webhook_configuration(self.name, guard, validating=True))

    def _entry(self, name: str) -> Object:
        guard = name.startswith("guard")
        reference = {"name": "injector", "namespace": self.name, "port": self.port}
        return {
            "name": name,
            "clientConfig": {"service": {**reference, "path": "/validate" if guard else "/mutate"}},
            "rules": [ANY_PODS_CREATION],
            "admissionReviewVersions": ["v1"],
            "sideEffects": "None" if guard else "NoneOnDryRun",
            "failurePolicy": "Fail",
            "timeoutSeconds": 10,
            "namespaceSelector": {"matchLabels": {self.name: "required"}},
        }

    def configuration(self, kind: str) -> Object:
        return self.api.get(kind, self.name)

    def generation(self, kind: str) -> int:
        """How often one of the configurations was changed; writes that change nothing do not count."""
        count: int = self.configuration(kind)["metadata"]["generation"]
        return count

    def bundles(self) -> dict[str, bytes]:
        """The bundle of each entry of ours, PEM, by the entry's name."""
        found = {}
        for kind in KINDS:
            for entry in self.configuration(kind)["webhooks"]:
                if entry["name"] in self.entries:
                    found[entry["name"]] = base64.b64decode(entry["clientConfig"].get("caBundle") or "")
        return found

    def set_bundle(self, kind: str, pem: bytes, manager: str = "somebody") -> None:
        """Overwrite the bundle of every entry of ours in one configuration, as somebody would by hand."""
        patch = []
        for number, entry in enumerate(self.configuration(kind)["webhooks"]):
            if entry["name"] in self.entries:
                where = f"/webhooks/{number}/clientConfig/caBundle"
                patch.append({"op": "add", "path": where, "value": base64.b64encode(pem).decode()})
        url = f"/apis/admissionregistration.k8s.io/v1/{kind.lower()}s/{self.name}?fieldManager={manager}"
        self.api.call("PATCH", url, patch, "application/json-patch+json")

    # ------------------------------------------------------------ the Secret

    def secret(self) -> Object | None:
        try:
            return self.api.get("Secret", SECRET, self.name)
        except ApiError as error:
            if error.code != 404:
                raise
            return None

    def held(self) -> CertificateState:
        return read_certificate_state(data_of(self.secret() or {}))

    def store(self, held: CertificateState | dict[str, bytes]) -> None:
        """Put these certificates into the Secret, whatever is there."""
        pems = held.data if isinstance(held, CertificateState) else held
        data = {key: base64.b64encode(value).decode() for key, value in pems.items()}
        if self.api.exists("Secret", SECRET, self.name):
            secret = self.api.get("Secret", SECRET, self.name)
            self.api.replace({**secret, "apiVersion": "v1", "kind": "Secret", "data": data})
        else:
            metadata = {"name": SECRET, "namespace": self.name}
            self.api.create(
                {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "type": "Opaque", "data": data}
            )

    def in_order(self) -> bool:
        """Whether there is a certificate, its authority signs, and every entry has just the bundle for it."""
        held = self.held()
        whole = held.serving and held.authority and not held.faults and held.anchor == held.authority.certificate
        return bool(whole) and held.next is None and self.bundles_fit(held)

    def bundles_fit(self, held: CertificateState | None = None) -> bool:
        """Whether every entry has the bundle that belongs to the Secret."""
        wanted = set((held or self.held()).bundle)
        return all(set(read_certificate_state({"ca-old.crt": pem}).old) == wanted for pem in self.bundles().values())

    # ------------------------------------------------------------ servers

    def server(
        self,
        *,
        leads: bool = True,
        wait: bool = True,
        behind: bool = True,
        only_reads: Sequence[str] = (),
        drainSeconds: float = 0.5,
        **more: Any,
    ) -> InjectorServer:
        """Start a server; without `leads` it may not touch Leases. `behind` puts it behind the Service.

        `only_reads` are resources that it may not change. `more` are settings of certificates for this server alone.
        """
        folder = self.folder / f"server-{next(self._folders)}"
        folder.mkdir()
        templates = folder / "own"
        (templates / "logger").mkdir(parents=True)
        (templates / "logger" / "template.yaml").write_text("description: Ships logs.\n")
        (templates / "logger" / "overlay.yaml.j2").write_text("spec: {containers: [{name: logger, image: 'l:1'}]}\n")
        certificates = {**self.certificates, **more}
        settings = {
            "templates": ["logger"],
            "namespaceLabel": {"key": self.name},
            "server": {"drainSeconds": drainSeconds},
            "certificates": certificates,
        }
        rules = everything_but(self.name, *(() if leads else ("leases",)))
        allowed = [reading_only(rule) if set(rule["resources"]) & set(only_reads) else rule for rule in rules]
        kubeconfig = Path(user_with(self.control_plane, *allowed))
        server = InjectorServer(
            self.control_plane,
            folder,
            settings,
            templates_dir=templates,
            arguments=[f"--namespace={self.name}", "--address=127.0.0.1"],
            kubeconfig=kubeconfig,
        )
        self.servers.append(server)
        server.start(wait=wait, timeout=180)
        if behind and wait:
            self.put_behind(*self.balancer.servers, server)
        return server

    def put_behind(self, *servers: InjectorServer) -> None:
        """These are behind the Service from now on; wait until they are seen to be ready."""
        self.balancer.servers = servers
        ports = {server.port for server in servers}
        eventually("they are seen to be ready", lambda: ports <= set(self.balancer.ready))

    def leaders(self) -> list[InjectorServer]:
        """The servers that say they lead."""
        return [s for s in self.servers if s.process and s.process.popen.poll() is None and _leads(s)]

    def close(self) -> None:
        """Take everything down, the configurations first."""
        for kind in KINDS:
            if self.api.exists(kind, self.name):
                self.api.delete(kind, self.name)
        self.balancer.__exit__(None, None, None)
        for server in self.servers:
            if server.process:
                server.process.kill()
        for namespace in (self.shop, self.name):
            self.api.delete("Namespace", namespace)

    # ------------------------------------------------------------ what must not happen

    def failed_calls(self) -> list[str]:
        """What the API server has logged about calls that failed, since this was made."""
        lines = self.control_plane.log("kube-apiserver")[self._log_begin :].splitlines()
        return [line for line in lines if self.name in line and "failed calling webhook" in line.lower()]


def _leads(server: InjectorServer) -> bool:
    try:
        return server.metric("injector_leader") == 1
    except (OSError, LookupError):
        return False


def repairs(server: InjectorServer) -> float:
    """How often a server has put right what somebody had overwritten."""
    return server.metric("injector_bundle_writes_total", why="repaired")


def wait_in_order(installation: BuiltinInstallation, timeout: float = 120) -> CertificateState:
    """Wait until Secret and entries agree and nothing is under way."""
    eventually("the certificates are in order", installation.in_order, timeout)
    return installation.held()


def our_fields(configuration: Object) -> list[Object]:
    """What of a configuration belongs to the certificates' field manager."""
    return [f for f in configuration["metadata"]["managedFields"] if f["manager"] == FIELD_MANAGER]


def settles(check: Callable[[], object], seconds: float) -> bool:
    """Whether what `check` returns stays as it is for so long."""
    before = check()
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        time.sleep(0.1)
        with contextlib.suppress(ApiError):
            if check() != before:
                return False
    return True
