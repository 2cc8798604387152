"""`injector explain`: why a pod has, or has not, its sidecar, and what the settings' `paths` make of an object.

Replays the decision and says that it does.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from injector.cli.inputs import with_files
from injector.cli.options import (
    CLUSTER_OPTIONS,
    NAMES_OPTION,
    NAMESPACE_OPTIONS,
    SOURCE_OPTIONS,
    STRICT_OPTION,
    CommonOptions,
    as_one,
    flag,
    one_of,
    with_options,
    with_user,
)
from injector.errors import DocumentError

if TYPE_CHECKING:
    from injector.cli.explanation import Explanation
    from injector.pods.context import Object
    from injector.settings import Settings
    from injector.templates.snapshot import Snapshot

#: `pod/NAME`, `deploy/NAME`, `deployment.apps/NAME`: an object in a cluster rather than a file.
_LIVE = re.compile(r"[A-Za-z]+(?:\.[a-z0-9.-]+)?/[a-z0-9]([-a-z0-9.]*[a-z0-9])?")

_REPLAYS = (
    "this shows the decision with the current settings and templates; the steps of the original one are not stored"
)


@click.command()
@with_files("targets", "FILE|KIND/NAME...")
@NAMES_OPTION
@with_options(*SOURCE_OPTIONS, *NAMESPACE_OPTIONS, *CLUSTER_OPTIONS)
@with_user
@STRICT_OPTION
@flag("-v --verbose", "Show each step of the decision, and every parameter.")
@one_of("--output form", "text json html", "Output format. html: one page, for a ticket or a chat.")
@as_one(CommonOptions)
def explain(targets: tuple[str, ...], options: CommonOptions, strict: bool, verbose: bool, form: str) -> int:
    """Explain why a pod has or does not have a sidecar, and what the templates under `paths` in the settings do to
    an object.

    Explains manifests (FILE, a folder, a URL, or - for standard input), or a pod or workload in a cluster: pod/NAME,
    deploy/NAME, sts/NAME. If the settings have `paths`, it explains objects of every kind: service/NAME. The output
    shows the result and its reason, then what is added, and where each parameter's value came from. If a pod gets no
    sidecar, the output also shows every step of the decision and what the step saw.

    Of a pod in a cluster, it shows first what this pod has: its sidecars, whether one is missing, outdated, changed or
    not ready, why, and what to do; of a workload, how many of its pods. Exits with 1 if a pod is not created, starts or
    runs without a sidecar that it should get, or has a sidecar that failed.

    For manifests, a namespace counts as enabled unless the input or --namespace-label says otherwise.

    For a cluster, the command uses the cluster's current settings and templates. It repeats the decision with them; the
    original decision is not stored.
    """
    from injector.cli.explanation_text import show_explanation
    from injector.cli.report_html import explanations_as_html

    left_out = False
    if live_names := _live_names(targets):
        if options.templates is not None:
            raise click.UsageError(
                "--templates is for manifests; in a cluster, annotations and settings select the templates."
            )
        explanations = _live(live_names, options)
    else:
        explanations, left_out = _files(targets, options)
    if form == "html":
        click.echo(explanations_as_html(explanations).encode(), nl=False)
    else:
        show_explanation(explanations, form, verbose=verbose)
    warned = left_out or any(explanation.warned for explanation in explanations)
    return int((strict and warned) or any(explanation.bad for explanation in explanations))


def _live_names(targets: Sequence[str]) -> list[str]:
    """The names of objects in a cluster, if all targets are; none if all are files.

    Raises click.UsageError for both at once, DocumentError for what can be neither.
    """
    live_names = [t for t in targets if _LIVE.fullmatch(t) and not Path(t).exists()]
    if live_names and len(live_names) < len(targets):
        raise click.UsageError("Either files or names in a cluster (pod/NAME), not both at once.")
    if lost := [t for t in targets if "/" not in t and "." not in t and t != "-" and not Path(t).exists()]:
        raise DocumentError(f"{lost[0]}: no such file; for an object in a cluster write KIND/NAME: deploy/{lost[-1]}")
    return live_names


def _files(files: tuple[str, ...], options: CommonOptions) -> tuple[list[Explanation], bool]:
    """An explanation of each object with a pod, and whether there was a warning about none of them."""
    from injector.advice.object_mistakes import namespace_mistakes
    from injector.cli.documents import read_manifests
    from injector.cli.explanation import explanation_of
    from injector.cli.from_cluster import sources_and_namespaces
    from injector.cli.injection_sources import warn_of
    from injector.cli.manifest_objects import objects_in, without_pod
    from injector.pods.workloads import pod_template

    documents = read_manifests(files)
    sources, namespaces = sources_and_namespaces(options, objects_in(documents))
    warnings, explanations = [*sources.warnings, *namespaces.mistaken_option()], list["Explanation"]()
    snapshot = sources.snapshot
    objects = [(o, d.place) for d in documents for o in objects_in([d])]
    telling = [(o, place) for o, place in objects if pod_template(o) is not None or _is_asked_about(o, snapshot)]
    mistake = without_pod((o, place) for o, place in telling if pod_template(o) is not None)
    if mistake or not (telling or sources.settings.paths):
        mistake = mistake or without_pod(objects) or f"{', '.join(files)}: no object has a pod or a pod template"
        raise DocumentError(mistake)
    for obj, place in telling or objects:
        mistakes, facts = [warning.located for warning in snapshot.warnings], [f"with {sources.origin}"]
        assumed = namespaces.assumed(obj)
        if pod_template(obj) is not None:
            name = namespaces.name_for(obj)
            of_namespace = namespace_mistakes(namespaces.found.get(name, {}), sources.settings)
            mistakes = [*(f"namespace/{name}: {mistake}" for mistake in of_namespace), *mistakes]
            if assumed:
                facts.append(_assumed(name, sources.settings))
        namespace = namespaces.of(obj)
        explanation = explanation_of(
            obj, namespace, sources, place, mistakes, options.templates, user=options.user, facts=facts
        )
        explanation = replace(explanation, assumed=assumed)
        explanations.append(explanation if options.templates_dirs else _with_hint(explanation))
    if not any(explanation.bad for explanation in explanations):
        results = (explanation.injection for explanation in explanations)
        warnings += sources.idle_parameters(n for result in results if result for n, _ in result.templates)
    return explanations, warn_of(warnings)


def _with_hint(explanation: Explanation) -> Explanation:
    """The explanation; of a template that there is not with the option of templates in a folder."""
    from injector.reasons import Reason

    fault = explanation.injection and explanation.injection.diagnostic
    if not fault or fault.code != Reason.UNKNOWN_TEMPLATE.label or "value" not in fault.fields:  # one of a team
        return explanation
    return replace(explanation, facts=(*explanation.facts, "for a template in a folder, add --templates-dir DIR"))


def _is_asked_about(obj: Object, snapshot: Snapshot) -> bool:
    """Whether a template at a path is for objects of this kind, in whatever namespace and with whatever labels."""
    from injector.pods.resource_kinds import resource_of
    from injector.policies.request import named_resources

    templates = snapshot.catalog.found(name for at in snapshot.settings.paths.values() for name in at.templates)
    resources = list(named_resources(templates))
    try:
        return resource_of(obj, resources) in resources
    except ValueError:
        return False


def _assumed(namespace: str, settings: Settings) -> str:
    """A sentence that a label is assumed."""
    label = settings.namespace_label
    return (
        f"the input has no Namespace named {namespace} with label {label.key}, so {label.key}={label.enabled} is "
        f"assumed. To use another value: --namespace-label {label.key}=... To explain an object in a cluster: KIND/NAME"
        " (deploy/web)"
    )


def _live(names: list[str], options: CommonOptions) -> list[Explanation]:
    # The Kubernetes client takes a while to import; files need none.
    from injector.cli.explanation import explanation_of
    from injector.cli.fleet import Fleet
    from injector.cli.live_pods import live_pods
    from injector.cli.live_setup import entries_of_paths, event_notes, live_fleet, live_sources, webhook_notes
    from injector.cli.manifest_objects import metadata_of
    from injector.cli.repair_lease import rest_notes
    from injector.pods.context import Namespace
    from injector.pods.workloads import pod_template

    explanations, fleets = [], dict[str, Fleet]()
    with options.connect() as live:
        sources, problems = live_sources(live, options.injector_namespace)
        for name in names:
            obj, resource = live.find(name, options.namespace)
            within = metadata_of(obj).get("namespace")
            space = live.namespace(str(within)) if within else Namespace("")
            mistakes, facts = [*(warning.located for warning in sources.snapshot.warnings), *problems], [_REPLAYS]
            pod, called, pods = pod_template(obj), True, None
            if pod is not None:
                labels = metadata_of(pod).get("labels") or {}
                facts[:0], called = webhook_notes(live, space, labels, sources.settings.paths)
                fleet = fleets.setdefault(space.name, live_fleet(live, sources, space.name))
                pods = live_pods(live, obj, space, fleet)
                facts += rest_notes(live, sources.settings, sources.injector_namespace, space.name)
            elif not sources.settings.paths:
                raise DocumentError(
                    f"{name}: has no pod template, and the injector's settings define no paths for other objects"
                )
            explanation = explanation_of(
                obj,
                space,
                sources,
                live.host,
                mistakes,
                user=options.user,
                resource=resource,
                entry_of=entries_of_paths(live),
                facts=facts,
            )
            explanation = replace(explanation, live=pods, called=called)
            if explanation.unready:
                explanation = replace(explanation, facts=(*event_notes(live, obj), *explanation.facts))
            explanations.append(explanation)
    return explanations
