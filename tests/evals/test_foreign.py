"""Runs of other systems are measured as the answers of memrank are."""

import math
from pathlib import Path

import jsonschema
import pytest
from golden import QUERIES, WITHOUT_PRUNER, pipeline_over, write_set
from test_report import SCHEMA, labelled

from memrank.errors import DataError
from memrank.evals.evalset import Evalset, load
from memrank.evals.evaluate import evaluate
from memrank.evals.foreign import outcomes_of
from memrank.evals.outcome import Failed, Scored, Unscored
from memrank.evals.report import Subject, report_of, to_dict


@pytest.fixture
def evalset(tmp_path: Path) -> Evalset:
    return load(write_set(tmp_path / "set"))


RUN = {"when": ["a1", "a2"], "closed": ["a3", "b1"], "nothing": [], "open": ["b1"]}


def test_ids_are_measured_and_what_is_lacking_has_failed(evalset: Evalset) -> None:
    when, closed, nothing, stranger, unlabelled = outcomes_of(RUN, evalset, evalset.queries, also=["nDCG@3"])
    assert isinstance(when, Scored)
    assert (when.values["R@5"], when.values["stale@1"], when.values["current_first"]) == (1.0, 1.0, 0.0)
    assert when.values["nDCG@3"] == pytest.approx((1 + 2 / math.log2(3)) / (2 + 1 / math.log2(3)))
    assert isinstance(closed, Scored)
    assert closed.values["leaks"] == 1.0
    assert isinstance(nothing, Scored)
    assert nothing.values["empty_ok"] == 1.0
    assert isinstance(stranger, Failed)
    assert (stranger.code, stranger.values["R@5"], stranger.values["risk"]) == ("missing", 0.0, 1.0)
    assert isinstance(unlabelled, Unscored)


def test_what_ids_cannot_say_is_measured_of_none(evalset: Evalset) -> None:
    wanted = {"sensitivity", "Brier", "MAE", "MAE_relevance", "MAE_freshness", "MAE_combined", "actions"}
    for run in (RUN, {name: ids for name, ids in RUN.items() if name != "when"}):
        when = outcomes_of(run, evalset, evalset.queries, also=["MAE"])[0]
        assert isinstance(when, Scored | Failed)
        assert not wanted & set(when.values)


def test_the_first_fifty_count_each_once(evalset: Evalset) -> None:
    far = {"when": ["a1", "a1", *(f"x{k}" for k in range(49)), "a2"]}
    (when,) = outcomes_of(far, evalset, evalset.queries[:1])
    assert isinstance(when, Scored)
    assert when.values["MAP"] == 0.5


def test_it_is_the_same_as_a_read_of_memrank(evalset: Evalset) -> None:
    queries = evalset.queries[:3]
    own = evaluate(pipeline_over(evalset.folder, WITHOUT_PRUNER), evalset, queries)
    run = {one.query_id: list(one.judged.ids[: one.judged.returned]) for one in own if isinstance(one, Scored)}
    for mine, other in zip(own, outcomes_of(run, evalset, queries), strict=True):
        assert isinstance(mine, Scored)
        assert isinstance(other, Scored)
        assert other.values == {name: mine.values[name] for name in other.values}


def test_a_report_says_nothing_of_time_and_calibration(evalset: Evalset) -> None:
    outcomes = outcomes_of(RUN, evalset, evalset.queries)
    subject = Subject(spec="run", spec_sha256="1", store_version="2", gates={})
    found = report_of(subject, evalset, evalset.queries, outcomes, part="all", seed=1, resamples=100)
    assert not {"ECE", "Brier", "latency_p50", "lm_calls"} & set(found.figures)
    assert (found.deciles, found.risk_coverage) == ((), ())
    body = to_dict(found)
    jsonschema.Draft202012Validator(SCHEMA).validate(body)
    assert body["outcomes"][0]["latency_ms"] is None


def test_a_run_of_something_else_is_refused(evalset: Evalset) -> None:
    with pytest.raises(DataError, match="1 query ids of the run are not in set, the first: 'other'"):
        outcomes_of({**RUN, "other": []}, evalset, evalset.queries)
    with pytest.raises(DataError, match="names no memory"):
        outcomes_of({"when": ["z"]}, evalset, evalset.queries)
    assert len(outcomes_of({"when": []}, evalset, evalset.queries)) == len(QUERIES)
    assert outcomes_of({}, evalset, [labelled("q")])[0].query_id == "q"
