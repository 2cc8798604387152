"""The template's selector matches every pod.

A pod gets the templates whose `selector` matches it, if neither the pod nor its namespace names a template. An empty
selector matches every pod, so each of these pods gets this sidecar, in every namespace that the template's `namespaces`
allows. If users are to name the template themselves, remove the key `selector`. If all pods are to get the template,
remove the key as well, and let an admin list the template under `templates` in the settings.

Source: Kubernetes docs, "Labels and Selectors": an empty label selector matches all objects.

Bad:
    # template.yaml
    description: Ships the app's logs.
    selector: {}
    # overlay.yaml.j2
    spec:
      containers:
      - name: shipper
        image: example.com/shipper:1.2

Good:
    # template.yaml
    description: Ships the app's logs.
    selector: {matchLabels: {shipper.example.com/logs: "true"}}
    # overlay.yaml.j2
    spec:
      containers:
      - name: shipper
        image: example.com/shipper:1.2
"""

from __future__ import annotations

from collections.abc import Iterator

from injector.authoring.lint.subject import Finding, Subject

SEVERITY = "warning"


def check(subject: Subject) -> Iterator[Finding]:
    """At most one finding."""
    selector = subject.template.selector
    if subject.template.why_not_injected:  # at a path a selector only says which objects are meant
        return
    if selector is not None and not selector.get("matchLabels") and not selector.get("matchExpressions"):
        yield Finding(
            (
                "an empty selector matches every pod: each pod gets this template if neither the pod nor its "
                "namespace names templates"
            ),
            subject.manifest(("selector",)),
            "name a label, or leave the key out",
        )
