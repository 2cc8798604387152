"""What the connection of a command does with answers."""

from __future__ import annotations

import json
from pathlib import Path

from injector.cluster.blocking_client import BlockingClient
from injector.cluster.client import Client

NOWHERE = {
    "apiVersion": "v1",
    "kind": "Config",
    "clusters": [{"name": "c", "cluster": {"server": "http://127.0.0.1:1"}}],
    "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
    "current-context": "c",
    "users": [{"name": "u", "user": {}}],
}


class Answer:
    """Counts how often somebody writes it out."""

    written = 0

    def __repr__(self) -> str:
        Answer.written += 1
        return "an answer"


def test_no_answer_is_written_out(tmp_path: Path) -> None:
    """With a page of 500 pods that takes longer than to read it."""

    async def answer(_: Client) -> Answer:
        return Answer()

    file = tmp_path / "config"
    file.write_text(json.dumps(NOWHERE))
    with BlockingClient(str(file)) as live:
        assert isinstance(live.run(answer, "it"), Answer)
    assert Answer.written == 0
