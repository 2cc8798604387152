"""How many values a review may hold and how deep, counted on its bytes; and what the largest ones take of memory."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, strategies as st

from injector.errors import ReviewError
from injector.webhook.review import (
    DEEPEST,
    OBJECT_BYTES,
    check_bounds,
    read_object,
    read_request,
    read_review,
)
from tests.cluster.processes import eventually
from tests.messages import Golden
from tests.unit.webhook.support import Client, ask_once, pod, review, to_bytes
from tests.unit.webhook.test_connections import is_ready, peak_mib
from tests.unit.webhook.test_fresh_start import FreshServer

MIB = 1024 * 1024
#: Of each kind many, one after the other: what takes most memory for its bytes.
HOSTILE = {
    "empty lists": b"[],",
    "empty maps": b"{},",
    "deep lists": b"[" * 60 + b"]" * 60 + b",",
    "deep maps": b'{"":' * 60 + b"1" + b"}" * 60 + b",",
    "small maps": b'{"":1},',
    "numbers": b"1,",
}


def filled(unit: bytes, size: int) -> bytes:
    """An object of at most this size that holds as many of these as fit in."""
    return b'{"a":[' + (unit * ((size - 10) // len(unit)))[:-1] + b"]}"


def refusal(raw: bytes) -> str:
    """What is wrong with an object, "" for nothing."""
    try:
        check_bounds(raw, "it")
    except ReviewError as error:
        assert error.status == 413
        return str(error)
    return ""


@pytest.mark.parametrize("unit", HOSTILE.values(), ids=HOSTILE.keys())
def test_what_an_api_server_can_send_is_read_and_not_much_more(unit: bytes) -> None:
    largest = filled(unit, OBJECT_BYTES)
    assert len(read_object(largest)["a"]) > 10_000
    assert "values" in refusal(filled(unit, 8 * MIB))


def test_strings_are_not_counted() -> None:
    text = json.dumps({"a": '[{"b": [1, 2, {"c": "\\\\"}]}]' * 200_000}).encode()
    assert len(text) > 2 * OBJECT_BYTES
    assert refusal(text) == ""
    assert read_object(text)
    long = json.dumps({str(n): "x" * 1000 for n in range(7000)}).encode()
    assert refusal(long) == ""


def test_the_depth_is_counted_and_strings_do_not_hide_it(golden: Golden) -> None:
    def nested(depth: int, inside: str = "1") -> bytes:
        return b'{"a":' * depth + inside.encode() + b"}" * depth

    assert refusal(nested(DEEPEST)) == ""
    golden(refusal(nested(DEEPEST + 1)))
    for text in ("}" * 500, "\\" * 501 + '"' + "}" * 500, "[" * 500):
        siblings = b'{"x":' + json.dumps(text).encode() + b',"a":'
        assert refusal(siblings + nested(DEEPEST - 1) + b"}") == ""
        golden(refusal(siblings + nested(DEEPEST) + b"}"))


def depth_of(value: Any) -> int:
    if isinstance(value, dict):
        return 1 + max(map(depth_of, value.values()), default=0)
    return 1 + max(map(depth_of, value), default=0) if isinstance(value, list) else 0


texts = st.text(alphabet='[]{},:"\\a\n', max_size=8)
values = st.recursive(
    texts | st.integers(0, 9), lambda v: st.lists(v, max_size=3) | st.dictionaries(texts, v, max_size=3)
)


@given(values)
def test_the_depth_is_that_of_the_value(value: Any) -> None:
    depth = depth_of(value)
    around = b"[" * (DEEPEST - depth) + msgspec.json.encode(value) + b"]" * (DEEPEST - depth)
    assert refusal(around) == ""
    assert "nested" in refusal(b"[" + around + b"]")


def test_what_is_around_the_objects_is_bounded_too(golden: Golden) -> None:
    body = to_bytes(review(pod()))
    large = body.replace(b'"request":{', b'"request":{"options":{"a":"%b"},' % (b"x" * 300_000), 1)
    with pytest.raises(ReviewError) as raised:
        read_request(read_review(large), large)
    golden(raised.value)
    assert raised.value.status == 413
    deep = body.replace(b'"request":{', b'"request":{"extra":%b,' % (b'{"a":' * 300 + b"1" + b"}" * 300), 1)
    with pytest.raises(ReviewError) as caught_2:
        read_request(read_review(deep), deep)
    golden(caught_2.value)


def test_sixteen_of_the_largest_at_once(tmp_path: Path) -> None:
    """At most 400 MiB, given back afterwards; those who ask for little are answered meanwhile."""
    server = FreshServer(tmp_path, "--standalone")
    try:
        eventually("it is ready", lambda: is_ready(server), 300)
        codes: list[tuple[str, int]] = []

        def ask(name: str, raw: bytes) -> None:
            pod_of = to_bytes(review({**pod(), "x": "@"})).replace(b'"@"', raw, 1)
            with Client(server.port, timeout=300) as client:
                client.send(pod_of, path="/mutate?timeout=30s")
                codes.append((name, client.receive().code))

        large = [filled(unit, 8 * MIB - 10_000) for unit in list(HOSTILE.values())[:4]] * 4
        allowed = [filled(unit, OBJECT_BYTES - 10_000) for unit in list(HOSTILE.values())[:4]] * 4
        for name, bodies in (("large", large), ("allowed", allowed)):
            threads = [threading.Thread(target=ask, args=(name, raw)) for raw in bodies]
            for thread in threads:
                thread.start()
            assert ask_once(server.port, to_bytes(review(pod()))).code == 200
            for thread in threads:
                thread.join()
        assert set(codes) == {("large", 413), ("allowed", 200)}
        assert peak_mib(server.process.pid) <= 400
        eventually("it is given back", lambda: peak_mib(server.process.pid, "VmRSS") < 150, 300)
    finally:
        server.close()
