"""A rolling upgrade to other templates, while the built-in serving certificate is renewed again and again.

Replicas know each other's receipts by keys that come from that certificate: the guard refuses nobody meanwhile.
"""

from __future__ import annotations

import pytest
from cryptography import x509

from tests.cluster.builtin import BuiltinInstallation, Install, wait_in_order
from tests.cluster.builtin_watch import Prober, goes_on, new_pods
from tests.cluster.processes import eventually
from tests.cluster.server import InjectorServer
from tests.cluster.stream import Seen


def upgraded(installation: BuiltinInstallation) -> InjectorServer:
    """A replica with other templates, not yet behind the Service."""
    server = installation.server(behind=False)
    overlay = server.templates_dir / "logger" / "overlay.yaml.j2"
    overlay.write_text("spec: {containers: [{name: logger, image: 'l:2', args: [--new]}]}\n")
    eventually("it is in use", lambda: server.log.count('"snapshot-swapped"') > 0)
    return server


def served(installation: BuiltinInstallation) -> x509.Certificate:
    """The certificate that the Secret has for the replicas."""
    pair = installation.held().serving
    assert pair
    return pair.certificate


def renewed(installation: BuiltinInstallation, seen: Seen, prober: Prober) -> None:
    """Wait for the next certificate, and until it was used for a while."""
    before = served(installation)
    eventually("it is renewed", lambda: served(installation) != before, 300)
    goes_on(seen, prober)


@pytest.mark.soak(minutes=6)
def test_an_upgrade_and_renewals_at_the_same_time(install: Install) -> None:
    installation = install(lifeSeconds=9)
    installation.configure()
    old = [installation.server(), installation.server()]
    wait_in_order(installation)
    with new_pods(installation, per_second=100) as seen, Prober(installation) as prober:
        new: list[InjectorServer] = []
        while old:
            new.append(upgraded(installation))
            installation.put_behind(*old, *new)
            renewed(installation, seen, prober)
            ended = old.pop(0)  # the leader among them: its follower goes on
            assert ended.stop() == 0
            installation.put_behind(*old, *new)
            renewed(installation, seen, prober)
    assert (seen.wrong, prober.wrong, installation.failed_calls()) == ([], [], [])
    assert min(seen.images[image] for image in ("l:1", "l:2")) > 100
    assert len(prober.served) > 4
    for server in new:
        assert "Traceback" not in server.log
