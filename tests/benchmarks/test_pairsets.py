"""The golden pairs, read as the benchmarks do: how good the shipped model is at least."""

from pathlib import Path

import pairsets

from memrank.contradictions import THRESHOLD
from memrank.score.contradiction import probability, shipped

FOLDER = Path(__file__).resolve().parents[2] / "evalsets" / "contradictions"


def test_the_shipped_model_is_no_worse_than_this_on_pairs_it_was_not_fitted_on() -> None:
    pairs = pairsets.read_pairs([FOLDER / "choose.jsonl"])
    said, true = probability(shipped(), pairs.features) >= THRESHOLD, pairs.labels > 0
    assert 0 < true.sum() < len(true)
    assert (said & true).sum() / said.sum() >= 0.85
    assert (said & true).sum() / true.sum() >= 0.37


def test_pairs_are_read_whole_and_in_their_order() -> None:
    pairs = pairsets.read_pairs([FOLDER / "choose.jsonl"])
    assert pairs.matrix().shape == (len(pairs.rows), len(shipped().trees.features))
    assert [pair.label for pair in pairs.rows] == pairs.labels.astype(bool).tolist()
    assert len({pair.id for pair in pairs.rows}) == len(pairs.rows)
