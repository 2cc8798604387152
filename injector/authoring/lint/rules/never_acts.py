"""A template for a webhook path did nothing for any object that the linter tried: no refusal, warning or change.

A template for a path should refuse an object, warn of it, or fill in a field. If it never does, the API server calls
the injector for nothing. Each request that the template's key `for` names has to wait for the injector's answer. The
linter tries sample objects of the resources that `for` names, with the parameters at their limits, and the objects of
the template's test cases. The sample objects have only a name and a few fields. The most frequent cause is a condition
with a misspelt field. If the template is right, write a test case with an object that the template refuses, warns of or
changes.

Bad:
    # template.yaml
    description: Every Service has a label team.
    for: {resources: [services], operations: [CREATE, UPDATE]}
    # overlay.yaml.j2
    {% if object.labels.team | default("somebody") == "" %}{{ deny("label it with its team") }}{% endif %}

Good:
    # template.yaml
    description: Every Service has a label team.
    for: {resources: [services], operations: [CREATE, UPDATE]}
    # overlay.yaml.j2
    {% if object.metadata.labels.team | default("") == "" %}{{ deny("label it with its team") }}{% endif %}

Proof: nothing happens, so an API server reports nothing.
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
        f"the template does nothing for any of {len(tried)} sample requests: no refusal, warning or change",
        subject.line_place(OVERLAY, 1, 1),
        "look at its conditions, or write a case with an object for which it does something",
    )
