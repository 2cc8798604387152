"""Golden files: the whole output of a case, kept beside it, so that every change of it is seen."""

from __future__ import annotations

import difflib
import os
import re
from pathlib import Path
from typing import Any

from injector.authoring.cases.case import decision_of
from injector.authoring.cases.document import read_within, write_within
from injector.authoring.cases.harness import Outcome
from injector.authoring.cases.suite import TESTS, Checked
from injector.authoring.diagnostic_formats import one_line, quoted_lines
from injector.diagnostics import Diagnostic
from injector.errors import DocumentError
from injector.pods.context import Object
from injector.pods.shape import string_map, with_annotations
from injector.settings import Settings
from injector.templates.yaml_writer import dump

#: What a block scalar of YAML cannot hold.
_UNPRINTABLE = re.compile(
    "[^\\t\\n\\x20-\\x7e\\xa0-\\u2027\\u202a-\\ud7ff\\ue000-\\ufdcf\\ufdf0-\\ufffd\\U00010000-\\U0010ffff]"
)
#: Lines of a difference that are shown.
_LINES = 120


def case_output(checked: Checked, outcome: Outcome) -> str:
    """The whole output of a case as one YAML document.

    Without the receipt: it holds hashes of the template's sources, which change with every comment.
    """
    injection = outcome.injection
    output: dict[str, Any] = {"decision": decision_of(injection), "reason": injection.reason.label}
    if injection.message:
        output["message"] = injection.message
    if injection.warning_lines:
        output["warnings"] = list(injection.warning_lines)
    if outcome.asked is None:
        output["pod"] = _without_receipt(injection.object, outcome.snapshot.settings)
    else:
        output["object"] = injection.object
    head = f"# The whole output of the case “{checked.case.name}” of {Path(checked.document.name).name},\n"
    texts = [file for owner in outcome.config_files.values() for file in sorted(owner.items())]
    files = "".join(["files:\n", *(_config_file(name, text) for name, text in texts)]) if texts else ""
    return f"{head}# as `injector test --update` wrote it.\n{dump(output)}{files}"


def _config_file(name: str, text: str) -> str:
    """A config file as an entry of a mapping, its lines as they are, so that a difference can be read."""
    key = dump({name: 0})[:-3]
    if _UNPRINTABLE.search(text) or not text.strip():
        return f"  {key} {dump(text)}"
    first = text.split("\n", 1)[0]
    indent = "2" if not first.strip() or first.startswith(" ") else ""
    body = text.rstrip("\n")
    ends = len(text) - len(body)
    style = "-" if ends == 0 else "" if ends == 1 else "+"
    lines = "".join(f"    {line}\n" if line else "\n" for line in body.split("\n"))
    return f"  {key} |{indent}{style}\n{lines}{chr(10) * (ends - 1)}"


def _without_receipt(pod: Object, settings: Settings) -> Object:
    receipt = settings.receipt_key
    return with_annotations(pod, {receipt: None}) if receipt in string_map(pod, "annotations") else pod


def golden_problem(checked: Checked, outcome: Outcome, folder: Path, *, update: bool) -> tuple[Diagnostic | None, bool]:
    """What is not as in the golden file of a case, and whether the file was written (only with `update`).

    Raises DocumentError where it cannot be read or written.
    """
    name = checked.case.expect.golden
    assert name is not None  # noqa: S101
    file = folder / TESTS / name
    expected = case_output(checked, outcome)
    try:
        have = read_within(folder, f"{TESTS}/{name}") if os.path.lexists(file) else None
        if have == expected:
            return None, False
        if update:
            write_within(folder, f"{TESTS}/{name}", expected)
            return None, True
    except ValueError as error:
        raise DocumentError(one_line(f"{file}: {error}")) from None
    if have is None:
        problem = checked.problem("golden", f"there is no {name} yet", "expect", "golden", help="--update writes it")
        return problem, False
    lines = list(
        difflib.unified_diff(
            have.splitlines(), expected.splitlines(), f"{TESTS}/{name}", "what came out", lineterm="", n=2
        )
    )
    more = [f"... and {len(lines) - _LINES} lines more"] if len(lines) > _LINES else []
    diff = "\n".join([*quoted_lines("\n".join(lines[:_LINES])), *more])
    problem = checked.problem(
        "golden", f"the output differs from {name}; --update writes the file again", "expect", "golden", help=diff
    )
    return problem, False
