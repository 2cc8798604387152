"""The linter's rules: one module each, whose name, with dashes, is the rule's and whose docstring is its documentation.

A module has `SEVERITY` ("error" or "warning") and `check(subject)`, which yields a `Finding` for each mistake. Its
docstring: the first line in one sentence; then what, why, and `Bad:` and `Good:` with files as literal blocks, each
beginning with `# FILE NAME`; and, where the real API server or program cannot show the bad example failing, `Proof:`
says why. A module whose name begins with `_` is no rule but what several share.
"""
