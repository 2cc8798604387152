"""What the command line reads from a cluster: a workload, its namespace, and how the injector is set up there.

Plain blocking calls over one connection:

    with BlockingClient(context="staging") as live:
        deployment, _ = live.find("deploy/web", "shop")

https://kubernetes.io/docs/concepts/overview/kubernetes-api/#discovery-api
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator, Sequence
from datetime import datetime
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any, TypeVar

from injector.cluster.api_error import ApiError
from injector.cluster.client import Client, Query
from injector.cluster.connection import context_namespace
from injector.cluster.installation import INSTALLATION, KINDS, configuration_path, service_namespaces
from injector.cluster.namespaces import namespace_of
from injector.cluster.template_maps import template_files, template_selector
from injector.diagnostics import advised
from injector.errors import DocumentError, InjectorError
from injector.pods.context import Cluster, Namespace, Object, mapping_at
from injector.pods.resource_kinds import Resource
from injector.pods.workloads import API_VERSIONS
from injector.settings import SETTINGS_KEY, Settings
from injector.templates.load import TemplateSources


def _api(group: str, version: str) -> str:
    return f"/apis/{group}/{version}" if group else f"/api/{version}"


async def _find_resource(client: Client, word: str) -> tuple[Resource, bool] | None:
    """The resource that `word` names: its plural, singular, kind or a short name, with `.group` behind it or not.

    Beside it whether its objects lie in namespaces.

    If several resources have the name, this is the first in the API server's order, in the version that the API server
    prefers. Raises ApiError. A group whose own server does not answer is left out.
    """
    name, _, group_name = word.lower().partition(".")
    versions = [] if group_name else [("", "v1")]
    for listed in (await client.get("/apis")).get("groups") or ():
        if not group_name or f"{listed.get('name')}.".startswith(f"{group_name}."):
            versions.append((str(listed.get("name")), str(mapping_at(listed, "preferredVersion").get("version"))))
    for group, version in versions:
        try:
            resources = (await client.get(_api(group, version))).get("resources") or ()
        except ApiError:
            continue
        for resource in resources:
            plural = str(resource.get("name"))
            names = {plural, resource.get("singularName"), str(resource.get("kind")).lower()}
            if "/" not in plural and name in names | set(resource.get("shortNames") or ()):
                return Resource(group, version, plural), bool(resource.get("namespaced"))
    return None


T = TypeVar("T")

_AT_ONCE = 16  # requests that are under way at the same time
_PAGE = 200  # objects: a pod has 20 KiB of JSON, and in memory several times as much

_CORE = "/api/v1"
_SHORT_NAMES = {
    "Pod": "po",
    "Deployment": "deploy",
    "ReplicaSet": "rs",
    "StatefulSet": "sts",
    "DaemonSet": "ds",
    "CronJob": "cj",
    "ReplicationController": "rc",
}
#: The resources of Kubernetes' own kinds that hold a pod, by each of their names.
_RESOURCES = {
    name: Resource(*version.rpartition("/")[::2], f"{kind.lower()}s")
    for kind, version in API_VERSIONS.items()
    for name in (kind.lower(), f"{kind.lower()}s", _SHORT_NAMES.get(kind, kind.lower()))
}


class ClusterError(InjectorError):
    """The cluster does not give what was asked for; one sentence for the terminal, `message` and `to_do` together.

    `status` and `reason` are the API server's, 0 and "" if it did not refuse; `subject` is what was asked for,
    `no_permission` whether it was refused because a permission is missing.
    """

    def __init__(
        self,
        message: str,
        to_do: str = "",
        *,
        status: int = 0,
        reason: str = "",
        subject: str = "",
        no_permission: bool = False,
    ) -> None:
        super().__init__(advised(message, to_do))
        self.message = message
        self.to_do = to_do
        self.status = status
        self.reason = reason
        self.subject = subject
        self.no_permission = no_permission


class BlockingClient:
    """A connection for the length of one command. Not for code that runs in an event loop.

    `kubeconfig`, `context` as kubectl's options of these names. Every method raises ClusterError, saying what was asked
    for and why there is no answer; opening raises NoClusterError.
    """

    def __init__(self, kubeconfig: str | None = None, context: str | None = None) -> None:
        self._where = (kubeconfig, context)
        self._runner = asyncio.Runner()

    def __enter__(self) -> BlockingClient:
        try:
            self._client = self._runner.run(Client.connect(*self._where))
        except BaseException:
            self._runner.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._runner.run(self._client.close())
        self._runner.close()

    @property
    def host(self) -> str:
        """The API server's URL."""
        return self._client.host

    @property
    def default_namespace(self) -> str:
        """The namespace that kubectl would use without `-n`."""
        return context_namespace(*self._where)

    def find(self, target: str, namespace: str | None = None) -> tuple[Object, Resource]:
        """The object that `target` names, and its resource: `pod/NAME`, `deploy/NAME`, `widget.example.com/NAME`, with
        kubectl's short names.

        Without `namespace` it is looked for in the default one. Raises DocumentError for what is no such name.
        """
        word, slash, name = target.partition("/")
        if not slash or not word or not name:
            raise DocumentError(f"{target}: not KIND/NAME such as deploy/web")
        kind, _, group = word.lower().partition(".")  # deployment.apps/web, of kubectl get -o name
        known = _RESOURCES.get(kind)
        if known and group in ("", known.group):
            discovered: tuple[Resource, bool] | None = (known, True)
        else:
            discovered = self._run(f"the kind of {target}", _find_resource(self._client, word))
        if discovered is None:
            raise DocumentError(
                f"{target}: {self.host} has no kind {word}; run `kubectl api-resources` to list the kinds"
            )
        resource, namespaced = discovered
        subject = target
        collection = _api(resource.group, resource.version)
        if namespaced:
            namespace = namespace or self.default_namespace
            subject += f" in namespace {namespace}"
            collection += f"/namespaces/{namespace}"
        return self._run(subject, self._client.get(f"{collection}/{resource.name}/{name}")), resource

    def namespace(self, name: str) -> Namespace:
        """The namespace; its quotas and limit ranges are empty where one may not read them."""
        obj = self._run(f"namespace {name}", self._client.get(f"{_CORE}/namespaces/{name}"))
        quotas, limits = (self._parts(name, plural) for plural in ("resourcequotas", "limitranges"))
        return namespace_of(obj, quotas, limits)

    def cluster(self, domain: str = "cluster.local") -> Cluster:
        """The cluster's version; its DNS domain cannot be asked for and is given."""
        return Cluster(self._run("the version", self._client.version()), domain)

    def webhooks(self) -> tuple[Object, ...]:
        """The injector's MutatingWebhookConfigurations and ValidatingWebhookConfigurations, each with its kind."""
        query = {"labelSelector": INSTALLATION}
        return tuple({"kind": kind, **obj} for kind in KINDS for obj in self.objects(configuration_path(kind), query))

    def installation(self) -> str:
        """The namespace that the injector runs in, as its webhooks say.

        ClusterError if there is none or several.
        """
        names = set().union(*map(service_namespaces, self.webhooks()))
        if len(names) != 1:
            present = "no webhooks of an injector"
            to_do = "install the injector, or choose another cluster with --context"
            if names:
                present = f"injectors in namespaces {', '.join(sorted(names))}"
                to_do = "name one of these namespaces with -n or --injector-namespace"
            raise ClusterError(f"{self.host} has {present} (label {INSTALLATION})", to_do)
        return names.pop()

    def settings_text(self, namespace: str) -> str | None:
        """The text of the settings file of the injector in `namespace`; None if it runs on defaults."""
        maps = self.objects(f"{_CORE}/namespaces/{namespace}/configmaps", {"labelSelector": INSTALLATION})
        return next((obj["data"][SETTINGS_KEY] for obj in maps if SETTINGS_KEY in mapping_at(obj, "data")), None)

    def templates(self, namespace: str, settings: Settings) -> TemplateSources:
        """The templates that are ConfigMaps of the injector in `namespace`, and the kept gallery like one."""
        path = f"{_CORE}/namespaces/{namespace}/configmaps"
        config_maps = self.objects(path, {"labelSelector": template_selector(settings)})
        return {obj["metadata"]["name"]: template_files(obj, settings) for obj in config_maps}

    def objects(self, path: str, query: Query = None) -> Iterator[Object]:
        """Every object of the collection at `path` (`/api/v1/pods`), a page at a time."""
        page: str | None = ""
        while page is not None:
            listing = self._run(path, self._client.list(path, query, page=page, limit=_PAGE))
            page = listing.metadata.next_page or None
            yield from listing.items or ()
            del listing  # it is large, and gone before the next one comes

    def get(self, path: str, subject: str = "") -> Object:
        """The object at `path`; messages call it `subject`."""
        return self._run(subject or path, self._client.get(path))

    def found(self, path: str, subject: str = "") -> Object | None:
        """The object at `path`, None where there is none; messages call it `subject`."""
        return self._run(subject or path, self._client.find(path))

    def send(
        self,
        method: str,
        path: str,
        body: Object,
        query: Query = None,
        *,
        subject: str = "",
        content_type: str = "application/json",
    ) -> Object:
        """What the API server answers to a request with a body; `content_type` says what kind of patch a PATCH is."""
        return self._run(subject or path, self._client.request(method, path, body, query, content_type=content_type))

    def apply(self, configuration: Object, manager: str, subject: str) -> Object:
        """Apply what `configuration` says of a webhook configuration; that is what the field manager then owns.

        https://kubernetes.io/docs/reference/using-api/server-side-apply/
        """
        path = configuration_path(configuration["kind"], configuration["metadata"]["name"])
        return self._run(subject, self._client.apply(path, configuration, manager))

    def answers(self, path: str, bodies: Sequence[Object], *, subject: str = "") -> list[Object]:
        """POST each of these to the collection at `path`, a few at a time; return the API server's answers."""

        async def ask() -> list[Object]:
            turns = asyncio.Semaphore(_AT_ONCE)

            async def one(body: Object) -> Object:
                async with turns:
                    return await self._client.create(path, body)

            # all are waited for: one that went on after the others failed would be heard of at the very end
            results = await asyncio.gather(*map(one, bodies), return_exceptions=True)
            for answer in results:
                if isinstance(answer, BaseException):
                    raise answer
            return [answer for answer in results if not isinstance(answer, BaseException)]

        return self._run(subject or path, ask())

    def run(self, work: Callable[[Client], Coroutine[Any, Any, T]], subject: str) -> T:
        """What comes of `work`, which may have several requests under way; messages call it `subject`."""
        return self._run(subject, work(self._client))

    @property
    def authority(self) -> bytes:
        """The authorities (PEM) that the API server's certificate is checked against; empty for the system's own."""
        file = self._client.authority_file
        try:
            return Path(file).read_bytes() if file else b""
        except OSError:
            return b""

    @property
    def clock(self) -> datetime | None:
        """The API server's time at its last answer, in whole seconds; None where it did not say."""
        try:
            return parsedate_to_datetime(self._client.date)
        except ValueError:
            return None

    def _parts(self, namespace: str, plural: str) -> tuple[Object, ...]:
        try:
            return tuple(self.objects(f"{_CORE}/namespaces/{namespace}/{plural}"))
        except ClusterError:
            return ()

    def _run(self, subject: str, call: Coroutine[Any, Any, T]) -> T:
        async def outcome() -> Callable[[], T]:
            result = await call
            return lambda: result

        try:
            # CPython writes out a signal's handler that it looks up, here with the task and all that this returns
            return self._runner.run(outcome())()
        except ApiError as error:
            raise ClusterError(
                f"{subject}: {error.message}",
                status=error.status,
                reason=error.reason,
                subject=subject,
                no_permission=error.denial == "no-permission",
            ) from None
