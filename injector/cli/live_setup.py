"""A running cluster as commands see it: its injector's settings, templates, switches and webhooks, ages and changes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from types import MappingProxyType
from typing import NamedTuple
from urllib.parse import urlsplit

from injector.cli.fleet import ChangeTimes, Fleet, Row, pods_of
from injector.cli.injection_sources import Sources, TeamTemplatesOf, refused_team_templates
from injector.cli.repair_lease import rest_notes
from injector.cli.team_templates import LiveTeamTemplates
from injector.cluster.blocking_client import BlockingClient, ClusterError
from injector.cluster.installation import INSTALLATION, is_paused, service_namespaces, words_of_pause
from injector.cluster.rollout.pod_states import namespace_change
from injector.cluster.template_maps import last_change
from injector.errors import TemplateError
from injector.loading.kept_gallery import Gallery, gallery_in_use, with_own
from injector.loading.shipped import load_shipped
from injector.loading.template_folders import gallery_path, read_gallery
from injector.names import cut
from injector.pods.context import Namespace, Object, Request, mapping_at
from injector.pods.selectors import matches
from injector.pods.shape import string_map
from injector.policies.request import ObjectRequest
from injector.settings import SETTINGS_KEY, Settings
from injector.templates.load import TemplateSources
from injector.templates.snapshot import Catalog, Snapshot, SnapshotError, Trial, build_snapshot
from injector.webhook.snapshot_sources import read_settings


class PathEntry(NamedTuple):
    """What a path's webhook entry in a cluster makes of a request: in words, and whether it calls the injector."""

    words: str
    called: bool


#: How many of a pod's Events are told.
_EVENTS = 5
#: The entry of a path, for a request about an object in a namespace.
EntryOf = Callable[[str, ObjectRequest, Namespace], PathEntry]


def live_sources(live: BlockingClient, injector_namespace: str | None) -> tuple[Sources, list[str]]:
    """Settings and templates of the cluster's injector, and notes about what could not be had.

    A template that is wrong there is left out, with a note. Raises SettingsError or SnapshotError for wrong settings.
    """
    notes: list[str] = []
    settings, space = Settings(), ""
    try:
        space = injector_namespace or live.installation()
        settings = live_settings(live, space)
        snapshot, errors = live_snapshot(live, space, settings)
        teams: TeamTemplatesOf = LiveTeamTemplates(live, settings)
    except ClusterError as error:
        notes.append(f"{error}. This command uses the default settings and the gallery instead")
        space, teams = "", partial(refused_team_templates, "the injector's settings could not be read")
        snapshot, errors = live_snapshot(live, "", settings)
    notes += (
        f"the injector uses its previous templates, because a template is invalid: {error}" for error in errors.values()
    )
    return Sources(snapshot, {}, injector_namespace=space, team_templates=teams), notes


def live_settings(live: BlockingClient, namespace: str) -> Settings:
    """The settings of the injector in this namespace, which it leaves alone. Raises ClusterError, SettingsError."""
    source = f"settings of the injector in namespace {namespace}"
    return read_settings(live.settings_text(namespace), source).ignoring(namespace)


def live_namespace(live: BlockingClient, name: str, made_by_input: Container[str]) -> Namespace:
    """A namespace of the cluster, or one that only the input makes. Raises ClusterError."""
    try:
        return live.namespace(name)
    except ClusterError as error:
        if error.status == 404 and name in made_by_input:
            return Namespace(name)
        raise


def live_snapshot(
    live: BlockingClient,
    namespace: str,
    settings: Settings,
    *,
    trial: Trial | None = None,
    more: Mapping[str, Mapping[str, str]] = MappingProxyType({}),
) -> tuple[Snapshot, dict[str, TemplateError]]:
    """The shipped templates, those of the injector in namespace `where` ("": only the shipped ones), and `more`.

    Templates that are wrong are left out: beside the snapshot, their names with the error. `trial` as with
    `build_snapshot`. Raises ClusterError, and SnapshotError for settings that do not fit the templates.
    """
    gallery, in_cluster = gallery_and_maps(live, namespace, settings)
    templates = with_own(gallery, {**in_cluster, **more})
    origins = {name: f"configmap/{namespace}/{name}" for name in in_cluster}
    cluster = live.cluster(settings.cluster_domain)
    build = partial(
        build_snapshot, settings, cluster=cluster, origins=origins, loaded=gallery.loaded, load=load_shipped
    )
    try:
        return build(templates, trial=trial), {}
    except SnapshotError as error:
        errors = {e.template: e for e in reversed(error.errors) if isinstance(e, TemplateError)}
        if not errors:
            raise
    return build({name: files for name, files in templates.items() if name not in errors}), errors


def templates_of_paths(live: BlockingClient, namespace: str, settings: Settings) -> Catalog:
    """The templates of the settings' `paths`; those that are not there, or are wrong, are left out.

    Raises ClusterError.
    """
    names = dict.fromkeys(name for at in settings.paths.values() for name in at.templates)
    templates = []
    if names:
        sources = with_own(*gallery_and_maps(live, namespace, settings))
        for name in names.keys() & sources.keys():
            with suppress(TemplateError):
                templates.append(load_shipped(name, sources[name]))
    return Catalog(templates)


def gallery_and_maps(live: BlockingClient, namespace: str, settings: Settings) -> tuple[Gallery, TemplateSources]:
    """The gallery that the injector in a namespace uses ("": the shipped one), and its ConfigMaps' templates."""
    name, in_cluster = settings.gallery.config_map, dict(live.templates(namespace, settings) if namespace else {})
    origin, kept = f"configmap/{namespace}/{name}", in_cluster.pop(name, None)
    return gallery_in_use(read_gallery(gallery_path()), kept, origin), in_cluster


def event_notes(live: BlockingClient, pod: Object) -> Iterator[str]:
    """The latest warnings among a pod's Events: what the states of its containers do not say of hooks, probes and
    volumes.
    """
    path, uid = f"/api/v1/namespaces/{pod['metadata']['namespace']}/events", pod["metadata"]["uid"]
    try:
        events = list(live.objects(path, {"fieldSelector": f"type=Warning,involvedObject.uid={uid}"}))
    except ClusterError as error:
        yield f"the pod's Events cannot be read: {error}"
        return
    events.sort(key=lambda event: event.get("lastTimestamp") or event.get("eventTime") or "")
    for event in events[-_EVENTS:]:
        about = mapping_at(event, "involvedObject").get("fieldPath", "the pod")
        yield f"Event {event.get('reason')}, {about}: {cut(event.get('message') or '')}"


def webhook_notes(
    live: BlockingClient, namespace: Namespace, labels: dict[str, str], paths: Collection[str] = ()
) -> tuple[list[str], bool]:
    """What each webhook entry of the injector makes of such a pod, in words, and whether the API server calls one that
    injects; it may where that cannot be read.

    Those of `paths` are left out: see `entries_of_paths`.
    """
    try:
        configurations = live.webhooks()
    except ClusterError as error:
        return [f"the webhooks cannot be read: {error}"], True
    if not configurations:
        none = "no webhook of the injector is registered in this cluster: the API server does not call the injector"
        return [none], False
    told = [
        (configuration["kind"], _told(configuration, entry, Request(), namespace, labels))
        for configuration in configurations
        for entry in configuration.get("webhooks") or ()
        if _path_of(entry) not in paths
    ]
    injecting = any(entry.called for kind, entry in told if kind == "MutatingWebhookConfiguration")
    return [entry.words for _, entry in told], injecting


def entries_of_paths(live: BlockingClient) -> EntryOf:
    """What the webhook entry of one of the settings' paths makes of a request, as a function of both."""
    try:
        configurations = live.webhooks()
    except ClusterError as error:
        cannot = f"the webhooks cannot be read: {error}"
        return lambda _path, _request, _namespace: PathEntry(cannot, called=True)

    def entry_of(path: str, request: ObjectRequest, namespace: Namespace) -> PathEntry:
        entries = [
            _told(configuration, entry, request.request, namespace, string_map(request.subject, "labels"))
            for configuration in configurations
            for entry in configuration.get("webhooks") or ()
            if _path_of(entry) == path
        ]
        sentences = (
            "; ".join(path_entry.words for path_entry in entries)
            or "no webhook entry has this path: the API server does not ask the injector"
        )
        return PathEntry(sentences, any(path_entry.called for path_entry in entries))

    return entry_of


def _told(
    configuration: Object, entry: Object, request: Request, namespace: Namespace, labels: dict[str, str]
) -> PathEntry:
    """What a webhook entry of a configuration makes of a request."""
    if is_paused(entry):
        why_not = f"paused {words_of_pause(configuration)}".rstrip()
    else:
        why_not = _why_not_called(entry, request, namespace, labels)
    return PathEntry(
        f"webhook {entry.get('name')}: {f'not called, {why_not}' if why_not else _called(entry)}", called=not why_not
    )


def _path_of(entry: Object) -> str:
    """The path that an entry's reviews are posted to."""
    client = entry.get("clientConfig") or {}
    return str((client.get("service") or {}).get("path") or urlsplit(str(client.get("url") or "")).path or "/")


def _why_not_called(entry: Object, request: Request, namespace: Namespace, labels: dict[str, str]) -> str:
    """Why the API server does not call the entry for a request; "" where it does."""
    if not any(covers(rule, request) for rule in entry.get("rules") or ()):
        what = "the creation of pods" if request == Request() else f"{request.operation} of {request.resource}"
        return f"its rules do not cover {what}"
    # what lies in no namespace is selected by every namespaceSelector
    if namespace.name and not matches(entry.get("namespaceSelector") or {}, namespace.labels):
        return f"its namespaceSelector does not match namespace {namespace.name}"
    if not matches(entry.get("objectSelector") or {}, labels):
        what = "pod" if request.resource == "pods" else "object"
        return f"its objectSelector does not match the {what}'s labels"
    return ""


def _called(entry: Object) -> str:
    conditions = [str(c.get("name")) for c in entry.get("matchConditions") or ()]
    only = f" if its matchConditions hold ({', '.join(conditions)}; not evaluated here)" if conditions else ""
    return f"called{only}; failurePolicy: {entry.get('failurePolicy', 'Fail')}"


def covers(rule: Object, request: Request) -> bool:
    """Whether a rule of a webhook entry covers a request; `*` stands for all."""
    below = request.sub_resource
    names = {f"{request.resource}/{below}", f"*/{below}", f"{request.resource}/*"} if below else {request.resource, "*"}
    accepted = {
        "apiGroups": {request.group, "*"},
        "apiVersions": {request.version, "*"},
        "operations": {request.operation, "*"},
        "resources": {*names, "*/*"},
    }
    return all(values & set(rule.get(field) or ()) for field, values in accepted.items())


def configurations(live: BlockingClient, namespace: str | None) -> tuple[Object, ...]:
    """The webhook configurations of the injector in `namespace`; without it there may be one injector only.

    Raises ClusterError when there are none.
    """
    space = namespace or live.installation()
    own = tuple(c for c in live.webhooks() if space in service_namespaces(c))
    if not own:
        raise ClusterError(
            f"{live.host} has no webhooks of an injector in namespace {space}", "give the injector's namespace with -n"
        )
    return own


def configuration_name(configuration: Object) -> str:
    """Kind and name, for people."""
    return f"{configuration['kind']} {configuration['metadata']['name']}"


def whoami(live: BlockingClient) -> str:
    """The user's name as the API server knows it; "somebody" where it does not say."""
    api = "authentication.k8s.io/v1"
    try:
        review = live.send("POST", f"/apis/{api}/selfsubjectreviews", {"apiVersion": api, "kind": "SelfSubjectReview"})
    except ClusterError:
        return "somebody"
    return str(review.get("status", {}).get("userInfo", {}).get("username") or "somebody")


def live_fleet(live: BlockingClient, sources: Sources, space: str) -> Fleet:
    """Judges the pods of one namespace, or "" for all."""
    times = partial(change_times, live, sources.injector_namespace, sources.settings, space)
    return Fleet(sources, settings_known=bool(sources.injector_namespace), times=times)


def rows_and_notes(
    live: BlockingClient, space: str, selector: str | None, injector_namespace: str | None
) -> tuple[Sequence[Row], Sequence[str]]:
    """What is to be said of the pods of one namespace, or "" for all, in order; and notes for the user."""
    sources, notes = live_sources(live, injector_namespace)
    fleet = live_fleet(live, sources, space)
    rows = [row for pod, of in pods_of(live, space, selector) if (row := fleet.row(pod, of)) is not None]
    rests = rest_notes(live, sources.settings, sources.injector_namespace, space)
    return sorted(rows, key=lambda row: (row.namespace, row.pod)), [*notes, *rests]


def change_times(live: BlockingClient, injector_namespace: str, settings: Settings, namespace: str) -> ChangeTimes:
    """Of the injector in its namespace ("" for one that is not known), and of `namespace`, "" for all. Of what one may
    not read, nothing is said.
    """
    maps = f"/api/v1/namespaces/{injector_namespace}/configmaps" if injector_namespace else ""
    query = {"fieldSelector": f"metadata.name={namespace}"} if namespace else {}
    spaces = _readable(live, "/api/v1/namespaces", query)
    installed = _readable(live, maps, {"labelSelector": INSTALLATION})
    templates = _readable(live, maps, {"labelSelector": f"{settings.template_label}=true"})
    return ChangeTimes(
        _by_name(templates, ("f:data",)),
        _by_name(spaces, ("f:metadata", "f:annotations")),
        max(_by_name(installed, ("f:data", f"f:{SETTINGS_KEY}")).values(), default=""),
        {obj["metadata"]["name"]: namespace_change(obj, settings) for obj in spaces},
    )


def _readable(live: BlockingClient, path: str, query: dict[str, str]) -> Sequence[Object]:
    """The objects of a collection, none where one may not list them."""
    with suppress(ClusterError):
        return list(live.objects(path, query)) if path else ()
    return ()


def _by_name(objects: Iterable[Object], field: tuple[str, ...]) -> dict[str, str]:
    return {obj["metadata"]["name"]: last_change(obj, field) for obj in objects}
