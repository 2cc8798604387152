"""`injector explain`: why a pod has, or has not, its sidecar, and what the settings' `paths` make of an object.

Replays the decision and says that it does.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from injector.cli.inputs import with_files
from injector.cli.options import (
    NAMES_OPTION,
    POD_OPTIONS,
    NamespaceOptions,
    SourceOptions,
    with_namespace_options,
    with_options,
    with_source_options,
    with_user,
)
from injector.errors import DocumentError

if TYPE_CHECKING:
    from injector.cli.explanation import Explanation
    from injector.cli.injection_sources import Sources
    from injector.pods.context import Object
    from injector.settings import Settings

#: `pod/NAME`, `deploy/NAME`, `deployment.apps/NAME`: an object in a cluster rather than a file.
_LIVE = re.compile(r"[A-Za-z]+(?:\.[a-z0-9.-]+)?/[a-z0-9]([-a-z0-9.]*[a-z0-9])?")

_REPLAYS = (
    "this shows the decision with the current settings and templates; the steps of the original one are not stored"
)


@click.command()
@with_files("targets", "FILE|KIND/NAME...")
@NAMES_OPTION
@with_source_options
@with_namespace_options
@with_user
@click.option("--output", "form", type=click.Choice(["text", "json"]), default="text", help="Output format.")
@with_options(POD_OPTIONS)
def explain(
    targets: tuple[str, ...],
    templates: list[str] | None,
    source_options: SourceOptions,
    namespace_options: NamespaceOptions,
    user: Object,
    form: str,
    kubeconfig: str | None,
    context: str | None,
    injector_namespace: str | None,
) -> int:
    """Explain why a pod has or does not have a sidecar, and what the templates under `paths` in the settings do to
    an object.

    Explains manifests (FILE, a folder, a URL, or - for standard input), or a pod or workload in a cluster: pod/NAME,
    deploy/NAME, sts/NAME. If the settings have `paths`, it explains objects of every kind: service/NAME. The output
    shows every step of the decision and what the step saw, then where each parameter's value came from, and what is
    added.

    For manifests, a namespace counts as enabled unless the input or --namespace-label says otherwise.

    For a cluster, the command uses the cluster's current settings and templates. It repeats the decision with them; the
    original decision is not stored.
    """
    from injector.cli.explanation import show_explanation
    from injector.cli.injection_sources import gather, warn_of
    from injector.cli.missing_inputs import KINDS, missing_help

    live_names = [t for t in targets if _LIVE.fullmatch(t) and not Path(t).exists()]
    if live_names and len(live_names) < len(targets):
        raise click.UsageError("Either files or names in a cluster (pod/NAME), not both at once.")
    if lost := [t for t in targets if "/" not in t and "." not in t and t != "-" and not Path(t).exists()]:
        said = f"{lost[0]}: no such file; for an object in a cluster write KIND/NAME: deploy/{lost[-1]}"
        more = "" if lost[0].lower() in KINDS else missing_help(lost[0], "explain")
        raise DocumentError(f"{said}; {more}" if more else said)
    if live_names and templates is not None:
        raise click.UsageError(
            "--templates is for manifests; in a cluster, annotations and settings select the templates."
        )
    if live_names:
        explanations = _live(live_names, namespace_options.namespace, kubeconfig, context, injector_namespace, user)
    else:
        sources = gather(source_options, only=templates)
        warn_of(sources)
        explanations = list(_files(targets, sources, templates, namespace_options, user))
    show_explanation(explanations, form)
    return 1 if any(explanation.bad for explanation in explanations) else 0


def _files(
    files: tuple[str, ...], sources: Sources, templates: list[str] | None, options: NamespaceOptions, user: Object
) -> Iterator[Explanation]:
    from injector.cli.documents import read_manifests
    from injector.cli.earlier_injection import foreign_receipt
    from injector.cli.explanation import explanation_of, is_asked_about
    from injector.cli.manifest_objects import namespaces_in, objects_in, without_pod
    from injector.pods.misplaced_keys import misplaced_keys, namespace_mistakes
    from injector.pods.workloads import pod_template

    documents = read_manifests(files)
    namespaces = namespaces_in(objects_in(documents), sources.settings, options)
    found = [(o, d.place) for d in documents for o in objects_in([d])]
    telling = [(o, place) for o, place in found if pod_template(o) is not None or is_asked_about(o, sources.snapshot)]
    if not telling and not sources.settings.paths:
        raise DocumentError(without_pod(found) or f"{', '.join(files)}: no object has a pod or a pod template")
    for obj, place in telling or found:
        notes = [one.located for one in sources.snapshot.warnings]
        if (pod := pod_template(obj)) is not None:
            of_namespace = namespace_mistakes(namespaces.found.get(namespaces.name_for(obj), {}), sources.settings)
            notes = [*misplaced_keys(obj, sources.settings), *foreign_receipt(pod, sources.settings), *notes]
            notes = [*(f"namespace/{namespaces.name_for(obj)}: {words}" for words in of_namespace), *notes]
        if pod_template(obj) is not None and namespaces.assumed(obj):
            notes.append(_assumed(namespaces.name_for(obj), namespaces.labels_of(obj), sources.settings))
        yield explanation_of(obj, namespaces.of(obj), sources, place, notes, templates, user=user)


def _assumed(namespace: str, labels: Mapping[str, str], settings: Settings) -> str:
    """A sentence that a label is assumed, and which of the namespace's `labels` may be a misspelling of it."""
    from injector.names import nearest
    from injector.pods.misplaced_keys import taken_for_the_label

    label = settings.namespace_label
    near = nearest(label.key, labels)
    given = f"{near}={labels[near]}" if near is not None else taken_for_the_label(labels, settings)[0]
    meant = f" (it has {given})" if given else ""
    return (
        f"the input has no Namespace named {namespace} with label {label.key}{meant}, so "
        f"{label.key}={label.enabled} is assumed. To use another value: --namespace-label {label.key}=... To explain "
        "an object in a cluster: KIND/NAME (deploy/web)"
    )


def _live(
    names: list[str],
    namespace: str | None,
    kubeconfig: str | None,
    context: str | None,
    injector_namespace: str | None,
    user: Object,
) -> list[Explanation]:
    from injector.cli.explanation import explanation_of

    # The Kubernetes client takes a while to import; files need none.
    from injector.cli.live_setup import age_notes, entries_of_paths, live_sources, webhook_notes
    from injector.cli.manifest_objects import metadata_of
    from injector.cluster.blocking_client import BlockingClient
    from injector.pods.context import Namespace
    from injector.pods.misplaced_keys import misplaced_keys
    from injector.pods.workloads import pod_template

    explanations = []
    with BlockingClient(kubeconfig, context) as live:
        sources, problems = live_sources(live, injector_namespace)
        for name in names:
            obj, resource = live.find(name, namespace)
            within = metadata_of(obj).get("namespace")
            where = live.namespace(str(within)) if within else Namespace("")
            notes = [*(one.located for one in sources.snapshot.warnings), *problems, _REPLAYS]
            pod = pod_template(obj)
            if pod is not None:
                aged = age_notes(live, pod, where, sources.settings) if pod is obj else ()
                labels = metadata_of(pod).get("labels") or {}
                called = webhook_notes(live, where, labels, sources.settings.paths)
                notes = [*aged, *misplaced_keys(obj, sources.settings), *notes[:-1], *called, _REPLAYS]
            elif not sources.settings.paths:
                raise DocumentError(
                    f"{name}: has no pod template, and the injector's settings define no paths for other objects"
                )
            explanations.append(
                explanation_of(
                    obj, where, sources, live.host, notes, user=user, resource=resource, entry_of=entries_of_paths(live)
                )
            )
    return explanations
