"""A real Prometheus scrapes real replicas: alerts fire for their causes alone, every panel has its lines."""

from __future__ import annotations

import json
import os
import signal
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.request import Request, urlopen

import pytest

from bench.picture import Panel, panels
from injector.cluster.installation import KINDS
from tests.cluster.api import ApiError, Object
from tests.cluster.balancer import Balancer
from tests.cluster.builtin import BuiltinInstallation, Install, wait_in_order
from tests.cluster.certificates import Authority
from tests.cluster.controlplane import ControlPlane
from tests.cluster.objects import deployment, pod
from tests.cluster.processes import eventually, free_port
from tests.cluster.prometheus import Prometheus
from tests.cluster.server import PROJECT, InjectorServer
from tests.deploy.helm import Helm, one

pytestmark = pytest.mark.programs

#: Its cause is a core that is used up for minutes: promtool alone tries it, in tests/deploy.
_NOT_HERE = {"InjectorBusy"}
_DAY = 86400
#: A template with a file, of which the injector makes a ConfigMap.
_NGINX = {"sidecar.injector/templates": "nginx"}
_PORT = {"nginx.sidecar.injector/app-port": "8080"}
#: A machine that is busy with other tests is a cause of its own.
_OF_THE_MACHINE = {"InjectorHangs", "InjectorSlow"}
_PICTURE = PROJECT / "docs" / "dashboard.svg"


class ApiServerBehind:
    """The API server, as a balancer takes what stands behind it."""

    def __init__(self, control_plane: ControlPlane) -> None:
        self.address, _, port = control_plane.server.removeprefix("https://").partition(":")
        self.port = int(port)

    def status(self, path: str) -> int:
        return 200


class Scene:
    """Two replicas with built-in certificates that take calls; one beside them, `other`, that can be cut off."""

    def __init__(self, control_plane: ControlPlane, install: Install, folder: Path) -> None:
        self.control_plane = control_plane
        self.api = control_plane.api
        self.folder = folder
        self._install = install
        self.at: BuiltinInstallation = install()
        self.at.configure()
        self.api.patch("Namespace", self.at.shop, {"metadata": {"annotations": _PORT}})
        self.replicas = [self.at.server(), self.at.server()]
        wait_in_order(self.at)
        objects = Helm().objects(
            {
                "fullnameOverride": self.at.name,
                "metrics": {"prometheusRule": {"enabled": True}, "dashboard": {"enabled": True}},
                "settings": {"namespaceLabel": {"key": self.at.name}},
            }
        )
        found = one(objects, "ConfigMap", f"{self.at.name}-dashboard")["data"][f"{self.at.name}.json"]
        self.dashboard: Object = json.loads(found)
        self.rules: Object = one(objects, "PrometheusRule", self.at.name)["spec"]
        (folder / "prometheus").mkdir()
        self.prometheus = Prometheus(control_plane, folder / "prometheus", [], self.rules, self.at.name)
        self.targets = [*self.replicas]
        self.scraped()
        self._numbers = iter(range(1_000_000))

    def scraped(self, *more: InjectorServer) -> None:
        """Have Prometheus scrape these besides the two."""
        self.targets += more
        self.prometheus.scrape([f"127.0.0.1:{server.metrics_port}" for server in self.targets])

    def create(self, **fields: Any) -> bool:
        """Whether a pod comes into being."""
        try:
            self.api.create(pod(f"p-{next(self._numbers)}", **fields), self.at.shop)
        except ApiError:
            return False
        return True

    def fires(self, alert: str, cause: Callable[[], object] = lambda: None, every: float = 0.5) -> None:
        """The alert fires when its cause goes on."""

        def firing() -> bool:
            cause()
            return alert in self.prometheus.firing()

        eventually(f"{alert} fires", firing, 240, every)

    def have_a_file_made_slowly(self) -> None:
        """Ask for a pod of a new workload with a ConfigMap, while the API server takes its time."""
        number = next(self._numbers)
        asked = pod("slow", annotations={**_NGINX, "nginx.sidecar.injector/listen-port": str(number + 20_000)})
        owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "slow", "uid": f"uid-{number}"}
        asked["metadata"]["ownerReferences"] = [{**owner, "controller": True}]
        review = {
            "uid": f"slow-{number}",
            "kind": {"group": "", "version": "v1", "kind": "Pod"},
            "resource": {"group": "", "version": "v1", "resource": "pods"},
            "operation": "CREATE",
            "namespace": self.at.shop,
            "object": asked,
        }
        body = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": review}
        process = self.control_plane._processes["kube-apiserver"].pid
        os.kill(process, signal.SIGSTOP)
        threading.Timer(0.8, os.kill, (process, signal.SIGCONT)).start()
        assert ask(self.replicas[0], json.dumps(body).encode()) == 200

    def cut_off_replica(self) -> Iterator[InjectorServer]:
        """A replica with a certificate from a file, by way of a balancer that goes away at the second step."""
        port = free_port()
        with Balancer("127.0.0.1", port, [ApiServerBehind(self.control_plane)]):
            config = json.loads(self.control_plane.kubeconfig.read_text())
            config["clusters"][0]["cluster"]["server"] = f"https://127.0.0.1:{port}"
            kubeconfig = self.folder / "by-way"
            kubeconfig.write_text(json.dumps(config))
            (self.folder / "other").mkdir()
            server = InjectorServer(self.control_plane, self.folder / "other", kubeconfig=kubeconfig)
            server.write_certificate(days=90)
            server.start()
            yield server
        yield server


def ask(server: InjectorServer, body: bytes) -> int:
    """POST to its webhook, as somebody who is not the API server might; the HTTP status."""
    context = ssl._create_unverified_context()
    request = Request(f"https://127.0.0.1:{server.port}/mutate", body, {"Content-Type": "application/json"})
    try:
        with urlopen(request, timeout=30, context=context) as answer:
            return int(answer.status)
    except URLError as error:
        return int(getattr(error, "code", 0))


@pytest.fixture
def scene(control_plane: ControlPlane, install: Install, tmp_path: Path) -> Iterator[Scene]:
    made = Scene(control_plane, install, tmp_path)
    yield made
    made.prometheus.stop()


def test_alerts_fire_for_their_causes_alone_and_panels_have_data(scene: Scene, request: pytest.FixtureRequest) -> None:
    began = time.time()
    expected: set[str] = set()

    def silent() -> None:
        assert set(scene.prometheus.firing()) <= expected | _OF_THE_MACHINE

    def add(*alerts: str) -> None:
        silent()
        expected.update(alerts)

    # All is well: pods come, settings are in use.
    eventually("both are scraped", lambda: len(scene.prometheus.query("injector_snapshot_info")) == 2)
    scene.api.create(deployment("calm", 2, nodeName=None), scene.at.shop)
    end = time.monotonic() + 15
    while time.monotonic() < end:
        assert scene.create()
        scene.api.patch("Deployment", "calm", {"spec": {"replicas": 2 + int(end - time.monotonic())}}, scene.at.shop)
        time.sleep(0.1)
    silent()

    # A replica with other settings, whose certificate ends soon.
    others = scene.cut_off_replica()
    other = next(others)
    scene.scraped(other)
    add("InjectorReplicasDiffer")
    scene.fires("InjectorReplicasDiffer")
    add("InjectorCertificateEnds")
    other.write_certificate(days=20)
    scene.fires("InjectorCertificateEnds")
    add("InjectorCertificateRefused")
    other.certificate_file.write_text("no certificate")
    scene.fires("InjectorCertificateRefused")
    next(others)  # its API server is gone
    add("InjectorCutOff")

    # An authority that nobody replaced.
    add("InjectorAuthorityEnds")
    second = scene._install(lifeSeconds=20 * _DAY, authorityLifeSeconds=99 * _DAY)
    second.folder = scene.folder / "second"
    second.folder.mkdir()
    second.configure()
    scene.scraped(second.server(behind=False))
    scene.fires("InjectorAuthorityEnds")

    # A leader of `repair` that has stopped.
    add("InjectorRepairStopped")
    stopped = {"name": "stopped", "annotations": {"sidecar.injector/repair-stopped": "shop deployment/web: bare"}}
    scene.api.create({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": stopped}, scene.at.name)
    (scene.folder / "repair").mkdir()
    settings = {"repair": {"mode": "missing", "lease": "stopped"}, "certificates": {"webhooks": scene.at.name}}
    repair = InjectorServer(
        scene.control_plane, scene.folder / "repair", settings, arguments=[f"--namespace={scene.at.name}"]
    )
    repair.write_certificate(days=90)
    repair.start()
    scene.scraped(repair)
    scene.fires("InjectorRepairStopped")
    repair.stop()

    # What pods meet.
    add("PodsWithoutSidecar")
    scene.fires("PodsWithoutSidecar", lambda: scene.create(annotations={"sidecar.injector/templates": "no-such"}))
    add("InjectorFails")
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "none"}}
    scene.api.create({**quota, "spec": {"hard": {"count/configmaps": "0"}}}, scene.at.shop)
    scene.api.create(deployment("with-file", annotations=_NGINX), scene.at.shop)
    scene.fires("InjectorFails")
    scene.api.delete("Deployment", "with-file", scene.at.shop)
    scene.api.delete("ResourceQuota", "none", scene.at.shop)
    add("InjectorSlow")
    scene.fires("InjectorSlow", scene.have_a_file_made_slowly)
    add("InjectorUnreadable")
    scene.fires("InjectorUnreadable", lambda: ask(scene.replicas[0], b"{"))

    # What somebody does to settings, certificates and the process.
    add("InjectorReloadFailing")
    before = scene.replicas[0].settings_file.read_text()
    scene.replicas[0].settings_file.write_text("templates: 7")
    scene.fires("InjectorReloadFailing")
    scene.replicas[0].settings_file.write_text(before)
    eventually("it is over", lambda: "InjectorReloadFailing" not in scene.prometheus.firing())
    add("InjectorBundleFight")
    stranger = Authority("stranger").certificate

    def fight() -> None:
        if scene.at.bundles_fit():
            scene.at.set_bundle(KINDS[0], stranger, manager="flux")

    scene.fires("InjectorBundleFight", fight, 0.2)
    eventually("the last word is the injector's", scene.at.bundles_fit)
    add("InjectorHangs")
    assert scene.replicas[1].process
    late = scene.replicas[1].process.pid
    os.kill(late, signal.SIGSTOP)
    threading.Timer(3, os.kill, (late, signal.SIGCONT)).start()
    scene.fires("InjectorHangs")

    # Nobody answers.
    add("InjectorCallsRefused")
    for server in scene.replicas:
        server.stop()
    eventually("calls fail", lambda: not scene.create())
    scene.fires("InjectorCallsRefused", scene.create)
    add("InjectorNotCalled")
    for kind in KINDS:
        count = len(scene.at.configuration(kind)["webhooks"])
        patch = [{"op": "replace", "path": f"/webhooks/{n}/failurePolicy", "value": "Ignore"} for n in range(count)]
        scene.api.patch(kind, scene.at.name, patch, patch_type="json")
    scene.fires("InjectorNotCalled", scene.create)
    for server in scene.replicas:
        server.start()
    scene.at.put_behind(*scene.replicas)

    # Nobody leads: somebody else holds the Lease.
    add("InjectorWithoutLeader")
    scene.targets = [*scene.replicas, other]
    scene.scraped()

    def hold() -> None:
        now = time.strftime("%Y-%m-%dT%H:%M:%S.000000Z", time.gmtime())
        held = {"holderIdentity": "somebody", "renewTime": now, "acquireTime": now, "leaseDurationSeconds": 60}
        scene.api.patch("Lease", "sidecar-injector", {"spec": held}, scene.at.name, patch_type="merge")

    scene.fires("InjectorWithoutLeader", hold, 0.5)
    scene.api.delete("Lease", "sidecar-injector", scene.at.name)
    scene.fires("InjectorCutOff", scene.create)
    add()

    assert scene.create()
    drawn, empty = [], []
    end_of_all = time.time()
    for panel in scene.dashboard["panels"]:
        if panel["type"] == "row":
            continue
        lines = {}
        for target in panel["targets"]:
            found = scene.prometheus.lines(target, began, end_of_all)
            if not found:
                empty.append(f"{panel['title']}: {target['expr']}")
            lines |= found
        drawn.append(Panel(panel["title"], panel["fieldConfig"]["defaults"]["unit"], lines))
    if request.config.getoption("--update"):
        _PICTURE.write_text(panels("A Prometheus of the tests, with every failure made once", drawn))
    assert not empty

    # In the end it is gone.
    add("InjectorGone")
    for server in (*scene.replicas, other):
        server.stop()
    scene.fires("InjectorGone")
    add()
    assert expected | _NOT_HERE == {rule["alert"] for group in scene.rules["groups"] for rule in group["rules"]}
