"""The JSON Schema of a settings file: the shape is that of `Settings`, the help is that of docs/settings.md."""

from __future__ import annotations

from typing import Final

from injector.authoring.schemas.declaration_schema import Schema, or_null, selector, shape_of, with_more
from injector.names import DNS_SUBDOMAIN
from injector.pods.context import mapping
from injector.settings import LONGEST_PREFIX, Settings

#: What each setting does; sections stand before what is in them. A test holds them against docs/settings.md.
HELP: Final = {
    "prefix": "how the injector's annotations and labels begin",
    "namespaceLabel": "the namespace label that switches injection on, and its values",
    "namespaceLabel.key": "the namespace label that switches injection on",
    "namespaceLabel.enabled":
        "the value that means: inject; a pod that the injector cannot inject starts without its sidecar",
    "namespaceLabel.required": "the value that means: inject; a pod that the injector cannot inject is refused",
    "namespaceLabel.disabled": "the value that means: never inject",
    "yesValues": "values of a pod's annotation or label `inject` that mean yes, in upper or lower case",
    "noValues": "values that mean no; a value cannot be in both lists",
    "podDefault":
        "`inject`: the namespace's label is enough. `skip`: in an `enabled` namespace, the pod must also say yes. "
        "`named`: like `skip`, but the annotation that names templates counts as yes too. A yes works in every "
        "namespace, except ignored ones and those with the label value `disabled`",
    "ignoredNamespaces":
        "namespaces in which the injector does nothing, whatever their label is; the injector's own namespace is "
        "always one of them",
    "neverSelector": "label selector of pods that are not injected, unless their namespace is `required`",
    "alwaysSelector":
        "label selector of pods that are injected in any namespace that is not ignored, unless they or their namespace "
        "say no",
    "exemptSelector": "label selector of pods that are not injected and not refused, even in a `required` namespace",
    "templatesKey":
        "key of the annotation by which pods and namespaces name templates; if empty: the prefix followed by "
        "`/templates`",
    "statusLabel":
        "key of the label with the value `injected` or `failed` that the injector sets on pods; if it is not set: the "
        "prefix followed by `/status`; if empty: no label",
    "templates":
        "templates for a pod if neither the pod nor its namespace names a template, and no template's selector matches "
        "the pod",
    "parameters": "values of parameters, by template and parameter; an annotation overrides them",
    "required.resources":
        "what may set requests and limits of a sidecar in a `required` namespace, besides the template. "
        "`limit-range`: only the namespace's LimitRanges, which fill in what is missing. `any`: everything, for "
        "clusters in which a vertical autoscaler also sizes sidecars",
    "required.podParameters":
        "whether pods of a `required` namespace may set parameters without `pods: may-set`: `ignore` or `allow`",
    "nativeSidecars":
        "whether sidecars are native, which means init containers with `restartPolicy: Always`: `auto` (from "
        "Kubernetes 1.32 on), `always`, `never`",
    "imageMirrors": "where the images of templates come from instead",
    "clusterDomain": "what templates see as `cluster.domain`",
    "retryRefused":
        "whether the injector makes controllers try again at once, if their pods were refused because the injector "
        "did not answer. This needs more permissions, and takes effect at the next start",
    "gallery": "what an upgrade of the injector does to the gallery's templates",
    "gallery.keep":
        "whether the gallery's templates stay as they are when an upgrade brings others, until you ask for them",
    "gallery.configMap": "the ConfigMap that keeps the gallery, in the injector's namespace",
    "teamTemplates": "which namespaces may have templates of their own; takes effect at the next start",
    "teamTemplates.namespaces":
        "label selector of the namespaces that may have templates of their own; `{}` selects all",
    "teamTemplates.limits": "how many and how large",
    "teamTemplates.limits.templates": "how many templates of its own count in a namespace",
    "teamTemplates.limits.bytes": "size of the files of each",
    "repair":
        "whether one replica of the injector evicts pods that lack their sidecars. This needs more permissions, and "
        "takes effect at the next start",
    "repair.mode": "`off`, or `missing`: pods that were created while the injector did not answer are evicted",
    "repair.perMinute": "largest number of evictions in a minute",
    "repair.maxUnavailableWorkloads": "largest number of workloads whose pods are replaced at the same time",
    "repair.perNamespace": "the same for each namespace",
    "repair.lease": "the Lease that decides which replica does it",
    "reviewWork":
        "how much work one review may take, in units that the injector counts (about microseconds); a pod that takes "
        "more work fails with `too-costly`. 0 means no limit",
    "paths": "additional webhook paths, each with its templates and options",
    "server": "where `injector serve` listens, its certificate, and its limits; takes effect at the next start",
    "server.address": "address on which `serve` listens; if empty: all addresses",
    "server.port": "HTTPS port",
    "server.metricsPort": "HTTP port of `/healthz`, `/readyz`, `/metrics`",
    "server.certificate": "certificate with its chain, as PEM",
    "server.key": "key of the certificate, as PEM, not encrypted",
    "server.mutatePaths": "paths of the mutating webhook",
    "server.validatePaths": "paths of the validating guard",
    "server.advisePaths": "paths of the webhook that only warns about workloads",
    "server.trialPaths": "paths of the webhook that tries templates and settings when they are applied",
    "server.drainSeconds":
        "for how many seconds the server still answers after SIGTERM; the pod's grace period must be longer "
        "by more than 5 seconds",
    "server.idleSeconds": "seconds after which the server closes an idle connection",
    "server.handshakeSeconds": "seconds within which a new connection has to finish its TLS handshake",
    "server.maxConnections":
        "largest number of open HTTPS connections; above this number the server closes one that is idle",
    "server.bodySeconds": "seconds that a request's body may take to arrive",
    "server.maxBodyBytes":
        "largest size of a review; a larger review gets status 413. The server reads at most four reviews of this size "
        "at the same time, and others wait",
    "server.maxHeaderBytes": "largest size of a request's header",
    "server.cacheBytes": "memory for the cache of answers",
    "certificates":
        "where the certificate comes from, and how the built-in one is renewed; takes effect at the next start",
    "certificates.source": "where the certificate comes from: `files`, `builtin`, `cert-manager`, `csr`",
    "certificates.lifeSeconds":
        "`builtin`: how long a certificate is valid; a new certificate is made after two thirds of this time",
    "certificates.authorityLifeSeconds":
        "`builtin`: how long the authority that signs the certificate is valid; a new authority is made after two "
        "thirds of this time",
    "certificates.settleSeconds":
        "`builtin`: how long a new authority must be in every `caBundle` before it signs certificates",
    "certificates.secret":
        "`builtin`: the Secret with the certificate, the authority and their keys, in the injector's namespace",
    "certificates.service":
        "`builtin`: the Service that the certificate is for; the webhook entries that call this Service get the "
        "`caBundle`",
    "certificates.webhooks": "name of the two webhook configurations",
    "certificates.lease": "`builtin`: the Lease that decides which replica renews certificates",
    "certificates.leaseSeconds":
        "`builtin`: after how many seconds another replica takes over if the replica with the Lease has died",
}  # fmt: skip

#: What each key of a path does; the docs have these in a table of their own.
_PATHS: Final[Schema] = {
    "type": {
        "description": "`mutating`: its templates may complete the object. `validating`: they may only refuse or warn"
    },
    "templates": {"description": "the templates, in order; at least one", "minItems": 1},
    "failurePolicy": {
        "description": (
            "what happens if the webhook or a template fails: `Ignore` admits the object, `Fail` refuses it"
        )
    },
}

_PREFIX = rf"^(?=.{{1,{LONGEST_PREFIX}}}$){DNS_SUBDOMAIN}$"


def settings_schema() -> Schema:
    """The schema of a settings file; one that is empty holds the defaults."""
    sections = shape_of(Settings)
    more: Schema = {
        "prefix": {"pattern": _PREFIX},
        "paths": {
            "additionalProperties": {"properties": _PATHS, "required": ["templates"]},
            "propertyNames": {"pattern": r"^(/[-A-Za-z0-9._~]+)+$"},
        },
        "parameters": {"additionalProperties": {"description": "Values of one template's parameters."}},
    }
    schema = with_more(_section(sections["Settings"], "", sections), {"properties": more})
    return or_null({"title": "Settings of the injector", **schema})


def _section(section: Schema, path: str, sections: dict[str, Schema]) -> Schema:
    properties: Schema = {}
    for key, declaration in section["properties"].items():
        setting, shape, each = f"{path}{key}", declaration, mapping(declaration.get("additionalProperties"))
        if reference := declaration.get("$ref") or each.get("$ref"):
            inner = _section(sections[reference.rpartition("/")[2]], f"{setting}.", sections)
            shape = {**declaration, "additionalProperties": inner} if each else inner
        elif key.endswith("Selector"):
            shape = {**or_null(selector("")), "default": None}
        properties[key] = {**shape, "description": HELP.get(setting, key)}
    return {"type": "object", "properties": properties, "additionalProperties": False}
