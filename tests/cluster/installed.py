"""An injector that is installed as it should be: made of the project's own tables, with a process for its pods."""

from __future__ import annotations

import base64
import copy
import itertools
import json
from pathlib import Path
from typing import Any
from urllib.request import urlopen

from injector.cluster.entries import entries
from injector.cluster.installation import Installation
from injector.cluster.permissions import permissions
from injector.settings import parse_settings
from tests.cluster.api import Object
from tests.cluster.certificates import Authority
from tests.cluster.controlplane import NODE, ControlPlane
from tests.cluster.objects import CONFIGURATIONS, remove_configurations, wait_until_in_force
from tests.cluster.processes import Process, eventually, free_port
from tests.cluster.room import make_room
from tests.cluster.server import INJECTOR, PROJECT

OURS = {"app.kubernetes.io/name": "sidecar-injector"}
_RBAC = "rbac.authorization.k8s.io"
_numbers = itertools.count(1)


class Installed:
    """An installation in a namespace of its own, with certificates from files or built in (`source`).

    The process listens at the Service's address, which is one of this machine. `put_right()` restores every object.
    `settings` are more of the settings file.
    """

    def __init__(self, control_plane: ControlPlane, folder: Path, source: Any = "files", **settings: Any) -> None:
        self.control_plane = control_plane
        self.api = control_plane.api
        self.folder = folder
        self.namespace = f"injector-{next(_numbers)}"
        self.at = Installation(namespace=self.namespace, port=free_port())
        self.source = source
        self.settings = json.dumps({**control_plane.settings, "certificates": {"source": source}, **settings})
        repair = settings.get("repair", {}).get("mode") == "missing"
        self.lines = permissions(
            self.at,
            source,
            retry_refused=settings.get("retryRefused", False),
            repair=repair,
            team_templates="teamTemplates" in settings,
        )
        self.authority = Authority("installed")
        self.metrics_port = free_port()
        self.process: Process | None = None
        self._starts = itertools.count(1)

    @property
    def names(self) -> list[str]:
        """The entries' names."""
        return [entry["name"] for configuration in self.webhooks() for entry in configuration["webhooks"]]

    def install(self) -> None:
        """Everything, and a process that answers."""
        make_room(self.control_plane)
        self.api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": self.namespace}})
        self.control_plane.wait_for_default_account(self.namespace)
        for obj in self.objects():
            self.api.create(obj)
        for obj in self.webhooks():
            self.api.create(obj)
        self.start()
        eventually(
            "the injector's pods are ready",
            lambda: (
                self.api.get("Deployment", self.at.name, self.namespace)["status"].get("readyReplicas") == 2
                and self.ready_endpoints() == 2
            ),
            timeout=120,
        )

    def ready_endpoints(self) -> int:
        slices = self.api.list("EndpointSlice", self.namespace)
        return sum(e["conditions"].get("ready") is True for one in slices for e in one.get("endpoints") or ())

    def remove(self) -> None:
        self.stop()
        remove_configurations(self.control_plane, self.at.name)
        for kind in ("ClusterRoleBinding", "ClusterRole"):
            self.api.delete(kind, self.at.name)
        self.api.delete("Namespace", self.namespace)

    def start(self) -> None:
        """Run what the pods would run, as their service account."""
        if self.source == "files":
            pair = self.authority.for_server(f"{self.at.name}.{self.namespace}.svc")
            (self.folder / "tls.crt").write_bytes(pair.certificate)
            (self.folder / "tls.key").write_bytes(pair.key)
            self._store(pair.certificate, pair.key)
        (self.folder / "settings.yaml").write_text(self.settings)
        address = self.api.get("Service", self.at.name, self.namespace)["spec"]["clusterIP"]
        kubeconfig = self.control_plane.kubeconfig_for_service_account(self.namespace, self.at.name)
        command = [
            *INJECTOR,
            "serve",
            f"--address={address}",
            f"--port={self.at.port}",
            f"--metrics-port={self.metrics_port}",
            f"--cert={self.folder / 'tls.crt'}",
            f"--key={self.folder / 'tls.key'}",
            f"--settings={self.folder / 'settings.yaml'}",
            f"--namespace={self.namespace}",
        ]
        log = self.folder / f"server-{next(self._starts)}.log"
        self.process = Process(command, log, {"KUBECONFIG": str(kubeconfig)}, PROJECT)
        url = f"http://{address}:{self.metrics_port}/readyz"
        self.process.wait_until_ready(lambda: urlopen(url, timeout=2).status == 200, 300)

    def metrics(self) -> str:
        """What the process answers at /metrics."""
        address = self.api.get("Service", self.at.name, self.namespace)["spec"]["clusterIP"]
        text: str = urlopen(f"http://{address}:{self.metrics_port}/metrics", timeout=5).read().decode()
        return text

    def stop(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process = None

    def webhooks(self) -> list[Object]:
        """Both configurations, as they should be."""
        bundle = base64.b64encode(self.authority.certificate).decode()
        expected = entries(parse_settings(json.loads(self.settings)), self.at)
        made = []
        for kind, found in (("Mutating", expected.mutating), ("Validating", expected.validating)):
            configured = copy.deepcopy(list(found))
            for entry in configured:
                if self.source == "files":
                    entry["clientConfig"]["caBundle"] = bundle
            made.append(
                {
                    "apiVersion": "admissionregistration.k8s.io/v1",
                    "kind": f"{kind}WebhookConfiguration",
                    "metadata": {"name": self.at.name, "labels": OURS},
                    "webhooks": configured,
                }
            )
        return made

    def put_right(self, kind: str) -> None:
        """One of the configurations or roles as it was."""
        for obj in (*self.webhooks(), *self._roles()):
            if obj["kind"] == kind:
                self.put(obj)

    def put(self, obj: Object) -> None:
        """Put an object in the place of the one of its kind; a webhook configuration is in force afterwards."""
        kind, namespace = obj["kind"], obj["metadata"].get("namespace")
        if self.api.exists(kind, self.at.name, namespace):
            self.api.delete(kind, self.at.name, namespace)
        self.api.create(obj)
        if kind in CONFIGURATIONS:
            wait_until_in_force(self.control_plane, kind)

    def objects(self) -> list[Object]:
        """All but the webhooks."""
        own = {"name": self.at.name, "namespace": self.namespace, "labels": OURS}
        subject = {"kind": "ServiceAccount", "name": self.at.name, "namespace": self.namespace}
        return [
            {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": own},
            *self._roles(),
            *(
                {
                    "apiVersion": f"{_RBAC}/v1",
                    "kind": f"{kind}Binding",
                    "metadata": own if kind == "Role" else {"name": self.at.name},
                    "roleRef": {"apiGroup": _RBAC, "kind": kind, "name": self.at.name},
                    "subjects": [subject],
                }
                for kind in ("ClusterRole", "Role")
            ),
            {"apiVersion": "v1", "kind": "ConfigMap", "metadata": own, "data": {"settings.yaml": self.settings}},
            {
                "apiVersion": "v1",
                "kind": "Service",
                "metadata": own,
                "spec": {"selector": OURS, "ports": [{"name": "https", "port": self.at.port}]},
            },
            self._deployment(own),
        ]

    def role(self, kind: str) -> Object:
        """The ClusterRole or Role, as it should be."""
        return next(role for role in self._roles() if role["kind"] == kind)

    def _roles(self) -> list[Object]:
        own = {"name": self.at.name, "namespace": self.namespace}
        return [
            {
                "apiVersion": f"{_RBAC}/v1",
                "kind": kind,
                "metadata": metadata,
                "rules": [line.rule() for line in self.lines if line.everywhere == everywhere],
            }
            for kind, metadata, everywhere in (
                ("ClusterRole", {"name": self.at.name}, True),
                ("Role", own, False),
            )
        ]

    def _deployment(self, own: Object) -> Object:
        container = {
            "name": "injector",
            "image": "registry.example/sidecar-injector:1",
            "volumeMounts": [{"name": "certs", "mountPath": "/certs", "readOnly": True}],
        }
        spec = {
            "nodeName": NODE,
            "serviceAccountName": self.at.name,
            "containers": [container],
            "volumes": [{"name": "certs", "secret": {"secretName": "sidecar-injector-tls"}}],
        }
        template = {"metadata": {"labels": OURS}, "spec": spec}
        return {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": own,
            "spec": {"replicas": 2, "selector": {"matchLabels": OURS}, "template": template},
        }

    def _store(self, certificate: bytes, key: bytes) -> None:
        name = "sidecar-injector-tls"
        data = {"tls.crt": certificate, "tls.key": key}
        secret = {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": name, "namespace": self.namespace},
            "data": {key: base64.b64encode(value).decode() for key, value in data.items()},
        }
        if self.api.exists("Secret", name, self.namespace):
            self.api.replace(secret)
        else:
            self.api.create(secret)
