"""The overlay sets a list in an object that is not a pod, and the object may have a list of its own there.

The injector knows the merge keys of lists in pods, but not in other kinds. So the injector does not merge such a list:
if the object has the list, it keeps this list and gets none of the overlay's elements, and the author of the object
sees a warning. Write the list only if the object has none (`is not defined`). Or use `!replace`, with a list that also
contains the object's own elements.

Bad:
    # template.yaml
    description: Who may reach a load balancer.
    for: {resources: [services]}
    # overlay.yaml.j2
    spec:
      loadBalancerSourceRanges: [10.0.0.0/8]

Good:
    # overlay.yaml.j2
    {% if object.spec.loadBalancerSourceRanges is not defined %}
    spec:
      loadBalancerSourceRanges: [10.0.0.0/8]
    {% endif %}

Proof: the object stays as its author wrote it, and the API server accepts it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from injector.authoring.lint.subject import Finding, ObjectRendering, RenderedSource, Subject
from injector.diagnostics import Path
from injector.errors import InjectionError
from injector.pods.context import Object

SEVERITY = "warning"


def check(subject: Subject) -> Iterator[Finding]:
    """One finding for each list that is there whether or not the object has its own."""
    for rendering in subject.objects:
        if rendering.overlay is None or rendering.asked.is_pod:
            continue
        for path in _lists(rendering.overlay.value, ()):
            if _stays(subject, rendering, path):
                yield Finding(
                    (
                        f"{'.'.join(map(str, path))} does not merge: an object that already has this list gets "
                        "nothing from the template"
                    ),
                    rendering.overlay.place(path, key=True),
                    "write the list only if the object does not have it, or use !replace",
                )


def _lists(value: Any, path: Path) -> Iterator[Path]:
    """The paths of lists that are filled in. A list inside another list, or behind `!replace`, is not one of them."""
    if type(value) is dict:
        for key, part in value.items():
            yield from _lists(part, (*path, key))
    elif type(value) is list:
        yield path


def _stays(subject: Subject, rendering: ObjectRendering, path: Path) -> bool:
    """Whether the list is still there for an object that has one of its own."""
    if rendering.context is None:
        return False
    context = msgspec.structs.replace(rendering.context, object=_with(rendering.context.object, path, ["of its own"]))
    try:
        value: Any = RenderedSource(subject.template, context).value
    except InjectionError:
        return False
    for step in path:
        value = value.get(step) if type(value) is dict else None
    return type(value) is list


def _with(obj: Object, path: Path, value: Any) -> Object:
    head, *rest = path
    below = obj.get(str(head))
    return {**obj, str(head): _with(below if isinstance(below, dict) else {}, tuple(rest), value) if rest else value}
