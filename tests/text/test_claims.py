"""Claims: what is read as a number, a period and a name, the cues, and that hostile text is read like any other."""

import pytest
from factories import HOSTILE
from hypothesis import given
from hypothesis import strategies as st

from memrank.text.claims import CUES, NUMBER_WORDS, PERIODS, SCANNED, opposites, read_claim
from memrank.text.tokens import tokenizer_of


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("", set()),
        ("no number", set()),
        ("30", {"30"}),
        ("007", {"7"}),
        ("0 000 0.0", {"0"}),
        ("1,000", {"1000"}),
        ("1,234,567.50", {"1234567.5"}),
        ("1,5", {"1.5"}),
        ("0,50", {"0.5"}),
        ("4.50 4.5", {"4.5"}),
        ("end of 4.", {"4"}),
        ("1..2", {"1", "2"}),
        ("version 1.2.0", {"1.2.0"}),
        ("version 1.20.0", {"1.20.0"}),
        ("14.03.2026", {"14.03.2026"}),
        ("1,000,00", {"1.000.00"}),
        ("4.50%", {"4.5"}),
        ("$1,200", {"1200"}),
        ("15:30 and 05:30", {"15:30", "5:30"}),
        ("12:345", {"12", "345"}),
        ("2026-03-14", {"2026", "3", "14"}),
        ("1/2", {"1", "2"}),
        ("3rd, 10am, v2", {"3", "10", "2"}),
        ("zero two nineteen ninety", {"0", "2", "19", "90"}),
        ("Twice a dozen", {"2", "12"}),
        ("a fortnight", {"14"}),
        ("one by one", {"1"}),
        ("１２ and ٣ and ४", {"12", "3", "4"}),
        ("０９:３０", {"9:30"}),
        ("x²", set()),
        ("²", {"2"}),
    ],
)
def test_numbers(text: str, numbers: set[str]) -> None:
    assert read_claim(text).numbers == numbers


@pytest.mark.parametrize(
    ("text", "periods"),
    [
        ("in March", {"march"}),
        ("on Tuesdays, or Thur", {"tuesday", "thursday"}),
        ("Sept. 2025", {"september", "2025"}),
        ("since 1999, not 1899 or 3000", {"1999"}),
        ("2026-03-14", {"2026"}),
        ("20.5 and 1,999", {"1999"}),
        ("the second interim report before Easter", {"second", "interim", "easter"}),
        ("JANUARY", {"january"}),
        ("marching", set()),
    ],
)
def test_periods(text: str, periods: set[str]) -> None:
    assert read_claim(text).periods == periods


@pytest.mark.parametrize(
    ("text", "slots"),
    [
        ("Rent is 900", {("rent", "900")}),
        ("pays 900 euros", {("pay", "900"), ("euro", "900")}),
        ("4%", {("%", "4")}),
        ("€ 5", {("€", "5")}),
        ("5 7", set()),
        ("rates of the 3", {("rate", "3")}),
        ("rates are of the 3", set()),
    ],
)
def test_what_stands_beside_a_number(text: str, slots: set[tuple[str, str]]) -> None:
    assert read_claim(text).slots == slots


def test_a_capital_after_a_mark_is_a_name_and_one_that_opens_a_sentence_may_be() -> None:
    claim = read_claim("Dario rang.\nMiles came, Anna left. Then (Bob) sat: Rome")
    assert claim.heads >= {"dario", "mile", "rome"}
    assert claim.names == {"anna", "bob"}


@pytest.mark.parametrize(
    ("text", "cues"),
    [
        ("Actually, it is blue.", {"correction"}),
        ("Sorry - not Monday but Friday", {"correction", "denial"}),
        ("From now on he drives.", {"change"}),
        ("She no longer eats meat.", {"ended", "denial"}),
        ("He gave the keys back.", {"ended"}),
        ("He gave " + "very " * 9 + "gladly back.", set()),
        ("It is still so.", {"confirmation"}),
        ("They used to smoke.", {"history"}),
        ("The bid is pending.", {"open"}),
        ("He doesn't, she doesn’t.", {"denial"}),
        ("She told him.", {"narrative"}),
        ("NEVER", {"denial"}),
        ("knotted newt", set()),
        ("", set()),
    ],
)
def test_cues(text: str, cues: set[str]) -> None:
    assert read_claim(text).cues == cues


def test_every_number_word_and_period_is_read_by_itself() -> None:
    for word, number in NUMBER_WORDS.items():
        if word != "one":
            assert read_claim(word).numbers == {str(number)}
    for word, period in PERIODS.items():
        if word.isalpha():
            assert period in read_claim(word).periods


def test_opposites_exclude_each_other_both_ways_and_never_themselves() -> None:
    table = opposites()
    assert "shut" in table["open"]
    assert all(word in table[other] and word != other for word, others in table.items() for other in others)


@given(st.text(max_size=120))
def test_a_claim_is_whole_whatever_the_text(text: str) -> None:
    claim = read_claim(text)
    assert len(claim.words) == len(claim.starts)
    assert list(claim.starts) == sorted(claim.starts)
    assert all(0 <= start < 1 for start in claim.starts)
    words = set(claim.words)
    assert claim.numbers <= words
    assert claim.names | claim.heads <= words
    assert {number for _, number in claim.slots} <= claim.numbers
    assert claim.cues <= set(CUES)
    assert set(claim.written) == words
    assert all(how in text for how in claim.written.values())


WRITTEN = ("rate", "fee", "4%", "1,000", "two", "March", "Dario", ".", "not", "15:30", "policies")


@given(st.lists(st.sampled_from(WRITTEN), max_size=12).map(" ".join))
def test_words_are_written_as_the_text_writes_them(text: str) -> None:
    stem = tokenizer_of("english").terms
    for word, how in read_claim(text).written.items():
        assert how in text.split() or f"{how}%" in text.split()
        assert word in read_claim(how).numbers or word in stem(how)


def test_the_first_way_of_writing_a_word_is_kept() -> None:
    written = read_claim("thirty policies, 30 policy, the Company's 東京は").written
    assert (written["30"], written["polici"], written["compani"]) == ("thirty", "policies", "Company's")
    assert written["東京"] == "東京"


def test_only_the_start_of_a_text_is_read() -> None:
    assert read_claim("a" * SCANNED + " 30 not") == read_claim("a" * SCANNED)
    assert read_claim(" " * (SCANNED - 2) + "30").numbers == {"30"}


def test_without_a_language_words_are_kept_as_they_are() -> None:
    assert read_claim("the policies", "none").words == ("the", "policies")


BOMBS = (
    *HOSTILE,
    "9" * 100_000,
    "1." * 50_000,
    "1,000" * 20_000,
    "a'" * 50_000,
    "not " * 25_000,
    "gave " * 20_000,
    "Bob" + "\n" * 3_990 + "-Bob",
    ("Bob" + "\n" * 390 + "-") * 10,
    "Bob" + ": " * 1_900 + "-Bob",
    " ".join(f"w{i} {i}" for i in range(1_000)),
    "\x00\x1b[31m" * 20_000,
    "\ufdfa" * 5_000,
    "e\u0301" * 50_000,
    "İ" * 5_000,
    "²" * 5_000,
    "\ud800 1 \udfff",
)


@pytest.mark.parametrize("text", BOMBS, ids=range(len(BOMBS)))
def test_hostile_text_is_read(text: str) -> None:
    claim = read_claim(text)
    assert len(claim.words) == len(claim.starts)
    assert set(claim.written) == set(claim.words)
