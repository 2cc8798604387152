"""Built-in certificates against a real API server: from nothing to injecting, renewal, rotation, handing over."""

from __future__ import annotations

import re
import time
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest

from injector.cluster.installation import KINDS
from tests.cluster.api import ApiError
from tests.cluster.away import user_with
from tests.cluster.builtin import (
    SECRET,
    Install,
    everything_but,
    our_fields,
    repairs,
    settles,
    wait_in_order,
)
from tests.cluster.builtin_watch import Prober, new_pods
from tests.cluster.controlplane import ControlPlane
from tests.cluster.objects import pod
from tests.cluster.processes import eventually
from tests.cluster.server import InjectorServer

#: Lives of certificates so short that a test sees several, a third of which is long enough for whoever is slow.
SHORT = {"lifeSeconds": 15, "authorityLifeSeconds": 45}


def test_from_nothing_to_injecting(install: Install) -> None:
    installation = install()
    installation.configure()
    one, two = installation.server(wait=False), installation.server(wait=False)
    for server in (one, two):
        server.wait_until_ready()
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
    assert leader.metric("injector_bundle_writes_total", why="changed") == 2
    assert held.authority
    for server in (one, two):
        for pair, metric in ((held.serving, "certificate"), (held.authority, "authority")):
            shown = server.metric(f"injector_{metric}_not_after_timestamp_seconds")
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
    eventually("it answers", lambda: server.status("/readyz") == 503)
    eventually("the rest is ready", lambda: "certificate" in not_ready(server) and "templates" not in not_ready(server))
    assert re.search(rf"certificate: .*{SECRET}", not_ready(server))
    assert "listening" not in server.log
    assert server.status("/healthz") == 200


def not_ready(server: InjectorServer) -> str:
    """What it answers at /readyz."""
    try:
        with urlopen(f"http://127.0.0.1:{server.metrics_port}/readyz", timeout=5) as response:
            return str(response.read().decode())
    except HTTPError as error:
        return error.read().decode()


@pytest.mark.parametrize(
    ("authority_life", "signers", "certificates", "pods"),
    [(90, 2, 3, 100), pytest.param(90, 3, 8, 2000, marks=pytest.mark.soak(minutes=8))],
)
def test_certificates_and_authorities_are_replaced_under_load(
    install: Install, authority_life: int, signers: int, certificates: int, pods: int
) -> None:
    """For as long as it takes that so many authorities sign, so many certificates are served and so many pods come.

    A third of its life is left to a certificate that is replaced, so a machine that is busy for 15 s breaks nothing.
    """
    installation = install(lifeSeconds=45, authorityLifeSeconds=authority_life)
    installation.configure()
    for _ in range(2):
        installation.server()
    wait_in_order(installation)
    authorities = set()
    with new_pods(installation, per_second=3) as seen, Prober(installation) as prober:
        end = time.monotonic() + 800
        while time.monotonic() < end and (
            seen.created < pods or len(authorities) < signers or len(prober.served) < certificates
        ):
            held = installation.held()
            authorities |= {held.authority.certificate} if held.authority else set()
            time.sleep(0.2)
    assert seen.wrong == []
    assert prober.wrong == []
    assert installation.failed_calls() == []
    assert seen.created >= pods
    assert len(authorities) >= signers
    assert len(prober.served) >= certificates
    for server in installation.servers:
        assert server.log.count('"listening"') == 1
        assert "certificate-swapped" in server.log


@pytest.mark.soak(minutes=6)
def test_two_that_lead_at_once_do_not_fight(install: Install) -> None:
    """Each with a Lease of its own, as if the Lease did not work at all."""
    installation = install(**SHORT)
    installation.configure()
    one, two = installation.server(lease="one"), installation.server(lease="two")
    wait_in_order(installation)
    with new_pods(installation) as seen, Prober(installation) as prober:
        eventually("an authority is followed by another", lambda: len(installation.held().old) > 0, 300)
        wait_in_order(installation)
    assert len(installation.leaders()) == 2
    assert (seen.wrong, prober.wrong, installation.failed_calls()) == ([], [], [])
    assert "overwritten" not in one.log + two.log
    assert repairs(one) + repairs(two) == 0
    # made, and the next one; each a write to each configuration, and the dropping of old ones
    assert installation.generation(KINDS[0]) < 12


def test_a_leader_that_ends_hands_over_and_goes_on_serving_while_it_drains(install: Install) -> None:
    installation = install(leaseSeconds=30)
    installation.configure()
    first = installation.server(drainSeconds=16)
    second = installation.server()
    wait_in_order(installation)
    assert installation.leaders() == [first]
    assert first.process
    first.process.popen.terminate()
    eventually("the other leads", lambda: second in installation.leaders(), 300)
    assert first.process.popen.poll() is None, "it still drains"
    assert first.metric("injector_leader") == 0
    assert first.process.popen.wait(300) == 0


def test_a_missing_permission_is_told_by_its_name(install: Install) -> None:
    installation = install()
    installation.configure()
    server = installation.server(wait=False)
    server.wait_until_ready()
    server.stop()
    configurations = "mutatingwebhookconfigurations"
    server.env["KUBECONFIG"] = user_with(installation.control_plane, *everything_but(installation.name, configurations))
    installation.api.delete("Secret", SECRET, installation.name)
    server.start(wait=False)
    eventually("it says why", lambda: "Forbidden" in not_ready(server) and "webhookconfigurations" in not_ready(server))
    assert not installation.api.exists("Secret", SECRET, installation.name)
    assert "Traceback" not in server.log


def test_a_port_that_is_taken(install: Install) -> None:
    installation = install()
    installation.configure()
    first = installation.server()
    second = installation.server(wait=False)
    second.process.kill()
    second.command = [a if not a.startswith("--port=") else f"--port={first.port}" for a in second.command]
    second.start(wait=False)
    second.process.popen.wait(300)
    assert "task-failed" in second.log
    assert "Address already in use" in second.log


def test_without_a_namespace_it_does_not_start(control_plane: ControlPlane, install: Install) -> None:
    installation = install()
    server = installation.server(wait=False)
    server.process.kill()
    server.command = [argument for argument in server.command if not argument.startswith("--namespace")]
    server.start(wait=False)
    assert server.process.popen.wait(300) == 1
    assert "certificates.source" in server.log
    with pytest.raises(ApiError):
        installation.api.get("Secret", SECRET, installation.name)
