"""The injected pod does not match the schema of Kubernetes.

The linter renders the template and merges the result into each sample pod. Then it checks the pod with the schema of
the Kubernetes version that `--kubernetes-version` names. It reports unknown and misspelt fields, values of a wrong
type, and missing fields.

Why: the API server drops a field that it does not know, without an error. So a container with a misspelt
`readinesProbe` has no probe. If a value has a wrong type, or a required field is missing, the API server would refuse
the pod, so the injection fails. A frequent mistake is a number as the value of an environment variable. This value has
to be a string, in quotes: `value: "{{ params.port }}"`.
https://kubernetes.io/docs/reference/kubernetes-api/workload-resources/pod-v1/

Bad:
    # overlay.yaml.j2
    spec:
      containers:
      - name: tool
        image: {{ params.image }}
        readinesProbe:
          httpGet: {path: /ready, port: {{ params.port }}}
        env:
        - {name: PORT, value: {{ params.port }}}

Good:
    # overlay.yaml.j2
    spec:
      containers:
      - name: tool
        image: {{ params.image }}
        readinessProbe:
          httpGet: {path: /ready, port: {{ params.port }}}
        env:
        - {name: PORT, value: "{{ params.port }}"}
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from injector.authoring.lint.overlay_origin import overlay_path
from injector.authoring.lint.pod_schema import UNKNOWN_FIELD, schema_errors, versions
from injector.authoring.lint.subject import Finding, Rendering, Subject
from injector.diagnostics import Diagnostic, Place
from injector.templates.template import OVERLAY

SEVERITY = "error"

#: A parameter that is a whole value.
_HOLE = re.compile(r":\s*[\"']?\{\{\s*params\.(\w+)\s*\}\}[\"']?\s*(?:$|[,}\]])")


def check(subject: Subject) -> Iterator[Finding]:
    """What Kubernetes' schema has against the pods after injection."""
    reported = set()
    for rendering in subject.renderings:
        if rendering.invented:
            continue
        for error in schema_errors(rendering.after, subject.kubernetes):
            about = error.fields["about"]
            if (error.path, about) not in reported:  # finding the author's place takes a render of its own
                reported.add((error.path, about))
                sample = f"found with this sample: {rendering.title}{_newer(error, rendering)}"
                to_do = _to_do(error, rendering, subject)
                to_do = f"{to_do} ({sample})" if to_do else sample
                yield Finding(error.message, _place(rendering, error), to_do, about=about)


def _to_do(error: Diagnostic, rendering: Rendering, subject: Subject) -> str:
    kind = next((kind for kind in ("integer", "boolean", "number") if kind in error.fields["types"]), "")
    hole = _HOLE.search(_place(rendering, error).text) if kind and "string" not in error.fields["types"] else None
    for parameter in subject.template.parameters.values() if hole else ():
        if hole and parameter.variable == hole[1] and parameter.type == "string":
            form = f", without format: {parameter.schema['format']}" if "format" in parameter.schema else ""
            return f"declare the parameter `{parameter.name}` with type: {kind}{form}"
    texts = [name for name, value in rendering.given.items() if isinstance(value, str)]
    if not error.help and texts and "string" not in error.fields["types"] and "integer" in error.fields["types"]:
        return f"give the parameter `{texts[0]}` `type: integer`"
    return error.help


def _place(rendering: Rendering, error: Diagnostic) -> Place:
    path = overlay_path(rendering, error.path)
    if path is None:
        return rendering.overlay.place(("spec",), key=True) if rendering.overlay.value else Place(OVERLAY)
    return rendering.overlay.place(path, key=error.code == UNKNOWN_FIELD or not path)


def _newer(error: Diagnostic, rendering: Rendering) -> str:
    """That a later Kubernetes has the field, if it has."""
    newest = max(versions())
    later = [(fault.path, fault.code) for fault in schema_errors(rendering.after, newest)]
    if error.code != UNKNOWN_FIELD or (error.path, error.code) in later:
        return ""
    return f"; Kubernetes {newest[0]}.{newest[1]} has this field"
