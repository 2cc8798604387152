"""Golden files: what comes out of the command line and of the webhook for the same manifests.

A folder of `cases/` is a case: `input.yaml`; `case.yaml` where something is other than by default (settings, version,
labels and annotations of the namespace); and what came out. `output.yaml` is what `injector inject` wrote to standard
output, `answer.yaml` what the webhook said about each pod over HTTPS, with codes in place of words. The reports are in
the modules' `.messages.txt`: see tests/messages.py.

A folder of `paths/` is a case of the settings' `paths`, with the templates of `path_templates/` too: its `answer.yaml`
has what was said at each path, in order.

`pytest tests/golden --update` writes them anew. Content hashes of templates and settings are left out, so that only
what a person would see changes them.
"""
