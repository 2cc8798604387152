"""A parameter that pods may set in a `required` namespace can keep the sidecar from its work.

The rule checks parameters with `pods: may-set` that set an image, a user ID, a command or its arguments, and those
whose names say that something is excluded, skipped, ignored, allowed or trusted. It also reports `image`, `command` or
`args` in `overridable`, if the template has a parameter of the same name without `pods: may-set`.

Why: a `required` namespace guarantees that every pod has its sidecar. But with another image, or if every address is
excluded, the sidecar is there and does nothing. Without `pods: may-set`, only the namespace and the settings can set a
parameter there. If no value of the parameter weakens the sidecar, disable this rule on the line and say why.

Source: docs/templates.md, "Parameters".

Bad:
    # template.yaml
    description: A proxy.
    parameters:
      image: {type: string, format: image, default: "example.com/proxy:1.2", pods: may-set, description: Its image.}
    # overlay.yaml.j2
    spec:
      containers:
      - {name: proxy, image: "{{ params.image }}"}

Good:
    # template.yaml
    description: A proxy.
    parameters:
      image: {type: string, format: image, default: "example.com/proxy:1.2", description: Its image.}
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
    """One finding for each such parameter of a sidecar, and for each field that gets around one that is closed."""
    template = subject.template
    if template.why_not_injected or not any(next(rendered.sidecars(), None) for rendered in subject.renderings):
        return
    for name, parameter in template.parameters.items():
        if parameter.open and _may_weaken(parameter):
            yield Finding(
                f"with parameter `{name}`, a pod of a required namespace may weaken its sidecar",
                subject.manifest(("parameters", name, "pods")),
                "remove `pods: may-set`; the namespace and the settings can still set it",
            )
    for field in ("image", "command", "args"):
        closed = template.parameters.get(field)
        if field in template.overridable and closed is not None and not closed.open:
            yield Finding(
                f"parameter `{field}` is closed to the pods of a required namespace, but `overridable` opens the field",
                subject.manifest(("overridable",)),
                f"remove {field} from the parameters or from `overridable`",
            )


def _may_weaken(parameter: Parameter) -> bool:
    is_user = parameter.type == "integer" and parameter.name in _NAMES_OF_USERS
    is_image = (parameter.member or parameter).schema.get("format") == "image"
    return is_image or is_user or _NAMES.search(parameter.name) is not None
