"""Reload: whole, tried, in one step, or not at all; each review goes by exactly one snapshot."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import threading
import time
from pathlib import Path

import pytest

from injector.cluster.events import About
from injector.errors import SettingsError
from injector.telemetry import LogOutput, Metrics, make_logger
from injector.webhook import snapshot_manager
from injector.webhook.snapshot_sources import Disk
from tests.messages import Golden
from tests.unit.templates.bombs import BOMBS
from tests.unit.webhook.conftest import TEMPLATE, Served, write_template
from tests.unit.webhook.support import Client, Loop, get, pod, review, to_bytes

PAIR = {
    "template.yaml": TEMPLATE["template.yaml"],
    "_macros.j2": '{% macro image() %}"registry.example/proxy:NUMBER"{% endmacro %}',
    "overlay.yaml.j2": '{% from "_macros.j2" import image %}\n'
    "metadata: {annotations: {number: 'NUMBER'}}\n"
    "spec:\n  containers:\n    - name: proxy\n      image: {{ image() }}\n",
}


class Mount:
    """A template's folder as kubelet mounts a ConfigMap: links through `..data`, which is swapped."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True)

    def swap(self, number: int, **files: str) -> None:
        real = self.folder / f"..{number}"
        real.mkdir()
        for name, text in {**PAIR, **files}.items():
            (real / name).write_text(text.replace("NUMBER", str(number)))
        link = self.folder / "..data_tmp"
        link.symlink_to(real.name)
        link.replace(self.folder / "..data")
        for name in PAIR:
            if not (self.folder / name).is_symlink():
                (self.folder / name).symlink_to(f"..data/{name}")


def numbers_of(response: dict) -> set[str]:
    """The numbers that an injection bears: of its container's image and of its annotation."""
    patch = base64.b64decode(response["patch"]).decode()
    found = {
        image.rpartition(":")[2]
        for op in json.loads(patch)
        for image in _strings(op.get("value"))
        if image.startswith("registry.example/proxy:")
    }
    for op in json.loads(patch):
        value = op.get("value")
        if op["path"] == "/metadata/annotations" and isinstance(value, dict):
            found.add(value["number"])
        elif op["path"] == "/metadata/annotations/number":
            found.add(value)
    return found


def _strings(value: object) -> list[str]:
    if isinstance(value, dict):
        return [s for v in value.values() for s in _strings(v)]
    if isinstance(value, list):
        return [s for v in value for s in _strings(v)]
    return [value] if isinstance(value, str) else []


def test_a_review_never_sees_half_a_reload(loop: Loop, tmp_path: Path) -> None:
    mount = Mount(tmp_path / "templates" / "proxy")
    mount.swap(1)
    app = Served(loop, tmp_path).ready()
    stop, failures, seen = threading.Event(), [], []

    def client_loop(name: str) -> None:
        try:
            count = 0
            with Client(app.port) as client:
                while not stop.wait(0.005):
                    count += 1
                    body = to_bytes(review(pod(f"{name}-{count % 50}")))
                    response = client.ask(body).json["response"]
                    numbers = numbers_of(response)
                    assert len(numbers) == 1, numbers
                    seen.append((numbers.pop(), response["auditAnnotations"]["generation"]))
        except Exception as error:
            failures.append(repr(error))

    threads = [threading.Thread(target=client_loop, args=(n,)) for n in ("a", "b")]
    for thread in threads:
        thread.start()
    for number in range(2, 6):
        before = app.app.snapshots.current.generation
        mount.swap(number)
        app.until(lambda before=before: app.app.snapshots.current.generation != before)
    app.until(lambda: failures or "5" in {number for number, _ in list(seen)})
    stop.set()
    for thread in threads:
        thread.join()
    app.stop()
    assert failures == []
    assert "1" in {number for number, _ in seen}
    assert len(set(seen)) == len({number for number, _ in seen}), "one generation for each number"


def test_what_does_not_build_leaves_the_last_good_snapshot(served: Served, golden: Golden) -> None:
    good = served.app.snapshots.current
    folder = served.folder / "templates"
    write_template(folder, **{"overlay.yaml.j2": "spec:\n  containers: {% if %}\n"})
    served.until(lambda: served.lines("snapshot-refused"))
    line = served.lines("snapshot-refused")[0]
    golden(line["why"])
    assert line["mistakes"] == [
        {
            "origin": str(folder / "proxy"),
            "file": "overlay.yaml.j2",
            "line": 2,
            "column": 21,
            "rule": "syntax",
            "message": line["mistakes"][0]["message"],
            "help": "",
        }
    ]
    assert line["in_use"] == good.generation
    assert served.app.snapshots.current is good
    assert get(served.admin_port, "/readyz").code == 200, "the last good one serves"
    metrics = get(served.admin_port, "/metrics").body.decode()
    assert "injector_reload_failing 1.0" in metrics
    assert 'injector_reloads_total{result="refused"} 1.0' in metrics
    served.settings.write_text(served.settings.read_text() + "nonsense: true\n")
    served.until(lambda: len(served.lines("snapshot-refused")) == 2)
    assert "value=nonsense" in served.lines("snapshot-refused")[1]["why"]
    served.settings.write_text(served.settings.read_text().replace("nonsense: true", "clusterDomain: example.org"))
    write_template(folder)
    served.until(lambda: served.app.snapshots.current is not good)
    assert served.app.snapshots.current.cluster.domain == "example.org"
    assert served.app.snapshots.current.previous is not None
    assert "injector_reload_failing 0.0" in get(served.admin_port, "/metrics").body.decode()


def test_a_bomb_among_templates_does_not_stop_the_server(served: Served) -> None:
    good = served.app.snapshots.current
    names = ("lists-within-lists", "loops", "pattern", "many-values", "macro-of-itself", "many-expressions")
    for name in names:
        write_template(served.folder / "templates", name, **BOMBS[name])
    with Client(served.port) as client:
        began, slowest = time.monotonic(), 0.0
        while not served.lines("snapshot-refused"):
            assert time.monotonic() < began + 600
            started = time.monotonic()
            assert client.ask(to_bytes(review(pod()))).code == 200
            slowest = max(slowest, time.monotonic() - started)
            time.sleep(0.05)
    [line] = served.lines("snapshot-refused")
    refused = {Path(mistake["origin"]).name: mistake["rule"] for mistake in line["mistakes"]}
    assert refused == dict.fromkeys(names, "limit") | {"many-values": refused["many-values"]}
    assert served.app.snapshots.current is good
    assert slowest < (time.monotonic() - began) / 3, "reviews go on while templates are tried"


def test_templates_of_the_cluster_come_before_those_on_disk(served: Served, golden: Golden) -> None:
    overlay = "spec:\n  containers: [{name: proxy, image: 'registry.example/other:2'}]\n"
    files = {**TEMPLATE, "overlay.yaml.j2": overlay}
    assert served.loop.run(served.app.snapshots.update(in_cluster={"proxy": files, "second": TEMPLATE}))
    assert served.app.snapshots.current.catalog.names == ("proxy", "second")
    with Client(served.port) as client:
        response = client.ask(to_bytes(review(pod()))).json["response"]
    assert b"other:2" in base64.b64decode(response["patch"])
    before = served.app.snapshots.current
    wrong = {**TEMPLATE, "template.yaml": "x: ["}
    assert not served.loop.run(served.app.snapshots.update(in_cluster={"proxy": wrong}))
    assert served.app.snapshots.current is before
    golden(served.app.snapshots.why_not)
    assert served.loop.run(served.app.snapshots.update(in_cluster={}, version=(1, 31)))
    assert served.app.snapshots.current.catalog.names == ("proxy",)
    assert served.app.snapshots.current.cluster.version == (1, 31)


def test_what_cannot_be_read_is_refused_until_it_can_be(served: Served, tmp_path: Path, golden: Golden) -> None:
    manager, file = served.app.snapshots, served.folder / "templates" / "proxy" / "notes.txt"
    file.write_bytes(b"\xff")
    served.until(lambda: manager.why_not)
    golden(manager.why_not)
    before = manager.current
    assert not served.loop.run(manager.update(version=(1, 31))), "what builds is not the newest state"
    assert manager.current is not before
    golden(manager.why_not)
    assert "injector_reload_failing 1.0" in get(served.admin_port, "/metrics").body.decode()
    served.loop.run(manager.update())
    assert len(served.lines("snapshot-refused")) == 1, "told of once"
    file.rename(tmp_path / "away")
    served.until(lambda: not manager.why_not)
    assert "injector_reload_failing 0.0" in get(served.admin_port, "/metrics").body.decode()


def test_receipts_reach_the_snapshot_before_for_a_while_only(
    loop: Loop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshot_manager, "_PREVIOUS_SECONDS", 1.5)
    served = Served(loop, tmp_path).ready()
    manager, before = served.app.snapshots, served.app.snapshots.current
    served.loop.run(manager.update(in_cluster={"second": TEMPLATE}))
    after = manager.current
    assert after.previous is not None
    assert after.previous.generation == before.generation
    served.until(lambda: manager.current.previous is None)
    assert manager.current.generation == after.generation
    assert manager.current.catalog is after.catalog
    served.stop()


def test_files_that_keep_changing_are_not_read_in_between(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A writer puts a number into two files, one after the other: a reader only ever sees both alike."""
    write_template(tmp_path)
    folder = tmp_path / "proxy"
    stop = threading.Event()

    def write() -> None:
        for number in range(6):
            if stop.is_set():
                return
            for name in ("a.j2", "b.j2"):
                (folder / name).write_text(str(number))
                time.sleep(0.12)
            rounds = len(pairs)
            while len(pairs) < rounds + 1 and not stop.is_set():  # it has read what is there now
                time.sleep(0.01)

    monkeypatch.setattr("injector.webhook.snapshot_sources._REST_SECONDS", 0.4)  # longer than the writer takes
    pairs: list[tuple[str | None, str | None]] = []
    writer = threading.Thread(target=write)
    writer.start()
    disk = Disk(None, (tmp_path,))
    while writer.is_alive():
        files = disk.read().templates["proxy"]
        pairs.append((files.get("a.j2"), files.get("b.j2")))
    stop.set()
    writer.join()
    assert all(a == b for a, b in pairs), pairs
    assert len(set(pairs)) > 2
    assert not disk.changed() or disk.read().templates["proxy"]["b.j2"] == "5"
    (folder / "a.j2").write_text("another")
    assert disk.changed()


def test_only_what_was_changed_lately_has_to_come_to_rest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rested: list[float] = []
    monkeypatch.setattr(time, "sleep", rested.append)
    folder = tmp_path / "proxy"
    folder.mkdir()
    for name, text in TEMPLATE.items():
        (folder / name).write_text(text)
        os.utime(folder / name, (0, 0))  # as a copy that keeps times: the change itself is new
    os.utime(folder, (0, 0))
    Disk(None, (tmp_path,)).read()
    assert len(rested) == 1
    monkeypatch.setattr("injector.webhook.snapshot_sources._OLD_SECONDS", -60)  # a minute later
    assert Disk(None, (tmp_path,)).read().templates["proxy"] == TEMPLATE
    assert len(rested) == 1


def test_settings_in_a_pipe_or_without_end_are_refused(tmp_path: Path, golden: Golden) -> None:
    (tmp_path / "templates").mkdir()
    pipe, large = tmp_path / "pipe", tmp_path / "large"
    os.mkfifo(pipe)
    with large.open("wb") as file:
        file.truncate(1024**3)
    for settings in (pipe, large):
        with pytest.raises(SettingsError) as caught:
            Disk(settings, (tmp_path / "templates",)).read()
        golden(caught.value)


def test_the_injectors_own_namespace_is_left_alone(loop: Loop, tmp_path: Path) -> None:
    app = Served(loop, tmp_path, namespace="injector-system").ready()
    with Client(app.port) as client:
        response = client.ask(to_bytes(review(pod(), namespace="injector-system"))).json["response"]
    assert response["auditAnnotations"]["reason"] == "namespace-ignored"
    app.stop()


def test_a_replica_that_starts_leaves_a_wrong_config_map_out(tmp_path: Path, golden: Golden) -> None:
    """There is no last good snapshot then, and a cluster whose nodes are drained needs its injector."""
    write_template(tmp_path / "templates")
    told: list[str] = []
    manager = snapshot_manager.SnapshotManager(
        None, (tmp_path / "templates",), Metrics(), make_logger(LogOutput()), told.append, "own"
    )
    wrong = {**TEMPLATE, "overlay.yaml.j2": "spec: {{ nothing }}"}

    async def start(maps: dict[str, dict[str, str]]) -> bool:
        await manager.start()
        return await manager.update(in_cluster=maps)

    assert not asyncio.run(start({"second": TEMPLATE, "third": wrong})), "the newest state is not in use"
    assert manager.ready
    assert manager.current.catalog.names == ("proxy", "second")
    golden(manager.why_not)
    assert told == [manager.why_not]


def test_what_became_of_a_config_map_is_told_once(tmp_path: Path) -> None:
    told: list[tuple[str, str, bool]] = []
    notes: list[str] = []
    manager = snapshot_manager.SnapshotManager(
        None,
        (),
        Metrics(),
        make_logger(LogOutput()),
        own_namespace="own",
        on_template=lambda about, note, accepted: (
            told.append((about.name, about.version, accepted)),
            notes.append(note),
        ),
    )
    wrong = {**TEMPLATE, "overlay.yaml.j2": "spec: {{ nothing }}", "template.yaml": "description: x\nfiels: {}\n"}
    other = {**TEMPLATE, "template.yaml": f"{TEMPLATE['template.yaml']}\n"}

    async def apply(**maps: tuple[dict[str, str], str]) -> list[tuple[str, str, bool]]:
        """What is told when these are in the cluster, each with its version."""
        told.clear()
        objects = tuple(
            About("v1", "ConfigMap", name, f"uid-{name}", "own", version) for name, (_, version) in maps.items()
        )
        await manager.update(in_cluster={name: files for name, (files, _) in maps.items()}, objects=objects)
        return [*told]

    async def work() -> None:
        await manager.start()
        first = await apply(a=(TEMPLATE, "1"), b=(TEMPLATE, "2"), c=(wrong, "3"))
        assert first == [("c", "3", False)], "a replica that starts has accepted nothing new"
        assert await apply(a=(TEMPLATE, "1"), b=(TEMPLATE, "2"), c=(TEMPLATE, "4")) == [("c", "4", True)]
        assert notes[-1].endswith(manager.current.catalog.get("c").digest)
        # one is wrong, so that the other one has to wait
        assert await apply(a=(other, "5"), b=(wrong, "6"), c=(TEMPLATE, "4")) == [("b", "6", False)]
        assert "configmap/own/b/template.yaml:2:" in notes[-1]
        told.clear()
        await manager.update()
        assert not told
        assert await apply(a=(other, "5"), b=(other, "7")) == [("a", "5", True), ("b", "7", True)]
        # the same content as before is a new version all the same
        assert await apply(a=(other, "8"), b=(other, "7")) == [("a", "8", True)]
        assert not await apply(b=(other, "7"))

    asyncio.run(work())


def test_a_template_that_the_settings_do_not_fit_is_told_of(tmp_path: Path) -> None:
    told: list[tuple[str, bool]] = []
    settings = tmp_path / "settings.yaml"
    manager = snapshot_manager.SnapshotManager(
        settings,
        (),
        Metrics(),
        make_logger(LogOutput()),
        on_template=lambda about, note, accepted: told.append((about.version, accepted)),
    )
    manifest = f"{TEMPLATE['template.yaml']}  level: {{type: integer, default: 1, description: x}}\n"
    older = {**TEMPLATE, "template.yaml": manifest}
    newer = {**TEMPLATE, "template.yaml": manifest.replace("level", "depth")}

    async def apply(files: dict[str, str], version: str, value: str) -> list[tuple[str, bool]]:
        told.clear()
        settings.write_text(f"parameters: {{logger: {{{value}}}}}")
        objects = (About("v1", "ConfigMap", "logger", "uid", "own", version),)
        await manager.check()
        await manager.update(in_cluster={"logger": files}, objects=objects)
        return [*told]

    async def work() -> None:
        settings.write_text("{}")
        await manager.start()
        assert await apply(older, "1", "level: 2") == [("1", True)]
        assert await apply(newer, "2", "level: 2") == [("2", False)]
        assert await apply(newer, "2", "depth: 2") == [("2", True)]
        assert not await apply(newer, "2", "depth: x"), "the settings are at fault, and not the template in use"

    asyncio.run(work())


def test_a_replica_does_not_start_with_a_wrong_folder(tmp_path: Path) -> None:
    """A folder comes with the installation: the roll-out stops, and the old replicas go on."""
    write_template(tmp_path / "templates")
    (tmp_path / "templates" / "proxy" / "overlay.yaml.j2").write_text("spec: {{ nothing }}")
    manager = snapshot_manager.SnapshotManager(None, (tmp_path / "templates",), Metrics(), make_logger(LogOutput()))

    async def start() -> bool:
        await manager.start()
        return await manager.update(in_cluster={"third": {**TEMPLATE, "overlay.yaml.j2": "spec: {{ nothing }}"}})

    assert not asyncio.run(start())
    assert not manager.ready
