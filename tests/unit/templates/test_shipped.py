"""Shipped templates that passed when the injector was installed are not tried again; everything else is."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from injector.errors import InjectionError
from injector.loading import shipped, trial
from injector.loading.template_folders import gallery_path, read_gallery
from injector.pods.context import Cluster
from injector.settings import Settings
from injector.templates.load import load_template
from injector.templates.parameter_values import value_of
from injector.templates.render import RenderError, render_files, render_overlay
from injector.templates.samples import sample_contexts
from injector.templates.snapshot import build_snapshot
from injector.templates.template import UNSET, Template
from injector.templates.variables import Context
from tests.messages import Golden

GALLERY = read_gallery(gallery_path())

GOOD = {"template.yaml": "description: Good.\n", "overlay.yaml.j2": "spec: {}\n"}
BAD = {"template.yaml": "description: Bad.\n", "overlay.yaml.j2": "spec: {{ nothing }}\n"}


def _rendered(template: Template, context: Context) -> Any:
    try:
        return render_overlay(template, context), render_files(template, context)
    except InjectionError as error:
        return str(error)


@pytest.fixture(autouse=True)
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(shipped, "_KEPT", tmp_path / "shipped")
    return tmp_path / "shipped"


def test_without_a_list_everything_is_tried() -> None:
    assert shipped.untried({"good": GOOD}) == {"good": GOOD}


def test_what_passed_is_on_the_list_and_what_failed_is_not(golden: Golden) -> None:
    [wrong] = shipped.keep({"good": GOOD, "bad": BAD})
    golden(wrong)
    assert shipped.untried({"good": GOOD, "bad": BAD}) == {"bad": BAD}


@pytest.mark.parametrize(
    "other",
    [
        {"worse": GOOD},
        {"good": {**GOOD, "overlay.yaml.j2": "spec: {} \n"}},
        {"good": {**GOOD, "more.txt": ""}},
        {"good": {"template.yaml": "description: Good.\n", "overlay.yaml.j": "2spec: {}\n"}},
    ],
    ids=["name", "text", "file", "boundary"],
)
def test_anything_else_is_tried(other: dict[str, dict[str, str]]) -> None:
    shipped.keep({"good": GOOD})
    assert shipped.untried(other) == other


def test_where_nothing_can_be_read_it_is_loaded(file: Path) -> None:
    file.write_text("no folder")
    assert shipped.load_shipped("good", GOOD).name == "good"
    assert shipped.untried({"good": GOOD}) == {"good": GOOD}


def test_what_is_not_kept_any_more_goes(file: Path) -> None:
    shipped.keep({"good": GOOD, "well": GOOD})
    shipped.keep({"well": GOOD})
    assert shipped.untried({"good": GOOD, "well": GOOD}) == {"good": GOOD}
    assert len(list(file.iterdir())) == 1


@pytest.mark.parametrize("name", sorted(GALLERY))
def test_a_kept_template_is_the_one_that_is_compiled(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shipped, "try_templates", lambda _: {})
    shipped.keep({name: GALLERY[name]})
    monkeypatch.setattr(shipped, "load_within_limits", None)
    kept, loaded = shipped.load_shipped(name, GALLERY[name], "here"), load_template(name, GALLERY[name], "here")
    for field in fields(Template):
        if field.name not in ("program", "parameters"):
            assert getattr(kept, field.name) == getattr(loaded, field.name), field.name
    for parameter, same in zip(kept.parameters.values(), loaded.parameters.values(), strict=True):
        assert parameter == same
        assert (parameter.default is UNSET) is (same.default is UNSET)
    for source, root in loaded.program.roots.items():
        again = kept.program.roots[source]
        assert (again.document, again.reads, again.names) == (root.document, root.reads, root.names)
    for context in sample_contexts(loaded):
        first, second = (_rendered(template, context) for template in (kept, loaded))
        assert first == second


def test_a_kept_template_checks_values_and_places_mistakes(monkeypatch: pytest.MonkeyPatch, golden: Golden) -> None:
    files = {
        "template.yaml": "description: Mine.\nparameters:\n  port: {type: integer, minimum: 1, default: 2}\n",
        "overlay.yaml.j2": "spec:\n  x: {{ 1 // (params.port - 2) }}\n",
    }
    monkeypatch.setattr(shipped, "try_templates", lambda _: {})
    shipped.keep({"mine": files})
    monkeypatch.setattr(shipped, "load_within_limits", None)
    mine = shipped.load_shipped("mine", files)
    with pytest.raises(ValueError) as caught:
        value_of(mine.parameters["port"], "0")
    golden(caught.value)
    context = next(sample_contexts(mine))
    with pytest.raises(RenderError, match=r"overlay.yaml.j2:2:9"):
        render_overlay(mine, context)


def test_other_versions_try_everything_again(monkeypatch: pytest.MonkeyPatch) -> None:
    shipped.keep({"good": GOOD})
    monkeypatch.setattr(shipped, "_versions", lambda: b"others")
    assert shipped.untried({"good": GOOD}) == {"good": GOOD}


def test_a_snapshot_starts_no_child_for_what_passed(monkeypatch: pytest.MonkeyPatch, golden: Golden) -> None:
    asked: list[set[str]] = []
    monkeypatch.setattr(trial, "_child", lambda templates: (asked.append(set(templates)), ([], None))[1])
    gallery = read_gallery(gallery_path())
    with monkeypatch.context() as patched:
        patched.setattr(shipped, "try_templates", lambda _: {})
        shipped.keep(gallery)
    build_snapshot(Settings(), gallery, Cluster(), trial=shipped.try_new)
    assert asked == []
    with pytest.raises(Exception) as caught:
        build_snapshot(Settings(), {**gallery, "mine": GOOD}, Cluster(), trial=shipped.try_new)
    golden(caught.value)
    assert asked == [{"mine"}]


def test_the_gallery_passes_as_an_installation_tries_it(file: Path) -> None:
    program = f"import pathlib; from injector.loading import shipped as it; it._KEPT = pathlib.Path({str(file)!r});"
    program += "raise SystemExit(bool(it.keep(it.read_gallery(it.gallery_path()))))"
    subprocess.run([sys.executable, "-c", program], check=True, timeout=300)
    assert shipped.untried(read_gallery(gallery_path())) == {}
