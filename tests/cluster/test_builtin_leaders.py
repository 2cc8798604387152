"""Leaders that die in the middle of each step of the built-in certificates, and the next one that completes it.

Two servers answer the reviews all the time; they may not touch the Lease, so that whoever leads can be killed without
losing a review that it was about to answer.
"""

from __future__ import annotations

import datetime
import random
import signal
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from cryptography.x509 import Certificate

from injector.cluster.installation import KINDS, RESOURCES
from injector.cluster.rotation import CertificateState
from injector.cluster.x509 import new_authority, pem_of, read_certificates, service_names, sign
from tests.cluster.builtin import (
    SECRET,
    BuiltinInstallation,
    wait_in_order,
)
from tests.cluster.builtin_watch import Prober, goes_on, new_pods
from tests.cluster.controlplane import ControlPlane
from tests.cluster.processes import eventually
from tests.cluster.server import InjectorServer

HOUR = datetime.timedelta(hours=1)
Bundle = tuple[Certificate, ...]


def installed(control_plane: ControlPlane, folder: Path, **certificates: float) -> BuiltinInstallation:
    """Two servers behind the Service that never lead, and certificates by a leader that has ended."""
    made = BuiltinInstallation(control_plane, folder, leaseSeconds=3, settleSeconds=1, **certificates)
    made.configure()
    servers = [made.server(leads=False, wait=False), made.server(leads=False, wait=False)]
    leader = made.server(behind=False)
    for server in servers:
        server.wait_until_ready()
    made.put_behind(*servers)
    wait_in_order(made)
    leader.stop()
    return made


# ------------------------------------------------------------------------------------------------ from each state


@dataclass(frozen=True)
class State:
    """What the one before has left behind: the Secret (None: none), and the bundles of the two configurations."""

    secret: CertificateState | None
    bundles: tuple[Bundle, Bundle]


def worn(names: tuple[str, ...], now: datetime.datetime) -> CertificateState:
    """A certificate and its authority, both past two thirds of their lives."""
    authority = new_authority("worn", now - 4 * HOUR, now + HOUR)
    return CertificateState(sign(authority, names, now - 4 * HOUR, now + HOUR), authority)


def states(names: tuple[str, ...]) -> dict[str, tuple[CertificateState, State]]:
    """What is served at first, and each state that a leader can die in, by the write that was its last."""
    now = datetime.datetime.now(datetime.UTC)
    before = worn(names, now)
    assert before.authority
    upcoming = new_authority("upcoming", now, now + 9 * HOUR)
    made = replace(before, next=upcoming)
    used = CertificateState(sign(upcoming, names, now, now + HOUR), upcoming, None, before.bundle)
    ended = new_authority("ended", now - 4 * HOUR, now - HOUR)
    outlived = CertificateState(used.serving, upcoming, None, (ended.certificate,))
    lost = CertificateState(None, None, upcoming, before.bundle)
    found: dict[str, tuple[CertificateState, State]] = {
        "before": (before, State(before, (before.bundle, before.bundle))),
        "authority made": (before, State(made, (before.bundle, before.bundle))),
        "in one bundle": (before, State(made, (made.bundle, before.bundle))),
        "in the other bundle": (before, State(made, (before.bundle, made.bundle))),
        "in both bundles": (before, State(made, (made.bundle, made.bundle))),
        "authority used": (before, State(used, (made.bundle, made.bundle))),
        "old one ended": (used, State(outlived, (outlived.bundle, outlived.bundle))),
        "old one dropped": (used, State(replace(used, old=()), (used.bundle[:1], outlived.bundle))),
        "Secret lost": (before, State(None, (before.bundle, before.bundle))),
        "Secret lost, authority made": (before, State(lost, (before.bundle, before.bundle))),
        "Secret lost, in one bundle": (before, State(lost, (lost.bundle, before.bundle))),
        "Secret lost on the way": (before, State(None, (made.bundle, before.bundle))),
    }
    return found


@pytest.fixture(scope="module")
def installation(
    control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[BuiltinInstallation]:
    """With long lives: what is under way is what a test has put there."""
    made = installed(control_plane, tmp_path_factory.mktemp("built-in"))
    yield made
    made.close()


@pytest.mark.soak(minutes=4)
@pytest.mark.parametrize("name", states(("x",)))
def test_the_next_leader_goes_on_from(installation: BuiltinInstallation, name: str) -> None:
    leader: InjectorServer | None = None
    with new_pods(installation) as seen, Prober(installation) as prober:
        put(installation, name)
        try:
            leader = complete(installation)
            goes_on(seen, prober)
        finally:
            end_leaders(installation)
    assert (seen.wrong, prober.wrong, installation.failed_calls()) == ([], [], [])
    assert "Traceback" not in leader.log


def put(installation: BuiltinInstallation, name: str) -> None:
    """Put the state of this name there; what comes before it is served by then."""
    first, state = states(service_names("injector", installation.name, "cluster.local"))[name]
    assert first.serving
    served = first.serving.certificate.not_valid_after_utc.timestamp()
    everybody = (*installation.held().bundle, *first.bundle)
    for kind in KINDS:
        installation.set_bundle(kind, pem_of(everybody))
    installation.store(first)
    eventually("it is served", lambda: all(served == end_of(server) for server in installation.servers[:2]))
    for kind, bundle in zip(KINDS, state.bundles, strict=True):
        installation.set_bundle(kind, pem_of(bundle))
    if state.secret is None:
        installation.api.delete("Secret", SECRET, installation.name)
    else:
        installation.store(state.secret)


def complete(installation: BuiltinInstallation) -> InjectorServer:
    """Start a leader and wait until it has completed what is under way; it goes on."""
    leader = installation.server(wait=False, behind=False)
    eventually("it leads", lambda: leader in installation.leaders(), 300)
    eventually("it is done", lambda: done(installation), 300)
    return leader


def end_leaders(installation: BuiltinInstallation) -> None:
    """Kill all but the two that answer the reviews."""
    for server in installation.servers[2:]:
        if server.process:
            server.process.kill()


def end_of(server: InjectorServer) -> float:
    """When the certificate ends that it serves, in UNIX time."""
    return server.metric("injector_certificate_not_after_timestamp_seconds")


def done(installation: BuiltinInstallation) -> bool:
    """In order, with an authority that is not worn and none that has ended."""
    held = installation.held()
    fresh = held.authority and "worn" not in str(held.authority.certificate.subject)
    return bool(fresh) and all("ended" not in str(one.subject) for one in held.bundle) and installation.in_order()


# ------------------------------------------------------------------------------------------------ held, then killed


@dataclass(frozen=True)
class Picture:
    """What is to be seen: whose the Secret's authorities are, and whose are in the bundles of the two configurations.

    `new` is every authority that a leader has made.
    """

    signs: str
    next: str
    old: str
    bundles: tuple[str, str]


@dataclass(frozen=True)
class Middle:
    """A leader that begins from the state `begins` gets no further than `reached`.

    It may only read `only_reads`, or waits so long before a new authority signs.
    """

    begins: str
    reached: Picture
    only_reads: tuple[str, ...] = ()
    settle: float = 1


MIDDLES = {
    "authority made": Middle("before", Picture("worn", "new", "", ("worn", "worn")), RESOURCES),
    "in one bundle": Middle("before", Picture("worn", "new", "", ("new worn", "worn")), RESOURCES[1:]),
    "in both bundles": Middle("before", Picture("worn", "new", "", ("new worn", "new worn")), settle=600),
    "authority used": Middle("before", Picture("new", "", "worn", ("new worn", "new worn"))),
    "old one dropped": Middle(
        "old one ended", Picture("upcoming", "", "", ("ended upcoming", "ended upcoming")), RESOURCES
    ),
    "old one out of one bundle": Middle(
        "old one ended", Picture("upcoming", "", "", ("upcoming", "ended upcoming")), RESOURCES[1:]
    ),
    "Secret lost, authority made": Middle("Secret lost", Picture("", "new", "worn", ("worn", "worn")), RESOURCES),
    "Secret lost, in one bundle": Middle(
        "Secret lost", Picture("", "new", "worn", ("new worn", "worn")), RESOURCES[1:]
    ),
}


#: One of each kind of wait: for a permission, for nothing, with the Secret lost. The others are `make soak`.
_SHORT = ("in one bundle", "authority used", "Secret lost, in one bundle")


@pytest.mark.parametrize(
    "name",
    [name if name in _SHORT else pytest.param(name, marks=pytest.mark.soak(minutes=4)) for name in MIDDLES],
)
def test_a_leader_is_killed_in_the_middle_of_a_step(installation: BuiltinInstallation, name: str) -> None:
    """Held there by what it may not do, and killed; the next one completes the step and all that follow."""
    middle = MIDDLES[name]
    with new_pods(installation) as seen, Prober(installation) as prober:
        put(installation, middle.begins)
        try:
            leader = installation.server(
                wait=False, behind=False, only_reads=middle.only_reads, settleSeconds=middle.settle
            )
            eventually("it is in the middle", lambda: picture(installation) == middle.reached, 300)
            assert leader.process and leader.process.popen.poll() is None
            leader.process.kill()
            assert leader.process.popen.wait(300) == -signal.SIGKILL
            assert picture(installation) == middle.reached
            complete(installation)
            goes_on(seen, prober)
        finally:
            end_leaders(installation)
    assert (seen.wrong, prober.wrong, installation.failed_calls()) == ([], [], [])


def picture(installation: BuiltinInstallation) -> Picture:
    """As it is now."""
    held, bundles = installation.held(), installation.bundles()
    required, _, guard = (whose(*read_certificates(bundles[entry])) for entry in installation.entries)
    signs, upcoming = (whose(*([pair.certificate] if pair else [])) for pair in (held.authority, held.next))
    return Picture(signs, upcoming, whose(*held.old), (required, guard))


def whose(*authorities: Certificate) -> str:
    """The names of the states' authorities, and `new` for others."""
    names = (one.subject.rfc4514_string().removeprefix("CN=") for one in authorities)
    return " ".join(sorted(name if name in ("worn", "upcoming", "ended") else "new" for name in names))


# ------------------------------------------------------------------------------------------------ at any moment


@pytest.mark.soak(minutes=10)
def test_leaders_are_killed_again_and_again(control_plane: ControlPlane, tmp_path: Path) -> None:
    """Right after a change that a leader made, or at any moment; whole rotations are completed meanwhile."""
    chance = random.Random(5)
    installation = installed(control_plane, tmp_path, lifeSeconds=45, authorityLifeSeconds=60)
    try:
        candidates = [installation.server(behind=False, wait=False) for _ in range(2)]
        authorities: set[Certificate] = set()
        kills = 0
        with new_pods(installation) as seen, Prober(installation) as prober:
            end = time.monotonic() + 300
            while time.monotonic() < end and (kills < 8 or len(authorities) < 3 or len(prober.served) < 4):
                leaders = installation.leaders()
                if not leaders or not all(map(answers, candidates)):
                    time.sleep(0.05)
                    continue
                wait_for_a_write(installation, chance.uniform(1, 12))
                time.sleep(chance.choice([0, 0, 0.005, 0.02, 0.1]))
                assert leaders[0].process
                leaders[0].process.kill()
                kills += 1
                leaders[0].start(wait=False)
                held = installation.held()
                authorities |= {held.authority.certificate} if held.authority else set()
        assert (seen.wrong, prober.wrong, installation.failed_calls()) == ([], [], [])
        assert kills >= 8
        assert len(authorities) >= 3
        assert len(prober.served) >= 4
        wait_in_order(installation, 90)
    finally:
        installation.close()


def answers(server: InjectorServer) -> bool:
    """Whether it runs: somebody has to be there to go on."""
    try:
        return server.status("/healthz") == 200
    except OSError:
        return False


def wait_for_a_write(installation: BuiltinInstallation, seconds: float) -> None:
    """Until the Secret or a configuration changes, or so long."""

    def versions() -> list[str]:
        found = [installation.configuration(kind) for kind in KINDS]
        found.append(installation.secret() or {"metadata": {"resourceVersion": ""}})
        return [one["metadata"]["resourceVersion"] for one in found]

    before, end = versions(), time.monotonic() + seconds
    while time.monotonic() < end and versions() == before:
        time.sleep(0.005)
