"""Templates and settings change under a server at work: whole, tried first, and never half."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.cluster.api import Object
from tests.cluster.conftest import ConfigureWebhooks, NamespaceFactory
from tests.cluster.controlplane import ControlPlane
from tests.cluster.injection import gallery
from tests.cluster.injection.installation import (
    ELSEWHERE,
    REASON,
    STATUS,
    TEMPLATES,
    Log,
    names,
    notes,
    remove_rights,
    service_account,
)
from tests.cluster.objects import config_map, pod, webhook
from tests.cluster.processes import eventually
from tests.cluster.server import InjectorServer


def settings(control_plane: ControlPlane, template: str) -> str:
    """Settings that choose this template."""
    return json.dumps({**control_plane.settings, "templates": [template], "server": {"drainSeconds": 0}})


Own = tuple[InjectorServer, str, str]


@pytest.fixture
def own(
    control_plane: ControlPlane,
    injector_server: Callable[..., InjectorServer],
    namespace: NamespaceFactory,
    configure_webhooks: ConfigureWebhooks,
) -> Iterator[Own]:
    """A server of the test's own, its namespace, and a namespace for which it works."""
    home = namespace()
    kubeconfig = service_account(control_plane, home)
    server = injector_server(
        start=False, kubeconfig=kubeconfig, arguments=[f"--namespace={home}"], settings=settings(control_plane, "stamp")
    )
    gallery.write(server.templates_dir, **gallery.ALL)
    server.start()
    ns = namespace(labels={"injection": "enabled", ELSEWHERE: ""})
    configure_webhooks(webhook("own.injector.test", server.client_config(), ns))
    yield server, home, ns
    remove_rights(control_plane, home)


def _try(control_plane: ControlPlane, namespace: str, annotations: dict[str, str] | None = None) -> Object:
    return control_plane.api.create(pod("app", annotations=annotations), namespace, dry_run=True)


def _stamp(control_plane: ControlPlane, namespace: str) -> str | None:
    found: str | None = _try(control_plane, namespace)["metadata"].get("labels", {}).get("stamp")
    return found


def _metric(server: InjectorServer, line: str) -> float:
    for each in server.metrics().splitlines():
        name, _, value = each.rpartition(" ")
        if name == line:
            return float(value)
    return 0


def test_a_template_broken_while_a_hundred_requests_are_in_flight(control_plane: ControlPlane, own: Own) -> None:
    server, _, ns = own
    log = Log(server)
    (swapped,) = eventually("its first snapshot is in the log", lambda: log.lines(event="snapshot-swapped"))
    good = swapped["generation"]
    refused: list[Object] = []

    def create(number: int) -> list[Object]:
        """Pods, each another one, until the server has looked at the broken template and a few more."""
        made: list[Object] = []
        while not refused or len(made) < 3:
            labels = {"number": f"{number}-{len(made)}"}
            made.append(control_plane.api.create(pod("app", labels=labels), ns, dry_run=True))
            time.sleep(0.3)
        return made

    with ThreadPoolExecutor(100) as threads:
        streams = [threads.submit(create, number) for number in range(100)]
        eventually("they are under way", lambda: len(log.reviews(ns)) > 100)
        broken = {**gallery.STAMP, "overlay.yaml.j2": "metadata:\n  labels: {stamp: {% if %}}\n"}
        gallery.write(server.templates_dir, stamp=broken)
        refused += eventually("it is refused", lambda: log.lines(event="snapshot-refused"), timeout=300)
        pods = [each for stream in streams for each in stream.result(timeout=300)]

    assert len(pods) >= 300
    assert {each["metadata"]["labels"]["stamp"] for each in pods} == {"one"}
    reviews = eventually("all are in the log", lambda: _at_least(len(pods), log.reviews(ns, outcome="inject")))
    assert {review["generation"] for review in reviews} == {good}
    (told,) = refused
    assert (told["in_use"], told["level"]) == (good, "error")
    assert "stamp/overlay.yaml.j2:2" in told["why"]
    assert _metric(server, "injector_reload_failing") == 1
    assert _metric(server, 'injector_reloads_total{result="refused"}') == 1
    assert _metric(server, f'injector_snapshot_info{{generation="{good}"}}') == 1
    assert server.status("/readyz") == 200, "it serves on"

    gallery.write(server.templates_dir, stamp=gallery.stamp("two"))
    eventually("the mended one is in use", lambda: _stamp(control_plane, ns) == "two")
    assert _metric(server, "injector_reload_failing") == 0


def _at_least(count: int, found: list[Object]) -> list[Object]:
    return found if len(found) >= count else []


def test_every_answer_is_of_one_generation(control_plane: ControlPlane, own: Own) -> None:
    """Good changes, one after the other, under load: no pod gets one half from each."""
    server, _, ns = own
    paired = {
        "template.yaml": "description: Two places that must agree.\n",
        "_number.j2": "{% macro number() %}NUMBER{% endmacro %}",
        "overlay.yaml.j2": '{% from "_number.j2" import number %}\n'
        'metadata: {labels: {left: "l{{ number() }}", right: "rNUMBER"}}\n',
    }

    def version(number: int) -> dict[str, str]:
        return {name: text.replace("NUMBER", str(number)) for name, text in paired.items()}

    seen: dict[str, set[str]] = {}
    halves: list[Object] = []
    done: list[bool] = []

    def create(stream: int) -> None:
        count = 0
        while not done:
            count += 1
            labels = {"stream": f"{stream}-{count}"}
            made = control_plane.api.create(
                pod("app", labels=labels, annotations={TEMPLATES: "paired"}), ns, dry_run=True
            )["metadata"]
            left, right = made["labels"].get("left", ""), made["labels"].get("right", "")
            if left[1:] != right[1:]:
                halves.append(made)
            seen.setdefault(left[1:], set()).add(made["annotations"].get(STATUS, ""))
            time.sleep(0.02)

    with ThreadPoolExecutor(4) as threads:
        streams = [threads.submit(create, stream) for stream in range(4)]
        try:
            for number in range(3):
                gallery.write(server.templates_dir, paired=version(number))
                eventually(f"version {number} is seen", lambda number=number: str(number) in seen)  # type: ignore[misc]
        finally:
            done.append(True)
        for stream in streams:
            stream.result(timeout=300)
    assert halves == []
    assert seen["2"] == {"injected"}


def test_settings(control_plane: ControlPlane, own: Own) -> None:
    server, _, ns = own
    assert _stamp(control_plane, ns) == "one"
    server.settings_file.write_text(settings(control_plane, "logger"))
    eventually("the new default is in use", lambda: names(_try(control_plane, ns), "initContainers") == ["logger"])
    server.settings_file.write_text("{template: [stamp]}")
    why = eventually("a mistake is told", lambda: Log(server).lines(event="snapshot-refused"))[0]["why"]
    assert "settings.yaml" in why and "template" in why
    assert names(_try(control_plane, ns), "initContainers") == ["logger"], "the last good ones stay"
    server.settings_file.write_text("{templates: [stamp], prefix: inject.example}")
    eventually("the mended ones are in use", lambda: _stamp(control_plane, ns) == "one")
    assert notes(_try(control_plane, ns))["inject.example/status"] == "injected"


def test_sidecars_are_native_where_all_kubelets_can_run_them(control_plane: ControlPlane, own: Own) -> None:
    """By default from an API server of 1.32 on: kubelets may be three minors older, and know them from 1.29 on."""
    server, _, ns = own
    server.settings_file.write_text(json.dumps({"templates": ["logger"], "nativeSidecars": "auto"}))
    where = "initContainers" if control_plane.minor >= 32 else "containers"
    eventually("the sidecar is where it should be", lambda: "logger" in names(_try(control_plane, ns), where))


def test_a_template_in_a_config_map(control_plane: ControlPlane, own: Own) -> None:
    """It appears, replaces the one of its name in a folder, changes, breaks, and goes."""
    server, home, ns = own
    api, label = control_plane.api, {"sidecar.injector/template": "true"}
    asked = {TEMPLATES: "shipped"}
    assert "no template" in notes(_try(control_plane, ns, asked))[REASON]
    api.create(config_map("shipped", gallery.LOGGER, label), home)

    def shipped() -> list[str]:
        return names(_try(control_plane, ns, asked), "initContainers")

    eventually("it is there", lambda: shipped() == ["logger"])
    api.create(config_map("stamp", gallery.stamp("mapped"), label), home)
    eventually("it comes before the folder", lambda: _stamp(control_plane, ns) == "mapped")
    api.create(config_map("unlabelled", gallery.stamp("never")), home)
    api.patch("ConfigMap", "stamp", {"data": gallery.stamp("changed")}, home)
    eventually("it has changed", lambda: _stamp(control_plane, ns) == "changed")
    api.patch("ConfigMap", "stamp", {"data": {"overlay.yaml.j2": "spec: ]["}}, home)
    (told,) = eventually("it is broken", lambda: Log(server).lines(event="snapshot-refused"))
    assert "stamp" in told["why"]
    assert _stamp(control_plane, ns) == "changed"
    api.delete("ConfigMap", "stamp", home)
    eventually("the folder's is back", lambda: _stamp(control_plane, ns) == "one")
    api.patch("ConfigMap", "shipped", {"metadata": {"labels": {"sidecar.injector/template": None}}}, home)
    eventually("without its label it is none", lambda: shipped() == [])
    assert "unlabelled" not in Log(server).lines(event="snapshot-swapped")[-1]["templates"]


def test_drain(
    control_plane: ControlPlane,
    injector_server: Callable[..., InjectorServer],
    namespace: NamespaceFactory,
    configure_webhooks: ConfigureWebhooks,
) -> None:
    """SIGTERM in a stream of pods: readiness fails at once, and no call does until the listener is closed."""
    server = injector_server(start=False, settings={"templates": ["logger"], "server": {"drainSeconds": 10}})
    gallery.write(server.templates_dir, logger=gallery.LOGGER)
    process = server.start()
    ns = namespace(labels={"injection": "enabled", ELSEWHERE: ""})
    configure_webhooks(webhook("drained.injector.test", server.client_config(), ns))
    api = control_plane.api
    done: list[bool] = []
    draining: list[bool] = []
    after: list[int] = []

    def create() -> int:
        count = 0
        while not done:
            made = api.create(pod("app"), ns, dry_run=True)  # a failed call is a refusal: it fails closed
            assert names(made, "initContainers") == ["logger"]
            count += 1
            if draining:
                after.append(count)
            time.sleep(0.02)
        return count

    with ThreadPoolExecutor(4) as threads:
        streams = [threads.submit(create) for _ in range(4)]
        eventually("they are under way", lambda: len(Log(server).reviews(ns)) > 50)
        process.popen.terminate()
        eventually("it is not ready any more", lambda: server.status("/readyz") == 503)
        draining.append(True)
        try:
            eventually("pods are created all the same", lambda: len(after) > 20)
        finally:
            done.append(True)
        assert sum(stream.result(timeout=300) for stream in streams) > 70
    assert process.popen.wait(300) == 0
    assert [line["event"] for line in Log(server).lines()][-1] == "stopped"
