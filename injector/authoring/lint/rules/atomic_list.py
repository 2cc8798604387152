"""The overlay sets a list that does not merge, and the pod may have a list of its own there.

A list without a merge key is not merged. If the pod has the list, the pod's list stays, and the pod gets none of the
overlay's elements. With `!replace`, the overlay's list replaces the pod's list. So one of the two lists is lost. This
loss does no harm in a container of the template itself. It does harm in a field of the whole pod and in `"*"`. Volumes,
variables, ports, tolerations and the other lists in the merge table of "Writing templates" do merge.

Source: Kubernetes API reference, the list types (`x-kubernetes-list-type: atomic`).

Bad:
    # overlay.yaml.j2
    spec:
      containers:
      - name: shipper
        image: example.com/shipper:1.2
      - name: "*"
        securityContext:
          capabilities: {drop: [NET_RAW]}

Good:
    # overlay.yaml.j2
    spec:
      containers:
      - name: shipper
        image: example.com/shipper:1.2
        securityContext:
          capabilities: {drop: [NET_RAW]}
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from injector.authoring.lint.pod_schema import UNKNOWN_FIELD, SchemasMissingError, schema_errors
from injector.authoring.lint.subject import Finding, Rendering, Subject
from injector.diagnostics import Path
from injector.pods.constraints.pod_view import sequence
from injector.pods.fields import CONTAINER, CONTAINER_LISTS, SPEC, Field
from injector.pods.overlay import EVERY_CONTAINER, SELECTING, Replace, bare_value, name_of, plain_mapping

SEVERITY = "warning"


def check(subject: Subject) -> Iterator[Finding]:
    """One finding for each list."""
    for rendering in subject.renderings:
        unknown = _unknown(subject, rendering)
        for path, replaced in _shared(rendering):
            if unknown.intersection(path):
                continue  # no list at all: the rule schema tells what it may be
            loser = (
                "the list that a pod already has is lost"
                if replaced
                else "a pod that already has this list keeps its own, and no item of this template is added"
            )
            yield Finding(
                f"{_written(path)} does not merge: {loser}",
                rendering.overlay.place(path, key=True),
                (
                    "let the pod's author set it. Or, if you know that no pod sets this list, disable this rule and "
                    "say how you know"
                ),
            )


def _unknown(subject: Subject, rendering: Rendering) -> set[str | int]:
    """The fields of a pod that Kubernetes does not have; none where nobody knows them."""
    try:
        return {e.path[-1] for e in schema_errors(rendering.after, subject.kubernetes) if e.code == UNKNOWN_FIELD}
    except SchemasMissingError:
        return set()


def _written(path: Path) -> str:
    """The end of a path, as people write it."""
    fields = [str(step) for step in path[-2:] if isinstance(step, str)]
    return ".".join(fields if len(fields) > 1 else ['"*"', *fields])


def _shared(rendering: Rendering) -> Iterator[tuple[Path, bool]]:
    """The lists that the overlay shares with the app, and whether `!replace` stands there."""
    spec = plain_mapping(plain_mapping(rendering.overlay.value).get("spec"))
    for field, value in spec.items():
        if field not in (*CONTAINER_LISTS, "volumes"):
            yield from _lists(value, ("spec", field), SPEC.fields[field])
    for index, item in enumerate(sequence(bare_value(spec.get("containers")))):
        if name_of(item) == EVERY_CONTAINER:
            fields = {key: value for key, value in plain_mapping(item).items() if key not in SELECTING}
            yield from _lists(fields, ("spec", "containers", index), CONTAINER)


def _lists(value: Any, path: Path, field: Field) -> Iterator[tuple[Path, bool]]:
    bare = bare_value(value)
    if isinstance(bare, dict):
        for key, part in bare.items():
            yield from _lists(part, (*path, key), field.fields[key])
    elif isinstance(bare, list) and not field.aligned:
        yield path, isinstance(value, Replace)
