"""Pods with a sidecar, what the namespace holds, and whether Kubernetes takes them: for unit and for cluster tests.

Each case is a pod that the API server takes without the sidecar. What `check` says about it with the sidecar is in
`reason`; the same table is put to a real API server by tests/cluster/test_constraints.py.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from injector.pods.context import Namespace, Object
from injector.reasons import Reason

BAD, SECURITY, QUOTA, CONFLICT = Reason.INVALID_POD, Reason.POD_SECURITY, Reason.QUOTA, Reason.CONFLICT

HARDENED = {
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
    "runAsNonRoot": True,
    "seccompProfile": {"type": "RuntimeDefault"},
}
LEVEL = "pod-security.kubernetes.io/enforce"
VERSION = "pod-security.kubernetes.io/enforce-version"
SOME = {"requests": {"cpu": "100m", "memory": "64Mi"}, "limits": {"cpu": "200m", "memory": "128Mi"}}


@dataclass(frozen=True)
class Case:
    """One pod before and after; `sidecar`, `init`, `spec` and `metadata` are what the injection adds to `base`."""

    name: str
    reason: Reason | None
    sidecar: dict[str, Any] | None = field(default_factory=dict)
    init: dict[str, Any] | None = None
    spec: dict[str, Any] = field(default_factory=dict)
    metadata: dict[str, Any] = field(default_factory=dict)
    app: dict[str, Any] = field(default_factory=dict)
    base: dict[str, Any] = field(default_factory=dict)
    level: str = ""
    version: str = ""
    quota: dict[str, Any] | None = None
    limits: list[dict[str, Any]] | None = None
    #: What only we refuse: the API server takes it, and the pod then does not run.
    server_takes_it: bool = False

    def before(self) -> Object:
        """The pod without an injection."""
        app = {"name": "app", "image": "app:1", "securityContext": dict(HARDENED), **self.app}
        if "os" in self.base:
            del app["securityContext"]
        return {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "web"},
            "spec": {"nodeName": "node-0", "containers": [app], **self.base},
        }

    def after(self) -> Object:
        """The same pod with it; parts that are not touched are the very same objects."""
        before = self.before()
        spec = dict(before["spec"])
        if self.sidecar is not None:
            spec["containers"] = [*spec["containers"], {"name": "sidecar", "image": "sidecar:1", **self.sidecar}]
        if self.init is not None:
            first = {"name": "setup", "image": "setup:1", **self.init}
            spec["initContainers"] = [first, *spec.get("initContainers", [])]
        for key, value in self.spec.items():
            spec[key] = [*spec.get(key, []), *value] if isinstance(value, list) else value
        return {**before, "metadata": {**before["metadata"], **self.metadata}, "spec": spec}

    def labels(self) -> dict[str, str]:
        """The namespace's labels."""
        found = {LEVEL: self.level} if self.level else {}
        return {**found, VERSION: self.version} if self.version else found

    def quotas(self) -> tuple[Object, ...]:
        """The namespace's quotas, as they look before any pod is there."""
        if self.quota is None:
            return ()
        status = {"hard": self.quota["hard"], "used": dict.fromkeys(self.quota["hard"], "0")}
        return ({**_object("ResourceQuota", "compute"), "spec": self.quota, "status": status},)

    def limit_ranges(self) -> tuple[Object, ...]:
        """The namespace's limit ranges."""
        return ({**_object("LimitRange", "bounds"), "spec": {"limits": self.limits}},) if self.limits else ()

    def namespace(self) -> Namespace:
        """All of that together."""
        return Namespace("shop", self.labels(), quotas=self.quotas(), limit_ranges=self.limit_ranges())


def _object(kind: str, name: str) -> Object:
    return {"apiVersion": "v1", "kind": kind, "metadata": {"name": name}}


def resources(requests: dict[str, Any] | None = None, limits: dict[str, Any] | None = None) -> dict[str, Any]:
    return {"resources": {k: v for k, v in (("requests", requests), ("limits", limits)) if v is not None}}


def secured(**changes: Any) -> dict[str, Any]:
    """A container that `restricted` takes, with some fields of its security context changed; None drops one."""
    return {"securityContext": {k: v for k, v in {**HARDENED, **changes}.items() if v is not None}}


def volume(**source: Any) -> dict[str, Any]:
    return {"volumes": [{"name": "v", **source}]}


def mount(path: str, **more: Any) -> dict[str, Any]:
    return {"name": "v", "mountPath": path, **more}


def projected(**source: Any) -> dict[str, Any]:
    return volume(projected={"sources": [source]})


def file_key(**changes: Any) -> dict[str, Any]:
    """A variable of a container out of a file of the volume."""
    reference = {"volumeName": "v", "path": "p", "key": "K", **changes}
    return {"env": [{"name": "A", "valueFrom": {"fileKeyRef": reference}}]}


def probe(**handler: Any) -> dict[str, Any]:
    return {"readinessProbe": handler}


EMPTY = volume(emptyDir={})
CERTIFICATE = {"signerName": "a.example/a", "keyType": "ED25519", "keyPath": "k"}
HTTP = {"path": "/", "port": 80}
WINDOWS = {"os": {"name": "windows"}}

VALIDATION = [
    Case("plain", None),
    Case("native", None, sidecar=None, init={"restartPolicy": "Always", **probe(httpGet=HTTP)}),
    # names
    Case("duplicate-container", BAD, sidecar={"name": "app"}),
    Case("name-over-lists", BAD, sidecar=None, init={"name": "app"}),
    Case("container-name", BAD, sidecar={"name": "Side_car"}),
    Case("container-name-long", BAD, sidecar={"name": "a" * 64}),
    Case("container-name-longest", None, sidecar={"name": "a" * 63}),
    Case("volume-name", BAD, spec={"volumes": [{"name": "a.b", "emptyDir": {}}]}),
    Case("duplicate-volume", BAD, spec=volume(emptyDir={}), base=EMPTY),
    Case("ephemeral", BAD, spec={"ephemeralContainers": [{"name": "e", "image": "e"}]}),
    # fields
    Case("no-image", BAD, sidecar={"image": ""}),
    Case("image-space", BAD, sidecar={"image": " a"}),
    Case("pull-policy", BAD, sidecar={"imagePullPolicy": "always"}),
    Case("message-policy", BAD, sidecar={"terminationMessagePolicy": "x"}),
    Case("args-number", BAD, sidecar={"args": ["-p", 8080]}),
    Case("env-number", BAD, sidecar={"env": [{"name": "PORT", "value": 8080}]}),
    Case("env-null", None, sidecar={"env": [{"name": "PORT", "value": None}]}),
    Case("env-name", BAD, sidecar={"env": [{"name": "A=B", "value": ""}]}),
    Case("env-odd-name", None, sidecar={"env": [{"name": "1 a-b.c", "value": ""}]}),
    Case(
        "env-two-sources",
        BAD,
        sidecar={"env": [{"name": "A", "value": "x", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}}]},
    ),
    Case("env-no-source", BAD, sidecar={"env": [{"name": "A", "valueFrom": {}}]}),
    Case("env-from-nothing", BAD, sidecar={"envFrom": [{"prefix": "A"}]}),
    Case("probe-on-init", BAD, init=probe(httpGet=HTTP)),
    # volumes
    Case(
        "two-sources",
        BAD,
        spec=volume(emptyDir={}, configMap={"name": "c"}),
    ),
    Case("no-source", None, spec=volume()),
    Case(
        "projected-two",
        BAD,
        spec=volume(projected={"sources": [{"configMap": {"name": "a"}, "secret": {"name": "b"}}]}),
    ),
    Case("mount-nowhere", BAD, sidecar={"volumeMounts": [mount("/x")]}),
    Case("mount", None, sidecar={"volumeMounts": [mount("/x"), mount("/y")]}, spec=EMPTY),
    Case("mount-twice", BAD, sidecar={"volumeMounts": [mount("/x"), mount("/x")]}, spec=EMPTY),
    Case("mount-no-path", BAD, sidecar={"volumeMounts": [mount("")]}, spec=EMPTY),
    Case(
        "sub-path",
        BAD,
        sidecar={"volumeMounts": [mount("/x", subPath="a/../b")]},
        spec=EMPTY,
    ),
    Case(
        "two-sub-paths",
        BAD,
        sidecar={"volumeMounts": [mount("/x", subPath="a", subPathExpr="b")]},
        spec=EMPTY,
    ),
    Case(
        "propagation",
        BAD,
        sidecar={"volumeMounts": [mount("/x", mountPropagation="Bidirectional")]},
        spec=EMPTY,
    ),
    # ports
    Case(
        "ports", None, sidecar={"ports": [{"containerPort": 1, "name": "a"}, {"containerPort": 65535, "name": "b-2"}]}
    ),
    Case("port-range", BAD, sidecar={"ports": [{"containerPort": 65536}]}),
    Case("host-port-range", BAD, sidecar={"ports": [{"containerPort": 1, "hostPort": 70000}]}),
    Case("protocol", BAD, sidecar={"ports": [{"containerPort": 1, "protocol": "tcp"}]}),
    Case("port-name", BAD, sidecar={"ports": [{"containerPort": 1, "name": "a" * 16}]}),
    Case("port-name-digits", BAD, sidecar={"ports": [{"containerPort": 1, "name": "80"}]}),
    Case("port-name-dashes", BAD, sidecar={"ports": [{"containerPort": 1, "name": "a--b"}]}),
    Case(
        "port-names",
        BAD,
        sidecar={"ports": [{"containerPort": 1, "name": "a"}, {"containerPort": 2, "name": "a"}]},
    ),
    Case(
        "port-name-elsewhere",
        None,
        sidecar={"ports": [{"containerPort": 81, "name": "http"}]},
        app={"ports": [{"containerPort": 80, "name": "http"}]},
    ),
    Case(
        "same-port",
        CONFLICT,
        sidecar={"ports": [{"containerPort": 80}]},
        app={"ports": [{"containerPort": 80, "protocol": "TCP"}]},
        server_takes_it=True,
    ),
    Case(
        "same-port-other-protocol",
        None,
        sidecar={"ports": [{"containerPort": 80, "protocol": "UDP"}]},
        app={"ports": [{"containerPort": 80}]},
    ),
    Case(
        "same-port-native",
        CONFLICT,
        sidecar=None,
        init={"restartPolicy": "Always", "ports": [{"containerPort": 80}]},
        app={"ports": [{"containerPort": 80}]},
        server_takes_it=True,
    ),
    Case(
        "same-port-set-up",
        None,
        sidecar=None,
        init={"ports": [{"containerPort": 80}]},
        app={"ports": [{"containerPort": 80}]},
    ),
    Case(
        "same-host-port",
        CONFLICT,
        sidecar={"ports": [{"containerPort": 81, "hostPort": 80}]},
        app={"ports": [{"containerPort": 82, "hostPort": 80}]},
    ),
    Case(
        "host-port-of-another-address",
        None,
        sidecar={"ports": [{"containerPort": 81, "hostPort": 80, "hostIP": "127.0.0.1"}]},
        app={"ports": [{"containerPort": 82, "hostPort": 80, "hostIP": "127.0.0.2"}]},
    ),
    Case(
        "host-network-port",
        BAD,
        sidecar={"ports": [{"containerPort": 81, "hostPort": 80}]},
        base={"hostNetwork": True},
    ),
    # handlers
    Case("two-handlers", BAD, sidecar=probe(httpGet=HTTP, tcpSocket={"port": 1})),
    Case("no-handler", BAD, sidecar=probe(periodSeconds=3)),
    Case("probe-port", BAD, sidecar=probe(httpGet={"path": "/", "port": 0})),
    Case("probe-port-name", None, sidecar=probe(httpGet={"path": "/", "port": "http"})),
    Case(
        "liveness-threshold",
        BAD,
        sidecar={"livenessProbe": {"httpGet": HTTP, "successThreshold": 2}},
    ),
    Case(
        "hook-two",
        BAD,
        sidecar={"lifecycle": {"preStop": {"sleep": {"seconds": 1}, "exec": {"command": ["a"]}}}},
    ),
    Case("sleep", None, sidecar={"lifecycle": {"preStop": {"sleep": {"seconds": 30}}}}),
    Case("sleep-long", BAD, sidecar={"lifecycle": {"preStop": {"sleep": {"seconds": 31}}}}),
    Case(
        "sleep-short-grace",
        BAD,
        sidecar={"lifecycle": {"preStop": {"sleep": {"seconds": 6}}}},
        base={"terminationGracePeriodSeconds": 5},
    ),
    # resources
    Case("resources", None, sidecar={"resources": SOME}),
    Case("above-limit", BAD, sidecar=resources({"cpu": 2}, {"cpu": "1500m"})),
    Case("no-quantity", BAD, sidecar=resources({"memory": "1 Gi"})),
    Case("negative", BAD, sidecar=resources({"cpu": "-1"})),
    Case("unknown-resource", BAD, sidecar=resources({"mem": "1Gi"})),
    Case("device", None, sidecar=resources({"a.b/c": "1"}, {"a.b/c": 1})),
    Case("device-half", BAD, sidecar=resources({"a.b/c": "500m"}, {"a.b/c": "500m"})),
    Case("device-no-limit", BAD, sidecar=resources({"a.b/c": "1"})),
    Case("device-differs", BAD, sidecar=resources({"a.b/c": "1"}, {"a.b/c": "2"})),
    Case("exact-decimals", None, sidecar=resources({"cpu": "0.1", "memory": "1e3"}, {"cpu": "100m", "memory": "1k"})),
    Case(
        "pod-level",
        BAD,
        sidecar=resources({"cpu": "200m"}),
        app=resources({"cpu": "400m"}),
        base=resources({"cpu": "500m"}, {"cpu": "1"}),
    ),
    Case(
        "pod-level-fits",
        None,
        sidecar=resources({"cpu": "100m"}),
        app=resources({"cpu": "400m"}),
        base=resources({"cpu": "500m"}, {"cpu": "1"}),
    ),
    Case(
        "pod-level-limit",
        BAD,
        sidecar=resources({"cpu": "100m"}, {"cpu": "2"}),
        base=resources({"cpu": "500m"}, {"cpu": "1"}),
    ),
    # platform
    Case("windows", None, base=WINDOWS),
    Case(
        "windows-user",
        BAD,
        sidecar={"securityContext": {"runAsUser": 1}},
        base=WINDOWS,
    ),
    Case("windows-pod", BAD, spec={"securityContext": {"fsGroup": 1}}, base=WINDOWS),
    Case(
        "linux",
        BAD,
        sidecar={"securityContext": {"windowsOptions": {"runAsUserName": "a"}}},
        base={"os": {"name": "linux"}},
    ),
    Case(
        "privileged-no-escalation",
        BAD,
        sidecar={"securityContext": {"privileged": True, "allowPrivilegeEscalation": False}},
    ),
    Case(
        "sys-admin-no-escalation",
        BAD,
        sidecar={"securityContext": {"capabilities": {"add": ["CAP_SYS_ADMIN"]}, "allowPrivilegeEscalation": False}},
    ),
    Case(
        "host-pid-and-share",
        BAD,
        spec={"shareProcessNamespace": True},
        base={"hostPID": True},
    ),
    Case(
        "users-and-network",
        BAD,
        spec={"hostUsers": False},
        base={"hostNetwork": True},
    ),
    # metadata
    Case("annotations", None, metadata={"annotations": {"A.example.com/b": "x", "c": ""}}),
    Case("annotation-key", BAD, metadata={"annotations": {"a b": "x"}}),
    Case("annotation-number", BAD, metadata={"annotations": {"a": 1}}),
    Case("annotations-large", Reason.TOO_LARGE, metadata={"annotations": {"a": "ä" * 131072}}),
    Case("annotations-largest", None, metadata={"annotations": {"ab": "ä" * 131071}}),
    Case("label", BAD, metadata={"labels": {"a": "x y"}}),
    Case("label-key", BAD, metadata={"labels": {"A.b/c": "x"}}),
]


# What a parameter that is empty or of the wrong type leads to, and other values that Kubernetes does not take.
VALUES = [
    Case("directory-number", BAD, sidecar={"workingDir": 3}),
    Case("tty-text", BAD, sidecar={"tty": "true"}),
    Case(
        "port-text",
        BAD,
        sidecar={"ports": [{"containerPort": "80"}]},
    ),
    Case("probe-half", BAD, sidecar=probe(httpGet=HTTP, periodSeconds=1.5)),
    Case("args-text", BAD, sidecar={"args": "-a"}),
    Case("env-mapping", BAD, sidecar={"env": {"A": "b"}}),
    Case("env-texts", BAD, sidecar={"env": ["A=b"]}),
    Case("probe-text", BAD, sidecar={"readinessProbe": "/"}),
    Case("probe-port-list", BAD, sidecar=probe(tcpSocket={"port": [1]})),
    Case("grpc-name", BAD, sidecar=probe(grpc={"port": "grpc"})),
    Case("command-null", None, sidecar={"command": None}),
    Case("policy-empty", None, sidecar={"imagePullPolicy": ""}),
    Case("annotation-null", None, metadata={"annotations": {"a": None}}),
    Case("request-null", None, sidecar=resources({"cpu": None})),
    Case("request-space", None, sidecar=resources({"cpu": " 5"})),
    Case("request-number", None, sidecar=resources({"cpu": 0.25})),
    Case("request-point", None, sidecar=resources({"cpu": ".5", "memory": "+1Gi"})),
    Case("request-empty", BAD, sidecar=resources({"cpu": ""})),
    Case("request-suffix", BAD, sidecar=resources({"cpu": "1KI"})),
    Case("huge-pages", BAD, sidecar=resources({"hugepages-2Mi": "2Mi"}, {"hugepages-2Mi": "2Mi"})),
    Case("huge-pages-cpu", None, sidecar=resources({"hugepages-2Mi": "2Mi", "cpu": 1}, {"hugepages-2Mi": "2Mi"})),
    Case("probe-negative", BAD, sidecar=probe(httpGet=HTTP, periodSeconds=-1)),
    Case(
        "probe-grace",
        BAD,
        sidecar=probe(httpGet=HTTP, terminationGracePeriodSeconds=3),
    ),
    Case(
        "probe-grace-none",
        BAD,
        sidecar={"livenessProbe": {"httpGet": HTTP, "terminationGracePeriodSeconds": 0}},
    ),
    Case("probe-scheme", BAD, sidecar=probe(httpGet={**HTTP, "scheme": "http"})),
    Case("probe-port-digits", BAD, sidecar=probe(httpGet={"path": "/", "port": "8080"})),
    Case("probe-command", BAD, sidecar=probe(exec={"command": []})),
    Case(
        "secret-key-unnamed",
        BAD,
        sidecar={"env": [{"name": "A", "valueFrom": {"secretKeyRef": {"key": "a"}}}]},
    ),
    Case("file-key-without-a-path", BAD, sidecar=file_key(path=""), spec=EMPTY),
    Case("file-key-of-no-volume", BAD, sidecar=file_key(volumeName="w"), spec=EMPTY),
    Case("file-key-of-a-config-map", BAD, sidecar=file_key(), spec=volume(configMap={"name": "c"})),
    Case("file-key", None, sidecar=file_key(), spec=EMPTY),
    Case("image-volume-unnamed", BAD, spec=volume(image={"pullPolicy": "Always"})),
    Case("certificate-of-nobody", BAD, spec=projected(podCertificate={"keyType": "ED25519", "keyPath": "k"})),
    Case("bundle-without-a-path", BAD, spec=projected(clusterTrustBundle={"name": "a"})),
    Case("token-without-a-path", BAD, spec=projected(serviceAccountToken={"audience": "a"})),
    Case("certificate", None, spec=projected(podCertificate=CERTIFICATE)),
    Case("bundle", None, spec=projected(clusterTrustBundle={"name": "a", "path": "a"})),
    Case("bulk-unnamed", BAD, sidecar={"envFrom": [{"configMapRef": {}}]}),
    Case("config-map-unnamed", BAD, spec=volume(configMap={"name": ""})),
    Case("secret-unnamed", BAD, spec=volume(secret={})),
    Case("claim-unnamed", BAD, spec=volume(persistentVolumeClaim={})),
    Case("size-limit", BAD, spec=volume(emptyDir={"sizeLimit": "x"})),
    Case("size-limit-negative", BAD, spec=volume(emptyDir={"sizeLimit": "-1"})),
    Case("mode", BAD, spec=volume(configMap={"name": "a", "defaultMode": 1000})),
    Case("propagation-unknown", BAD, sidecar={"volumeMounts": [mount("/x", mountPropagation="x")]}, spec=EMPTY),
    Case(
        "device-of-directory",
        BAD,
        sidecar={"volumeDevices": [{"name": "v", "devicePath": "/dev/x"}]},
        spec=EMPTY,
    ),
    Case(
        "device-and-mount",
        BAD,
        sidecar={"volumeDevices": [{"name": "v", "devicePath": "/dev/x"}], "volumeMounts": [mount("/x")]},
        spec=volume(persistentVolumeClaim={"claimName": "a"}),
    ),
    Case("user-negative", BAD, sidecar={"securityContext": {"runAsUser": -1}}),
    Case("group-large", BAD, sidecar={"securityContext": {"runAsGroup": 2**31}}),
    Case("profile-file", BAD, sidecar={"securityContext": {"seccompProfile": {"type": "Localhost"}}}),
    Case("proc-mount-needs", BAD, sidecar={"securityContext": {"procMount": "Unmasked"}}),
]


def _baseline(name: str, level: str = "baseline", **case: Any) -> Case:
    return Case(name, SECURITY, level=level, **case)


def _context(**fields: Any) -> dict[str, Any]:
    return {"securityContext": fields}


BASELINE = [
    Case("baseline-plain", None, level="baseline"),
    Case("privileged-level", None, level="privileged", sidecar=_context(privileged=True)),
    _baseline("privileged", sidecar=_context(privileged=True)),
    _baseline("net-admin", sidecar=_context(capabilities={"add": ["NET_ADMIN"]})),
    _baseline("net-admin-init", init=_context(capabilities={"add": ["NET_ADMIN"]})),
    _baseline("any-capability", sidecar=_context(capabilities={"add": ["ALL"]})),
    Case("chown", None, level="baseline", sidecar=_context(capabilities={"add": ["CHOWN", "NET_BIND_SERVICE"]})),
    Case("root", None, level="baseline", sidecar=_context(runAsUser=0)),
    _baseline("host-path", spec=volume(hostPath={"path": "/var/log"})),
    _baseline("host-port", sidecar={"ports": [{"containerPort": 80, "hostPort": 80}]}),
    _baseline("host-network", spec={"hostNetwork": True}),
    _baseline("host-pid", spec={"hostPID": True}),
    _baseline("app-armor", sidecar=_context(appArmorProfile={"type": "Unconfined"})),
    Case(
        "app-armor-local",
        None,
        level="baseline",
        sidecar=_context(appArmorProfile={"type": "Localhost", "localhostProfile": "a"}),
    ),
    _baseline(
        "app-armor-annotation",
        metadata={"annotations": {"container.apparmor.security.beta.kubernetes.io/sidecar": "unconfined"}},
    ),
    _baseline("selinux-type", sidecar=_context(seLinuxOptions={"type": "spc_t"})),
    Case(
        "selinux-level", None, level="baseline", sidecar=_context(seLinuxOptions={"type": "container_t", "level": "s0"})
    ),
    Case("selinux-engine", None, level="baseline", sidecar=_context(seLinuxOptions={"type": "container_engine_t"})),
    _baseline(
        "selinux-engine-old",
        version="v1.30",
        sidecar=_context(seLinuxOptions={"type": "container_engine_t"}),
    ),
    _baseline("selinux-user", sidecar=_context(seLinuxOptions={"user": "u"})),
    _baseline("selinux-role-pod", spec=_context(seLinuxOptions={"role": "r"})),
    _baseline("proc-mount", sidecar=_context(procMount="Unmasked"), base={"hostUsers": False}, version="v1.34"),
    Case(
        "proc-mount-own-users",
        None,
        level="baseline",
        sidecar=_context(procMount="Unmasked"),
        base={"hostUsers": False},
    ),
    _baseline("seccomp", sidecar=_context(seccompProfile={"type": "Unconfined"})),
    _baseline("seccomp-pod", spec=_context(seccompProfile={"type": "Unconfined"})),
    _baseline("sysctl", spec=_context(sysctls=[{"name": "kernel.msgmax", "value": "1"}])),
    Case("sysctl-safe", None, level="baseline", spec=_context(sysctls=[{"name": "net.ipv4.tcp_rmem", "value": "1"}])),
    _baseline("sysctl-old", version="v1.31", spec=_context(sysctls=[{"name": "net.ipv4.tcp_rmem", "value": "1"}])),
    _baseline("probe-host", sidecar=probe(httpGet={**HTTP, "host": "a"})),
    Case("probe-host-old", None, level="baseline", version="v1.33", sidecar=probe(httpGet={**HTTP, "host": "a"})),
    _baseline("hook-host", sidecar={"lifecycle": {"preStop": {"httpGet": {**HTTP, "host": "a"}}}}),
    _baseline(
        "host-process",
        sidecar=_context(windowsOptions={"hostProcess": True}),
        spec={"hostNetwork": True},
        base=WINDOWS,
    ),
]


def _restricted(name: str, **case: Any) -> Case:
    return Case(name, SECURITY, level="restricted", **case)


RESTRICTED = [
    Case("restricted-plain", None, level="restricted", sidecar=secured()),
    _restricted("bare"),
    _restricted("baseline-too", sidecar=secured(privileged=True, allowPrivilegeEscalation=None)),
    _restricted("non-root-false", sidecar=secured(runAsNonRoot=False)),
    Case(
        "non-root-pod", None, level="restricted", sidecar=secured(runAsNonRoot=None), base=_context(runAsNonRoot=True)
    ),
    _restricted(
        "non-root-pod-false",
        sidecar=secured(runAsNonRoot=False),
        base=_context(runAsNonRoot=True),
    ),
    _restricted("root-user", sidecar=secured(runAsUser=0)),
    _restricted("root-user-pod", sidecar=secured(), spec=_context(runAsUser=0)),
    Case(
        "root-own-users",
        None,
        level="restricted",
        sidecar=secured(runAsUser=0, runAsNonRoot=None),
        base={"hostUsers": False},
    ),
    _restricted("escalation", sidecar=secured(allowPrivilegeEscalation=None)),
    _restricted("no-drop", sidecar=secured(capabilities=None)),
    _restricted("drop-some", sidecar=secured(capabilities={"drop": ["NET_RAW"]})),
    Case(
        "bind", None, level="restricted", sidecar=secured(capabilities={"drop": ["ALL"], "add": ["NET_BIND_SERVICE"]})
    ),
    _restricted("add-chown", sidecar=secured(capabilities={"drop": ["ALL"], "add": ["CHOWN"]})),
    _restricted("no-seccomp", sidecar=secured(seccompProfile=None)),
    Case(
        "seccomp-of-pod",
        None,
        level="restricted",
        sidecar=secured(seccompProfile=None),
        base=_context(seccompProfile={"type": "RuntimeDefault"}),
    ),
    _restricted("init", sidecar=None, init={}),
    _restricted("nfs", sidecar=secured(), spec=volume(nfs={"server": "a", "path": "/b"})),
    Case("volume-config-map", None, level="restricted", sidecar=secured(), spec=volume(configMap={"name": "a"})),
    Case("volume-none", None, level="restricted", sidecar=secured(), spec=volume()),
    Case("volume-image", None, level="restricted", sidecar=secured(), spec=volume(image={"reference": "a:1"})),
    Case(
        "windows-restricted",
        None,
        level="restricted",
        sidecar=_context(runAsNonRoot=True),
        base={**WINDOWS, **_context(runAsNonRoot=True)},
    ),
    _restricted("proc-mount-restricted", sidecar=secured(procMount="Unmasked"), base={"hostUsers": False}),
]

HARD = {"limits.cpu": "500m", "requests.memory": "256Mi"}


def scoped(*scopes: str) -> dict[str, Any]:
    return {"hard": {"pods": "0"}, "scopes": list(scopes)}


def by_priority(operator: str, *values: str) -> dict[str, Any]:
    requirement = {"scopeName": "PriorityClass", "operator": operator, **({"values": list(values)} if values else {})}
    return {"hard": {"requests.cpu": "150m"}, "scopeSelector": {"matchExpressions": [requirement]}}


STATED = {"resources": SOME}

QUOTAS = [
    Case("quota-fits", None, quota={"hard": HARD}, sidecar=STATED, app=STATED),
    Case("quota-unstated", QUOTA, quota={"hard": HARD}, app=STATED),
    Case("quota-storage-unstated", None, quota={"hard": {"requests.ephemeral-storage": "1Gi"}}, app=STATED),
    Case(
        "quota-exceeded",
        QUOTA,
        quota={"hard": HARD},
        sidecar=resources({"memory": "1Mi"}, {"cpu": "400m"}),
        app=STATED,
    ),
    Case(
        "quota-memory",
        QUOTA,
        quota={"hard": HARD},
        sidecar=resources({"memory": "200Mi"}, {"cpu": "1m"}),
        app=STATED,
    ),
    Case(
        "quota-plain-names",
        QUOTA,
        quota={"hard": {"cpu": "150m"}},
        sidecar=STATED,
        app=STATED,
    ),
    Case(
        "quota-request-from-limit",
        None,
        quota={"hard": {"requests.cpu": "2"}},
        sidecar=resources(None, {"cpu": "1"}),
        app=STATED,
    ),
    Case("quota-init", None, quota={"hard": {"requests.cpu": "150m"}}, sidecar=None, init=STATED, app=STATED),
    Case(
        "quota-init-larger",
        QUOTA,
        quota={"hard": {"requests.cpu": "150m"}},
        sidecar=None,
        init=resources({"cpu": "160m"}),
        app=STATED,
    ),
    Case(
        "quota-native",
        QUOTA,
        quota={"hard": {"requests.cpu": "150m"}},
        sidecar=None,
        init={"restartPolicy": "Always", **STATED},
        app=STATED,
    ),
    Case(
        "quota-native-and-init",
        QUOTA,
        quota={"hard": {"requests.cpu": "249m"}},
        sidecar=None,
        init={"restartPolicy": "Always", **STATED},
        app=STATED,
        base={"initContainers": [{"name": "own", "image": "own:1", **resources({"cpu": "150m"})}]},
    ),
    Case(
        "quota-native-and-init-fits",
        None,
        quota={"hard": {"requests.cpu": "250m"}},
        sidecar=None,
        init={"restartPolicy": "Always", **STATED},
        app=STATED,
        base={"initContainers": [{"name": "own", "image": "own:1", **resources({"cpu": "150m"})}]},
    ),
    Case(
        "quota-pod-level",
        None,
        quota={"hard": {"requests.cpu": "1"}},
        sidecar=resources({"cpu": "100m"}),
        base=resources({"cpu": "1"}, {"cpu": "1"}),
    ),
    Case("quota-pod-level-unstated", None, quota={"hard": {"requests.cpu": "1"}}, base=resources({"cpu": "1"})),
    Case(
        "quota-device",
        QUOTA,
        quota={"hard": {"requests.a.b/c": "0"}},
        sidecar=resources(None, {"a.b/c": 1}),
    ),
    Case("quota-pods", None, quota={"hard": {"pods": "1", "count/pods": "1"}}),
    Case("quota-best-effort", None, quota={"hard": {"pods": "1"}, "scopes": ["BestEffort"]}),
    Case("quota-becomes-burstable", QUOTA, quota=scoped("NotBestEffort"), sidecar=STATED),
    Case("quota-stays-best-effort", None, quota=scoped("NotBestEffort")),
    Case(
        "quota-not-terminating", None, quota=scoped("NotTerminating"), sidecar=STATED, base={"activeDeadlineSeconds": 9}
    ),
    Case("quota-terminating", None, quota=scoped("Terminating"), sidecar=STATED),
    Case(
        "quota-terminating-exceeded",
        QUOTA,
        quota={"hard": {"requests.cpu": "150m"}, "scopes": ["Terminating"]},
        sidecar=STATED,
        app=STATED,
        base={"activeDeadlineSeconds": 9},
    ),
    Case("quota-other-priority", None, quota=by_priority("In", "high"), sidecar=STATED, app=STATED),
    Case(
        "quota-priority",
        QUOTA,
        quota=by_priority("In", "system-node-critical"),
        sidecar=STATED,
        app=STATED,
        base={"priorityClassName": "system-node-critical"},
    ),
    Case("quota-priority-exists", None, quota=by_priority("Exists"), sidecar=STATED, app=STATED),
    # limit ranges
    Case(
        "range-gives-defaults",
        None,
        quota={"hard": HARD},
        limits=[{"type": "Container", "default": {"cpu": "100m", "memory": "64Mi"}}],
    ),
    Case(
        "range-defaults-exceed",
        QUOTA,
        quota={"hard": HARD},
        limits=[{"type": "Container", "default": {"cpu": "300m", "memory": "64Mi"}}],
    ),
    Case(
        "range-max",
        QUOTA,
        limits=[{"type": "Container", "max": {"cpu": "200m"}}],
        sidecar=resources(None, {"cpu": "300m"}),
    ),
    Case("range-max-default", None, limits=[{"type": "Container", "max": {"cpu": "200m"}}]),
    Case(
        "range-default-below-request",
        QUOTA,
        limits=[{"type": "Container", "default": {"cpu": "200m"}}],
        sidecar=resources({"cpu": "300m"}),
    ),
    Case(
        "range-min",
        QUOTA,
        limits=[{"type": "Container", "min": {"cpu": "50m"}}],
        sidecar=resources({"cpu": "10m"}),
    ),
    Case("range-min-default", None, limits=[{"type": "Container", "min": {"cpu": "50m"}}]),
    Case(
        "range-ratio",
        QUOTA,
        limits=[{"type": "Container", "maxLimitRequestRatio": {"cpu": "4"}}],
        sidecar=resources({"cpu": "100m"}, {"cpu": "500m"}),
        app=STATED,
    ),
    Case(
        "range-ratio-fits",
        None,
        limits=[{"type": "Container", "maxLimitRequestRatio": {"cpu": "5"}}],
        sidecar=resources({"cpu": "100m"}, {"cpu": "500m"}),
        app=STATED,
    ),
    Case(
        "range-pod",
        QUOTA,
        limits=[{"type": "Pod", "max": {"cpu": "300m"}}],
        sidecar=STATED,
        app=STATED,
    ),
    Case(
        "range-pod-fits",
        None,
        limits=[{"type": "Pod", "max": {"cpu": "400m"}}],
        sidecar=STATED,
        app=STATED,
    ),
]

CASES = [*VALIDATION, *VALUES, *BASELINE, *RESTRICTED, *QUOTAS]
