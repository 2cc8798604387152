"""What is to be said of a live pod's sidecars, and which pods lack theirs as the injector was not called.

`state_of` says it for `list`, `explain`, `rollout` and `repair`. What counts is what a pod's containers lack, as its
owner can change its annotations. A pod is not missing its sidecar because of an outage if its namespace was labelled
later, if its opt-out has ended, or if the settings are newer: when these were written stands in
`metadata.managedFields`. `repair` leaves those alone for good that were once seen to be rightly without a sidecar.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterable, Iterator
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Final, Literal, NamedTuple

from injector.cluster.api_error import own_result
from injector.cluster.client import Client
from injector.cluster.installation import INSTALLATION
from injector.cluster.rollout.plan import LEFT_ALONE, AffectedWorkload, grouped
from injector.cluster.rollout.steps import NewPod, next_pod
from injector.cluster.template_maps import last_change
from injector.diagnostics import Diagnostic, Key
from injector.injection import Injection
from injector.pods.conformance import lacks_parts, parts_of_containers
from injector.pods.context import Namespace, Object, Request, filled, mapping, mapping_at, mappings_at, string_field
from injector.pods.decision import decide
from injector.pods.fields import CONTAINER_LISTS
from injector.pods.receipt import Receipt, read_receipt
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
#: Labels of which each pod of a StatefulSet has its own value.
_OF_EACH = ("statefulset.kubernetes.io/pod-name", "apps.kubernetes.io/pod-index")


# ------------------------------------------------------------------------------------------------ the state of a pod

#: What is to be said of a pod's sidecars. `not-needed`: it has none, and should have none.
State = Literal["current", "outdated", "changed", "failed", "missing", "not-needed"]
#: The code of the cause that `repair` mends.
NOT_CALLED: Final = "injector-not-called"
_OUTAGE = (NOT_CALLED, "", "the injector was not called")


class PodState(NamedTuple):
    """The state, and what makes it so; a note changes nothing."""

    state: State
    causes: tuple[Diagnostic, ...] = ()

    @property
    def why(self) -> str:
        """The causes, as one sentence."""
        return "; ".join(cause.message for cause in self.causes)


class Expected(NamedTuple):
    """What a pod that is created now gets: the effect, the reason, and keyed pointers of what is added, by which a pod
    is known that has it; None for an injection that defines no container: then the mark alone tells.
    """

    effect: Effect
    reason: str
    parts: Collection[str] | None

    @classmethod
    def of(cls, replay: Injection, settings: Settings) -> Expected:
        """That of an injection."""
        receipt = read_receipt(replay.object, settings)
        parts = parts_of_containers(receipt) if receipt and any(each.containers for each in replay.applied) else None
        return cls(replay.effect, str(replay.reason), parts)

    def is_lacked_by(self, pod: Object) -> bool:
        """Whether a pod without a mark lacks it."""
        return self.parts is None or lacks_parts(pod, self.parts)


class Changes(NamedTuple):
    """When what a namespace asks for, and the injector's settings, were last changed; "" where nobody noted it."""

    namespace: str = ""
    settings: str = ""


def state_of(
    pod: Object,
    settings: Settings,
    expected: Callable[[], Expected],
    changes: Callable[[], Changes] = Changes,
    compared: Callable[[Receipt], Iterable[Diagnostic]] = lambda _: (),
) -> PodState:
    """The state of a live pod. `compared` tells what a pod with such a receipt would have otherwise now: warnings make
    it outdated.
    """
    annotations, receipt = string_map(pod, "annotations"), read_receipt(pod, settings)
    mark = annotations.get(settings.status_key)
    marked = receipt is not None and mark == "injected"
    if marked and receipt and not _lacks_claimed(pod, receipt, expected):
        differences, changed = tuple(compared(receipt)), tuple(_changed_images(pod, receipt))
        state: State = "changed" if changed else "current"
        if any(each.severity == "warning" for each in differences):
            state = "outdated"
        return PodState(state, (*differences, *changed))
    new = expected()
    if mark == "failed" and new.is_lacked_by(pod):
        reason = annotations.get(settings.reason_key, "")
        return PodState("failed", (Diagnostic("failed", "warning", reason),))
    if new.effect is Effect.SKIP:
        return PodState("not-needed", (Diagnostic(new.reason, "note", new.reason),))
    if not new.is_lacked_by(pod):
        return PodState("current")
    return PodState("missing", (_why_missing(pod, new, changes(), settings, marked=marked),))


def _lacks_claimed(pod: Object, receipt: Receipt, expected: Callable[[], Expected]) -> bool:
    """Whether a pod lacks a container of its receipt; of one that names none, what the pod would get now tells."""
    return lacks_parts(pod, parts_of_containers(receipt) or expected().parts or ())


def _why_missing(pod: Object, new: Expected, changes: Changes, settings: Settings, *, marked: bool) -> Diagnostic:
    """Why a pod lacks what it would get now: what asks for it may be younger than the pod."""
    created, key = string_field(pod["metadata"].get("creationTimestamp")), f"f:{settings.inject_key}"
    own = max(last_change(pod, ("f:metadata", kind, key)) for kind in ("f:annotations", "f:labels"))
    if own and datetime.fromisoformat(own) <= datetime.fromisoformat(created) + _CREATION:
        own = ""
    younger = (
        ("choice-later", own, f"{settings.inject_key} was set when the pod was there"),
        ("namespace-later", changes.namespace, "what its namespace asks for is not older than the pod"),
        ("settings-later", changes.settings, "the settings are not older than the pod"),
    )
    code, at, cause = next((each for each in younger if each[1] and created <= each[1]), _OUTAGE)
    if marked:
        code, at, cause = "marks-alone", "", "its annotations say that it has sidecars, and its containers do not"
    message = f"{cause}{f' ({at})' if at else ''}; the result for a pod created now: {new.reason}"
    return Diagnostic(code, "warning", message, fields=filled({"at": at, "result": new.reason}))


def _changed_images(pod: Object, receipt: Receipt) -> Iterator[Diagnostic]:
    """The injected containers whose image is not that with which the pod was created: who changes it takes it over in
    `managedFields` from who wrote the container.
    """
    for field in CONTAINER_LISTS:
        for name in sorted(receipt.containers):
            item = ("f:spec", f"f:{field}", f'k:{{"name":"{name}"}}')
            writers = [(entry, _managed(entry, item)) for entry in mappings_at(pod["metadata"], "managedFields")]
            writers = [(entry, fields) for entry, fields in writers if "f:image" in fields]
            if writers and not any("f:imagePullPolicy" in fields for _, fields in writers):
                by, at = (string_field(writers[0][0].get(key)) for key in ("manager", "time"))
                message = f"the image of {name} was changed by {by} at {at}"
                path = ("spec", field, Key(name), "image")
                fields = {"container": name, "by": by, "at": at}
                yield Diagnostic("image-changed", "warning", message, path=path, fields=fields)


def _managed(entry: Object, steps: Iterable[str]) -> Object:
    fields = mapping_at(entry, "fieldsV1")
    for step in steps:
        fields = mapping(fields.get(step))
    return fields


def alike(pod: Object, namespace: Namespace, settings: Settings) -> str:
    """A digest of what pods have in common that get the same: their controller, labels, and the injector's annotations,
    which may be long.
    """
    metadata = pod["metadata"]
    labels = {key: value for key, value in string_map(pod, "labels").items() if key not in _OF_EACH}
    texts = {k: v for k, v in string_map(pod, "annotations").items() if settings.prefix in k.partition("/")[0]}
    texts.pop(settings.receipt_key, None)
    common = repr((namespace.name, controller_of(metadata) or metadata["name"], labels, texts))
    return sha256(common.encode()).hexdigest()


def namespace_change(space: Object, settings: Settings) -> str:
    """When what a namespace asks of the injector was last changed, by its object."""
    label, annotation = f"f:{settings.namespace_label.key}", f"f:{settings.templates_key}"
    fields = (("f:metadata", "f:labels", label), ("f:metadata", "f:annotations", annotation))
    return max(last_change(space, field) for field in fields)


# ------------------------------------------------------------------------------------------------ after an outage


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
                state = _RIGHTLY if metadata["uid"] in self._rightly else await look.state(pod, namespace)
                if state.state == "not-needed":
                    rightly.add(metadata["uid"])
                elif state.causes and state.causes[0].code == NOT_CALLED and is_called(configuration, namespace, pod):
                    created, name = metadata["creationTimestamp"], metadata["name"]
                    rows.append((namespace.name, workload, state.state, name, created, state.why))
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


#: By what pods have in common: for how many more looks it holds, and what such a pod lacks of what it gets now.
_Verdicts = dict[str, tuple[int, Expected]]
#: Of a pod that rightly has no sidecar, and of one that is not looked at yet, or that a new one would help nothing.
_RIGHTLY, _LEFT = PodState("not-needed"), PodState("missing")


class _Look:
    """One look at all pods, with what it has found out on its way."""

    def __init__(
        self, client: Client, settings: Settings, settings_change: str, replay: Replay, verdicts: _Verdicts
    ) -> None:
        self.settings = settings
        self._client, self._settings_change, self._replay, self._verdicts = client, settings_change, replay, verdicts
        self._reads = Counter[str]()  # by namespace
        self._spaces: dict[str, str] = {}

    async def state(self, pod: Object, namespace: Namespace) -> PodState:
        """The state of a pod that is given by its metadata.

        Pods that are alike are judged by one of them, which is read whole. A look reads some pods of a namespace, so
        that nobody can have it read thousands; the next one goes on.
        """
        if not decide(pod, namespace, self.settings, Request()).inject:
            return _RIGHTLY
        key = alike(pod, namespace, self.settings)
        if key not in self._verdicts:
            if self._reads[namespace.name] >= _READS:
                return _LEFT
            self._reads[namespace.name] += 1
            whole = await self._client.find(f"/api/v1/namespaces/{namespace.name}/pods/{pod['metadata']['name']}")
            if whole is None:  # it is gone
                return _RIGHTLY
            new = Expected.of(await self._replay(whole, namespace), self.settings)
            lacked = new.is_lacked_by(whole)
            mends = lacked and new.effect is Effect.INJECT
            # of the parts no more is kept than whether they are there
            new = new._replace(parts=None if lacked else ())
            self._verdicts[key] = _LOOKS if mends else int(new.effect is not Effect.SKIP), new
        new = self._verdicts[key][1]
        if new.effect not in (Effect.INJECT, Effect.SKIP):
            return _LEFT
        changes = Changes(await self._namespace_change(namespace.name), self._settings_change)
        return state_of(pod, self.settings, lambda: new, lambda: changes)

    async def _namespace_change(self, name: str) -> str:
        if name not in self._spaces:
            space = await self._client.get(f"/api/v1/namespaces/{name}")
            self._spaces[name] = namespace_change(space, self.settings)
        return self._spaces[name]
