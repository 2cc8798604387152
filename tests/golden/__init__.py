"""Golden files: what comes out of the command line and of the webhook for the same manifests.

A folder of `cases/` is a case: `input.yaml`; `case.yaml` where something is other than by default (settings, version,
labels and annotations of the namespace); and what came out. `output.yaml` and `report.txt` are what `injector inject`
wrote to standard output and to standard error, `answer.yaml` what the webhook said about each pod over HTTPS.

A folder of `paths/` is a case of the settings' `paths`, with the templates of `path_templates/` too: its `answer.yaml`
has what was said at each path, in order.

`pytest tests/golden --update` writes them anew. Content hashes of templates and settings are left out, so that only
what a person would see changes them.
"""
