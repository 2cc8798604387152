"""A comment with `lint: disable` names no rule, gives no reason, or has no effect.

`# lint: disable=RULE WHY` disables a rule for its line, or, on a line of its own, for the next line. At the left margin
of `template.yaml` it disables the rule for the whole template. In a file in which `#` does not begin a comment, write
`{# lint: disable=RULE WHY #}` on a line of its own. Do not write this comment behind other text: Jinja would then
remove the line end. In the README, write `<!-- lint: disable=RULE WHY -->`. Separate several rules by commas.

Why: a comment that is out of date can hide the next mistake, and one that is misspelt does nothing. Without a reason,
the next author does not know whether the comment is still needed.

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
    # lint: disable=resources,startup-probe a LimitRange sets the requests, and the tool is ready at once
    description: A tool.
    # overlay.yaml.j2
    spec:
      containers:
      - name: tool
        image: tool:1

Proof: only the linter reads these comments.
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
                yield Finding(f"there is no rule `{name}`{hint(name, subject.rules)}", comment.place)
        if comment.rules and not comment.reason:
            yield Finding(
                f"this comment gives no reason for disabling {', '.join(f'`{name}`' for name in comment.rules)}; "
                "add the reason at the end of the comment",
                comment.place,
            )
