"""Built-in certificates that somebody else changes: overwritten bundles, a Secret that is lost or damaged."""

from __future__ import annotations

import time

import pytest

from injector.cluster.installation import KINDS
from injector.cluster.rotation import CertificateState
from injector.cluster.x509 import pem_of
from tests.cluster.builtin import (
    SECRET,
    BuiltinInstallation,
    Install,
    repairs,
    settles,
    wait_in_order,
)
from tests.cluster.builtin_watch import Prober, goes_on, new_pods
from tests.cluster.certificates import Authority
from tests.cluster.objects import pod
from tests.cluster.processes import eventually


def test_a_bundle_that_somebody_overwrites_is_right_again_after_one_write(install: Install) -> None:
    installation = install()
    installation.configure()
    for _ in range(2):
        installation.server()
    held = wait_in_order(installation)
    kind = KINDS[0]
    stranger = Authority("stranger").certificate

    for times, overwritten in enumerate((stranger, stranger + pem_of(held.bundle)), 1):
        before = installation.generation(kind)
        installation.set_bundle(kind, overwritten)
        eventually("it is right again", installation.bundles_fit)
        assert settles(lambda: installation.generation(kind), 2)
        assert installation.generation(kind) == before + 2, "theirs, and one of ours"
        assert sum(repairs(server) for server in installation.servers) == times
    assert installation.api.create(pod("after"), installation.shop)["spec"]


def test_two_that_lead_at_once_put_a_bundle_right_with_one_write(install: Install) -> None:
    """Each with a Lease of its own: whoever is later finds another version of the configuration, and looks anew."""
    installation = install()
    installation.configure()
    servers = [installation.server(lease=lease) for lease in ("one", "two")]
    wait_in_order(installation)
    assert installation.leaders() == servers
    stranger = Authority("stranger").certificate
    for times in range(1, 3):
        before = installation.generation(KINDS[0])
        installation.set_bundle(KINDS[0], stranger)
        eventually("it is right again", installation.bundles_fit)
        assert settles(lambda: installation.generation(KINDS[0]), 2)
        assert installation.generation(KINDS[0]) == before + 2, "somebody's, and one of the two's"
        assert sum(repairs(server) for server in servers) == times


def test_a_configuration_that_is_deleted_and_made_again(install: Install) -> None:
    installation = install()
    installation.configure()
    server = installation.server()
    before = wait_in_order(installation)
    for kind in KINDS:
        installation.api.delete(kind, installation.name)
    time.sleep(1)
    installation.configure()
    eventually("its entries have the bundle", installation.bundles_fit)
    eventually("pods are injected", lambda: installation.api.create(pod("first"), installation.shop))
    assert installation.held().data == before.data
    assert "bundle-overwritten" not in server.log


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
        time.sleep(0.25)
    eventually("it is told", lambda: "bundle-overwritten" in server.log)
    assert server.log.count("bundle-overwritten") == 1
    assert "flux" in server.log
    assert 'injector_bundle_fights_total{manager="flux"}' in server.metrics()
    assert 3 <= repairs(server) <= 7  # at once, at once, then after 1, 2, 4, 8 seconds
    eventually("the last word is ours", installation.bundles_fit)


def test_the_secret_is_deleted_or_emptied(install: Install) -> None:
    installation = install()
    installation.configure()
    for _ in range(2):
        installation.server()
    first = wait_in_order(installation)
    with new_pods(installation) as seen, Prober(installation) as prober:
        installation.api.delete("Secret", SECRET, installation.name)
        eventually("there is another authority", lambda: another(installation, first))
        second = wait_in_order(installation)
        assert first.authority and first.authority.certificate in second.old
        installation.store({})
        eventually("there is another authority", lambda: another(installation, second))
        third = wait_in_order(installation)
        assert set(second.bundle) < set(third.bundle)
        # the way of docs/certificates.md to take old authorities out
        patch = [{"op": "remove", "path": "/data/ca-old.crt"}]
        installation.api.patch("Secret", SECRET, patch, installation.name, patch_type="json")
        eventually("they are out", lambda: not installation.held().old and installation.bundles_fit())
        goes_on(seen, prober)
    assert (seen.wrong, prober.wrong, installation.failed_calls()) == ([], [], [])
    assert len(prober.served) == 3


def test_an_authority_of_one_s_own(install: Install) -> None:
    """As docs/certificates.md has it: put where the next one is."""
    installation = install()
    installation.configure()
    installation.server()
    first = wait_in_order(installation)
    mine = Authority("mine")
    with new_pods(installation) as seen, Prober(installation) as prober:
        installation.store({**first.data, "ca-next.crt": mine.certificate, "ca-next.key": mine.key})
        eventually("it is used", lambda: another(installation, first) and installation.in_order())
        goes_on(seen, prober)
    assert (seen.wrong, prober.wrong, installation.failed_calls()) == ([], [], [])
    held = installation.held()
    assert held.authority and held.authority.certificate_pem == mine.certificate


def another(installation: BuiltinInstallation, before: CertificateState) -> bool:
    held = installation.held()
    return bool(held.serving and held.authority and held.authority.certificate not in before.bundle)


@pytest.mark.parametrize(
    "damage",
    [
        {"tls.crt": b"no PEM"},
        pytest.param({"tls.key": b""}, marks=pytest.mark.soak(minutes=3)),
        pytest.param({"ca.key": b"no PEM"}, marks=pytest.mark.soak(minutes=3)),
        {"ca.crt": b"no PEM", "ca.key": b""},
    ],
    ids=lambda damage: "+".join(damage),
)
def test_a_damaged_secret_is_told_and_mended(install: Install, damage: dict[str, bytes]) -> None:
    installation = install()
    installation.configure()
    server = installation.server()
    first = wait_in_order(installation)
    with new_pods(installation) as seen, Prober(installation) as prober:
        installation.store({k: v for k, v in {**first.data, **damage}.items() if v})
        eventually("it is told", lambda: "certificate-secret-damaged" in server.log)
        eventually("it is mended", lambda: installation.held().data != first.data and installation.in_order())
        goes_on(seen, prober)
    assert (seen.wrong, prober.wrong, installation.failed_calls()) == ([], [], [])


def test_what_an_uninstallation_deletes_does_not_come_back(install: Install) -> None:
    installation = install(leaseSeconds=60)  # a Lease that is gone is made again when its time is over
    installation.configure()
    servers = [installation.server() for _ in range(2)]
    wait_in_order(installation)
    for kind in KINDS:
        installation.api.delete(kind, installation.name)
    installation.api.delete("Secret", SECRET, installation.name)
    installation.api.delete("Lease", "sidecar-injector", installation.name)
    time.sleep(3)  # until the pods are told
    for server in servers:
        assert server.stop() == 0
    for kind, name in (("Secret", SECRET), ("Lease", "sidecar-injector")):
        assert not installation.api.exists(kind, name, installation.name)
    assert not any(installation.api.exists(kind, installation.name) for kind in KINDS)
