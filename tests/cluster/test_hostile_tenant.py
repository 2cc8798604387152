"""What a tenant writes on what is his, and what becomes of it, is his own affair: the others' workloads are mended."""

from __future__ import annotations

import contextlib
import json
import logging
import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path

import pytest

from injector.cluster.rollout.lease_brake import STOPPED_KEY
from tests import command
from tests.cluster.api import Api, ApiError, Object
from tests.cluster.conftest import NamespaceFactory
from tests.cluster.controlplane import ControlPlane
from tests.cluster.exposition import values_of
from tests.cluster.installed import Installed
from tests.cluster.objects import config_map, deployment, pod, pods_of, wait_until_available
from tests.cluster.outage import LEASE, QUICK, Outage
from tests.cluster.processes import eventually
from tests.cluster.rollout_shop import (
    MANIFEST,
    MARK,
    OVERLAY,
    Shop,
    Started,
    budget,
    names,
    stateful_set,
    wait_for_stateful_set,
)
from tests.cluster.team import NAMED, TEAMS, TEMPLATE, author_in, container, files
from tests.unit.webhook.test_connections import peak_mib

_log = logging.getLogger(__name__)
ON = {"teamTemplates": {"namespaces": {"matchLabels": {"teams": "own-templates"}}}, "templates": ["envoy"]}
FAR = "2199-01-01T00:00:00Z"
PREFIX = "sidecar.injector/"


def mark(started: str, renewed: str) -> str:
    return json.dumps({"run": "1", "started": started, "renewed": renewed})


def test_pods_that_do_not_come_up_budgets_and_marks(outage: Outage) -> None:
    """His namespace rests in the end; all the others are mended before, and nothing stops."""
    api, spaces = outage.api, [outage.namespace() for _ in range(3)]
    outage.bare(*(deployment(name) for name in ("future", "naive", "alive", "odd")))
    for number in range(12):
        api.create(budget(f"held-{number}"), outage.name)
    outage.bare(*(deployment(f"held-{number}") for number in range(12)))
    for name in ("one", "two"):  # of a pod that has two the API server says 500
        api.create({**budget("odd"), "metadata": {"name": name}}, outage.name)
    api.create(stateful_set("lost", 1, "OnDelete"), outage.name)
    wait_for_stateful_set(api, "lost", outage.name)
    on_no_node = {"spec": {"template": {"spec": {"nodeName": None}}}}  # there is no scheduler
    api.patch("StatefulSet", "lost", on_no_node, outage.name)
    now = datetime.now(UTC)
    times = {"future": FAR, "naive": f"{now:%Y-%m-%dT%H:%M:%S}", "alive": f"{now:%Y-%m-%dT%H:%M:%SZ}"}
    for name, text in times.items():
        api.patch("Deployment", name, {"metadata": {"annotations": {MARK: mark(text, text)}}}, outage.name)
    for space in spaces:
        outage.bare(deployment("web", 2), space=space)
    outage.end()
    for space in spaces:
        eventually("the others are mended", lambda space=space: outage.has_sidecars("web", space))
    eventually("his namespace rests", outage.resting)
    assert outage.resting().keys() == {outage.name} and outage.stopped() == ""


@pytest.mark.parametrize("count", [15, pytest.param(50, marks=pytest.mark.soak(minutes=10))])
def test_namespaces_that_are_held_entirely(outage: Outage, count: int) -> None:
    """All but five, with the pace that is the default: these are mended within three minutes."""
    spaces = [outage.name, *(outage.namespace() for _ in range(count - 1))]
    free = sorted(spaces)[-5:]  # all that come before are held
    for space in spaces:
        if space not in free:
            outage.api.create(budget("web"), space)
    outage.bare(deployment("web"))
    for space in spaces[1:]:
        outage.api.create(deployment("web"), space)
    for space in spaces:
        wait_until_available(outage.api, "web", space)
    outage.end(pace={}, quick=QUICK.replace("repair._WORKLOAD_SECONDS =", ""))
    for space in free:
        eventually("they are mended", lambda space=space: outage.has_sidecars("web", space), 180)
    eventually("the others still miss it", lambda: outage.missing() == count - 5)
    assert outage.evictions() == 5


def hostile() -> Iterator[tuple[str, Object]]:
    """What a pod's metadata may say: each key that anything reads, with what nobody expects there."""
    texts = (
        mark(FAR, FAR),
        mark("2026-11-29T00:00:00", "2026-11-29T00:00:00"),
        "",
        "null",
        "[]",
        '{"version":1}',
        FAR,
        "2026-11-29T00:00:00",
        "\u202e",
        "x" * 100_000,
        "../../kube-system",
    )
    keys = ("status", "reason", "receipt", "inject", "templates", "rollout", "version", "stage")
    for key in keys:
        for text in texts:
            yield f"annotation {key}", {"annotations": {PREFIX + key: text}}
    for key in (f"{PREFIX}status", f"{PREFIX}inject", "pod-template-hash", f"{PREFIX}version"):
        for text in ("", "x" * 63, "injected"):
            yield f"label {key}", {"labels": {key: text}}
    for kind, name in (
        ("ReplicaSet", "../../x"),
        ("Deployment", "x" * 5000),
        ("a b", "x"),
        ("Rollout", "web"),
        ("Node", "n"),
    ):
        owner = {"apiVersion": "apps/v1", "kind": kind, "name": name, "uid": "x", "controller": True}
        yield f"owner {kind}", {"ownerReferences": [owner]}
    for at in (FAR, "0001-01-01T00:00:00Z"):
        fields: Object = {"f:metadata": {"f:annotations": {f"f:{PREFIX}inject": {}}, "f:labels": "x"}}
        entry = {"manager": "x", "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1"}
        yield "managedFields", {"managedFields": [{**entry, "time": at, "fieldsV1": fields}]}


@pytest.mark.parametrize("every", [3, pytest.param(1, marks=pytest.mark.soak(minutes=10))])
def test_whatever_metadata_says(outage: Outage, every: int) -> None:
    """Of pods, and of their workloads: `repair`, `list` and the plan of `rollout` get by, and others are mended."""
    api, other = outage.api, outage.namespace()
    outage.bare(deployment("web", 2), space=other)
    count = 0
    for count, (_, metadata) in enumerate(islice(hostile(), 0, None, every), 1):
        obj = deployment(f"d-{count}", 1)
        obj["metadata"] |= {key: value for key, value in metadata.items() if key != "ownerReferences"}
        obj["spec"]["replicas"] = 0
        api.create(obj, outage.name)
        template = obj["spec"]["template"]
        own = {
            "name": f"p-{count}",
            **metadata,
            "labels": {**template["metadata"]["labels"], **metadata.get("labels", {})},
        }
        owner = {
            "apiVersion": "apps/v1",
            "kind": "ReplicaSet",
            "name": f"d-{count}",
            "uid": f"u-{count}",
            "controller": True,
        }
        own.setdefault("ownerReferences", [owner])
        api.create({"apiVersion": "v1", "kind": "Pod", "metadata": own, "spec": template["spec"]}, outage.name)
    assert count > 80 // every
    outage.end()
    eventually("the others are mended", lambda: outage.has_sidecars("web", other))
    where = ("--kubeconfig", outage.control_plane.kubeconfig, "--injector-namespace", outage.own, "-A")
    for words in (("list",), ("rollout", "--dry-run")):
        done = command.run(*words, *where, "-o", "json")
        assert done.code == 0 and outage.name in done.out, done.err
    assert outage.stopped() == "" and "Traceback" not in outage.log()


def test_a_rollout_passes_over_what_one_workload_raises(shop: Shop) -> None:
    """Marks that nobody can have written are none; a workload whose next pod opts out, and one that another rollout
    has in hand, are left as they are.
    """
    api = shop.api
    for name in ("busy", "future", "naive", "web"):
        api.create(deployment(name), shop.name)
    api.create(stateful_set("out", 1, "OnDelete"), shop.name)
    wait_for_stateful_set(api, "out", shop.name)
    for name in ("busy", "future", "naive", "web"):
        wait_until_available(api, name, shop.name)
    out = {"spec": {"template": {"metadata": {"annotations": {"sidecar.injector/inject": "false"}}}}}
    api.patch("StatefulSet", "out", out, shop.name)
    marks = {"future": mark(FAR, FAR), "naive": mark("2026-11-28T00:00:00", "2026-11-28T00:00:00")}
    for name, text in marks.items():
        api.patch("Deployment", name, {"metadata": {"annotations": {MARK: text}}}, shop.name)
    shop.change("logger:2")
    with shop.renewed("busy"):
        started = Started(shop, "-n", shop.name)
        code, events = started.end(), started.events
    assert code == 1 and names(events, "not-injected", "rollout-under-way") == [
        ("not-injected", "statefulset/out"),
        ("rollout-under-way", "deployment/busy"),
    ]
    assert {workload for _, workload in names(events, "current")} == {
        f"deployment/{name}" for name in ("early", "future", "naive", "web")
    }
    [made] = pods_of(api, "web", shop.name)
    assert events[-1]["event"] == "finished" and made


# ---------------------------------------------------------------------------------- all at once, for ten minutes

SPACES, WORKLOADS = 20, 3
MINUTES = 10


class Tenant:
    """Does all that he may, in a namespace of his own, until `stop()`: what is refused is refused."""

    def __init__(self, injector: Installed, name: str) -> None:
        self.name, self.done = author_in(injector.control_plane, name)[0], 0
        self._injector = injector
        self._ended = threading.Event()
        self._threads = [threading.Thread(target=self._repeat, args=(deed,)) for deed in self._deeds()]

    def prepare(self) -> None:
        """What is there before the outage: workloads that are held, and one that will be lost."""
        api = self._injector.api
        for number in range(12):
            api.create(budget(f"held-{number}"), self.name)
            api.create(deployment(f"held-{number}"), self.name)
        api.create(stateful_set("lost", 1, "OnDelete"), self.name)
        for number in range(12):
            wait_until_available(api, f"held-{number}", self.name)
        wait_for_stateful_set(api, "lost", self.name)
        on_no_node = {"spec": {"template": {"spec": {"nodeName": None}}}}
        api.patch("StatefulSet", "lost", on_no_node, self.name)

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        self._ended.set()
        for thread in self._threads:
            thread.join()

    def _repeat(self, deed: Callable[[Api, int], object]) -> None:
        author = self._injector.control_plane.api_for_service_account(self.name, "default")
        for number in range(MINUTES * 60 * 20):
            if self._ended.wait(0.05):
                return
            with contextlib.suppress(ApiError, OSError):
                deed(author, number)
            self.done += 1

    def _deeds(self) -> Iterator[Callable[[Api, int], object]]:
        def large(author: Api, number: int) -> object:
            data = files(container(), "", **{"big.txt.j2": f"{number} {'x' * 59_000}"})
            return author.create(config_map("big", data, TEMPLATE), self.name, dry_run=True)

        def absent(author: Api, number: int) -> object:
            templates = ",".join(f"./absent-{number}-{each}" for each in range(10))
            return author.create(pod("web", None, {NAMED: templates}), self.name, dry_run=True)

        def another_volume(author: Api, number: int) -> object:
            overlay = "spec: {volumes: [{name: data, hostPath: !replace {path: /}}], nodeName: x}\n"
            return author.create(config_map("volume", files(overlay), TEMPLATE), self.name, dry_run=True)

        def marks(_: Api, number: int) -> object:
            text = f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}" if number % 3 else FAR
            annotations = {MARK: mark(text, text)}
            return self._injector.api.patch(
                "Deployment", f"held-{number % 12}", {"metadata": {"annotations": annotations}}, self.name
            )

        def unmarked(_: Api, number: int) -> object:
            pods = self._injector.api.list("Pod", self.name)
            gone = {"metadata": {"annotations": dict.fromkeys((f"{PREFIX}status", f"{PREFIX}receipt"))}}
            name = pods[number % len(pods)]["metadata"]["name"]
            return self._injector.api.patch("Pod", name, gone, self.name)

        return iter((large, absent, another_volume, marks, unmarked))


def outage_of(installed: Installed, spaces: list[str], tenant: Tenant | None) -> tuple[float, float]:
    """60 workloads come bare and are mended, while the tenant is at work: MiB at most, and requests a second."""
    api = installed.api
    installed.stop()
    time.sleep(1.1)
    for space in spaces:
        for number in range(WORKLOADS):
            api.create(deployment(f"web-{number}"), space)
    if tenant:
        tenant.prepare()
        tenant.start()
    for space in spaces:
        for number in range(WORKLOADS):
            wait_until_available(api, f"web-{number}", space)
    installed.start()
    began, before = time.monotonic(), requests_by(installed)

    def bare() -> list[str]:
        pods = [pod for space in spaces for pod in api.list("Pod", space)]
        return [pod["metadata"]["name"] for pod in pods if len(pod["spec"].get("initContainers", ())) == 0]

    eventually("no other is bare", lambda: not bare(), 300)
    _log.info("none is bare after %.0f s", time.monotonic() - began)
    if tenant:
        time.sleep(max(0, MINUTES * 60 - (time.monotonic() - began)))
        tenant.stop()
        _log.info("the tenant has tried %d times", tenant.done)
        lease = api.get("Lease", LEASE, installed.namespace)["metadata"].get("annotations", {})
        assert STOPPED_KEY not in lease
        assert not bare()
    rate = (requests_by(installed) - before) / (time.monotonic() - began)
    assert installed.process
    return peak_mib(installed.process.pid), rate


def requests_by(installed: Installed) -> float:
    """How many the API server has dispatched for the injector's account, by the FlowSchema that tells them apart."""
    text = installed.api.text("/metrics")
    return sum(values_of(text, "apiserver_flowcontrol_dispatched_requests_total", {"flow_schema": installed.namespace}))


def count_requests(installed: Installed) -> None:
    account = {"namespace": installed.namespace, "name": installed.at.name}
    anything = {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"], "namespaces": ["*"], "clusterScope": True}
    spec = {
        "priorityLevelConfiguration": {"name": "workload-high"},
        "matchingPrecedence": 100,
        "distinguisherMethod": {"type": "ByUser"},
        "rules": [{"subjects": [{"kind": "ServiceAccount", "serviceAccount": account}], "resourceRules": [anything]}],
    }
    kind, version = "FlowSchema", "flowcontrol.apiserver.k8s.io/v1"
    obj = {"apiVersion": version, "kind": kind, "metadata": {"name": installed.namespace}, "spec": spec}
    installed.api.call("POST", f"/apis/{version}/flowschemas", obj)


@pytest.mark.soak(minutes=30)
def test_ten_minutes(control_plane: ControlPlane, namespace: NamespaceFactory, tmp_path: Path) -> None:
    """Beside 60 workloads of 20 namespaces: none is bare after five minutes, with 60 MB more at most, and 50 requests
    a second.
    """
    peaks = {}
    for hostile in (False, True):
        installed = Installed(control_plane, tmp_path, repair={"mode": "missing"}, **ON)
        try:
            installed.install()
            count_requests(installed)
            spaces = [namespace(labels={"injection": "enabled"}) for _ in range(SPACES)]
            tenant = Tenant(installed, namespace(labels=TEAMS)) if hostile else None
            peaks[hostile], rate = outage_of(installed, spaces, tenant)
            _log.info("at most %.1f MiB, %.1f requests a second", peaks[hostile], rate)
            assert rate <= 50
        finally:
            installed.remove()
    assert peaks[True] - peaks[False] <= 60


@pytest.mark.soak(minutes=10)
def test_sidecars_that_never_start_beside_a_hostile_tenant(outage: Outage) -> None:
    """Two workloads are harmed, those of the tenant included."""
    api, spaces = outage.api, [outage.name, *(outage.namespace() for _ in range(4))]
    sick = {"sick": "never-ready"}
    data = {"template.yaml": MANIFEST, "overlay.yaml.j2": OVERLAY.replace("logger:1", "logger:2")}
    api.patch("ConfigMap", "logger", {"data": data}, outage.own)
    for space in spaces:
        outage.bare(deployment("web", 2, sick), space=space)
    before = {space: outage.uids("web", space) for space in spaces}
    outage.end()
    eventually("all stop", outage.stopped)
    time.sleep(30)
    harmed = [space for space in spaces if outage.uids("web", space) != before[space]]
    assert len(harmed) == 2 and outage.evictions() == 2
