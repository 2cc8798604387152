"""The HTTPS entrance of the settings' `paths`, asked in the order in which an API server asks."""

from __future__ import annotations

import copy
import functools
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from tornado.netutil import bind_sockets

from injector.inject import inject
from injector.loading.shipped import load_shipped
from injector.loading.template_folders import gallery_path, read_gallery
from injector.pods.context import Cluster, Namespace
from injector.settings import Settings
from injector.telemetry import LogOutput, Metrics, make_logger
from injector.templates.snapshot import Snapshot, build_snapshot
from injector.webhook.answer_cache import AnswerCache
from injector.webhook.evaluators import Evaluator, MutateEvaluator, PolicyEvaluator
from injector.webhook.exchange import Route
from injector.webhook.namespace_resolver import NamespaceResolver
from injector.webhook.pipeline import Pipeline
from injector.webhook.record import Recorder
from injector.webhook.server import Server
from injector.webhook.tls import make_context
from tests.golden.entrances import TEMPLATES, Case, Object, patched, pod_of
from tests.unit.webhook.support import HOST, Client, Loop, make_certificate, review, to_bytes

PATH_TEMPLATES = TEMPLATES.parent / "path_templates"
#: Group, version, resource of each kind, and whether it lies in a namespace.
RESOURCES = {
    "ConfigMap": ("", "v1", "configmaps", True),
    "CronJob": ("batch", "v1", "cronjobs", True),
    "Deployment": ("apps", "v1", "deployments", True),
    "Namespace": ("", "v1", "namespaces", False),
    "PersistentVolumeClaim": ("", "v1", "persistentvolumeclaims", True),
    "Pod": ("", "v1", "pods", True),
    "Secret": ("", "v1", "secrets", True),
    "Service": ("", "v1", "services", True),
}


@functools.cache
def _first() -> Snapshot:
    """All templates, loaded once."""
    templates = read_gallery(gallery_path()) | read_gallery(TEMPLATES) | read_gallery(PATH_TEMPLATES)
    return build_snapshot(Settings(templates=()), templates, Cluster(), load=load_shipped)


class Said(NamedTuple):
    """What was answered at a path about an object, or about the pod that is made of it."""

    path: str
    kind: str
    response: Object


class PathWebhook:
    """The real handlers of a case's paths, and of `/mutate`, behind the real HTTPS server."""

    ready = True

    def __init__(self, loop: Loop, folder: Path, case: Case) -> None:
        self.case, self.settings = case, case.parsed_settings
        major, minor = case.version.split(".")
        first = _first()
        sources = {template.name: template.sources for template in first.catalog}
        self.current = build_snapshot(self.settings, sources, Cluster((int(major), int(minor))), first)
        metrics, output = Metrics(), LogOutput()
        logger, resolver = make_logger(output), NamespaceResolver(self)

        def route(path: str, evaluator: Evaluator[Any], cache: AnswerCache | None = None) -> Route:
            return Route("POST", Pipeline(evaluator, self, resolver, Recorder(path, metrics, output), cache=cache))

        cache = AnswerCache(self.settings.server.cache_bytes, metrics)
        mutate = route("mutate", MutateEvaluator(inject, logger), cache)
        routes = {path: route(path, PolicyEvaluator(path, at, logger)) for path, at in self.settings.paths.items()}

        async def start() -> tuple[Server, int]:
            context, _ = make_context(*make_certificate(folder))
            sockets = bind_sockets(0, HOST)
            server = Server({"/mutate": mutate, **routes}, Settings().server, metrics, logger)
            server.start(sockets, context)
            return server, int(sockets[0].getsockname()[1])

        self._loop = loop
        self._server, port = loop.run(start())
        self._client = Client(port)

    def close(self) -> None:
        self._client.close()
        self._loop.run(self._server.stop(grace=0))

    def get(self, name: str) -> Namespace | None:
        found = self.case.in_namespace()
        return Namespace(name, found.labels, found.annotations)

    async def fetch(self, name: str) -> Namespace | None:
        return self.get(name)

    def created(self, obj: Object) -> tuple[list[Said], Object, Object | None]:
        """All that is said when an object is created, with the object as it is stored, and the pod that is made of it.

        The pod is None where none is made: the object is no workload, or refused.
        """
        said: list[Said] = []
        stored = self._through(obj, said, first=("/mutate",) if obj["kind"] == "Pod" else ())
        if obj["kind"] not in ("Deployment", "CronJob") or not all(one.response["allowed"] for one in said):
            return said, stored, None
        return said, stored, self._through(pod_of(stored), said, first=("/mutate",))

    def _through(self, obj: Object, said: list[Said], first: tuple[str, ...]) -> Object:
        group, version, resource, namespaced = RESOURCES[obj["kind"]]
        obj = copy.deepcopy(obj)
        if namespaced:
            obj["metadata"].setdefault("namespace", "default")
        for path in (*first, *self._paths(group, version, resource)):
            asked = review(
                obj,
                kind={"group": group, "version": version, "kind": obj["kind"]},
                resource={"group": group, "version": version, "resource": resource},
                namespace=obj["metadata"].get("namespace")
                or (obj["metadata"]["name"] if resource == "namespaces" else ""),
                name=obj["metadata"].get("name", ""),
            )
            answer = self._client.ask(to_bytes(asked), path=f"{path}?timeout=5s")
            assert answer.code == 200, answer.body
            response: Object = answer.json["response"]
            said.append(Said(path, obj["kind"], response))
            if not response["allowed"]:
                break
            obj = patched(obj, response)
        return obj

    def _paths(self, group: str, version: str, resource: str) -> Iterator[str]:
        """The paths whose entries have a rule for it, those of mutating webhooks first."""
        for kind in ("mutating", "validating"):
            for path, at in self.settings.paths.items():
                rules = [self.current.catalog.get(name) for name in at.templates]
                if at.type == kind and any(
                    rule is not None
                    and group in rule.applies_to.api_groups
                    and version in rule.applies_to.api_versions
                    and resource in rule.applies_to.resources
                    for rule in rules
                ):
                    yield path
