"""Which pods of a cluster have which templates at which version, which lack them, and how to bring them up to date.

And controllers that wait to create pods again, as the injector did not answer.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, NamedTuple

from injector.cli.injection_sources import Sources
from injector.cli.report import counted
from injector.cluster.blocking_client import BlockingClient, ClusterError
from injector.cluster.namespaces import namespace_of
from injector.cluster.retries import FAILED_CREATE, RefusedCreation, events_path, missing_pods, refused_creation
from injector.cluster.rollout.marked_workload import is_live
from injector.cluster.rollout.plan import LEFT_ALONE
from injector.cluster.rollout.pod_states import Changes, Expected, State, alike, state_of
from injector.diagnostics import Diagnostic
from injector.errors import InjectionError
from injector.inject import inject
from injector.names import TEAM
from injector.pods.context import Namespace, Object, Request, Workload, filled, string_field
from injector.pods.decision import decide, is_required
from injector.pods.receipt import Receipt, read_receipt, take_off
from injector.pods.shape import string_map
from injector.pods.workloads import workload_of_pod
from injector.templates.choice import choose, template_for
from injector.templates.parameter_schema import declared_parameter
from injector.templates.parameter_values import value_digest
from injector.templates.parameters import resolve
from injector.templates.snapshot import Snapshot
from injector.templates.template import UNSET, Template

#: Kinds that kubectl can restart: https://kubernetes.io/docs/reference/kubectl/generated/kubectl_rollout/.
_RESTARTED = ("Deployment", "StatefulSet", "DaemonSet")
#: Codes of causes that lie in a template, not in what settings or namespaces say.
_OF_TEMPLATES = ("template-changed", "template-gone")


@dataclass(frozen=True, slots=True)
class Row:
    """One pod: its templates with the digests that its receipt has, and why it is in that state. `versions` are the
    names of next versions by the templates' names.

    `causes` are what makes it outdated, and `since` is when the first of these came about; `created` is the pod's own
    time. Both are empty where they are not known.
    """

    namespace: str
    pod: str
    state: State
    workload: Workload
    templates: dict[str, str]
    why: str = ""
    causes: tuple[Diagnostic, ...] = ()
    since: str = ""
    created: str = ""
    versions: dict[str, str] = field(default_factory=dict)

    def as_data(self) -> Object:
        """For a program; keys are stable."""
        return {
            "namespace": self.namespace,
            "pod": self.pod,
            "state": self.state,
            "workload": f"{self.workload.kind.lower()}/{self.workload.name}",
            "templates": self.templates,
        } | filled(
            {
                "versions": self.versions,
                "why": self.why,
                "causes": [{"code": cause.code, **cause.fields} for cause in self.causes],
                "since": self.since,
            }
        )


class ChangeTimes(NamedTuple):
    """The last changes: of templates, of namespaces' annotations and of what these ask for by name, and of the
    settings; "" if not known.
    """

    templates: Mapping[str, str] = {}
    namespaces: Mapping[str, str] = {}
    settings: str = ""
    asked: Mapping[str, str] = {}

    def dated(self, row: Row) -> Row:
        """The row with the time of the first of its causes; a change before the pod was created is none of them."""
        given = max(self.settings, self.namespaces.get(row.namespace, ""))
        times = (
            self.templates.get(cause.fields["template"], "") if cause.code in _OF_TEMPLATES else given
            for cause in row.causes
        )
        return replace(row, since=min((time for time in times if time and time >= row.created), default=""))


class Fleet:
    """Looks at one pod after the other; replicas that are alike are judged once.

    `settings_known`: the snapshot's settings are the injector's, and so say what it would give a pod now. `times` is
    called once, when it is needed.
    """

    def __init__(
        self, sources: Sources, *, settings_known: bool = True, times: Callable[[], ChangeTimes] = ChangeTimes
    ) -> None:
        self._sources, self.settings = sources, sources.settings
        self._settings_known = settings_known
        self._times = cache(times)
        self._expected: dict[str, Expected] = {}
        self._compared: dict[str, tuple[Diagnostic, ...]] = {}

    def row(self, pod: Object, namespace: Namespace) -> Row | None:
        """The pod's row; None for a pod that has no sidecars and should have none, or that has ended or is being
        deleted.
        """
        row = self.any_row(pod, namespace)
        return row if row and row.state != "not-needed" else None

    def any_row(self, pod: Object, namespace: Namespace) -> Row | None:
        """The pod's row, also of one that should have no sidecars; None for one that has ended or is being deleted."""
        metadata, settings = pod["metadata"], self._sources.settings
        if not is_live(pod):
            return None
        receipt, kind = read_receipt(pod, settings), alike(pod, namespace, settings)
        state = state_of(
            pod,
            settings,
            lambda: self._expected_once(kind, pod, namespace, receipt),
            lambda: Changes(self._times().asked.get(namespace.name, ""), self._times().settings),
            lambda receipt: self._compared_once(kind, pod, namespace, receipt),
        )
        row = Row(
            namespace.name,
            metadata["name"],
            state.state,
            workload_of_pod(pod),
            receipt.templates if receipt else {},
            state.why,
            tuple(cause for cause in state.causes if cause.severity == "warning"),
            created=string_field(metadata.get("creationTimestamp")),
            versions=receipt.versions if receipt else {},
        )
        return self._times().dated(row) if row.state == "outdated" else row

    def _expected_once(self, kind: str, pod: Object, namespace: Namespace, receipt: Receipt | None) -> Expected:
        """What a pod that is created now gets."""
        if kind not in self._expected:
            snapshot, namespace = self._sources.for_pod(pod, namespace)
            bare = take_off(pod, receipt, snapshot.settings)
            self._expected[kind] = Expected.of(inject(bare, namespace, snapshot), snapshot.settings)
        return self._expected[kind]

    def _compared_once(self, kind: str, pod: Object, namespace: Namespace, receipt: Receipt) -> tuple[Diagnostic, ...]:
        """What a pod that is created now would have otherwise.

        A note is about a template of a team that makes no difference for the pod: it is not read, or another is pinned.
        """
        key = repr((kind, receipt.templates, receipt.values, receipt.parameters, bool(receipt.mac)))
        if key not in self._compared:
            bare = take_off(pod, receipt, self._sources.settings)
            decision = decide(bare, namespace, self.settings, Request())
            if receipt.mac and self._settings_known and not decision.inject:
                message = f"a new pod gets no sidecar: {decision.reason}"
                self._compared[key] = (_cause("templates-changed", message, templates=[]),)
            else:
                self._compared[key] = tuple(self._changed(bare, namespace, receipt))
        return self._compared[key]

    def _changed(self, bare: Object, namespace: Namespace, receipt: Receipt) -> Iterator[Diagnostic]:
        snapshot, namespace = self._sources.for_pod(bare, namespace, receipt.templates)
        for name, digest in receipt.templates.items():
            template = template_for(name, bare, namespace, snapshot.catalog)
            pinned = name.startswith(TEAM) and f"{name}@" in string_map(bare, "annotations").get(
                snapshot.settings.templates_key, ""
            )
            if name in snapshot.catalog.refused or (pinned and template and template.digest != digest):
                why_not = snapshot.catalog.refused.get(
                    name, f"the pod pins another version of {name} than there is now"
                )
                yield Diagnostic("not-compared", "note", f"not compared: {why_not}")
            elif template is None:
                yield _cause("template-gone", f"there is no template {name} any more", template=name)
            elif template.digest != digest:
                yield _cause(
                    "template-changed", f"{template.own_name} now has version {template.digest}", template=name
                )
            elif receipt.values is not None and self._settings_known:
                for parameter in self._other_values(template, bare, namespace, receipt):
                    message = f"{name} now has another value of {parameter}"
                    yield _cause("parameter-changed", message, template=name, parameter=parameter)
        if receipt.mac and self._settings_known:  # else the command line may have named the templates
            yield from _other_templates(bare, namespace, receipt, snapshot)

    def _other_values(self, template: Template, bare: Object, namespace: Namespace, receipt: Receipt) -> Iterator[str]:
        """The parameters to which settings or the namespace give, or gave, another value than now."""
        settings, annotations = self._sources.settings, string_map(bare, "annotations")
        guarded = is_required(namespace, settings) and settings.required.pod_parameters == "ignore"
        try:
            resolved = resolve(template, annotations, namespace.annotations, settings, guarded=guarded)
        except InjectionError:  # a pod that is created now would have no sidecar
            return
        before = (receipt.values or {}).get(template.name, {})
        typed = (declared_parameter(template.parameters, name) for name in receipt.parameters.get(template.name, {}))
        given = {*before, *resolved.digests(template)}.difference(parameter.name for parameter in typed if parameter)
        for name in sorted(given & template.parameters.keys()):
            parameter = template.parameters[name]
            default = None if parameter.default is UNSET else parameter.default
            now = value_digest(resolved.values[parameter.variable])
            if now != before.get(name, value_digest(default)):
                yield name


def _other_templates(bare: Object, namespace: Namespace, receipt: Receipt, snapshot: Snapshot) -> Iterator[Diagnostic]:
    """Whether namespace, settings or selectors now choose other templates for the pod."""
    settings = snapshot.settings
    try:
        choice = choose(bare, namespace, settings, snapshot.catalog, required=is_required(namespace, settings))
    except InjectionError:  # a pod that is created now would have no sidecar
        return
    names = [template.name for template in choice.templates]
    if names != list(receipt.templates):
        yield _cause("templates-changed", f"a new pod gets {', '.join(names)}", templates=names)


def _cause(code: str, message: str, **fields: Any) -> Diagnostic:
    return Diagnostic(code, "warning", message, fields=fields)


def restarts(rows: Iterable[Row]) -> tuple[list[str], list[str]]:
    """How to give pods that are outdated or lack their sidecars new ones: commands, and sentences for the rest.

    A restart replaces pods a few at a time, as the workload's own update strategy allows; so do one and wait for it.
    """
    commands: dict[str, None] = {}
    sentences: dict[str, None] = {}
    for row in rows:
        if row.state not in ("outdated", "missing"):
            continue
        kind, name = row.workload.kind, row.workload.name
        if kind in _RESTARTED:
            target = f"{kind.lower()}/{name} -n {row.namespace}"
            commands[f"kubectl rollout restart {target} && kubectl rollout status {target}"] = None
        elif kind in LEFT_ALONE:
            sentences[f"{kind} {row.namespace}/{name}: {LEFT_ALONE[kind]}"] = None
        else:
            sentences[f"{kind} {row.namespace}/{name}: delete its pods, or restart it as its controller requires"] = (
                None
            )
    return list(commands), list(sentences)


def pods_of(live: BlockingClient, namespace: str, selector: str | None = None) -> Iterator[tuple[Object, Namespace]]:
    """The pods of a namespace, or of all (""), whose labels match, with their namespaces, a page at a time.

    Raises ClusterError.
    """
    if namespace:
        spaces, path = {namespace: live.namespace(namespace)}, f"/api/v1/namespaces/{namespace}/pods"
    else:
        spaces = {space.name: space for space in map(namespace_of, live.objects("/api/v1/namespaces"))}
        path = "/api/v1/pods"
    for pod in live.objects(path, filled({"labelSelector": selector})):
        space = spaces.get(pod["metadata"]["namespace"])
        if space is not None:  # else it is younger than the list of namespaces
            yield pod, space


class WaitingController(NamedTuple):
    """One of them, and how many pods it has still to create."""

    creation: RefusedCreation
    missing: int

    @property
    def words(self) -> str:
        """`ReplicaSet web-6d4cf56db6 (3 pods missing, refused at 12:03:04 UTC)`."""
        pods = counted(self.missing, "pod", "missing")
        return f"{self.creation.kind} {self.creation.name} ({pods}, refused at {self.creation.at:%H:%M:%S} UTC)"

    @property
    def command(self) -> str:
        """What has it try at once: any change of its object does, and this one is taken back."""
        creation = self.creation
        change = (
            f"kubectl annotate {creation.kind.lower()}/{creation.name} -n {creation.namespace} sidecar.injector/retry"
        )
        return f"{change}=now --overwrite && {change}-"

    def as_data(self) -> Object:
        """For a program; keys are stable."""
        creation = self.creation
        return {
            "namespace": creation.namespace,
            "controller": f"{creation.kind.lower()}/{creation.name}",
            "missingPods": self.missing,
            "refusedAt": f"{creation.at:%Y-%m-%dT%H:%M:%SZ}",
            "retry": self.command,
        }


def waiting_or_why_not(live: BlockingClient, namespace: str) -> tuple[list[WaitingController], list[str]]:
    """Controllers that wait, and a note where that cannot be found out."""
    try:
        names = {configuration["metadata"]["name"] for configuration in live.webhooks()}
        return waiting_controllers(live, names, namespace), []
    except ClusterError as error:
        if error.status != 403:
            raise
        return [], [f"could not look for controllers that wait: {error}"]


def waiting_controllers(
    live: BlockingClient, webhooks: Collection[str], namespace: str = ""
) -> list[WaitingController]:
    """Those that no entry of the configurations of these names answered, in one namespace or in all.

    Raises ClusterError.
    """
    events = live.objects(events_path(namespace), FAILED_CREATE)
    heard = (refused_creation(event, name) for event in events for name in webhooks)
    waiting = []
    for creation in {creation.uid: creation for creation in heard if creation}.values():
        controller = live.found(creation.path)
        if controller and controller["metadata"]["uid"] == creation.uid and (missing := missing_pods(controller)):
            waiting.append(WaitingController(creation, missing))
    return sorted(waiting, key=lambda w: (w.creation.namespace, w.creation.kind, w.creation.name))
