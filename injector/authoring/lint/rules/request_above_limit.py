"""A container requests more than its limit.

The rule checks the template's own containers, with the defaults of the parameters.

Why: the API server refuses a container whose request is above its limit. So the injector lowers the request to the
limit, and warns at each injection. The sidecar then gets less than the template says.
https://kubernetes.io/docs/concepts/configuration/manage-resources-containers/

Bad:
    # overlay.yaml.j2
    spec:
      containers:
      - name: tool
        image: {{ params.image }}
        resources:
          requests: {cpu: 10m, memory: 128Mi}
          limits: {memory: 64Mi}

Good:
    # overlay.yaml.j2
    spec:
      containers:
      - name: tool
        image: {{ params.image }}
        resources:
          requests: {cpu: 10m, memory: 64Mi}
          limits: {memory: 128Mi}
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

from injector.authoring.lint.rules._values import usual
from injector.authoring.lint.subject import Finding, Subject
from injector.pods.overlay import plain_mapping
from injector.pods.quantity import parse_quantity

SEVERITY = "error"


def check(subject: Subject) -> Iterator[Finding]:
    """One finding for each request."""
    for rendering in usual(subject):
        for path, container in rendering.containers():
            resources = plain_mapping(container.get("resources"))
            limits = plain_mapping(resources.get("limits"))
            for name, request in plain_mapping(resources.get("requests")).items():
                requested, most = _amount(request), _amount(limits.get(name))
                if requested is not None and most is not None and requested > most:
                    yield Finding(
                        (
                            f"container `{container.get('name')}` has the {name} request {request}, but the {name} "
                            f"limit is {limits[name]}"
                        ),
                        rendering.overlay.place((*path, "resources", "requests", name)),
                        "raise the limit, or request less",
                    )


def _amount(value: Any) -> Decimal | None:
    try:
        return parse_quantity(value)
    except ValueError:
        return None
