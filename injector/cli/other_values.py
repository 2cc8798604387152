"""A pod that Pod Security refuses, tried with the other values that a template's parameters may have."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from injector.inject import inject
from injector.injection import Injection
from injector.pods.context import Namespace, Object
from injector.reasons import Reason
from injector.templates.choice import choose
from injector.templates.snapshot import Snapshot
from injector.templates.template import Parameter


def other_values(
    pod: Object, result: Injection, namespace: Namespace, snapshot: Snapshot, names: Sequence[str] | None
) -> Iterator[str]:
    """A sentence for each value of a parameter with which the pod would have its sidecar here."""
    if result.reason is not Reason.POD_SECURITY:
        return
    settings, required = snapshot.settings, result.decision.required
    for template in choose(pod, namespace, settings, snapshot.catalog, required=required, names=names).templates:
        for parameter in template.parameters.values():
            for value in _values(parameter):
                overrides = {template.name: {parameter.name: value}}
                tried = inject(pod, namespace, snapshot, names=names, overrides=overrides)
                if tried.reason is Reason.INJECTED:
                    key = f"{settings.parameter_suffix(template.name)}{parameter.name}"
                    yield "; ".join([f"with {key}: {value} the sidecar is allowed here", *tried.warning_lines])


def _values(parameter: Parameter) -> Sequence[str]:
    """What the parameter may be, where its schema lists that."""
    if parameter.type == "boolean":
        return ("true", "false")
    return [str(value) for value in parameter.schema.get("enum", ())]
