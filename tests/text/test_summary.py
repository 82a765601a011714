"""Extracts: within their budget, whole sentences in their own order, those that share most with the query."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memrank.text.summary import ELLIPSIS, SCANNED, cut, extract, summarize
from memrank.text.tokens import Tokenizer

TERMS = Tokenizer("english").terms
TEXT = "The desk met on Monday. The mortgage rate is 4.25 percent! Lunch was late. Fees were discussed? Nobody agreed."


@given(st.text(max_size=300), st.dictionaries(st.sampled_from(["rate", "fee"]), st.floats(0, 5)), st.integers(0, 200))
def test_within_the_budget_in_utf_8(text: str, weights: dict[str, float], budget: int) -> None:
    found = summarize(text, weights, TERMS, budget)
    assert len(found.encode("utf-8")) <= budget


def test_the_sentences_of_the_query_in_their_own_order() -> None:
    weights = dict.fromkeys(TERMS("mortgage rate fees"), 1.0)
    assert summarize(TEXT, weights, TERMS, 70) == "The mortgage rate is 4.25 percent! Fees were discussed?"
    assert summarize(TEXT, weights, TERMS, 40) == "The mortgage rate is 4.25 percent!"


def test_what_shares_nothing_is_represented_by_its_start() -> None:
    assert summarize(TEXT, {}, TERMS, 40) == "The desk met on Monday."


def test_other_full_stops_and_lines_separate() -> None:
    assert summarize("最初の文。利率は上がる。終わり。", {"利率": 1.0}, TERMS, 40) == "利率は上がる。"
    assert summarize("- first item\n- the rate\n- last", {"rate": 1.0}, TERMS, 40) == "- the rate"


def test_a_number_or_an_address_is_never_torn() -> None:
    text = 'Fees fell 0.75 points. See memrank.org/a?b=1 for more. He said "up 2.5!" Then he left.'
    assert summarize(text, {"fee": 1.0}, TERMS, 30) == "Fees fell 0.75 points."
    assert summarize(text, {"see": 1.0}, TERMS, 40) == "See memrank.org/a?b=1 for more."
    assert summarize(text, {"said": 1.0}, TERMS, 30) == 'He said "up 2.5!"'


def test_any_signs_are_read_in_time() -> None:
    for piece in (".", ".a", "!?", "a.", "\n.", '."', "..a"):
        summarize(piece * 1_000_000, {"a": 1.0}, TERMS, 100)


def test_nothing_in_nothing_out() -> None:
    assert summarize("", {}, TERMS, 10) == ""
    assert summarize("\n\n  \n", {}, TERMS, 10) == ""


def test_only_the_start_is_read() -> None:
    assert "rate" not in summarize("x " * SCANNED + ". The rate.", {"rate": 1.0}, TERMS, 50)


@given(st.text(max_size=100), st.integers(0, 60))
def test_cutting_keeps_a_start(text: str, budget: int) -> None:
    found = cut(text, budget)
    assert len(found.encode("utf-8")) <= budget
    if found != text:
        assert text.startswith(found.removesuffix(ELLIPSIS))


def test_cutting_at_a_word() -> None:
    assert cut("one two three four", 18) == "one two three four"
    assert cut("one two three four", 17) == "one two three" + ELLIPSIS
    assert cut("abcdefghij", 7) == "abcd" + ELLIPSIS
    assert cut("anything", 2) == ""


@given(st.text(max_size=300), st.dictionaries(st.sampled_from(["rate", "fee"]), st.floats(0, 5)), st.integers(0, 200))
def test_an_extract_is_within_the_budget(text: str, asked: dict[str, float], budget: int) -> None:
    found = extract(text, asked, TERMS, budget)
    assert len(found.encode("utf-8")) <= budget
    signs = iter("".join(text.split()))
    assert all(sign in signs for sign in "".join(found.replace(ELLIPSIS, "").split()))  # its signs, in their order


def test_an_extract_takes_facts_and_what_is_asked_in_their_own_order() -> None:
    text = "It was a long day for us all. The fee is 20 euros. We sat there for quite a while. Payment was denied."
    assert extract(text, {}, TERMS, 45) == "The fee is 20 euros. Payment was denied."
    asked = dict.fromkeys(TERMS("how long was the day"), 1.0)
    assert extract(text, asked, TERMS, 35) == "It was a long day for us all."


def test_an_extract_keeps_what_a_sentence_leans_on() -> None:
    text = (
        "We spoke of lunch. The facility of Sellwick is drawn. It stands at 54 million. Nobody else was there that day."
    )
    assert extract(text, {}, TERMS, 62) == "The facility of Sellwick is drawn. It stands at 54 million."
    assert extract(text, {}, TERMS, 55) == f"The facility of Sellwick{ELLIPSIS} It stands at 54 million."
    asks = "The facility is drawn. Is it 54 million?"
    assert extract(asks, {}, TERMS, 20) == "Is it 54 million?"
    chain = "The pump of bay 9 is loud. It was built in 1998. It was 400 euros."
    assert extract(chain, {"euro": 9.0}, TERMS, 70) == chain


def test_an_extract_without_room_for_a_subject_takes_another_sentence() -> None:
    text = "The facility of Sellwick is drawn. It stands at 54 million. Lunch was late."
    assert extract(text, {}, TERMS, 30) == "Lunch was late."


def test_an_extract_of_lines() -> None:
    assert extract("checking\nstatus: 200\nwaiting a bit", {}, TERMS, 15) == "status: 200"
    assert extract("one\r\n\r\ntwo", {}, TERMS, 100) == "one two"


def test_an_extract_where_no_sentence_fits_is_cut() -> None:
    assert extract("The first sentence is far too long.", {}, TERMS, 20) == "The first" + ELLIPSIS
    assert extract("abc def.", {}, TERMS, 2) == ""


@pytest.mark.parametrize("text", ["", "  \n\n ", "..."])
def test_an_extract_of_nothing(text: str) -> None:
    assert extract(text, {}, TERMS, 50) == text.strip()


def test_an_extract_of_lone_surrogates_and_control_signs() -> None:
    assert len(extract("a \ud800 b. \x00\x1b[31m. " * 100, {}, TERMS, 50).encode("utf-8", "replace")) <= 50


@pytest.mark.parametrize("piece", [".", ".a", "!?", "a.", "\n.", '."', "1.", "A ", ", A", "1:", "fail", "\u2028"])
def test_an_extract_of_any_signs_is_made_in_time(piece: str) -> None:
    extract(piece * 1_000_000, {"a": 1.0}, TERMS, 100)
