"""The settings: one typed, immutable object, read from one YAML file. Every name that users see is a setting.

Keys in the file are camelCase, as in Kubernetes' own configuration files. An unknown key or a value of the wrong
type is an error that names the key: a typing mistake never becomes a silent default.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterator
from typing import Annotated, Any, Literal

import msgspec

from injector.diagnostics import Diagnostic, Path
from injector.errors import SettingsError
from injector.names import is_label_key, qualified
from injector.strict_decoder import decode

#: The settings file's key in its ConfigMap.
SETTINGS_KEY = "settings.yaml"
#: A parsed Kubernetes LabelSelector; shape checked by `injector.pods.selectors`.
LabelSelector = dict[str, Any]
MOST_TEAM_TEMPLATES = 100  #: that a namespace may have of its own
#: 0 lets the system choose a port.
Port = Annotated[int, msgspec.Meta(ge=0, le=65535)]
#: A duration that is at least a second.
Seconds = Annotated[float, msgspec.Meta(ge=1)]
#: A registry, or the beginning of an image's full name.
_IMAGE_PREFIX = re.compile(r"[A-Za-z0-9][A-Za-z0-9.-]*(:[0-9]+)?(/[A-Za-z0-9._-]+)*")
_PATH = re.compile(r"(/[-A-Za-z0-9._~]+)+")
_SLUG = 60
#: Of the part of an annotation's key before the slash; room is left for a template's name (Kubernetes allows 253).
LONGEST_PREFIX = 180


class NamespaceLabel(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True, kw_only=True):
    """The namespace label that switches injection on: its key and the three values it may have."""

    key: str = "injection"
    enabled: str = "enabled"
    required: str = "required"
    disabled: str = "disabled"


class RequiredSettings(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True, kw_only=True):
    """What the guarantee of `required` namespaces lets pass."""

    #: What others may set of a sidecar's requests and limits. `limit-range`: what the namespace's LimitRanges fill in.
    #: `any`: all, for clusters whose vertical autoscaler sizes sidecars too.
    resources: Literal["limit-range", "any"] = "limit-range"
    #: Whether pods may set parameters that their declaration does not open to them.
    pod_parameters: Literal["ignore", "allow"] = "ignore"


class ServerSettings(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True, kw_only=True):
    """Where `injector serve` listens, its certificate, and its bounds.

    Durations in seconds, sizes in bytes. `drain_seconds` must stay below the pod's termination grace period.
    """

    address: str = ""
    port: Port = 8443
    metrics_port: Port = 9443
    certificate: str = "/certs/tls.crt"
    key: str = "/certs/tls.key"
    mutate_paths: tuple[str, ...] = ("/mutate", "/mutate/pods")
    validate_paths: tuple[str, ...] = ("/validate",)
    advise_paths: tuple[str, ...] = ("/advise",)
    #: Of the webhook that tries templates and settings when they are applied to the cluster.
    trial_paths: tuple[str, ...] = ("/trial",)
    drain_seconds: float = 10.0
    idle_seconds: float = 120.0
    handshake_seconds: Seconds = 5.0
    max_connections: Annotated[int, msgspec.Meta(ge=1)] = 1000
    body_seconds: float = 10.0
    max_body_bytes: int = 8 * 1024 * 1024
    max_header_bytes: int = 16 * 1024
    cache_bytes: int = 16 * 1024 * 1024

    @property
    def review_paths(self) -> tuple[str, ...]:
        """The paths of all the injector's own webhooks."""
        return (*self.mutate_paths, *self.validate_paths, *self.advise_paths, *self.trial_paths)


class CertificateSettings(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True, kw_only=True):
    """Where the serving certificate comes from. All but `source` is for `builtin`; durations in seconds.

    The names are those of objects: the Secret, the Lease and the Service in the injector's own namespace, and the two
    webhook configurations, which have one name.
    """

    #: To the server `cert-manager` and `csr` are files, as somebody else puts them there.
    source: Literal["files", "builtin", "cert-manager", "csr"] = "files"
    life_seconds: Seconds = 90 * 86400.0
    authority_life_seconds: Seconds = 365 * 86400.0
    settle_seconds: float = 30.0
    secret: str = "sidecar-injector-certificates"  # noqa: S105 - the name of an object
    service: str = "sidecar-injector"
    webhooks: str = "sidecar-injector"
    lease: str = "sidecar-injector"
    lease_seconds: Seconds = 15.0


class RepairSettings(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True, kw_only=True):
    """Whether one replica evicts pods that lack their sidecars (`cluster.rollout`), and how fast. The Lease is in
    the injector's own namespace.
    """

    mode: Literal["off", "missing"] = "off"
    #: Evictions, of the whole cluster.
    per_minute: Annotated[int, msgspec.Meta(ge=1)] = 30
    #: Workloads that are worked on at the same time: of all, and of a namespace.
    max_unavailable_workloads: Annotated[int, msgspec.Meta(ge=1)] = 5
    per_namespace: Annotated[int, msgspec.Meta(ge=1)] = 1
    lease: str = "sidecar-injector-repair"


class GallerySettings(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True, kw_only=True):
    """Whether the gallery stays what it is when the injector's image becomes another, and the name of the ConfigMap
    that keeps it in the injector's own namespace.
    """

    keep: bool = True
    config_map: str = "sidecar-injector-gallery"


class TeamLimits(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True, kw_only=True):
    """How many templates a namespace may have, the oldest of which count, and the bytes of each one's files."""

    templates: Annotated[int, msgspec.Meta(ge=1, le=MOST_TEAM_TEMPLATES)] = 10
    bytes: Annotated[int, msgspec.Meta(ge=1, le=1024 * 1024)] = 64 * 1024


class TeamTemplateSettings(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True, kw_only=True):
    """In which namespaces a ConfigMap may be a template for the pods there that name it: in none without a selector."""

    namespaces: LabelSelector | None = None
    limits: TeamLimits = TeamLimits()


class PathTemplates(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True, kw_only=True):
    """The templates of a path of its own: for objects of any kind, as the `for` of each says.

    `type` is that of the webhook configuration. `failure_policy` is the entry's, and also says what becomes of an
    object for which a template fails.
    https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/#failure-policy
    """

    templates: tuple[str, ...]
    type: Literal["mutating", "validating"] = "mutating"
    failure_policy: Literal["Ignore", "Fail"] = "Ignore"


class Settings(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True, kw_only=True):
    """All settings, with the defaults that a new installation has."""

    prefix: str = "sidecar.injector"
    namespace_label: NamespaceLabel = NamespaceLabel()
    yes_values: tuple[str, ...] = ("true", "yes", "y", "on", "enabled")
    no_values: tuple[str, ...] = ("false", "no", "n", "off", "disabled")
    #: `inject`: a labelled namespace is enough. `skip`: the pod must say yes as well. `named`: the same, and a pod that
    #: names its templates says yes by that.
    pod_default: Literal["inject", "skip", "named"] = "inject"
    ignored_namespaces: tuple[str, ...] = ("kube-system", "kube-public", "kube-node-lease")
    #: Pods that are never injected unless their namespace is `required`.
    never_selector: LabelSelector | None = None
    #: Pods that are injected wherever they are, unless they or their namespace say no.
    always_selector: LabelSelector | None = None
    #: Pods that even a `required` namespace lets through as they are.
    exempt_selector: LabelSelector | None = None
    #: The annotation that names templates; "" for `templates` behind the prefix.
    named_by: str = msgspec.field(default="", name="templatesKey")
    #: The label that pods get beside the mark; None for `status` behind the prefix, "" for none.
    marked_by: str | None = msgspec.field(default=None, name="statusLabel")
    #: Templates for a pod when nobody names one and no template's selector matches.
    templates: tuple[str, ...] = ("envoy",)
    #: Defaults of parameters: template, parameter, value.
    parameters: dict[str, dict[str, Any]] = {}
    required: RequiredSettings = RequiredSettings()
    native_sidecars: Literal["auto", "always", "never"] = "auto"
    #: Where the images of templates come from instead, by the beginning of their full names.
    image_mirrors: dict[str, str] = {}
    cluster_domain: str = "cluster.local"
    #: Whether controllers whose pods were refused while nobody answered are made to try again (`cluster.retries`).
    retry_refused: bool = False
    repair: RepairSettings = RepairSettings()
    gallery: GallerySettings = GallerySettings()
    team_templates: TeamTemplateSettings = TeamTemplateSettings()
    #: Units of work that one review may take (`injector.budget`), 0 for any number: ten times what the costliest pod of
    #: tests/corpus takes, with each template that is tried on it, under `required` and at the guard
    #: (`tests/corpus/test_work.py` measures it).
    review_work: Annotated[int, msgspec.Meta(ge=0)] = 450_000
    #: What is at paths of their own.
    paths: dict[str, PathTemplates] = {}
    server: ServerSettings = ServerSettings()
    certificates: CertificateSettings = CertificateSettings()

    @property
    def inject_key(self) -> str:
        """The annotation or label by which a pod says yes or no."""
        return f"{self.prefix}/inject"

    @property
    def templates_key(self) -> str:
        """The annotation that names templates, in order."""
        return self.named_by or f"{self.prefix}/templates"

    @property
    def status_key(self) -> str:
        """The annotation that marks a pod: `injected` or `failed`."""
        return f"{self.prefix}/status"

    @property
    def status_label(self) -> str:
        """The label that says the same, for selectors; "" where it is switched off."""
        return self.status_key if self.marked_by is None else self.marked_by

    @property
    def reason_key(self) -> str:
        """The annotation that says why a pod marked `failed` runs without its sidecar."""
        return f"{self.prefix}/reason"

    @property
    def receipt_key(self) -> str:
        """The annotation that holds the receipt."""
        return f"{self.prefix}/receipt"

    @property
    def mark_keys(self) -> tuple[str, str, str]:
        """The annotations that an injection writes beside those of templates."""
        return self.status_key, self.reason_key, self.receipt_key

    @property
    def template_label(self) -> str:
        """The label of ConfigMaps that are templates."""
        return f"{self.prefix}/template"

    @property
    def version_label(self) -> str:
        """The label of a ConfigMap that is the next version of a template: that template's name."""
        return f"{self.prefix}/version-of"

    @property
    def stage_key(self) -> str:
        """The annotation of such a ConfigMap, or the kept gallery's, that says which share of the workloads gets it."""
        return f"{self.prefix}/stage"

    @property
    def unchecked_key(self) -> str:
        """The annotation by which an admin applies a ConfigMap that the injector would refuse."""
        return f"{self.prefix}/unchecked"

    @property
    def generated_label(self) -> str:
        """The label of ConfigMaps that an injection made."""
        return f"{self.prefix}/generated"

    def ignoring(self, namespace: str) -> Settings:
        """These settings, with the injector's own namespace left alone as well; "" where that is not known."""
        if not namespace or namespace in self.ignored_namespaces:
            return self
        return msgspec.structs.replace(self, ignored_namespaces=(*self.ignored_namespaces, namespace))

    def parameter_suffix(self, template: str) -> str:
        """What an annotation of one of this template's parameters starts with: `<template>.<prefix>/`."""
        return f"{qualified(template)}.{self.prefix}/"


def parse_settings(document: object, source: str = "settings") -> Settings:
    """Settings from a parsed YAML document (None counts as empty).

    Raises SettingsError naming `source`, the key and what is allowed there.
    """
    settings, problems = decode(Settings, document if document is not None else {})
    if settings is not None:
        problems = list(_mistakes(settings))
    if settings is None or problems:
        raise SettingsError.of(source, *problems)
    words = {name: tuple(map(str.lower, getattr(settings, name))) for name in ("yes_values", "no_values")}
    return msgspec.structs.replace(settings, **words)


def _mistakes(settings: Settings) -> Iterator[Diagnostic]:
    """What is wrong with settings whose values are all of the right type."""
    if len(settings.prefix) > LONGEST_PREFIX or not is_label_key(f"{settings.prefix}/status"):
        yield _not_allowed(("prefix",), "it is not a DNS name such as sidecar.injector (a-z, 0-9, - and .)")
    own = (settings.inject_key, *settings.mark_keys)
    yield from _key_mistakes(settings, "templatesKey", "annotation", settings.named_by, own)
    label_keys = (settings.template_label, settings.version_label, settings.generated_label)
    taken = (settings.inject_key, settings.templates_key, settings.namespace_label.key, *label_keys)
    yield from _key_mistakes(settings, "statusLabel", "label", settings.marked_by or "", taken)
    clash = sorted({v.lower() for v in settings.yes_values} & {v.lower() for v in settings.no_values})
    if clash:
        yield _not_allowed(
            ("noValues",), f"{', '.join(clash)} cannot mean both yes and no", "remove it here or from yesValues"
        )
    if settings.certificates.life_seconds > settings.certificates.authority_life_seconds:
        message = "it is longer than authorityLifeSeconds, and no certificate outlives its authority"
        yield _not_allowed(("certificates", "lifeSeconds"), message)
    for prefix, mirror in settings.image_mirrors.items():
        if not (_IMAGE_PREFIX.fullmatch(prefix) and _IMAGE_PREFIX.fullmatch(mirror)):
            message = f"{prefix}: {mirror} are not beginnings of images' names"
            yield _not_allowed(("imageMirrors", prefix), message, "write docker.io: registry.example:5000/hub")
    yield from _path_mistakes(settings)


def _not_allowed(path: Path, message: str, help: str = "") -> Diagnostic:  # noqa: A002  the field's own name
    return Diagnostic("not-allowed", "error", message, help, path)


def _key_mistakes(settings: Settings, name: str, kind: str, key: str, taken: Container[str]) -> Iterator[Diagnostic]:
    """What is wrong with the key of an annotation or a label that the setting `name` gives."""
    path, prefix = (name,), key.rpartition("/")[0]
    if not key:
        return
    if len(prefix) > LONGEST_PREFIX or not is_label_key(key):
        yield _not_allowed(path, f"it is not a valid {kind} key; write one such as {settings.prefix}/request")
    elif key in taken:
        yield _not_allowed(path, f"the injector already uses {key} for something else", "choose another")
    elif prefix.endswith(f".{settings.prefix}"):
        yield _not_allowed(path, f"an annotation {prefix}/... sets a parameter of a template", "choose another key")


def entry_slug(path: str) -> str:
    """What names a path's webhook entry: `/mutate/claims` is `mutate-claims`."""
    return re.sub("[^a-z0-9]+", "-", path.lower()).strip("-")


def _path_mistakes(settings: Settings) -> Iterator[Diagnostic]:
    server = settings.server
    served = {*server.review_paths, "/"}
    slugs: dict[str, str] = {}
    for path, at in settings.paths.items():
        location, slug = ("paths", path), entry_slug(path)
        if not _PATH.fullmatch(path):
            to_do = "write it like /policies/services (letters, digits, - . _ ~ and /)"
            yield _not_allowed(location, "it is not a path", to_do)
        elif path in served:
            yield _not_allowed(location, "it is already a path of `server`", "choose another")
        elif slug in slugs or not 0 < len(slug) <= _SLUG:
            cause = f"like that of {slugs[slug]}" if slug in slugs else f"but a name has 1 to {_SLUG} characters"
            yield _not_allowed(
                location, f'the webhook entry of this path would be called "{slug}", {cause}', "choose another"
            )
        elif not at.templates:
            to_do = "list the templates for the objects that are sent to this path"
            yield _not_allowed((*location, "templates"), "the list is empty", to_do)
        slugs.setdefault(slug, path)
