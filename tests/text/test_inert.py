"""Untrusted text made harmless: one line, nothing that is not seen, nothing that steers."""

import re
import unicodedata

import pytest
from factories import HOSTILE
from hypothesis import given
from hypothesis import strategies as st

from memrank.text.inert import clip, inert

ANY = st.text(st.characters(), max_size=200) | st.sampled_from(HOSTILE)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("  a \t b\r\n\u2028c\u00a0 ", "a b c"),
        ("a\x00\x1b[2J\x9b", "a\ufffd[2J\ufffd"),
        ("a\u200bb\u202ec\ufeff", "abc"),
        ("\ud800\ufffe\uffff", "\ufffd"),
        ("天気\U0001f600", "天気\U0001f600"),
        (" \u200b\n", ""),
    ],
)
def test_what_becomes_of_a_text(text: str, shown: str) -> None:
    assert inert(text) == shown


@given(ANY)
def test_it_is_one_line_of_visible_characters(text: str) -> None:
    shown = inert(text)
    assert not re.search(r"[^\S ]|  |^ | $", shown)
    assert not {unicodedata.category(c) for c in shown} & {"Cc", "Cs", "Zl", "Zp"}
    assert inert(shown) == shown
    shown.encode("utf-8")


@given(ANY, st.integers(2, 50))
def test_a_clip_is_its_start(text: str, length: int) -> None:
    short = clip(text, length)
    assert len(short) <= length
    assert short == inert(text) or (short.endswith("…") and inert(text).startswith(short[:-1].rstrip()))
