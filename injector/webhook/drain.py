"""Shutting down without losing a request.

Readiness fails at once, so that the pod's address is taken out of the endpoints; that takes seconds to reach every API
server, so until then requests are still accepted, and each answer closes its connection, so that its client opens the
next one elsewhere. Only then does the server stop listening.
https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/#pod-termination-flow
"""

from __future__ import annotations

import asyncio
import signal

import structlog

from injector.telemetry import Metrics
from injector.webhook.server import Server

#: Seconds that answers still under way get after the listening socket is closed.
_PATIENCE = 5.0


class Drain:
    """Whether the server is on its way down, and the way down itself."""

    def __init__(self, metrics: Metrics, logger: structlog.typing.FilteringBoundLogger) -> None:
        self._asked = asyncio.Event()
        self._metrics = metrics
        self._logger = logger

    @property
    def under_way(self) -> bool:
        """True from the moment that the end was asked for."""
        return self._asked.is_set()

    def begin(self) -> None:
        """Ask for the end; again is no harm."""
        self._asked.set()

    async def begun(self) -> None:
        """Wait until the end is asked for."""
        await self._asked.wait()

    def on_signals(self) -> None:
        """Let SIGTERM and SIGINT ask for the end. A second one ends the process at once, as people expect."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._on_signal, number)

    def _on_signal(self, number: int) -> None:
        self.begin()
        asyncio.get_running_loop().remove_signal_handler(number)

    async def run(self, server: Server, seconds: float) -> None:
        """Wait until the end is asked for, drain for `seconds`, stop the server."""
        await self.begun()
        self._metrics.draining.cell().value = 1
        self._logger.info("draining", seconds=seconds)
        server.close_after_answers()
        await asyncio.sleep(seconds)
        await server.stop(_PATIENCE)
        self._logger.info("stopped")
