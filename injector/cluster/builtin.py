"""The built-in certificates at work: every replica serves what the Secret holds, the leader keeps it up to date."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import structlog

from injector.cluster.api_error import ApiError
from injector.cluster.bundles import Bundles
from injector.cluster.certificate_controller import CertificateController, OnTrouble, SecretStore
from injector.cluster.client import Client
from injector.cluster.lease import Lease, LeaseTiming
from injector.cluster.reflector import Timing
from injector.cluster.rotation import CertificateState, RotationPlan
from injector.cluster.tasks import Background, Backoff
from injector.cluster.x509 import Pair, service_names
from injector.settings import CertificateSettings
from injector.telemetry import Metrics

_log = structlog.get_logger(__name__)

#: Seconds between two looks at the clock.
_TICK = 1.0
#: Seconds between two tries of the leader: when the API server refuses or is away, when what is written does not stay.
_PAUSES = (0.5, 60.0)
#: So many writes one after the other lead from anywhere to where nothing is left to do.
_STEPS = 8
#: Seconds for which a Secret that was deleted stays away: if that is an uninstallation, this server ends meanwhile.
_GONE_SECONDS = 5.0


class BuiltinCertificates(Background):
    """Certificates of the injector's own authority, kept in one Secret. `start()` in the event loop, then `stop()`.

    `namespace` is the injector's own, `domain` the cluster's. `on_pair(pair)` is called with each new certificate that
    is to be served, at first sight and after every change; `on_trouble` with what an admin should see.
    """

    def __init__(
        self,
        client: Client,
        namespace: str,
        domain: str,
        settings: CertificateSettings,
        on_pair: Callable[[Pair], None],
        metrics: Metrics,
        *,
        on_trouble: OnTrouble = lambda reason, cause: None,
        timing: Timing | None = None,
    ) -> None:
        self._client = client
        self._settings = settings
        self._on_pair = on_pair
        self._metrics = metrics
        self._on_trouble = on_trouble
        self._plan = RotationPlan(
            service_names(settings.service, namespace, domain),
            timedelta(seconds=settings.life_seconds),
            timedelta(seconds=settings.authority_life_seconds),
        )
        self._lease_timing = LeaseTiming.of(settings.lease_seconds)
        self._lease = Lease(
            client, namespace, settings.lease, timing=self._lease_timing, on_change=lambda _leading: self._lead()
        )
        self._store = SecretStore(client, namespace, settings.secret, self._see, timing)
        self._bundles = Bundles(
            client, settings.webhooks, (settings.service, namespace), lambda: self._news.set(), timing
        )
        self._news = asyncio.Event()
        self._state = CertificateState()
        self._served: Pair | None = None
        self._refused = ""
        self._controller = self._new_controller()

    def start(self) -> None:
        """Begin to watch, to serve and to take part in the choice of a leader."""
        self._metrics.leader.cell().value = 0
        for part in (self._store.reflector, self._bundles, self._lease):
            part.start()
        super().start()

    async def hand_over(self) -> None:
        """Write nothing any more, and let another replica lead; what the Secret holds is served as before."""
        await super().stop()
        await self._lease.stop()

    async def stop(self) -> None:
        """End, and let another replica lead."""
        await self.hand_over()
        for part in (self._bundles, self._store.reflector):
            await part.stop()

    @property
    def why_not(self) -> str:
        """Why there is no certificate to serve, one sentence; "" when there is one."""
        if self._served:
            return ""
        secret, webhooks = self._settings.secret, self._settings.webhooks
        for error, name in ((self._store.reflector.last_error, secret), (self._bundles.last_error, webhooks)):
            if error:
                return f"{name}: {error}"
        return self._refused or next(iter(self._controller.failures.values()), f"none in Secret {secret} yet")

    def _see(self, state: CertificateState) -> None:
        """Called when the Secret changed. Serve its certificate; keep the old one if it has no certificate to serve."""
        self._state = state
        self._news.set()
        if state.authority:
            self._metrics.authority_end.cell().value = state.authority.certificate.not_valid_after_utc.timestamp()
        fault = _why_not_served(state, datetime.now(UTC))
        if fault:
            self._refuse(f"Secret {self._settings.secret}: {fault}")
        elif state.serving:
            self._refused = ""
            if self._served is None or self._served.certificate != state.serving.certificate:
                self._on_pair(state.serving)
                self._served = state.serving

    def _refuse(self, fault: str) -> None:
        if fault == self._refused:
            return
        self._refused = fault
        self._metrics.certificates.cell("refused").value += 1
        _log.error("certificate-refused", why=fault, in_use="the old one" if self._served else "none")
        self._on_trouble("certificate-refused", fault)

    def _lead(self) -> None:
        """This replica became the leader or is no longer the leader: forget everything that the leader remembers."""
        self._metrics.leader.cell().value = int(self._lease.leading)
        self._controller = self._new_controller()
        self._news.set()

    def _new_controller(self) -> CertificateController:
        return CertificateController(
            self._store,
            self._bundles,
            self._plan,
            lambda: self._lease.leading,
            self._client.now,
            self._metrics,
            on_trouble=self._on_trouble,
            settle_seconds=self._settings.settle_seconds,
            # A write that the leader began is over before another one leads.
            write_seconds=self._lease_timing.lasts - self._lease_timing.deadline,
        )

    async def _run(self) -> None:
        backoff = Backoff(*_PAUSES)
        in_a_row = 0
        while True:
            with contextlib.suppress(TimeoutError):
                # not wait_for, which before Python 3.12 may lose a cancellation: this would never end
                async with asyncio.timeout(_TICK):
                    await self._news.wait()
            self._news.clear()
            if not self._lease.leading:
                continue
            if error := self._store.reflector.last_error or self._bundles.last_error:
                self._controller.not_kept(error)
            gone_since = self._store.gone_since
            stays_away = gone_since is not None and time.monotonic() < gone_since + _GONE_SECONDS
            if stays_away or not (self._store.reflector.synced.is_set() and self._bundles.synced):
                continue
            try:
                if not await self._controller.work(self._state):
                    in_a_row = 0
                    backoff.reset()
                    continue
                self._news.set()
                in_a_row += 1
                if in_a_row > _STEPS:
                    await asyncio.sleep(backoff.next())
            except ApiError as error:
                await asyncio.sleep(backoff.next(error.retry_after))
            except Exception:  # a mistake of ours must not end it for good
                _log.exception("certificates-failed")
                await asyncio.sleep(backoff.next())


def _why_not_served(state: CertificateState, now: datetime) -> str:
    """Why the Secret's certificate cannot be served; "" when it can, or when there is none."""
    if state.serving is None:
        return "; ".join(fault for fault in state.faults if fault.startswith("tls."))
    if state.anchor is None:
        return "none of the authorities in the Secret signed tls.crt"
    return "tls.crt has expired" if state.serving.certificate.not_valid_after_utc <= now else ""
