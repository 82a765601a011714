"""Decoys: foreign to what they are asked of, the same for the same read, and few."""

from hypothesis import given
from hypothesis import strategies as st

from memrank.text.decoys import DECOYS, MOST, shared_out
from memrank.text.tokens import tokenizer_of

TERMS = tokenizer_of("english").terms
TEXTS = st.dictionaries(st.text("abc", min_size=1, max_size=3), st.sampled_from([*DECOYS, "plants", ""]), max_size=8)


def test_they_share_no_words_with_one_another() -> None:
    words = [word for decoy in DECOYS for word in set(TERMS(decoy))]
    assert len(words) == len(set(words)), sorted(word for word in set(words) if words.count(word) > 1)


@given(st.sampled_from(["", "Where is the lighthouse?", *DECOYS]), TEXTS, st.integers(0, 2))
def test_nobody_is_asked_what_it_has_words_of(query: str, texts: dict[str, str], turn: int) -> None:
    found = shared_out(query, texts, turn)
    assert len(found) <= MOST
    assert len({decoy for decoy, _ in found}) == len(found)
    names = [name for _, called in found for name in called]
    assert len(names) == len(set(names))
    assert set(names) <= set(texts)
    for decoy, called in found:
        assert decoy in DECOYS
        assert called
        assert not set(TERMS(decoy)) & set(TERMS(query))
        assert not any(set(TERMS(decoy)) & set(TERMS(texts[name])) for name in called)


def test_an_innocent_text_has_one_in_every_turn_and_each_time_another() -> None:
    found = [shared_out("What is the rate?", {"m1": "The rate is four percent."}, turn) for turn in range(3)]
    assert all(len(each) == 1 for each in found)
    assert len({each[0][0] for each in found}) == 3


def test_the_query_decides_which() -> None:
    assert len({shared_out(f"query {k}", {"m1": "plants"})[0][0] for k in range(100)}) > 10
    assert shared_out("rate", {"a": "plants", "b": "rooms"}) == [
        (decoy, sorted(names)) for decoy, names in shared_out("rate", {"b": "rooms", "a": "plants"})
    ]


def test_who_has_the_words_of_all_is_asked_nothing() -> None:
    assert shared_out("rate", {"m1": " ".join(DECOYS)}) == []
    assert shared_out("rate", {}) == []
