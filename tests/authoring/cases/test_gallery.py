"""The whole gallery lints clean and its cases pass, as a person would see it, within a minute of processor time."""

from __future__ import annotations

import json
import resource

import pytest

from tests.authoring.commands import GALLERY, injector
from tests.parts import find, get, require

#: What checks the gallery's config files. fluentd is to be had nowhere; that is told by a test that is skipped.
PROGRAMS = ("envoy", "nginx", "fluent-bit", "oauth2-proxy")


def test_the_gallery_lints_clean_and_its_cases_pass() -> None:
    start = _seconds()
    lint = injector("lint", "templates/")
    assert (lint.code, lint.out) == (0, ""), lint.err
    test = injector("test", "templates/")
    assert test.code == 0, test.out + test.err
    assert _seconds() - start < 60


def _seconds() -> float:
    """Processor time of all programs that have ended; unlike a clock it does not see what else the machine does."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


@pytest.fixture(scope="module")
def here() -> set[str]:
    """The programs that are there when `injector test` looks for them; others may come while tests run."""
    get("nginx")
    return {program for program in PROGRAMS if find(program)}


@pytest.fixture(scope="module")
def gallery(here: set[str]) -> dict[str, dict]:
    """What `injector test` tells of each template of the gallery."""
    done = injector("test", "templates/", "--output", "json")
    return {template["template"]: template for template in json.loads(done.out)["templates"]}


@pytest.mark.parametrize("name", GALLERY)
def test_a_template_has_cases_that_reach_most_of_it(gallery: dict[str, dict], name: str) -> None:
    template = gallery[name]
    assert len(template["cases"]) >= 5
    assert template["coverage"]["percent"] >= 90
    assert template["unusedGoldenFiles"] == []


def test_its_config_files_are_checked_by_the_real_programs(gallery: dict[str, dict], here: set[str]) -> None:
    require("envoy"), require("nginx")
    missing = {
        program for template in gallery.values() for case in template["cases"] for program in case["missingPrograms"]
    }
    assert sum(case["validated"] for template in gallery.values() for case in template["cases"]) > 0
    assert not missing & here
    if missing:
        pytest.skip(f"not on this machine, so what it reads was not checked: {', '.join(sorted(missing))}")
