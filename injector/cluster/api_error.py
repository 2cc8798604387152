"""The one error of the cluster package: what the API server said, or that it said nothing."""

from __future__ import annotations

import http.client
from collections.abc import Iterator
from contextlib import contextmanager

import msgspec
import structlog

from injector.errors import InjectorError
from injector.library_messages import api_server_message

_log = structlog.get_logger(__name__)

#: Reasons of our own, for what the API server did not answer itself.
UNREACHABLE, TIMEOUT, BAD_ANSWER, WATCH_ENDED = "Unreachable", "Timeout", "BadAnswer", "WatchEnded"


class ApiError(InjectorError):
    """The API server refused, failed, or was not reached.

    `status` is the HTTP status, 0 without an answer; `reason` is Kubernetes' reason (`NotFound`, `AlreadyExists`...)
    or one of UNREACHABLE, TIMEOUT, BAD_ANSWER, WATCH_ENDED; `message` is one sentence; `causes` are the reasons in
    the Status' details (`NamespaceTerminating`...); `retry_after` is the server's wish in seconds, 0 if none.
    """

    def __init__(
        self, status: int, reason: str, message: str, *, causes: tuple[str, ...] = (), retry_after: float = 0.0
    ) -> None:
        super().__init__(f"{reason} ({status}): {message}" if status else f"{reason}: {message}")
        self.status = status
        self.reason = reason
        self.message = message
        self.causes = causes
        self.retry_after = retry_after

    @property
    def expired(self) -> bool:
        """Whether the watch or the list has to start again from the beginning (410 Gone)."""
        return self.status == 410 or self.reason in ("Expired", "Gone")

    @property
    def is_of_server(self) -> bool:
        """Whether the API server says it of itself or of who asks, and not of the object that was asked for."""
        return self.status in (0, 401, 429) or self.status >= 500

    @property
    def denial(self) -> str:
        """What forbids it, as far as the message says: `no-permission` (RBAC), `over-quota` (a ResourceQuota)...

        "" for an error of another kind.
        """
        return api_server_message(self.message).kind if self.status == 403 else ""


@contextmanager
def own_result(event: str, **fields: str) -> Iterator[None]:
    """What is done for one of many: its trouble is logged, and the others go on. What the API server says of itself is
    raised.
    """
    try:
        yield
    except Exception as error:
        if isinstance(error, ApiError) and error.is_of_server:
            raise
        _log.warning(event, why=str(error), **fields)


class _Cause(msgspec.Struct, frozen=True):
    reason: str = ""


class _Details(msgspec.Struct, frozen=True, rename="camel"):
    causes: list[_Cause] | None = None
    retry_after_seconds: int = 0


class _Status(msgspec.Struct, frozen=True):
    """What matters of a `Status`, Kubernetes' form of an error."""

    code: int = 0
    reason: str = ""
    message: str = ""
    details: _Details | None = None


_decode_status = msgspec.json.Decoder(_Status).decode


def refusal_of(body: bytes, status: int = 0, retry_after: str = "") -> ApiError:
    """The error in an answer's `body`: a Status, or any text where a proxy answered instead of the API server.

    `status` is the HTTP status; 0 for the ERROR event of a watch, whose body has the status. `retry_after` is the
    header of this name.
    """
    try:
        reported = _decode_status(body)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        reported = _Status(message=" ".join(body.decode(errors="replace").split())[:200])
    code = status or reported.code or 500
    details = reported.details or _Details()
    wish = retry_after if retry_after.isdigit() else details.retry_after_seconds
    reason = reported.reason or http.client.responses.get(code, "Error").replace(" ", "")
    return ApiError(
        code,
        reason,
        reported.message or reason,
        causes=tuple(cause.reason for cause in details.causes or ()),
        retry_after=float(wish),
    )
