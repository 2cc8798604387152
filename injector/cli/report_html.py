"""What `explain` and `list` tell as one HTML file, for a ticket or a chat: no script, nothing from elsewhere, and
whatever comes from pods and templates is text.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import unified_diff
from hashlib import sha256
from itertools import groupby
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, Undefined
from markupsafe import Markup

import injector
from injector import authoring
from injector.authoring.cases.harness import config_files
from injector.authoring.manifest_writer import dump_yaml
from injector.authoring.refusal_location import Attempt
from injector.cli.explanation import Explanation, telling_trail
from injector.cli.explanation_text import NOT_CALLED, basis_of, consequence_of, live_lines, replayed_message
from injector.cli.report import parts_of
from injector.diagnostics import page_address, printable_lines
from injector.inject import inject
from injector.pods.context import Object
from injector.pods.receipt import read_receipt, take_off
from injector.pods.shape import string_map
from injector.reasons import Effect
from injector.templates.parameter_schema import declared_parameter
from injector.templates.parameter_values import value_of
from injector.templates.samples import sample_value
from injector.templates.snapshot import Snapshot
from injector.templates.template import UNSET, Parameter

_WITHHELD = "Difference and config files are left out: without its secret values the injection has another result."
#: An annotation with the whole object, as it was when kubectl applied it.
_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
#: A shorter value may stand anywhere.
_SECRET_LENGTH = 4


def explanations_as_html(explanations: Sequence[Explanation]) -> str:
    """A page with a part for each object."""
    parts = [_explanation(explanation) for explanation in explanations]
    names = [explanation.name for explanation in explanations]
    return _page("explanation", "injector explain", names, parts=parts)


def pods_as_html(data: Object) -> str:
    """A page with a part for each namespace, of what `list` has for programs."""
    parts = []
    for namespace, group in groupby(data["pods"], key=lambda pod: pod["namespace"]):
        pods = list(group)
        totals = ", ".join(f"{count} {state}" for state, count in Counter(pod["state"] for pod in pods).items())
        parts.append({"namespace": namespace, "totals": totals, "pods": pods})
    return _page("fleet", "injector list", [part["namespace"] for part in parts], **{**data, "parts": parts})


def _explanation(explanation: Explanation) -> Object:
    """What an explanation has for programs, and what the page has besides."""
    data = explanation.as_data()
    if explanation.live is not None:
        data["live"] = [*live_lines(explanation.live), *explanation.live.to_do]
    result = explanation.injection
    if result is None or explanation.attempt is None:  # then the result is that of a path
        return data
    telling = telling_trail(explanation.paths)
    if telling is not None:
        data["at_paths"] = data["paths"][explanation.paths.index(telling)]
    data["message"], data["decided"] = replayed_message(result), basis_of(result, explanation)
    data["consequence"] = consequence_of(result, explanation)
    if not explanation.called and result.effect is not Effect.SKIP:
        data["consequence"] = NOT_CALLED
    if result.effect is not Effect.INJECT:
        data["page"] = page_address("reasons", str(result.reason))
    data["parts"] = parts_of(result.object, explanation.settings, len(result.files))
    if result.applied:
        data |= _redacted(explanation.attempt) or {"withheld": _WITHHELD, "warnings": []}
    return data


def _page(name: str, heading: str, contents: Sequence[str], **more: Any) -> str:
    """The page that a file of report_pages/ makes; `contents` are the titles of its parts."""
    environment = Environment(
        loader=FileSystemLoader([Path(__file__).parent / "report_pages", Path(authoring.__file__).parent]),
        autoescape=True,
        finalize=_text,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    style = "".join(environment.get_template(name).render() for name in ("colours.css", "page.css"))
    digest = b64encode(sha256(style.encode()).digest()).decode()
    page = environment.get_template(f"{name}.html.j2")
    return page.render(
        title=" - ".join([heading, *contents[:3]]),
        heading=heading,
        contents=contents,
        style_digest=digest,
        version=injector.__version__,
        **more,
    )


def _text(value: object) -> object:
    """A value as text for a person, without characters that do something.

    What the page's own macros make stays, and what is not there becomes nothing.
    """
    if isinstance(value, Markup | Undefined):
        return value
    return printable_lines(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str))


def _redacted(attempt: Attempt) -> Object | None:
    """What an injection does, without the values of secret parameters: the difference of the pods, the texts of config
    files, and which parameters have another value here.

    It is the injection once more, into the pod without what it has of it, with another value for each secret parameter.

    None where nothing was added; where a secret parameter takes no other value, or the result is another with it; and
    where a secret value is in the result all the same, because the pod itself has it.
    """
    snapshot = attempt.snapshot
    secrets = [
        (applied.template.name, parameter, applied.parameters.values[parameter.variable])
        for applied in attempt.injection.applied
        for parameter in applied.template.parameters.values()
        if parameter.secret and applied.parameters.values[parameter.variable] not in (None, "", {}, [])
    ]
    overrides = {name: dict(values) for name, values in attempt.overrides.items()}
    for template, parameter, value in secrets:
        substitute = _substitute(parameter, value)
        if substitute is UNSET:
            return None
        overrides.setdefault(template, {}).update({parameter.name: substitute})
    before = take_off(attempt.pod, read_receipt(attempt.pod, snapshot.settings), snapshot.settings)
    result = inject(
        before, attempt.namespace, snapshot, names=attempt.names, overrides=overrides, workload=attempt.workload
    )
    if not result.applied or [a.template for a in result.applied] != [a.template for a in attempt.injection.applied]:
        return None
    pods = [_without_secrets(pod, snapshot) for pod in (before, result.object)]
    files = config_files(result, snapshot.settings)
    text = json.dumps((pods, files), ensure_ascii=False)
    values = (text_value for _, parameter, value in secrets for text_value in _texts(parameter, value))
    if any(json.dumps(value, ensure_ascii=False)[1:-1] in text for value in values):
        return None
    old, new = (dump_yaml(pod).splitlines() for pod in pods)
    return {
        "hidden": [f"{template}.{parameter.name}" for template, parameter, _ in secrets],
        "warnings": list(result.warning_lines),
        "difference": list(unified_diff(old, new, lineterm=""))[2:],
        "files": [
            {"template": template, "name": name, "text": text}
            for template, texts in files.items()
            for name, text in texts.items()
        ],
    }


def _substitute(parameter: Parameter, value: Any) -> Any:
    """A value that may stand in place of a secret one; UNSET where there is none that the parameter takes."""
    masked = parameter.masked(value)
    if parameter.member is not None:
        masked = {name: _substitute(parameter.member, member) for name, member in value.items()}
    for candidate in (masked, sample_value(parameter)):
        try:
            if candidate != value:
                return value_of(parameter, candidate)
        except ValueError:
            continue
    return UNSET


def _texts(parameter: Parameter, value: Any) -> Iterator[str]:
    """The texts in a secret value that no other text has by chance; what everybody can read in the template is none."""
    if isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _texts(parameter, inner)
    elif value != parameter.default and len(str(value)) >= _SECRET_LENGTH:
        yield str(value)


def _without_secrets(pod: Object, snapshot: Snapshot) -> Object:
    """Metadata and spec of a pod; its annotations without the values that they give to secret parameters."""
    prefixes = {snapshot.settings.parameter_suffix(t.name): t.parameters for t in snapshot.catalog}
    annotations = string_map(pod, "annotations")
    annotations.pop(_LAST_APPLIED, None)
    for key in annotations:
        template, slash, name = key.partition("/")
        parameters = prefixes.get(template + slash, {})
        parameter = declared_parameter(parameters, name)
        if parameter is not None:
            annotations[key] = parameter.masked(annotations[key])
        elif any(each.secret for each in parameters.values()):  # a misspelt name of a secret one, maybe
            annotations[key] = "(not shown)"
    metadata = {key: value for key, value in pod.get("metadata", {}).items() if key != "managedFields"}
    if annotations:
        metadata["annotations"] = annotations
    return {"metadata": metadata, "spec": pod.get("spec", {})}
