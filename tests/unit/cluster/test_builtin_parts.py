"""Parts of the built-in certificates: patience in a fight, what is read of a configuration, pairs that are none."""

from __future__ import annotations

import asyncio
import base64
import datetime
import json
import socket
import ssl
import threading
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from structlog.testing import capture_logs

from injector.cluster.builtin import BuiltinCertificates
from injector.cluster.bundles import FIELD_MANAGER, Bundles, Configuration
from injector.cluster.certificate_controller import CertificateController, SecretStore, data_of
from injector.cluster.client import Client
from injector.cluster.rotation import CertificateState, RotationPlan, read_certificate_state
from injector.cluster.tasks import RepairBackoff
from injector.cluster.x509 import Pair, issued_by, new_authority, pem_of, read_certificates, read_pair, sign
from injector.errors import SettingsError
from injector.settings import CertificateSettings, parse_settings
from injector.telemetry import Metrics
from injector.webhook.tls import CertificateError, context_of
from tests.cluster.away import until
from tests.processor_time import at_most
from tests.unit.cluster.fault_server import Asked, Write, answer, listed, serving, status, stream

NOW = datetime.datetime.now(datetime.UTC)
DAY = datetime.timedelta(days=1)
ONE, TWO = (new_authority(name, NOW, NOW + DAY) for name in ("one", "two"))
SERVER = sign(ONE, ["injector.sidecars.svc"], NOW, NOW + DAY)


# ------------------------------------------------------------------------------------------------ patience


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def repaired_after(patience: RepairBackoff, clock: Clock) -> float:
    """How long it takes until the next repair, in steps of a quarter of a second."""
    begin = clock.now
    while not patience.due:
        clock.now += 0.25
    patience.repaired()
    return clock.now - begin


def test_a_fight_is_given_more_and_more_time() -> None:
    clock = Clock()
    patience = RepairBackoff(1, 300, clock)
    pauses = [repaired_after(patience, clock) for _ in range(14)]
    assert pauses == [0, 0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300, 300]
    assert patience.fighting
    clock.now += 599
    assert patience.due and patience.fighting
    clock.now += 2
    assert patience.due and not patience.fighting
    assert [repaired_after(patience, clock) for _ in range(3)] == [0, 0, 1]


def test_one_mistake_a_day_is_no_fight() -> None:
    clock = Clock()
    patience = RepairBackoff(1, 300, clock)
    for _ in range(20):
        assert repaired_after(patience, clock) == 0
        clock.now += 86400


# ------------------------------------------------------------------------------------------------ configurations


def configuration(*webhooks: dict[str, Any], fields: tuple[dict[str, Any], ...] = ()) -> Configuration:
    metadata = {"name": "sidecar-injector", "resourceVersion": "7", "managedFields": list(fields)}
    bundles = Bundles(None, "sidecar-injector", ("injector", "sidecars"), lambda: None)  # type: ignore[arg-type]
    return bundles._configuration("MutatingWebhookConfiguration", {"metadata": metadata, "webhooks": list(webhooks)})


def entry(
    name: str, pem: bytes | None = None, service: str = "injector", namespace: str = "sidecars"
) -> dict[str, Any]:
    config: dict[str, Any] = {"service": {"name": service, "namespace": namespace}}
    if pem is not None:
        config["caBundle"] = base64.b64encode(pem).decode()
    return {"name": name, "clientConfig": config}


def test_only_entries_that_call_the_service_count() -> None:
    found = configuration(
        entry("ours"),
        entry("other", service="other"),
        entry("elsewhere", namespace="other"),
        {"name": "by-url", "clientConfig": {"url": "https://somewhere"}},
    )
    assert [one.name for one in found.entries] == ["ours"]


@pytest.mark.parametrize(
    ("pem", "differs"),
    [
        (None, True),
        (pem_of([ONE.certificate]), True),
        (pem_of([ONE.certificate, TWO.certificate]), False),
        (pem_of([TWO.certificate, ONE.certificate]), False),
        (b"\n\n" + pem_of([TWO.certificate]) + b"\r\n" + pem_of([ONE.certificate]) + b"\n", False),
        (pem_of([ONE.certificate, TWO.certificate]) + b"# a remark", True),
        (pem_of([ONE.certificate, TWO.certificate, SERVER.certificate]), True),
        (b"no PEM", True),
    ],
)
def test_a_bundle_differs_by_its_certificates_and_not_by_how_it_is_written(pem: bytes | None, differs: bool) -> None:
    wanted = (ONE.certificate, TWO.certificate)
    assert configuration(entry("a", pem)).differs(wanted) is differs


def test_a_bundle_that_is_not_base64_differs() -> None:
    broken = entry("a")
    broken["clientConfig"]["caBundle"] = "%%%"
    assert configuration(broken).differs(())


def test_who_else_writes_the_bundle_is_known_by_the_managed_fields() -> None:
    def field(manager: str, time: str, what: str) -> dict[str, Any]:
        owned = {"f:webhooks": {".": {}, 'k:{"name":"a"}': {"f:clientConfig": {what: {}}}}}
        return {"manager": manager, "time": time, "fieldsV1": owned}

    ours = field(FIELD_MANAGER, "2026-03-03T00:00:00Z", "f:caBundle")
    helm = field("helm", "2026-03-01T00:00:00Z", "f:service")
    flux = field("flux", "2026-03-02T00:00:00Z", "f:caBundle")
    assert configuration(fields=(ours, helm, flux)).writers == ("flux",)
    assert configuration(fields=(helm, ours, field("argocd", "2026-03-05T00:00:00Z", "f:url"))).writers == ("argocd",)
    assert configuration(fields=(ours,)).writers == ()


# ------------------------------------------------------------------------------------------------ whose clock counts


@pytest.mark.parametrize("hours", [-400 * 24, -2, 2, 400 * 24])
def test_the_clock_that_counts_is_the_api_server_s(tmp_path: Path, hours: float) -> None:
    """A leader whose own clock is wrong ends no authority that is good, and signs nothing that is not good yet."""
    there = NOW + datetime.timedelta(hours=hours)
    authority = new_authority("in use", there - 300 * DAY, there + 65 * DAY)
    due = sign(authority, ["injector.sidecars.svc"], there - 70 * DAY, there + 20 * DAY)
    held = CertificateState(due, authority)
    written: list[dict[str, Any]] = []

    async def handler(asked: Asked, write: Write) -> None:
        date = f"Date: {format_datetime(there, usegmt=True)}\r\n"
        if asked.method == "PUT":
            written.append(json.loads(asked.body))
        if "webhookconfigurations" in asked.path:
            await write(answer(404, status(404, "NotFound"), date))
        else:
            data = {key: base64.b64encode(value).decode() for key, value in held.data.items()}
            await write(answer(200, {"metadata": {"name": "kept", "resourceVersion": "1"}, "data": data}, date))

    async def work() -> None:
        async with serving(handler) as server, await Client.connect(server.kubeconfig(tmp_path)) as client:
            store = SecretStore(client, "sidecars", "kept", lambda _held: None)
            bundles = Bundles(client, "injector", ("injector", "sidecars"), lambda: None)
            plan = RotationPlan(("injector.sidecars.svc",), 90 * DAY, 365 * DAY)
            controller = CertificateController(
                store, bundles, plan, lambda: True, client.now, Metrics(), settle_seconds=0, write_seconds=5
            )
            await client.get("/")
            assert abs(client.now() - there) < DAY / 24
            assert await controller.work(held)

    asyncio.run(work())
    [secret] = written
    found = read_certificate_state(data_of(secret))
    assert found.serving and found.authority
    assert found.authority.certificate == authority.certificate, "it is good by the clock of who checks it"
    begin, end = found.serving.certificate.not_valid_before_utc, found.serving.certificate.not_valid_after_utc
    assert begin <= there < end


# ------------------------------------------------------------------------------------------------ pairs and contexts


def test_pairs_that_are_none_say_why() -> None:
    certificate, key = SERVER.certificate_pem, SERVER.key_pem
    assert issued_by(read_pair(certificate, key).certificate, ONE.certificate)
    odd = ed25519.Ed25519PrivateKey.generate()

    unknown = odd.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    for wrong, why in (
        ((b"", key), "the certificate is not PEM"),
        ((certificate, b""), "the key is not PEM, or it is encrypted"),
        ((certificate, unknown), "the key must be P-256, P-384 or P-521, or RSA"),
        ((certificate, b"x" * 4097), "the key has more than 4096 bytes"),
        ((certificate, TWO.key_pem), "the key does not belong to this certificate"),
    ):
        with pytest.raises(ValueError, match=why):
            read_pair(*wrong)


def test_certificates_are_read_one_by_one() -> None:
    text = b"x\n" + pem_of([ONE.certificate]) + pem_of([TWO.certificate])[:90] + pem_of([TWO.certificate])
    assert read_certificates(text) == (ONE.certificate, TWO.certificate)
    assert read_certificates(b"") == ()


def test_a_certificate_that_cannot_be_read_is_damage() -> None:
    """One with an extension twice is taken apart only when it is asked for, and that by an exception of its own."""
    subject_key, constraints = (bytes.fromhex(f"0603551d{last}") for last in ("0e", "13"))
    twice = ONE.certificate.public_bytes(Encoding.DER).replace(subject_key, constraints)
    odd = x509.load_der_x509_certificate(twice)
    with pytest.raises(x509.DuplicateExtension):
        print(odd.extensions)
    assert read_certificates(pem_of([odd])) == ()
    held = read_certificate_state(
        {"ca.crt": pem_of([odd]), "ca.key": ONE.key_pem, "ca-old.crt": pem_of([odd, TWO.certificate])}
    )
    assert (held.authority, held.old, len(held.faults)) == (None, (TWO.certificate,), 2)


def test_a_mistake_does_not_end_the_renewal_for_good(tmp_path: Path) -> None:
    """Here an answer that is JSON and nothing that Kubernetes would say, such as a proxy's."""
    odd = [b"{}", b'{"metadata": {}}']
    made: list[str] = []

    async def handler(asked: Asked, write: Write) -> None:
        name = asked.path.rpartition("/")[2]
        if asked.watch:
            await write(stream())
            await asyncio.sleep(60)
        elif asked.method != "GET":
            body = json.loads(asked.body)
            made.append(body["kind"])
            await write(answer(201, {**body, "metadata": {**body["metadata"], "resourceVersion": "1"}}))
        elif name == "lease" and odd:
            await write(answer(200, odd.pop()))
        elif name == "webhooks" and "odd" not in made:
            made.append("odd")
            await write(answer(200, b"{}"))
        elif name in ("lease", "webhooks", "kept"):
            await write(answer(404, status(404, "NotFound")))
        else:
            await write(listed())

    async def work() -> None:
        settings = CertificateSettings(
            source="builtin", secret="kept", lease="lease", webhooks="webhooks", lease_seconds=3
        )
        async with serving(handler) as server, await Client.connect(server.kubeconfig(tmp_path)) as client:
            certificates = BuiltinCertificates(
                client, "sidecars", "cluster.local", settings, lambda _pair: None, Metrics()
            )
            certificates.start()
            await until(lambda: "Secret" in made)
            await asyncio.sleep(1)
            async with asyncio.timeout(5):
                await certificates.stop()

    with capture_logs() as logs:
        asyncio.run(work())
    assert not odd
    # nobody keeps the Secret here, so it is made again, and then less and less often
    assert 2 <= made.count("Secret") < 15
    assert [kind for kind in made if kind != "Lease"][:2] == ["odd", "Secret"]
    failed = [log["event"] for log in logs if log["log_level"] == "error"]
    assert failed == ["lease-failed", "lease-failed", "certificates-failed"]


def test_beginnings_without_an_end_cost_no_time() -> None:
    """As much as a Secret or a webhook configuration can hold: it is read in the loop that answers reviews."""
    text = b"-----BEGIN CERTIFICATE-----\n" * 37_000
    with at_most(400):
        assert read_certificates(text + pem_of([ONE.certificate]) + text) == (ONE.certificate,)


@pytest.mark.parametrize(
    "key",
    [
        ec.generate_private_key(ec.SECP256K1()),
        ec.generate_private_key(ec.SECP224R1()),
        rsa.generate_private_key(public_exponent=65537, key_size=1024),
    ],
    ids=["secp256k1", "secp224r1", "rsa-1024"],
)
def test_keys_that_api_servers_do_not_know_or_trust_are_damage(key: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """OpenSSL would serve the curves: but a bundle with such an authority is refused, so it would stay for ever."""
    monkeypatch.setattr("injector.cluster.x509.new_key", lambda _use_rsa=False: key)
    authority = new_authority("odd", NOW, NOW + DAY)
    server = sign(authority, ["injector.sidecars.svc"], NOW, NOW + DAY)
    monkeypatch.undo()
    held = read_certificate_state(
        {
            "tls.crt": server.certificate_pem,
            "tls.key": server.key_pem,
            "ca.crt": authority.certificate_pem,
            "ca.key": authority.key_pem,
        }
    )
    assert (held.serving, held.authority) == (None, None)
    assert len(held.faults) == 2
    if isinstance(key, ec.EllipticCurvePrivateKey):
        assert held.bundle == ()


def test_a_pair_in_memory_is_served() -> None:
    context, _ = context_of(SERVER)
    ours, theirs = socket.socketpair()
    client = ssl.create_default_context(cadata=ONE.certificate_pem.decode())
    client.verify_flags |= ssl.VERIFY_X509_STRICT

    def serve() -> None:
        with theirs, context.wrap_socket(theirs, server_side=True) as tls:
            tls.sendall(b"x")

    thread = threading.Thread(target=serve)
    thread.start()
    with ours, client.wrap_socket(ours, server_hostname="injector.sidecars.svc") as tls:
        assert tls.recv(1) == b"x"
        assert tls.version() == "TLSv1.3"
    thread.join(300)


def test_a_pair_that_has_ended_is_not_served() -> None:
    old = new_authority("old", NOW - 2 * DAY, NOW - DAY)
    with pytest.raises(CertificateError, match="expired"):
        context_of(Pair(sign(old, ["x"], NOW - 2 * DAY, NOW - DAY).certificate, old.key))


# ------------------------------------------------------------------------------------------------ settings


@pytest.mark.parametrize(
    ("section", "path"),
    [
        ({"source": "vault"}, "certificates.source: "),
        ({"lifeSecond": 1}, "certificates.lifeSecond: "),
        ({"leaseSeconds": 0}, "certificates.leaseSeconds: "),
        ({"lifeSeconds": "90d"}, "certificates.lifeSeconds: "),
        ({"lifeSeconds": 3600, "authorityLifeSeconds": 60}, "certificates.lifeSeconds: "),
    ],
)
def test_settings_that_are_wrong_are_named(section: dict[str, Any], path: str) -> None:
    with pytest.raises(SettingsError, match=path):
        parse_settings({"certificates": section})
