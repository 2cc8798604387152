"""The whole gallery lints clean, warnings included, and its cases pass.

What it shows is what authors copy.
"""

from __future__ import annotations

import json

import pytest

from tests.authoring.commands import GALLERY, injector
from tests.command import Done
from tests.parts import find, get, require

#: What checks the gallery's config files; fluentd is to be had nowhere.
PROGRAMS = ("envoy", "nginx", "fluent-bit", "oauth2-proxy", "otelcol")


@pytest.fixture(scope="module")
def here() -> set[str]:
    """The programs that are there when `injector test` looks for them; others may come while tests run."""
    for program in PROGRAMS:
        get(program)
    return {program for program in PROGRAMS if find(program)}


@pytest.fixture(scope="module")
def tested(here: set[str]) -> Done:
    """`injector test` of the gallery."""
    return injector("test", "templates/", "--output", "json")


@pytest.fixture(scope="module")
def gallery(tested: Done) -> dict[str, dict]:
    """What it tells of each template."""
    return {template["template"]: template for template in json.loads(tested.out)["templates"]}


def test_the_gallery_lints_clean_and_its_cases_pass(tested: Done) -> None:
    lint = injector("lint", "templates/")
    assert (lint.code, lint.out) == (0, ""), lint.err
    assert tested.code == 0, tested.out + tested.err


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


@pytest.mark.programs
@pytest.mark.parametrize("program", PROGRAMS)
def test_by_each_of_them(program: str, here: set[str], gallery: dict[str, dict]) -> None:
    require(program)
    assert program in here
