"""What a lint does not do: render a file that reads nothing new, parse a text twice, find places for nobody."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from injector.authoring.lint import rendering, subject
from injector.loading.template_folders import gallery_path
from injector.templates import render, structure
from tests.authoring.lint.support import found


@pytest.fixture(scope="module")
def calls() -> Iterator[dict[str, Counter[str]]]:
    """A lint of the template envoy: texts rendered and places found, by source, texts parsed, and injections."""
    counts = {name: Counter[str]() for name in ("rendered", "parsed", "placed", "injected")}
    with pytest.MonkeyPatch.context() as patch:
        for name, owner, function, what in (
            ("rendered", render._Job, "text", lambda job: job.root.source),
            ("parsed", structure, "compose", lambda text: text),
            ("placed", subject, "Trace", lambda template, context, source: source),
            ("injected", rendering, "inject", lambda pod, namespace, snapshot: "pods"),
        ):
            patch.setattr(owner, function, _counted(getattr(owner, function), counts[name], what))
        assert found(gallery_path() / "envoy") == ()
    yield counts


def _counted(whole: Callable[..., Any], counts: Counter[str], what: Callable[..., str]) -> Callable[..., Any]:
    def counted(*given: Any, **named: Any) -> Any:
        counts[what(*given)] += 1
        return whole(*given, **named)

    return counted


def test_a_file_is_rendered_where_something_differs_that_it_reads(calls: dict[str, Counter[str]]) -> None:
    injected = calls["injected"]["pods"]
    assert 0 < calls["rendered"]["redirect.nft.j2"] < injected / 4
    assert 0 < calls["rendered"]["overlay.yaml.j2"] < injected / 2


def test_a_text_is_parsed_once(calls: dict[str, Counter[str]]) -> None:
    assert set(calls["parsed"].values()) == {1}


def test_a_place_is_found_where_a_rule_has_something_to_say(calls: dict[str, Counter[str]]) -> None:
    assert calls["placed"].keys() == {"overlay.yaml.j2"}
    assert calls["placed"].total() < calls["injected"].total() / 2
