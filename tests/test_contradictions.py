"""Contradictions of a tenant: what is compared, what is stated, in which order, and how it is put into words."""

import re
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from factories import HOSTILE, memory
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import records

from memrank.claimpairs import Comparer
from memrank.contradictions import BATCH, THRESHOLD, Contradiction, contradictions, explain
from memrank.indexing import Analyzer, Vocabulary, index
from memrank.records import read_record
from memrank.score.contradiction import ContradictionModel
from memrank.score.trees import Trees
from memrank.tenant import Tenant
from memrank.text.dates import parse_moment
from memrank.text.tokens import Language, words
from memrank.types import Memory


def tenant_of(memories: Sequence[Memory], *, embedded: bool = True, language: Language = "english") -> Tenant:
    analyzer, vocabulary = Analyzer(language, "wordllama" if embedded else "none"), Vocabulary()
    return Tenant.build(None, index(memories, analyzer, vocabulary), vocabulary, analyzer.language)


def found(memories: Sequence[Memory], *, threshold: float = THRESHOLD, embedded: bool = True) -> list[Contradiction]:
    return contradictions(tenant_of(memories, embedded=embedded), threshold=threshold)


def pairs(memories: Sequence[Memory], **options: float) -> list[tuple[str, str]]:
    """(newer, older) of what is found."""
    return [(one.newer.id, one.older.id) for one in found(memories, **options)]  # type: ignore[arg-type]


@pytest.fixture
def by_number(monkeypatch: pytest.MonkeyPatch) -> None:
    """In the place of the shipped model: another number beside the same word is a contradiction, nothing else is."""
    trees = Trees(
        features=("slot_differs",),
        base=-3.0,
        feature=np.zeros((1, 1), dtype=np.int64),
        threshold=np.array([[0.5]], dtype=np.float32),
        value=np.array([[0.0, 6.0]]),
    )
    model = ContradictionModel(trees=trees, updates={})
    monkeypatch.setattr("memrank.contradictions.shipped", lambda: model)


OLD = memory("old", "The staging API listens on port 8080.", days_ago=90)
NEW = memory("new", "The staging API listens on port 9443 now.", days_ago=2)
OTHERS = [
    memory("lunch", "Team lunch is on Fridays at the corner place.", days_ago=5),
    memory("deploy", "Deploys run every night at two.", days_ago=60),
    memory("owner", "Petra owns the billing service.", days_ago=80),
]


@pytest.mark.usefixtures("by_number")
@pytest.mark.parametrize("embedded", [True, False])
def test_the_newer_value_against_the_older_one(embedded: bool) -> None:
    (one,) = found([NEW, *OTHERS, OLD], embedded=embedded)
    assert (one.newer, one.older) == (NEW, OLD)
    assert THRESHOLD <= one.probability < 1
    assert one.evidence == ("number", "change", "words")
    assert one.sentence == (
        "new (2026-03-18T09:00:00Z) against old (2025-12-20T09:00:00Z): “9443” instead of “8080”; its words speak of a "
        "change; both speak of “staging”, “API”, “listens”"
    )


def test_nothing_and_one() -> None:
    assert found([]) == []
    assert found([OLD]) == []
    assert found([memory("a", ""), memory("b", "")], threshold=0) == []
    assert found([memory("a", "is it"), memory("b", "the of")], threshold=0) == []


@pytest.mark.parametrize("n", [2, 10, 300])
def test_what_says_the_same_contradicts_nothing(n: int) -> None:
    assert found([memory(f"m{i}", "The rate is not 4% any more, sorry.", days_ago=i) for i in range(n)]) == []


@pytest.mark.usefixtures("by_number")
def test_what_was_never_true_at_one_time_contradicts_nothing() -> None:
    day = parse_moment("2026-01-01").moment
    old = memory("old", OLD.content, days_ago=90, invalid_at=day)
    new = memory("new", NEW.content, valid_at=day)
    assert pairs([old, NEW]) == [("new", "old")]
    assert pairs([OLD, new]) == [("new", "old")]
    assert pairs([old, new]) == pairs([new, old]) == []


@pytest.mark.usefixtures("by_number")
@pytest.mark.parametrize(
    ("one", "two", "compared"),
    [("fact", "fact", True), ("fact", "note", False), ("fact", None, True), (None, None, True)],
)
def test_two_types_are_not_compared(one: str | None, two: str | None, compared: bool) -> None:
    told = [
        memory("old", OLD.content, days_ago=90, memory_type=one),
        memory("new", NEW.content, memory_type=two),
        memory("other", "Tea.", memory_type="fact"),
    ]
    assert bool(pairs(told)) is compared
    assert bool(pairs(told[::-1])) is compared


def test_without_dates_the_later_place_is_the_newer_one() -> None:
    one = memory("a", "The staging API listens on port 8080.", days_ago=None)
    two = memory("b", "The staging API listens on port 9443.", days_ago=None)
    assert pairs([one, two], threshold=0.0) == [("b", "a")]
    assert pairs([two, one], threshold=0.0) == [("a", "b")]
    (first,) = found([one, two], threshold=0.0)
    assert first.sentence.startswith("b (undated) against a (undated): ")


def test_of_one_date_the_later_place_is_the_newer_one() -> None:
    one, two = (memory(name, f"The API listens on port {port}.") for name, port in (("a", 8080), ("b", 9443)))
    assert pairs([one, two], threshold=0.0) == [("b", "a")]
    assert pairs([two, one], threshold=0.0) == [("a", "b")]


@pytest.mark.usefixtures("by_number")
def test_links_are_reported_as_stated_and_compared_no_more() -> None:
    old = memory("old", OLD.content, days_ago=90, superseded_by="new")
    third = memory("third", "The staging API listens on port 7070.", days_ago=200)
    stated, *judged = found([third, old, NEW])
    assert (stated.newer.id, stated.older.id, stated.probability) == ("new", "old", 1.0)
    assert stated.evidence == ("stated",)
    assert stated.sentence == "new (2026-03-18T09:00:00Z) replaces old (2025-12-20T09:00:00Z): the data say so"
    assert [(one.newer.id, one.older.id) for one in judged] == [("new", "third")]


def test_links_hold_whatever_the_dates_types_texts_and_threshold() -> None:
    old = memory("old", "Tea.", days_ago=1, memory_type="fact", superseded_by="new")
    assert pairs([old, NEW], threshold=1.0) == [("new", "old")]


@pytest.mark.usefixtures("by_number")
def test_links_in_a_circle_to_itself_and_to_nobody() -> None:
    circle = [memory("a", OLD.content, superseded_by="b"), memory("b", NEW.content, superseded_by="a")]
    assert pairs(circle) == [("b", "a")]
    (one,) = found([replace(circle[0], created_at=NEW.created_at), replace(circle[1], created_at=OLD.created_at)])
    assert (one.newer.id, one.older.id, one.evidence) == ("a", "b", ("stated",))
    assert one.sentence.endswith("replaces b (2025-12-20T09:00:00Z): the data say so, and the reverse, too")
    three = [memory(name, OLD.content, superseded_by=new) for name, new in ("ab", "bc", "ca")]
    assert sorted(pairs(three)) == [("a", "c"), ("b", "a"), ("c", "b")]
    # Known to be outdated, by what is not here: nothing to report it with, and nothing to compare it with.
    assert pairs([memory("old", OLD.content, days_ago=90, superseded_by="gone"), NEW]) == []
    assert pairs([memory("old", OLD.content, days_ago=90, superseded_by="old"), NEW]) == [("new", "old")]


@pytest.mark.usefixtures("by_number")
def test_the_threshold_is_reached_not_passed() -> None:
    (one,) = found([OLD, NEW])
    assert len(found([OLD, NEW], threshold=one.probability)) == 1
    assert found([OLD, NEW], threshold=float(np.nextafter(one.probability, 2))) == []


def test_the_likeliest_first_and_ties_by_id() -> None:
    told = [OLD, NEW, *OTHERS]
    told += [
        memory(f"{name}{i}", f"Rent of flat {i} is {rent}.", days_ago=days)
        for i in range(4)
        for name, rent, days in (("x", 900, 50), ("w", 950, 3))
    ]
    keys = [(-one.probability, one.newer.id, one.older.id) for one in found(told, threshold=0.0)]
    assert keys == sorted(keys)
    assert len({key[1:] for key in keys}) == len(keys)


def test_progress_is_told_from_nothing_to_all() -> None:
    told: list[tuple[int, int]] = []
    contradictions(tenant_of([]), progress=lambda done, of: told.append((done, of)))
    assert told == [(0, 0)]
    told.clear()
    many = tenant_of([memory(f"m{i}", f"Rent of flat {i % 50} is {i}.", days_ago=i) for i in range(600)])
    contradictions(many, progress=lambda done, of: told.append((done, of)))
    assert len({of for _, of in told}) == 1
    assert [done for done, _ in told] == [*range(0, told[0][1], BATCH), told[0][1]]
    assert len(told) > 2


WORDS = ("rate", "fee", "fund", "is", "not", "4%", "5%", "now", "sorry", "Ann", "Bob", "March", "May")
FEW = st.lists(st.sampled_from(WORDS), min_size=1, max_size=8)


@given(st.lists(FEW.map(" ".join), max_size=14), st.randoms(use_true_random=False), st.booleans())
def test_the_order_of_dated_memories_does_not_matter(contents: list[str], random: object, embedded: bool) -> None:
    told = [memory(f"m{i}", content, days_ago=i) for i, content in enumerate(contents)]
    mixed = list(told)
    random.shuffle(mixed)  # type: ignore[attr-defined]
    assert found(mixed, threshold=0.0, embedded=embedded) == found(told, threshold=0.0, embedded=embedded)


@given(records(most=8))
def test_any_memories_are_judged(raw: list[dict[str, object]]) -> None:
    told = [read_record(one, position=i)[0] for i, one in enumerate(raw)]
    stated = {(one.superseded_by, one.id) for one in told if one.superseded_by not in (None, one.id)}
    out = found(told, threshold=0.0)
    reported = [(one.newer.id, one.older.id) for one in out if one.evidence == ("stated",)]
    assert len(set(map(frozenset, reported))) == len(reported)
    assert {*reported} | {(old, new) for new, old in reported if (old, new) in stated} == stated
    superseded = {old for _, old in stated}
    for one in out:
        assert 0 <= one.probability <= 1
        assert one.newer.id != one.older.id
        if one.evidence != ("stated",):
            assert not {one.newer.id, one.older.id} & superseded
            assert one.evidence[-1] == "words"
    assert found(told, threshold=0.0) == out


WRITTEN = (
    *("policies", "happily", "thirty", "1.20.0", "1,000.50", "05:30", "fortnight", "Company's", "Dario,", "(Anna)"),
    *("µg", "東京は寒い", "利率", "½", "ﬁne", "Straße", "٩٠٠", "not", "no", "now.", "sorry", "ended"),
)
SAID = st.lists(st.sampled_from(WRITTEN), max_size=10).map(" ".join)


@given(st.one_of(SAID, st.text(max_size=40)), st.one_of(SAID, st.text(max_size=40)))
@settings(max_examples=200)
def test_what_is_quoted_stands_in_the_texts(old: str, new: str) -> None:
    tenant = tenant_of([memory("a", old, days_ago=9), memory("b", new)], embedded=False)
    for _, said in explain(Comparer(tenant).pair(0, 1)):
        if " instead of " in said:
            after, before = said.split(" instead of ")
            assert all(quoted in new for quoted in re.findall("“(.*?)”", after))
            assert all(quoted in old for quoted in re.findall("“(.*?)”", before))
        assert all(quoted in new or quoted in old for quoted in re.findall("“(.*?)”", said))
        assert 0 <= said.count("“") <= 6


def test_a_sentence_uses_no_other_words_than_its_own_and_those_of_the_texts() -> None:
    own = set(
        words(
            "against instead of both speak its words correct something a change it says that ended only the newer "
            "older denies they share no word undated"
        )
    )
    told = [
        OLD,
        NEW,
        *OTHERS,
        memory("z", "Omar owns the billing service, sorry; the old team no longer does.", days_ago=1),
    ]
    out = found(told, threshold=0.0)
    assert {name for one in out for name in one.evidence} >= {
        "correction",
        "ended",
        "denial",
        "number",
        "name",
        "words",
    }
    for one in out:
        ids = words(f"{one.newer.id} {one.older.id}")
        dates = words(" ".join(m.created_at.text for m in (one.newer, one.older) if m.created_at))
        assert set(words(one.sentence)) <= own | set(words(f"{one.newer.content} {one.older.content}")) | {*ids, *dates}


def test_hostile_memories_are_judged_and_shown_on_one_harmless_line() -> None:
    told = [memory(f"m{i}\x1b[31m\n", text + str(i % 3), days_ago=i) for i, text in enumerate((*HOSTILE, *HOSTILE))]
    told += [memory("digits", "9" * 100_000), memory("digits too", "9" * 99_999 + "8", days_ago=3)]
    told.append(memory("x" * 5_000, "The " + "long" * 2_000 + " word", superseded_by="digits"))
    out = found(told, threshold=0.0)
    assert len(out) > len(HOSTILE)
    for one in out:
        assert one.sentence.isprintable()
        assert len(one.sentence) < 1_200


def test_other_languages_are_judged() -> None:
    told = [
        memory("de1", "Die Miete der Wohnung beträgt 900 Euro.", days_ago=90),
        memory("de2", "Die Miete der Wohnung beträgt 950 Euro.", days_ago=5),
        memory("zh1", "利率上升到百分之 4", days_ago=90),
        memory("zh2", "利率上升到百分之 5", days_ago=5),
    ]
    for language in ("english", "none"):
        out = contradictions(tenant_of(told, language=language), threshold=0.0)  # type: ignore[arg-type]
        assert {("de2", "de1"), ("zh2", "zh1")} <= {(one.newer.id, one.older.id) for one in out}


@pytest.mark.usefixtures("by_number")
def test_two_thousand_memories_and_every_changed_value_among_them() -> None:
    draw = np.random.default_rng(0)
    told = []
    for k in range(1_000):
        thing = " ".join(f"w{i}" for i in draw.choice(2_000, 3, replace=False))
        told.append(memory(f"old{k:03}", f"The {thing} costs {k + 100} euros.", days_ago=900 - k / 4))
        told.append(memory(f"new{k:03}", f"The {thing} costs {k + 5000} euros now.", days_ago=k / 4))
    out = found(told, embedded=False)
    assert {(f"new{k:03}", f"old{k:03}") for k in range(1_000)} <= {(one.newer.id, one.older.id) for one in out}


@pytest.mark.parametrize("embedded", [True, False])
def test_the_two_cases_that_must_be_found(*, embedded: bool) -> None:
    told = [
        memory("borne", "Tolerates lisinopril 20 mg well.", days_ago=150),
        memory("mornings", "Prefers morning appointments.", days_ago=150),
        *OTHERS,
        memory("stopped", "Lisinopril stopped because of cough.", days_ago=100),
        memory("afternoons", "Switch me to afternoons from now on.", days_ago=100),
    ]
    seen = {(one.newer.id, one.older.id): one.evidence for one in found(told, embedded=embedded)}
    assert seen.keys() == {("stopped", "borne"), ("afternoons", "mornings")}
    assert "stopped" in seen["stopped", "borne"]
    assert "preference" in seen["afternoons", "mornings"]
