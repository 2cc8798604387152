"""The life of the server's process: how it ends without losing a request, and what is said when its event loop hangs.

Readiness fails at once, so that the pod's address is taken out of the endpoints; that takes seconds to reach every API
server, so until then requests are still accepted, and each answer closes its connection, so that its client opens the
next one elsewhere. Only then does the server stop listening.
https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/#pod-termination-flow

/healthz is answered by the very loop that answers reviews, so kubelet needs nothing else: no answer within its
`timeoutSeconds`, three times, and it starts the container anew. But then nobody would know where it hung. Python's
fault handler does: it writes the stack of each thread to standard error. It has a thread of its own in C, so it does
that even while C code holds the interpreter. File names, lines and functions only, no values.
https://docs.python.org/3.11/library/faulthandler.html#dumping-the-tracebacks-after-a-timeout
"""

from __future__ import annotations

import asyncio
import faulthandler
import signal
import sys
from typing import IO

import structlog

from injector.telemetry import Metrics
from injector.webhook.server import Server

#: Seconds that answers still under way get after the listening socket is closed.
_PATIENCE = 5.0
#: Seconds without a beat after which the stacks are written: less than kubelet's patience.
STUCK_SECONDS = 5.0
#: Seconds between two beats, and by how many one may be late before that is reported.
_BEAT_SECONDS = 1.0
_LATE_SECONDS = 1.0


class Drain:
    """Whether the server is on its way down, and the way down itself."""

    def __init__(self, metrics: Metrics, logger: structlog.typing.FilteringBoundLogger) -> None:
        #: Set when the end is asked for.
        self.requested = asyncio.Event()
        self._metrics = metrics
        self._logger = logger

    def on_signals(self) -> None:
        """Let SIGTERM and SIGINT ask for the end. A second one ends the process at once, as people expect."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._on_signal, number)

    def _on_signal(self, number: int) -> None:
        self.requested.set()
        asyncio.get_running_loop().remove_signal_handler(number)

    async def run(self, server: Server, seconds: float) -> None:
        """Wait until the end is asked for, drain for `seconds`, stop the server."""
        await self.requested.wait()
        self._metrics.draining.cell().value = 1
        self._logger.info("draining", seconds=seconds)
        server.close_after_answers()
        await asyncio.sleep(seconds)
        await server.stop(_PATIENCE)
        self._logger.info("stopped")


async def watch_loop(
    metrics: Metrics,
    logger: structlog.typing.FilteringBoundLogger,
    output: IO[str] | None = None,
    *,
    stuck_seconds: float = STUCK_SECONDS,
) -> None:
    """Beat for ever, or until cancelled; one such task in a process, as there is one fault handler.

    A loop that was late is logged and counted in `injector_event_loop_late_total`. `output` has to be a file with a
    descriptor; standard error unless given.
    """
    loop = asyncio.get_running_loop()
    late = metrics.late.cell()
    try:
        while True:
            faulthandler.dump_traceback_later(stuck_seconds, file=output or sys.stderr)
            due = loop.time() + _BEAT_SECONDS
            await asyncio.sleep(_BEAT_SECONDS)
            behind = loop.time() - due
            if behind > _LATE_SECONDS:
                late.value += 1
                logger.warning("event-loop-late", seconds=round(behind, 1))
    finally:
        faulthandler.cancel_dump_traceback_later()
