"""The parts of what authors and admins get wrong: broken templates, templates that break rules, wrong settings."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path

import pytest

from tests.authoring.cases.test_case_files import MISTAKES as CASE_MISTAKES
from tests.authoring.lint.support import write
from tests.authoring.lint.test_lint_rule_cases import CASES as RULE_CASES
from tests.authoring.lint.test_lint_rules import RULES
from tests.baseline.case import TOLD, Answer, Case
from tests.baseline.entrances import command
from tests.unit.templates.test_broken import CASES as BROKEN, contents
from tests.unit.templates.test_load import MANIFESTS, OVERLAYS, OVERLAYS_MANIFEST, manifest
from tests.unit.test_settings import MISTAKES as SETTINGS_MISTAKES

_POD = b"apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec: {containers: [{name: app, image: app:1}]}\n"
_TEMPLATE = "./tool"


def broken_templates() -> Iterator[Case]:
    """Templates that do not load or do not render: what `injector lint` finds, and what `injector render` refuses."""
    for case in BROKEN:
        yield _case(case["name"], contents(case), partial(_linted_and_rendered, case.get("args", [])))
    texts = [manifest(text) for text, *_ in MANIFESTS]
    texts += [{"template.yaml": OVERLAYS_MANIFEST, "overlay.yaml.j2": text} for text, *_ in OVERLAYS]
    for files in texts:
        sources = {name: text.encode() for name, text in files.items()}
        yield _case(_name(*files.values()), sources, partial(_linted_and_rendered, []))


def rules() -> Iterator[Case]:
    """The linter's own examples, and the cases of its tests."""
    for rule in RULES:
        for name, files in (("bad", rule.documentation.bad), ("good", rule.documentation.good)):
            yield _case(f"{rule.name}: the {name} example", _over_the_clean(files), _linted)
    for case in RULE_CASES:
        yield _case(f"{case.rule}: {case.what}", _over_the_clean(case.sources), _linted)


def case_files() -> Iterator[Case]:
    """Mistakes in the cases of a template: what `injector test` finds."""
    for text, *_ in CASE_MISTAKES:
        yield _case(_name(text), _over_the_clean({"tests/cases.yaml": text}), _tested)


def settings() -> Iterator[Case]:
    """Settings files with a mistake, given to `injector inject`."""
    for text in SETTINGS_MISTAKES:
        yield _case(_name(text), {"settings.yaml": text.encode()}, _set)


def _name(*texts: str) -> str:
    """A text as the key of a case, on one line and not too long."""
    return f"{' + '.join(texts)!r:.90}"


def _over_the_clean(files: Mapping[str, str]) -> dict[str, bytes]:
    with tempfile.TemporaryDirectory() as folder:
        clean = write(Path(folder), {})
        sources = {path.name: path.read_bytes() for path in clean.iterdir()}
    return sources | {name: text.encode() for name, text in files.items()}


def _case(key: str, files: Mapping[str, bytes], ask: Callable[[], Answer]) -> Case:
    return Case(
        key, {name: data.decode(errors="replace") for name, data in files.items()}, partial(_within, files, ask)
    )


def _within(files: Mapping[str, bytes], ask: Callable[[], Answer]) -> Answer:
    """What is answered in a folder with these files as the template `tool`."""
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for name, data in files.items():
            path = Path(_TEMPLATE, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        whole = b"".join(name.encode() + data for name, data in sorted(files.items()))
        return {"input": whole, **ask()}


def _linted() -> Answer:
    done = command("lint", _TEMPLATE, "--output", "json")
    return {"exit": done.exit, "findings": done.findings, TOLD: (done.out.decode(),)}


def _linted_and_rendered(arguments: list[str]) -> Answer:
    done = command("render", _TEMPLATE, *arguments)
    linted = _linted()
    return {**linted, "render": [str(done.exit), *done.refusals], TOLD: (*linted[TOLD], done.err)}


def _tested() -> Answer:
    done = command("test", _TEMPLATE, "--output", "json")
    return {"exit": done.exit, "findings": done.findings, TOLD: (done.out.decode(),)}


def _set() -> Answer:
    done = command("inject", "-", "--settings", f"{_TEMPLATE}/settings.yaml", data=_POD)
    return {"exit": done.exit, "written": len(done.out), TOLD: (done.err,)}
