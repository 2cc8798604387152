"""What a tenant writes on what is his, and what becomes of it, is his own affair: the others' workloads are mended."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime

from tests import command
from tests.cluster.api import Object
from tests.cluster.objects import deployment, pods_of, wait_until_available
from tests.cluster.outage import QUICK, Outage
from tests.cluster.processes import eventually
from tests.cluster.rollout_shop import MARK, Shop, budget, names, stateful_set, wait_for_stateful_set

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
    for name, time in times.items():
        api.patch("Deployment", name, {"metadata": {"annotations": {MARK: mark(time, time)}}}, outage.name)
    for space in spaces:
        outage.bare(deployment("web", 2), space=space)
    outage.end()
    for space in spaces:
        eventually("the others are mended", lambda space=space: outage.has_sidecars("web", space))
    eventually("his namespace rests", outage.resting)
    assert outage.resting().keys() == {outage.name} and outage.stopped() == ""


def test_namespaces_that_are_held_entirely(outage: Outage) -> None:
    """45 of 50, with the pace that is the default: the other five are mended within three minutes."""
    spaces = [outage.name, *(outage.namespace() for _ in range(49))]
    free = spaces[4::10]
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
    eventually("the others still miss it", lambda: outage.missing() == 45)
    assert outage.evictions() == 5


def hostile() -> Iterator[tuple[str, Object]]:
    """What a pod's metadata may say: each key that anything reads, with what nobody expects there."""
    texts = (
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
    for time in (FAR, "0001-01-01T00:00:00Z"):
        fields: Object = {"f:metadata": {"f:annotations": {f"f:{PREFIX}inject": {}}, "f:labels": "x"}}
        entry = {"manager": "x", "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1"}
        yield "managedFields", {"managedFields": [{**entry, "time": time, "fieldsV1": fields}]}


def test_whatever_metadata_says(outage: Outage) -> None:
    """Of pods, and of their workloads: `repair`, `list` and the plan of `rollout` get by, and others are mended."""
    api, other = outage.api, outage.namespace()
    outage.bare(deployment("web", 2), space=other)
    count = 0
    for count, (_, metadata) in enumerate(hostile(), 1):
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
    assert count > 80
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
        code, events = shop.rollout()
    assert code == 1 and names(events, "rollout-under-way", "not-injected") == [
        ("rollout-under-way", "deployment/busy"),
        ("not-injected", "statefulset/out"),
    ]
    assert {workload for _, workload in names(events, "current")} == {
        f"deployment/{name}" for name in ("early", "future", "naive", "web")
    }
    [made] = pods_of(api, "web", shop.name)
    assert events[-1]["event"] == "finished" and made
