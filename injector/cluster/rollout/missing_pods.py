"""Which pods lack the sidecars that they would have, had the injector been called when they were created.

What counts is what its containers lack, as its owner can change its annotations. Not missing is what a pod rightly
lacks: a namespace that was labelled later, an opt-out that has ended, or settings
that are newer than the pod restart nothing. When these were written stands in `metadata.managedFields`, and who was
once seen to be rightly without a sidecar is left alone for good.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Collection
from datetime import datetime, timedelta
from typing import NamedTuple

from injector.cluster.api_error import own_result
from injector.cluster.client import Client
from injector.cluster.installation import INSTALLATION
from injector.cluster.rollout.plan import LEFT_ALONE, AffectedWorkload, grouped
from injector.cluster.rollout.steps import NewPod, next_pod
from injector.cluster.template_maps import last_change
from injector.injection import Injection
from injector.pods.conformance import lacks_parts
from injector.pods.context import Namespace, Object, Request, mappings_at, string_field
from injector.pods.decision import decide
from injector.pods.receipt import read_receipt
from injector.pods.selectors import matches
from injector.pods.shape import string_map
from injector.pods.workloads import controller_of, workload_of_pod
from injector.reasons import Effect
from injector.settings import SETTINGS_KEY, Settings

#: What a pod gets that is created now.
Replay = Callable[[Object, Namespace], Awaitable[Injection]]

#: Pods on one page of the list: a pod's metadata has some KiB of JSON, and in memory several times as much.
_PAGE = 100
#: Pods of a namespace that one look reads whole; looks after which one is read again.
_READS, _LOOKS = 20, 10
#: Pods that still run.
RUNNING = {"fieldSelector": "status.phase!=Succeeded,status.phase!=Failed"}
#: The controller of a pod writes its annotations as it creates it, and the clock may tick meanwhile.
_CREATION = timedelta(seconds=1)


def is_called(configuration: Object, namespace: Namespace, pod: Object) -> bool:
    """Whether the API server asks an entry of a MutatingWebhookConfiguration about a pod, by its selectors.

    https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/#matching-requests-namespaceselector
    """
    labels = string_map(pod, "labels")
    return any(
        matches(entry.get("namespaceSelector") or {}, namespace.labels)
        and matches(entry.get("objectSelector") or {}, labels)
        for entry in mappings_at(configuration, "webhooks")
        if any("pods" in rule.get("resources", ()) for rule in mappings_at(entry, "rules"))
    )


def injected_parts(replay: Injection, settings: Settings) -> Collection[str] | None:
    """Keyed pointers of all that an injection adds, by which a pod is known that has it; None for one that defines no
    container: then the mark alone tells.
    """
    receipt = read_receipt(replay.object, settings)
    return receipt.added if receipt and any(applied.containers for applied in replay.applied) else None


class MissingPods:
    """Looks for them. `own` is the injector's namespace; `namespace_of`, `settings_now` and `replay` tell what the
    server knows and uses at that moment.
    """

    def __init__(
        self,
        client: Client,
        own: str,
        namespace_of: Callable[[str], Namespace | None],
        settings_now: Callable[[], Settings],
        replay: Replay,
    ) -> None:
        self._client, self._own = client, own
        self._namespace_of, self._settings_now, self._replay = namespace_of, settings_now, replay
        self._rightly: set[str] = set()  # pods by uid that were seen to need no sidecar
        self._verdicts: _Verdicts = {}

    async def find(self, configuration: Object) -> list[AffectedWorkload]:
        """The workloads of such pods. `configuration` is the injector's MutatingWebhookConfiguration.

        Raises ApiError, and then nothing is forgotten.
        """
        look = _Look(self._client, self._settings_now(), await self._settings_change(), self._replay, self._verdicts)
        rows, rightly = [], set[str]()
        async for pod in self._bare_pods(look.settings):
            metadata, workload = pod["metadata"], workload_of_pod(pod)
            namespace = self._namespace_of(metadata["namespace"])
            if namespace is None or workload.kind in LEFT_ALONE:
                continue
            with own_result("pod-not-judged", namespace=namespace.name, pod=metadata["name"]):
                verdict = None if metadata["uid"] in self._rightly else await look.verdict(pod, namespace)
                if verdict is None:
                    rightly.add(metadata["uid"])
                elif verdict.injects and is_called(configuration, namespace, pod) and await look.is_younger(pod):
                    cause = f"the injector was not called; the result for a pod created now: {verdict.reason}"
                    rows.append(
                        (namespace.name, workload, "missing", metadata["name"], metadata["creationTimestamp"], cause)
                    )
        self._rightly = rightly
        self._verdicts = {key: (looks - 1, verdict) for key, (looks, verdict) in self._verdicts.items() if looks}
        return list(grouped(rows))

    async def has_sidecar(self, pod: Object, namespace: Namespace) -> bool:
        """Whether a pod has, in its containers, what a pod like it gets now."""
        settings = self._settings_now()
        replay = await self._replay(next_pod({}, pod, settings), namespace)
        new_pod = NewPod(read_receipt(replay.object, settings))
        return replay.effect is Effect.INJECT and not new_pod.lacks(pod, settings)

    async def _bare_pods(self, settings: Settings) -> AsyncIterator[Object]:
        """The metadata of pods that run without a mark."""
        page: str | None = ""
        while page is not None:
            listing = await self._client.list("/api/v1/pods", RUNNING, page=page, limit=_PAGE, metadata_only=True)
            page = listing.metadata.next_page or None
            for pod in listing.items or ():
                marked = settings.status_key in string_map(pod, "annotations")
                if not marked and "deletionTimestamp" not in pod["metadata"]:
                    yield pod
            del listing  # it is gone before the next one comes

    async def _settings_change(self) -> str:
        """When the settings were last changed; "" where nobody noted it."""
        path = f"/api/v1/namespaces/{self._own}/configmaps"
        maps = await self._client.list(path, {"labelSelector": INSTALLATION}, metadata_only=True)
        return max((last_change(each, ("f:data", f"f:{SETTINGS_KEY}")) for each in maps.items or ()), default="")


class _Verdict(NamedTuple):
    """Whether a pod that is created now gets sidecars that a pod lacks, and why."""

    injects: bool
    reason: str


#: By owner: for how many more looks it holds, and the verdict.
_Verdicts = dict[str, tuple[int, _Verdict | None]]
_UNKNOWN = _Verdict(injects=False, reason="")


class _Look:
    """One look at all pods, with what it has found out on its way."""

    def __init__(
        self, client: Client, settings: Settings, settings_change: str, replay: Replay, verdicts: _Verdicts
    ) -> None:
        self.settings = settings
        self._client, self._settings_change, self._replay, self._verdicts = client, settings_change, replay, verdicts
        self._reads = Counter[str]()  # by namespace
        self._spaces: dict[str, str] = {}

    async def verdict(self, pod: Object, namespace: Namespace) -> _Verdict | None:
        """What is to be said of a pod that is given by its metadata; None if it rightly has no sidecar.

        Pods of one owner are judged by one of them, which is read whole. A look reads some pods of a namespace, so
        that nobody can have it read thousands; the next one goes on.
        """
        if not decide(pod, namespace, self.settings, Request()).inject:
            return None
        metadata = pod["metadata"]
        key = repr((namespace.name, controller_of(metadata)))
        if key not in self._verdicts:
            if self._reads[namespace.name] >= _READS:
                return _UNKNOWN
            self._reads[namespace.name] += 1
            whole = await self._client.find(f"/api/v1/namespaces/{namespace.name}/pods/{metadata['name']}")
            if whole is None:  # it is gone
                return None
            replay = await self._replay(whole, namespace)
            parts = injected_parts(replay, self.settings)
            injects = replay.effect is Effect.INJECT and (parts is None or lacks_parts(whole, parts))
            verdict = None if replay.effect is Effect.SKIP else _Verdict(injects, str(replay.reason))
            self._verdicts[key] = _LOOKS if injects else int(verdict is not None), verdict
        return self._verdicts[key][1]

    async def is_younger(self, pod: Object) -> bool:
        """Whether a pod is younger than all that asks for its sidecar: settings, namespace, its own annotation."""
        metadata, key = pod["metadata"], f"f:{self.settings.inject_key}"
        created = string_field(metadata.get("creationTimestamp"))
        own = max(last_change(pod, ("f:metadata", kind, key)) for kind in ("f:annotations", "f:labels"))
        if own and datetime.fromisoformat(own) > datetime.fromisoformat(created) + _CREATION:
            return False
        return created > max(self._settings_change, await self._namespace_change(metadata["namespace"]))

    async def _namespace_change(self, name: str) -> str:
        """When what a namespace asks of the injector was last changed."""
        if name not in self._spaces:
            space = await self._client.get(f"/api/v1/namespaces/{name}")
            label, annotation = f"f:{self.settings.namespace_label.key}", f"f:{self.settings.templates_key}"
            fields = (("f:metadata", "f:labels", label), ("f:metadata", "f:annotations", annotation))
            self._spaces[name] = max(last_change(space, field) for field in fields)
        return self._spaces[name]
