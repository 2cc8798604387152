"""The stages that one pod passes through the webhook, from a trace: those of CONTRIBUTING.md, each once, in order."""

from __future__ import annotations

import asyncio
import re
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

import injector
from injector.pods.context import Namespace
from tests.unit.webhook.support import pod, review, to_bytes
from tests.unit.webhook.test_waiting import ENABLED, Kept, Webhook, World, snapshot

PAGE = Path(__file__).parents[3] / "CONTRIBUTING.md"
SOURCES = str(Path(injector.__file__).parent)
#: The modules of the webhook that lead a review through its stages, and so are passed between all of them.
LEADERS = {"webhook/pipeline.py", "webhook/evaluators.py"}


class Stage(NamedTuple):
    """A stage, and the function that it is."""

    name: str
    function: str
    module: str


def stages() -> list[Stage]:
    """The table of CONTRIBUTING.md."""
    rows = re.findall(r"^\| ([\w ]+) \| `([\w.]+)` \| `([\w/.]+)` \|$", PAGE.read_text(), re.MULTILINE)
    return [Stage(*row) for row in rows]


def traced(handler: Callable[[bytes, float], bytes | Awaitable[bytes]], body: bytes) -> list[tuple[str, str]]:
    """Function and module of each call below `injector/` while a review is answered."""
    calls: list[tuple[str, str]] = []

    def note(frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(SOURCES):
            calls.append((code.co_qualname, code.co_filename[len(SOURCES) + 1 :]))

    async def answer() -> None:
        sys.setprofile(note)
        try:
            result = handler(body, 2.0)
        finally:
            sys.setprofile(None)
        assert isinstance(result, bytes), "nothing was to be waited for"

    asyncio.run(answer())
    return calls


def passed(calls: list[tuple[str, str]]) -> list[str]:
    """The names of the stages among the calls, in the order in which they were called."""
    names = {(stage.function, stage.module): stage.name for stage in stages()}
    return [names[call] for call in calls if call in names]


def test_the_sentence_and_the_table_name_the_same_stages() -> None:
    sentence = re.search(r"^    bytes -> (.*) -> bytes$", PAGE.read_text(), re.MULTILINE)
    assert sentence
    assert sentence[1].split(" -> ") == [stage.name for stage in stages()]


def test_a_pod_passes_each_stage_once_and_in_the_order_of_the_sentence() -> None:
    webhook = Webhook(World(stored={"shop": Namespace("shop", ENABLED)}), Kept(snapshot()))
    body = to_bytes(review(pod()))
    calls = traced(webhook.mutate, body)
    print(" -> ".join(["bytes", *passed(calls), "bytes"]))
    assert passed(calls) == [stage.name for stage in stages()]
    modules = {module for _, module in calls if module.startswith("webhook/")}
    assert modules == LEADERS | {stage.module for stage in stages() if stage.module.startswith("webhook/")}

    calls = traced(webhook.mutate, body)
    print(" -> ".join(["bytes", *passed(calls), "bytes"]))
    assert passed(calls) == ["review", "namespace", "cache", "record"], "a replica: from the cache to the record"
