"""Built-in certificates while the API server is away: served as before, asked for less and less, right again after."""

from __future__ import annotations

import asyncio
from pathlib import Path

from injector.cluster.builtin import BuiltinCertificates
from injector.cluster.client import Client
from injector.cluster.installation import KINDS
from injector.cluster.reflector import Timing
from injector.cluster.x509 import Pair
from injector.settings import CertificateSettings
from injector.telemetry import Metrics
from tests.cluster.away import Relay, until
from tests.cluster.builtin import BuiltinInstallation, wait_in_order
from tests.cluster.certificates import Authority
from tests.cluster.controlplane import ControlPlane

TIMING = Timing(watch=4, settled=1, longest_pause=4, list_deadline=4)


def test_it_recovers_alone_and_asks_less_and_less(control_plane: ControlPlane, tmp_path: Path) -> None:
    """When it is cut off, and when nothing comes through any more: both at the same time."""
    installations = {how: BuiltinInstallation(control_plane, tmp_path / how) for how in ("cut", "freeze")}

    async def both() -> None:
        await asyncio.gather(*(away(control_plane, made, how) for how, made in installations.items()))

    try:
        for made in installations.values():
            made.folder.mkdir()
            made.configure()
        asyncio.run(both())
    finally:
        for made in installations.values():
            made.close()


async def away(control_plane: ControlPlane, installation: BuiltinInstallation, how: str) -> None:
    """The certificates of one installation, whose API server is away for a while."""
    settings = CertificateSettings(
        source="builtin", service="injector", webhooks=installation.name, lease_seconds=3, settle_seconds=1
    )
    served: list[Pair] = []
    metrics = Metrics()

    async def until_right() -> None:
        await asyncio.to_thread(wait_in_order, installation)

    async with Relay(control_plane) as relay, await Client.connect(relay.kubeconfig(installation.folder)) as client:
        certificates = BuiltinCertificates(
            client, installation.name, "cluster.local", settings, served.append, metrics, timing=TIMING
        )
        certificates.start()
        assert "none in Secret" in certificates.why_not
        await until(lambda: served, "there is a certificate")
        await until_right()
        getattr(relay, how)()
        stranger = Authority("stranger").certificate
        await asyncio.to_thread(installation.set_bundle, KINDS[0], stranger)
        before = client.requests
        await until(lambda: metrics.leader.cell().value == 0, "it leads no longer")
        await asyncio.sleep(15)
        asked = client.requests - before
        assert certificates.why_not == "", "what it serves is as good as before"
        assert len(served) == 1
        # three watches, the Lease: each at most every two seconds on the average once it waits longer
        assert asked < 60
        await relay.mend()
        await until(lambda: metrics.leader.cell().value == 1, "it leads again")
        await until_right()
        await certificates.stop()
