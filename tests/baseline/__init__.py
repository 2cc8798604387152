"""The frozen baseline: what came out once, so that whoever rebuilds the house sees that nothing else comes out.

`recorded.json.xz` has the reason, the effect, digests of patch and files, the number of warnings, exit codes, and rule
and place of each finding; no words. `parts.py` lists what goes in: generated pods and objects with each template of the
gallery, the corpus, the golden cases, broken templates and settings. Only `entrances.py` touches the injector.

A test that fails names cases; `python -m tests.baseline PART CASE` shows one whole. What is recorded changes by
`make baseline` alone, in a commit of its own that says why for each difference: the target prints them by aspect.
"""
