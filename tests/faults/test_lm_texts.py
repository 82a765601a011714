"""Texts that a model may answer with: whatever they are, reading them ends soon, with a value or with one error."""

import json
import time
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memrank.lmadapter import UnreadableError, json_value

GOOD: dict[str, Any] = {"judgements": [{"id": "m1", "relevance": 0.5, "justification": "it helps"}]}
WRITTEN = json.dumps(GOOD)
HEAVY = {
    "thoughts": "<think>" * 28_000,
    "ends": "</think>" * 24_000,
    "objects": '{"a":' * 39_000,
    "brackets": "[" * 199_000,
    "strings": '{"a":"' * 33_000,
    "open_fence": "```" + " " * 199_000,
    "fences": "```" * 66_000,
    "many": "".join(f'{{"a":{k}}}' for k in range(18_000)),
    "nested": "[" * 900 + '{"a":1}' + "]" * 900 + " and",
    "unclosed": "[" * 60 + '{"a": 1}, ' * 19_000,
    "too_long": "[" * 5_000_000,
}


@pytest.mark.parametrize("name", sorted(HEAVY))
def test_no_answer_takes_long_to_read(name: str) -> None:
    started = time.monotonic()
    with pytest.raises(UnreadableError):
        json_value(HEAVY[name])
    assert time.monotonic() - started < 3


@pytest.mark.parametrize(
    "text",
    [
        f"<think>no</think>{WRITTEN}",
        f"<think>{{}}</think>\n<reasoning>[{{}}]</reasoning>{WRITTEN}",
        f"so {{}} it is</think>{WRITTEN}",
        f"<THINK>a <thinking> b</THINK>{WRITTEN}",
        f"{WRITTEN}<think>and that was that: {{}}",
        f"```json\n{WRITTEN}\n```",
        f"```\n\n\n{WRITTEN}```",
        f"{WRITTEN}\n{WRITTEN}",
        f"See [1] and {{this}}: {WRITTEN}",
    ],
)
def test_what_stands_around_an_answer_is_left_out(text: str) -> None:
    assert json_value(text) == GOOD


@pytest.mark.parametrize("said", ["it says </think>", "<think> and </think>", "```json {} ```", '{"judgements": []}'])
def test_a_justification_may_quote_what_would_end_an_answer(said: str) -> None:
    answer = {"judgements": [{"id": "m1", "relevance": 0.5, "justification": said}]}
    assert json_value(json.dumps(answer)) == answer


@pytest.mark.parametrize(
    "text", ["", "prose", "<think>" + WRITTEN, "[1, 2]x", f'{WRITTEN} {{"judgements": []}}', '{"a": NaN}']
)
def test_what_could_be_read_in_two_ways_is_not_read(text: str) -> None:
    with pytest.raises(UnreadableError):
        json_value(text)


PIECES = ["{", "}", "[", "]", '"', ":", ",", "a", "1", "NaN", "1e999", "<think>", "</think>", "```", "\n", " ", WRITTEN]


@given(st.lists(st.sampled_from(PIECES), max_size=40).map("".join))
def test_any_text_is_a_value_or_unreadable(text: str) -> None:
    with suppress(UnreadableError):
        assert isinstance(json_value(text), dict | list)
