"""What `explain` and `list` tell as one HTML file, for a ticket or a chat: no script, nothing from elsewhere, and
whatever comes from pods and templates is text.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections import Counter
from collections.abc import Sequence
from difflib import unified_diff
from hashlib import sha256
from itertools import groupby
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, Undefined
from markupsafe import Markup

import injector
from injector import authoring
from injector.authoring.manifest_writer import dump_yaml
from injector.cli.explanation import Explanation, telling_trail
from injector.cli.explanation_text import basis_of, consequence_of, replayed_message
from injector.cli.redaction import Redacted, redacted
from injector.cli.report import parts_of
from injector.diagnostics import page_address, printable_lines
from injector.pods.context import Object
from injector.reasons import Effect

_WITHHELD = "Difference and config files are left out: without its secret values the injection has another result."


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
    contents = [part["namespace"] for part in parts]
    return _page("fleet", "injector list", contents, **{**data, "parts": parts})


def _explanation(explanation: Explanation) -> Object:
    """What an explanation has for programs, and what the page has besides."""
    data = explanation.as_data()
    result = explanation.injection
    if result is None or explanation.attempt is None:  # then the result is that of a path
        return data
    telling = telling_trail(explanation.paths)
    if telling is not None:
        data["at_paths"] = data["paths"][explanation.paths.index(telling)]
    data["message"], data["decided"] = replayed_message(result), basis_of(result, explanation)
    data["consequence"] = consequence_of(result, explanation)
    if result.effect is not Effect.INJECT:
        data["page"] = page_address("reasons", str(result.reason))
    data["parts"] = parts_of(result.object, explanation.settings, len(result.files))
    if result.applied:
        view = redacted(explanation.attempt)
        data |= {"withheld": _WITHHELD} if view is None else _view(view)
    return data


def _view(view: Redacted) -> Object:
    before, after = (dump_yaml(pod).splitlines() for pod in (view.before, view.after))
    return {
        "hidden": view.hidden,
        "difference": list(unified_diff(before, after, "before", "after", lineterm=""))[2:],
        "files": [
            {"template": template, "name": name, "text": text}
            for template, texts in view.files.items()
            for name, text in texts.items()
        ],
    }


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
    title = " - ".join([heading, *contents[:3]])
    version = injector.__version__
    return page.render(title=title, heading=heading, contents=contents, style_digest=digest, version=version, **more)


def _text(value: object) -> object:
    """A value as text for a person, without characters that do something.

    What the page's own macros make stays, and what is not there becomes nothing.
    """
    if isinstance(value, Markup | Undefined):
        return value
    return printable_lines(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str))
