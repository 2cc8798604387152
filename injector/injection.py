"""The result for an object, and those that need no template: skipped, and failed by the table of reasons."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

import msgspec

from injector.diagnostics import Diagnostic, printable
from injector.errors import DENIED_CODE, InjectionError, TemplateError
from injector.names import cut
from injector.pods.context import Namespace, Object
from injector.pods.decision import Decision
from injector.pods.delivery import GeneratedConfigMap
from injector.pods.fields import POD, Field
from injector.pods.patch import changes, patch_applies, to_json_patch
from injector.pods.receipt import read_receipt
from injector.pods.shape import string_map, with_entries
from injector.reasons import Effect, Reason
from injector.templates.choice import Origin, origins_of
from injector.templates.parameters import Resolved
from injector.templates.render import RenderError
from injector.templates.snapshot import Snapshot
from injector.templates.template import Template

#: Characters of the reason annotation: a sentence, not a log.
_REASON_LENGTH = 500
#: Templates of which a refusal names where they came from.
_NAMED_TEMPLATES = 10


class Applied(msgspec.Struct, frozen=True):
    """A template as it was applied: its parameters with where each value came from, and the overlay.

    `containers` are the names of those that the overlay defines, `defaults` keyed pointers into it at which the pod's
    own value counts.
    """

    template: Template
    parameters: Resolved
    overlay: Object
    containers: tuple[str, ...] = ()
    files: tuple[GeneratedConfigMap, ...] = ()
    defaults: frozenset[str] = frozenset()
    #: Images of the template that come from a mirror, and their names there.
    mirrored: Mapping[str, str] = {}
    tagged: bool = True  #: whether the overlay may hold a `!replace` or `!append`


class Injection(msgspec.Struct, frozen=True, kw_only=True):
    """The result for a pod, or at a path of the settings for an object of any kind.

    `effect` says what becomes of it. `object` is the object as it should be, `patch` the JSON Patch (RFC 6902) that
    leads there from the one given. `files` must exist before it does. `failures` are what went wrong, of which the
    first gave the reason; where they do not keep the object out, `consequence` says what follows in two or three words.
    """

    decision: Decision
    reason: Reason
    effect: Effect
    object: Object
    generation: str
    patch: tuple[dict[str, Any], ...] = ()
    files: tuple[GeneratedConfigMap, ...] = ()
    warnings: tuple[Diagnostic, ...] = ()
    failures: tuple[Diagnostic, ...] = ()
    consequence: str = ""
    applied: tuple[Applied, ...] = ()
    templates_source: str = ""
    code: int = DENIED_CODE
    mistake: TemplateError | None = None  #: of a template that failed: what is wrong with it and where

    @property
    def allowed(self) -> bool:
        """Whether the object is admitted."""
        return self.effect is not Effect.REFUSE

    @property
    def diagnostic(self) -> Diagnostic | None:
        """What went wrong, where something did."""
        return next(iter(self.failures), None)

    @property
    def sentence(self) -> str:
        """What went wrong; else what the reason says, with the templates that were applied."""
        if self.failures:
            return self.failures[0].located
        names = ", ".join(self.template_names)
        return f"{self.reason.sentence} ({names})" if names else self.reason.sentence

    @property
    def message(self) -> str:
        """The sentence for people, behind the name of the reason where something went wrong."""
        return f"{self.reason}: {self.sentence}" if self.failures else self.sentence

    @property
    def warning_lines(self) -> tuple[str, ...]:
        """What people are warned of, a line each: first the failures that do not keep the object out."""
        failures = self.failures if self.consequence else ()
        lines = [failure.warning(f"{self.consequence}: {failure.code}: ") for failure in failures]
        return tuple(dict.fromkeys([*lines, *(warning.warning_line for warning in self.warnings)]))

    @property
    def template_names(self) -> tuple[str, ...]:
        """The name of each template that was applied, of a next version its own."""
        return tuple(applied.template.own_name for applied in self.applied)

    @property
    def templates(self) -> tuple[tuple[str, str], ...]:
        """Name and content hash of each template that was applied."""
        return tuple((a.template.name, a.template.digest) for a in self.applied)


def failed_injection(pod: Object, decision: Decision, snapshot: Snapshot, error: InjectionError) -> Injection:
    """The verdict on a pod that cannot be injected: by the table of reasons it is let through, marked, or refused.

    A pod that carries an injection already keeps its mark: it does not run without its sidecar.
    """
    effect = error.reason.effect(required=decision.required)
    after = pod
    if effect is Effect.MARK and read_receipt(pod, snapshot.settings) is None:
        settings, message = snapshot.settings, printable(f"{error.reason}: {error}")
        marks = {settings.status_key: "failed", settings.reason_key: message[:_REASON_LENGTH]}
        own, label = string_map(pod, "labels"), settings.status_label
        after = with_entries(pod, marks, {label: own.get(label, "failed")} if label else {})
    return Injection(
        decision=decision,
        reason=error.reason,
        effect=effect,
        object=after,
        generation=snapshot.generation,
        patch=patch_between(pod, after),
        warnings=decision.warnings,
        failures=(error.diagnostic,),
        consequence="" if effect is Effect.REFUSE else "no sidecar",
        code=error.code,
        mistake=error.as_template_error() if isinstance(error, RenderError) else None,
    )


def with_origins_of_templates(
    failed: Injection, pod: Object, namespace: Namespace, snapshot: Snapshot, names: Sequence[str] | None = None
) -> Injection:
    """A refusal that also names where each template came from, and who can change that: often not the pod's author."""
    required = failed.decision.required
    origins = origins_of(pod, namespace, snapshot.settings, snapshot.catalog, required=required, names=names)
    if not origins or names is not None:  # whoever typed the names knows
        return failed
    by_origin: dict[Origin, list[str]] = {}
    for name, origin in islice(origins.items(), _NAMED_TEMPLATES):
        by_origin.setdefault(origin, []).append(cut(name, 60))
    sentences = []
    for origin, templates in by_origin.items():
        subject = f"template {templates[0]} comes" if len(templates) == 1 else f"templates {', '.join(templates)} come"
        sentences.append(f"{subject} from {origin.text}, which {origin.changed_by} can change")
    if required and string_map(pod, "annotations").get(snapshot.settings.templates_key) is not None:
        sentences.append("in this namespace a pod's annotation can add templates, but cannot remove one")
    first, *rest = failed.failures
    help_ = "; ".join(filter(None, (first.help, *sentences)))
    fields = {**first.fields, "origins": {name: origin.text for name, origin in origins.items()}}
    return msgspec.structs.replace(failed, failures=(replace(first, help=help_, fields=fields), *rest))


def skipped_injection(pod: Object, decision: Decision, snapshot: Snapshot) -> Injection:
    """The result for a pod, or at a path another object, that the decision lets through untouched."""
    return Injection(
        decision=decision,
        reason=decision.reason,
        effect=Effect.SKIP,
        object=pod,
        generation=snapshot.generation,
        warnings=decision.warnings,
    )


def patch_between(before: Object, after: Object, root: Field = POD) -> tuple[dict[str, Any], ...]:
    """The JSON Patch from one object to another. It is tried first: if a patch does not apply, the API server refuses
    the object, whatever the failure policy says. `root` says which kind of object both are.

    Raises InjectionError with Reason.INTERNAL_ERROR when it does not lead to `after`.
    """
    patch = to_json_patch(changes(before, after, root=root))
    if patch and not patch_applies(patch, before, after):
        raise InjectionError(Reason.INTERNAL_ERROR, "the patch that was made does not apply to the object")
    return tuple(patch)
