"""A memory of results keeps within its bytes, and counts each result once."""

from __future__ import annotations

from injector.caches import IdentityCache, Memo


def test_the_oldest_leave_first_and_none_is_too_large() -> None:
    memo: Memo[int] = Memo(400)
    for number in range(5):
        memo.put(f"{number}", number, 99)
    assert (len(memo), memo.used) == (4, 400)
    assert [memo.get(f"{number}") for number in range(5)] == [None, 1, 2, 3, 4]
    memo.put("large", 5, 96)
    assert memo.get("large") is None
    memo.put("fits", 6, 96)
    assert memo.get("fits") == 6


def test_what_two_have_made_at_the_same_time_is_kept_and_counted_once() -> None:
    memo: Memo[str] = Memo(4000)
    memo.put("a", "first", 99)
    memo.put("a", "second", 99)
    assert (memo.get("a"), len(memo), memo.used) == ("first", 1, 100)


def test_what_is_asked_for_stays_while_others_come_and_go() -> None:
    cache: IdentityCache[str] = IdentityCache(4)
    often = ["a part of every pod"]
    others = [[number] for number in range(20)]
    cache.put(often, "made once")
    for other in others:
        cache.put(other, "made for one pod")
        assert cache.get(often) == "made once"
    assert [cache.get(other) is not None for other in others] == [False] * 17 + [True] * 3
