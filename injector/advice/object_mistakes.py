"""What is wrong with a manifest and its objects: labels and annotations, pod templates, the app's own pod."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

from injector.advice import with_advice
from injector.advice.field_names import clear_help
from injector.advice.shapes import misshapen
from injector.diagnostics import Diagnostic, Path, spoken_path
from injector.injection import Injection
from injector.names import (
    cut,
    did_you_mean,
    flow_value,
    is_object_name,
    kind_of,
    legal_name,
    nearest,
    shortened,
    to_write,
)
from injector.pods.constraints import violations_of
from injector.pods.constraints.pod_view import invalid
from injector.pods.context import Namespace, Object, mapping
from injector.pods.fields import CONTAINER_LISTS, POD
from injector.pods.selectors import matches
from injector.pods.shape import spec_of, string_map, unknown_fields
from injector.pods.workloads import GROUPS, KINDS, object_name_of, pod_template_path, template_path_of
from injector.reasons import Effect, Reason
from injector.settings import Settings
from injector.templates.choice import origins_of
from injector.templates.parameter_schema import similar_names
from injector.templates.snapshot import Snapshot

#: How much of a key is shown.
_SHOWN = 60
_ADD = "add this field, or, if the object is a patch, build it first: kustomize build DIR | injector inject -"
#: Mappings beside a template that are none.
_KNOWN = ("metadata", "selector", "strategy", "updateStrategy", "status", "spec", "ordinals", "podFailurePolicy")


def taken_for_the_label(labels: Mapping[str, str], settings: Settings) -> tuple[str, str]:
    """The label that people take for the one that switches injection, and what to write for it; "" where none is."""
    label = settings.namespace_label
    if label.key in labels:
        return "", ""
    choices = dict.fromkeys(settings.yes_values, label.enabled) | dict.fromkeys(settings.no_values, label.disabled)
    choices |= {choice: choice for choice in (label.enabled, label.required, label.disabled)}
    for key, value in labels.items():
        alike = "inject" in key.lower() or nearest(key.rpartition("/")[2], (label.key,), cutoff=0.75)
        near = nearest(value, choices, cutoff=0.8) if alike else None
        if near is not None:
            return f"{key}={value}", f"{label.key}={choices[near]}"
    return "", ""


def namespace_mistakes(namespace: Object, settings: Settings) -> Iterator[str]:
    """A sentence for each key of a Namespace that people take for the label which switches injection on."""
    label, metadata = settings.namespace_label, mapping(namespace.get("metadata"))
    labels, values = mapping(metadata.get("labels")), (label.enabled, label.required, label.disabled)
    spellings = (label.key, f"{settings.prefix}/{label.key}", f"{settings.prefix.partition('.')[0]}-{label.key}")
    right = f"only the label {label.key} enables injection in a namespace: labels: {{{label.key}: {label.enabled}}}"
    for key in mapping(metadata.get("annotations")):
        if key in (label.key, settings.inject_key):
            yield f"annotation {key} has no effect; {right}"
    for key, value in labels.items():
        if not isinstance(value, str):
            yield f"label {key} is {kind_of(value)}, and the API server refuses what is no string; put it in quotes"
        elif key == settings.inject_key or str(key).startswith(f"{settings.prefix}/{label.key}"):
            yield f"label {key} has no effect; {right}"
        elif key == settings.templates_key or f".{settings.prefix}/" in str(key):
            yield f"label {cut(str(key), _SHOWN)} has no effect; write it as an annotation"
        elif label.key not in labels and value in values and nearest(str(key), spellings, cutoff=0.8):
            yield f"label {key} has no effect; did you mean {label.key}?"


def missing_template(obj: Object) -> Diagnostic | None:
    """What is wrong with a workload of Kubernetes' own that has no pod template at its place, by the first missing key.

    An error where something else stands in that place. A warning where nothing does: it may be a patch of Kustomize's.
    """
    right = template_path_of(obj)
    if right is None or pod_template_path(obj) == right:
        return None
    owner: Object = obj
    path: Path = ()
    for key in (*right, "spec"):
        path = (*path, key)
        if not isinstance(owner.get(key), dict):
            break
        owner = owner[key]
    kind, missing = str(obj.get("kind")), str(path[-1])
    candidates = [key for key, value in owner.items() if isinstance(value, dict) and key not in _KNOWN]
    help_ = ""
    if owner.get(missing) is not None:
        help_ = "it has to be a mapping"
    elif (elsewhere := pod_template_path(obj)) is not None:
        help_ = f"put {spoken_path(elsewhere)} into {spoken_path(right[:-1])}"
    elif near := nearest(missing, map(str, candidates)) or next(
        filter(lambda key: "spec" in owner[key], candidates), ""
    ):
        help_ = f"write {missing}, not {near}"
    elif "containers" in owner:
        help_ = f"put containers into {spoken_path((*right, 'spec'))}"
    message = f"there is no mapping here, and every {kind} has its pod template here"
    return Diagnostic(Reason.MALFORMED_POD.label, "error" if help_ else "warning", message, help_ or _ADD, path)


#: How many mistakes of each kind in one pod lead to a warning.
_MOST = 5
#: Unknown fields for which `misplaced_keys` has the warning.
_TOLD_APART = (("spec", "annotations"), ("spec", "labels"))
#: Results after which the pod has all that it is to have.
_WHOLE = (Reason.INJECTED, Reason.ALREADY_INJECTED, Reason.NOTHING_TO_ADD)


def mistakes_in(obj: Object, pod: Object, result: Injection) -> Iterator[str]:
    """A sentence for each mistake in an object's pod. Kinds of other API groups may have more fields than a pod.

    What is not whole without a template, such as a container that customises a sidecar, is judged after the injection.
    """
    refused = [f"{spoken_path(path)}: {message}" for path, message in islice(misshapen(pod), _MOST)]
    if not refused and _is_kubernetes(obj):
        for fault in _of_workload(obj, pod):
            yield f"the API server refuses {object_name_of(obj)}: {fault.sentence}"
        code, judged = Reason.INVALID_POD.label, violations_of(result.object, Namespace(""))
        faults = (fault for fault in judged if fault.code == code and fault.path[-1:] != ("image",))
        refused = [with_advice(fault).sentence for fault in islice(faults, _MOST)]
    for sentence in dict.fromkeys(refused):
        yield f"the API server refuses this pod: {sentence}"
    for path, message in islice(_unknown_fields(pod), _MOST) if _is_kubernetes(obj) else ():
        yield f"{spoken_path(path)}: {message}"


def _of_workload(obj: Object, pod: Object) -> Iterator[Diagnostic]:
    """What the API server refuses of an object that holds a pod, as its name, and of a workload beside its pods."""
    name, path = mapping(obj.get("metadata")).get("name"), template_path_of(obj)
    if name and not is_object_name(name):
        yield invalid(("metadata", "name"), f"it is {shortened(name)}", to_write(legal_name(str(name))), value=name)
    if path is None:
        return
    selector = mapping(mapping(mapping(obj.get("spec")).get("selector")).get("matchLabels"))
    if not matches({"matchLabels": selector}, string_map(pod, "labels")):
        help_ = f"give the pod template the labels {flow_value(selector)}"
        yield invalid(("spec", "selector"), "it does not match the pod template", help_, value=selector)
    policy = spec_of(pod).get("restartPolicy") or "Always"
    allowed = dict.fromkeys(("Job", "CronJob"), ("OnFailure", "Never")).get(obj["kind"], ("Always",))
    if policy not in allowed:
        place, help_ = (*path, "spec", "restartPolicy"), f"allowed: {', '.join(allowed)}"
        yield invalid(place, f"it is {shortened(policy)}", help_, value=policy, allowed=allowed)


def without_image(obj: Object, pod: Object, result: Injection) -> Iterator[str]:
    """A sentence for each container of the app that has no image after an injection, such as a misspelt sidecar.

    In kinds of other API groups, whose controllers may set an image, only one with nearly the name of a sidecar.
    """
    own = {name for _, name, _ in _containers(pod)}
    sidecars = [name for _, name, _ in _containers(result.object) if name not in own]
    for field, name, container in _containers(result.object) if result.reason in _WHOLE else ():
        near = nearest(name, sidecars, cutoff=0.75)
        if not container.get("image") and (near or _is_kubernetes(obj)):
            to_do = did_you_mean(near, "add an image")
            yield f"spec.{field}[{cut(name, _SHOWN)}] has no image, so the API server refuses the pod; {to_do}"


def _is_kubernetes(obj: Object) -> bool:
    """Whether an object's kind is Kubernetes' own."""
    return str(obj.get("apiVersion", "")).rpartition("/")[0] in GROUPS and obj.get("kind") in KINDS


def _containers(pod: Object) -> Iterator[tuple[str, str, Object]]:
    """The containers of a pod: their list, their name, and what they are."""
    spec = spec_of(pod)
    for field in CONTAINER_LISTS:
        for container in spec.get(field) or ():
            yield field, str(container.get("name")), container


def cause_of(result: Injection, pod: Object) -> tuple[Path, str] | None:
    """The mistake for which a template does not find the app's port: where it is, and what is wrong."""
    if result.reason is not Reason.NOT_SERVED:
        return None
    mistakes = (*islice(misshapen(pod), _MOST), *islice(_unknown_fields(pod), _MOST))
    return next(
        ((path, message) for path, message in mistakes if any("port" in str(step).lower() for step in path)), None
    )


def _unknown_fields(pod: Object) -> Iterator[tuple[Path, str]]:
    """The fields that Kubernetes does not have, where it is plain what belongs there: path, and what to do."""
    for path, _, _ in unknown_fields(pod):
        name, place = str(path[-1]), POD.at(path[:-1])
        if path not in _TOLD_APART and (help_ := clear_help(name, place)):
            yield path, f"there is no field `{cut(name, _SHOWN)}` here; {help_}"


def idle_annotations(
    pod: Object, result: Injection, namespace: Namespace, snapshot: Snapshot, names: Sequence[str] | None
) -> Iterator[str]:
    """A sentence for each template that an annotation sets a parameter of, where the pod gets others.

    `names` are the templates of the command line. Those at paths are left alone: a pod's annotations set their
    parameters too.
    """
    settings, ending = snapshot.settings, snapshot.settings.parameter_suffix("")
    settled = (Reason.ALREADY_INJECTED, Reason.NOTHING_TO_ADD)
    if (result.effect is Effect.SKIP and result.reason not in settled) or result.reason is Reason.MALFORMED_POD:
        return
    chosen = origins_of(pod, namespace, settings, snapshot.catalog, required=result.decision.required)
    gets = [name for name, _ in result.templates] or list(chosen if names is None else names)
    if not gets or not all(name in snapshot.catalog.injected_names for name in gets):
        return
    active = {*gets, *chosen, *(names or ()), *(name for path in settings.paths.values() for name in path.templates)}
    option = "--templates " if names is not None else f"{settings.templates_key}: "
    for key in string_map(pod, "annotations"):
        name, found, _ = key.partition(ending)
        if found and name in snapshot.catalog.injected_names and name not in active:
            active.add(name)
            yield (
                f"pod annotation {cut(key, 120)} has no effect, because the pod gets only {', '.join(gets)}; to also "
                f"get {name}, write {option}{','.join((*gets, name))}"
            )


#: A domain of a sidecar injector's.
_INJECTS = re.compile(r"inject", re.IGNORECASE)
#: Systems that put sidecars into pods, by the domain of their keys; behind it the page that lists these.
_SYSTEMS = {
    "istio.io": "Istio",  # https://istio.io/latest/docs/reference/config/annotations/
    "linkerd.io": "Linkerd",  # https://linkerd.io/2/reference/proxy-configuration/
    "vault.hashicorp.com": "Vault",  # https://developer.hashicorp.com/vault/docs/platform/k8s/injector/annotations
    "consul.hashicorp.com": "Consul",  # https://developer.hashicorp.com/consul/docs/k8s/annotations-and-labels
    "dapr.io": "Dapr",  # https://docs.dapr.io/reference/arguments-annotations-overview/
    "kuma.io": "Kuma",  # https://kuma.io/docs/latest/reference/kubernetes-annotations/
}


def _system(key: str, settings: Settings) -> str:
    """The system that a key of an annotation or label is for; "" for none that is known, and for keys of our prefix."""
    domain = key.rpartition("/")[0]
    if domain.endswith(settings.prefix):
        return ""
    return next((name for end, name in _SYSTEMS.items() if f".{domain}".endswith(f".{end}")), "")


def of_other_systems(pod: Object, namespace: Namespace, settings: Settings) -> Iterator[str]:
    """A sentence for each system that annotations or labels of a pod or of its namespace are for."""
    keys: dict[tuple[str, str], list[str]] = {}
    for kind, entries in (
        ("pod annotation", string_map(pod, "annotations")),
        ("pod label", string_map(pod, "labels")),
        ("namespace annotation", namespace.annotations),
        ("namespace label", namespace.labels),
    ):
        for key in sorted(entries):
            if system := _system(key, settings):
                keys.setdefault((system, kind), []).append(key)
    for (system, kind), (first, *others) in keys.items():
        more = f" (as are {len(others)} more)" if others else ""
        yield f"{kind} {cut(first, _SHOWN)} is for {system} and has no effect here{more}"


def foreign_names(pod: Object, result: Injection, namespace: Namespace, snapshot: Snapshot) -> Iterator[str]:
    """A sentence for each annotation and label whose key is nearly one of ours, and for those of our prefix that are
    none.
    """
    settings = snapshot.settings
    ours = {key.rpartition("/")[2]: key for key in (settings.inject_key, settings.templates_key)}
    own = {*ours.values(), *settings.mark_keys}
    reported = {warning.fields.get("key") for warning in result.warnings}
    annotations = string_map(pod, "annotations")
    if settings.status_key not in annotations:
        parameter = f"{settings.parameter_suffix('<template>')}<name>"
        for key in sorted(annotations.keys() - reported - own):
            if key.startswith(f"{settings.prefix}/"):
                to_do = f"write {' or '.join(ours.values())}, or, to set a parameter, {parameter}"
                yield f"pod annotation {cut(key, _SHOWN)} has no effect; {to_do}"
    of_namespaces = {name: key for name, key in ours.items() if key == settings.templates_key}
    for kind, entries, effective in (
        ("pod annotation", annotations, ours),
        ("pod label", string_map(pod, "labels"), ours),
        ("namespace annotation", namespace.annotations, of_namespaces),
    ):
        others = entries.keys() - {settings.namespace_label.key}  # which has its own warning
        for key in sorted(key for key in others if not _system(key, settings)):
            if to_do := to_write(_nearly_ours(key, effective, result, snapshot)):
                yield f"{kind} {cut(key, 120)} has no effect; {to_do}"


def _nearly_ours(key: str, ours: dict[str, str], result: Injection, snapshot: Snapshot) -> str:
    """The key that may be meant by one with another prefix than ours; "" for none.

    Prefix and name have to be nearly ours, so that the annotations of other tools are left alone.
    """
    settings, catalog = snapshot.settings, snapshot.catalog
    domain, _, name = (key if "/" in key else key.replace(".", "/", 1)).rpartition("/")
    if domain.endswith(settings.prefix):
        return ""
    prefixes = {settings.parameter_suffix(template.name)[:-1]: template for template in catalog}
    near = nearest(domain, (settings.prefix, *prefixes), cutoff=0.75)
    template = catalog.get(domain) or prefixes.get(near or "")
    owners = [template] if template is not None else [applied.template for applied in result.applied if near]
    keys = {
        parameter: f"{settings.parameter_suffix(owner.name)}{parameter}"
        for owner in owners
        for parameter in similar_names(owner.parameters, name)
    }
    if template is None and (near or _INJECTS.search(domain or name)):
        keys |= ours
    return keys.get(nearest(name, keys, cutoff=0.75) or "", "")
