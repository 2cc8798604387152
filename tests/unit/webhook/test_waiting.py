"""The handlers where they have to wait or something fails: namespaces unknown, ConfigMaps refused, a core that raises.

The core, its snapshot and the handlers are the real ones; what stands in is the cluster, which here does as it is told.
"""

from __future__ import annotations

import asyncio
import base64
import io
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from injector.errors import InjectionError
from injector.inject import guard, inject
from injector.pods.context import Cluster, Namespace
from injector.pods.decision import decide
from injector.pods.delivery import GeneratedConfigMap
from injector.reasons import Reason
from injector.settings import Settings
from injector.telemetry import LogOutput, Metrics, make_logger
from injector.templates.snapshot import Snapshot, build_snapshot
from injector.webhook.answer_cache import AnswerCache
from injector.webhook.evaluators import GuardEvaluator, MutateEvaluator
from injector.webhook.namespace_resolver import NamespaceResolver
from injector.webhook.pipeline import Pipeline
from injector.webhook.record import Recorder
from injector.webhook.workload_warnings import WorkloadEvaluator
from tests.messages import Golden
from tests.unit.webhook.conftest import TEMPLATE
from tests.unit.webhook.support import lines_of, pod, review, to_bytes

WITH_FILE = {
    "template.yaml": "description: With a file.\nfiles:\n  a.yaml: {template: a.yaml.j2}\n",
    "a.yaml.j2": "a: 1\n",
    "overlay.yaml.j2": "spec:\n  volumes: [{name: config, configMap: {name: '{{ files.configmap }}'}}]\n"
    "  containers:\n    - name: proxy\n      image: registry.example/proxy:1\n"
    "      volumeMounts: [{name: config, mountPath: /etc/proxy}]\n",
}
ENABLED, REQUIRED = {"injection": "enabled"}, {"injection": "required"}


@dataclass
class World:
    """Namespaces and ConfigMaps, and how they fail."""

    stored: dict[str, Namespace] = field(default_factory=dict)
    truth: dict[str, Namespace] = field(default_factory=dict)
    fetch_error: Exception | None = None
    fetch_seconds: float = 0.0
    ensure_error: Exception | None = None
    ensure_seconds: float = 0.0
    fetched: list[str] = field(default_factory=list)
    ensured: list[str] = field(default_factory=list)
    remembers: bool = True

    def get(self, name: str) -> Namespace | None:
        return self.stored.get(name)

    async def fetch(self, name: str) -> Namespace | None:
        self.fetched.append(name)
        await asyncio.sleep(self.fetch_seconds)
        if self.fetch_error:
            raise self.fetch_error
        return self.truth.get(name)

    def known(self, files: tuple[GeneratedConfigMap, ...]) -> bool:
        return self.remembers and all(f.name in self.ensured for f in files)

    async def ensure(self, files: tuple[GeneratedConfigMap, ...], deadline: float) -> None:
        self.ensured += [f.name for f in files]
        await asyncio.sleep(self.ensure_seconds)
        if self.ensure_error:
            raise self.ensure_error


class Kept:
    """A snapshot that is the current one."""

    def __init__(self, current: Snapshot, ready: bool = True) -> None:
        self.current, self.ready = current, ready
        self.first_build = asyncio.Event()

    def swap(self, current: Snapshot) -> None:
        """The first snapshot is there."""
        self.current, self.ready = current, True
        self.first_build.set()


def snapshot(files: dict[str, str] | None = None) -> Snapshot:
    return build_snapshot(Settings(templates=("proxy",)), {"proxy": files or TEMPLATE}, Cluster())


def nothing_yet() -> Snapshot:
    return build_snapshot(Settings(), {}, Cluster())


class Webhook:
    """The handlers of pods and workloads over one cluster."""

    def __init__(self, cluster: World, kept: Kept, core: Any = inject) -> None:
        self.log = io.BytesIO()
        self.output = LogOutput(self.log)
        metrics, logger, resolver = Metrics(), make_logger(self.output), NamespaceResolver(cluster)
        self.mutate = Pipeline(
            MutateEvaluator(core, logger),
            kept,
            resolver,
            Recorder("mutate", metrics, self.output),
            config_maps=cluster,
            cache=AnswerCache(1 << 20, metrics),
        )
        self.validate = Pipeline(
            GuardEvaluator(guard, logger), kept, resolver, Recorder("validate", metrics, self.output)
        )
        self.advise = Pipeline(WorkloadEvaluator(logger), kept, resolver, Recorder("advise", metrics, self.output))

    async def ask(self, obj: Any, seconds: float = 2.0, path: str = "mutate", **fields: Any) -> dict[str, Any]:
        handler: Callable[[bytes, float], bytes | Awaitable[bytes]] = getattr(self, path)
        answer = handler(to_bytes(review(obj, **fields)), seconds)
        self.waited = not isinstance(answer, bytes)
        text = answer if isinstance(answer, bytes) else await answer
        return json.loads(text)["response"]

    def lines(self) -> list[dict[str, Any]]:
        self.output.flush()
        return lines_of(self.log)


def reason(response: dict[str, Any]) -> str:
    return response["auditAnnotations"]["reason"]


def annotations(response: dict[str, Any]) -> dict[str, str]:
    found: dict[str, str] = {}
    for op in json.loads(base64.b64decode(response["patch"])):
        if op["path"] == "/metadata/annotations":
            found |= op["value"]
        elif op["path"].startswith("/metadata/annotations/"):
            found[op["path"].rpartition("/")[2].replace("~1", "/")] = op["value"]
    return found


def test_an_unknown_namespace_is_fetched_once_and_then_remembered() -> None:
    async def go() -> None:
        cluster = World(truth={"shop": Namespace("shop", ENABLED)})
        webhook = Webhook(cluster, Kept(snapshot()))
        assert reason(await webhook.ask(pod())) == "injected"
        assert webhook.waited
        assert reason(await webhook.ask(pod())) == "injected"
        assert not webhook.waited
        assert cluster.fetched == ["shop"]

    asyncio.run(go())


@pytest.mark.parametrize(("error", "seconds"), [(OSError("connection refused"), 0.0), (None, 9.0)])
def test_when_the_namespace_cannot_be_learned_mutate_goes_by_enabled_and_the_guard_by_required(
    error: Exception | None, seconds: float
) -> None:
    async def go() -> None:
        webhook = Webhook(World(fetch_error=error, fetch_seconds=seconds), Kept(snapshot()))
        response = await webhook.ask(pod(), seconds=0.2)
        assert (response["allowed"], reason(response)) == (True, "not-ready")
        assert annotations(response)["sidecar.injector/status"] == "failed"
        assert response["warnings"]
        response = await webhook.ask(pod("web-1"), seconds=0.2, path="validate")
        assert (response["allowed"], reason(response)) == (False, "not-injected")
        assert response["status"]["code"] == 403
        assert "patch" not in response

    asyncio.run(go())


def test_a_namespace_that_the_store_has_out_of_date_is_asked_for_once() -> None:
    async def go() -> None:
        stale = Namespace("shop")
        cluster = World(stored={"shop": stale}, truth={"shop": Namespace("shop", REQUIRED)})
        webhook = Webhook(cluster, Kept(snapshot()))
        assert reason(await webhook.ask(pod())) == "injected"
        assert reason(await webhook.ask(pod("web-2"))) == "injected"
        assert cluster.fetched == ["shop"]
        response = await webhook.ask(pod("web-3"), path="validate")
        assert not response["allowed"], "the guard knows it as well"
        cluster.stored["shop"] = Namespace("shop", {"injection": "disabled"})
        cluster.truth["shop"] = cluster.stored["shop"]
        assert reason(await webhook.ask(pod())) == "namespace-disabled"
        assert cluster.fetched == ["shop", "shop"], "a store that moved on is asked about again, and once"
        assert reason(await webhook.ask(pod("web-4"))) == "namespace-disabled"
        assert cluster.fetched == ["shop", "shop"]

    asyncio.run(go())


def test_the_guard_believes_no_store_that_says_less_than_the_review_itself() -> None:
    async def go() -> None:
        stale = Namespace("shop", {**ENABLED, "team": "a"})
        cluster = World(stored={"shop": stale}, fetch_error=OSError("the API server is away"))
        webhook = Webhook(cluster, Kept(snapshot()))
        for name in ("web-1", "web-2"):
            response = await webhook.ask(pod(name), path="validate")
            assert (response["allowed"], reason(response)) == (False, "not-injected")
        assert cluster.fetched == ["shop"], "not for every pod"
        assert reason(await webhook.ask(pod("web-3"))) == "injected", "by /mutate it starts, with its sidecar"
        cluster.fetch_error, cluster.truth = None, {"shop": stale}
        cluster.stored["shop"] = Namespace("shop", ENABLED)
        assert (await webhook.ask(pod("web-4"), path="validate"))["allowed"], "the API server said so"

    asyncio.run(go())


def test_a_store_that_stays_out_of_date_is_not_believed_for_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also for a pod that was seen before: an answer that the API server had to confirm is not kept."""
    monkeypatch.setattr("injector.webhook.namespace_resolver._HOLDS_SECONDS", 0)

    async def go() -> None:
        unlabelled = Namespace("shop")
        cluster = World(stored={"shop": unlabelled}, truth={"shop": unlabelled})
        webhook = Webhook(cluster, Kept(snapshot()))
        assert reason(await webhook.ask(pod())) == "not-requested"
        cluster.truth["shop"] = Namespace("shop", ENABLED)
        assert reason(await webhook.ask(pod())) == "injected"

    asyncio.run(go())


def test_without_a_second_opinion_the_stores_word_holds() -> None:
    async def go() -> None:
        cluster = World(stored={"shop": Namespace("shop")}, fetch_error=OSError("down"))
        webhook = Webhook(cluster, Kept(snapshot()))
        for name in ("a", "b", "c"):
            response = await webhook.ask(pod(name))
            assert (response["allowed"], reason(response)) == (True, "not-requested")
        assert len(cluster.fetched) == 1, "a server that is down is not asked for every pod"

    asyncio.run(go())


@pytest.mark.parametrize(
    "make_error",
    [
        lambda: InjectionError(Reason.FILES_FAILED, "ConfigMap shop/x was not created: quota"),
        lambda: RuntimeError("bug hunter2"),
    ],
    ids=["quota", "bug"],
)
@pytest.mark.parametrize("labels", [ENABLED, REQUIRED])
def test_config_maps_that_cannot_be_created(
    make_error: Callable[[], Exception], labels: dict[str, str], golden: Golden
) -> None:
    async def go() -> None:
        cluster = World(stored={"shop": Namespace("shop", labels)}, ensure_error=make_error())
        webhook = Webhook(cluster, Kept(snapshot(WITH_FILE)))
        response = await webhook.ask(pod())
        assert reason(response) == "files-failed"
        assert response["allowed"] == (labels is ENABLED)
        if response["allowed"]:
            assert annotations(response)["sidecar.injector/status"] == "failed"
            golden(response["warnings"][0])
        else:
            golden(response["status"]["message"])
        assert "hunter2" not in json.dumps(response)
        cluster.ensure_error = None
        assert reason(await webhook.ask(pod())) == "injected", "a failure is not remembered"

    asyncio.run(go())


def test_config_maps_get_no_more_time_than_the_review_has() -> None:
    async def go() -> None:
        cluster = World(stored={"shop": Namespace("shop", ENABLED)}, ensure_seconds=30)
        webhook = Webhook(cluster, Kept(snapshot(WITH_FILE)))
        started = asyncio.get_running_loop().time()
        assert reason(await webhook.ask(pod(), seconds=0.3)) == "files-failed"
        assert asyncio.get_running_loop().time() - started < 2

    asyncio.run(go())


def test_a_cached_answer_still_sees_to_its_config_maps_and_a_dry_run_never_does() -> None:
    async def go() -> None:
        cluster = World(stored={"shop": Namespace("shop", ENABLED)})
        webhook = Webhook(cluster, Kept(snapshot(WITH_FILE)))
        for _ in range(2):
            assert reason(await webhook.ask(pod(), dryRun=True)) == "injected"
        assert cluster.ensured == []
        assert reason(await webhook.ask(pod())) == "injected"
        assert len(cluster.ensured) == 1, "an answer made on a dry run has nothing created yet"
        assert reason(await webhook.ask(pod())) == "injected"
        assert len(cluster.ensured) == 1
        assert not webhook.waited
        assert [line["cached"] for line in webhook.lines()] == [False, True, True, True]

    asyncio.run(go())


@pytest.mark.parametrize("labels", [ENABLED, REQUIRED])
def test_a_core_that_raises_is_an_internal_error_by_the_table(labels: dict[str, str]) -> None:
    def broken(obj: Any, *_: Any, **__: Any) -> Any:
        raise KeyError(obj["spec"]["containers"][0]["env"][0]["value"])

    async def go() -> None:
        cluster = World(stored={"shop": Namespace("shop", labels)})
        webhook = Webhook(cluster, Kept(snapshot()), core=broken)
        obj = pod()
        obj["spec"]["containers"][0]["env"] = [{"name": "PASSWORD", "value": "hunter2"}]
        response = await webhook.ask(obj)
        assert reason(response) == "internal-error"
        assert response["allowed"] == (labels is ENABLED)
        if response["allowed"]:
            assert annotations(response)["sidecar.injector/status"] == "failed"
        line = next(x for x in webhook.lines() if x["event"] == "injection-failed")
        assert line["error"] == "KeyError"
        assert (line["namespace"], line["pod"]) == ("shop", "web-6d4cf56db6-*")
        assert any("broken" in frame for frame in line["where"])
        assert b"hunter2" not in webhook.log.getvalue()
        assert "hunter2" not in json.dumps(response)

    asyncio.run(go())


@pytest.mark.parametrize("path", ["mutate", "validate", "advise"])
def test_a_review_that_comes_before_the_first_snapshot_waits_for_it(path: str) -> None:
    async def go() -> None:
        kept = Kept(nothing_yet(), ready=False)
        webhook = Webhook(World(stored={"shop": Namespace("shop", REQUIRED)}), kept)
        asked = [asyncio.create_task(webhook.ask(pod(f"web-{number}"), path=path)) for number in range(16)]
        await asyncio.sleep(0.05)
        assert not any(task.done() for task in asked)
        kept.swap(snapshot())
        reasons = {"mutate": "injected", "validate": "not-injected", "advise": "not-a-pod-creation"}
        await asyncio.gather(*asked)
        assert {line["reason"] for line in webhook.lines()} == {reasons[path]}
        await webhook.ask(pod(), path=path)
        assert not webhook.waited, "the next one does not wait"

    asyncio.run(go())


@pytest.mark.parametrize("failed", [True, False])
@pytest.mark.parametrize(("labels", "allowed"), [(ENABLED, True), (REQUIRED, False)])
def test_where_no_first_snapshot_comes_the_table_decides(labels: dict[str, str], allowed: bool, failed: bool) -> None:
    """It fails to build, which is answered at once; or it is not there by the deadline."""

    async def go() -> None:
        known = {"shop": Namespace("shop", labels)}
        kept = Kept(nothing_yet(), ready=False)
        webhook = Webhook(World(stored=known, truth=known), kept)
        if failed:
            kept.first_build.set()
        loop = asyncio.get_running_loop()
        for path in ("mutate", "validate"):
            started = loop.time()
            response = await webhook.ask(pod(), path=path, seconds=30.0 if failed else 3.0)
            assert (response["allowed"], reason(response)) == (allowed, "not-ready")
            assert loop.time() - started < 5
            assert failed or loop.time() - started > 0.1
        obj = pod()
        obj["metadata"]["annotations"] = {"kubernetes.io/config.mirror": "x"}
        response = await webhook.ask(obj, seconds=0.2)
        assert (response["allowed"], reason(response)) == (True, "mirror-pod")
        assert (await webhook.ask(pod(), operation="UPDATE"))["allowed"]
        assert not webhook.waited, "nothing is to be known of what is no creation of a pod"

    asyncio.run(go())


def test_a_pod_that_cannot_be_marked_is_answered_all_the_same() -> None:
    async def go() -> None:
        known = {"shop": Namespace("shop", ENABLED), "must": Namespace("must", REQUIRED)}
        kept = Kept(nothing_yet(), ready=False)
        kept.first_build.set()
        webhook = Webhook(World(stored=known, truth=known), kept)
        for namespace, allowed in (("shop", True), ("must", False)):
            response = await webhook.ask({"metadata": "web"}, namespace=namespace)
            assert (response["allowed"], reason(response)) == (allowed, "not-ready")
            assert "patch" not in response

    asyncio.run(go())


def test_a_pod_is_decided_about_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also one that is injected, and then fails for another reason."""
    seen: list[str] = []

    def counted(obj: Any, namespace: Namespace, *more: Any) -> Any:
        seen.append(namespace.name)
        return decide(obj, namespace, *more)

    def broken(obj: Any, *_: Any, **__: Any) -> Any:
        raise KeyError("x")

    monkeypatch.setattr("injector.webhook.evaluators.decide", counted)
    monkeypatch.setattr("injector.inject.decide", counted)

    async def go() -> None:
        for core, error in ((inject, None), (inject, InjectionError(Reason.FILES_FAILED, "no")), (broken, None)):
            cluster = World(stored={"shop": Namespace("shop", ENABLED)}, ensure_error=error)
            await Webhook(cluster, Kept(snapshot(WITH_FILE)), core=core).ask(pod())
            assert seen == ["shop"]
            seen.clear()

    asyncio.run(go())


def test_another_namespace_object_or_snapshot_is_another_answer() -> None:
    async def go() -> None:
        cluster = World(stored={"shop": Namespace("shop", ENABLED)})
        kept = Kept(snapshot())
        webhook = Webhook(cluster, kept)
        for _ in range(2):
            await webhook.ask(pod())
        cluster.stored["shop"] = Namespace(
            "shop", ENABLED, annotations={"proxy.sidecar.injector/image": "registry.example/proxy:2"}
        )
        second = base64.b64decode((await webhook.ask(pod()))["patch"])
        assert b"proxy:2" in second
        kept.current = snapshot({**TEMPLATE, "overlay.yaml.j2": TEMPLATE["overlay.yaml.j2"].replace("proxy\n", "px\n")})
        third = base64.b64decode((await webhook.ask(pod()))["patch"])
        assert b'"name":"px"' in third
        assert [line["cached"] for line in webhook.lines()] == [False, True, False, False]

    asyncio.run(go())
