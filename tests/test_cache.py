"""A cache that is bounded, forgets in time, and counts."""

import pytest

from memrank import cache as module
from memrank.cache import Cache


def test_bounded_and_the_one_asked_longest_ago_goes_first() -> None:
    cache: Cache[int] = Cache(2, 60.0)
    cache.put("a", 1)
    cache.put("b", 2)
    assert cache.get("a") == 1
    cache.put("c", 3)
    assert [cache.get(key) for key in "abc"] == [1, None, 3]
    info = cache.info()
    assert (info.hits, info.misses, info.kept) == (3, 1, 2)
    assert info.hit_rate == 0.75
    assert Cache[int](1, 1.0).info().hit_rate == 0


def test_lifetime(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(module.time, "monotonic", lambda: now[0])
    cache: Cache[int] = Cache(5, 10.0)
    cache.put("a", 1)
    now[0] = 110.0
    assert cache.get("a") == 1
    now[0] = 110.1
    assert cache.get("a") is None
    assert cache.info().kept == 0


def test_groups_go_as_a_whole_and_are_bounded() -> None:
    cache: Cache[int] = Cache(100, 60.0)
    for group in range(module.GROUPS + 1):
        for k in range(3):
            cache.put(f"{group} {k}", group, str(group))
    assert [cache.get(f"0 {k}") for k in range(3)] == [None] * 3
    assert cache.info().kept == 3 * module.GROUPS
    cache.drop("1")
    cache.drop("nothing")
    assert cache.get("1 0") is None
    cache.put("2 0", 5, "3")
    assert cache.get("2 0") == 5
    cache.drop("3")
    assert [cache.get("2 0"), cache.get("2 1")] == [None, 2]
