"""Generated pods: pod 17 is always the same one. `pod(number, template)` is the pod with what concerns a template.

The values are drawn so that most pods can be injected, and so that each way not to be is met again and again: clashing
ports and names, values that a parameter refuses, a node's network, Windows, containers that are called as sidecars are.
Pods are as an API server shows them to a webhook, or as people write them.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from functools import partial
from typing import Any

import msgspec

from tests.baseline.case import Object
from tests.baseline.dice import Dice

#: What a template needs to serve any pod, as the settings' `parameters`.
NEEDED: dict[str, dict[str, Any]] = {
    "cloud-sql-proxy": {"instances": ["shop-prod:europe-west1:orders"]},
    "container": {"image": "registry.example/tool:1"},
    "deny-env": {"allowed": ["PATH", "LOG_*", "PORT"]},
    "oauth2-proxy": {
        "issuer-url": "https://login.example",
        "client-id": "web",
        "secret-name": "oauth2-proxy",
        "app-port": 8080,
    },
    "otel-collector": {"endpoint": "https://otel-gateway.observability:4317"},
    "prometheus-exporter": {"image": "registry.example/exporter:1.5.1", "port": 9113},
    "vault-agent": {"address": "https://vault.vault:8200", "role": "web", "secrets": {"db": "secret/data/shop/db"}},
}

#: Parameters in annotations: those that change most, and values that their schemas refuse.
PARAMETERS: dict[str, dict[str, tuple[str, ...]]] = {
    "agones-sdk": {
        "local": ("false", "true", "maybe"),
        "gameserver-labels": ('{"a": "b"}', '{"a": 1}', "a"),
        "grpc-port": ("9000", "8080", "80"),
        "health-port": ("10000", "70000"),
        "cpu-limit": ("1", "10m", "fast"),
        "gameserver-name": ("game-1", "Game", ""),
    },
    "always-pull-images": {"anything": ("1",)},
    "cloud-sql-proxy": {
        "instances": ("shop-prod:europe-west1:orders,shop-prod:europe-west1:stock?port=5433", "10.0.0.1", "a:b:c"),
        "port": ("3306", "8080", "80"),
        "health-port": ("9802", "5432"),
        "private-ip": ("true", "yes"),
        "psc": ("true",),
        "auto-iam-authn": ("true",),
        "credentials-secret": ("sql-credentials", "Sql"),
        "log-level": ("debug", "error", "warn"),
    },
    "container": {
        "name": ("helper", "app", "web", "Helper"),
        "args": ("--a,--b", '["--a=1,2", "b"]', "[1]", "$(HOME)", "a: b"),
        "env": ('{"LOG_LEVEL": "debug"}', '{"A": "{{ b }}"}', "LOG=1"),
        "ports": ("9000", "9000,9001", "8080", "9000,9000", "0"),
        "probe-path": ("/healthz", "healthz"),
        "probe-command": ("true", "cat,/tmp/ready"),
        "shared-path": ("/var/log/app", "/data", "relative"),
        "writable-paths": ("/tmp,/run", "/data", ""),
        "mounts": ('{"/config": "config"}', '{"/nowhere": "nowhere"}'),
        "secrets": ('{"/etc/token": "token"}',),
        "run-as-user": ("1000", "0", "1e3"),
        "memory-limit": ("64Mi", "16Mi", "64 MB"),
        "liveness": ("true", "yes", "1"),
        "shutdown-delay-seconds": ("5", "-1"),
    },
    "deny-env": {"allowed": ("A",), "code": ("404",)},
    "envoy": {
        "intercept": ("ports", "redirect", "tproxy"),
        "app-port": ("8080", "9090", "0", "http"),
        "exclude-inbound-ports": ("22", "22,8443", "", "ssh"),
        "exclude-outbound-ranges": ("10.0.0.0/8", "10.0.0.0/8,fd00::/8", "10.0.0.1/8", "all"),
        "ipv6": ("true", "false"),
        "clusters": ('[{"name": "pay", "host": "pay.example", "port": 443, "tls": true}]', '[{"name": "pay"}]', "pay"),
        "xds-server": ("xds.example:18000", "xds.example"),
        "access-log": ("text", "none", "JSON"),
        "admin-port": ("15010", "8080", "1023"),
        "inbound-port": ("8081", "15106"),
        "image": ("registry.example/envoy:v1", "envoy@sha256:1", "a b"),
        "refuse-closed-ports": ("true", "false"),
        "retry-on": ("5xx", "5xx,reset", "never"),
        "memory-limit": ("128Mi", "1Mi", "lots"),
        "cpu-limit": ("500m", "0.5", "-1"),
        "zzz": ("1",),
    },
    "fault": {
        "direction": ("inbound", "outbound", "both", "up"),
        "delay-percentage": ("25", "100", "101"),
        "abort-status": ("503", "200"),
        "paths": ("/api", "/api,/v2", "api"),
        "header-value": ("on", 'o"n', "\u00e9"),
        "no-proxy": ("localhost", ".svc,10.0.0.1"),
        "listen-port": ("8080", "18080"),
        "access-log": ("all", "none"),
    },
    "fluent-bit": {
        "log-path": ("/data", "/var/log/app", "logs"),
        "log-files": ("*.log", "app.log,error.log", "../secret"),
        "line-format": ("json", "text"),
        "multiline": ("java", "go"),
        "drop-containing": ("health", "a|b", "(", "x\ny"),
        "output": ("forward", "http"),
        "host": ("logs.example", "a b"),
        "labels": ('{"team": "shop"}', '{"team": "${HOME}"}'),
        "tls": ("true", "false"),
        "health-port": ("2021", "8080"),
    },
    "fluentd": {
        "log-path": ("/data", "/var/log/app", "logs"),
        "line-format": ("json",),
        "drop-containing": ("health", "/", "#{1}"),
        "output": ("forward", "http"),
        "host": ("logs.example", "-"),
        "labels": ('{"team": "shop"}', '{"team": "a\\nb"}'),
        "compress": ("true",),
        "buffer-mebibytes": ("8", "0"),
    },
    "nginx": {
        "app-port": ("8080", "9090", "port"),
        "listen-port": ("8080", "8000", "81"),
        "rate-limit": ("10", "0", "many"),
        "rate-per": ("pod", "client", "node"),
        "trusted-proxies": ("10.0.0.0/8", "10.0.0.1", "2001:db8::/32,10.0.0.0/8"),
        "gzip": ("false", "off", "nope"),
        "max-request-kibibytes": ("1", "1048576", "1M"),
        "access-log": ("false",),
        "image": ("nginx", "nginx:1.27", "nginx:"),
        "memory-request": ("1Gi", "16Mi"),
    },
    "oauth2-proxy": {
        "issuer-url": ("https://other.example/realm", "http://plain.example", "login"),
        "email-domains": ("example.com", "*", "a b"),
        "skip-paths": ("/healthz", "/a,/b", "["),
        "cookie-secure": ("false",),
        "cookie-same-site": ("strict", "Lax"),
        "app-port": ("8080", "9090"),
        "ca-configmap": ("ca", "CA"),
        "trusted-ips": ("10.0.0.0/8", "10.0.0.300"),
    },
    "otel-collector": {
        "endpoint": ("http://10.0.0.1:4317", "https://[fd00::1]:4318/otlp", "gateway:4317"),
        "protocol": ("http", "grpc", "udp"),
        "signals": ("traces", "traces,logs", "spans", "traces,traces"),
        "attributes": ('{"team": "shop"}', '{"team": "${env:HOME}"}', '{"Team": "x"}'),
        "secret-name": ("vendor", "Vendor"),
        "app-protocol": ("grpc", "http/json", "udp"),
        "service-name": ("shop", "-"),
        "metrics-port": ("8080", "8888", "80"),
        "debug": ("basic", "true"),
    },
    "prometheus-exporter": {
        "port": ("9100", "8080", "80"),
        "args": ("--web.listen-address=:9113", "--a,--b"),
        "config": ('{"a": [1, {"b": null}]}', '["a"]', "{"),
        "query": ('{"target": "app"}',),
        "annotate": ("false",),
        "health-path": ("/-/healthy", "healthy"),
        "wait": ("true",),
        "env-secret": ("exporter", "Exporter"),
    },
    "vault-agent": {
        "address": ("http://vault:8200", "https://[fd00::1]:8200", "vault"),
        "role": ("web", "a b"),
        "secrets": ('{"db": "secret/db"}', '{"../db": "secret/db"}', "{}", "db"),
        "templates": ('{"db": "{{ x }}"}', '{"other": "x"}'),
        "secrets-path": ("/var/run/secrets/app", "/data", "relative"),
        "leave-out": ("web", "app,worker", "Web"),
        "file-mode": ("0400", "400", "0999"),
        "format": ("env", "yaml", "toml"),
        "once": ("true", "yes"),
        "audience": ("vault", "a b"),
    },
    "reserved-namespaces": {"names": ("shop",)},
    "resource-defaults": {
        "cpu-request": ("50m", "2", "x"),
        "cpu-limit": ("1", "10m"),
        "memory-limit": ("256Mi", "1Mi"),
        "ephemeral-storage-limit": ("1Gi",),
        "init-containers": ("false",),
    },
}

#: Names that the sidecars' own containers have, where it is not the template's.
_SIDECARS = {
    **{name: f"{name}-sidecar" for name in ("envoy", "fluent-bit", "fluentd", "nginx", "oauth2-proxy")},
    "container": "sidecar",
    "always-pull-images": "init",
    "deny-env": "app",
}
_UID = "4a6f1d3e-90b7-4d0c-8c2b-3f9f0e5d7a21"
_NAMES = (
    "app",
    "web",
    "main",
    "worker",
    "cache",
    "api",
    "db",
    "a-container-with-a-name-that-is-as-long-as-may-be-63-characters",
)
_IMAGES = (
    "registry.example/app:1.4.2",
    "registry.example:5000/team/app@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
    "app",
    "app:latest",
    "docker.io/library/redis:7",
)
_TOKEN = "/var/run/secrets/kubernetes.io/serviceaccount"


def pod(number: int, template: str) -> Object:
    """A pod, with annotations and containers that concern a template."""
    return _concerning(template, Dice(f"pod {number} {template}"), msgspec.json.decode(_drawn(number)))


@functools.cache
def _drawn(number: int) -> bytes:
    """The pod without what concerns a template, drawn once for all of them."""
    return msgspec.json.encode(_pod(Dice(f"pod {number}"), number))


def namespace(number: int) -> Object:
    """The Namespace that a pod is created in, mostly one that is enabled."""
    dice = Dice(f"namespace {number}")
    labels: dict[str, str] = {"kubernetes.io/metadata.name": "shop", "team": "a"}
    if (label := dice.one((*("enabled",) * 27, "disabled", "sometimes", ""))) != "":
        labels["injection"] = label
    annotations: dict[str, str] = {}
    name = dice.one(("shop",) * 30 + ("default", "kube-system"))
    if dice.chance(8):
        labels["pod-security.kubernetes.io/enforce"] = dice.one(("privileged", "baseline", "restricted", "none"))
    if dice.chance(4):
        annotations["sidecar.injector/templates"] = dice.one(("nginx", "envoy, nginx", "resource-defaults", "nobody"))
    if dice.chance(5):
        annotations |= {"envoy.sidecar.injector/access-log": "text", "nginx.sidecar.injector/gzip": "false"}
    made: Object = {"metadata": {"name": name, "labels": labels, "annotations": annotations}}
    if dice.chance(4):
        made["quotas"] = [_quota(dice)]
    if dice.chance(4):
        limit = {"type": "Container", "max": {"memory": dice.one(("64Mi", "1Gi"))}, "default": {"cpu": "500m"}}
        made["limitRanges"] = [{"metadata": {"name": "limits"}, "spec": {"limits": [limit]}}]
    return made


def _quota(dice: Dice) -> Object:
    hard = dice.one(({"limits.cpu": "4"}, {"requests.memory": "128Mi"}, {"pods": "10"}, {"limits.memory": "64Gi"}))
    return {"metadata": {"name": "quota"}, "spec": {"hard": hard}, "status": {"hard": hard, "used": {}}}


# ------------------------------------------------------------------------------------------------- the pod itself


def _pod(dice: Dice, number: int) -> Object:
    made: Object = {"apiVersion": "v1", "kind": "Pod", "metadata": _metadata(dice, number), "spec": _spec(dice)}
    if dice.chance(3):
        return _misshapen(dice, made)
    return made


def _metadata(dice: Dice, number: int) -> Object:
    name = dice.one(("web", "shop-api", f"job{number}", "a.dotted.name", "x" * 60))
    owner = dice.one(("ReplicaSet", "ReplicaSet", "ReplicaSet", "StatefulSet", "DaemonSet", "Job", "Widget", ""))
    labels = {"app": "web"}
    if dice.chance(40):
        labels |= {"app.kubernetes.io/name": name[:40], "version": dice.one(("v1", "canary", ""))}
    metadata: Object = {}
    if owner:
        full = f"{name}-5d4f8c7b9d" if owner == "ReplicaSet" else name
        group = {"Job": "batch/v1", "Widget": "example.com/v1"}.get(owner, "apps/v1")
        reference = {"apiVersion": group, "kind": owner, "name": full, "uid": _UID, "controller": True}
        metadata["generateName"] = f"{full}-"
        metadata["ownerReferences"] = [{**reference, "blockOwnerDeletion": True}]
        if owner == "ReplicaSet":
            labels["pod-template-hash"] = "5d4f8c7b9d"
    else:
        metadata["name"] = name
    if dice.chance(20):
        metadata["namespace"] = "shop"
    if dice.chance(8):
        labels["sidecar.injector/inject"] = dice.one(("true", "false", "Yes", "off", "perhaps"))
    if dice.chance(90):
        metadata["labels"] = labels
    annotations = _annotations(dice)
    if annotations or dice.chance(10):
        metadata["annotations"] = annotations
    return metadata


def _annotations(dice: Dice) -> dict[str, str]:
    known = {
        "kubectl.kubernetes.io/default-container": "app",
        "prometheus.io/scrape": dice.one(("true", "false")),
        "prometheus.io/port": "8080",
        "checksum/config": "0123456789abcdef",
        "note": dice.one(("a: b", "{{ params.x }}", "\u00e4 \U0001f600", "quo\"te's", "two\nlines", "")),
        "sidecar.injector/unknown": "1",
    }
    annotations = {key: known[key] for key in dice.some(list(known), 3)}
    if dice.chance(9):
        annotations["sidecar.injector/inject"] = dice.one(("true", "FALSE", "no", "y", "disabled", "", "2"))
    if dice.chance(4):
        templates = (
            "nginx",
            "envoy,nginx",
            "resource-defaults, nginx",
            "nginx,nginx",
            "envoyy",
            " , ",
            "always-pull-images",
        )
        annotations["sidecar.injector/templates"] = dice.one(templates)
    if dice.chance(1):
        annotations["kubernetes.io/config.mirror"] = "0123"
    return annotations


def _spec(dice: Dice) -> Object:
    volumes = _volumes(dice)
    mountable = [volume["name"] for volume in volumes]
    windows = dice.chance(2)
    names = list(dict.fromkeys(dice.one(_NAMES) for _ in range(dice.one((1, 1, 1, 2, 2, 3, 5)))))
    spec: Object = {}
    if dice.chance(25):
        spec["initContainers"] = [_init(dice, f"init-{n}", mountable) for n in range(dice.number(1, 2))]
    spec["containers"] = [_container(dice, name, mountable) for name in names]
    if volumes or dice.chance(5):
        spec["volumes"] = volumes
    if dice.chance(50):
        spec |= {"serviceAccountName": "default", "dnsPolicy": "ClusterFirst", "schedulerName": "default-scheduler"}
    for field, percent, values in _POD_FIELDS:
        if dice.chance(percent):
            spec[field] = dice.one(values)
    if windows:
        spec["os"] = {"name": "windows"}
    return spec


_POD_FIELDS: tuple[tuple[str, float, tuple[Any, ...]], ...] = (
    ("hostNetwork", 5, (True, True, False)),
    ("hostPID", 2, (True,)),
    ("shareProcessNamespace", 4, (True,)),
    ("restartPolicy", 30, ("Always", "Never", "OnFailure")),
    ("terminationGracePeriodSeconds", 30, (30, 0, 5, 3600)),
    (
        "securityContext",
        35,
        (
            {},
            {"runAsNonRoot": True},
            {"runAsUser": 1337},
            {"runAsUser": 1000, "fsGroup": 2000, "seccompProfile": {"type": "RuntimeDefault"}},
            {"sysctls": [{"name": "net.ipv4.ip_unprivileged_port_start", "value": "0"}]},
        ),
    ),
    ("nodeSelector", 8, ({"kubernetes.io/os": "linux"}, {"kubernetes.io/os": "windows"}, {"disk": "ssd"})),
    ("tolerations", 15, ([{"operator": "Exists"}], [{"key": "a", "value": "b", "effect": "NoSchedule"}])),
    ("imagePullSecrets", 8, ([{"name": "pull"}], [])),
    ("automountServiceAccountToken", 5, (False,)),
    ("resources", 3, ({"limits": {"cpu": "1", "memory": "512Mi"}}, {"requests": {"cpu": "10m"}})),
    ("hostAliases", 3, ([{"ip": "127.0.0.1", "hostnames": ["self"]}],)),
    ("dnsConfig", 3, ({"options": [{"name": "ndots", "value": "2"}]},)),
    ("topologySpreadConstraints", 2, ([{"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway"}],)),
    ("priorityClassName", 3, ("system-node-critical", "high")),
    ("enableServiceLinks", 10, (True, False)),
    ("activeDeadlineSeconds", 2, (60,)),
    ("unknownField", 1, ({"a": [1, None]},)),
)


def _volumes(dice: Dice) -> list[Object]:
    known: list[Object] = [
        {"name": "data", "emptyDir": {}},
        {"name": "config", "configMap": {"name": "config", "defaultMode": 420}},
        {"name": "secret", "secret": {"secretName": "keys"}},
        {"name": "claim", "persistentVolumeClaim": {"claimName": "data-0"}},
        {"name": "host", "hostPath": {"path": "/var/log"}},
        {"name": "info", "downwardAPI": {"items": [{"path": "labels", "fieldRef": {"fieldPath": "metadata.labels"}}]}},
        {"name": "envoy-config", "emptyDir": {"medium": "Memory"}},
        {"name": "nginx-temp", "emptyDir": {"sizeLimit": "1Gi"}},
    ]
    weights = (30, 25, 15, 10, 4, 4, 2, 3)
    found = [volume for volume, percent in zip(known, weights, strict=True) if dice.chance(percent)]
    if dice.chance(50):
        token = {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}}
        name = f"kube-api-access-{dice.one(('x7k2p', 'abcde', '42424'))}"
        found.append({"name": name, "projected": {"defaultMode": 420, "sources": [token]}})
    return found


def _init(dice: Dice, name: str, mountable: list[str]) -> Object:
    made = _container(dice, name, mountable)
    if dice.chance(30):
        return {**made, "restartPolicy": "Always"}  # a native sidecar of the author's own
    return {field: value for field, value in made.items() if not field.endswith("Probe") and field != "lifecycle"}


def _container(dice: Dice, name: str, mountable: list[str]) -> Object:
    made: Object = {"name": name, "image": dice.one(_IMAGES)}
    if dice.chance(20):
        made["command"] = dice.one((["/app"], ["sh", "-c", "exec app"], []))
    if dice.chance(20):
        made["args"] = dice.one((["--port=8080"], ["a b", "$(PORT)", "'"]))
    if dice.chance(75):
        made["ports"] = _ports(dice)
    if dice.chance(45):
        made["env"] = _env(dice)
    if dice.chance(6):
        made["envFrom"] = dice.one(
            ([{"configMapRef": {"name": "env"}}], [{"secretRef": {"name": "env"}, "prefix": "S_"}])
        )
    if dice.chance(55):
        made["resources"] = dice.one(_RESOURCES)
    for field, percent in (("livenessProbe", 25), ("readinessProbe", 35), ("startupProbe", 10)):
        if dice.chance(percent):
            made[field] = _probe(dice)
    if dice.chance(8):
        handler: Object = dice.one(({"sleep": {"seconds": 5}}, {"exec": {"command": ["sleep", "5"]}}))
        made["lifecycle"] = {"preStop": handler}
    if dice.chance(30):
        made["securityContext"] = dice.one(_SECURITY)
    mounts = [{"name": volume, "mountPath": _mount_path(volume)} for volume in mountable if dice.chance(60)]
    if mounts:
        made["volumeMounts"] = mounts
    if dice.chance(50):
        made["imagePullPolicy"] = dice.one(("IfNotPresent", "Always", "Never"))
    if dice.chance(30):
        made |= {"terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File"}
    return made


def _mount_path(volume: str) -> str:
    return _TOKEN if volume.startswith("kube-api-access") else f"/{volume}"


_RESOURCES: tuple[Object, ...] = (
    {},
    {"requests": {"cpu": "100m", "memory": "128Mi"}},
    {"requests": {"cpu": "250m", "memory": "64Mi"}, "limits": {"cpu": 1, "memory": "1Gi"}},
    {"limits": {"memory": "256Mi"}},
    {"limits": {"cpu": "20m", "memory": "32Mi", "ephemeral-storage": "1Gi"}},
    {"limits": {"nvidia.com/gpu": 1}},
    {"requests": {"cpu": "0.5"}},
)
_SECURITY: tuple[Object, ...] = (
    {},
    {"runAsUser": 1337},
    {"runAsUser": 0},
    {"privileged": True},
    {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}, "runAsNonRoot": True},
    {"capabilities": {"add": ["NET_BIND_SERVICE"]}},
    {"readOnlyRootFilesystem": True, "seccompProfile": {"type": "Unconfined"}},
    {"windowsOptions": {"runAsUserName": "ContainerUser"}},
)


def _ports(dice: Dice) -> list[Object]:
    known: list[Object] = [
        {"containerPort": 8080},
        {"containerPort": 8080, "name": "http", "protocol": "TCP"},
        {"containerPort": 9090, "name": "metrics"},
        {"containerPort": 5353, "protocol": "UDP"},
        {"containerPort": 80},
        {"containerPort": 9113, "name": "exporter"},
        {"containerPort": 15006},
        {"containerPort": 15001, "protocol": "UDP"},
        {"containerPort": 443, "hostPort": 443},
    ]
    weights = (50, 25, 15, 8, 8, 2, 2, 2, 2)
    return [port for port, percent in zip(known, weights, strict=True) if dice.chance(percent)]


def _env(dice: Dice) -> list[Object]:
    known: list[Object] = [
        {"name": "PORT", "value": "8080"},
        {"name": "LOG_LEVEL", "value": dice.one(("info", "", "{{ x }}", "a\nb"))},
        {"name": "POD_NAME", "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.name"}}},
        {"name": "PASSWORD", "valueFrom": {"secretKeyRef": {"name": "keys", "key": "password"}}},
        {"name": "MODE", "valueFrom": {"configMapKeyRef": {"name": "config", "key": "mode", "optional": True}}},
        {"name": "CPU", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu"}}},
        {"name": "HTTP_PROXY", "value": "http://proxy.example:3128"},
        {"name": "AGONES_SDK_GRPC_PORT", "value": "1"},
        {"name": "EMPTY"},
    ]
    return dice.some(known, 4)


def _probe(dice: Dice) -> Object:
    handlers: tuple[Object, ...] = (
        {"httpGet": {"path": "/healthz", "port": 8080}},
        {"httpGet": {"path": "/", "port": "http", "scheme": "HTTPS"}},
        {"tcpSocket": {"port": 8080}},
        {"exec": {"command": ["true"]}},
        {"grpc": {"port": 9090, "service": "a"}},
        {"tcpSocket": {"port": "nobody"}},
    )
    return {
        **dice.one(handlers),
        **dice.one(({}, {"periodSeconds": 5, "failureThreshold": 3}, {"initialDelaySeconds": 9})),
    }


def _misshapen(dice: Dice, made: Object) -> Object:
    """A pod that the API server would decode and not take, or not even decode."""
    spec = made["spec"]
    first = spec["containers"][0]
    way = dice.number(0, 9)
    if way == 0:
        return {**made, "spec": {**spec, "containers": []}}
    if way == 1:
        return {**made, "spec": {**spec, "containers": [first, first]}}
    if way == 2:
        return {**made, "spec": {**spec, "containers": [{k: v for k, v in first.items() if k != "name"}]}}
    if way == 3:
        return {**made, "spec": {**spec, "containers": [{**first, "env": {"A": "b"}}]}}
    if way == 4:
        return {**made, "spec": {**spec, "volumes": None, "initContainers": None}}
    if way == 5:
        return {**made, "spec": {**spec, "volumes": [{"name": "data"}, {"name": "data", "emptyDir": {}}]}}
    if way == 6:
        return {**made, "metadata": None}
    if way == 7:
        return {**made, "spec": {**spec, "containers": [{**first, "ports": [{"containerPort": "8080"}]}]}}
    if way == 8:
        return {**made, "spec": None}
    return {**made, "metadata": {**made["metadata"], "annotations": {"number": 1}}}


# ------------------------------------------------------------------------------------------------- a template's part


def _concerning(template: str, dice: Dice, made: Object) -> Object:
    """The pod with parameters of a template now and then, and with a container that is called as its sidecar is."""
    if not isinstance(made["metadata"], dict) or not isinstance(made["spec"], dict):
        return made
    known = PARAMETERS.get(template, {})
    given = {f"{template}.sidecar.injector/{key}": dice.one(known[key]) for key in _parameters(dice, list(known))}
    if given:
        metadata = made["metadata"]
        made = {**made, "metadata": {**metadata, "annotations": {**(metadata.get("annotations") or {}), **given}}}
    if dice.chance(6):
        own = _container(dice, _SIDECARS.get(template, template), [])
        spec = made["spec"]
        field = dice.one(("containers", "containers", "initContainers"))
        if dice.chance(50):
            own = {key: own[key] for key in ("name", "image", "resources", "env", "args") if key in own}
        made = {**made, "spec": {**spec, field: [*(spec.get(field) or []), own]}}
    return made


def _parameters(dice: Dice, known: list[str]) -> list[str]:
    return dice.some(known, 3) if dice.chance(45) else []


# ------------------------------------------------------------------------------------------------- afterwards


def handled(pod: Object, way: int) -> Object:
    """An injected pod as the injector may see it again: `way` says who has had it in hand."""
    return _WAYS[way % len(_WAYS)](pod)


def _with_spec(pod: Object, **fields: Any) -> Object:
    return {**pod, "spec": {**pod["spec"], **fields}}


def _with_annotations(pod: Object, **given: str | None) -> Object:
    """The pod with these annotations behind the injector's prefix; None takes one away."""
    metadata = pod["metadata"]
    annotations = {**metadata["annotations"], **{f"sidecar.injector/{key}": value for key, value in given.items()}}
    kept = {key: value for key, value in annotations.items() if value is not None}
    return {**pod, "metadata": {**metadata, "annotations": kept}}


#: As the ServiceAccount plugin has them.
_TOKEN_SOURCES: list[Object] = [
    {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
    {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
    {
        "downwardAPI": {
            "items": [{"path": "namespace", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}}]
        }
    },
]


def _filled(pod: Object) -> Object:
    """By the API server and its plugins: defaults, a token, a limit."""
    volume = {"name": "kube-api-access-zzzzz", "projected": {"defaultMode": 420, "sources": _TOKEN_SOURCES}}
    mount = {"name": volume["name"], "mountPath": _TOKEN, "readOnly": True}

    def one(container: Object) -> Object:
        ports = [{"protocol": "TCP", **port} for port in container.get("ports") or []]
        resources = container.get("resources") or {}
        return {
            "imagePullPolicy": "IfNotPresent",
            "terminationMessagePath": "/dev/termination-log",
            **container,
            **({"ports": ports} if ports else {}),
            "resources": {**resources, "limits": {"cpu": "2", **(resources.get("limits") or {})}},
            "volumeMounts": [*(container.get("volumeMounts") or []), mount],
        }

    spec = pod["spec"]
    lists = {field: [one(c) for c in spec[field]] for field in ("initContainers", "containers") if spec.get(field)}
    return _with_spec(pod, volumes=[*(spec.get("volumes") or []), volume], restartPolicy="Always", **lists)


def _without_last(field: str, pod: Object) -> Object:
    return _with_spec(pod, **{field: (pod["spec"].get(field) or [])[:-1]})


def _of_another_image(pod: Object) -> Object:
    inits = pod["spec"].get("initContainers") or []
    return _with_spec(
        pod, initContainers=[*inits[:-1], *({**c, "image": "registry.example/other:9"} for c in inits[-1:])]
    )


def _with_another(pod: Object) -> Object:
    another = {"name": "another", "image": "registry.example/another:1", "ports": [{"containerPort": 7777}]}
    return _with_spec(pod, containers=[*pod["spec"]["containers"], another])


_FORGED = '{"version":1,"generation":"0","templates":{},"added":["/spec/containers/app","/spec/volumes/data"]}'
_WAYS: tuple[Callable[[Object], Object], ...] = (
    lambda pod: pod,
    _filled,
    _with_another,
    partial(_without_last, "volumes"),
    partial(_without_last, "initContainers"),
    _of_another_image,
    lambda pod: _with_annotations(pod, receipt=_FORGED),
    lambda pod: _with_annotations(pod, receipt=None),
    lambda pod: _with_annotations(pod, status=None),
)
