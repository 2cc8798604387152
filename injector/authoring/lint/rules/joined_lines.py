"""A Jinja tag (`{% ... %}`) removes the end of a line, so two lines of the template become one line of the file.

In a template, a tag or a comment at the end of a line takes the line end with it. A dash within a tag, as in `{%-`,
takes away all blanks and line ends on its side. Helm's templates need the dash, and here it joins lines.

Why: the line is often still valid, and means something else: `- a` and `- b` in one line are one item.

Bad:
    # overlay.yaml.j2
    spec:
      containers:
      - name: tool
        image: example.com/tool:1.2
        args:
        - --quiet
        {%- if native %}
        - --native
        {%- endif %}

Good:
    # overlay.yaml.j2
    spec:
      containers:
      - name: tool
        image: example.com/tool:1.2
        args:
        - --quiet
        {% if native %}
        - --native
        {% endif %}

Proof: an API server sees only what a template renders.
"""

from __future__ import annotations

from collections.abc import Iterator

from injector.authoring.lint.subject import Finding, Subject
from injector.templates.yaml_errors import lost_line_ends

SEVERITY = "warning"


def check(subject: Subject) -> Iterator[Finding]:
    """One finding for each tag."""
    for file in subject.parsed:
        for offset, message, help_ in lost_line_ends(file.text, document=file.document):
            yield Finding(message, subject.template.program.place(file.name, offset), help_)
