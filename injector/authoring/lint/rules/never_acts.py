"""Nothing that was tried at a path is refused, warned of or completed.

A template for a path says something or adds something, or it is asked for nothing: each request of its kind waits for
the answer all the same. Tried are samples of what `for` names, which say next to nothing, with the parameters at their
edges, and what the template's cases ask. Most often a condition asks for a field that is called otherwise. Where the
template is right, and acts on what no sample has, a case shows it.

Bad:
    # template.yaml
    description: Every Service says whose it is.
    for: {resources: [services], operations: [CREATE, UPDATE]}
    # overlay.yaml.j2
    {% if object.labels.team | default("somebody") == "" %}{{ deny("label it with its team") }}{% endif %}

Good:
    # template.yaml
    description: Every Service says whose it is.
    for: {resources: [services], operations: [CREATE, UPDATE]}
    # overlay.yaml.j2
    {% if object.metadata.labels.team | default("") == "" %}{{ deny("label it with its team") }}{% endif %}

Proof: nothing happens, which no API server tells of.
"""

from __future__ import annotations

from collections.abc import Iterator

from injector.authoring.lint.subject import Finding, Subject
from injector.templates.template import OVERLAY

SEVERITY = "warning"


def check(subject: Subject) -> Iterator[Finding]:
    """At most one finding; none while something fails, or where pods are injected too."""
    tried = subject.objects
    if not tried or subject.failures or not subject.template.why_not_injected or any(made.acts for made in tried):
        return
    yield Finding(
        f"of {len(tried)} sample requests it refuses, warns about or completes none",
        subject.line_place(OVERLAY, 1, 1),
        "look at its conditions, or write a case with an object for which it does something",
    )
