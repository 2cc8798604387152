"""One asyncio client of the Kubernetes API: plain JSON objects in and out, a deadline on everything, one error.

Objects stay the dicts that the API server sent; msgspec reads them. A request is sent once: who calls decides
whether and when to try again.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from time import monotonic
from typing import Any, cast

import aiohttp
import msgspec
from aiohttp.http_exceptions import HttpProcessingError

from injector.cluster.api_error import BAD_ANSWER, TIMEOUT, UNREACHABLE, WATCH_ENDED, ApiError, refusal_of
from injector.cluster.connection import ConfigError, open_api
from injector.errors import InjectorError
from injector.pods.context import Object, filled

DEADLINE = 10.0  #: seconds for a request, unless the caller says otherwise
_CONNECT = 5.0  # seconds to reach the API server; only for watches, all else has its deadline
_WATCH_GRACE = 10.0  # seconds beyond a watch's own end after which the connection counts as dead
_LARGEST_ANSWER = 64 * 1024 * 1024
_LARGEST_EVENT = 16 * 1024 * 1024  # an object in etcd is at most 1.5 MiB; JSON may escape each byte to six
#: What asks for the metadata of objects alone, of a list and of a watch.
_METADATA_LIST = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
_METADATA = _METADATA_LIST.replace("List", "")
_RENEW = 60.0  # seconds at least between two readings of the configuration


Query = Mapping[str, str] | None


class ListMetadata(msgspec.Struct, frozen=True, rename="camel"):
    """A list's resource version, and the token of its next page ("" at the end)."""

    resource_version: str = ""
    next_page: str = msgspec.field(default="", name="continue")


class Page(msgspec.Struct, frozen=True):
    """One page of a list; an API server may write null for no objects."""

    metadata: ListMetadata
    items: list[Object] | None = None


class Event(msgspec.Struct, frozen=True):
    """One event of a watch: ADDED, MODIFIED, DELETED or BOOKMARK, and the object."""

    type: str
    object: Object


_decode_page = msgspec.json.Decoder(Page).decode
_decode_object = msgspec.json.Decoder(Object).decode
_decode_event = msgspec.json.Decoder(Event).decode
_WIRE_FAULTS = (aiohttp.ClientError, HttpProcessingError, ConfigError, OSError, ValueError)


class Client:
    """A client of one API server, for one event loop. Use `connect()`, and `close()` it.

    When credentials are refused or the server's certificate is not trusted, the configuration is read again for the
    next request, at most once a minute: so a rotated CA or token needs no restart.
    """

    def __init__(self, api: Any, kubeconfig: str | None = None, context: str | None = None) -> None:
        self._api = api  # the library's ApiClient, whose methods have no types
        self._source = (kubeconfig, context)
        self._renewed = monotonic()
        self._stale = False
        #: Requests sent so far.
        self.requests = 0
        #: The header Date of the last answer (RFC 9110, 6.6.1); "" before one.
        self.date = ""
        self._dated = 0.0  # when that came (monotonic)

    @classmethod
    async def connect(cls, kubeconfig: str | None = None, context: str | None = None) -> Client:
        """A client by kubectl's rules (see `connection.open_api`). Raises NoClusterError; sends nothing yet."""
        return cls(await open_api(kubeconfig, context), kubeconfig, context)

    @property
    def host(self) -> str:
        """The API server's URL."""
        return str(self._api.configuration.host)

    @property
    def authority_file(self) -> str:
        """The file of the authorities that the API server's certificate is checked against; "" for the system's own."""
        return str(self._api.configuration.ssl_ca_cert or "")

    def now(self) -> datetime:
        """The API server's time, to the second, as its last answer told it; this machine's where none did."""
        try:
            server_time = parsedate_to_datetime(self.date)
        except ValueError:
            return datetime.now(UTC)
        return server_time.replace(tzinfo=UTC) + timedelta(seconds=monotonic() - self._dated)

    async def close(self) -> None:
        """Close every connection; watches that are open end."""
        await self._api.close()

    async def __aenter__(self) -> Client:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    # ------------------------------------------------------------ requests

    async def get(self, path: str, query: Query = None, *, deadline: float = DEADLINE) -> Object:
        """The object at `path` (`/api/v1/namespaces/x`). `deadline` in seconds. Raises ApiError."""
        return await self.request("GET", path, None, query, deadline=deadline)

    async def find(self, path: str, *, deadline: float = DEADLINE) -> Object | None:
        """The object at `path`, None where there is none. Raises ApiError for every other reason not to get it."""
        try:
            return await self.get(path, deadline=deadline)
        except ApiError as error:
            if error.status != 404:
                raise
        return None

    async def create(self, path: str, body: Object, query: Query = None, *, deadline: float = DEADLINE) -> Object:
        """Create `body` in the collection at `path`, and return what was stored. Raises ApiError."""
        return await self.request("POST", path, body, query, deadline=deadline)

    async def request(
        self,
        method: str,
        path: str,
        body: Object | list[Any] | None = None,
        query: Query = None,
        *,
        content_type: str = "application/json",
        deadline: float = DEADLINE,
    ) -> Object:
        """Any request with JSON both ways; `content_type` says what kind of patch a PATCH is. Raises ApiError."""
        raw = await self._bytes(method, path, body, query, content_type, deadline)
        return cast("Object", self._decode(_decode_object, raw))

    async def apply(self, path: str, body: Object, manager: str, *, deadline: float = DEADLINE) -> Object:
        """Server-side apply: `body` has all fields that the field manager wants to own, and overrules other managers.

        https://kubernetes.io/docs/reference/using-api/server-side-apply/. Raises ApiError.
        """
        query = {"fieldManager": manager, "force": "true"}
        return await self.request(
            "PATCH", path, body, query, content_type="application/apply-patch+yaml", deadline=deadline
        )

    async def list(
        self,
        path: str,
        query: Query = None,
        *,
        page: str = "",
        limit: int = 500,
        metadata_only: bool = False,
        deadline: float = DEADLINE,
    ) -> Page:
        """One page of at most `limit` objects; `page` is the `next_page` of the one before. Raises ApiError.

        `metadata_only`: the API server leaves out all but `metadata`.
        https://kubernetes.io/docs/reference/using-api/api-concepts/#metadata-only-fetches
        """
        full = {**(query or {}), "limit": str(limit), **filled({"continue": page})}
        raw = await self._bytes(
            "GET", path, None, full, "application/json", deadline, _METADATA_LIST if metadata_only else ""
        )
        return cast("Page", self._decode(_decode_page, raw))

    @asynccontextmanager
    async def watch(
        self, path: str, resource_version: str, query: Query = None, *, seconds: float, metadata_only: bool = False
    ) -> AsyncIterator[AsyncIterator[Event]]:
        """Events after `resource_version`, bookmarks too, until the server ends the watch after `seconds`.

            async with client.watch(path, version, seconds=120) as events:  # here the API server has accepted it
                async for event in events: ...

        If the connection died unnoticed, the watch ends some seconds later. Raises ApiError, also for an ERROR event.
        `metadata_only` as with `list`.
        """
        full = {
            **(query or {}),
            "watch": "true",
            "allowWatchBookmarks": "true",
            "resourceVersion": resource_version,
            "timeoutSeconds": str(max(1, round(seconds))),
        }
        limits = aiohttp.ClientTimeout(total=seconds + _WATCH_GRACE, sock_connect=_CONNECT)
        accept = _METADATA if metadata_only else ""
        response = await self._send("GET", path, None, full, "application/json", limits, accept)
        try:
            yield self._events(response)
        finally:
            response.close()

    async def _events(self, response: aiohttp.ClientResponse) -> AsyncIterator[Event]:
        while line := await self._line(response):
            event = self._decode(_decode_event, line)
            if event.type == "ERROR":
                raise refusal_of(msgspec.json.encode(event.object))
            yield event

    async def version(self) -> tuple[int, int]:
        """The API server's version, (1, 36). Raises ApiError."""
        answer = await self.get("/version")
        numbers = [re.match(r"\d+", str(answer.get(part, ""))) for part in ("major", "minor")]
        if not all(numbers):
            raise ApiError(0, BAD_ANSWER, f"/version of {self.host} does not give a version")
        major, minor = (int(number[0]) for number in numbers if number)
        return major, minor

    # ------------------------------------------------------------ on the wire

    async def _bytes(
        self,
        method: str,
        path: str,
        body: Any,
        query: Query,
        content_type: str,
        deadline: float,
        accept: str = "",
    ) -> bytes:
        """The body of a successful answer."""
        limits = aiohttp.ClientTimeout(total=deadline)
        response = await self._send(method, path, body, query, content_type, limits, accept)
        try:
            return await self._read(response)
        finally:
            response.release()  # back to the pool if it was read to its end

    async def _send(
        self,
        method: str,
        path: str,
        body: Any,
        query: Query,
        content_type: str,
        limits: aiohttp.ClientTimeout,
        accept: str = "",
    ) -> aiohttp.ClientResponse:
        """The answer to a request, its body unread; ApiError for any status but 2xx."""
        if self._stale and monotonic() - self._renewed > _RENEW:
            await self._renew()
        self.requests += 1
        headers = {"Accept": accept or "application/json", "Content-Type": content_type}
        try:
            _, url, headers, _, _ = await self._api.param_serialize(
                method, path, header_params=headers, query_params=list((query or {}).items()),
                auth_settings=["BearerToken"],
            )  # fmt: skip
            answer = await self._api.rest_client.request(method, url, headers, body, _request_timeout=limits)
        except Exception as error:
            raise self._fault(error) from None
        response: aiohttp.ClientResponse = answer.response
        self.date, self._dated = response.headers.get("Date", ""), monotonic()
        if 200 <= response.status < 300:
            return response
        try:
            raw = await self._read(response)
        finally:
            response.close()
        if response.status == 401:
            self._stale = True
        raise refusal_of(raw, response.status, response.headers.get("Retry-After", ""))

    async def _read(self, response: aiohttp.ClientResponse) -> bytes:
        chunks, size = [], 0
        try:
            async for chunk in response.content.iter_any():
                chunks.append(chunk)
                size += len(chunk)
                if size > _LARGEST_ANSWER:
                    raise ApiError(0, BAD_ANSWER, f"{response.url.path}: more than {_LARGEST_ANSWER} bytes")
        except Exception as error:
            raise self._fault(error) from None
        return b"".join(chunks)

    async def _line(self, response: aiohttp.ClientResponse) -> bytes:
        try:
            return await response.content.readline(max_line_length=_LARGEST_EVENT)
        except TimeoutError:
            raise ApiError(
                0,
                WATCH_ENDED,
                "the API server sent nothing on the watch and did not close it in time; the connection is broken",
            ) from None
        except Exception as error:
            raise self._fault(error) from None

    def _decode(self, decode: Callable[[bytes], Any], raw: bytes) -> Any:
        try:
            return decode(raw)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise ApiError(0, BAD_ANSWER, f"{self.host} did not answer with valid Kubernetes JSON ({error})") from None

    def _fault(self, error: Exception) -> Exception:
        """The ApiError for a fault between us and the API server; any other error unchanged."""
        if isinstance(error, TimeoutError):
            return ApiError(0, TIMEOUT, f"{self.host} did not answer in time")
        if isinstance(error, aiohttp.ClientSSLError | aiohttp.ClientConnectorCertificateError):
            self._stale = True
        if isinstance(error, _WIRE_FAULTS):
            detail = " ".join(str(error).split()) or type(error).__name__
            return ApiError(0, UNREACHABLE, f"{self.host} cannot be reached: {detail[:200]}")
        return error

    async def _renew(self) -> None:
        """Read the configuration again; if that fails, go on with the old one."""
        self._renewed = monotonic()
        try:
            fresh = await open_api(*self._source)
        except InjectorError:
            return
        old, self._api, self._stale = self._api, fresh, False
        await old.close()
