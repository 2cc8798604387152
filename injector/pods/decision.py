"""Whether a pod is to be injected: one ordered table of steps, the first that fits decides.

`decide()` is pure. Its result carries the trail of all steps looked at, which is what `injector explain` prints, and
the reason, which is what logs, metrics and audit annotations carry.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from injector.diagnostics import Diagnostic, Key
from injector.names import did_you_mean, nearest
from injector.pods.context import Namespace, Object, Request
from injector.pods.selectors import matches
from injector.pods.shape import string_map
from injector.reasons import Effect, Reason
from injector.settings import Settings

#: The annotation of a mirror pod: https://kubernetes.io/docs/reference/labels-annotations-taints/
MIRROR_ANNOTATION = "kubernetes.io/config.mirror"


class Step(msgspec.Struct, frozen=True, gc=False):
    """One line of the decision table as it went for a pod: the reason it stands for, what it saw, whether it fits.

    `overruled` says that it fits, and that a `required` namespace goes on all the same.
    """

    reason: Reason
    evidence: tuple[str, ...]
    fits: bool
    overruled: bool = False

    @property
    def saw(self) -> str:
        """What the step saw, for people. Put together only when somebody asks: few trails are ever read."""
        return self.evidence[0].format(*self.evidence[1:])


class Decision(msgspec.Struct, frozen=True):
    """The reason that decided, whether the namespace is `required`, the trail, and warnings for people."""

    reason: Reason
    required: bool
    trail: tuple[Step, ...]
    warnings: tuple[Diagnostic, ...] = ()

    @property
    def inject(self) -> bool:
        """True when the pod is to be injected."""
        return self.reason.effect(required=self.required) is Effect.INJECT


#: Whether a step fits, and what it saw: a format and what goes into it.
_Sight = tuple[bool, tuple[str, ...]]


class _Subject(msgspec.Struct, frozen=True):
    """All that a step may look at."""

    labels: dict[str, str]
    annotations: dict[str, str]
    namespace: Namespace
    request: Request
    settings: Settings
    label: str | None
    says: tuple[tuple[str, str], ...]

    def said(self, values: tuple[str, ...], kind: str) -> _Sight:
        key = self.settings.inject_key
        for place, value in self.says:
            if value.strip().lower() in values:
                return True, ("{} {}: {!r}", place, key, value)
        return False, ("{} is not set to {}", key, kind)


#: How a step looks at the subject.
_Look = Callable[[_Subject], _Sight]


def creates_pod(operation: str, resource: str, group: str, sub_resource: str | None) -> bool:
    """Whether a request creates a pod itself, not `pods/eviction` and the like."""
    return operation == "CREATE" and resource == "pods" and not group and not sub_resource


def _creation(s: _Subject) -> _Sight:
    r = s.request
    creation = creates_pod(r.operation, r.resource, r.group, r.sub_resource)
    return not creation, ("{} of {}", r.operation, r.whole_resource)


def _mirror(s: _Subject) -> _Sight:
    fits = MIRROR_ANNOTATION in s.annotations
    return fits, ("{} annotation {}", "has" if fits else "no", MIRROR_ANNOTATION)


def _ignored(s: _Subject) -> _Sight:
    return s.namespace.name in s.settings.ignored_namespaces, ("namespace {}", s.namespace.name)


def _namespace_label(choice: str) -> _Look:
    def look(s: _Subject) -> _Sight:
        label = s.settings.namespace_label
        if s.label is None:
            return False, ("namespace has no label {}", label.key)
        values = (label.enabled, label.required, label.disabled)
        if s.label not in values:
            return False, ("namespace label {}={} is not one of {}, {}, {}", label.key, s.label, *values)
        return s.label == getattr(label, choice), ("namespace label {}={}", label.key, s.label)

    return look


def _selector(field: str) -> _Look:
    title = f"{field.split('_')[0]}Selector"
    none = ("settings have no {}", title)

    def look(s: _Subject) -> _Sight:
        selector = getattr(s.settings, field)
        if selector is None:
            return False, none
        fits = matches(selector, s.labels)
        return fits, ("the pod's labels {} {}", "match" if fits else "do not match", title)

    return look


def _says_yes(s: _Subject) -> _Sight:
    fits, saw = s.said(s.settings.yes_values, "yes")
    if fits or s.settings.pod_default != "named":
        return fits, saw
    key = s.settings.templates_key
    template_names = s.annotations.get(key, "").strip(" ,")
    if template_names:
        return True, ("annotation {}: {!r}, with podDefault: named", key, template_names)
    return False, (f"{saw[0]}, and no {{}}", *saw[1:], key)


def _not_opted_in(s: _Subject) -> _Sight:
    ours = s.label in (s.settings.namespace_label.enabled, s.settings.namespace_label.required)
    return ours and s.settings.pod_default != "inject", ("settings say podDefault: {}", s.settings.pod_default)


#: The table. Order is the contract; each line is a reason and how to tell that it fits.
STEPS = (
    (Reason.NOT_A_POD_CREATION, _creation),
    (Reason.MIRROR_POD, _mirror),
    (Reason.NAMESPACE_IGNORED, _ignored),
    (Reason.EXEMPT, _selector("exempt_selector")),
    (Reason.NAMESPACE_DISABLED, _namespace_label("disabled")),
    (Reason.NEVER_SELECTOR, _selector("never_selector")),
    (Reason.POD_OPTED_OUT, lambda s: s.said(s.settings.no_values, "no")),
    (Reason.POD_OPTED_IN, _says_yes),
    (Reason.ALWAYS_SELECTOR, _selector("always_selector")),
    (Reason.POD_NOT_OPTED_IN, _not_opted_in),
    (Reason.NAMESPACE_ENABLED, _namespace_label("enabled")),
    (Reason.NAMESPACE_REQUIRED, _namespace_label("required")),
)


def is_required(namespace: Namespace, settings: Settings) -> bool:
    """Whether the namespace's label says `required`."""
    return namespace.labels.get(settings.namespace_label.key) == settings.namespace_label.required


def decide(pod: Object, namespace: Namespace, settings: Settings, request: Request) -> Decision:
    """Walk the table for a pod (a plain dict, of any shape) and return the first reason that fits.

    In a `required` namespace a reason that would let the pod go without is noted as overruled, and the walk goes on.
    """
    labels, annotations = string_map(pod, "labels"), string_map(pod, "annotations")
    key = settings.inject_key
    says = tuple((w, m[key]) for w, m in (("annotation", annotations), ("label", labels)) if key in m)
    label = namespace.labels.get(settings.namespace_label.key)
    subject = _Subject(labels, annotations, namespace, request, settings, label, says)
    required = is_required(namespace, settings)
    trail = []
    decided = Reason.NOT_REQUESTED
    for reason, look in STEPS:
        fits, saw = look(subject)
        overruled = (
            fits
            and required
            and reason.effect(required=False) is Effect.SKIP
            and reason.effect(required=True) is Effect.INJECT
        )
        trail.append(Step(reason, saw, fits, overruled))
        if fits and not overruled:
            decided = reason
            break
    return Decision(decided, required, tuple(trail), _unread(subject))


def _unread(s: _Subject) -> tuple[Diagnostic, ...]:
    """Warnings of a namespace label, and of a pod's answer, that choose nothing."""
    settings, label, warnings = s.settings, s.settings.namespace_label, []
    values, answers = (label.enabled, label.required, label.disabled), (*settings.yes_values, *settings.no_values)
    if s.label and s.label not in values:
        message = f"namespace label {label.key}={s.label[:30]} is not one of {', '.join(values)}; it does not apply"
        help_ = f"write {label.key}: {nearest(s.label, values, cutoff=0.75) or label.enabled}"
        fields = {"value": s.label, "allowed": values}
        warnings.append(Diagnostic("unread-choice", "warning", message, help_, fields=fields))
    for place, value in s.says:
        if value.strip().lower() not in answers:
            message = f'"{value[:30]}" is neither yes ({settings.yes_values[0]}) nor no ({settings.no_values[0]})'
            near = nearest(value.strip(), answers)
            help_ = did_you_mean(near, "it does not apply")
            fields = {"value": value, "allowed": answers}
            warnings.append(
                Diagnostic(
                    "unread-choice",
                    "warning",
                    message,
                    help_,
                    ("metadata", f"{place}s", Key(settings.inject_key)),
                    fields=fields,
                )
            )
    return tuple(warnings)
