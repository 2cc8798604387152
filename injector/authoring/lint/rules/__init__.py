"""The linter's rules: functions whose name, with dashes, is the rule's. A module has rules that look at the same thing.

A module has `SEVERITY` ("error" or "warning"), and each of its public functions of a `Subject` that returns `Findings`
is a rule: it yields a `Finding` for each mistake, and may yield a note of what is right and could be better. A
function's docstring is the rule's documentation: the first line in one sentence; then what, why, and `Bad:` and `Good:`
with files as literal blocks, each beginning with `# FILE NAME`, for `Good:` only those that differ; and, where the real
API server or program cannot show the bad example failing, `Proof:` says why. A module whose name begins with `_` has no
rules, but what several share.
"""
