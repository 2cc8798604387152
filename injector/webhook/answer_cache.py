"""The cache of answers: the pods of one ReplicaSet cost one injection.

An answer is a pure function of the snapshot, the namespace, and the pod less what the API server makes up for each
one: the random suffix of its token volume, and the second in which its fields were written. The key is a digest, so
that a large pod does not stay in memory.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections import OrderedDict
from dataclasses import dataclass

from injector.cluster.tasks import remember
from injector.pods.context import Namespace
from injector.pods.delivery import GeneratedConfigMap
from injector.telemetry import Cell, Metrics
from injector.templates.snapshot import Snapshot
from injector.webhook.record import FailureEvent

#: What the ServiceAccount admission plugin names a pod's token volume: this and five random characters.
_TOKEN_VOLUME = b'"name":"kube-api-access-'
_SUFFIX_LENGTH = 5
#: `metadata.managedFields[].time`, RFC 3339 to the second; a pod has one manager when it is created.
_MANAGED_FIELDS = b'"managedFields":['
_TIME = b'"time":"'
_TIME_LENGTH = 20
_SECOND = re.compile(rb"[-:T0-9]{19}Z")
#: What an entry takes besides its bytes: objects, digest, table slot.
_OVERHEAD = 900
#: A namespace's token is remembered for this many namespaces at once.
_NAMESPACES = 20_000


#: A digest, and the parts of the pod that it leaves out.
CacheKey = tuple[bytes, tuple[bytes, ...]]


@dataclass(slots=True)
class Answer:
    """An answer without version and uid, its log line without what differs from review to review, and its counters.

    `files` must exist before the answer is given. `event` is what to report if the answer is a failure. The answer is
    good until `until` (time.perf_counter).
    """

    tail: bytes
    line: bytes
    cells: tuple[Cell, ...]
    files: tuple[GeneratedConfigMap, ...] = ()
    event: FailureEvent | None = None
    until: float = math.inf

    @property
    def size(self) -> int:
        """About how many bytes it takes in memory."""
        data = sum(len(k) + len(v) + 100 for f in self.files for k, v in f.data.items())
        event = len(self.event.note) + _OVERHEAD if self.event else 0
        return _OVERHEAD + len(self.tail) + len(self.line) + data + event


class AnswerCache:
    """Answers of one snapshot by key, the longest unused dropped first, within `limit` bytes."""

    def __init__(self, limit: int, metrics: Metrics) -> None:
        self._limit = limit
        self._entries: OrderedDict[bytes, tuple[Answer, int]] = OrderedDict()
        self._namespaces: OrderedDict[str, tuple[Namespace, bytes]] = OrderedDict()
        self._serial = 0
        self._snapshot: Snapshot | None = None
        self._hits = metrics.cache.cell("hit")
        self._misses = metrics.cache.cell("miss")
        self._bytes = metrics.cache_bytes.cell()
        self.size = 0

    def __len__(self) -> int:
        return len(self._entries)

    def key(self, snapshot: Snapshot, namespace: Namespace, pod: bytes) -> CacheKey:
        """The key of a pod (its JSON) in a namespace. Another snapshot gives other answers: it drops all there are."""
        if snapshot is not self._snapshot:
            self.clear()
            self._snapshot = snapshot
        return key_of(self.token(namespace), pod)

    def get(self, key: CacheKey, now: float) -> Answer | None:
        """The answer of a key, if it is still good at `now`. From then on it is the last one to be dropped."""
        entry = self._entries.get(key[0])
        if entry is None or entry[0].until <= now:
            self._misses.value += 1
            return None
        self._hits.value += 1
        self._entries.move_to_end(key[0])
        return entry[0]

    def keep(self, snapshot: Snapshot, key: CacheKey, answer: Answer, patch: bytes) -> None:
        """Keep an answer (with its patch as plain JSON) if it is good for every pod of this key."""
        if snapshot is self._snapshot and self.may_be_kept(key[1], patch, answer):
            self.put(key[0], answer)
            self._bytes.value = self.size

    def may_be_kept(self, volatile: tuple[bytes, ...], patch: bytes, answer: Answer) -> bool:
        """Whether an answer, and its patch as plain JSON, hold nothing of what the key leaves out."""
        texts = (text for file in answer.files for text in (file.name, *file.data.values()))
        made = b"\0".join((patch, answer.tail, answer.line, *(text.encode(errors="replace") for text in texts)))
        return not any(part in made for part in volatile)

    def forget(self) -> None:
        """Give no answer again that was given before: seals are made with another key now."""
        self._snapshot = None

    def put(self, key: bytes, entry: Answer) -> None:
        """Keep an entry, dropping others until it fits; one larger than an eighth of the cache is not kept."""
        size = entry.size
        if size > self._limit // 8:
            return
        before = self._entries.pop(key, None)
        if before is not None:
            self.size -= before[1]
        self._entries[key] = (entry, size)
        self.size += size
        while self.size > self._limit:
            self.size -= self._entries.popitem(last=False)[1][1]

    def clear(self) -> None:
        """Drop everything."""
        self._entries.clear()
        self.size = 0

    def token(self, namespace: Namespace) -> bytes:
        """Stands for exactly this namespace object in a key; a changed namespace is another object, another token."""
        entry = self._namespaces.get(namespace.name)
        if entry is not None and entry[0] is namespace:
            return entry[1]
        self._serial += 1
        token = b"%d\0" % self._serial
        remember(self._namespaces, namespace.name, (namespace, token), _NAMESPACES)
        return token


def key_of(token: bytes, pod: bytes) -> CacheKey:
    """The key for a pod's JSON as the API server writes it, and the parts of it that the key leaves out.

    What stands in for them cannot occur in JSON, so no other pod has the same key.
    """
    volatile: tuple[bytes, ...] = ()
    start = pod.find(_TOKEN_VOLUME) + len(_TOKEN_VOLUME)
    end = start + _SUFFIX_LENGTH
    if start >= len(_TOKEN_VOLUME) and pod[end : end + 1] == b'"' and (suffix := pod[start:end]).isalnum():
        volatile = (suffix,)
        pod = pod.replace(pod[start - 16 : end], b"\0")
    digest = hashlib.sha256(token)
    fields = pod.find(_MANAGED_FIELDS)
    if fields >= 0:
        start = pod.find(_TIME, fields, fields + 400) + len(_TIME)
        end = start + _TIME_LENGTH
        if start > fields and _SECOND.fullmatch(pod, start, end):
            volatile = (*volatile, pod[start:end])
            digest.update(pod[:start])
            digest.update(b"\0")
            pod = pod[end:]
    digest.update(pod)
    return digest.digest()[:16], volatile
