"""The demo's webhook: the real HTTPS server in a process of its own, asked as an API server asks."""

from __future__ import annotations

import base64
import copy
import json
import ssl
import sys
import urllib.request
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jsonpatch

from injector.cli.demo_processes import free_ports, running
from injector.cli.throwaway_certificates import make_certificates
from injector.cluster.x509 import service_names
from injector.pods.context import Object

#: The namespace of the demo's pods.
NAMESPACE = "shop"


@dataclass(frozen=True, slots=True)
class DemoAnswer:
    """What the webhook says about a pod: its response, and the pod with the patch applied."""

    response: dict[str, Any]
    pod: Object

    @property
    def reason(self) -> str:
        """The reason that the webhook gives."""
        return str((self.response.get("auditAnnotations") or {}).get("reason", ""))


@dataclass(frozen=True, slots=True)
class Webhook:
    """A running webhook, and the trust in its throwaway certificate."""

    url: str
    trust: ssl.SSLContext

    def review(self, pod: Object) -> DemoAnswer:
        """Send the creation of a pod, get the answer, apply its patch as an API server does."""
        review = {
            "apiVersion": "admission.k8s.io/v1",
            "kind": "AdmissionReview",
            "request": {
                "uid": str(uuid.uuid4()),
                "kind": {"group": "", "version": "v1", "kind": "Pod"},
                "resource": {"group": "", "version": "v1", "resource": "pods"},
                "namespace": NAMESPACE,
                "operation": "CREATE",
                "userInfo": {"username": "system:serviceaccount:kube-system:replicaset-controller"},
                "object": pod,
                "oldObject": None,
                "dryRun": False,
                "options": {"apiVersion": "meta.k8s.io/v1", "kind": "CreateOptions"},
            },
        }
        request = urllib.request.Request(  # noqa: S310  (a URL of ours)
            f"{self.url}/mutate?timeout=5s", json.dumps(review).encode(), {"Content-Type": "application/json"}
        )
        handlers = (urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=self.trust))
        with urllib.request.build_opener(*handlers).open(request, timeout=10) as answer:
            response = json.load(answer)["response"]
        after = pod
        if "patch" in response:
            after = jsonpatch.apply_patch(copy.deepcopy(pod), base64.b64decode(response["patch"]).decode())
        return DemoAnswer(response, after)


@contextmanager
def webhook(folder: Path) -> Iterator[Webhook]:
    """The webhook, listening on a free port with certificates made for it in `folder`. Raises ProgramError."""
    made = make_certificates((*service_names("injector", "sidecars", "cluster.local"), "127.0.0.1"), days=1)
    certificate, key, log = folder / "server.crt", folder / "server.key", folder / "webhook.log"
    certificate.write_bytes(made.certificate)
    key.touch(mode=0o600)
    key.write_bytes(made.key)
    settings = folder / "settings.yaml"
    settings.write_text("server: {drainSeconds: 0}\n")  # nobody else is being served
    port, metrics_port = free_ports(2)
    command = [sys.executable, "-m", "injector", "serve", "--standalone", "--address", "127.0.0.1"]
    command += ["--settings", str(settings)]
    command += ["--port", str(port), "--metrics-port", str(metrics_port), "--cert", str(certificate), "--key", str(key)]
    with running(command, log, f"http://127.0.0.1:{metrics_port}/readyz"):
        trust = ssl.create_default_context(cadata=made.authority.decode())
        yield Webhook(f"https://127.0.0.1:{port}", trust)


def pod_of_deployment(**annotations: str) -> Object:
    """A pod as the API server sends it when a Deployment's ReplicaSet creates one: no name yet, its token mounted."""
    token = {"name": "kube-api-access-x7k2p", "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount"}
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web-6d4cf56db6", "uid": str(uuid.uuid4())}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "generateName": "web-6d4cf56db6-",
            "labels": {"app": "web", "pod-template-hash": "6d4cf56db6"},
            **({"annotations": annotations} if annotations else {}),
            "ownerReferences": [{**owner, "controller": True, "blockOwnerDeletion": True}],
        },
        "spec": {
            "containers": [
                {
                    "name": "web",
                    "image": "registry.example/web:1.4.2",
                    "ports": [{"containerPort": 8080, "protocol": "TCP"}],
                    "resources": {},
                    "volumeMounts": [{**token, "readOnly": True}],
                }
            ],
            "serviceAccountName": "default",
            "volumes": [
                {
                    "name": token["name"],
                    "projected": {
                        "defaultMode": 420,
                        "sources": [{"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}}],
                    },
                }
            ],
        },
    }
