"""Built-in certificates against a real API server: from nothing to injecting, renewal, rotation, repair."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest

from injector.cluster.held import Held
from injector.cluster.issue import pem_of
from tests.cluster.api import ApiError
from tests.cluster.away import user_with
from tests.cluster.builtin import (
    KINDS,
    SECRET,
    BuiltinInstallation,
    Prober,
    Stream,
    everything_but,
    number,
    our_fields,
    settles,
    wait_in_order,
    wait_until_ready,
)
from tests.cluster.certificates import Authority
from tests.cluster.controlplane import ControlPlane
from tests.cluster.objects import pod
from tests.cluster.processes import eventually
from tests.cluster.server import InjectorServer

Install = Callable[..., BuiltinInstallation]
SHORT = {"leaseSeconds": 3, "settleSeconds": 1}


@pytest.fixture
def install(control_plane: ControlPlane, tmp_path: Path) -> Iterator[Install]:
    made: list[BuiltinInstallation] = []

    def create(**certificates: object) -> BuiltinInstallation:
        made.append(BuiltinInstallation(control_plane, tmp_path, **{**SHORT, **certificates}))
        return made[-1]

    yield create
    for installation in made:
        installation.close()


def test_from_nothing_to_injecting(install: Install) -> None:
    installation = install()
    installation.configure()
    one, two = installation.server(wait=False), installation.server(wait=False)
    for server in (one, two):
        wait_until_ready(server)
    installation.put_behind(one, two)
    held = wait_in_order(installation)
    assert held.serving
    made = eventually("pods are injected", lambda: installation.api.create(pod("first"), installation.shop))
    assert "logger" in str(made["spec"])
    # nothing but the bundle is the certificates', and only of entries that call the injector's Service
    for kind, entries in zip(KINDS, (2, 1), strict=True):
        configuration = installation.configuration(kind)
        [fields] = our_fields(configuration)
        assert fields["operation"] == "Apply"
        ours = fields["fieldsV1"]
        assert set(ours) == {"f:webhooks"}
        assert len(ours["f:webhooks"]) == entries
        for entry in ours["f:webhooks"].values():
            assert entry == {".": {}, "f:clientConfig": {"f:caBundle": {}}, "f:name": {}}
        others = [e for e in configuration["webhooks"] if e["name"].startswith("other.")]
        assert all("caBundle" not in entry["clientConfig"] for entry in others)
    [leader] = eventually("one leads", lambda: len(found := installation.leaders()) == 1 and found)
    assert number(leader, 'injector_bundle_writes_total{why="changed"}') == 2
    assert held.authority
    for server in (one, two):
        for pair, metric in ((held.serving, "certificate"), (held.authority, "authority")):
            shown = number(server, f"injector_{metric}_not_after_timestamp_seconds")
            assert shown == pair.certificate.not_valid_after_utc.timestamp()
        assert "Traceback" not in server.log

    def versions() -> list[str]:
        objects = [installation.configuration(kind) for kind in KINDS]
        objects.append(installation.api.get("Secret", SECRET, installation.name))
        return [found["metadata"]["resourceVersion"] for found in objects]

    assert settles(versions, 3), "it writes although there is nothing to do"


def test_until_there_is_a_certificate_it_is_not_ready_and_says_why(install: Install) -> None:
    installation = install()
    server = installation.server(wait=False, leads=False)
    eventually("it answers", lambda: server.status("/readyz") == 503, 30)
    eventually("the rest is ready", lambda: "certificate" in not_ready(server) and "templates" not in not_ready(server))
    assert re.search(rf"not ready: certificate: none in Secret {SECRET} yet", not_ready(server))
    assert "listening" not in server.log
    assert server.status("/healthz") == 200


def not_ready(server: InjectorServer) -> str:
    """What it answers at /readyz."""
    try:
        with urlopen(f"http://127.0.0.1:{server.metrics_port}/readyz", timeout=5) as response:
            return str(response.read().decode())
    except HTTPError as error:
        return error.read().decode()


def repairs(server: InjectorServer) -> float:
    return number(server, 'injector_bundle_writes_total{why="repaired"}')


def test_certificates_and_authorities_are_replaced_under_load(install: Install) -> None:
    installation = install(lifeSeconds=9, authorityLifeSeconds=27)
    installation.configure()
    for _ in range(2):
        installation.server()
    wait_in_order(installation)
    authorities = set()
    with Stream(installation) as stream, Prober(installation) as prober:
        end = time.monotonic() + 60
        while time.monotonic() < end:
            held = installation.held()
            authorities |= {held.authority.certificate} if held.authority else set()
            time.sleep(0.2)
    assert stream.wrong == []
    assert prober.wrong == []
    assert installation.failed_calls() == []
    assert stream.created > 500
    assert len(authorities) >= 3
    assert len(prober.served) >= 8
    for server in installation.servers:
        assert server.log.count('"listening"') == 1
        assert "certificate-swapped" in server.log


def test_a_bundle_that_somebody_overwrites_is_right_again_after_one_write(install: Install) -> None:
    installation = install()
    installation.configure()
    for _ in range(2):
        installation.server()
    held = wait_in_order(installation)
    kind = KINDS[0]
    stranger = Authority("stranger").certificate

    def generation() -> int:
        count: int = installation.configuration(kind)["metadata"]["generation"]
        return count

    for times, overwritten in enumerate((stranger, stranger + pem_of(held.bundle)), 1):
        before = generation()
        installation.set_bundle(kind, overwritten)
        eventually("it is right again", installation.bundles_fit, 10)
        assert settles(generation, 2)
        assert generation() == before + 2, "theirs, and one of ours"
        assert sum(repairs(server) for server in installation.servers) == times
    assert installation.api.create(pod("after"), installation.shop)["spec"]


def test_two_that_lead_at_once_do_not_fight(install: Install) -> None:
    """Each with a Lease of its own, as if the Lease did not work at all."""
    installation = install(lifeSeconds=9, authorityLifeSeconds=27)
    installation.configure()
    one, two = installation.server(lease="one"), installation.server(lease="two")
    wait_in_order(installation)
    with Stream(installation) as stream, Prober(installation) as prober:
        eventually("an authority is followed by another", lambda: len(installation.held().old) > 0, 60)
        wait_in_order(installation)
    assert len(installation.leaders()) == 2
    assert (stream.wrong, prober.wrong, installation.failed_calls()) == ([], [], [])
    assert "overwritten" not in one.log + two.log
    assert repairs(one) + repairs(two) == 0
    # made, and the next one; each a write to each configuration, and the dropping of old ones
    assert installation.configuration(KINDS[0])["metadata"]["generation"] < 12


def test_who_overwrites_again_and_again_is_named_and_given_way_to(install: Install) -> None:
    installation = install()
    installation.configure()
    server = installation.server()
    wait_in_order(installation)
    stranger = Authority("stranger").certificate
    end = time.monotonic() + 20
    while time.monotonic() < end:
        if installation.bundles_fit():
            installation.set_bundle(KINDS[0], stranger, manager="flux")
        time.sleep(0.1)
    eventually("it is told", lambda: "bundle-overwritten" in server.log)
    assert server.log.count("bundle-overwritten") == 1
    assert "overwritten again and again by flux" in server.log
    assert 'injector_bundle_fights_total{manager="flux"}' in server.metrics()
    assert 3 <= repairs(server) <= 7  # at once, at once, then after 1, 2, 4, 8 seconds
    eventually("the last word is ours", installation.bundles_fit, 30)


def test_the_secret_is_deleted_or_emptied(install: Install) -> None:
    installation = install()
    installation.configure()
    for _ in range(2):
        installation.server()
    first = wait_in_order(installation)
    with Stream(installation) as stream, Prober(installation) as prober:
        installation.api.delete("Secret", SECRET, installation.name)
        eventually("there is another authority", lambda: another(installation, first), 30)
        second = wait_in_order(installation)
        assert first.authority and first.authority.certificate in second.old
        installation.store({})
        eventually("there is another authority", lambda: another(installation, second), 30)
        third = wait_in_order(installation)
        assert set(second.bundle) < set(third.bundle)
        # the way of docs/certificates.md to take old authorities out
        patch = [{"op": "remove", "path": "/data/ca-old.crt"}]
        installation.api.patch("Secret", SECRET, patch, installation.name, patch_type="json")
        eventually("they are out", lambda: not installation.held().old and installation.bundles_fit(), 10)
        time.sleep(1)
    assert (stream.wrong, prober.wrong, installation.failed_calls()) == ([], [], [])
    assert len(prober.served) == 3


def test_an_authority_of_one_s_own(install: Install) -> None:
    """As docs/certificates.md has it: put where the next one is."""
    installation = install()
    installation.configure()
    installation.server()
    first = wait_in_order(installation)
    mine = Authority("mine")
    with Stream(installation) as stream, Prober(installation) as prober:
        installation.store({**first.data, "ca-next.crt": mine.certificate, "ca-next.key": mine.key})
        eventually("it is used", lambda: another(installation, first) and installation.in_order(), 30)
        time.sleep(1)
    assert (stream.wrong, prober.wrong, installation.failed_calls()) == ([], [], [])
    held = installation.held()
    assert held.authority and held.authority.certificate_pem == mine.certificate


def another(installation: BuiltinInstallation, before: Held) -> bool:
    held = installation.held()
    return bool(held.serving and held.authority and held.authority.certificate not in before.bundle)


@pytest.mark.parametrize(
    "damage",
    [
        {"tls.crt": b"no PEM"},
        {"tls.key": b""},
        {"ca.key": b"no PEM"},
        {"ca.crt": b"no PEM", "ca.key": b""},
    ],
    ids=lambda damage: "+".join(damage),
)
def test_a_damaged_secret_is_told_and_mended(install: Install, damage: dict[str, bytes]) -> None:
    installation = install()
    installation.configure()
    server = installation.server()
    first = wait_in_order(installation)
    with Stream(installation) as stream, Prober(installation) as prober:
        installation.store({k: v for k, v in {**first.data, **damage}.items() if v})
        eventually("it is told", lambda: "certificate-secret-damaged" in server.log)
        eventually("it is mended", lambda: installation.held().data != first.data and installation.in_order(), 30)
        time.sleep(1)
    assert (stream.wrong, prober.wrong, installation.failed_calls()) == ([], [], [])


def test_a_leader_that_ends_hands_over_and_goes_on_serving_while_it_drains(install: Install) -> None:
    installation = install(leaseSeconds=15)
    installation.configure()
    first = installation.server(drainSeconds=8)
    second = installation.server()
    wait_in_order(installation)
    assert installation.leaders() == [first]
    assert first.process
    first.process.popen.terminate()
    eventually("the other leads", lambda: second in installation.leaders(), 6)
    assert first.process.popen.poll() is None, "it still drains"
    assert number(first, "injector_leader") == 0
    assert first.process.popen.wait(30) == 0


def test_what_an_uninstallation_deletes_does_not_come_back(install: Install) -> None:
    installation = install()
    installation.configure()
    servers = [installation.server() for _ in range(2)]
    wait_in_order(installation)
    for kind in KINDS:
        installation.api.delete(kind, installation.name)
    installation.api.delete("Secret", SECRET, installation.name)
    installation.api.delete("Lease", "sidecar-injector", installation.name)
    time.sleep(1)  # until the pods are told
    for server in servers:
        assert server.stop() == 0
    for kind, name in (("Secret", SECRET), ("Lease", "sidecar-injector")):
        assert not installation.api.exists(kind, name, installation.name)
    assert not any(installation.api.exists(kind, installation.name) for kind in KINDS)


def test_a_missing_permission_is_told_by_its_name(install: Install) -> None:
    installation = install()
    installation.configure()
    server = installation.server(wait=False)
    wait_until_ready(server)
    server.stop()
    configurations = "mutatingwebhookconfigurations"
    server._env["KUBECONFIG"] = user_with(
        installation.control_plane, *everything_but(installation.name, configurations)
    )
    installation.api.delete("Secret", SECRET, installation.name)
    server.start(wait=False)
    eventually(
        "it says why", lambda: "Forbidden" in not_ready(server) and "webhookconfigurations" in not_ready(server), 40
    )
    assert not installation.api.exists("Secret", SECRET, installation.name)
    assert "Traceback" not in server.log


def test_a_port_that_is_taken(install: Install) -> None:
    installation = install()
    installation.configure()
    first = installation.server()
    second = installation.server(wait=False)
    second.process.kill()
    second._command = [a if not a.startswith("--port=") else f"--port={first.port}" for a in second._command]
    second.start(wait=False)
    second.process.popen.wait(40)
    assert "task-failed" in second.log
    assert "Address already in use" in second.log


def test_without_a_namespace_it_does_not_start(control_plane: ControlPlane, install: Install) -> None:
    installation = install()
    server = installation.server(wait=False)
    server.process.kill()
    server._command = [argument for argument in server._command if not argument.startswith("--namespace")]
    server.start(wait=False)
    assert server.process.popen.wait(30) == 1
    assert "certificates.source builtin needs the injector's own namespace" in server.log
    with pytest.raises(ApiError):
        installation.api.get("Secret", SECRET, installation.name)
