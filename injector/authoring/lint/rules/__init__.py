"""The linter's rules: modules, or functions in them, whose name, with dashes, is the rule's.

A module has `SEVERITY` ("error" or "warning"), and `check(subject)`, which yields a `Finding` for each mistake; its
docstring is the rule's documentation. Rules that look at the same thing share a module: each is a function like
`check`, with a docstring of its own, and the module's `RULES` names them.

The docstring: the first line in one sentence; then what, why, and `Bad:` and `Good:` with files as literal blocks, each
beginning with `# FILE NAME`, for `Good:` only those that differ; and, where the real API server or program cannot show
the bad example failing, `Proof:` says why. A module whose name begins with `_` is no rule but what several share.
"""
