"""Rules about what a template renders: that it does, and that Kubernetes takes it."""

from __future__ import annotations

import re

from injector.advice import help_for
from injector.advice.shapes import misshapen
from injector.authoring.file_syntax import syntax_mistakes
from injector.authoring.lint.pod_schema import UNKNOWN_FIELD, known_errors, schema_errors, versions
from injector.authoring.lint.rules._values import APPS
from injector.authoring.lint.rules._volumes import missing_volumes
from injector.authoring.lint.subject import Finding, Findings, RenderedSource, RenderFailure, Rendering, Subject
from injector.authoring.refusal_location import overlay_path, path_in
from injector.diagnostics import Diagnostic, Place
from injector.reasons import Reason
from injector.templates.template import OVERLAY

SEVERITY = "error"

#: Refusals that a template alone brings about.
_REFUSALS = (Reason.INVALID_POD, Reason.CONFLICT, Reason.TOO_LARGE, Reason.INTERNAL_ERROR)


def renders(subject: Subject) -> Findings:
    """The template fails for a sample pod, or with a parameter at one of its limits.

    The linter renders the template with its defaults for each sample pod. For one of the sample pods, it then renders
    the template with each parameter at its limits: minimum and maximum, each value of an `enum`, both booleans, the
    shortest and longest text, examples, empty and full lists. The linter also sets several parameters at once, in up to
    150 ways. It sets all optional parameters without a default together. It also sets pairs of parameters; each of the
    two is a boolean, has an `enum`, or is optional without a default. A call of `fail(...)` or `deny(...)` is not a
    failure. The rule reports every other error, a pod that the injection would refuse, and a config file whose syntax
    is not valid, if the injector knows the syntax (for example TOML, XML or JSON).

    Why: if the schema allows a value that the template cannot handle, nobody notices until a user sets this value. The
    injection of the user's pod then fails with the reason `template-failed`.

    Bad:
        # template.yaml
        description: A tool.
        parameters:
          targets: {type: array, items: {type: string, format: dns-label}, maxItems: 5, default: [a], description: Hosts.}
        # overlay.yaml.j2
        metadata:
          annotations:
            example.com/first: "{{ params.targets[0] }}"

    Good:
        # overlay.yaml.j2
        metadata:
          annotations:
            example.com/first: "{{ params.targets | first | default('none') }}"
    """  # noqa: E501 - the example as it is recorded
    if subject.not_served and subject.template.parameters:  # without any, it builds on another template
        yield Finding(
            f"the template works for none of the sample pods, so nothing was checked; it says: {subject.not_served}",
            subject.search(OVERLAY, "fail("),
            "give the parameters `examples` with which the template works for a pod",
        )
    reported: set[object] = set()
    broken = {failure.place for failure in subject.failures if failure.broken}
    for failure in subject.failures:
        key = (failure.reason, failure.parameter, failure.place, failure.diagnostic.path)
        if failure.place in broken or key in reported:
            continue
        reported.add(key)
        yield from _failed(subject, failure)
    yield from _unreadable(subject)
    for rendering in subject.renderings:
        if rendering.injection.reason in _REFUSALS and not rendering.free:
            fault = rendering.injection.failures[0]
            # another rule tells these at a better place
            is_missing = "missing_volume" in fault.fields and any(missing_volumes(rendering))
            is_told = is_missing or known_errors(rendering.after, subject.kubernetes)
            if not is_told and fault.path not in reported:
                reported.add(fault.path)
                yield _finding(fault, _place(rendering.overlay, fault), rendering)


def _unreadable(subject: Subject) -> Findings:
    """Text files that a parser of their syntax does not take."""
    lines = set()
    for rendering in subject.renderings:
        for name, file in rendering.files.items() if not (rendering.free or rendering.invented) else ():
            syntax = subject.template.files[name].syntax
            for mistake in syntax_mistakes(file.text, name, syntax, file.place_of) if syntax else ():
                if (mistake.place.file, mistake.place.line) not in lines:
                    lines.add((mistake.place.file, mistake.place.line))
                    sample, given = ("", {}) if mistake.help else (rendering.title, rendering.given)
                    yield Finding(mistake.message, mistake.place, mistake.help, sample=sample, given=given)


def _finding(fault: Diagnostic, place: Place, render: Rendering | RenderFailure) -> Finding:
    fields = {**fault.fields, "about": fault.path[2:3], "given": render.given}
    return Finding(fault.message, place, help_for(fault), fault.path, sample=render.title, **fields)


def _failed(subject: Subject, failure: RenderFailure) -> Findings:
    if failure.reason is Reason.BAD_PARAMETER:
        fault = failure.diagnostic
        yield Finding(fault.message, subject.manifest(("parameters", failure.parameter)), help_for(fault))
        return
    if failure.free and failure.reason is not Reason.TEMPLATE_FAILED:
        return
    if "unknown_file" in failure.diagnostic.fields:
        return  # the rule unknown-file tells it at its place
    overlay = failure.overlay
    wrong = list(misshapen(overlay.value)) if overlay is not None else []
    is_shape = wrong or "missing_keys" in failure.diagnostic.fields
    if is_shape and any(known_errors(rendering.after, subject.kubernetes) for rendering in subject.renderings):
        return  # the rule schema tells it
    if wrong and overlay is not None:  # where the pod has a part of that name, the merge speaks of the pod's
        for path, message in wrong:
            yield Finding(message, overlay.place(path, key=isinstance(path[-1], str)))
        return
    if failure.diagnostic.fields.get("taken_name") in APPS and subject.renderings:
        return  # the rule app-container tells it, and what to do
    place = failure.place if failure.place.line or overlay is None else _merged_place(overlay, failure.diagnostic)
    yield _finding(failure.diagnostic, place, failure)


def _merged_place(overlay: RenderedSource, fault: Diagnostic) -> Place:
    """The place of what a merge did not take: of a part, its name."""
    path = path_in(overlay.value, fault)
    return overlay.place((*path, "name")) if len(path) == 3 else _place(overlay, fault)


def _place(overlay: RenderedSource, fault: Diagnostic) -> Place:
    """The place of the field that a failure is about, or else of the part."""
    path = path_in(overlay.value, fault)
    return overlay.place(path) if path else overlay.place(("spec",), key=True)


#: A parameter that is a whole value.
_HOLE = re.compile(r":\s*[\"']?\{\{\s*params\.(\w+)\s*\}\}[\"']?\s*(?:$|[,}\]])")


def schema(subject: Subject) -> Findings:
    """The injected pod does not match the schema of Kubernetes.

    The linter renders the template and merges the result into each sample pod. Then it checks the pod with the schema
    of the Kubernetes version that `--kubernetes-version` names. It reports unknown and misspelt fields, values of a
    wrong type, and missing fields.

    Why: the API server drops a field that it does not know, without an error. So a container with a misspelt
    `readinesProbe` has no probe. If a value has a wrong type, or a required field is missing, the API server would
    refuse the pod, so the injection fails. A frequent mistake is a number as the value of an environment variable. This
    value has to be a string, in quotes: `value: "{{ params.port }}"`.
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
    reported = set()
    for rendering in subject.renderings:
        if rendering.invented:
            continue
        for error in schema_errors(rendering.after, subject.kubernetes):
            about = error.fields["about"]
            if (error.path, about) not in reported:  # finding the author's place takes a render of its own
                reported.add((error.path, about))
                to_do = "; ".join(filter(None, (_to_do(error, rendering, subject), _newer(error, rendering))))
                fields = {**error.fields, "given": rendering.given}
                yield Finding(error.message, _origin(rendering, error), to_do, sample=rendering.title, **fields)


def _to_do(error: Diagnostic, rendering: Rendering, subject: Subject) -> str:
    kind = next((kind for kind in ("integer", "boolean", "number") if kind in error.fields["types"]), "")
    hole = _HOLE.search(_origin(rendering, error).text) if kind and "string" not in error.fields["types"] else None
    for parameter in subject.parameters if hole else ():
        if hole and parameter.variable == hole[1] and parameter.type == "string":
            form = f", without format: {parameter.schema['format']}" if "format" in parameter.schema else ""
            return f"declare the parameter `{parameter.name}` with type: {kind}{form}"
    texts = [name for name, value in rendering.given.items() if isinstance(value, str)]
    if not error.help and texts and "string" not in error.fields["types"] and "integer" in error.fields["types"]:
        return f"give the parameter `{texts[0]}` `type: integer`"
    return error.help


def _origin(rendering: Rendering, error: Diagnostic) -> Place:
    path = overlay_path(rendering.overlay.value, rendering.after, error.path)
    if path is None:
        return rendering.overlay.place(("spec",), key=True) if rendering.overlay.value else Place(OVERLAY)
    return rendering.overlay.place(path, key=error.code == UNKNOWN_FIELD or not path)


def _newer(error: Diagnostic, rendering: Rendering) -> str:
    """That a later Kubernetes has the field, if it has."""
    newest = max(versions())
    later = [(fault.path, fault.code) for fault in schema_errors(rendering.after, newest)]
    if error.code != UNKNOWN_FIELD or (error.path, error.code) in later:
        return ""
    return f"Kubernetes {newest[0]}.{newest[1]} has this field"
