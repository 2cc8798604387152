"""Every reason the injector can give, one sentence each, with what each leads to, the only such table; and the errors.

The value of a reason is the log field, the metric label, the audit annotation and what `injector explain` prints.
The effects follow one rule: in an `enabled` namespace the injector never prevents a pod, in a `required` namespace no
pod is created without its sidecar.

A `ReviewError` says that what came in could not be read: the sender's mistake, answered with HTTP 4xx.
An `InjectionError` says that a readable pod could not be given its sidecar: answered by the table of reasons.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from enum import Enum, StrEnum
from types import MappingProxyType
from typing import Any

from injector.diagnostics import Diagnostic, Path, Place


class Effect(StrEnum):
    """What becomes of the pod."""

    INJECT = "inject"  #: go on and inject it
    SKIP = "skip"  #: let it through untouched
    MARK = "mark"  #: let it through without its sidecar, marked `failed`, with a warning
    REFUSE = "refuse"  #: do not admit it


class Reason(Enum):
    """A named reason. `name_` is the kebab-case name that users see."""

    # --- decided before any template is looked at ---
    NOT_A_POD_CREATION = ("not-a-pod-creation", "this is not the creation of a pod", Effect.SKIP, Effect.SKIP)
    MIRROR_POD = (
        "mirror-pod",
        "a mirror pod shows a static pod of the kubelet and cannot be changed",
        Effect.SKIP,
        Effect.SKIP,
    )
    NAMESPACE_IGNORED = (
        "namespace-ignored",
        "the injector ignores this namespace",
        Effect.SKIP,
        Effect.SKIP,
    )
    EXEMPT = ("exempt", "the settings exempt this pod by selector", Effect.SKIP, Effect.SKIP)
    NAMESPACE_DISABLED = ("namespace-disabled", "the namespace's label says disabled", Effect.SKIP, Effect.SKIP)
    NEVER_SELECTOR = ("never-selector", "the settings' neverSelector matches the pod", Effect.SKIP, Effect.INJECT)
    POD_OPTED_OUT = ("pod-opted-out", "the pod opts out of injection", Effect.SKIP, Effect.INJECT)
    POD_OPTED_IN = ("pod-opted-in", "the pod asks for injection", Effect.INJECT, Effect.INJECT)
    ALWAYS_SELECTOR = ("always-selector", "the settings' alwaysSelector matches the pod", Effect.INJECT, Effect.INJECT)
    NAMESPACE_ENABLED = ("namespace-enabled", "the namespace's label says enabled", Effect.INJECT, Effect.INJECT)
    NAMESPACE_REQUIRED = ("namespace-required", "the namespace's label says required", Effect.INJECT, Effect.INJECT)
    POD_NOT_OPTED_IN = (
        "pod-not-opted-in",
        "the pod would have to ask for a sidecar, but it does not",
        Effect.SKIP,
        Effect.INJECT,
    )
    NOT_REQUESTED = (
        "not-requested",
        "neither the namespace's label nor the pod asks for a sidecar",
        Effect.SKIP,
        Effect.SKIP,
    )
    MALFORMED_POD = ("malformed-pod", "the API server would not accept this pod", Effect.SKIP, Effect.REFUSE)
    # --- what a chosen template says about this pod ---
    NO_TEMPLATE = ("no-template", "no template is selected for this pod", Effect.MARK, Effect.REFUSE)
    UNKNOWN_TEMPLATE = ("unknown-template", "a template that is asked for does not exist", Effect.MARK, Effect.REFUSE)
    TEMPLATE_NOT_ALLOWED = (
        "template-not-allowed",
        "a template may not be used for this pod",
        Effect.MARK,
        Effect.REFUSE,
    )
    HOST_NETWORK = (
        "host-network",
        "the pod uses its node's network, and the template does not support that",
        Effect.SKIP,
        Effect.REFUSE,
    )
    WINDOWS = ("windows", "the pod is for Windows, and the injector does not support that", Effect.SKIP, Effect.REFUSE)
    NOT_SERVED = (
        "not-served",
        "the template says that it cannot be used for this pod or object",
        Effect.MARK,
        Effect.REFUSE,
    )
    DENIED = ("denied", "a template refuses this pod or object", Effect.REFUSE, Effect.REFUSE)
    BAD_PARAMETER = ("bad-parameter", "a parameter's value is not allowed", Effect.MARK, Effect.REFUSE)
    TEMPLATE_FAILED = (
        "template-failed",
        "a template failed to render for this pod or object",
        Effect.MARK,
        Effect.REFUSE,
    )
    # --- what the final pod would look like ---
    CONFLICT = ("conflict", "the template cannot be merged into this pod or object", Effect.MARK, Effect.REFUSE)
    NOT_OVERRIDABLE = (
        "not-overridable",
        "the pod changes a part of the sidecar that it may not change",
        Effect.MARK,
        Effect.REFUSE,
    )
    INVALID_POD = ("invalid-pod", "the API server would refuse the pod with its sidecar", Effect.MARK, Effect.REFUSE)
    POD_SECURITY = (
        "pod-security",
        "the namespace's Pod Security level would refuse the sidecar",
        Effect.MARK,
        Effect.REFUSE,
    )
    QUOTA = ("quota", "the namespace's quota would refuse the pod with its sidecar", Effect.MARK, Effect.REFUSE)
    TOO_LARGE = ("too-large", "the pod with its sidecar is larger than Kubernetes allows", Effect.MARK, Effect.REFUSE)
    TOO_COSTLY = (
        "too-costly",
        "this pod or object takes more work than the limit for one review",
        Effect.MARK,
        Effect.REFUSE,
    )
    FILES_FAILED = ("files-failed", "the sidecar's ConfigMap could not be created", Effect.MARK, Effect.REFUSE)
    INTERNAL_ERROR = ("internal-error", "the injector itself failed", Effect.MARK, Effect.REFUSE)
    NOT_READY = ("not-ready", "the injector has no usable templates or settings yet", Effect.MARK, Effect.REFUSE)
    # --- what the validating guard finds ---
    NOT_INJECTED = ("not-injected", "the pod lacks its sidecar or a part of it", Effect.SKIP, Effect.REFUSE)
    # --- results ---
    INJECTED = ("injected", "the pod got its sidecar", Effect.INJECT, Effect.INJECT)
    ALREADY_INJECTED = ("already-injected", "the pod has every part of its sidecar", Effect.SKIP, Effect.SKIP)
    AMENDED = ("amended", "the templates at the path changed the object", Effect.INJECT, Effect.INJECT)
    NOT_FOR_TEMPLATES = (
        "not-for-templates",
        "no template at the path applies to this object",
        Effect.SKIP,
        Effect.SKIP,
    )
    NOTHING_TO_ADD = (
        "nothing-to-add",
        "the templates have nothing to add to this pod or object",
        Effect.SKIP,
        Effect.SKIP,
    )

    def __init__(self, name: str, sentence: str, enabled: Effect, required: Effect) -> None:
        self.label = name
        self.sentence = sentence  #: for people, without a capital or a full stop
        self.enabled, self.required = enabled, required

    def effect(self, *, required: bool) -> Effect:
        """What this reason leads to in a namespace labelled `enabled` (or not at all) or `required`."""
        return self.required if required else self.enabled

    def __str__(self) -> str:
        return self.label


class InjectorError(Exception):
    """Base of every error that this project raises on purpose; its text is one sentence for people."""


class ReviewError(InjectorError):
    """The AdmissionReview cannot be read. `status` is the HTTP status code to answer with (4xx)."""

    def __init__(self, message: str, status: int = 400) -> None:
        super().__init__(message)
        self.status = status


class SettingsError(InjectorError):
    """The settings file, an environment variable or an option holds something that is not allowed.

    If the values are wrong, `diagnostics` says each mistake, and `str()` is the first one as `SOURCE: sentence`.
    """

    def __init__(self, message: str, diagnostics: Sequence[Diagnostic] = (), source: str = "") -> None:
        super().__init__(message)
        self.diagnostics = tuple(diagnostics)
        self.source = source

    @classmethod
    def of(cls, source: str, *diagnostics: Diagnostic) -> SettingsError:
        """The error of one or more wrong values; `source` is the file, for people."""
        return cls(f"{source}: {diagnostics[0].sentence}", diagnostics, source)

    @property
    def templates(self) -> frozenset[str]:
        """The templates whose parameters have wrong values: the settings may be wrong, or the template."""
        paths = (diagnostic.path for diagnostic in self.diagnostics)
        return frozenset(str(path[1]) for path in paths if path[:1] == ("parameters",) and len(path) > 1)


class DocumentError(InjectorError):
    """A manifest cannot be read or written: not YAML, not JSON, or not an object.

    `diagnostic` says where in the file, where that is known.
    """

    def __init__(self, message: str, diagnostic: Diagnostic | None = None) -> None:
        super().__init__(message)
        self.diagnostic = diagnostic


#: The HTTP status of a refusal, where a template names no other.
DENIED_CODE = 403


class InjectionError(InjectorError):
    """A pod cannot be injected. `reason` says which line of the table of reasons decides what happens now.

    `diagnostic` says what is wrong: its code is the reason's label, its path leads into the pod, its place is in a
    template. `code` is the HTTP status (400 to 599) that the API server passes on where the pod is refused.
    """

    def __init__(
        self,
        reason: Reason,
        message: str,
        *,
        help: str = "",  # noqa: A002  the field's own name
        path: Path = (),
        place: Place | None = None,
        fields: Mapping[str, Any] | None = None,
        code: int = DENIED_CODE,
        mistake: tuple[Any, ...] = (),
    ) -> None:
        self.diagnostic = Diagnostic(
            reason.label, "error", message, help, path, place or Place(), fields or {}, mistake=mistake
        )
        super().__init__(self.diagnostic.located)
        self.reason = reason
        self.code = code


#: What keeps a template from loading, by the word in brackets behind such an error: no rule of the linter, and never
#: off.
TEMPLATE_ERRORS: Mapping[str, str] = MappingProxyType(
    {
        "syntax": "the file is not valid Jinja, or uses a part of Jinja that is not available",
        "name": "a name, parameter, filter, test, method or field that does not exist",
        "yaml": "template.yaml, or the text that a file renders, is not valid YAML",
        "manifest": "template.yaml says something that is not allowed",
        "parameter": "the declaration of a parameter in template.yaml is not valid",
        "overlay": "the overlay does not render a partial pod",
        "value": "a value has the wrong type for its place, or for an operation such as +",
        "file": "a file is missing, cannot be read, or includes itself",
        "limit": "the template takes too much time or memory, or its output is too large or too deep",
    }
)


class TemplateError(InjectorError):
    """A template is wrong: it does not load, does not compile, or renders something that is no overlay.

    `rule` names what kind of mistake it is, a key of TEMPLATE_ERRORS, and `origin` the folder or ConfigMap that the
    template came from (where none is given, its name). `str()` is one line, `ORIGIN/FILE:LINE:COLUMN: error: message
    [rule]`, as compilers and editors know it.

    Where more than one thing is wrong, `others` are the rest, and `all` is everything in the order of the file.
    """

    further: tuple[TemplateError, ...] = ()

    def __init__(
        self,
        template: str,
        message: str,
        place: Place | None = None,
        *,
        rule: str = "value",
        origin: str = "",
        help: str = "",  # noqa: A002  the field's own name
        path: Path = (),
        fields: Mapping[str, Any] | None = None,
        mistake: tuple[Any, ...] = (),
    ) -> None:
        self.template = template
        located = replace(place or Place(), origin=origin or template)
        self.diagnostic = Diagnostic(rule, "error", message, help, path, located, fields or {}, mistake)
        super().__init__(str(self.diagnostic))

    @classmethod
    def of(cls, template: str, *diagnostics: Diagnostic) -> TemplateError:
        """The error of one or more mistakes of a template."""
        first, *rest = (
            cls(
                template,
                d.message,
                d.place,
                rule=d.code,
                origin=d.place.origin,
                help=d.help,
                path=d.path,
                fields=d.fields,
                mistake=d.mistake,
            )
            for d in diagnostics
        )
        first.further = tuple(rest)
        return first

    @property
    def message(self) -> str:
        """What is wrong."""
        return self.diagnostic.message

    @property
    def rule(self) -> str:
        """What kind of mistake it is."""
        return self.diagnostic.code

    @property
    def origin(self) -> str:
        """The folder or ConfigMap."""
        return self.diagnostic.place.origin

    @property
    def place(self) -> Place | None:
        """Where in the template it is, where that is known."""
        return replace(self.diagnostic.place, origin="") if self.diagnostic.place.file else None

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """What is wrong, and what else is."""
        return tuple(error.diagnostic for error in self.all)

    @property
    def all(self) -> tuple[TemplateError, ...]:
        """This and the others."""
        return (self, *self.further)
