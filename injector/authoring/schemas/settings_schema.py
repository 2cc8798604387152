"""The JSON Schema of a settings file: the shape is that of `Settings`, the help is that of docs/settings.md."""

from __future__ import annotations

import copy
from typing import Any, Final

from injector.authoring.schemas.declaration_schema import Schema, or_null, selector, shape_of
from injector.names import DNS_SUBDOMAIN
from injector.settings import LONGEST_PREFIX, Settings

#: What each setting does; sections stand before what is in them. A test holds them against docs/settings.md.
HELP: Final = {
    "prefix": "how the injector's annotations and labels begin",
    "namespaceLabel": "the namespace label that switches injection on, and its values",
    "namespaceLabel.key": "the namespace label that switches injection on",
    "namespaceLabel.enabled": (
        "value of the label: inject; a pod that the injector cannot inject starts without its sidecar"
    ),
    "namespaceLabel.required": "value of the label: inject; a pod that the injector cannot inject is refused",
    "namespaceLabel.disabled": "value of the label: never inject",
    "yesValues": "values of a pod's annotation or label `inject` that mean yes, in upper or lower case",
    "noValues": "values that mean no; no value can be in both lists",
    "podDefault": (
        "`inject`: the namespace's label is enough. `skip`: in an `enabled` namespace the pod must also say yes. "
        "`named`: as `skip`, and a pod that names its templates is injected in any namespace that does not say no"
    ),
    "ignoredNamespaces": (
        "namespaces in which the injector does nothing, whatever their label; its own namespace always belongs to "
        "them"
    ),
    "neverSelector": "label selector of pods that are not injected, unless their namespace is `required`",
    "alwaysSelector": (
        "label selector of pods that are injected in any namespace, unless they or their namespace say no"
    ),
    "exemptSelector": "label selector of pods that are not injected and not refused, even in a `required` namespace",
    "templatesKey": (
        "annotation of pods and namespaces that names templates; empty: the prefix followed by `/templates`"
    ),
    "templates": (
        "templates for a pod if neither the pod nor its namespace names one, and no template's selector matches the "
        "pod"
    ),
    "parameters": "values of parameters, by template and parameter; an annotation overrides them",
    "required.resources": (
        "what others may set of a sidecar's requests and limits in a `required` namespace. `limit-range`: only what "
        "its LimitRanges fill in. `any`: everything, for clusters in which a vertical autoscaler sizes sidecars too"
    ),
    "required.podParameters": (
        "whether pods of a `required` namespace may set parameters that weaken a sidecar: `ignore` or `allow`"
    ),
    "nativeSidecars": "sidecars as restartable init containers: `auto` from Kubernetes 1.32 on, `always`, `never`",
    "clusterDomain": "what templates see as `cluster.domain`",
    "retryRefused": (
        "whether the injector makes controllers try again at once when their pods were refused because it did not "
        "answer; needs more permissions; takes effect at the next start"
    ),
    "reviewWork": (
        "how much work one review may take, in units that the injector counts (about microseconds); a pod above it "
        "fails with `too-costly`. 0 means no limit"
    ),
    "paths": "additional webhook paths, each with its templates and options",
    "server": "where `injector serve` listens, its certificate, and its bounds; takes effect at the next start",
    "server.address": "address on which `serve` listens; empty: all addresses",
    "server.port": "HTTPS port",
    "server.metricsPort": "HTTP port of `/healthz`, `/readyz`, `/metrics`",
    "server.certificate": "certificate with its chain, as PEM",
    "server.key": "key of the certificate, as PEM, not encrypted",
    "server.mutatePaths": "paths of the mutating webhook",
    "server.validatePaths": "paths of the validating guard",
    "server.advisePaths": "paths of the webhook that only warns about workloads",
    "server.drainSeconds": (
        "for how many seconds the server still answers after SIGTERM; the pod's grace period must be 10 seconds "
        "longer"
    ),
    "server.idleSeconds": "seconds after which an idle connection is closed",
    "server.handshakeSeconds": "seconds within which a new connection has to finish its TLS handshake",
    "server.maxConnections": "open HTTPS connections; above this number the least used one is closed",
    "server.bodySeconds": "seconds that a request's body may take to arrive",
    "server.maxBodyBytes": "largest review; a larger one gets status 413. Four of them are read at a time, others wait",
    "server.maxHeaderBytes": "largest request header",
    "server.cacheBytes": "memory for answers to pods seen before",
    "certificates": (
        "where the certificate comes from, and how the built-in one is renewed; takes effect at the next start"
    ),
    "certificates.source": "where the certificate comes from: `files`, `builtin`, `cert-manager`, `csr`",
    "certificates.lifeSeconds": "`builtin`: how long a certificate is valid; a new one is made after two thirds",
    "certificates.authorityLifeSeconds": (
        "`builtin`: how long the authority is valid that signs it; a new one is made after two thirds"
    ),
    "certificates.settleSeconds": "`builtin`: for how long every `caBundle` has a new authority before it signs",
    "certificates.secret": (
        "`builtin`: the Secret with the certificate, the authority and their keys, in the injector's namespace"
    ),
    "certificates.service": "`builtin`: the Service that the certificate is for, and whose entries get the `caBundle`",
    "certificates.webhooks": "`builtin`: name of the two webhook configurations",
    "certificates.lease": "`builtin`: the Lease that says which replica renews certificates",
    "certificates.leaseSeconds": "`builtin`: after how many seconds another replica takes over from one that died",
}  # fmt: skip

#: What each key of a path does; the docs have these in a table of their own.
_PATHS: Final = {
    "type": "`mutating`: its templates may complete the object. `validating`: they may only refuse or warn",
    "templates": "the templates, in order; at least one",
    "failurePolicy": "what happens if the webhook or a template fails: `Ignore` admits the object, `Fail` refuses it",
}

_PREFIX = rf"^(?=.{{1,{LONGEST_PREFIX}}}$){DNS_SUBDOMAIN}$"


def settings_schema() -> Schema:
    """The schema of a settings file; one that is empty holds the defaults."""
    sections = shape_of(Settings)
    return or_null({"title": "Settings of the injector", **_section(sections["Settings"], "", sections)})


def _section(section: Schema, path: str, sections: dict[str, Schema]) -> Schema:
    properties: dict[str, Any] = {}
    for key, made in section["properties"].items():
        where = f"{path}{key}"
        if "$ref" in made:
            inner = _section(sections[made["$ref"].rpartition("/")[2]], f"{where}.", sections)
            properties[key] = {**inner, "description": HELP.get(where, key)}
        elif isinstance(each := made.get("additionalProperties"), dict) and "$ref" in each:
            inner = _section(sections[each["$ref"].rpartition("/")[2]], f"{where}.", sections)
            properties[key] = {**made, "additionalProperties": inner, "description": HELP.get(where, key)}
        elif key.endswith("Selector"):
            properties[key] = {**selector(HELP.get(where, key)), "default": None}
        else:
            properties[key] = {**copy.deepcopy(made), "description": HELP.get(where, key)}
    if not path:
        properties["prefix"]["pattern"] = _PREFIX
        at = properties["paths"]["additionalProperties"]
        for key, help_ in _PATHS.items():
            at["properties"][key]["description"] = help_
        at["properties"]["templates"]["minItems"] = 1
        at["required"] = ["templates"]
        properties["paths"]["propertyNames"] = {"pattern": r"^(/[-A-Za-z0-9._~]+)+$"}
        properties["parameters"]["additionalProperties"]["description"] = "Values of one template's parameters."
    return {"type": "object", "properties": properties, "additionalProperties": False}
