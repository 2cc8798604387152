"""A preStop hook sleeps longer than the termination grace period of some pods.

The API server refuses a pod whose `preStop.sleep` is longer than its `terminationGracePeriodSeconds`. Some pods, such
as those of tests and batch jobs, have a grace period of 0 or 1 seconds, so they would get no sidecar. Let the hook
sleep for the smaller one of two numbers: the seconds that you want, and the pod's `terminationGracePeriodSeconds`.

Source: Kubernetes docs, "Container Lifecycle Hooks", Sleep action; API validation of SleepAction.

Bad:
    # overlay.yaml.j2
    spec:
      containers:
      - name: shipper
        image: example.com/shipper:1.2
        lifecycle:
          preStop: {sleep: {seconds: 10}}

Good:
    # overlay.yaml.j2
    {% set delay = [10, pod.spec.terminationGracePeriodSeconds | default(30)] | min %}
    spec:
      containers:
      - name: shipper
        image: example.com/shipper:1.2
    {% if delay > 0 %}
        lifecycle:
          preStop: {sleep: {seconds: {{ delay }}}}
    {% endif %}
"""

from __future__ import annotations

from collections.abc import Iterator

from injector.authoring.lint.rules._values import rendered_for, usual
from injector.authoring.lint.subject import Finding, Subject, sidecars
from injector.pods.constraints.pod_view import mapping

SEVERITY = "error"

_SHORT = 1


def check(subject: Subject) -> Iterator[Finding]:
    """One finding for each hook that a pod with a grace period of a second cannot have."""
    for rendering in usual(subject):
        for native in (True, False):
            overlay = rendered_for(subject, rendering.context, native=native, grace=_SHORT)
            for path, container in sidecars(overlay) if overlay is not None else ():
                sleep = mapping(mapping(mapping(container.get("lifecycle")).get("preStop")).get("sleep"))
                seconds = sleep.get("seconds")
                if overlay is not None and isinstance(seconds, int) and seconds > _SHORT:
                    yield Finding(
                        f"pods whose terminationGracePeriodSeconds is below {seconds} are refused with this hook",
                        overlay.place((*path, "lifecycle", "preStop", "sleep", "seconds")),
                        (
                            "write seconds: {{ [SECONDS, pod.spec.terminationGracePeriodSeconds | default(30)] | min }}"
                            ", with your number in place of SECONDS"
                        ),
                    )
