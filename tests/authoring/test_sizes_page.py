"""docs/sizes.md: what it has the reader type works, and its tables are what templates render."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from injector.errors import InjectionError
from injector.templates.render import render_overlay
from tests.authoring.pages import Typist
from tests.unit.templates.build import context, template
from tests.unit.test_docs import code, page, table

SIZES = page("sizes.md")
#: Of the page's own pod.
POD = {
    "metadata": {"name": "web"},
    "spec": {"containers": [{"name": "web", "image": "x", "resources": {"requests": {"cpu": "100m"}}}]},
}


def rendered(expression: str) -> object:
    made = template(f"metadata: {{annotations: {{v: {{{{ [{expression}] | tojson }}}}}}}}")
    seen = context(object=POD, containers=POD["spec"]["containers"], app=frozenset(["web"]))
    [value] = json.loads(render_overlay(made, seen).overlay["metadata"]["annotations"]["v"])
    return value


def test_the_page_is_typed(tmp_path: Path) -> None:
    Typist(tmp_path).type(SIZES)


@pytest.mark.parametrize(("written", "result"), [row[:2] for row in table(SIZES, "you write", "you get")])
def test_what_filters_make(written: str, result: str) -> None:
    assert rendered(code(written)[0]) == json.loads(code(result)[0])


@pytest.mark.parametrize("row", table(SIZES, "expression", "what it is"), ids=lambda row: row[0])
def test_what_the_app_asks_for(row: list[str]) -> None:
    rendered(code(row[0])[0])


def test_filters_of_the_table_are_there() -> None:
    for row in table(SIZES, "filter", "result"):
        for written in code(row[0]):
            rendered(f'"1" | {written.replace(", ...", "")}' if written != "sum" else '["1"] | sum')


@pytest.mark.parametrize(("written", "error"), [row[:2] for row in table(SIZES, "you write", "the error")])
def test_what_is_an_error(written: str, error: str) -> None:
    with pytest.raises(InjectionError) as caught:
        rendered(code(written)[0])
    assert error in str(caught.value)
