"""Many namespaces with templates of their own: what they take of memory, and what the change of one costs."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest

from tests.cluster.api import Api, Object
from tests.cluster.conftest import ConfigureWebhooks
from tests.cluster.controlplane import ControlPlane
from tests.cluster.objects import config_map, pod, webhook
from tests.cluster.processes import eventually
from tests.cluster.server import InjectorServer
from tests.cluster.team import NAMED, TEAMS, TEMPLATE, container, files, images_of
from tests.unit.webhook.test_connections import peak_mib

ON = {"teamTemplates": {"namespaces": {"matchLabels": {"teams": "own-templates"}}}}


def template(number: int, version: int = 1) -> dict[str, str]:
    """A template that no other namespace has."""
    more = "".join(f"  p{each}: {{type: string, default: '{number}'}}\n" for each in range(10))
    return files(container(image=f"probe-{number}:{version}"), f"parameters:\n{more}")


def in_each(names: list[str], act: Callable[[int, str], object]) -> None:
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(act, range(len(names)), names))


def make(api: Api, number: int, name: str) -> None:
    """A namespace with a template, ready for pods."""
    api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": TEAMS}})
    api.create(config_map("probe", template(number), TEMPLATE), name)


def pid_of(server: InjectorServer) -> int:
    assert server.process is not None
    return server.process.pid


def misses_of(server: InjectorServer) -> float:
    """How often the cache had no answer."""
    return server.metric("injector_cache_lookups_total", result="miss")


def made(api: Api, name: str, of: str = "./probe") -> Object:
    return api.create(pod("web", None, {NAMED: of}, automountServiceAccountToken=False), name, dry_run=True)


@pytest.mark.parametrize("count", [pytest.param(60), pytest.param(2000, marks=pytest.mark.soak(minutes=30))])
def test_a_template_in_each(
    count: int,
    control_plane: ControlPlane,
    injector_server: Callable[..., InjectorServer],
    configure_webhooks: ConfigureWebhooks,
    tmp_path: Path,
) -> None:
    """Two replicas know the same namespaces and inject the same pods, one of them by a template of each namespace.

    The other, which injects them by a template of the cluster, is the floor.
    """
    api, names = control_plane.api, [f"many-{number}" for number in range(count)]
    in_each(names, partial(make, api))
    for name in names:
        control_plane.wait_for_default_account(name)
    folder = tmp_path / "probe"
    folder.mkdir()
    for file, text in template(0).items():
        (folder / file).write_text(text)
    floor, server = injector_server(templates_dir=tmp_path), injector_server(settings=ON)
    selector = {"matchLabels": TEAMS}
    entry = configure_webhooks(webhook("many.injector.example", floor.client_config(), namespaceSelector=selector))
    in_each(names, lambda _, name: made(api, name, "probe"))
    api.delete(entry["kind"], entry["metadata"]["name"])
    configure_webhooks(webhook("many.injector.example", server.client_config(), namespaceSelector=selector))

    def has_its_own(number: int, name: str) -> None:
        eventually(f"{name} has its own", lambda: f"probe-{number}:1" in images_of(made(api, name)))

    in_each(names, has_its_own)
    in_each(names, lambda _, name: made(api, name))
    caches = [at.metric("injector_cache_bytes") / 2**20 for at in (floor, server)]
    more = peak_mib(pid_of(server), "VmRSS") - peak_mib(pid_of(floor), "VmRSS")
    print(f"{count} namespaces: {more:.1f} MiB more than {peak_mib(pid_of(floor), 'VmRSS'):.1f}", caches)
    assert more <= 60

    # the change of one is read once, and leaves the answers for the others alone
    changed = config_map("probe", template(7, version=2), TEMPLATE)
    changed["metadata"]["namespace"] = names[7]
    misses = misses_of(server)
    api.replace(changed)
    eventually("it has the new one", lambda: "probe-7:2" in images_of(made(api, names[7])))
    made(api, names[7])
    before = misses_of(server)
    in_each(names[:50], lambda _, name: made(api, name))
    print("misses", before - misses, misses_of(server) - before)
    assert misses_of(server) == before
    in_each(names, lambda _, name: api.delete("Namespace", name))
