"""What a lint does not do: render a file that reads nothing new, parse a text twice, find places for nobody."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from injector.authoring.lint import subject
from injector.loading.template_folders import gallery_path
from injector.templates import render, structure
from tests.authoring.lint.support import found


@pytest.fixture(scope="module")
def calls() -> Iterator[dict[str, Counter[str]]]:
    """How often texts were rendered and places found, by source, and texts parsed, in a lint of the template envoy."""
    counts = {name: Counter[str]() for name in ("rendered", "parsed", "placed")}
    with pytest.MonkeyPatch.context() as patch:
        for name, owner, function, what in (
            ("rendered", render._Job, "text", lambda job: job.root.source),
            ("parsed", structure, "compose", lambda text: text),
            ("placed", subject, "trace", lambda template, context, source: source),
        ):
            patch.setattr(owner, function, _counted(getattr(owner, function), counts[name], what))
        assert found(gallery_path() / "envoy") == ()
    yield counts


def _counted(whole: Callable[..., Any], counts: Counter[str], what: Callable[..., str]) -> Callable[..., Any]:
    def counted(*given: Any) -> Any:
        counts[what(*given)] += 1
        return whole(*given)

    return counted


def test_a_file_is_rendered_where_something_differs_that_it_reads(calls: dict[str, Counter[str]]) -> None:
    rendered = calls["rendered"]
    # the overlay has the name of the ConfigMap, which is another one each time; the rules read 12 of 48 parameters
    assert rendered["overlay.yaml.j2"] > 4 * rendered["ipv4.rules.j2"] > 0


def test_a_text_is_parsed_once(calls: dict[str, Counter[str]]) -> None:
    assert set(calls["parsed"].values()) == {1}


def test_a_place_is_found_where_a_rule_has_something_to_say(calls: dict[str, Counter[str]]) -> None:
    assert calls["placed"].keys() == {"overlay.yaml.j2"}
