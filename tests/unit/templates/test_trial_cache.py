"""Shipped templates that passed when the injector was installed are not tried again; everything else is."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from injector.loading import trial, trial_cache
from injector.loading.template_folders import gallery_path, read_gallery
from injector.pods.context import Cluster
from injector.settings import Settings
from injector.templates.snapshot import build_snapshot

GOOD = {"template.yaml": "description: Good.\n", "overlay.yaml.j2": "spec: {}\n"}
BAD = {"template.yaml": "description: Bad.\n", "overlay.yaml.j2": "spec: {{ nothing }}\n"}


@pytest.fixture(autouse=True)
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(trial_cache, "_FILE", tmp_path / "trial_cache.json")
    return tmp_path / "trial_cache.json"


def test_without_a_list_everything_is_tried() -> None:
    assert trial_cache.untried({"good": GOOD}) == {"good": GOOD}


def test_what_passed_is_on_the_list_and_what_failed_is_not() -> None:
    [wrong] = trial_cache.keep({"good": GOOD, "bad": BAD})
    assert wrong.startswith("bad/overlay.yaml.j2:1:10: error: nothing")
    assert trial_cache.untried({"good": GOOD, "bad": BAD}) == {"bad": BAD}


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
    trial_cache.keep({"good": GOOD})
    assert trial_cache.untried(other) == other


@pytest.mark.parametrize("text", [b"", b"{}", b"[1]", b"\xff"])
def test_a_list_that_cannot_be_read_is_none(file: Path, text: bytes) -> None:
    file.write_bytes(text)
    assert trial_cache.untried({"good": GOOD}) == {"good": GOOD}


def test_other_versions_try_everything_again(monkeypatch: pytest.MonkeyPatch) -> None:
    trial_cache.keep({"good": GOOD})
    monkeypatch.setattr(trial_cache, "_versions", lambda: b"others")
    assert trial_cache.untried({"good": GOOD}) == {"good": GOOD}


def test_a_snapshot_starts_no_child_for_what_passed(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[set[str]] = []
    monkeypatch.setattr(trial, "_child", lambda templates: (asked.append(set(templates)), ([], None))[1])
    gallery = read_gallery(gallery_path())
    with monkeypatch.context() as patched:
        patched.setattr(trial_cache, "try_templates", lambda _: {})
        trial_cache.keep(gallery)
    build_snapshot(Settings(), gallery, Cluster(), trial=trial_cache.try_new)
    assert asked == []
    with pytest.raises(Exception, match="the trial could not be run"):
        build_snapshot(Settings(), {**gallery, "mine": GOOD}, Cluster(), trial=trial_cache.try_new)
    assert asked == [{"mine"}]


def test_the_gallery_passes_as_an_installation_tries_it(file: Path) -> None:
    program = f"import pathlib; from injector.loading import trial_cache as it; it._FILE = pathlib.Path({str(file)!r});"
    program += "raise SystemExit(bool(it.keep(it.read_gallery(it.gallery_path()))))"
    subprocess.run([sys.executable, "-c", program], check=True, timeout=120)
    assert trial_cache.untried(read_gallery(gallery_path())) == {}
