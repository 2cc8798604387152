"""The names of two parameters differ only by dashes.

Why: if you misspell the name of one parameter, you set the other one. The message about a misspelt name ignores dashes
when it suggests a name, so it may suggest the wrong one of the two.

Bad:
    # template.yaml
    description: A tool.
    parameters:
      time-out: {type: integer, minimum: 1, maximum: 60, default: 5, description: Seconds to connect.}
      timeout: {type: integer, minimum: 1, maximum: 60, default: 5, description: Seconds to answer.}
    # overlay.yaml.j2
    metadata:
      annotations: {example.com/timeouts: "{{ params.time_out }} {{ params.timeout }}"}

Good:
    # template.yaml
    description: A tool.
    parameters:
      connect-timeout: {type: integer, minimum: 1, maximum: 60, default: 5, description: Seconds to connect.}
      answer-timeout: {type: integer, minimum: 1, maximum: 60, default: 5, description: Seconds to answer.}
    # overlay.yaml.j2
    metadata:
      annotations: {example.com/timeouts: "{{ params.connect_timeout }} {{ params.answer_timeout }}"}

Proof: both names are valid annotation keys; only people confuse them.
"""

from __future__ import annotations

from collections.abc import Iterator

from injector.authoring.lint.subject import Finding, Subject

SEVERITY = "warning"


def check(subject: Subject) -> Iterator[Finding]:
    """Parameters called like one before them."""
    known: dict[str, str] = {}
    for name in subject.template.parameters:
        other = known.setdefault(name.replace("-", ""), name)
        if other != name:
            yield Finding(
                f"the names of parameters `{name}` and `{other}` differ only in dashes",
                subject.manifest(("parameters", name)),
                "rename one of the two",
            )
