"""A template compares a parameter with a value that the parameter never has, or reads a field that is never there.

The `type` in template.yaml says which values a parameter can have. A boolean is true or false, and never the string
`"true"`. A number never equals a string, and a string with an `enum` is one of the listed values. Only an object has
fields. The rule also finds keywords that have no effect on values of the type, such as `pattern` for an integer.

Why: such a comparison has the same result for every pod, so the template never uses one of its branches, and nobody
gets an error.

Bad:
    # template.yaml
    description: A tool.
    parameters:
      debug: {type: boolean, default: false, description: Writes more.}
    # overlay.yaml.j2
    spec:
      containers:
      - name: tool
        image: example.com/tool:1.2
    {% if params.debug == "true" %}
        args: [--debug]
    {% endif %}

Good:
    # overlay.yaml.j2
    spec:
      containers:
      - name: tool
        image: example.com/tool:1.2
    {% if params.debug %}
        args: [--debug]
    {% endif %}

Proof: an API server never sees the lines of a branch that no pod takes.
"""

from __future__ import annotations

from collections.abc import Iterator

from injector.authoring.lint.subject import Finding, Subject
from injector.authoring.template_mistakes import PARAMETER_TYPE, template_mistakes

SEVERITY = "warning"


def check(subject: Subject) -> Iterator[Finding]:
    """One finding for each comparison or field; none where a render fails at the same place."""
    failed = {(failure.place.file, failure.place.line, failure.place.column) for failure in subject.failures}
    for mistake in template_mistakes(subject.template):
        place = mistake.place
        if mistake.code == PARAMETER_TYPE and (place.file, place.line, place.column) not in failed:
            yield Finding(mistake.message, place, mistake.help)
