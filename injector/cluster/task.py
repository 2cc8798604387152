"""The end of a task that runs until it is stopped."""

from __future__ import annotations

import asyncio
import contextlib


async def end(task: asyncio.Task[None] | None) -> None:
    """Cancel a task and wait until it has ended; None was never started."""
    if task:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
