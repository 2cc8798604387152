"""A parameter may weaken the sidecar, and the template does not say whether it does.

The rule checks parameters that set an image, a user ID, a command or its arguments, and parameters whose names say that
something is excluded, skipped, ignored, allowed or trusted. It checks only parameters that a pod may set. It also
reports `image`, `command` or `args` in `overridable`, if the template has a parameter of the same name with `weakens:
true`.

Why: a `required` namespace guarantees that every pod has its sidecar. But with another image, or if every address is
excluded, the sidecar is there and does nothing. In a `required` namespace only the namespace and the settings can set a
parameter with `weakens: true`, unless the setting `required.podParameters` is `allow`. Write `weakens: false` if no
value of the parameter weakens the sidecar.

Source: docs/templates.md, "Parameters".

Bad:
    # template.yaml
    description: A proxy.
    parameters:
      image: {type: string, format: image, default: "example.com/proxy:1.2", description: Its image.}
    # overlay.yaml.j2
    spec:
      containers:
      - {name: proxy, image: "{{ params.image }}"}

Good:
    # template.yaml
    description: A proxy.
    parameters:
      image: {type: string, format: image, default: "example.com/proxy:1.2", weakens: true, description: Its image.}
    # overlay.yaml.j2
    spec:
      containers:
      - {name: proxy, image: "{{ params.image }}"}

Proof: the API server accepts the pod with another image as well.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from injector.authoring.lint.subject import Finding, Subject
from injector.templates.template import Parameter

SEVERITY = "warning"

_NAMES = re.compile(
    r"(^|-)(exclude[ds]?|skip(ped)?|ignored?|bypass|drop|trust(ed)?|allow(ed)?|command|args|run-as-user)(-|$)"
)
_NAMES_OF_USERS = ("user", "user-id", "uid")


def check(subject: Subject) -> Iterator[Finding]:
    """One finding for each parameter of a sidecar that has no `weakens`, and for each field that gets around one with
    it.
    """
    template = subject.template
    if template.why_not_injected or not any(next(rendered.sidecars(), None) for rendered in subject.renderings):
        return
    for name, parameter in template.parameters.items():
        if parameter.weakens is None and "pod" in parameter.setters and _may_weaken(parameter):
            yield Finding(
                f"parameter `{name}` may let a pod weaken its sidecar",
                subject.manifest(("parameters", name)),
                "set `weakens: true`, or `weakens: false` if no value of the parameter weakens the sidecar",
            )
    for field in ("image", "command", "args"):
        marked = template.parameters.get(field)
        if field in template.overridable and marked is not None and marked.weakens:
            yield Finding(
                f"parameter `{field}` weakens the sidecar, but `overridable` still lets a pod set {field}",
                subject.manifest(("overridable",)),
                f"remove {field} from the parameters or from `overridable`",
            )


def _may_weaken(parameter: Parameter) -> bool:
    is_user = parameter.type == "integer" and parameter.name in _NAMES_OF_USERS
    is_image = (parameter.member or parameter).schema.get("format") == "image"
    return is_image or is_user or _NAMES.search(parameter.name) is not None
