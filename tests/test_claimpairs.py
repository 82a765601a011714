"""Evidence of pairs: what rules a contradiction out, which memory is the older one, and that it is always defined."""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from factories import HOSTILE, memory
from hypothesis import given
from hypothesis import strategies as st
from strategies import records

from memrank.claimpairs import FEATURES, RULES, Comparer, disjoint, in_order
from memrank.indexing import Analyzer, Vocabulary, index
from memrank.records import read_record
from memrank.tenant import Tenant
from memrank.text.dates import parse_moment
from memrank.text.tokens import Language
from memrank.types import Memory, Moment


def tenant_of(memories: Sequence[Memory], *, embedded: bool = True, language: Language = "english") -> Tenant:
    analyzer, vocabulary = Analyzer(language, "wordllama" if embedded else "none"), Vocabulary()
    return Tenant.build(None, index(memories, analyzer, vocabulary), vocabulary, analyzer.language)


def evidence(old: str, new: str, *, language: Language = "english", **fields: Moment) -> dict[str, float]:
    """Features and rules of one pair; fields are those of the newer one."""
    tenant = tenant_of([memory("old", old, days_ago=9), memory("new", new, **fields)], language=language)
    found = Comparer(tenant).features(np.array([0]), np.array([1]))
    return {name: float(values[0]) for name, values in found.items()}


def at(text: str) -> Moment:
    return parse_moment(text).moment


@pytest.mark.parametrize(
    ("old", "new", "shown"),
    [
        ("Rent is 900.", "Rent is 950.", {"numbers_differ", "slot_differs", "numbers_both", "one_change"}),
        ("Rent is 900.", "The rent is 900 euros.", {"numbers_shared", "slot_same", "covered"}),
        ("Rent is due.", "Rent is 950.", {"number_new"}),
        ("Rent went from 900 to 950", "Rent is 1,000 or 950", {"numbers_shared", "numbers_differ"}),
        ("The shop is open.", "The shop is shut.", {"opposite", "old_open", "one_change"}),
        ("It is due in March.", "It is due in May.", {"period_differs"}),
        ("It is due in March.", "It was paid in March.", {"period_shared"}),
        ("Ann leads sales.", "Bob leads sales.", {"heads_differ", "head_swapped", "one_change"}),
        ("Ann leads sales.", "Ann leads legal.", {"name_shared", "one_change"}),
        ("He eats meat.", "He does not eat meat.", {"denial_differs", "denial_new", "covered"}),
        ("He does not eat meat.", "He eats meat.", {"denial_differs", "covered"}),
        ("The bid is pending.", "The bid was rejected.", {"old_open", "new_ended", "open_closed", "ended_same"}),
    ],
)
def test_what_a_pair_shows(old: str, new: str, shown: set[str]) -> None:
    found = evidence(old, new)
    for name in shown:
        assert found[name] > 0, name
    for name in ("numbers_differ", "slot_differs", "slot_same", "period_differs", "number_new", "covered", "opposite"):
        assert (found[name] > 0) == (name in shown), name
    assert found["same"] == found["disjoint"] == 0


@pytest.mark.parametrize(
    ("old", "new", "same"),
    [
        ("The rate is 4%.", "The rate is 4%.", True),
        ("The rate is 4%.", "the RATES are 4 %!", True),
        ("The rate is 4%.", "4%: the rate", True),
        ("The rate is 1,000.", "The rate is 1000.", True),
        ("", "", True),
        ("!!!", "...", True),
        ("The rate is 4%.", "The rate is not 4%.", False),
        ("The rate is 4%.", "The rate is 5%.", False),
        ("The rate is 4%.", "The rate is 4% today.", False),
        ("The rate is 4%.", "", False),
    ],
)
def test_the_same_words_contradict_nothing(old: str, new: str, same: bool) -> None:
    assert evidence(old, new)["same"] == float(same)


@pytest.mark.parametrize(
    ("ended", "began", "apart"),
    [
        ("2025-06-01", "2025-06-02", True),
        ("2025-06-01", "2025-06-01", True),
        ("2025-06-02", "2025-06-01", False),
        ("2025", "2025", True),
        ("2025-06", "2025-07", True),
        ("2025-07", "2025-06-30", False),
        ("2025-06-01", None, False),
        (None, "2025-06-02", False),
        (None, None, False),
    ],
)
def test_times_that_do_not_overlap_in_either_order(ended: str | None, began: str | None, apart: bool) -> None:
    first = memory("first", "Rent is 900.", invalid_at=ended and at(ended))
    second = memory("second", "Rent is 950.", valid_at=began and at(began))
    assert disjoint(first, second) is disjoint(second, first) is apart
    comparer = Comparer(tenant_of([first, second]))
    for pair in ([0, 1], [1, 0]):
        assert comparer.features(np.array(pair[:1]), np.array(pair[1:]))["disjoint"].tolist() == [float(apart)]


def test_times_of_one_memory_say_nothing_of_another() -> None:
    ended = memory("a", valid_at=at("2024"), invalid_at=at("2025"))
    assert not disjoint(ended, memory("b"))
    assert not disjoint(memory("b"), ended)
    assert disjoint(ended, memory("b", valid_at=at("2026"), invalid_at=at("2027")))
    assert not disjoint(ended, memory("b", valid_at=at("2024-03"), invalid_at=at("2027")))


@pytest.mark.parametrize(
    ("first", "second", "older"),
    [
        ({"created_at": "2025-01-01"}, {"created_at": "2025-01-02"}, 0),
        ({"created_at": "2025-01-02"}, {"created_at": "2025-01-01"}, 1),
        ({"created_at": "2025-01-01"}, {"created_at": "2025-01-01"}, 0),
        ({}, {}, 0),
        ({"created_at": "2025-01-02"}, {}, 0),
        ({}, {"created_at": "2025-01-02"}, 0),
        ({"created_at": "2025-01-01", "event_date": "2025-03-01"}, {"created_at": "2025-02-01"}, 1),
        ({"event_date": "2024"}, {"created_at": "2025-02-01"}, 0),
        ({"created_at": "2025"}, {"created_at": "2025-06-01"}, 1),
    ],
)
def test_the_older_one(first: dict[str, str], second: dict[str, str], older: int) -> None:
    told = [
        memory(str(i), "Rent", days_ago=None, **{name: at(text) for name, text in fields.items()})
        for i, fields in enumerate((first, second))
    ]
    for one, two in ((0, 1), (1, 0)):
        a, b = in_order(tenant_of(told), np.array([one]), np.array([two]))
        assert (a.tolist(), b.tolist()) == ([older], [1 - older])


@given(records(least=2, most=6), st.booleans())
def test_every_pair_has_evidence_within_bounds(found: list[dict[str, object]], embedded: bool) -> None:
    told = [read_record(one, position=i)[0] for i, one in enumerate(found)]
    one, two = np.triu_indices(len(told), 1)
    tenant = tenant_of(told, embedded=embedded)
    older, newer = in_order(tenant, one, two)
    assert {frozenset(pair) for pair in zip(older.tolist(), newer.tolist(), strict=True)} == {
        frozenset(pair) for pair in zip(one.tolist(), two.tolist(), strict=True)
    }
    features = Comparer(tenant).features(older, newer)
    assert tuple(features) == (*FEATURES, *RULES)
    for name, values in features.items():
        assert values.shape == older.shape
        assert np.isfinite(values).all()
        assert (values >= -1.0001).all(), name
    for name in ("old_in_new", "new_in_old", "held", "ratio", "tail"):
        assert (features[name] >= 0).all()
        assert (features[name] <= 1).all()
    if not embedded:
        assert not features["cosine"].any()
    # A pair is judged by itself, whatever stands beside it in the call.
    alone = Comparer(tenant).features(older[:1], newer[:1])
    assert all(alone[name][0] == features[name][0] for name in alone)


def test_no_pairs_and_no_memories() -> None:
    none = np.empty(0, dtype=np.int64)
    for told in ([], [memory()]):
        features = Comparer(tenant_of(told)).features(none, none)
        assert all(values.shape == (0,) for values in features.values())
        assert [rows.tolist() for rows in in_order(tenant_of(told), none, none)] == [[], []]


@pytest.mark.parametrize("language", ["english", "none"])
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Die Miete beträgt 900 Euro.", "Die Miete beträgt 950 Euro."),
        ("利率是 4 个百分点", "利率是 5 个百分点"),
        ("الإيجار ٩٠٠ دولار", "الإيجار ٩٥٠ دولار"),
        ("Аренда стоит 900 рублей", "Аренда стоит 950 рублей"),
    ],
)
def test_other_languages(old: str, new: str, language: Language) -> None:
    found = evidence(old, new, language=language)
    assert (found["numbers_differ"], found["slot_differs"], found["same"]) == (1, 1, 0)
    assert evidence(old, old, language=language)["same"] == 1


def test_digits_of_another_script_are_the_same_number() -> None:
    assert evidence("الإيجار ٩٠٠", "الإيجار 900")["numbers_shared"] == 1
    assert evidence("Rent ９００", "Rent 900")["same"] == 1


def test_hostile_text_has_evidence_too() -> None:
    table = " ".join(f"w{i} {i}" for i in range(900))
    told = [
        memory(f"m{i}", text) for i, text in enumerate((*HOSTILE, "9" * 100_000, "1 " * 50_000, table, table[::-1]))
    ]
    one, two = np.triu_indices(len(told), 1)
    features = Comparer(tenant_of(told)).features(one, two)
    assert all(np.isfinite(values).all() for values in features.values())


SCRIPT = """
import numpy as np
from factories import memory
from memrank.claimpairs import Comparer
from test_claimpairs import tenant_of
texts = ["Rent rose to 900 and 950 for Ann, Bob and the old mill.", "Rent for Bob: 1,000 or 950, says Eve, of a mill."]
tenant = tenant_of([memory(str(i), text) for i, text in enumerate(texts)])
found = Comparer(tenant).features(np.array([0]), np.array([1]))
print([value.tolist()[0].hex() for value in found.values()])
"""


def test_evidence_is_the_same_in_every_process() -> None:
    here = str(Path(__file__).parent)
    said = {
        subprocess.run(
            [sys.executable, "-c", SCRIPT],
            check=True,
            capture_output=True,
            text=True,
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join([here, *sys.path])},
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(said) == 1
    assert "0x1" in said.pop()
