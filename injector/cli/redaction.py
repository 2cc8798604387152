"""What an injection does to a pod, to be shown to others: the pod before and after and its config files, without the
values of secret parameters.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from injector.authoring.cases.harness import config_files
from injector.authoring.refusal_location import Attempt
from injector.inject import inject
from injector.pods.context import Object
from injector.pods.receipt import read_receipt, take_off
from injector.pods.shape import string_map
from injector.templates.families import declared_parameter
from injector.templates.parameter_values import value_of
from injector.templates.samples import sample_value
from injector.templates.snapshot import Snapshot
from injector.templates.template import UNSET, Parameter

#: An annotation with the whole object, as it was when kubectl applied it.
_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
#: A shorter value may stand anywhere.
_SECRET_LENGTH = 4


class Redacted(NamedTuple):
    """A pod before and after, the texts of config files by template and file, and the parameters that have another
    value here, as `template.parameter`.
    """

    before: Object
    after: Object
    files: Mapping[str, Mapping[str, str]]
    hidden: tuple[str, ...]


def redacted(attempt: Attempt) -> Redacted | None:
    """The injection once more, into the pod without what it has of it, with another value for each secret parameter.

    None where nothing was added; where a secret parameter takes no other value, or the result is another with it; and
    where a secret value is in the result all the same, because the pod itself has it.
    """
    snapshot = attempt.snapshot
    secrets = [
        (applied.template.name, parameter, applied.parameters.values[parameter.variable])
        for applied in attempt.injection.applied
        for parameter in applied.template.parameters.values()
        if parameter.secret and applied.parameters.values[parameter.variable] not in (None, "", {}, [])
    ]
    overrides = {name: dict(values) for name, values in attempt.overrides.items()}
    for template, parameter, value in secrets:
        substitute = _substitute(parameter, value)
        if substitute is UNSET:
            return None
        overrides.setdefault(template, {}).update({parameter.name: substitute})
    before = take_off(attempt.pod, read_receipt(attempt.pod, snapshot.settings), snapshot.settings)
    result = inject(
        before, attempt.namespace, snapshot, names=attempt.names, overrides=overrides, workload=attempt.workload
    )
    if not result.applied or [a.template for a in result.applied] != [a.template for a in attempt.injection.applied]:
        return None
    hidden = tuple(f"{template}.{parameter.name}" for template, parameter, _ in secrets)
    files = config_files(result, snapshot.settings)
    view = Redacted(_without_secrets(before, snapshot), _without_secrets(result.object, snapshot), files, hidden)
    text = json.dumps(view, ensure_ascii=False)
    values = (text_value for _, parameter, value in secrets for text_value in _texts(parameter, value))
    return None if any(json.dumps(value, ensure_ascii=False)[1:-1] in text for value in values) else view


def _substitute(parameter: Parameter, value: Any) -> Any:
    """A value that may stand in place of a secret one; UNSET where there is none that the parameter takes."""
    masked = parameter.masked(value)
    if parameter.member is not None:
        masked = {name: _substitute(parameter.member, member) for name, member in value.items()}
    for candidate in (masked, sample_value(parameter)):
        try:
            if candidate != value:
                return value_of(parameter, candidate)
        except ValueError:
            continue
    return UNSET


def _texts(parameter: Parameter, value: Any) -> Iterator[str]:
    """The texts in a secret value that no other text has by chance; what everybody can read in the template is none."""
    if isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _texts(parameter, inner)
    elif value != parameter.default and len(str(value)) >= _SECRET_LENGTH:
        yield str(value)


def _without_secrets(pod: Object, snapshot: Snapshot) -> Object:
    """Metadata and spec of a pod; its annotations without the values that they give to secret parameters."""
    prefixes = {snapshot.settings.parameter_suffix(t.name): t.parameters for t in snapshot.catalog}
    annotations = string_map(pod, "annotations")
    annotations.pop(_LAST_APPLIED, None)
    for key in annotations:
        template, slash, name = key.partition("/")
        parameter = declared_parameter(prefixes.get(template + slash, {}), name)
        if parameter is not None:
            annotations[key] = parameter.masked(annotations[key])
    metadata = {key: value for key, value in pod.get("metadata", {}).items() if key != "managedFields"}
    if annotations:
        metadata["annotations"] = annotations
    return {"metadata": metadata, "spec": pod.get("spec", {})}
