"""The linter's rules: functions whose name, with dashes, is the rule's. Those about the same thing share a module.

A module has `SEVERITY` ("error" or "warning") and `RULES`: functions of a `Subject` that yield a `Finding` for each
mistake. A function's docstring is the rule's documentation: the first line in one sentence; then what, why, and `Bad:`
and `Good:` with files as literal blocks, each beginning with `# FILE NAME`, for `Good:` only those that differ; and,
where the real API server or program cannot show the bad example failing, `Proof:` says why. A module whose name begins
with `_` has no rules, but what several share.
"""
