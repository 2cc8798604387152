"""The two entrances, command line and HTTPS, and the pods that controllers make of workloads."""

from __future__ import annotations

import base64
import contextlib
import copy
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import jsonpatch
import yaml
from click.testing import CliRunner
from tornado.netutil import bind_sockets

from injector.cli.main import cli
from injector.inject import inject
from injector.loading.template_folders import gallery_path, read_gallery
from injector.pods.context import Cluster, Namespace
from injector.settings import Settings, parse_settings
from injector.telemetry import LogOutput, Metrics, make_logger
from injector.templates.snapshot import Snapshot, build_snapshot
from injector.webhook.answer_cache import AnswerCache
from injector.webhook.evaluators import MutateEvaluator
from injector.webhook.exchange import Route
from injector.webhook.namespace_resolver import NamespaceResolver
from injector.webhook.pipeline import Pipeline
from injector.webhook.record import Recorder
from injector.webhook.server import Server
from injector.webhook.tls import make_context
from tests.unit.webhook.support import HOST, Client, Loop, make_certificate, review, to_bytes

HERE = Path(__file__).parent
TEMPLATES = HERE / "templates"
Object = dict[str, Any]


@dataclass(frozen=True)
class Case:
    """One case, as its folder has it."""

    folder: Path
    settings: Object = field(default_factory=dict)
    version: str = "1.36"
    namespace: dict[str, dict[str, str]] = field(default_factory=dict)

    @property
    def parsed_settings(self) -> Settings:
        return parse_settings(self.settings)

    def in_namespace(self) -> Namespace:
        """The namespace that the webhook is told of; the label says enabled, unless the case says otherwise."""
        label = self.parsed_settings.namespace_label
        labels = {label.key: label.enabled, **self.namespace.get("labels", {})}
        return Namespace("default", labels, self.namespace.get("annotations", {}))


def read_case(folder: Path) -> Case:
    """The case of a folder."""
    file = folder / "case.yaml"
    return Case(folder, **(yaml.load(file.read_text(), yaml.CSafeLoader) if file.exists() else {}))


# ------------------------------------------------------------------------------------------------- command line


@dataclass(frozen=True)
class Written:
    """What a command wrote, and how it ended."""

    status: int
    out: str
    err: str


def by_command_line(case: Case, folder: Path, *more: str) -> Written:
    """`injector inject` over the case's input; `folder` is for its settings file."""
    settings = folder / "settings.yaml"
    settings.write_text(json.dumps(case.settings))
    options = ["--templates-dir", str(TEMPLATES), "--settings", str(settings), "--kubernetes-version", case.version]
    for option, what in (("--namespace-label", "labels"), ("--namespace-annotation", "annotations")):
        for key, value in case.namespace.get(what, {}).items():
            options += [option, f"{key}={value}"]
    result = CliRunner().invoke(
        cli,
        ["inject", str(case.folder / "input.yaml"), *options, *more],
        standalone_mode=False,
        catch_exceptions=False,
    )
    return Written(result.return_value, result.stdout, result.stderr)


# ------------------------------------------------------------------------------------------------- webhook


class _Now:
    """The snapshot and the namespace of the case at hand, as the webhook's handlers ask for them."""

    ready = True
    current: Snapshot
    namespace: Namespace

    def get(self, name: str) -> Namespace | None:
        return self.namespace

    async def fetch(self, name: str) -> Namespace | None:
        return self.namespace


class Webhook:
    """The real handlers behind the real HTTPS server, with one case's snapshot at a time."""

    def __init__(self, loop: Loop, folder: Path) -> None:
        settings = Settings()
        metrics, output = Metrics(), LogOutput()
        logger = make_logger(output)
        self._now = _Now()
        self._before: Snapshot | None = None
        mutate = Pipeline(
            MutateEvaluator(inject, logger),
            self._now,
            NamespaceResolver(self._now),
            Recorder("mutate", metrics, output),
            cache=AnswerCache(settings.server.cache_bytes, metrics),
        )

        async def start() -> tuple[Server, int]:
            context, _ = make_context(*make_certificate(folder))
            sockets = bind_sockets(0, HOST)
            server = Server({"/mutate": Route("POST", mutate)}, settings.server, metrics, logger)
            server.start(sockets, context)
            return server, int(sockets[0].getsockname()[1])

        self._loop = loop
        self._server, port = loop.run(start())
        self._client = Client(port)

    def close(self) -> None:
        self._client.close()
        self._loop.run(self._server.stop(grace=0))

    def use(self, case: Case) -> Snapshot:
        """Answer as in this case from now on; its snapshot."""
        settings = case.parsed_settings
        major, minor = case.version.split(".")
        cluster = Cluster((int(major), int(minor)), settings.cluster_domain)
        templates = read_gallery(gallery_path()) | read_gallery(TEMPLATES)
        snapshot = build_snapshot(settings, templates, cluster, self._before)
        self._before = self._now.current = snapshot
        self._now.namespace = case.in_namespace()
        return snapshot

    def ask(self, pod: Object) -> Object:
        """What the webhook answers to the creation of a pod: the response of the review."""
        answer = self._client.ask(to_bytes(review(pod, namespace="default")))
        assert answer.code == 200, answer.body
        response: Object = answer.json["response"]
        return response


@contextlib.contextmanager
def webhook(loop: Loop, folder: Path) -> Iterator[Webhook]:
    running = Webhook(loop, folder)
    try:
        yield running
    finally:
        running.close()


def patch_of(response: Object) -> list[Object]:
    """The JSON Patch of a response, empty where there is none."""
    patch: list[Object] = json.loads(base64.b64decode(response["patch"])) if "patch" in response else []
    return patch


def patched(pod: Object, response: Object) -> Object:
    """The pod with the patch applied, by another implementation than ours."""
    result: Object = jsonpatch.JsonPatch(patch_of(response)).apply(copy.deepcopy(pod))
    return result


# ------------------------------------------------------------------------------------------------- controllers

_UID = "4a6f1d3e-90b7-4d0c-8c2b-3f9f0e5d7a21"
_HASH = "5d4f8c7b9d"


def pod_of(obj: Object) -> Object:
    """The pod that Kubernetes' controllers would create for a workload; of a Pod itself."""
    kind, name = obj["kind"], obj["metadata"]["name"]
    if kind == "Pod":
        return obj
    owner = {"apiVersion": obj["apiVersion"], "kind": kind, "name": name}
    more: dict[str, str] = {}
    if kind == "Deployment":
        owner |= {"kind": "ReplicaSet", "name": f"{name}-{_HASH}"}
        more = {"pod-template-hash": _HASH}
    elif kind == "CronJob":
        owner |= {"kind": "Job", "name": f"{name}-29384756"}
    template = template_of(obj)
    metadata = copy.deepcopy(template.get("metadata") or {})
    if more:
        metadata["labels"] = {**metadata.get("labels", {}), **more}
    metadata["generateName"] = owner["name"] + "-"
    metadata["ownerReferences"] = [{**owner, "uid": _UID, "controller": True, "blockOwnerDeletion": True}]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template["spec"]}


def template_of(obj: Object) -> Object:
    """The pod template of a workload, or the Pod itself."""
    if obj["kind"] == "Pod":
        return obj
    spec = obj["spec"]
    template: Object = (spec["jobTemplate"]["spec"] if "jobTemplate" in spec else spec)["template"]
    return template


def comparable(pod: Object, generated: str) -> Object:
    """A pod of a controller's, or a pod template, without what the controller adds and with one name for ConfigMaps.

    A generated ConfigMap's name is a hash of its owner too, and on the command line there is none yet; `generated` is
    a pattern for those names.
    """
    metadata = {k: v for k, v in (pod.get("metadata") or {}).items() if k not in ("generateName", "ownerReferences")}
    labels = {k: v for k, v in metadata.pop("labels", {}).items() if k != "pod-template-hash"}
    if labels:
        metadata["labels"] = labels
    text = json.dumps({"metadata": metadata, "spec": pod["spec"]}, sort_keys=True)
    result: Object = json.loads(re.sub(generated, "generated", text))
    return result
