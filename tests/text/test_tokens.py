"""Terms: what separates words, what is a number, other scripts, and that hostile text costs no more than its length."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memrank.text.tokens import STOP_WORDS, Tokenizer, words

ENGLISH = Tokenizer("english")
PLAIN = Tokenizer("none")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", []),
        ("Rate: 4.25%, up!", ["rate", "4.25", "up"]),
        ("snake_case and kebab-case", ["snake", "case", "and", "kebab", "case"]),
        ("1,234.50 in Q1", ["1,234.50", "in", "q1"]),
        ("end of 2025.", ["end", "of", "2025"]),
        ("ﬁne ＦＵＬＬ Straße", ["fine", "full", "strasse"]),
        ("naïve café", ["naïve", "café"]),
        ("利率上升", ["利率", "率上", "上升"]),
        ("利", ["利"]),
        ("😀 !!! \x00", []),
    ],
)
def test_words(text: str, found: list[str]) -> None:
    assert words(text) == found


@given(st.text(max_size=80))
def test_words_are_caseless_stable_and_never_empty(text: str) -> None:
    found = words(text)
    assert all(found)
    assert words(text) == found
    assert words(" ".join(found).upper()) == words(" ".join(found))


def test_the_forms_of_a_word_are_one_term_and_stop_words_none() -> None:
    assert ENGLISH.terms("rates rated rating") == ["rate"] * 3
    assert ENGLISH.terms("the of and is") == []
    assert PLAIN.terms("the rates") == ["the", "rates"]
    assert all(not ENGLISH.terms(word) for word in STOP_WORDS)


@given(st.text(alphabet="abc .,_-1é利", max_size=60))
def test_terms_of_a_whole_are_those_of_its_words(text: str) -> None:
    assert ENGLISH.terms(text) == [term for word in words(text) for term in ENGLISH.terms(word)]


@pytest.mark.parametrize("piece", ["1,", "1.1", "a_", "利", "é", "\u0301", "1,1.", "ﬃ", " "])
def test_a_megabyte_of_anything_is_read_in_time(piece: str) -> None:
    started = time.perf_counter()
    words(piece * (300_000 // len(piece)))
    assert time.perf_counter() - started < 5
