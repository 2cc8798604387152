"""Calls that are shared, and pauses that grow."""

from __future__ import annotations

import asyncio

import pytest

from injector.cluster.tasks import Backoff, SingleFlight, jittered


def test_callers_share_one_call_and_one_who_gives_up_does_not_end_it() -> None:
    calls = 0

    async def slow() -> int:
        nonlocal calls
        calls += 1
        await asyncio.sleep(0.1)
        return calls

    async def main() -> None:
        flights: SingleFlight[str, int] = SingleFlight()
        hasty = asyncio.create_task(asyncio.wait_for(flights.do("a", slow), 0.01))
        results = await asyncio.gather(*(flights.do("a", slow) for _ in range(50)))
        assert results == [1] * 50
        with pytest.raises(TimeoutError):
            await hasty
        assert await flights.do("b", slow) == 2
        assert await flights.do("a", slow) == 3

    asyncio.run(main())


def test_an_error_reaches_every_caller_and_is_not_remembered() -> None:
    async def fails() -> int:
        await asyncio.sleep(0.01)
        raise ValueError("no")

    async def works() -> int:
        return 1

    async def main() -> None:
        flights: SingleFlight[str, int] = SingleFlight()
        results = await asyncio.gather(*(flights.do("a", fails) for _ in range(3)), return_exceptions=True)
        assert [str(result) for result in results] == ["no"] * 3
        assert await flights.do("a", works) == 1

    asyncio.run(main())


def test_pauses_grow_up_to_the_longest_and_begin_anew() -> None:
    backoff = Backoff(0.5, 30)
    pauses = [backoff.next() for _ in range(12)]
    for pause, full in zip(pauses, [0.5, 1, 2, 4, 8, 16, 30, 30, 30, 30, 30, 30], strict=True):
        assert full / 2 <= pause <= full
    assert 7 <= Backoff(0.5, 30).next(at_least=7) < 8
    assert Backoff(0.5, 30).next(at_least=3600) == 30
    backoff.reset()
    assert backoff.next() <= 0.5
    assert len({jittered(10) for _ in range(20)}) > 15
