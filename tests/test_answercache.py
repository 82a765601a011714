"""The cache of answers: bounded, and keyed by all that an answer depends on."""

import copy
from itertools import combinations
from typing import Any

import pytest

from memrank.answercache import AnswerCache, answer_key, fingerprint, prompt_version

PARTS: dict[str, Any] = {
    "endpoint": "http://a/v1",
    "model": "local/m",
    "settings": {"temperature": 0.0},
    "prompt": "p",
    "context": "c",
    "content": "m",
}


def test_every_part_of_a_key_counts() -> None:
    changed = [
        *({**PARTS, name: "other"} for name in PARTS),
        {**PARTS, "endpoint": None},
        {**PARTS, "context": "m", "content": "c"},
    ]
    keys = [answer_key(**PARTS), *(answer_key(**parts) for parts in changed)]
    assert all(one != other for one, other in combinations(keys, 2))
    assert answer_key(**PARTS) == keys[0]


def test_prompts_are_told_apart() -> None:
    same = prompt_version("Judge.", {"a": "str"}, [{"a": 1, "b": 2}])
    assert prompt_version("Judge.", {"a": "str"}, [{"b": 2, "a": 1}]) == same
    for other in (
        prompt_version("Judge!", {"a": "str"}, [{"a": 1, "b": 2}]),
        prompt_version("Judge.", {"a": "int"}, [{"a": 1, "b": 2}]),
        prompt_version("Judge.", {"a": "str"}, []),
        prompt_version("Judge.", {"a": "str"}, [{"a": 1, "b": 2}] * 2),
    ):
        assert other != same


def test_parts_do_not_run_into_each_other() -> None:
    assert fingerprint("ab", "c") != fingerprint("a", "bc")
    assert fingerprint("a\ud800") != fingerprint("a\ud801")


def test_what_has_no_json_form_is_refused() -> None:
    with pytest.raises(TypeError):
        fingerprint(object())


def test_the_one_asked_for_longest_ago_goes() -> None:
    cache: AnswerCache[int] = AnswerCache(2)
    cache.put("a", 1)
    cache.put("b", 2)
    assert cache.get("a") == 1
    cache.put("c", 3)
    assert [cache.get(key) for key in "abc"] == [1, None, 3]
    assert (len(cache), cache.hits, cache.misses) == (2, 3, 1)
    cache.put("a", 9)
    assert (cache.get("a"), len(cache)) == (9, 2)


def test_a_cache_of_none_keeps_nothing() -> None:
    cache: AnswerCache[int] = AnswerCache(0)
    cache.put("a", 1)
    assert cache.get("a") is None
    assert copy.deepcopy(cache) is cache
