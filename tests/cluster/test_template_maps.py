"""Templates in ConfigMaps, followed in a real API server."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any

from structlog.testing import capture_logs

from injector.cluster.client import Client
from injector.cluster.reflector import Timing
from injector.cluster.template_maps import TemplateMaps
from injector.settings import Settings
from tests.cluster.api import Object
from tests.cluster.away import Relay, until
from tests.cluster.conftest import NamespaceFactory
from tests.cluster.controlplane import ControlPlane
from tests.cluster.objects import config_map

QUICK = Timing(watch=30, settled=1, first_pause=0.05, longest_pause=0.5, list_deadline=5)
SETTINGS = Settings(prefix="inject.example.com")


def template(name: str, **files: str) -> Object:
    return config_map(name, files, labels={"inject.example.com/template": "true"})


def test_changes_are_told_together(control_plane: ControlPlane, namespace: NamespaceFactory) -> None:
    ns, elsewhere, api = namespace(), namespace(), control_plane.api
    api.create(template("envoy", a="1", b="2"), ns)
    api.create(config_map("settings", {"a": "b"}), ns)
    api.create(template("foreign", a="1"), elsewhere)
    told: list[dict[str, Any]] = []

    async def main() -> None:
        async def on_change(sources: Any) -> None:
            told.append({name: dict(files) for name, files in sources.items()})

        async with await Client.connect(str(control_plane.kubeconfig)) as client:
            maps = TemplateMaps(client, ns, SETTINGS, on_change, quiet=0.3, timing=QUICK)
            maps.start()
            await until(lambda: told)
            assert told == [{"envoy": {"a": "1", "b": "2"}}]
            first = maps.sources

            for number in range(5):
                await asyncio.to_thread(api.create, template(f"t{number}", n=str(number)), ns)
            await asyncio.to_thread(api.patch, "ConfigMap", "envoy", {"data": {"a": "3"}}, ns)
            await until(lambda: len(told) > 1)
            assert told[1] == {"envoy": {"a": "3", "b": "2"}, **{f"t{n}": {"n": str(n)} for n in range(5)}}
            assert first == {"envoy": {"a": "1", "b": "2"}}  # who holds it is not surprised

            # one is deleted; one loses its label, and is a template no more
            label = {"metadata": {"labels": {"inject.example.com/template": None}}}
            await asyncio.to_thread(api.patch, "ConfigMap", "t0", label, ns)
            await asyncio.to_thread(api.delete, "ConfigMap", "t1", ns)
            await until(lambda: len(told) > 2)
            assert sorted(told[2]) == ["envoy", "t2", "t3", "t4"]

            # what concerns no file concerns nobody
            await asyncio.to_thread(api.patch, "ConfigMap", "envoy", {"metadata": {"annotations": {"x": "y"}}}, ns)
            await asyncio.to_thread(api.patch, "ConfigMap", "settings", {"data": {"a": "c"}}, ns)
            await asyncio.sleep(1)
            assert len(told) == 3
            await maps.stop()

    asyncio.run(main())


def test_one_who_never_rests_is_told_all_the_same(control_plane: ControlPlane, namespace: NamespaceFactory) -> None:
    ns, api = namespace(), control_plane.api
    told: list[str] = []
    at_once = 0
    patience = 3.0

    async def main() -> None:
        async def on_change(sources: Any) -> None:
            nonlocal at_once
            at_once += 1
            assert at_once == 1  # never twice at a time
            await asyncio.sleep(0.1)
            told.append(sources.get("busy", {}).get("n", ""))
            at_once -= 1

        async with await Client.connect(str(control_plane.kubeconfig)) as client:
            maps = TemplateMaps(client, ns, SETTINGS, on_change, quiet=1.5, longest_wait=patience, timing=QUICK)
            maps.start()
            await until(lambda: told)
            began = time.monotonic()
            await asyncio.to_thread(api.create, template("busy", n="0"), ns)
            for number in range(1, 20):
                await asyncio.sleep(0.45)
                await asyncio.to_thread(api.patch, "ConfigMap", "busy", {"data": {"n": str(number)}}, ns)
            assert 2 <= len(told) <= 2 + (time.monotonic() - began) / patience
            await until(lambda: told[-1] == "19")
            await maps.stop()

    asyncio.run(main())


def test_nothing_there_and_a_listener_that_fails(control_plane: ControlPlane, namespace: NamespaceFactory) -> None:
    ns = namespace()
    told: list[int] = []

    async def main() -> None:
        async def on_change(sources: Any) -> None:
            told.append(len(sources))
            raise ValueError("cannot take it")

        async with await Client.connect(str(control_plane.kubeconfig)) as client:
            maps = TemplateMaps(client, ns, SETTINGS, on_change, quiet=0.05, timing=QUICK)
            maps.start()
            await until(lambda: told == [0])
            await asyncio.to_thread(control_plane.api.create, template("envoy"), ns)
            await until(lambda: told == [0, 1])
            await asyncio.sleep(0.5)
            assert told == [0, 1]  # the same is not told again
            await maps.stop()

    with capture_logs() as logs:
        asyncio.run(main())
    assert [log["event"] for log in logs] == ["templates-not-taken"] * 2


def test_api_server_away(control_plane: ControlPlane, namespace: NamespaceFactory, tmp_path: Path) -> None:
    ns = namespace()
    control_plane.api.create(template("envoy", a="1"), ns)
    told: list[dict[str, Any]] = []

    async def main() -> None:
        async def on_change(sources: Any) -> None:
            told.append(dict(sources))

        async with Relay(control_plane) as relay, await Client.connect(relay.kubeconfig(tmp_path)) as client:
            maps = TemplateMaps(client, ns, SETTINGS, on_change, quiet=0.05, timing=QUICK)
            maps.start()
            await until(lambda: told)
            relay.cut()
            await until(lambda: maps.reflector.last_error is not None)
            await asyncio.to_thread(control_plane.api.patch, "ConfigMap", "envoy", {"data": {"a": "2"}}, ns)
            await asyncio.sleep(0.5)
            assert maps.sources == {"envoy": {"a": "1"}}
            assert len(told) == 1
            assert maps.reflector.away_since is not None
            await relay.mend()
            await until(lambda: told[1:] == [{"envoy": {"a": "2"}}])
            assert maps.reflector.last_error is None
            await maps.stop()

    asyncio.run(main())
