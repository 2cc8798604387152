"""Other sidecar injectors: what their annotations on a pod say to them alone, and which sidecars they put in."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from injector.injection import Injection
from injector.names import cut, legal_name
from injector.pods.context import Object
from injector.pods.fields import CONTAINER_LISTS
from injector.pods.shape import spec_of, string_map
from injector.reasons import Reason
from injector.settings import Settings


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
_YES = ("true", "yes", "y", "on", "1", "enabled", "enable", "ingress")
_NO = ("false", "no", "n", "off", "0", "disabled", "disable")
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
    for what, entries in (("annotation", annotations), ("label", string_map(pod, "labels"))):
        for other in _OTHERS:
            for key in other.keys:
                value = entries.get(key, "").strip().lower()
                no = value in _NO and result.reason is Reason.INJECTED
                if no or (value in _YES and result.decision.reason in _NOT_ASKED):
                    choice = f'{settings.inject_key}: "{(settings.no_values if no else settings.yes_values)[0]}"'
                    yield (
                        f"pod {what} {key}={entries[key]} is for {other.name} and has no effect here; to get "
                        f"{'no' if no else 'a'} sidecar from this injector, set the annotation {choice}"
                    )


def foreign_parameters(pod: Object, result: Injection, settings: Settings) -> Iterator[str]:
    """A sentence for each annotation of another injector that sets what a template of this pod has a parameter for."""
    for key, value in string_map(pod, "annotations").items():
        domain, _, name = key.rpartition("/")
        other = next((one for one in _OTHERS if domain.endswith(one.domains)), None)
        if other is None or domain.endswith(settings.prefix):
            continue
        word = legal_name(re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "-", name))
        word = _PARAMETERS.get(word, word)
        own = next((one.template.name for one in result.applied if word in one.template.parameters), None)
        if own is not None:
            meant = f'{own}.{settings.prefix}/{word}: "{cut(value, _SHOWN)}"'
            yield f"pod annotation {key} is for {other.name} and has no effect here; write {meant}"


def foreign_sidecars(pod: Object) -> str:
    """Whose sidecars a pod without a receipt has, and how they go again; "" where none are known."""
    spec = spec_of(pod)
    items = [item for field in CONTAINER_LISTS if isinstance(spec.get(field), list) for item in spec[field]]
    names = [item.get("name") for item in items if isinstance(item, dict)]
    for other in _OTHERS:
        found = [name for name in names if name in other.containers]
        if found:
            theirs = f"{' and '.join(found)} {'comes' if len(found) == 1 else 'come'} from {other.name}"
            return f"it has no receipt of this injector; {theirs}: {other.take_out}"
    return ""
