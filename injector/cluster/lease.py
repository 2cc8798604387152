"""Who of several replicas is the leader: the one that holds a Lease (coordination.k8s.io/v1).

As Kubernetes' own leader election does it: a holder writes its name and the time into the Lease again and again. The
others never compare that time with their own clock. They watch whether the Lease changes. It names a duration, and they
take it when, by their own monotonic clock, it has not changed for so long. Each write names the resource version that
was read, so of two that write at the same time one is refused.
https://kubernetes.io/docs/concepts/architecture/leases/

A Lease that was deleted is created again only when its time is over. After an uninstallation no replica is left by then
to create it.
"""

from __future__ import annotations

import asyncio
import contextlib
import datetime
import secrets
import socket
from collections.abc import Callable
from time import monotonic
from typing import NamedTuple

import structlog

from injector.cluster.api_error import ApiError
from injector.cluster.client import Client
from injector.cluster.tasks import Background, Backoff, jittered
from injector.pods.context import Object, mapping_at

_log = structlog.get_logger(__name__)

#: Seconds after which a Lease that nobody renews is taken, however long it says that it lasts.
_LONGEST = 600.0


class LeaseTiming(NamedTuple):
    """In seconds: how long a Lease lasts, for how long its holder counts as leader, the pause between two looks."""

    lasts: float = 15.0
    deadline: float = 10.0
    retry: float = 2.0

    @classmethod
    def of(cls, lasts: float) -> LeaseTiming:
        """With the usual proportions: `deadline` is two thirds of `lasts`, `retry` two fifteenths."""
        return cls(lasts, lasts * 2 / 3, lasts * 2 / 15)


class Lease(Background):
    """Tries for ever to hold the Lease `name` of a namespace. `start()` it; `stop()` gives it back.

    `on_change(leading)` is told in the event loop. To be safe, ask `leading`: it is False as soon as the
    last renewal is too long ago, even if the process was suspended meanwhile.
    """

    def __init__(
        self,
        client: Client,
        namespace: str,
        name: str,
        *,
        identity: str = "",
        timing: LeaseTiming | None = None,
        on_change: Callable[[bool], None] = lambda leading: None,
    ) -> None:
        #: Who this is: the pod's name and something random, as a pod's container may be started again.
        self.identity = identity or f"{socket.gethostname()}_{secrets.token_hex(4)}"
        self._client = client
        self._collection = f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases"
        #: Where the API server has it.
        self.path = f"{self._collection}/{name}"
        self._name = name
        self._timing = timing or LeaseTiming()
        self._on_change = on_change
        self._lease: Object | None = None  # the Lease as last read or written
        self._lease_at = 0.0  # since when it is like that (monotonic)
        self._until = 0.0  # until when this is the leader (monotonic)
        self._announced = False

    @property
    def leading(self) -> bool:
        """Whether this is the leader now."""
        return monotonic() < self._until

    async def stop(self) -> None:
        """End; the Lease is given back, so that the next one need not wait for its end."""
        await super().stop()
        if self.leading and self._lease is not None:
            self._until = 0.0
            with contextlib.suppress(ApiError):
                await self._give_back(self._lease)
        self._until = 0.0
        self._tell()

    async def _give_back(self, last_seen: Object) -> None:
        nobody = {"holderIdentity": "", "leaseDurationSeconds": 1}
        try:
            await self._put(last_seen, nobody)
        except ApiError as error:
            if error.status != 409:
                raise
            # The API server took a renewal whose answer `stop` did not wait for.
            lease = await self._client.get(self.path, deadline=self._request_seconds)
            if mapping_at(lease, "spec").get("holderIdentity") == self.identity:
                await self._put(lease, nobody)

    # ------------------------------------------------------------ the loop

    async def _run(self) -> None:
        backoff = Backoff(self._timing.retry, self._timing.lasts)
        failed = ""
        while True:
            pause = jittered(self._timing.retry, 0.2)
            try:
                await self._try()
                if failed:
                    _log.info("lease-back", lease=self._name)
                failed = ""
                backoff.reset()
            except ApiError as error:
                # The leader tries at its usual pace, as its time runs out; the others have time.
                pause = pause if self.leading else backoff.next(error.retry_after)
                if error.reason != failed:
                    effect = "tries again; if the leader's time ends meanwhile, another replica can become the leader"
                    _log.warning("lease-trouble", lease=self._name, why=str(error), effect=effect)
                failed = error.reason
            except Exception:  # a mistake of ours must not end it for good
                _log.exception("lease-failed", lease=self._name)
                pause = backoff.next()
            self._tell()
            await asyncio.sleep(min(pause, max(0.0, self._until - monotonic())) if self.leading else pause)
            self._tell()

    async def _try(self) -> None:
        """Read the Lease once, and write it if this replica may take or renew it. Raises ApiError."""
        began = monotonic()
        if self.leading and self._lease is not None:
            with contextlib.suppress(ApiError):  # whatever it is, the Lease is looked at anew
                await self._take(self._lease, began)
                return
        lease = await self._client.find(self.path, deadline=self._request_seconds)
        if lease is None:
            if not self._in_force:  # else it was deleted just now, and still has its leader
                await self._create(began)
            return
        self._observe(lease)
        holder = mapping_at(lease, "spec").get("holderIdentity")
        if holder and holder != self.identity:
            self._until = 0.0  # somebody else has it: taken from us, or never ours
        if holder not in (None, "", self.identity) and self._in_force:
            return
        try:
            await self._take(lease, began)
        except ApiError as error:
            if error.status != 409:  # that is somebody who was quicker: the next look shows who
                raise

    @property
    def _in_force(self) -> bool:
        """Whether the Lease, as last seen, has a holder whose time is not over; the holder may be this replica."""
        spec = mapping_at(self._lease or {}, "spec")
        if not spec.get("holderIdentity"):
            return False
        lasts = min(float(spec.get("leaseDurationSeconds") or self._timing.lasts), _LONGEST)
        return monotonic() < self._lease_at + lasts

    async def _create(self, began: float) -> None:
        metadata = {"name": self._name, "labels": {"app.kubernetes.io/name": "sidecar-injector"}}
        lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata, "spec": self._spec({})}
        try:
            self._observe(await self._client.create(self._collection, lease, deadline=self._request_seconds))
        except ApiError as error:
            if error.status != 409:
                raise
            self._until = 0.0
        else:
            self._until = began + self._timing.deadline

    async def _take(self, lease: Object, began: float) -> None:
        self._observe(await self._put(lease, self._spec(mapping_at(lease, "spec"))))
        self._until = began + self._timing.deadline

    async def _put(self, lease: Object, spec: Object) -> Object:
        changed = {**lease, "spec": {**mapping_at(lease, "spec"), **spec}}
        return await self._client.request("PUT", self.path, changed, deadline=self._request_seconds)

    @property
    def _request_seconds(self) -> float:
        """How long a request may take: if one hangs, there is time for another before the leader's time is over."""
        return self._timing.deadline / 2

    def _spec(self, before: Object) -> Object:
        now = f"{datetime.datetime.now(datetime.UTC):%Y-%m-%dT%H:%M:%S.%fZ}"
        holder = before.get("holderIdentity")
        taken_over = int(bool(holder) and holder != self.identity)
        return {
            "holderIdentity": self.identity,
            "leaseDurationSeconds": max(1, round(self._timing.lasts)),
            "acquireTime": before.get("acquireTime") if holder == self.identity else now,
            "renewTime": now,
            "leaseTransitions": int(before.get("leaseTransitions") or 0) + taken_over,
        }

    def _observe(self, lease: Object) -> None:
        version = _version(lease)  # raises for what is no Lease, before it is kept
        if self._lease is None or version != _version(self._lease):
            self._lease, self._lease_at = lease, monotonic()

    def _tell(self) -> None:
        leading = self.leading
        if leading != self._announced:
            self._announced = leading
            _log.info("leading" if leading else "not-leading", lease=self._name, identity=self.identity)
            self._on_change(leading)


def _version(lease: Object) -> tuple[str, str]:
    metadata = lease["metadata"]
    return str(metadata.get("uid", "")), str(metadata["resourceVersion"])
