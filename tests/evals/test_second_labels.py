"""Agreement of two annotators against plain formulas, by hand and on random labels."""

import math
from pathlib import Path

import numpy as np
import pytest
from evals.sets import query, write_rows, write_set
from hypothesis import given, settings
from hypothesis import strategies as st

from memrank.errors import DataError
from memrank.evals.agreement import SCORES, agreement, second_labels
from memrank.evals.evalset import load
from memrank.evals.labels import Labelled, PairScores

IDS = ["a", "b", "c"]


def labelled(name: str, relevant: set[str], scores: dict[str, PairScores]) -> Labelled:
    return Labelled(
        id=name,
        asked={},
        relevant=dict.fromkeys(relevant, 1.0),
        scores=scores,
        stale=frozenset(),
        current=frozenset(),
        must_not=frozenset(),
        sensitivity=None,
        asks_previous=False,
        expected_actions={},
        category=None,
        split=None,
        split_group=None,
    )


def shown(*values: float) -> dict[str, PairScores]:
    return {name: PairScores(relevance=v, freshness=v, combined=v) for name, v in zip(IDS, values, strict=False)}


def test_by_hand() -> None:
    first = [labelled("q1", {"a"}, shown(1, 0)), labelled("q2", {"a", "b"}, shown(0.5, 1))]
    second = [labelled("q1", {"a"}, shown(0.8, 0.1, 0)), labelled("q2", {"a"}, shown(0.5, 0.6, 0))]
    found = agreement(first, second)
    assert found is not None
    assert found.queries == 2
    # 6 pairs; yes: 3 and 2, both 2. Seen 5/6; by chance 3/6 * 2/6 + 3/6 * 4/6 = 1/2.
    assert (found.kappa.mean, found.kappa.n) == (pytest.approx(2 / 3), 6)
    x, y = [1, 0, 0.5, 1], [0.8, 0.1, 0.5, 0.6]
    for name in SCORES:
        assert found.correlation[name].mean == pytest.approx(np.corrcoef(x, y)[0, 1])
        assert found.mae[name].mean == pytest.approx(0.7 / 4)
        assert found.mae[name].n == 4


def test_nobody_in_common() -> None:
    first = [labelled("q1", {"a"}, {})]
    assert agreement(first, []) is None
    assert agreement(first, [labelled("other", {"a"}, shown(1))]) is None
    assert agreement(first, [labelled("q1", {"a"}, {})]) is None


def test_what_cannot_be_told_is_nan() -> None:
    first = [labelled("q1", {"a", "b"}, shown(0.1, 0.1)), labelled("q2", {"a", "b"}, {})]
    second = [labelled("q1", {"a", "b"}, shown(0.3, 0.2)), labelled("q2", {"a", "b"}, shown(1, 1))]
    found = agreement(first, second)
    assert found is not None
    assert math.isnan(found.kappa.mean)
    assert math.isnan(found.correlation["relevance"].mean)
    assert found.mae["relevance"].mean == pytest.approx(0.15)


score = st.none() | st.integers(0, 20).map(lambda k: k / 20)
pair = st.builds(PairScores, relevance=score, freshness=score, combined=score)
side = st.tuples(st.sets(st.sampled_from(IDS)), st.dictionaries(st.sampled_from(IDS), pair))


@settings(max_examples=60)
@given(st.lists(st.tuples(side, side), min_size=1, max_size=8))
def test_the_same_as_the_plain_formulas(drawn: list[tuple[tuple[set[str], dict[str, PairScores]], ...]]) -> None:
    first = [labelled(f"q{k}", *one) for k, (one, _) in enumerate(drawn)]
    second = [labelled(f"q{k}", *other) for k, (_, other) in enumerate(drawn)]
    found = agreement(first, second)
    pairs = [(k, name) for k, other in enumerate(second) for name in other.scores]
    if not pairs:
        assert found is None
        return
    assert found is not None
    votes = [(name in first[k].relevant, name in second[k].relevant) for k, name in pairs]
    n = len(votes)
    seen = sum(a == b for a, b in votes) / n
    chance = sum(
        (sum(a == value for a, _ in votes) / n) * (sum(b == value for _, b in votes) / n) for value in (True, False)
    )
    if chance == 1:
        assert math.isnan(found.kappa.mean)
    else:
        assert found.kappa.mean == pytest.approx((seen - chance) / (1 - chance))
        assert found.kappa.mean <= 1 + 1e-12
    for name in SCORES:
        both = [
            (getattr(first[k].scores[i], name), getattr(second[k].scores[i], name))
            for k, i in pairs
            if i in first[k].scores
        ]
        table = np.array([(a, b) for a, b in both if a is not None and b is not None]).reshape(-1, 2)
        assert found.mae[name].n == len(table)
        if len(table):
            assert found.mae[name].mean == pytest.approx(np.abs(table[:, 0] - table[:, 1]).mean())
        if len(table) > 1 and (np.ptp(table, axis=0) > 0).all():
            assert found.correlation[name].mean == pytest.approx(np.corrcoef(table.T)[0, 1], abs=1e-9)
        else:
            assert math.isnan(found.correlation[name].mean)


def test_the_file_of_the_second_annotator(tmp_path: Path) -> None:
    folder = write_set(tmp_path / "s", [query("q1"), query("q2")])
    assert second_labels(folder) == []
    scores = {"new": {"relevance": 1, "freshness": 0.9, "combined": 0.95}}
    write_rows(folder / "second.jsonl", [{"id": "q1", "relevant": ["new"], "scores": scores}])
    (row,) = second_labels(folder)
    assert (row.id, row.scores["new"].freshness) == ("q1", 0.9)
    assert agreement(load(folder).queries, [row]) is not None


@pytest.mark.parametrize(
    "line", ['{"id": "q1"}', '{"id": "q1", "relevant": ["a"], "scores": {"a": {"relevance": 2}}}', "[]", '{"id": {}}']
)
def test_second_labels_that_cannot_be_read(tmp_path: Path, line: str) -> None:
    folder = write_set(tmp_path / "s", [query("q1")])
    (folder / "second.jsonl").write_text(f'{{"id": "q1", "relevant": []}}\n{line}\n')
    with pytest.raises(DataError, match=r"second\.jsonl"):
        second_labels(folder)
