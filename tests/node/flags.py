"""What the programs of a node are started with, beside tests/cluster/components.py."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.cluster.controlplane import NODE

ADDRESS, ADDRESS6 = "10.200.0.2", "fd00:10:200::2"
"""The node's. They and all others are in its own network namespace, so they are the same for every node."""

_PODS, _PODS6 = "10.210.0.0/22", "fd00:10:210::/64"
_SERVICES = "10.211.0.0/20,fd00:10:211::/112"
API_SERVICE = "10.211.0.1"
CNI = {
    "cniVersion": "0.4.0",
    "name": "pods",
    "plugins": [
        {
            "type": "bridge",
            "bridge": "pods",
            "isGateway": True,
            "hairpinMode": True,
            "ipam": {
                "type": "host-local",
                "ranges": [[{"subnet": _PODS}], [{"subnet": _PODS6}]],
                "routes": [{"dst": "0.0.0.0/0"}, {"dst": "::/0"}],
            },
        },
        {"type": "portmap", "capabilities": {"portMappings": True}},
        {"type": "loopback"},
    ],
}

API_SERVER = (
    "--bind-address=0.0.0.0",
    f"--advertise-address={ADDRESS}",
    "--endpoint-reconciler-type=lease",
    f"--service-cluster-ip-range={_SERVICES}",
    "--enable-admission-plugins=NodeRestriction",
    "--kubelet-preferred-address-types=InternalIP",
)
"""In the place of those that kube-apiserver has without a node."""

CONTROLLERS = (
    "--controllers=*",
    "--allocate-node-cidrs=true",
    f"--cluster-cidr={_PODS},{_PODS6}",
    "--node-cidr-mask-size-ipv4=22",
    "--node-cidr-mask-size-ipv6=64",
    f"--service-cluster-ip-range={_SERVICES}",
    # Accounts of their own: as one user all controllers together would wait for one limit.
    "--use-service-account-credentials=true",
)


def containerd(root: Path, folder: Path, sandbox_image: str) -> str:
    """The configuration of Debian 12's containerd, 1.6. `root` has its programs."""
    off = [
        *(f"io.containerd.snapshotter.v1.{name}" for name in ("btrfs", "zfs", "aufs", "devmapper")),
        *(f"io.containerd.{name}" for name in ("internal.v1.opt", "internal.v1.tracing", "tracing.processor.v1.otlp")),
    ]
    cri = 'plugins."io.containerd.grpc.v1.cri"'
    return f"""\
version = 2
root = "/var/lib/containerd"
state = "/run/containerd"
disabled_plugins = {json.dumps(off)}
[grpc]
address = "/run/containerd/containerd.sock"
[{cri}]
sandbox_image = "{sandbox_image}"
disable_apparmor = true
# Where root may not lower it (no CAP_SYS_RESOURCE), runc would fail.
restrict_oom_score_adj = true
[{cri}.registry]
config_path = "{folder}/registries"
[{cri}.cni]
bin_dir = "{root}/usr/lib/cni"
conf_dir = "{folder}/cni"
[{cri}.containerd]
snapshotter = "overlayfs"
default_runtime_name = "runc"
[{cri}.containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"
[{cri}.containerd.runtimes.runc.options]
BinaryName = "{root}/usr/sbin/runc"
SystemdCgroup = false
"""


def kubelet(folder: Path, authority: Path) -> dict[str, Any]:
    """Its configuration. The cgroup of all pods is named as the folder."""
    return {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "failCgroupV1": False,
        "cgroupDriver": "cgroupfs",
        "cgroupRoot": f"/{folder.name}",
        "enforceNodeAllocatable": [],
        "failSwapOn": False,
        # It only looks at the kernel's settings; `begin` lays what it expects in front of them.
        "protectKernelDefaults": True,
        "containerRuntimeEndpoint": "unix:///run/containerd/containerd.sock",
        "resolvConf": f"{folder}/resolv.conf",
        "clusterDomain": "cluster.local",
        "clusterDNS": [ADDRESS],
        "podLogsDir": "/var/log/pods",
        "volumePluginDir": "/var/lib/kubelet/volume-plugins",
        "address": "0.0.0.0",
        "authentication": {
            "anonymous": {"enabled": False},
            "webhook": {"enabled": False},
            "x509": {"clientCAFile": str(authority)},
        },
        "authorization": {"mode": "AlwaysAllow"},
        "evictionHard": {"memory.available": "200Mi", "nodefs.available": "1%", "imagefs.available": "1%"},
        "imageGCHighThresholdPercent": 100,
        "imageGCLowThresholdPercent": 99,
        "maxPods": 250,
        "syncFrequency": "10s",
        # ConfigMaps reach pods in their own time, which is a minute, unless kubelet watches and looks often.
        "configMapAndSecretChangeDetectionStrategy": "Watch",
    }


def proxy(kubeconfig: Path) -> dict[str, Any]:
    """The configuration of kube-proxy, which changes nothing beyond the namespace."""
    return {
        "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
        "kind": "KubeProxyConfiguration",
        "mode": "iptables",
        "clusterCIDR": f"{_PODS},{_PODS6}",
        "clientConnection": {"kubeconfig": str(kubeconfig)},
        "hostnameOverride": NODE,
        "conntrack": {"maxPerCore": 0, "min": 0, "tcpEstablishedTimeout": "0s", "tcpCloseWaitTimeout": "0s"},
        "iptables": {"syncPeriod": "30s", "minSyncPeriod": "100ms"},
        "metricsBindAddress": "127.0.0.1:10249",
    }


def dns(kubeconfig: Path) -> str:
    """CoreDNS' configuration: the names of Services, and no others."""
    return f"""\
.:53 {{
    bind {ADDRESS}
    errors
    cache 5
    kubernetes cluster.local in-addr.arpa ip6.arpa {{
        kubeconfig {kubeconfig} test
        ttl 1
    }}
}}
"""


def variables() -> Mapping[str, str]:
    """The variables that the script `begin` reads."""
    return {"NODE": NODE, "ADDRESS": ADDRESS, "ADDRESS6": ADDRESS6}
