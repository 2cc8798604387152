"""What each program of the control plane is started with."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.cluster.api import Object

WORKER = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))

SERVICE_RANGE = f"127.{96 + WORKER}.0.0/16"
"""Where ClusterIPs come from: loopback addresses, others for each worker that tests at the same time. A webhook that is
configured as a Service is called at ClusterIP:port, so a server of the test that listens on that port of every address
is reached, without any routing or endpoints."""

# Those that make pods, keep namespaces usable, clean up, and sign certificates. None looks after nodes.
_CONTROLLERS = (
    "namespace-controller",
    "serviceaccount-controller",
    "serviceaccount-token-controller",
    "root-ca-certificate-publisher-controller",
    "clusterrole-aggregation-controller",
    "resourcequota-controller",
    "deployment-controller",
    "replicaset-controller",
    "replicationcontroller-controller",
    "statefulset-controller",
    "daemonset-controller",
    "job-controller",
    "cronjob-controller",
    "ttl-after-finished-controller",
    "garbage-collector-controller",
    "persistentvolumeclaim-protection-controller",
    "endpointslice-controller",
    "disruption-controller",
    "horizontal-pod-autoscaler-controller",
    "certificatesigningrequest-approving-controller",
    "certificatesigningrequest-signing-controller",
)

GATES = ("PodCertificateRequest", "ClusterTrustBundle", "ClusterTrustBundleProjection")
"""Feature gates of fields of pods that Kubernetes 1.35 and 1.36 have and keep off."""

AUDIT_POLICY = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived"],
    "rules": [
        {
            # at this level the log has what a webhook patched, so a test can see a secret that got there
            "level": "Request",
            "verbs": ["create", "update", "patch"],
            "resources": [
                {"group": "", "resources": ["pods", "configmaps"]},
                {"group": "apps", "resources": ["deployments"]},
            ],
        },
        {"level": "None"},
    ],
}


def etcd(url: str, peer_url: str, folder: Path) -> list[str]:
    """The flags of an etcd that forgets: nothing is kept safe on disk, and its one member elects itself at once."""
    return [
        "--name=test",
        f"--initial-cluster=test={peer_url}",
        f"--initial-advertise-peer-urls={peer_url}",
        f"--listen-peer-urls={peer_url}",
        f"--listen-client-urls={url}",
        f"--advertise-client-urls={url}",
        f"--data-dir={folder}",
        "--unsafe-no-fsync",
        # The API server's own compaction begins anew with each of its starts; an hour of pods is more than etcd holds.
        "--auto-compaction-mode=periodic",
        "--auto-compaction-retention=1m",
        "--heartbeat-interval=100",  # each is work, and nobody else is there to hear it
        "--election-timeout=500",
        "--log-level=warn",
    ]


def api_server(url: str, etcd_url: str, files: Mapping[str, Path]) -> list[str]:
    """The flags of kube-apiserver; `files` are those of its flags that name one."""
    return [
        f"--secure-port={url.rpartition(':')[2]}",
        "--bind-address=127.0.0.1",
        f"--etcd-servers={etcd_url}",
        *(f"--{flag}={file}" for flag, file in files.items()),
        "--authorization-mode=Node,RBAC",
        "--allow-privileged=true",
        "--service-account-issuer=https://kubernetes.default.svc",
        f"--service-cluster-ip-range={SERVICE_RANGE}",
        # the endpoints of a Service may not be loopback addresses, so it must not announce its own
        "--advertise-address=127.0.0.1",
        "--endpoint-reconciler-type=none",
        # it taints new nodes, and the controller that would lift the taint does not run here
        "--disable-admission-plugins=TaintNodesByCondition",
        "--audit-log-mode=blocking",
        "--profiling=false",
    ]


def controller_manager(port: int, files: Mapping[str, Path]) -> list[str]:
    """The flags of kube-controller-manager; `files` are those of its flags that name one."""
    return [
        f"--secure-port={port}",
        "--bind-address=127.0.0.1",
        *(f"--{flag}={file}" for flag, file in files.items()),
        f"--controllers={','.join(_CONTROLLERS)}",
        "--leader-elect=false",
        # by default it limits itself to 20 requests a second, and that would be what a test measures
        "--kube-api-qps=500",
        "--kube-api-burst=1000",
        "--horizontal-pod-autoscaler-sync-period=2s",
        "--profiling=false",
    ]


def kwok(port: int, kubeconfig: Path, stages: Sequence[Path]) -> list[str]:
    """The flags of kwok; `stages` are the files that say what becomes of pods and nodes."""
    return [
        f"--kubeconfig={kubeconfig}",
        f"--server-address=127.0.0.1:{port}",
        *(f"--config={file}" for file in stages),
        "--manage-all-nodes=true",
        "--node-lease-duration-seconds=40",
        "--cidr=10.244.0.0/16",
        "--node-ip=10.255.0.1",
        "-v=WARN",
    ]


def node(name: str) -> Object:
    """A node for kwok to play, with room for everything."""
    room = {"cpu": "1000", "memory": "1000Gi", "pods": "10000"}
    labels = {"kubernetes.io/hostname": name, "kubernetes.io/os": "linux"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels, "annotations": {"kwok.x-k8s.io/node": "fake"}},
        "status": {"allocatable": room, "capacity": room},
    }
