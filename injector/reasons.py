"""Every reason the injector can give, one sentence each, and what each leads to. The only such table.

The value of a reason is the log field, the metric label, the audit annotation and what `injector explain` prints.
The effects follow one rule: in an `enabled` namespace the injector never prevents a pod, in a `required` namespace no
pod is created without its sidecar.
"""

from __future__ import annotations

from enum import Enum, StrEnum


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
