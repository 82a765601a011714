"""Specs that differ: which paths are named."""

from reading import pipeline

from memrank.slate import Limits
from memrank.specfile import spec_sha256
from memrank.whatif import changed, differing, freed, spec_of


def test_a_recorded_spec_is_the_spec() -> None:
    import json

    spec = pipeline(temporal={"kernel": "linear", "window": {"default": "9d", "price": "1d"}}, high_stakes=True).spec
    again = spec_of(json.dumps(spec.model_dump(mode="json", exclude_unset=True)))
    assert again == spec
    assert spec_sha256(again) == spec_sha256(spec)


def test_differing_names_the_paths() -> None:
    one, other = pipeline().spec, pipeline(ranker={"weights": {"relevance": 1.0}}, high_stakes=True).spec
    paths = differing(one, other)
    assert paths == ("stages[2].weights.relevance", "stages[2].weights.freshness", "high_stakes")
    assert differing(one, one) == ()


def test_changed_sets_what_was_not_written() -> None:
    body = '{"memrank": 1, "name": "x", "stages": [{"kind": "prefilter.hybrid.v1"}, {"kind": "temporal.v1"}, '
    body += '{"kind": "ranker.v1"}]}'
    spec = changed(body, ["ranker.importance.rate_per_month=0.1", "high_stakes=true", "review.top_score_below=0.1"])
    assert spec.stages[2].importance.rate_per_month.default == 0.1  # type: ignore[union-attr]
    assert (spec.high_stakes, spec.review.top_score_below) == (True, 0.1)


def test_freed() -> None:
    limits = Limits(top_k=3, max_tokens=9, rank_only=True)
    assert freed(limits, ["temporal.half_life=3d"]) == limits
    assert freed(limits, ["ranker.top_k=5", "pruner.max_tokens=7"]) == Limits(rank_only=True)
