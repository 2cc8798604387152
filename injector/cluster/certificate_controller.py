"""What the leader does for the built-in certificates: the next step in the Secret, the bundle in every entry.

`rotation.next_step` decides what to do. The watched copies tell that there is something to do. Then everything is read
again, the configurations before the Secret. So the API server refuses a bundle that comes from an older Secret: by then
the configuration has changed. The one Secret is watched, read anew, and replaced as a whole.
"""

from __future__ import annotations

import base64
import binascii
import contextlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from time import monotonic
from typing import NamedTuple

import structlog
from cryptography.x509 import Certificate

from injector.cluster.api_error import ApiError
from injector.cluster.bundles import FIELD_MANAGER, Bundles, Configuration
from injector.cluster.client import Client
from injector.cluster.reflector import Reflector, Timing
from injector.cluster.rotation import (
    KEYS,
    Bundle,
    CertificateState,
    RotationPlan,
    RotationStep,
    awaited,
    next_step,
    read_certificate_state,
)
from injector.cluster.tasks import RepairBackoff
from injector.pods.context import Object, mapping_at, without
from injector.telemetry import Metrics

_log = structlog.get_logger(__name__)

#: Seconds that a new authority settles where no certificate can be in use yet.
_FIRST_SETTLE = 1.0
#: Names of others in a metric's label; whoever comes after them counts as `others`.
_MANAGERS = 8

#: Told of what an admin should see: a name for the kind of trouble, and a sentence.
OnTrouble = Callable[[str, str], None]


@dataclass(eq=False)
class CertificateController:
    """The leader's work, one piece at a time. Make a new one for each leadership: its memory is about one only.

    `leading` is asked before each write. `now` is the API server's time, because the API server checks certificates: a
    leader with a wrong clock must not replace valid ones. `settle_seconds` is for how long a new authority is in
    every bundle before it signs; `write_seconds` how long a request may take.
    """

    store: SecretStore
    bundles: Bundles
    plan: RotationPlan
    leading: Callable[[], bool]
    now: Callable[[], datetime]
    metrics: Metrics
    settle_seconds: float
    write_seconds: float
    on_trouble: OnTrouble = lambda kind, message: None
    #: What is wrong now, by kind, one sentence each.
    failures: dict[str, str] = field(default_factory=dict, init=False)
    _settling: tuple[Certificate | None, float] = field(default=(None, 0.0), init=False)
    _right: dict[str, frozenset[Certificate]] = field(default_factory=dict, init=False)
    _backoffs: dict[str, RepairBackoff] = field(default_factory=dict, init=False)
    _managers: set[str] = field(default_factory=set, init=False)

    async def work(self, state: CertificateState) -> bool:
        """Look whether there is something to do, and do one thing; `state` is the watched copy of the Secret.

        True when something was written, so that there may be more to do. What fails is told of and raised as ApiError.
        """
        try:
            wrote = await self._work(state)
        except ApiError as error:
            if error.status != 409:  # that is somebody who was quicker
                self.not_kept(error)
            raise
        self.failures.pop("certificates-not-kept", None)
        return wrote

    def not_kept(self, error: ApiError) -> None:
        """Tell that the certificates cannot be kept up to date; each reason once, as long as it lasts."""
        self._tell("certificates-not-kept", f"{error}; the injector tries again")

    async def _work(self, state: CertificateState) -> bool:
        watched = self.bundles.seen
        if self._next(state, watched) is None and not self._differing(watched, state.bundle):
            return False
        configurations = await self.bundles.read(self.write_seconds)
        contents = await self.store.read(self.write_seconds)
        if contents.state.faults:
            self._tell("certificate-secret-damaged", f"{'; '.join(contents.state.faults)}; the injector repairs it")
        else:
            self.failures.pop("certificate-secret-damaged", None)
        step = self._next(contents.state, configurations)
        if not self.leading():
            return False
        if step:
            await self.store.write(contents, step.state, self.write_seconds)
            _log.info("certificate-step", step=step.name, why=step.cause)
            return True
        return await self._put_right(configurations, contents.state.bundle)

    def _next(self, state: CertificateState, configurations: Sequence[Configuration]) -> RotationStep | None:
        bundles = [entry.authorities for configuration in configurations for entry in configuration.entries]
        return next_step(state, bundles, self.now(), self.plan, settled=self._settled(state, bundles))

    def _settled(self, state: CertificateState, bundles: Sequence[Bundle]) -> bool:
        """Whether the awaited authority has been in every bundle for long enough, as far as this leader saw."""
        authority = awaited(state)
        if authority is None or not all(authority in bundle for bundle in bundles):
            self._settling = (None, 0.0)
            return False
        now = monotonic()
        if self._settling[0] != authority:
            self._settling = (authority, now)
        first = state.serving is None and not state.old
        return now >= self._settling[1] + min(self.settle_seconds, _FIRST_SETTLE if first else self.settle_seconds)

    # ------------------------------------------------------------ the bundles

    async def _put_right(self, configurations: Sequence[Configuration], bundle: Bundle) -> bool:
        """Write the bundle where it differs and it is time."""
        wrote = False
        for configuration in self._differing(configurations, bundle):
            repair = self._right.get(configuration.kind) == frozenset(bundle)
            backoff = self._backoffs[configuration.kind]
            if repair and backoff.fighting:
                self._fight(configuration)
            if not self.leading():
                break
            await self.bundles.write(configuration, bundle, self.write_seconds)
            wrote = True
            self._right[configuration.kind] = frozenset(bundle)
            if repair:
                backoff.repaired()
            cause = "repaired" if repair else "changed"
            self.metrics.bundle_writes.cell(cause).value += 1
            _log.info(
                "bundle-written",
                configuration=configuration.path,
                why=cause,
                written_before_by=", ".join(configuration.writers),
            )
        return wrote

    def _differing(self, configurations: Sequence[Configuration], bundle: Bundle) -> list[Configuration]:
        """The configurations to write to now; empty if there is no authority, because no bundle is ever emptied."""
        outdated = []
        for configuration in configurations if bundle else ():
            backoff = self._backoffs.setdefault(configuration.kind, RepairBackoff())
            if not configuration.differs(bundle):
                self._right[configuration.kind] = frozenset(bundle)
            elif backoff.due:
                outdated.append(configuration)
        return outdated

    def _fight(self, configuration: Configuration) -> None:
        writers = configuration.writers or ("unknown",)
        for writer in writers:
            if len(self._managers) < _MANAGERS:
                self._managers.add(writer)
            self.metrics.bundle_fights.cell(writer if writer in self._managers else "others").value += 1
        self._tell(
            "bundle-overwritten",
            f"caBundle of {configuration.path} is overwritten repeatedly by {', '.join(writers)}; the injector "
            "repairs it, but waits longer each time; configure the tool that overwrites it to ignore "
            "webhooks[*].clientConfig.caBundle",
        )

    def _tell(self, kind: str, message: str) -> None:
        """Log a trouble and tell of it, each message once while it lasts."""
        if self.failures.get(kind) == message:
            return
        self.failures[kind] = message
        _log.warning(kind, why=message)
        self.on_trouble(kind, message)


# ------------------------------------------------------------ the Secret


class SecretContents(NamedTuple):
    """The Secret as it was read: None where there is none, and what it holds."""

    secret: Object | None
    state: CertificateState


class _Seen(NamedTuple):
    """The watched copy, as bytes: it is compared with the one before, and read as certificates only if they differ."""

    version: str
    data: Mapping[str, bytes]


class SecretStore:
    """The Secret `name` of a namespace. `on_change(state)` is called at first, then after each change."""

    def __init__(
        self,
        client: Client,
        namespace: str,
        name: str,
        on_change: Callable[[CertificateState], None],
        timing: Timing | None = None,
    ) -> None:
        #: Since when (monotonic) the Secret is gone that was there before; None while there is one.
        self.gone_since: float | None = None
        self._client = client
        self._on_change = on_change
        self._collection = f"/api/v1/namespaces/{namespace}/secrets"
        self._name = name
        self._path = f"{self._collection}/{name}"
        self.reflector = Reflector(
            client,
            self._collection,
            lambda obj: _Seen(obj["metadata"]["resourceVersion"], data_of(obj)),
            query={"fieldSelector": f"metadata.name={name}"},
            on_change=self._changed,
            timing=timing,
        )

    def _changed(self, _key: str, contents: _Seen | None) -> None:
        self.gone_since = None if contents else monotonic()
        self._on_change(read_certificate_state(contents.data if contents else {}))

    async def read(self, deadline: float) -> SecretContents:
        """The Secret as it is now; `deadline` in seconds. Raises ApiError."""
        secret = await self._client.find(self._path, deadline=deadline)
        return SecretContents(secret, read_certificate_state(data_of(secret or {})))

    async def write(self, contents: SecretContents, state: CertificateState, deadline: float) -> None:
        """Replace the Secret that was found; refused (409) if it has changed since. Raises ApiError."""
        data = {key: base64.b64encode(value).decode() for key, value in state.data.items()}
        query = {"fieldManager": FIELD_MANAGER}
        if contents.secret is None:
            metadata = {"name": self._name, "labels": {"app.kubernetes.io/name": "sidecar-injector"}}
            secret = {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "type": "Opaque", "data": data}
            await self._client.create(self._collection, secret, query, deadline=deadline)
            return
        foreign = without(mapping_at(contents.secret, "data"), KEYS)
        changed = {**contents.secret, "data": {**foreign, **data}}
        await self._client.request("PUT", self._path, changed, query, deadline=deadline)


def data_of(secret: Object) -> dict[str, bytes]:
    """What of a Secret's data belongs to the certificates, decoded."""
    data = {}
    for key, value in mapping_at(secret, "data").items():
        if key in KEYS:
            with contextlib.suppress(binascii.Error, ValueError):
                data[key] = base64.b64decode(value)
    return data
