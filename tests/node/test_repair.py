"""`repair`: after an outage the injector's leader evicts the pods that run without their sidecar, and no others."""

from __future__ import annotations

import base64
import json
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.request import urlopen

import pytest

from tests.cluster.api import Object
from tests.cluster.conftest import NamespaceFactory
from tests.cluster.controlplane import NODE
from tests.cluster.exposition import values_of
from tests.cluster.objects import events_about
from tests.cluster.processes import eventually
from tests.cluster.prometheus import Prometheus
from tests.deploy.helm import NAME, Helm, one
from tests.node import flags
from tests.node.bare_pods import (
    REPLICAS,
    Client,
    PodWatch,
    bare,
    live,
    make_workload,
    outage,
    replaced_all_the_time,
    seconds_until_none_is_bare,
    wait_until_all_are_ready,
)
from tests.node.calls import ENABLED, PORT, app
from tests.node.installation import Installation
from tests.node.stream import CHOSEN, SECRET, Doings
from tests.node.test_disruption import TIMES, created
from tests.node.test_prometheus import targets

Record = Callable[[str, object], None]
LEASE = "sidecar-injector-repair"
STOPPED = "sidecar.injector/repair-stopped"
PER_MINUTE = 30
#: Seconds in which the leader looks three times.
THREE_LOOKS = 100
#: Pods that get no sidecar, each with why: annotations and fields of the spec.
SKIPPED: dict[str, tuple[dict[str, str], Object]] = {
    "host-network": ({}, {"hostNetwork": True, "containers": [app(readinessProbe=None, args=["sleep"])]}),
    "nothing-to-serve": ({"sidecar.injector/templates": "nginx"}, {"containers": [app(ports=[])]}),
    "opted-out": ({"sidecar.injector/inject": "false"}, {}),
}


@pytest.fixture(scope="module")
def repairing(injector: Installation) -> Iterator[Installation]:
    """The injector installed by the chart, with three replicas and `repair`, in the place of deploy/install.yaml."""
    repair = {"mode": "missing", "perMinute": PER_MINUTE}
    with injector.by_chart(settings={"repair": repair}, replicas=REPLICAS):
        yield injector


@pytest.fixture
def healthy(repairing: Installation) -> Iterator[Installation]:
    """The same; nothing has stopped it, neither before nor afterwards."""
    assert not stopped(repairing)
    yield repairing
    assert not stopped(repairing)


def stopped(installation: Installation) -> str:
    """Why nothing is evicted any more, as the Lease says it; "" where nothing speaks against it."""
    metadata = installation.api.get("Lease", LEASE, NAME)["metadata"]
    return str(metadata.get("annotations", {}).get(STOPPED, ""))


def make_skipped(installation: Installation, space: str) -> int:
    """Deployments whose pods rightly have no sidecar; how many pods these are."""
    for name, (says, spec) in SKIPPED.items():
        make_workload(installation.api, "Deployment", name, 1, space, says, **spec)
    return len(SKIPPED)


def test_a_deployment_is_mended(healthy: Installation, namespace: NamespaceFactory, record_property: Record) -> None:
    """`repair`, after an outage: a Deployment of two replicas gets its sidecars; what rightly has none stays as it is,
    and so do the pods of a running namespace that is labelled
    """
    api = healthy.api
    running, space = namespace(annotations=CHOSEN), namespace(labels=ENABLED, annotations=CHOSEN)
    make_workload(api, "Deployment", "web", 2, running)
    with PodWatch(healthy.node, [running, space]) as watch:
        with outage(healthy):
            make_workload(api, "Deployment", "web", 2, space)
            count = 2 + make_skipped(healthy, space)
            assert len(bare(wait_until_all_are_ready(api, count, space))) == count
            wait_until_all_are_ready(api, 2, running)
            api.patch("Namespace", running, {"metadata": {"labels": ENABLED}})
        eventually_mended(healthy, space, "web", 240)
    record_property("pods evicted", len(watch.evictions))
    assert [(one.app, one.others_ready) for one in watch.evictions] == [("web", 1)] * 2
    events = [event for one in watch.evictions for event in events_about(api, space, one.pod)]
    assert [event["type"] for event in events if event["reason"] == "sidecar-missing"] == ["Normal"] * 2
    assert healthy.check() == {}


def eventually_mended(installation: Installation, space: str, name: str, within: float) -> None:
    """Until the pods of a Deployment have their sidecars, and are Ready."""

    def mended() -> bool:
        pods = [pod for pod in live(installation.api, space) if pod["metadata"]["labels"]["app"] == name]
        wanted = installation.api.get("Deployment", name, space)
        return not bare(pods) and wanted["status"].get("readyReplicas") == len(pods) == wanted["spec"]["replicas"]

    eventually(f"{name} has its sidecars", mended, within, every=0.2)


@pytest.mark.soak(minutes=5)
def test_a_running_namespace_is_labelled(
    healthy: Installation, namespace: NamespaceFactory, record_property: Record
) -> None:
    """`repair`: a running namespace of 12 pods is labelled, and none is evicted in three looks and more"""
    api, space = healthy.api, namespace(annotations=CHOSEN)
    for number in range(4):
        make_workload(api, "Deployment", f"web-{number}", 3, space)
    wait_until_all_are_ready(api, 12, space)
    with PodWatch(healthy.node, [space]) as watch:
        api.patch("Namespace", space, {"metadata": {"labels": ENABLED}})
        time.sleep(THREE_LOOKS)
        with outage(healthy):  # that it looked is shown by what is younger than the label
            make_workload(api, "Deployment", "late", 2, space)
            wait_until_all_are_ready(api, 14, space)
        eventually_mended(healthy, space, "late", 240)
        time.sleep(THREE_LOOKS / 3)
    assert [one.app for one in watch.evictions] == ["late"] * 2
    record_property("pods evicted that came after the label, in another outage", len(watch.evictions))
    record_property("pods evicted that were there", 0)


@pytest.mark.soak(minutes=5)
def test_what_rightly_has_no_sidecar(
    healthy: Installation, namespace: NamespaceFactory, record_property: Record
) -> None:
    """`repair`, after an outage: among bare pods some are on the host network, have nothing to serve, or opt out; none
    of these is evicted in three looks and more, and the others are
    """
    api, space = healthy.api, namespace(labels=ENABLED, annotations=CHOSEN)
    with PodWatch(healthy.node, [space]) as watch:
        with outage(healthy):
            skipped = make_skipped(healthy, space)
            for number in range(3):
                make_workload(api, "Deployment", f"web-{number}", 2, space)
            wait_until_all_are_ready(api, skipped + 6, space)
        for number in range(3):
            eventually_mended(healthy, space, f"web-{number}", 240)
        time.sleep(THREE_LOOKS)
    assert sorted(one.app for one in watch.evictions) == [f"web-{number}" for number in range(3) for _ in range(2)]
    record_property("pods evicted of the others", f"{len(watch.evictions)} of 6")
    record_property("of these", 0)


# --------------------------------------------------------------------------------------------- a whole cluster

#: The workloads of a namespace: kind, name, pods. Budgets allow one pod of `web` to be away, and of `api`.
_OF_MOST = [("Deployment", "web", 3), ("Deployment", "api", 3), ("StatefulSet", "store", 3), ("Deployment", "jobs", 3)]
_OF_FIRST = [("Deployment", "web", 3), ("Deployment", "api", 4), ("StatefulSet", "store", 3), ("Deployment", "two", 2)]
_OF_LAST = [("Deployment", "web", 4), ("Deployment", "api", 4), ("StatefulSet", "store", 3), ("DaemonSet", "agent", 1)]


@pytest.mark.soak(minutes=15)
def test_a_whole_cluster(healthy: Installation, namespace: NamespaceFactory, record_property: Record) -> None:
    """`repair` with `perMinute: 30`: the whole cluster is stopped and started, with a new node, the injector last: 60
    bare pods of 20 workloads have their sidecars; each eviction leaves what PodDisruptionBudgets want, and a Deployment
    of two replicas answers throughout
    """
    api, node = healthy.api, healthy.node
    spaces = [namespace(labels=ENABLED, annotations=CHOSEN) for _ in range(5)]
    for space, workloads in zip(spaces, [_OF_FIRST, *[_OF_MOST] * 3, _OF_LAST], strict=True):
        make_budgets(healthy, space)
        for kind, name, pods in workloads:
            # where its address is called, an app goes on while all learn that it ends
            ends = {"preStop": {"sleep": {"seconds": 2}}} if name == "two" else None
            make_workload(api, kind, name, pods, space, containers=[app(lifecycle=ends)])
    spec = {"selector": {"app": "two"}, "ports": [{"port": PORT}]}
    two = api.create({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "two"}, "spec": spec}, spaces[0])
    before = wait_until_all_are_ready(api, 60, *spaces)
    assert not bare(before)
    healthy.scale(0)
    node.stop_all()
    node.start_all_again(lambda: lose_node(healthy, spaces, before))
    after = wait_until_all_are_ready(api, 60, *spaces)
    assert len(bare(after)) == 60
    record_property("bare pods", len(bare(after)))
    with Client(two["spec"]["clusterIP"]) as client, PodWatch(node, spaces) as watch:
        healthy.scale(REPLICAS)
        seconds = seconds_until_none_is_bare(api, *spaces, within=300)
        time.sleep(THREE_LOOKS / 3)
    record_property("seconds until none is bare, after the injector", f"{seconds:.0f}")
    record_property("evictions", len(watch.evictions))
    record_property("at most in a minute", watch.most_in_a_minute())
    record_property("requests that failed", f"{len(client.failures)} of {client.asked}")
    assert len(watch.evictions) == 60 and all(one.was_bare for one in watch.evictions)
    assert watch.most_in_a_minute() <= PER_MINUTE
    assert watch.least_ready("web") >= 2 and watch.least_ready("api") >= 2
    assert not client.failures and client.asked > 1000


def make_budgets(installation: Installation, space: str) -> None:
    """At least two pods of `web` have to be there, and at most one of `api` may be away."""
    for name, limit in (("web", {"minAvailable": 2}), ("api", {"maxUnavailable": 1})):
        spec = {**limit, "selector": {"matchLabels": {"app": name}}}
        budget = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": name}, "spec": spec}
        installation.api.create(budget, space)


def lose_node(installation: Installation, spaces: list[str], before: list[Object]) -> None:
    """The node is another one after the stop, as in a cloud: none of the pods that ran on it is left."""
    api, gone = installation.api, {pod["metadata"]["uid"] for pod in before}
    api.delete("Node", NODE)

    def others() -> bool:
        return not gone & {pod["metadata"]["uid"] for space in spaces for pod in api.list("Pod", space)}

    eventually("Kubernetes has removed the pods of the node that is gone", others, 300)


# ------------------------------------------------------------------------------------------ replicas are killed


@pytest.mark.soak(minutes=10)
def test_killed_replicas(healthy: Installation, namespace: NamespaceFactory, record_property: Record) -> None:
    """`repair`: three replicas killed by SIGKILL at once, then each in turn, twice, while pods on trial and others are
    created: two minutes later no pod is bare
    """
    api = healthy.api
    spaces = [namespace(labels=ENABLED, annotations=CHOSEN) for _ in range(5)]
    for space in spaces:
        for number in range(4):
            make_workload(api, "Deployment", f"web-{number}", 4, space)
    wait_until_all_are_ready(api, 80, *spaces)
    doings = Doings(healthy)
    doings.upgraded()  # containers that were killed before wait longer and longer
    with PodWatch(healthy.node, spaces) as watch:
        with (
            created(healthy, spaces[0], lambda what, number: record_property(f"{what}, on trial", number)),
            replaced_all_the_time(api, spaces, 0.3),
        ):
            doings.killed_at_once()
            for _ in range(TIMES - 1):
                doings.killed()
        began = time.monotonic()
        left = bare(live(api, *spaces))
        seconds = seconds_until_none_is_bare(api, *spaces, within=120)
        time.sleep(max(0, began + 120 - time.monotonic()))
        assert not bare(live(api, *spaces))
    record_property("others that came without their sidecar", len(watch.came_bare))
    record_property("bare at the end", len(left))
    record_property("seconds until none is", f"{seconds:.0f}")
    assert watch.came_bare, "there was something to mend"
    assert {one.was_bare for one in watch.evictions} == {True}


# --------------------------------------------------------------------------------------- the injector is broken


class _Allowing(BaseHTTPRequestHandler):
    """Allows everything, and gives it nothing."""

    def do_POST(self) -> None:
        review = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        answer = {"uid": review["request"]["uid"], "allowed": True}
        body = json.dumps({**{key: review[key] for key in ("apiVersion", "kind")}, "response": answer}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def answered_without_patch(installation: Installation, folder: Path) -> Iterator[None]:
    """Behind the injector's Service is another server inside, with its certificate, which patches nothing."""
    api = installation.api
    secret = api.get("Secret", SECRET, NAME)["data"]
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    (folder / "pair.pem").write_bytes(b"".join(base64.b64decode(secret[key]) for key in ("tls.key", "tls.crt")))
    context.load_cert_chain(folder / "pair.pem")
    server = ThreadingHTTPServer((flags.ADDRESS, 0), _Allowing)
    server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    service = api.get("Service", NAME, NAME)["spec"]
    port = {"name": service["ports"][0].get("name", ""), "port": server.server_port, "protocol": "TCP"}
    labels = {"kubernetes.io/service-name": NAME, "endpointslice.kubernetes.io/managed-by": "test.example"}
    broken: Object = {"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": "IPv4"}
    broken |= {"metadata": {"name": "broken", "labels": labels}, "ports": [port]}
    broken |= {"endpoints": [{"addresses": [flags.ADDRESS], "conditions": {"ready": True}}]}
    selects = dict.fromkeys(service["selector"])
    api.patch("Service", NAME, {"spec": {"selector": {**selects, "app": "broken"}}}, NAME)
    api.create(broken, NAME)
    try:
        yield
    finally:
        api.patch("Service", NAME, {"spec": {"selector": {"app": None, **service["selector"]}}}, NAME)
        api.delete("EndpointSlice", "broken", NAME)
        server.shutdown()
        server.server_close()


@contextmanager
def watched_by_prometheus(installation: Installation, folder: Path) -> Iterator[Prometheus]:
    """A Prometheus with the chart's alerts."""
    values = {"metrics": {"prometheusRule": {"enabled": True}}}
    rules = one(Helm(4).objects(values), "PrometheusRule", NAME)["spec"]
    prometheus = Prometheus(installation.node, folder, targets(installation), rules)
    try:
        yield prometheus
    finally:
        prometheus.stop()


def metric(installation: Installation, name: str) -> float:
    """The sum over all replicas."""
    found = 0.0
    for pod in installation.pods():
        with urlopen(f"http://{pod['status']['podIP']}:9443/metrics", timeout=10) as answer:
            found += sum(values_of(answer.read().decode(), name, {}))
    return found


def logs(installation: Installation) -> str:
    """Of all replicas."""
    pods = [pod["metadata"]["name"] for pod in installation.pods()]
    return "".join(installation.node.kubectl("logs", "-n", NAME, pod).stdout for pod in pods)


@pytest.mark.soak(minutes=10)
def test_the_injector_is_broken(
    repairing: Installation, namespace: NamespaceFactory, tmp_path: Path, record_property: Record
) -> None:
    """`repair`, and an injector that answers without a patch: in each of two namespaces one pod of 6 is evicted, and
    then no other, also after a restart of all replicas, until the annotation is taken from the Lease
    """
    api = repairing.api
    spaces = [namespace(labels=ENABLED, annotations=CHOSEN) for _ in range(2)]
    with PodWatch(repairing.node, spaces) as watch:
        repairing.scale(0)
        for space in spaces:
            for number in range(3):
                make_workload(api, "Deployment", f"web-{number}", 2, space)
        assert len(bare(wait_until_all_are_ready(api, 12, *spaces))) == 12
        with answered_without_patch(repairing, tmp_path), watched_by_prometheus(repairing, tmp_path) as prometheus:
            repairing.scale(REPLICAS)
            prometheus.scrape(targets(repairing))
            began = time.monotonic()
            eventually("it has stopped", lambda: stopped(repairing), 240)
            record_property("seconds until it stops", f"{time.monotonic() - began:.0f}")
            eventually("the metric says so", lambda: metric(repairing, "injector_repair_stopped") >= 1, 60)
            eventually("the alert fires", lambda: "InjectorRepairStopped" in prometheus.firing(), 60, every=0.5)
            said = [(event["type"], event["involvedObject"]["kind"]) for event in events_about(api, NAME, LEASE)]
            assert said == [("Warning", "Lease")]
            assert logs(repairing).count('"repair-stopped"') == 1
            assert "repair" in repairing.check()
            time.sleep(THREE_LOOKS)
            Doings(repairing).upgraded()
            eventually("the metric says it again", lambda: metric(repairing, "injector_repair_stopped") >= 1, 120)
            time.sleep(THREE_LOOKS * 2 / 3)
        assert len(bare(live(api, *spaces))) == 12
    assert len(watch.evictions) == 2
    record_property("pods evicted", len(watch.evictions))
    repairing.node.kubectl("annotate", "lease", LEASE, "-n", NAME, f"{STOPPED}-")
    seconds = seconds_until_none_is_bare(api, *spaces, within=240)
    record_property("seconds until none is bare, when the annotation is gone", f"{seconds:.0f}")
    eventually("the metric says so", lambda: metric(repairing, "injector_repair_stopped") == 0, 120)
