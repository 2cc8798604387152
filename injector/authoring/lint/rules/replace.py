"""A `!replace` removes more than one value of the app, or changes the app's program, user or service account.

In front of most single values, such as that of `imagePullPolicy`, the tag `!replace` does no harm: the receipt keeps
the old value. In front of a list or a mapping, it removes everything that the pod's author wrote there, such as
variables that the app needs. In front of the value of a field such as `image`, `runAsUser` or `restartPolicy`, it
changes the app's program, user or service account, or how the pod runs. Write the tag only before the single value that
you want to replace.

Source: docs/templates.md, "Merge: fill in, do not overwrite".

Bad:
    # overlay.yaml.j2
    spec:
      containers:
      - name: shipper
        image: example.com/shipper:1.2
      - name: "*"
        env: !replace
        - {name: LOG_FOLDER, value: /logs}

Good:
    # overlay.yaml.j2
    spec:
      containers:
      - name: shipper
        image: example.com/shipper:1.2
      - name: "*"
        env:
        - {name: LOG_FOLDER, value: !replace /logs}
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from injector.authoring.lint.subject import Finding, Subject
from injector.diagnostics import Path
from injector.pods.overlay import EVERY_CONTAINER, Replace, bare_value, name_of, plain_mapping

SEVERITY = "warning"

_IDENTITY = frozenset(
    {
        "hostNetwork",
        "hostPID",
        "hostname",
        "image",
        "name",
        "nodeName",
        "restartPolicy",
        "runAsGroup",
        "runAsUser",
        "serviceAccountName",
    }
)


def check(subject: Subject) -> Iterator[Finding]:
    """One finding for each such tag that stands where the app's values are."""
    for rendering in subject.renderings:
        overlay = plain_mapping(rendering.overlay.value)
        for path, value in _tags({key: overlay[key] for key in ("metadata", "spec") if key in overlay}, ()):
            if isinstance(value, dict | list):
                message = f"!replace takes away all that the pod's author wrote in {path[-1]}"
            elif path[-1] in _IDENTITY:
                message = f"!replace of {path[-1]} changes the app itself: its program, user or account"
            else:
                continue
            place = rendering.overlay.place(path)
            yield Finding(message, place, "write !replace only before the one value that has to change")


def _tags(value: Any, path: Path) -> Iterator[tuple[Path, Any]]:
    """Path and value of each tag; those in a sidecar of the template's own replace nothing of the app's."""
    if isinstance(value, Replace):
        yield path, value.value
    bare = bare_value(value)
    if isinstance(bare, dict):
        for key, part in bare.items():
            yield from _tags(part, (*path, key))
    elif isinstance(bare, list):
        own = path in (("spec", "containers"), ("spec", "initContainers"))
        for index, part in enumerate(bare):
            if not (own and name_of(part) != EVERY_CONTAINER):
                yield from _tags(part, (*path, index))
