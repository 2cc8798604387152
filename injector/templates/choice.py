"""Which templates a pod gets: pod annotation, namespace annotation, matching selectors, the settings' default."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import msgspec

from injector.diagnostics import Diagnostic
from injector.errors import InjectionError
from injector.names import SEARCHES, TEAM, cut, nearest, shortened, suggestion, template_name, to_write, unqualified
from injector.pods.context import Namespace, Object, Workload, mapping, mapping_at, mappings, mappings_at
from injector.pods.fields import CONTAINER_LISTS
from injector.pods.selectors import matches
from injector.pods.shape import spec_of, string_map
from injector.pods.workloads import workload_of_pod
from injector.reasons import Effect, Reason
from injector.settings import Settings
from injector.templates.snapshot import Catalog
from injector.templates.team import team_template
from injector.templates.template import WHOLE, Stage, Template, percent
from injector.templates.versions import draw

#: What people write in place of a comma, and what `template_name` makes of it.
_BETWEEN = " ;|+&-"


class Origin(NamedTuple):
    """Where the name of a template came from, and who can change that."""

    text: str
    changed_by: str
    of_pod: bool = False


class Choice(msgspec.Struct, frozen=True):
    """The templates in the order they apply, where their names came from, and warnings for people."""

    templates: tuple[Template, ...]
    source: str
    warnings: tuple[Diagnostic, ...] = ()


def names_in(value: str) -> list[str]:
    """The templates of a comma-separated list of names, in order, each once."""
    return list(dict.fromkeys(template_name(name.strip()) for name in value.split(",") if name.strip()))


def choose(
    pod: Object,
    namespace: Namespace,
    settings: Settings,
    catalog: Catalog,
    *,
    required: bool,
    names: Sequence[str] | None = None,
    workload: Workload | None = None,
) -> Choice:
    """The templates for a pod; `names` (a command line option) overrides every other source.

    `workload` is the one whose pods a manifest describes; None finds it from the pod's owner. By it a template gives
    way to its next version.

    In a `required` namespace a pod may add templates but not drop those that its namespace gives it.

    Raises InjectionError: NO_TEMPLATE, UNKNOWN_TEMPLATE, TEMPLATE_NOT_ALLOWED, HOST_NETWORK or WINDOWS.
    """
    key = settings.templates_key
    annotations = string_map(pod, "annotations")
    origins = origins_of(pod, namespace, settings, catalog, required=required, names=names)
    if not origins:
        raise InjectionError(
            Reason.NO_TEMPLATE,
            "no template for this pod",
            help=f"set annotation {key} on it or its namespace, or `templates` in the settings"
            + (f" (there are: {', '.join(catalog.injected_names)})" if catalog.injected_names else ""),
            fields={"key": key, "allowed": catalog.injected_names},
        )
    templates = dict.fromkeys(
        team_template(name, namespace, settings, catalog, by_pod=origin.of_pod, required=required)
        if name.startswith(TEAM)
        else _find(name, catalog, origin.text)
        for name, origin in origins.items()
    )
    # what a team's template makes, no template of the cluster sees
    chosen = sorted(templates, key=lambda template: template.name.startswith(TEAM))
    source = ", and ".join(dict.fromkeys(origin.text for origin in origins.values()))
    choice = _serving(pod, namespace, chosen, source, required)
    if any(catalog.next_version(template.name) for template in choice.templates):
        choice = _with_versions(choice, pod, namespace, catalog, workload or workload_of_pod(pod))
    lost = (
        *misspelt_annotations("pod annotation", annotations, settings, choice.templates),
        *misspelt_annotations("namespace annotation", namespace.annotations, settings, choice.templates),
        *_lost("pod", annotations, settings, catalog),
        *_lost("namespace", namespace.annotations, settings, catalog),
    )
    return msgspec.structs.replace(choice, warnings=(*choice.warnings, *lost)) if lost else choice


def misspelt_annotations(
    kind: str, entries: Mapping[str, str], settings: Settings, templates: Sequence[Template] = ()
) -> Iterator[Diagnostic]:
    """Annotations or labels with the injector's prefix that mean nothing, and are spelled nearly as one that does.

    Others are left alone: the prefix may be that of another injector, which knows more of them.
    """
    start = f"{settings.prefix}/"
    asking_keys = (settings.inject_key, settings.templates_key)
    meaningful_keys = (*asking_keys, settings.status_label, *settings.mark_keys)
    unknown = [key for key in entries if key.startswith(start) and key not in meaningful_keys]
    if not unknown:  # as with most pods
        return
    spellings = {f"{of.name}.{name}": f"{of.name}.{start}{name}" for of in templates for name in of.parameters}
    spellings |= {parameter.rpartition(".")[2]: key for parameter, key in spellings.items()}
    words = {key.rpartition("/")[2]: key for key in asking_keys}
    words |= {"enabled": settings.inject_key, "templates": settings.templates_key}
    for key in unknown[:SEARCHES]:
        name = key[len(start) :]
        if near := spellings.get(name) or words.get(nearest(name, words, cutoff=0.75) or ""):
            message = f"{kind} {cut(key, 120)} has no effect"
            yield Diagnostic(
                "unknown-annotation", "warning", message, f"did you mean {near}?", fields={"key": key, "nearest": near}
            )
    if more := len(unknown[SEARCHES:]):
        message = f"{more} more {kind}s that begin with {start} were not checked for spelling mistakes"
        yield Diagnostic("unknown-annotation", "warning", message, fields={"more": more})


def _lost(whose: str, annotations: Mapping[str, str], settings: Settings, catalog: Catalog) -> Iterator[Diagnostic]:
    """Annotations for parameters of templates that do not exist: most likely a typing mistake."""
    ending = settings.parameter_suffix("")
    owners = [(key, unqualified(key[:at])) for key in annotations if (at := key.find(ending)) > 0]
    # what is said of a team's template in its namespace is for the pods that name it
    unknown = [(key, name) for key, name in owners if not (catalog.get(name) or name.startswith(TEAM))]
    for key, name in unknown[:SEARCHES]:
        yield Diagnostic(
            Reason.UNKNOWN_TEMPLATE.label,
            "warning",
            f"{whose} annotation {cut(key, 120)}: no template {shortened(name)}",
            suggestion(name, catalog.names),
            fields={"key": key, "value": name, "nearest": nearest(name, catalog.names)},
        )
    if more := len(unknown[SEARCHES:]):
        yield Diagnostic(
            Reason.UNKNOWN_TEMPLATE.label,
            "warning",
            f"{more} more {whose} annotations are for templates that do not exist",
            fields={"more": more},
        )


def origins_of(
    pod: Object,
    namespace: Namespace,
    settings: Settings,
    catalog: Catalog,
    *,
    required: bool,
    names: Sequence[str] | None = None,
) -> dict[str, Origin]:
    """The templates that are wanted for a pod, in the order they apply; whether they exist is not looked at."""
    key = settings.templates_key
    annotation = string_map(pod, "annotations").get(key)
    if names is not None:
        return dict.fromkeys(names, Origin("the command line", "you"))
    by_pod = dict.fromkeys(names_in(annotation or ""), Origin(f"pod annotation {key}", "the pod's author", of_pod=True))
    if annotation is not None and not required:
        return by_pod
    if key in namespace.annotations:
        origin = Origin(f"namespace annotation {key}", f"anyone who can annotate namespace {namespace.name}")
        origins = dict.fromkeys(names_in(namespace.annotations[key]), origin)
    elif matching := catalog.matching(string_map(pod, "labels"), namespace):
        origin = Origin("the `selector` in template.yaml", "a cluster admin")
        origins = {template.name: origin for template in matching}
    else:
        origins = dict.fromkeys(settings.templates, Origin("the settings' default", "a cluster admin"))
    return {**origins, **{name: origin for name, origin in by_pod.items() if name not in origins}}


def named_template(name: str, catalog: Catalog, names: Sequence[str], source: str) -> Template:
    """The template of a name that comes from a source. Raises InjectionError: UNKNOWN_TEMPLATE, with one of `names`."""
    template = catalog.get(name)
    if template is None:
        several = _joined(name, names)
        raise InjectionError(
            Reason.UNKNOWN_TEMPLATE,
            f'no template "{name[:60]}" ({source})',
            help=to_write(several, suggestion(name, names)),
            fields={"value": name, "nearest": several or nearest(name, names), "origin": source},
        )
    return template


def _joined(name: str, names: Sequence[str]) -> str:
    """The list of names of which this one is made, with something else than commas between them; "" for no such one."""
    for first in names if name not in names else ():
        rest = name.removeprefix(first)
        if name != rest != (following := rest.lstrip(_BETWEEN)) and (more := _joined(following, names)):
            return f"{first},{more}"
    return name if name in names else ""


def _find(name: str, catalog: Catalog, source: str) -> Template:
    template = named_template(name, catalog, catalog.injected_names, source)
    if name not in catalog.injected_names:
        raise InjectionError(
            Reason.TEMPLATE_NOT_ALLOWED,
            f"template {template.name} ({source}) cannot be injected, because {template.why_not_injected}",
            help="list it under `paths:` in the settings instead",
            fields={"template": template.name},
        )
    return template


def _serving(pod: Object, namespace: Namespace, templates: list[Template], source: str, required: bool) -> Choice:
    """Leave out the templates that do not serve such a pod, unless none would be left or none may be left out."""
    serving = []
    refusals = []
    for template in templates:
        refusal = _refusal(template, pod, namespace)
        if refusal is None:
            serving.append(template)
        elif required or refusal.reason.effect(required=False) is not Effect.SKIP:
            raise refusal
        else:
            refusals.append(refusal)
    if not serving:
        raise refusals[0]
    return Choice(
        tuple(serving), source, tuple(replace(refusal.diagnostic, severity="warning") for refusal in refusals)
    )


def template_for(name: str, pod: Object, namespace: Namespace, catalog: Catalog) -> Template | None:
    """The template of a name as a pod gets it: its next version, where the pod's workload has that; None for none."""
    template, version = catalog.get(name), catalog.next_version(name)
    return version if version and _gets(version, pod, namespace, workload_of_pod(pod)) else template


def _gets(version: Template, pod: Object, namespace: Namespace, workload: Workload) -> bool | None:
    """Whether a pod gets a next version; None where its manifest does not tell.

    A version that does not serve such a pod leaves it to the template.
    """
    stage = version.stage or Stage()
    if not stage.selects(namespace, string_map(pod, "labels")) or _refusal(version, pod, namespace) is not None:
        return False
    if 0 < stage.share < WHOLE and not workload.settled:
        return None
    return draw(version.name, namespace.name, workload) < stage.share


def _with_versions(choice: Choice, pod: Object, namespace: Namespace, catalog: Catalog, workload: Workload) -> Choice:
    """The choice with next versions in place of the templates that give way to them."""
    templates, sources, warnings = [], [choice.source], [*choice.warnings]
    for template in choice.templates:
        version = catalog.next_version(template.name)
        if version is None or version.stage is None:
            templates.append(template)
            continue
        gets, at = _gets(version, pod, namespace, workload), percent(draw(template.name, namespace.name, workload))
        if gets is None:
            at, message = (
                "not known offline",
                f"whether it gets the next version {version.own_name} is not known offline",
            )
            fields = {"template": template.name, "version": version.own_name, "kind": workload.kind}
            warnings.append(Diagnostic("version-not-known-offline", "warning", message, fields=fields))
        templates.append(version if gets else template)
        which = f"in place of {template.name}" if gets else "is not for it"
        sources.append(f"next version {version.own_name} {which} (stage: {version.stage.words}; this workload: {at})")
    return Choice(tuple(templates), "; ".join(sources), tuple(warnings))


def _refusal(template: Template, pod: Object, namespace: Namespace) -> InjectionError | None:
    spec, fields = spec_of(pod), {"template": template.name}
    if template.namespaces is not None and not matches(template.namespaces, namespace.labels):
        return InjectionError(
            Reason.TEMPLATE_NOT_ALLOWED,
            f"template {template.name} may not be used in namespace {namespace.name}: the template's `namespaces` "
            "does not match the namespace's labels",
            fields=fields,
        )
    if is_windows(spec):
        return InjectionError(Reason.WINDOWS, f"template {template.name} does not support Windows pods", fields=fields)
    if spec.get("hostNetwork") is True and template.host_network == "skip":
        return InjectionError(
            Reason.HOST_NETWORK, f"template {template.name} does not support pods with hostNetwork: true", fields=fields
        )
    return None


#: The labels that name a node's operating system: https://kubernetes.io/docs/reference/labels-annotations-taints/
_OS = ("kubernetes.io/os", "beta.kubernetes.io/os")


def is_windows(spec: Object) -> bool:
    """Whether a pod's spec says that it is for Windows nodes, and nothing in it says that it is for others.

    It says so by the nodes that it may run on; where these may be of either system, by `windowsOptions`. Which fields
    the API server refuses is another matter, and goes by `os` alone: see `constraints.platform`.
    https://kubernetes.io/docs/concepts/scheduling-eviction/assign-pod-node/#node-affinity
    """
    terms: Any = spec
    for field in ("affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms"):
        terms = mapping(terms).get(field)
    selectors = [_of_os(term) for term in mappings(terms)] or [{}]
    systems = [system for system in ("windows", "linux") if _may_run_on(system, spec, selectors)]
    return systems == ["windows"] or (len(systems) > 1 and _has_windows_options(spec))


def _may_run_on(system: str, spec: Object, selectors: Sequence[Object]) -> bool:
    """Whether nodes of an operating system fulfil a pod's `os`, its node selector, and one of these label selectors."""
    labels, selector = dict.fromkeys(_OS, system), mapping_at(spec, "nodeSelector")
    return (
        (mapping_at(spec, "os").get("name") or system) == system
        and all(selector.get(label, system) == system for label in _OS)
        and any(matches(term_selector, labels) for term_selector in selectors)
    )


def _has_windows_options(spec: Object) -> bool:
    """Whether the pod or a container has settings that only Windows knows."""
    parts = [spec, *(container for field in CONTAINER_LISTS for container in mappings_at(spec, field))]
    options = (mapping_at(mapping_at(part, "securityContext"), "windowsOptions") for part in parts)
    return any(value is not None for fields in options for value in fields.values())


def _of_os(term: Object) -> Object:
    """What a term of a node affinity asks of a node's operating system, as a label selector."""
    expressions = mappings_at(term, "matchExpressions")
    return {"matchExpressions": [expression for expression in expressions if expression.get("key") in _OS]}
