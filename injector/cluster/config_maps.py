"""Makes sure that the ConfigMaps which an injection needs exist in the pod's namespace.

They are immutable and named by their content and owner, so the only question is whether one of that name is there
and is ours. Whoever may create ConfigMaps in the namespace could have put another in its place. So if there is one of
that name, its content is compared first.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Iterable
from functools import partial
from time import monotonic

import structlog

from injector.cluster.api_error import TIMEOUT, ApiError
from injector.cluster.client import Client
from injector.cluster.tasks import SingleFlight, remember
from injector.errors import InjectionError
from injector.pods.delivery import GeneratedConfigMap
from injector.reasons import Reason

_log = structlog.get_logger(__name__)

_LONGEST = 10.0  # seconds that one request may take, whoever still waits for it


class ConfigMaps:
    """Creates the ConfigMaps. Remembers those that it saw to exist for `seconds`, at most `remember` of them.

    The memory is short because others may delete a ConfigMap; a pod that comes later finds it created again.
    """

    def __init__(self, client: Client, *, remember: int = 4096, seconds: float = 60.0) -> None:
        self._client = client
        self._remember = remember
        self._seconds = seconds
        self._present: OrderedDict[tuple[str, str], float] = OrderedDict()
        self._flights: SingleFlight[tuple[str, str], None] = SingleFlight()
        self._blind = False

    def known(self, files: Iterable[GeneratedConfigMap]) -> bool:
        """Whether `ensure` would send nothing, because it saw all of `files` to exist a short while ago."""
        now = monotonic()
        return all(self._present.get((file.namespace, file.name), 0.0) >= now for file in files)

    async def ensure(self, files: Iterable[GeneratedConfigMap], deadline: float) -> None:
        """Return when all of `files` exist, within `deadline` seconds; nothing is sent for those just seen.

        Raises InjectionError(FILES_FAILED) that says which ConfigMap, why, and what to do. A creation that is under
        way when the deadline passes goes on, so that the controller's next try finds it done.
        """
        now = monotonic()
        missing = [file for file in files if self._present.get((file.namespace, file.name), 0.0) < now]
        if not missing:
            return
        try:
            async with asyncio.timeout(deadline):
                flights = [self._flights.do((file.namespace, file.name), partial(self._make, file)) for file in missing]
                results = await asyncio.gather(*flights, return_exceptions=True)
        except TimeoutError:
            raise _failure(missing[0], ApiError(0, TIMEOUT, f"no answer within {deadline:g} s")) from None
        for file, result in zip(missing, results, strict=True):
            if isinstance(result, ApiError):
                raise _failure(file, result) from None
            if isinstance(result, BaseException):
                raise result

    async def _make(self, file: GeneratedConfigMap) -> None:
        for last in (False, True):
            try:
                await self._client.create(_collection(file), file.to_object(), deadline=_LONGEST)
                break
            except ApiError as error:
                if error.reason != "AlreadyExists":
                    raise
            if await self._compare(file):
                break
            if last:
                raise ApiError(
                    409, "Conflict", "something deletes the ConfigMap of that name again and again; find out what"
                )
        remember(self._present, (file.namespace, file.name), monotonic() + self._seconds, self._remember)

    async def _compare(self, file: GeneratedConfigMap) -> bool:
        """Whether the ConfigMap of that name is there; ApiError if it is not the one wanted."""
        try:
            config_map = await self._client.find(f"{_collection(file)}/{file.name}", deadline=_LONGEST)
        except ApiError as error:
            if error.status != 403:
                raise
            if not self._blind:
                _log.warning("config-maps-not-compared", error=error.message, to_do="grant get on configmaps")
            self._blind = True
            return True
        if config_map is None:
            return False
        if config_map["metadata"].get("deletionTimestamp"):
            raise ApiError(409, "Conflict", "the ConfigMap of that name is being deleted; try again when it is gone")
        if config_map.get("data", {}) != file.data or config_map.get("binaryData") or not config_map.get("immutable"):
            raise ApiError(
                409,
                "AlreadyExists",
                "a ConfigMap of that name exists already, and the injector did not make it; delete it",
            )
        return True


def _collection(file: GeneratedConfigMap) -> str:
    return f"/api/v1/namespaces/{file.namespace}/configmaps"


#: What to do about a failure, by Kubernetes' reason or a narrower one; messages of our own say it themselves.
_TO_DO = {
    "NamespaceTerminating": "use another namespace",
    "OverQuota": "raise the quota, or let the template deliver its files by annotation",
    "NoPermission": "let the injector's service account create configmaps in this namespace",
    "Forbidden": "ask the owner of the rule that refused the ConfigMap to allow it",
    "NotFound": "create the namespace first",
    **dict.fromkeys(("BadRequest", "Invalid", "RequestEntityTooLarge"), "change the files that the template renders"),
    **dict.fromkeys(("AlreadyExists", "Conflict"), ""),
}
#: Reasons of our own that say more than `Forbidden`, by what the API server's message says.
_NARROWER = {"over-quota": "OverQuota", "no-permission": "NoPermission"}


def _failure(file: GeneratedConfigMap, error: ApiError) -> InjectionError:
    """What the pod's owner is told."""
    name = f"{file.namespace}/{file.name}"
    cause = next(iter(error.causes), _NARROWER.get(error.denial, error.reason))
    return InjectionError(
        Reason.FILES_FAILED,
        f"ConfigMap {name} was not created: {error.message}",
        help=_TO_DO.get(cause, "the injector tries again when the pod is next created"),
        fields={"configmap": name, "cause": cause},
    )
