"""A container requests no CPU or no memory.

The rule reports a container without `resources.requests` for cpu or memory. A limit without a request is enough,
because Kubernetes then uses the limit as the request.

Why: in a namespace with a ResourceQuota for requests the API server would refuse a pod that has such a container, so
the injection fails. A HorizontalPodAutoscaler cannot calculate the utilisation of such a pod. And when a node is short
of CPU or memory, a container without requests suffers first.
https://kubernetes.io/docs/concepts/policy/resource-quotas/

Bad:
    # overlay.yaml.j2
    spec:
      containers:
      - name: tool
        image: {{ params.image }}
        resources:
          limits: {memory: 64Mi}

Good:
    # overlay.yaml.j2
    spec:
      containers:
      - name: tool
        image: {{ params.image }}
        resources:
          requests: {cpu: 10m, memory: 32Mi}
          limits: {memory: 64Mi}
"""

from __future__ import annotations

from collections.abc import Iterator

from injector.authoring.lint.subject import Finding, Subject
from injector.pods.overlay import plain_mapping

SEVERITY = "warning"


def check(subject: Subject) -> Iterator[Finding]:
    """Containers without a request of cpu or memory."""
    for rendering in subject.renderings:
        pod_level = plain_mapping(plain_mapping(rendering.after.get("spec")).get("resources"))
        if pod_level:
            continue  # the pod as a whole has its budget
        for path, container in rendering.containers():
            resources = plain_mapping(container.get("resources"))
            amounts = {**plain_mapping(resources.get("limits")), **plain_mapping(resources.get("requests"))}
            missing = [name for name in ("cpu", "memory") if name not in amounts]
            if missing:
                place = rendering.overlay.place((*path, "resources"), key=True)
                yield Finding(
                    f"container `{container.get('name')}` has no request for {' and '.join(missing)}",
                    place,
                    "add resources: {requests: {cpu: ..., memory: ...}}, from parameters",
                )
