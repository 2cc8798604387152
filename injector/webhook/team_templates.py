"""The templates of teams: read from the cluster, tried and compiled when the first pod names them.

A namespace's store knows only their names and versions. What a team writes costs nothing until a pod names it, and then
a bounded share of memory: a trial's verdict is remembered by the files' content, a loaded template as long as there is
room. One trial runs at a time, of all that wait for one, and one load, of which a namespace has one in turn.
"""

from __future__ import annotations

import asyncio
import gc
import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import NamedTuple
from weakref import WeakValueDictionary

from injector.caches import Memo
from injector.cluster.api_error import ApiError
from injector.cluster.client import Client
from injector.cluster.tasks import SingleFlight
from injector.cluster.template_maps import is_template_map, template_files
from injector.errors import InjectionError, TemplateError
from injector.inject import inject
from injector.injection import Injection
from injector.loading.trial import try_templates
from injector.names import TEAM
from injector.pods.context import Namespace, Object, mapping_at
from injector.reasons import Reason
from injector.settings import Settings
from injector.templates.load import content_digest
from injector.templates.snapshot import Snapshot
from injector.templates.team import (
    Loaded,
    counting_names,
    extended,
    load_team_template,
    may_have_templates,
    team_names,
)
from injector.templates.template import METADATA, Template

#: Bytes that loaded templates may take: of each about so many, and so many times the size of its files (9 times that of
#: the gallery's, up to 50 times where all is macros).
_LOADED_BYTES, _OVERHEAD, _GROWTH = 12 * 1024 * 1024, 24 * 1024, 32
#: Bytes that verdicts may take, and that one takes, beside what each mistake does that it names.
_VERDICTS_BYTES, _VERDICT, _MISTAKE = 1024 * 1024, 256, 2 * 1024
#: Templates of one trial: what waits longest is in it.
_AT_ONCE = 16
#: Templates that may wait for a trial, and those of one namespace: authors may write them faster than they are tried.
_WAITING, _WAITING_OF_ONE = 256, 4

#: For how many seconds it is remembered that a template is not there, and how many of one namespace are asked for in
#: that time: a pod may name what it likes.
_MISSING_SECONDS, _ASKED_OF_ONE = 10.0, 30

#: Seconds after which a template is tried again whose trial took too much: the cause may lie outside of it.
_RETRY_SECONDS = 60.0
#: Seconds that a replay waits for templates; nobody else waits for it.
_REPLAY_SECONDS = 10.0


class _Result(NamedTuple):
    """What came of a version of a ConfigMap; good until `until` (of the event loop's clock)."""

    loaded: Loaded
    until: float


class _Verdict(NamedTuple):
    """What is wrong with files that were tried, None where nothing is; good until `until`."""

    mistake: TemplateError | None
    until: float


class _Waiting(NamedTuple):
    """A template that waits for its trial, and for whom it is tried."""

    namespace: str
    files: Mapping[str, str]
    origin: str
    result: asyncio.Future[TemplateError | None]


class TeamTemplates:
    """Templates of teams for the reviews of their pods. Use it in the event loop.

    `follows` says whether the namespaces' store is up to date: only then is it remembered that there is no template.
    """

    def __init__(self, client: Client, follows: Callable[[], bool] = lambda: False) -> None:
        self._client = client
        self._follows = follows
        #: Requests for what the store does not know, by namespace.
        self._counts: Counter[str] = Counter()
        self._counted_until = 0.0
        #: Threads keep memory each for itself: one loads.
        self._loader = ThreadPoolExecutor(1, "team-templates")
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._loaded: Memo[_Result] = Memo(_LOADED_BYTES)
        self._flights: SingleFlight[str, Loaded] = SingleFlight()
        #: What is wrong with files that were tried, None where nothing is, by name and content.
        self._verdicts: Memo[_Verdict] = Memo(_VERDICTS_BYTES)
        self._waiting: dict[str, _Waiting] = {}
        self._trials: asyncio.Task[None] | None = None
        self._unswept = 0

    def known(self, snapshot: Snapshot, namespace: Namespace, names: Sequence[str]) -> Snapshot | None:
        """The snapshot with these of the namespace's templates; None where one has to be read first."""
        if not may_have_templates(namespace, snapshot.settings):
            return snapshot
        loaded: dict[str, Loaded] = dict.fromkeys(names)
        for name, key in self._keys(snapshot.settings, namespace, names):
            result, now = self._loaded.get(key), asyncio.get_running_loop().time()
            if result is None or result.until <= now:
                return None
            loaded[name] = result.loaded
        return extended(snapshot, namespace, loaded)

    async def read(self, snapshot: Snapshot, namespace: Namespace, names: Sequence[str], deadline: float) -> Snapshot:
        """What `known` gives, with all read anew that has to be, by `deadline` (of the event loop's clock).

        A ConfigMap that the namespace's store does not know yet is asked for as well. Raises InjectionError with
        NOT_READY where one cannot be read or tried in time.
        """
        if not may_have_templates(namespace, snapshot.settings):
            return snapshot
        keys = dict(self._keys(snapshot.settings, namespace, names))
        calls = [
            self._flights.do(key, partial(self._load, snapshot.settings, namespace, name, key))
            for name, key in keys.items()
        ]
        try:
            async with asyncio.timeout_at(deadline):
                loaded = await asyncio.gather(*calls)
        except (ApiError, OSError) as error:  # TimeoutError is one
            message = f"the namespace's templates could not be read: {str(error) or 'not in time'}"
            raise InjectionError(Reason.NOT_READY, message, fields={"templates": list(names)}) from None
        return extended(snapshot, namespace, {**dict.fromkeys(names), **dict(zip(keys, loaded, strict=True))})

    async def replay(self, snapshot: Snapshot, pod: Object, namespace: Namespace) -> Injection:
        """What a pod gets that is created now; no sidecar where a template of its team cannot be read at the moment."""
        with suppress(InjectionError):
            deadline = asyncio.get_running_loop().time() + _REPLAY_SECONDS
            snapshot = await self.read(snapshot, namespace, team_names(pod, snapshot.settings), deadline)
        return inject(pod, namespace, snapshot)

    async def mistake(
        self, name: str, obj: Object, settings: Settings, most: int = _WAITING_OF_ONE
    ) -> TemplateError | None:
        """What is wrong with a ConfigMap that is to be a template; nothing of it is loaded here.

        Raises OSError where it cannot be tried; `most` of a namespace may wait for that.
        """
        origin = f"configmap/{mapping_at(obj, 'metadata').get('namespace')}/{name}"
        try:
            return await self._verdict(name, bounded_files(name, obj, settings, origin), origin, most)
        except TemplateError as error:
            return error

    def _keys(self, settings: Settings, namespace: Namespace, names: Sequence[str]) -> Iterator[tuple[str, str]]:
        """Each name that counts, with what its version is remembered by, under these settings.

        That one is not there is remembered by the versions that the store knows, as long as it follows: what appears
        changes them. Who writes more than count makes no work by them.
        """
        most, versions = settings.team_templates.limits.bytes, dict(namespace.team_templates)
        unknown = f"{self._follows()} {hash(namespace.team_templates)}"
        for name in filter(counting_names(settings, namespace), names):
            yield name, f"{namespace.name}/{name} {versions.get(name, unknown)} {most}"

    async def _load(self, settings: Settings, namespace: Namespace, name: str, key: str) -> Loaded:
        stored, follows = name in dict(namespace.team_templates), self._follows()
        now = asyncio.get_running_loop().time()
        if now >= self._counted_until:
            self._counted_until = now + _MISSING_SECONDS
            self._counts.clear()
        self._counts[namespace.name] += not stored
        if not stored and self._counts[namespace.name] > _ASKED_OF_ONE:
            raise OSError("too many were asked for that are not there")
        obj = await self._client.find(f"/api/v1/namespaces/{namespace.name}/configmaps/{name}")
        loaded: Loaded = None
        if obj and is_template_map(obj, settings):
            most = _WAITING_OF_ONE + settings.team_templates.limits.templates
            loaded = await self.mistake(name, obj, settings, most)
            loaded = loaded or await self._loaded_from(namespace.name, name, template_files(obj, settings))
        if stored:
            self._remember(key, _Result(loaded, _until(loaded)), _OVERHEAD + _memory_of(loaded))
        elif obj is None and follows:
            self._remember(key, _Result(None, now + _MISSING_SECONDS), _VERDICT)
        return loaded

    def _remember(self, key: str, result: _Result, size: int) -> None:
        self._loaded.drop(key)
        self._loaded.put(key, result, min(size, _LOADED_BYTES // 5))  # one is remembered however large it is
        self._unswept += size
        if self._unswept > _LOADED_BYTES:  # what has made room is in cycles, and the server's collector looks seldom
            self._unswept = 0
            gc.collect()

    async def _loaded_from(self, namespace: str, name: str, files: Mapping[str, str]) -> Template | TemplateError:
        """The template of files that were tried; of a namespace one is loaded at a time."""
        origin, loop = f"configmap/{namespace}/{name}", asyncio.get_running_loop()
        async with self._turns.setdefault(namespace, asyncio.Lock()):
            try:
                return await loop.run_in_executor(self._loader, load_team_template, name, files, origin)
            except Exception as error:  # such as one that is nested as deeply as its trial just bears
                return TemplateError(name, f"it was not loaded ({type(error).__name__})", rule="limit", origin=origin)

    async def _verdict(self, name: str, files: Mapping[str, str], origin: str, most: int) -> TemplateError | None:
        """What is wrong with a template's files, by a trial in a process of its own; None where nothing is.

        Raises OSError where none can be had: no process starts, or too many wait for one.
        """
        # a pin leaves out the metadata, and what is wrong with that is wrong in one namespace alone
        key, namespace = f"{name} {content_digest(files)} {files.get(METADATA, '')}", origin.rpartition("/")[0]
        verdict = self._verdicts.get(key)
        if verdict is not None and verdict.until > asyncio.get_running_loop().time():
            return verdict.mistake
        if key not in self._waiting:
            of_namespace = sum(other.namespace == namespace for other in self._waiting.values())
            if of_namespace >= most or len(self._waiting) >= _WAITING:
                raise TimeoutError("too many templates wait for their trial")
            self._waiting[key] = _Waiting(
                namespace, files, f"configmap/{name}", asyncio.get_running_loop().create_future()
            )
        result = self._waiting[key].result
        if self._trials is None or self._trials.done():
            self._trials = asyncio.get_running_loop().create_task(self._try_waiting())
        return await asyncio.shield(result)

    async def _try_waiting(self) -> None:
        while self._waiting:
            batch = self._next_batch()
            # teams share names
            numbered = {f"{TEAM}t{number}": waiting for number, waiting in enumerate(batch.values())}
            sources = {number: waiting.files for number, waiting in numbered.items()}
            origins = {number: waiting.origin for number, waiting in numbered.items()}
            mistakes: Mapping[str, TemplateError] | OSError
            try:
                mistakes = await asyncio.to_thread(try_templates, sources, origins)
            except Exception as error:
                mistakes = OSError(f"the trial could not be made ({type(error).__name__})")
            for key, number in zip(batch, numbered, strict=True):
                result = self._waiting.pop(key).result
                if isinstance(mistakes, OSError):
                    result.set_exception(mistakes)
                    continue
                mistake = mistakes.get(number)
                self._verdicts.drop(key)
                self._verdicts.put(key, _Verdict(mistake, _until(mistake)), _VERDICT + _memory_of(mistake))
                result.set_result(mistake)

    def _next_batch(self) -> dict[str, _Waiting]:
        """What has waited longest; one of each namespace where several wait, so that none holds up the others."""
        first: dict[str, str] = {}
        for key, waiting in self._waiting.items():
            first.setdefault(waiting.namespace, key)
        keys = first.values() if len(first) > 1 else self._waiting
        return {key: self._waiting[key] for key in list(keys)[:_AT_ONCE]}


def _until(loaded: Loaded) -> float:
    """How long a result is good: that a limit was reached may have had a reason outside of the template."""
    passing = isinstance(loaded, TemplateError) and loaded.rule == "limit"
    return asyncio.get_running_loop().time() + (_RETRY_SECONDS if passing else math.inf)


def bounded_files(name: str, obj: Object, settings: Settings, origin: str) -> dict[str, str]:
    """The files of a ConfigMap that is a template of a team. Raises TemplateError where they are too large."""
    files, most = template_files(obj, settings), settings.team_templates.limits.bytes
    if (size := size_of(files)) > most:
        message = f"its files are {size} bytes long; a team's template has at most {most} (`teamTemplates.limits`)"
        raise TemplateError(name, message, rule="file", origin=origin)
    return files


def _memory_of(loaded: Loaded) -> int:
    """About how many bytes a template takes beside its own objects, or what is wrong with one."""
    if isinstance(loaded, Template):
        return _GROWTH * size_of(loaded.sources)
    return sum(_MISTAKE + len(repr(mistake)) for mistake in loaded.diagnostics) if loaded else 0


def size_of(files: Mapping[str, str]) -> int:
    """The bytes of a template's files."""
    return sum(len(text.encode("utf-8", "surrogatepass")) for text in files.values())
