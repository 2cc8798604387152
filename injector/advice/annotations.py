"""Annotations of a pod that change nothing: of other injectors, of templates that it does not get, or misspelt."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from injector.advice.units import boolean_of
from injector.injection import Injection
from injector.names import cut, legal_name, nearest
from injector.pods.context import Namespace, Object
from injector.pods.fields import CONTAINER_LISTS
from injector.pods.shape import spec_of, string_map
from injector.reasons import Effect, Reason
from injector.settings import Settings
from injector.templates.choice import origins_of
from injector.templates.families import declared_parameter
from injector.templates.snapshot import Snapshot


class _Other(NamedTuple):
    """Another injector: the annotations or labels that say yes or no to it, its containers, and how they go again."""

    name: str
    keys: tuple[str, ...]
    containers: tuple[str, ...]
    take_out: str = "use the manifest from before the other injector ran, or delete these containers by hand"

    @property
    def domains(self) -> tuple[str, ...]:
        """The last two labels of its annotations' prefixes, such as istio.io."""
        return tuple(".".join(key.partition("/")[0].split(".")[-2:]) for key in self.keys)


_OTHERS = (
    _Other("Istio", ("sidecar.istio.io/inject",), ("istio-proxy", "istio-init", "istio-validation")),
    _Other(
        "Linkerd",
        ("linkerd.io/inject",),
        ("linkerd-proxy", "linkerd-init", "linkerd-network-validator"),
        "run linkerd uninject FILE",
    ),
    _Other(
        "Consul",
        ("consul.hashicorp.com/connect-inject",),
        ("consul-dataplane", "consul-connect-inject-init"),
    ),
    _Other("Vault's agent injector", ("vault.hashicorp.com/agent-inject",), ("vault-agent", "vault-agent-init")),
    _Other("Dapr", ("dapr.io/enabled",), ("daprd",)),
    _Other(
        "Kuma",
        ("kuma.io/sidecar-injection", "kuma.io/inject"),
        ("kuma-sidecar", "kuma-init", "kuma-validation"),
    ),
    _Other("Open Service Mesh", ("openservicemesh.io/sidecar-injection",), ("osm-init",)),
    _Other("AWS App Mesh", ("appmesh.k8s.aws/sidecarInjectorWebhook",), ("proxyinit",)),
    _Other("OpenTelemetry's operator", ("sidecar.opentelemetry.io/inject",), ("otc-container",)),
)
#: What parameters are called elsewhere, where that is not their name here in another spelling.
_PARAMETERS = {
    "skip-inbound-ports": "exclude-inbound-ports",
    "skip-outbound-ports": "exclude-outbound-ports",
    "skip-subnets": "exclude-outbound-ranges",
    "exclude-outbound-ip-ranges": "exclude-outbound-ranges",
    "include-outbound-ip-ranges": "include-outbound-ranges",
    "proxy-cpu": "cpu-request",
    "proxy-cpu-request": "cpu-request",
    "proxy-cpu-limit": "cpu-limit",
    "proxy-memory": "memory-request",
    "proxy-memory-request": "memory-request",
    "proxy-memory-limit": "memory-limit",
    "proxy-image": "image",
    "proxy-log-level": "log-level",
}
#: The names of their containers.
CONTAINERS = frozenset(name for other in _OTHERS for name in other.containers)
#: Results of pods that nobody asked about in the words of this injector.
_NOT_ASKED = (Reason.NOT_REQUESTED, Reason.POD_NOT_OPTED_IN)
#: Characters of a value that are repeated.
_SHOWN = 60


def foreign_choices(pod: Object, result: Injection, settings: Settings) -> Iterator[str]:
    """A sentence for each annotation or label that says yes or no to another injector, where this one does otherwise.

    None where the pod speaks to this injector too.
    """
    annotations = string_map(pod, "annotations")
    if result.decision.required or any(f"{settings.prefix}/" in key for key in annotations):
        return
    for kind, entries in (("annotation", annotations), ("label", string_map(pod, "labels"))):
        for injector in _OTHERS:
            for key in injector.keys:
                answer = "true" if entries.get(key) == "ingress" else boolean_of(entries.get(key, ""))  # of Linkerd's
                no = answer == "false" and result.reason is Reason.INJECTED
                if no or (answer == "true" and result.decision.reason in _NOT_ASKED):
                    choice = f'{settings.inject_key}: "{(settings.no_values if no else settings.yes_values)[0]}"'
                    yield (
                        f"pod {kind} {key}={entries[key]} is for {injector.name} and has no effect here; to get "
                        f"{'no' if no else 'a'} sidecar from this injector, set the annotation {choice}"
                    )


def foreign_parameters(pod: Object, result: Injection, settings: Settings) -> Iterator[str]:
    """A sentence for each annotation of another injector that sets what a template of this pod has a parameter for."""
    for key, value in string_map(pod, "annotations").items():
        domain, _, name = key.rpartition("/")
        injector = next((one for one in _OTHERS if domain.endswith(one.domains)), None)
        if injector is None or domain.endswith(settings.prefix):
            continue
        word = legal_name(re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "-", name))
        word = _PARAMETERS.get(word, word)
        own = next((one.template.name for one in result.applied if word in one.template.parameters), None)
        if own is not None:
            annotation = f'{own}.{settings.prefix}/{word}: "{cut(value, _SHOWN)}"'
            yield f"pod annotation {key} is for {injector.name} and has no effect here; write {annotation}"


def foreign_sidecars(pod: Object) -> str:
    """Whose sidecars a pod without a receipt has, and how they go again; "" where none are known."""
    spec = spec_of(pod)
    items = [item for field in CONTAINER_LISTS if isinstance(spec.get(field), list) for item in spec[field]]
    names = [item.get("name") for item in items if isinstance(item, dict)]
    for injector in _OTHERS:
        sidecars = [name for name in names if name in injector.containers]
        if sidecars:
            theirs = f"{' and '.join(sidecars)} {'comes' if len(sidecars) == 1 else 'come'} from {injector.name}"
            return f"it has no receipt of this injector; {theirs}: {injector.take_out}"
    return ""


#: A domain of a sidecar injector's.
_INJECTS = re.compile(r"inject", re.IGNORECASE)
#: Annotations of one template that are named.
_NAMED = 2


def idle_annotations(
    pod: Object, result: Injection, namespace: Namespace, snapshot: Snapshot, names: Sequence[str] | None
) -> Iterator[str]:
    """A sentence for each template that annotations set parameters of, where the pod gets others.

    `names` are the templates of the command line. Those at paths are left alone: a pod's annotations set their
    parameters too.
    """
    settings, catalog = snapshot.settings, snapshot.catalog
    annotations, ending = string_map(pod, "annotations"), settings.parameter_suffix("")
    by_template: dict[str, list[str]] = {}
    for key in annotations:
        if (at := key.find(ending)) > 0:
            by_template.setdefault(key[:at], []).append(key)
    settled = (Reason.ALREADY_INJECTED, Reason.NOTHING_TO_ADD)
    undecided = result.effect is Effect.SKIP and result.reason not in settled
    if not by_template or undecided or result.reason is Reason.MALFORMED_POD:
        return
    required, at_paths = result.decision.required, {name for path in settings.paths.values() for name in path.templates}
    chosen = origins_of(pod, namespace, settings, catalog, required=required)
    asked_for = chosen if names is None else dict.fromkeys(names)
    gets = [name for name, _ in result.templates] or list(asked_for)
    active = {*chosen, *asked_for, *gets, *at_paths}
    idle = [name for name in by_template if name in catalog.injected_names and name not in active]
    if not gets or not all(name in catalog.injected_names for name in gets):
        return
    option = f"{settings.templates_key}: " if names is None else "--templates "
    both = ",".join((*gets, *idle))
    free = names is None and not required and settings.templates_key not in annotations
    for name in idle:
        keys, more = [cut(key, 120) for key in by_template[name][:_NAMED]], len(by_template[name]) - _NAMED
        listed = f"{', '.join(keys)} and {more} more" if more > 0 else " and ".join(keys)
        several, have = ("s", "have") if len(keys) > 1 else ("", "has")
        if free and len(gets) == len(idle) == 1:
            write = f"to get {name}, write {option}{name}; to get both, write {option}{both}"
        else:
            write = f"to also get {name}, write {option}{both}"
        yield f"pod annotation{several} {listed} {have} no effect, because the pod gets only {', '.join(gets)}; {write}"


def foreign_names(pod: Object, result: Injection, snapshot: Snapshot) -> Iterator[str]:
    """A sentence for each annotation whose name is nearly one of ours, and for those of our prefix that are none."""
    settings, catalog = snapshot.settings, snapshot.catalog
    ours = (settings.inject_key, settings.templates_key)
    own = (*ours, settings.status_key, settings.reason_key, settings.receipt_key)
    reported = {warning.fields.get("key") for warning in result.warnings}
    annotations = string_map(pod, "annotations")
    for key in annotations:
        domain, _, name = key.rpartition("/")
        template = catalog.get(domain)
        if key in reported or key in own:
            continue
        if template is not None and declared_parameter(template.parameters, name):
            yield f"pod annotation {key} has no effect; write {settings.parameter_suffix(domain)}{name}"
        elif domain == settings.prefix and settings.status_key not in annotations:
            yield (
                f"pod annotation {cut(key, 120)} has no effect; write {' or '.join(ours)}, or, to set a parameter, "
                f"{settings.parameter_suffix('<template>')}<name>"
            )
        elif _INJECTS.search(domain or name) and not domain.endswith(settings.prefix):
            near = nearest(name, [own_key.rpartition("/")[2] for own_key in ours], cutoff=0.75)
            key_meant = next((own_key for own_key in ours if near and own_key.endswith(f"/{near}")), None)
            if key_meant:
                yield f"pod annotation {cut(key, 120)} has no effect; for this injector write {key_meant}"
