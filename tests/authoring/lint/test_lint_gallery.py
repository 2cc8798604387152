"""The gallery lints clean for the oldest Kubernetes too; for the newest see `tests/authoring/cases/test_gallery.py`."""

from __future__ import annotations

from pathlib import Path

import pytest

from injector.loading.template_folders import gallery_path
from tests.authoring.lint.support import found
from tests.samples import sampled

TEMPLATES = sorted(folder for folder in gallery_path().iterdir() if (folder / "template.yaml").is_file())


@pytest.mark.parametrize("folder", sampled(TEMPLATES, 3), ids=lambda folder: folder.name)
def test_it_is_what_the_oldest_kubernetes_takes_too(folder: Path) -> None:
    problems = found(folder, kubernetes=(1, 30), only=frozenset({"renders", "schema"}))
    assert [str(problem) for problem in problems] == []
