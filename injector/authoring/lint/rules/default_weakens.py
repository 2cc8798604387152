"""The tag `!default` lets a pod of a `required` namespace keep its own value in place of the template's.

In a `required` namespace the injector refuses a pod that changes the sidecars, their volumes, or the variables, mounts
and ports that `"*"` gives the app. With `!default` the injector allows the pod's own value at these places, so an
application team can turn off what the sidecar is for. Remove the tag `!default`. If you want to let pods change a field
of the sidecar, list the field in `overridable`, or disable this rule on the line.

Source: docs/templates.md, "Merge: fill in, do not overwrite".

Bad:
    # template.yaml
    description: Sends the app's traffic through a proxy.
    # overlay.yaml.j2
    spec:
      containers:
      - name: proxy
        image: example.com/proxy:1.2
      - name: "*"
        env:
        - !default {name: HTTPS_PROXY, value: "http://127.0.0.1:3128"}

Good:
    # overlay.yaml.j2
    spec:
      containers:
      - name: proxy
        image: example.com/proxy:1.2
      - name: "*"
        env:
        - {name: HTTPS_PROXY, value: "http://127.0.0.1:3128"}

Proof: the API server accepts both; the tests of `!default` show what happens in a `required` namespace.
"""

from __future__ import annotations

from collections.abc import Iterator

from injector.authoring.lint.subject import Finding, RenderedSource, Subject
from injector.diagnostics import Path
from injector.pods.fields import CONTAINER, CONTAINER_LISTS
from injector.pods.overlay import EVERY_CONTAINER, name_of, plain_mapping

SEVERITY = "warning"


def check(subject: Subject) -> Iterator[Finding]:
    """One finding for each such tag."""
    for rendering in subject.renderings:
        rendered = rendering.overlay.rendered
        for path in rendered.default_paths if rendered is not None else ():
            if _guaranteed(rendering.overlay, path, subject.template.overridable):
                yield Finding(
                    f"with !default, a pod can override {_shown(path)} even in a required namespace",
                    rendering.overlay.place(path),
                    "remove the tag, or list the field as overridable",
                )


def _guaranteed(overlay: RenderedSource, path: Path, overridable: frozenset[str]) -> bool:
    """Whether a `required` namespace insists on what an overlay has there."""
    if path[:2] == ("spec", "volumes"):
        return True
    if path[0] != "spec" or path[1] not in CONTAINER_LISTS:
        return False
    field = path[3] if len(path) > 3 else ""
    container = plain_mapping(overlay.value["spec"])[path[1]][path[2]]
    if name_of(container) == EVERY_CONTAINER:
        return not field or CONTAINER.fields[str(field)].aligned
    return field not in overridable


def _shown(path: Path) -> str:
    return next((str(step) for step in reversed(path) if isinstance(step, str)), "value")
