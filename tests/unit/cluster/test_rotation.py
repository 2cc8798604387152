"""The steps of the built-in certificates: in their order, and in any order with crashes, stale writers and damage."""

from __future__ import annotations

import datetime
from dataclasses import dataclass, field

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID
from hypothesis import settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from injector.cluster.builtin import _why_not_served
from injector.cluster.rotation import (
    KEYS,
    CertificateState,
    RotationPlan,
    RotationStep,
    StepName,
    awaited,
    next_step,
    read_certificate_state,
)
from injector.cluster.x509 import CLOCK_SKEW, certificate_names, issued_by, new_authority, pem_of, service_names, sign

NOW = datetime.datetime(2026, 3, 1, tzinfo=datetime.UTC)
LIFE, AUTHORITY_LIFE, SETTLE = (datetime.timedelta(seconds=s) for s in (3600, 4 * 3600, 30))
PLAN = RotationPlan(service_names("injector", "sidecars", "cluster.local"), LIFE, AUTHORITY_LIFE)


def seconds(number: float) -> datetime.timedelta:
    return datetime.timedelta(seconds=number)


def follow(held: CertificateState, now: datetime.datetime, count: int = 10) -> tuple[CertificateState, list[StepName]]:
    """Take every step that is to be taken now, with the bundles always up to date and settled."""
    names = []
    for _ in range(count):
        step = next_step(held, [held.bundle], now, PLAN, settled=True)
        if step is None:
            return held, names
        names.append(step.name)
        held = read_certificate_state(step.state.data)
    raise AssertionError(f"no end to it: {names}")


@pytest.fixture(scope="module")
def first() -> CertificateState:
    return follow(CertificateState(), NOW)[0]


# ------------------------------------------------------------------------------------------------ the usual way


def test_from_nothing(first: CertificateState) -> None:
    held, names = follow(CertificateState(), NOW)
    assert names == ["authority-made", "authority-used"]
    assert set(held.data) == {"tls.crt", "tls.key", "ca.crt", "ca.key"}
    assert held.serving and held.authority
    assert held.anchor == held.authority.certificate
    assert held.bundle == (held.authority.certificate,)
    assert first.authority and first.authority.certificate.subject != held.authority.certificate.subject


def test_what_is_signed(first: CertificateState) -> None:
    assert first.serving and first.authority
    server, authority = first.serving.certificate, first.authority.certificate
    assert certificate_names(server) == {
        "injector.sidecars.svc",
        "injector.sidecars.svc.cluster.local",
        "injector.sidecars",
    }
    assert (server.not_valid_before_utc, server.not_valid_after_utc) == (NOW - CLOCK_SKEW, NOW + LIFE)
    assert authority.not_valid_after_utc == NOW + AUTHORITY_LIFE
    key = server.public_key()
    assert isinstance(key, ec.EllipticCurvePublicKey)
    assert key.curve.name == "secp256r1"
    extension = server.extensions.get_extension_for_class
    assert not extension(x509.BasicConstraints).value.ca
    assert list(extension(x509.ExtendedKeyUsage).value) == [ExtendedKeyUsageOID.SERVER_AUTH]
    constraints = authority.extensions.get_extension_for_class(x509.BasicConstraints)
    assert constraints.critical
    assert constraints.value == x509.BasicConstraints(ca=True, path_length=0)
    usage = authority.extensions.get_extension_for_class(x509.KeyUsage)
    assert usage.critical
    assert usage.value.key_cert_sign
    assert not usage.value.digital_signature
    assert server.serial_number != authority.serial_number


def test_a_certificate_is_signed_anew_at_two_thirds_of_its_life(first: CertificateState) -> None:
    assert follow(first, NOW + LIFE * 0.66)[1] == []
    held, names = follow(first, NOW + LIFE * 0.67)
    assert names == ["certificate-signed"]
    assert held.authority and first.authority
    assert held.authority.certificate == first.authority.certificate
    # whatever the bundles have: what is served now was signed by the same authority
    assert next_step(first, [()], NOW + LIFE * 0.67, PLAN, settled=False)


def test_an_authority_is_followed_by_another_at_two_thirds_of_its_life(first: CertificateState) -> None:
    begin = NOW + AUTHORITY_LIFE * 0.67
    held, _ = follow(first, NOW + AUTHORITY_LIFE * 0.6)
    assert held.authority
    step = next_step(held, [held.bundle], begin, PLAN, settled=True)
    assert step and step.name in ("certificate-signed", "authority-made")
    held, names = follow(held, begin)
    assert names[-2:] == ["authority-made", "authority-used"]
    assert first.authority and held.authority
    assert held.bundle == (held.authority.certificate, first.authority.certificate)
    assert set(held.data) == {"tls.crt", "tls.key", "ca.crt", "ca.key", "ca-old.crt"}
    held, names = follow(held, NOW + AUTHORITY_LIFE + seconds(1))
    assert "certificate-signed" in names or "tidied" in names
    assert held.authority and held.bundle == (held.authority.certificate,)


@pytest.mark.parametrize("settled", [True, False])
def test_the_next_authority_signs_only_when_every_bundle_has_it_for_long_enough(
    first: CertificateState, settled: bool
) -> None:
    now = NOW + AUTHORITY_LIFE * 0.67
    made = next_step(first, [first.bundle], now, PLAN, settled=True)
    while made and made.name != "authority-made":
        made = next_step(made.state, [first.bundle], now, PLAN, settled=True)
    assert made
    assert next_step(made.state, [made.state.bundle, first.bundle], now, PLAN, settled=True) is None
    used = next_step(made.state, [made.state.bundle, made.state.bundle], now, PLAN, settled=settled)
    assert (used is not None) == settled


def test_without_entries_nobody_is_waited_for() -> None:
    made = next_step(CertificateState(), [], NOW, PLAN, settled=True)
    assert made
    used = next_step(made.state, [], NOW, PLAN, settled=True)
    assert used and used.state.serving


def test_no_certificate_outlives_its_authority_and_none_is_signed_for_nothing(first: CertificateState) -> None:
    now = NOW + AUTHORITY_LIFE * 0.99
    held = follow(first, now)[0]
    assert held.serving and held.anchor
    assert held.serving.certificate.not_valid_after_utc <= held.anchor.not_valid_after_utc
    # the next authority waits, the certificate is past two thirds of the little that was left
    stuck = read_certificate_state(
        {**first.data, **{k: v for k, v in follow(CertificateState(), now)[0].data.items() if "ca-next" in k}}
    )
    made = next_step(stuck, [first.bundle], now, PLAN, settled=False)
    names = []
    while made:
        names.append(made.name)
        assert len(names) < 4
        made = next_step(made.state, [first.bundle], now + seconds(60), PLAN, settled=False)
    assert "authority-used" not in names


def test_a_certificate_that_ends_with_its_authority_is_not_signed_again_and_again(first: CertificateState) -> None:
    held, _ = follow(first, NOW + AUTHORITY_LIFE * 0.66)
    names = []
    for share in (0.7, 0.9, 0.99):  # the next authority is made, and does not settle
        for _ in range(3):
            step = next_step(held, [held.bundle], NOW + AUTHORITY_LIFE * share, PLAN, settled=False)
            if step is not None:
                held = step.state
                names.append(step.name)
    assert names == ["authority-made", "certificate-signed"]
    assert held.serving and held.authority
    assert held.serving.certificate.not_valid_after_utc == held.authority.certificate.not_valid_after_utc


def test_other_names_are_signed_for_at_once(first: CertificateState) -> None:
    plan = RotationPlan(service_names("other", "sidecars", "cluster.local"), LIFE, AUTHORITY_LIFE)
    step = next_step(first, [first.bundle], NOW, plan, settled=True)
    assert step and step.state.serving
    assert certificate_names(step.state.serving.certificate) == set(plan.names)


def test_made_by_a_clock_far_ahead() -> None:
    ahead, _ = follow(CertificateState(), NOW + datetime.timedelta(days=2))
    held, names = follow(ahead, NOW)
    assert "authority-used" in names
    assert held.serving and held.serving.certificate.not_valid_before_utc <= NOW
    assert held.authority and held.authority.certificate.not_valid_before_utc <= NOW


# ------------------------------------------------------------------------------------------------ lost or damaged


def test_a_lost_secret_keeps_in_the_bundle_what_may_be_served(first: CertificateState) -> None:
    step = next_step(CertificateState(), [first.bundle], NOW, PLAN, settled=True)
    assert step and step.name == "authority-made"
    assert set(first.bundle) < set(step.state.bundle)
    assert "tls.crt" not in step.state.data, "signed before its authority is in the bundle"


def test_of_too_many_authorities_the_newest_are_kept() -> None:
    old = [new_authority(f"old {n}", NOW, NOW + LIFE + seconds(n)).certificate for n in range(18)]
    step = next_step(CertificateState(), [old], NOW, PLAN, settled=True)
    assert step and step.state.next
    assert set(step.state.bundle) == {step.state.next.certificate, *old[2:]}


STRANGER = sign(new_authority("stranger", NOW, NOW + LIFE), PLAN.names, NOW, NOW + LIFE)
DAMAGES = {
    "certificate is not PEM": {"tls.crt": b"no PEM"},
    "key is not PEM": {"tls.key": b"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"},
    "key of another certificate": {"tls.key": STRANGER.key_pem},
    "key is missing": {"tls.key": b""},
    "pair of somebody else": {"tls.crt": STRANGER.certificate_pem, "tls.key": STRANGER.key_pem},
    "authority is not PEM": {"ca.crt": b"\0\xff"},
    "authority's key is missing": {"ca.key": b""},
    "authority is a server": {"ca.crt": STRANGER.certificate_pem, "ca.key": STRANGER.key_pem},
    "old ones are not PEM": {"ca-old.crt": b"no PEM"},
    "next one's key is missing": {"ca-next.crt": STRANGER.certificate_pem},
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_damage_is_told_and_mended_and_the_bundle_keeps_what_is_served(first: CertificateState, damage: str) -> None:
    data = {key: value for key, value in {**first.data, **DAMAGES[damage]}.items() if value}
    held = read_certificate_state(data)
    assert held.faults or damage == "pair of somebody else"
    assert first.serving
    for _ in range(10):
        step = next_step(held, [first.bundle], NOW, PLAN, settled=False)
        if step is None:
            break
        held = read_certificate_state(step.state.data)
        assert any(issued_by(first.serving.certificate, one) for one in held.bundle)
    held, _ = follow(held, NOW)
    assert not held.faults
    assert held.serving and held.authority and held.anchor == held.authority.certificate
    assert set(held.data) <= KEYS


# ------------------------------------------------------------------------------------------------ any order


@dataclass
class Configuration:
    """A webhook configuration: its bundles now and before, as an API server may yet go by an older one."""

    bundle: tuple[x509.Certificate, ...] = ()
    version: int = 0
    before: list[tuple[datetime.datetime, tuple[x509.Certificate, ...]]] = field(default_factory=list)

    def write(self, bundle: tuple[x509.Certificate, ...], now: datetime.datetime) -> None:
        self.before.append((now, self.bundle))
        self.bundle, self.version = bundle, self.version + 1

    def in_force(self, now: datetime.datetime) -> list[tuple[x509.Certificate, ...]]:
        """What any API server may go by: the bundle, and those replaced within the time that settling takes."""
        return [self.bundle, *(old for end, old in self.before if end > now - SETTLE)]


@dataclass
class Write:
    """A write that was decided on: what it saw, and what it does."""

    secret_version: int
    configuration: int | None
    version: int
    held: CertificateState


class Cluster(RuleBasedStateMachine):
    """A Secret, two configurations, replicas that read late, leaders that die after any write or write too late."""

    @initialize()
    def begin(self) -> None:
        self.now = NOW
        self.data: dict[str, bytes] | None = None
        self.version = 0
        self.configurations = [Configuration(), Configuration()]
        self.replicas: list[x509.Certificate | None] = [None, None, None]
        self.settling: tuple[x509.Certificate | None, datetime.datetime] = (None, NOW)
        self.late: Write | None = None

    # -- a leader --

    def held(self) -> CertificateState:
        return read_certificate_state(self.data or {})

    def trusted(self) -> list[tuple[x509.Certificate, ...]]:
        return [configuration.bundle for configuration in self.configurations]

    def settled(self) -> bool:
        wanted = awaited(self.held())
        if wanted is None or not all(wanted in bundle for bundle in self.trusted()):
            self.settling = (None, self.now)
            return False
        if self.settling[0] != wanted:
            self.settling = (wanted, self.now)
        return self.now >= self.settling[1] + SETTLE

    def decide(self) -> Write | None:
        """As the leader does: a step in the Secret if there is one, else a configuration that differs."""
        held = self.held()
        step: RotationStep | None = next_step(held, self.trusted(), self.now, PLAN, settled=self.settled())
        if step:
            return Write(self.version, None, 0, step.state)
        for number, configuration in enumerate(self.configurations):
            if held.bundle and set(configuration.bundle) != set(held.bundle):
                return Write(self.version, number, configuration.version, held)
        return None

    def do(self, write: Write | None) -> None:
        """Refused where the object is another than the one that was seen."""
        if write is None:
            return
        if write.configuration is None:
            if write.secret_version == self.version or (write.secret_version == 0 and self.data is None):
                self.store(write.held.data)
        elif self.configurations[write.configuration].version == write.version:
            self.configurations[write.configuration].write(write.held.bundle, self.now)

    def store(self, data: dict[str, bytes] | None) -> None:
        self.data, self.version = data, self.version + 1

    @rule(times=st.integers(1, 4))
    def work(self, times: int) -> None:
        for _ in range(times):
            self.do(self.decide())
            self.covered()

    @rule()
    def work_until_done(self) -> None:
        for _ in range(30):
            write = self.decide()
            if write is None and self.settled():
                return
            self.do(write)
            self.covered()
            if write is None:
                self.now += seconds(31)
                self.settled()
        raise AssertionError("no end to it")

    @rule()
    def another_leader(self) -> None:
        self.settling = (None, self.now)

    @rule()
    def decide_and_pause(self) -> None:
        self.late = self.decide()

    @rule()
    def write_late(self) -> None:
        write, self.late = self.late, None
        self.do(write)

    # -- everybody else --

    @rule(number=st.sampled_from([0, 1, 2]))
    def read_by(self, number: int) -> None:
        held = self.held()
        if held.serving and not _why_not_served(held, self.now):
            self.replicas[number] = held.serving.certificate

    @rule(passed=st.sampled_from([1, 20, 40, 600, 1300, 3000, 9700, 20000]))
    def time_passes(self, passed: int) -> None:
        self.now += seconds(passed)
        self.settled()

    @rule(empty=st.booleans())
    def lose_the_secret(self, empty: bool) -> None:
        self.store({} if empty and self.data is not None else None)

    @rule(
        key=st.sampled_from(sorted(KEYS)),
        how=st.sampled_from(["no PEM", "missing", "somebody else's", "cut"]),
    )
    def damage(self, key: str, how: str) -> None:
        if not self.data or key not in self.data or (key == "ca-old.crt" and how != "no PEM"):
            return  # an old authority that is taken out is the admin's wish
        other = new_authority("other", self.now, self.now + AUTHORITY_LIFE)
        theirs = other.key_pem if key.endswith(".key") else other.certificate_pem
        value = {"no PEM": b"?", "missing": b"", "somebody else's": theirs, "cut": self.data[key][:100]}[how]
        self.store({k: v for k, v in {**self.data, key: value}.items() if v})

    @rule(names=st.sampled_from([("tls",), ("ca",), ("tls", "ca"), ("ca-next",)]))
    def replace_pairs(self, names: tuple[str, ...]) -> None:
        """By pairs that are whole, but those of somebody else."""
        if not self.data or not all(f"{name}.crt" in self.data for name in names):
            return
        data = dict(self.data)
        for name in names:
            pair = new_authority("other", self.now, self.now + AUTHORITY_LIFE)
            data |= {f"{name}.crt": pair.certificate_pem, f"{name}.key": pair.key_pem}
        self.store(data)

    @invariant()
    def covered(self) -> None:
        """Whoever is served is trusted by every entry, at every API server."""
        for served in filter(None, getattr(self, "replicas", ())):
            if served.not_valid_after_utc <= self.now:
                continue
            for configuration in self.configurations:
                for bundle in configuration.in_force(self.now):
                    assert any(issued_by(served, one) and one.not_valid_after_utc > self.now for one in bundle), pem_of(
                        bundle
                    )

    def teardown(self) -> None:
        if hasattr(self, "data"):
            self.work_until_done()
            held = self.held()
            assert held.serving and held.authority and not held.faults
            assert held.serving.certificate.not_valid_after_utc > self.now
            assert all(set(bundle) == set(held.bundle) for bundle in self.trusted())


TestCluster = Cluster.TestCase
TestCluster.settings = settings(max_examples=40, stateful_step_count=40, deadline=None)
