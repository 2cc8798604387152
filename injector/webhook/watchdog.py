"""What is told of an event loop that hangs.

/healthz is answered by the very loop that answers reviews, so kubelet needs nothing else: no answer within its
`timeoutSeconds`, three times, and it starts the container anew. But then nobody would know where it hung. Python's
fault handler tells: it writes the stack of each thread to standard error from a thread of its own in C, so also when
it is C code that holds the interpreter. File names, lines and functions only, no values.
https://docs.python.org/3.11/library/faulthandler.html#dumping-the-tracebacks-after-a-timeout
"""

from __future__ import annotations

import asyncio
import faulthandler
import sys
from typing import IO

import structlog

from injector.telemetry import Metrics

#: Seconds without a beat after which the stacks are written: less than kubelet's patience.
STUCK_SECONDS = 5.0
#: Seconds between two beats, and by how many one may be late before that is told.
_BEAT_SECONDS = 1.0
_LATE_SECONDS = 1.0


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
    file = output or sys.stderr
    loop = asyncio.get_running_loop()
    late = metrics.late.cell()
    try:
        while True:
            faulthandler.dump_traceback_later(stuck_seconds, file=file)
            due = loop.time() + _BEAT_SECONDS
            await asyncio.sleep(_BEAT_SECONDS)
            behind = loop.time() - due
            if behind > _LATE_SECONDS:
                late.value += 1
                logger.warning("event-loop-late", seconds=round(behind, 1))
    finally:
        faulthandler.cancel_dump_traceback_later()
