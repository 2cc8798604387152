"""Logs: one JSON object a line, written together, so that a review costs no system call.

A review's line is joined from bytes. Everything that happens seldom (a reload, a certificate, an error) goes through
structlog to the same output, so that lines keep their order.
"""

from __future__ import annotations

import logging
import sys
import time
import traceback
from pathlib import PurePath
from typing import BinaryIO, cast

import msgspec
import structlog
from structlog.typing import FilteringBoundLogger

#: Bytes of log lines that wait for the next `flush` before they are written at once.
_WAITING_BYTES = 32 * 1024


class LogOutput:
    """Where log lines go: collected, and written together by `flush`, so that a review costs no system call.

    The owner of the event loop calls `flush` several times a second and once at the end.
    """

    def __init__(self, stream: BinaryIO | None = None) -> None:
        self._stream = stream or sys.stdout.buffer
        self._lines: list[bytes] = []
        self._size = 0
        self._second = 0
        self._stamp = b""

    def write(self, line: bytes) -> None:
        """Add one line, its newline included."""
        self._lines.append(line)
        self._size += len(line)
        if self._size > _WAITING_BYTES:
            self.flush()

    def flush(self) -> None:
        """Write what waits. A reader that went away is no reason to stop serving, so its error ends here."""
        if not self._lines:
            return
        waiting, self._lines = self._lines, []  # another thread may write meanwhile
        self._size = 0
        try:
            self._stream.write(b"".join(waiting))
            self._stream.flush()
        except (OSError, ValueError):
            pass

    def timestamp(self) -> bytes:
        """The time now, as RFC 3339 in UTC with milliseconds; the part up to the second is made once a second."""
        now = time.time()
        second = int(now)
        if second != self._second:
            self._second = second
            self._stamp = time.strftime("%Y-%m-%dT%H:%M:%S.", time.gmtime(second)).encode()
        return b"%b%03dZ" % (self._stamp, (now - second) * 1000)

    def stamped(self, _: object, __: str, event: structlog.types.EventDict) -> structlog.types.EventDict:
        """A structlog event with the time now, which comes first."""
        return {"time": self.timestamp().decode(), **event}

    def info(self, line: bytes) -> None:
        """Take a finished line from structlog."""
        self.write(line + b"\n")

    debug = warning = error = critical = info


def _failure(_: object, __: str, event: structlog.types.EventDict) -> structlog.types.EventDict:
    """Turn `exc_info` into the error's type and where it was raised."""
    error = event.pop("exc_info", None)
    if error is True:
        error = sys.exc_info()[1]
    elif isinstance(error, tuple):
        error = error[1]
    if isinstance(error, BaseException):
        event = {**event, "error": type(error).__name__, "where": where_it_failed(error)}
    return event


def _processors(output: LogOutput) -> list[structlog.types.Processor]:
    encode = msgspec.json.Encoder(enc_hook=str).encode
    return [structlog.processors.add_log_level, _failure, output.stamped, lambda _, __, event: encode(event)]


def make_logger(output: LogOutput) -> FilteringBoundLogger:
    """A structlog logger that writes one JSON object a line to `output`; two servers in one process each have one."""
    wrapper = structlog.make_filtering_bound_logger("info")
    return cast("FilteringBoundLogger", structlog.wrap_logger(output, _processors(output), wrapper))


class _Bridge(logging.Handler):
    """Takes what libraries log through the standard library."""

    def __init__(self, logger: FilteringBoundLogger) -> None:
        super().__init__(logging.WARNING)
        self._logger = logger

    def emit(self, record: logging.LogRecord) -> None:
        """Pass a record on; the message only up to its first line, without the values of a traceback."""
        try:
            message = record.getMessage().partition("\n")[0][:300]
            self._logger.log(record.levelno, message, logger=record.name, exc_info=record.exc_info)
        except Exception:
            self.handleError(record)


def send_logs_to(output: LogOutput) -> None:
    """Have the whole process log to `output`: every structlog logger, and libraries' warnings and errors."""
    structlog.configure(
        processors=_processors(output),
        wrapper_class=structlog.make_filtering_bound_logger("info"),
        logger_factory=lambda *_: output,
        cache_logger_on_first_use=False,
    )
    root = logging.getLogger()
    for handler in [h for h in root.handlers if isinstance(h, _Bridge)]:
        root.removeHandler(handler)
    root.addHandler(_Bridge(make_logger(output)))


def where_it_failed(error: BaseException) -> list[str]:
    """The frames of an exception, innermost last, as `file:line function`.

    The exception's own text is left out on purpose: it may quote the pod.
    """
    frames = traceback.extract_tb(error.__traceback__)[-12:]
    return [f"{'/'.join(PurePath(frame.filename).parts[-3:])}:{frame.lineno} {frame.name}" for frame in frames]
