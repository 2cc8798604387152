"""`injector inject`: manifests in, the same manifests with sidecars out."""

from __future__ import annotations

from dataclasses import replace

import click

from injector.cli.documents import Document
from injector.cli.files import with_files
from injector.cli.manifests import read_manifests, write_manifests
from injector.cli.objects import Namespaces, edit, metadata_of, namespaces_in, objects_in
from injector.cli.options import (
    NAMES_OPTION,
    REPORT_OPTION,
    NamespaceOptions,
    SourceOptions,
    with_namespace_options,
    with_source_options,
)
from injector.cli.report import Outcome, Report, line_for
from injector.cli.sources import Sources, gather, warn
from injector.errors import DENIED_CODE
from injector.inject import inject as inject_pod
from injector.injection import Injection
from injector.pods.context import Object
from injector.pods.misplaced import misplaced
from injector.pods.workloads import pod_template, with_pod_template, workload_of_object
from injector.reasons import Effect, Reason

_OUTCOMES: dict[Effect, Outcome] = {
    Effect.INJECT: "injected",
    Effect.SKIP: "skipped",
    Effect.MARK: "failed",
    Effect.REFUSE: "refused",
}


@click.command()
@with_files("files", "FILE...")
@NAMES_OPTION
@with_source_options
@with_namespace_options
@REPORT_OPTION
def inject(
    files: tuple[str, ...],
    templates: list[str] | None,
    source_options: SourceOptions,
    namespace_options: NamespaceOptions,
    form: str,
) -> int:
    """Put sidecars into the pods of manifests.

    FILE is a file, a folder, a URL, or - for standard input; YAML or JSON. Everything that holds a pod is injected:
    Pod, Deployment, StatefulSet, DaemonSet, ReplicaSet, Job, CronJob, and any kind with a pod template. The manifests
    go to standard output, the report to standard error; when anything is refused nothing is written.

    A namespace counts as enabled unless its Namespace object in the input, or --namespace-label, says otherwise.
    """
    sources = gather(source_options, only=templates)
    warn(sources)
    documents = read_manifests(files)
    objects = list(objects_in(documents))
    namespaces = namespaces_in(objects, sources.settings, namespace_options)
    explicit = namespace_options.namespace is not None
    injector = Injector(sources, templates, namespaces, explicit=explicit, objects=objects)
    edited = edit(documents, injector.change)
    injector.report.show(form)
    if injector.report.failed:
        return 1
    write_manifests(edited)
    return 0


class Injector:
    """Injects objects one by one and keeps the report. Knows which ConfigMaps are there already."""

    def __init__(
        self,
        sources: Sources,
        names: list[str] | None,
        namespaces: Namespaces,
        *,
        explicit: bool,
        objects: list[Object],
    ) -> None:
        self.report = Report()
        self._sources = sources
        self._names = names
        self._namespaces = namespaces
        self._explicit = explicit
        self._present = {self._key(o) for o in objects if o.get("kind") == "ConfigMap"}

    def change(self, obj: Object, document: Document) -> list[Object] | None:
        """The object with its pod injected, and the ConfigMaps that it needs."""
        pod = pod_template(obj)
        if pod is None:
            self.report.others += 1
            return None
        namespace = self._namespaces.of(obj)
        result = inject_pod(
            pod,
            namespace,
            self._sources.snapshot,
            names=self._names,
            overrides=self._sources.overrides,
            workload=None if pod is obj else workload_of_object(obj),
        )
        done = result.reason in (Reason.INJECTED, Reason.ALREADY_INJECTED)
        line = replace(
            line_for(obj, namespace.name, _outcome(result), document.place),
            reason="" if done else str(result.reason),
            message=_message(result),
            templates=tuple(name for name, _ in result.templates),
            warnings=(
                *(w for w in result.warnings if w != f"no sidecar: {result.message}"),
                *misplaced(obj, self._sources.settings),
            ),
        )
        if line.outcome not in ("injected", "unchanged"):
            self.report.lines.append(line)
            return None
        new = obj if result.pod is pod else with_pod_template(obj, result.pod)
        self.report.lines.append(replace(line, lost_comments=new is not obj and document.has_comments))
        return [new, *self._config_maps(obj, result, document)]

    def _config_maps(self, obj: Object, result: Injection, document: Document) -> list[Object]:
        """Those that the input does not hold and no earlier object needed."""
        new: list[Object] = []
        for file in result.files:
            config_map = file.to_object()
            if self._explicit or metadata_of(obj).get("namespace"):
                config_map = {**config_map, "metadata": {**config_map["metadata"], "namespace": file.namespace}}
            else:
                # Whoever applies it says which namespace it is for, as for the object itself.
                metadata = {k: v for k, v in config_map["metadata"].items() if k != "namespace"}
                config_map = {**config_map, "metadata": metadata}
            if self._key(config_map) not in self._present:
                self._present.add(self._key(config_map))
                new.append(config_map)
                self.report.lines.append(line_for(config_map, file.namespace, "added", document.place))
        return new

    def _key(self, obj: Object) -> tuple[str, str]:
        return self._namespaces.name_for(obj), str(metadata_of(obj).get("name"))


def _message(result: Injection) -> str:
    """What there is to say besides the outcome."""
    if result.reason is Reason.ALREADY_INJECTED:
        return "has its sidecar already; to inject it anew, uninject it first"
    message = "" if result.reason is Reason.INJECTED else result.message.removeprefix(f"{result.reason}: ")
    return f"{message}, HTTP {result.code}" if not result.allowed and result.code != DENIED_CODE else message


def _outcome(result: Injection) -> Outcome:
    if result.reason in (Reason.ALREADY_INJECTED, Reason.NOTHING_TO_ADD):
        return "unchanged"
    return _OUTCOMES[result.effect]
