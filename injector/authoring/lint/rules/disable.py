"""A comment that switches a rule off names none, gives no reason, or switches nothing off.

A rule is switched off by `# lint: disable=RULE WHY` at the end of a line, or on a line of its own for the next one; in
`template.yaml`, at the left margin, for the whole template. On a line of its own, `{# lint: disable=RULE WHY #}` is the
same (at the end of a line Jinja would take the line's end with it), and `<!-- ... -->` in the README. Several rules are
separated by commas.

Why: a comment that is misspelt or left over hides the next mistake, and one without a reason is a question to whoever
reads the template next.

Bad:
    # template.yaml
    description: A tool.
    # overlay.yaml.j2
    spec:
      containers:
      - name: tool  # lint: disable=resources
        image: tool:1

Good:
    # template.yaml
    # lint: disable=resources,startup-probe the namespaces that it is for have a LimitRange, and it is ready at once
    description: A tool.
    # overlay.yaml.j2
    spec:
      containers:
      - name: tool
        image: tool:1

Proof: the comments are the linter's own.
"""

from __future__ import annotations

from collections.abc import Iterator

from injector.authoring.lint.subject import Finding, Subject
from injector.authoring.lint.suppressions import disables
from injector.names import hint

SEVERITY = "warning"


def check(subject: Subject) -> Iterator[Finding]:
    """Comments without a rule, without a reason, or of a rule that there is not."""
    for comment in disables(subject.sources):
        if not comment.rules:
            yield Finding("this comment switches no rule off", comment.place, "write lint: disable=RULE WHY")
        for name in comment.rules:
            if name not in subject.rules:
                yield Finding(f"there is no rule {name}{hint(name, subject.rules)}", comment.place)
        if comment.rules and not comment.reason:
            yield Finding(f"why is {', '.join(comment.rules)} disabled? Say so behind it", comment.place)
