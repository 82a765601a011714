"""Every query of a golden set becomes an outcome, in order, whatever fails, however many threads ask."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from golden import MEMORIES, QUERIES, SPEC, WITHOUT_PRUNER, pipeline_over, write_set

from memrank.errors import DataError, StoreError, UsageError
from memrank.evals.evalset import Evalset, load
from memrank.evals.evaluate import TOP_K, evaluate, journal_key, newest
from memrank.evals.journal import to_row
from memrank.evals.outcome import Failed, Outcome, Scored, Unscored
from memrank.pipeline import Pipeline
from memrank.registry import build
from memrank.specfile import parse_spec, spec_sha256
from memrank.stores.base import Snapshot


@pytest.fixture
def evalset(tmp_path: Path) -> Evalset:
    return load(write_set(tmp_path / "set"))


def asked(evalset: Evalset, text: str = SPEC, **options: Any) -> list[Outcome]:
    return evaluate(pipeline_over(evalset.folder, text), evalset, evalset.queries, **options)


def rows(outcomes: Sequence[Outcome]) -> list[dict[str, Any]]:
    """All of the outcomes that does not depend on the clock."""
    return [{name: value for name, value in to_row(one).items() if name != "latency_ms"} for one in outcomes]


def scored(outcome: Outcome) -> Scored:
    assert isinstance(outcome, Scored)
    return outcome


def test_one_outcome_a_query_in_their_order(evalset: Evalset) -> None:
    outcomes = asked(evalset)
    assert [one.query_id for one in outcomes] == [row["id"] for row in QUERIES]
    assert [type(one) for one in outcomes] == [Scored, Scored, Scored, Failed, Unscored]


def test_a_read_is_compared_with_its_labels(evalset: Evalset) -> None:
    when = scored(asked(evalset)[0])
    assert when.values["R@5"] == 1.0
    assert when.values["current_first"] == 1.0
    assert when.values["stale@1"] == 0.0
    assert when.values["sensitivity"] in (0.0, 1.0)
    assert when.values["leaks"] == 0.0
    assert when.top[0][0] == "a2"
    assert all(why for _, _, why in when.top)
    assert when.latency_ms > 0


def test_what_was_judged_stands_beside_what_is_labelled(evalset: Evalset) -> None:
    judged = scored(asked(evalset)[0]).judged
    assert set(judged.ids) == {"a1", "a2", "a3"}
    assert dict(zip(judged.ids, judged.relevant.tolist(), strict=True)) == {"a1": True, "a2": True, "a3": False}
    assert judged.age_days[judged.ids.index("a1")] == pytest.approx(136.02, abs=0.01)
    assert (np.diff(judged.score[: judged.returned]) <= 0).all()


def test_a_failure_is_an_outcome_with_the_worst_values(evalset: Evalset) -> None:
    failed = asked(evalset)[3]
    assert isinstance(failed, Failed)
    assert failed.code == "namespace"
    assert failed.values["R@10"] == 0.0
    assert failed.values["risk"] == 1.0


def test_an_empty_query_fails_and_the_rest_goes_on(tmp_path: Path) -> None:
    queries = [{**QUERIES[0], "query": " "}, QUERIES[1]]
    outcomes = asked(load(write_set(tmp_path / "set", queries)))
    assert [type(one) for one in outcomes] == [Failed, Scored]
    assert outcomes[0].values["stale@1"] == 1.0  # type: ignore[union-attr]


def test_actions_are_those_of_the_whole_chain(evalset: Evalset) -> None:
    first, second, *_ = asked(evalset)
    assert 0.0 <= scored(first).values["actions"] <= 1.0
    assert "actions" not in scored(second).values
    assert "actions" not in scored(asked(evalset, WITHOUT_PRUNER)[0]).values


def test_a_failure_without_a_pruner_is_not_blamed_for_actions(tmp_path: Path) -> None:
    queries = [{**QUERIES[0], "group": "c"}]
    evalset = load(write_set(tmp_path / "set", queries))
    (failed,), (other,) = asked(evalset, WITHOUT_PRUNER), asked(evalset)
    assert isinstance(failed, Failed)
    assert isinstance(other, Failed)
    assert "actions" not in failed.values
    assert other.values["actions"] == 0.0


def test_any_number_of_threads_gives_the_same_outcomes(evalset: Evalset) -> None:
    assert rows(asked(evalset, jobs=4)) == rows(asked(evalset, jobs=1))


def test_metrics_that_are_asked_for_are_taken_beside_the_usual_ones(evalset: Evalset) -> None:
    outcomes = asked(evalset, also=["nDCG@7", "latency_p50"])
    assert scored(outcomes[0]).values["nDCG@7"] == pytest.approx(1.0)
    assert outcomes[3].values["nDCG@7"] == 0.0  # type: ignore[union-attr]


def test_those_beyond_the_first_fifty_keep_what_ranked_them(tmp_path: Path) -> None:
    memories = [{"id": f"m{k:03}", "content": f"Dana has appointment {k}."} for k in range(TOP_K + 10)]
    query = {"id": "q", "query": "Which appointments has Dana?", "query_time": "2026-03-20", "relevant": ["m000"]}
    (outcome,) = asked(load(write_set(tmp_path / "set", [query], memories)))
    judged = scored(outcome).judged
    assert judged.returned == TOP_K
    assert len(judged.ids) == TOP_K + 10
    assert (judged.score > 0).all()
    assert judged.score[TOP_K:].max() <= judged.score[: judged.returned].min()
    assert np.isnan(judged.age_days).all()


def test_excluded_ones_score_nothing(evalset: Evalset) -> None:
    text = SPEC.replace("relevance_threshold: 0.0", "relevance_threshold: 1.0")
    judged = scored(asked(evalset, text)[0]).judged
    assert judged.returned == 0
    assert (judged.score == 0).all()
    assert (judged.relevance > 0).any()


class _Leaky:
    """A store that answers everybody with the memories of one tenant."""

    def __init__(self, pipeline: Pipeline) -> None:
        self._of = pipeline.store

    def store_version(self) -> str:
        return self._of.store_version()  # type: ignore[union-attr]

    def snapshot(
        self, namespace: str | None, as_of: datetime, filters: Mapping[str, Sequence[str]], tolerance: float
    ) -> Snapshot:
        return self._of.snapshot("b", as_of, filters, tolerance)  # type: ignore[union-attr]


def test_memories_of_another_tenant_are_counted(evalset: Evalset) -> None:
    sound = pipeline_over(evalset.folder)
    names = {name: getattr(sound, name) for name in ("prefilter", "temporal", "ranker", "pruner")}
    leaky = Pipeline(sound.spec, names, _Leaky(sound), sound._given, sound.spec_sha256)
    outcomes = evaluate(leaky, evalset, evalset.queries)
    assert [scored(one).values["leaks"] for one in outcomes[:4]] == [1.0, 1.0, 0.0, 1.0]


def test_a_query_without_a_time_is_asked_as_of_the_newest_memory(tmp_path: Path) -> None:
    timeless = [{name: value for name, value in row.items() if name != "query_time"} for row in QUERIES[:1]]
    folder = write_set(tmp_path / "set", timeless)
    assert newest(folder / "memories.jsonl") == datetime(2026, 3, 12, 10, tzinfo=UTC)
    judged = scored(asked(load(folder))[0]).judged
    assert judged.age_days[judged.ids.index("a2")] == pytest.approx(0.7465, abs=1e-3)


def test_without_any_date_it_is_asked_as_of_1970(tmp_path: Path) -> None:
    folder = write_set(tmp_path / "set", [], [{"id": "m", "content": "Dana."}])
    assert newest(folder / "memories.jsonl") == datetime(1970, 1, 1, tzinfo=UTC)


def test_progress_is_told_of_every_query_once(evalset: Evalset, tmp_path: Path) -> None:
    told: list[int] = []
    asked(evalset, journal=tmp_path / "j", progress=told.append)
    assert sum(told) == len(QUERIES)
    again: list[int] = []
    asked(evalset, journal=tmp_path / "j", progress=again.append)
    assert again == [len(QUERIES)]


class _Counting:
    """Counts the snapshots that reads took, and fails from some read on."""

    def __init__(self, pipeline: Pipeline, fails_after: float = math.inf) -> None:
        self._of = pipeline.store
        self._left = fails_after
        self.reads = 0

    def store_version(self) -> str:
        return self._of.store_version()  # type: ignore[union-attr]

    def snapshot(
        self, namespace: str | None, as_of: datetime, filters: Mapping[str, Sequence[str]], tolerance: float
    ) -> Snapshot:
        if as_of.year > 1970:
            self.reads += 1
            if self.reads > self._left:
                raise StoreError("the disk is gone")
        return self._of.snapshot(namespace, as_of, filters, tolerance)  # type: ignore[union-attr]


def counting(evalset: Evalset, fails_after: float = math.inf) -> tuple[Pipeline, _Counting]:
    sound = pipeline_over(evalset.folder, WITHOUT_PRUNER)
    names = {name: getattr(sound, name) for name in ("prefilter", "temporal", "ranker")}
    store = _Counting(sound, fails_after)
    return Pipeline(sound.spec, names, store, sound._given, sound.spec_sha256), store


@pytest.mark.parametrize("jobs", [1, 3])
def test_what_was_stopped_goes_on_where_it_was(evalset: Evalset, tmp_path: Path, jobs: int) -> None:
    """A store that fails is no fault of a query: it stops the run, and what was done is kept."""
    broken, _ = counting(evalset, fails_after=2)
    with pytest.raises(StoreError, match="the disk is gone"):
        evaluate(broken, evalset, evalset.queries, jobs=jobs, journal=tmp_path / "j")
    whole, store = counting(evalset)
    lines = (tmp_path / "j").read_text(encoding="utf-8").splitlines()
    kept = sum('"kind": "scored"' in line or '"kind": "failed"' in line for line in lines)
    outcomes = evaluate(whole, evalset, evalset.queries, jobs=jobs, journal=tmp_path / "j")
    assert kept <= 2
    assert store.reads == 4 - kept
    assert jobs > 1 or kept == 2
    assert rows(outcomes) == rows(asked(evalset, WITHOUT_PRUNER))


def test_a_journal_of_anything_else_is_begun_anew(evalset: Evalset, tmp_path: Path) -> None:
    asked(evalset, WITHOUT_PRUNER, journal=tmp_path / "j")
    for options in ({"seed": 1}, {"also": ["R@7"]}):
        other, store = counting(evalset)
        evaluate(other, evalset, evalset.queries, journal=tmp_path / "j", **options)  # type: ignore[arg-type]
        assert store.reads == 4


def test_the_key_names_all_that_outcomes_depend_on(evalset: Evalset, tmp_path: Path) -> None:
    pipeline = pipeline_over(evalset.folder)
    other_memories = load(write_set(tmp_path / "other", QUERIES, MEMORIES[:3]))
    keys = {
        journal_key(pipeline, evalset),
        journal_key(pipeline, evalset, seed=1),
        journal_key(pipeline, evalset, also=["R@7"]),
        journal_key(pipeline, replace(evalset, queries_sha256="0")),
        journal_key(pipeline_over(evalset.folder, WITHOUT_PRUNER), evalset),
        journal_key(pipeline_over(other_memories.folder), evalset),
    }
    assert len(keys) == 6
    assert journal_key(pipeline_over(evalset.folder), evalset) in keys


def test_repeated_ids_and_a_pipeline_without_a_store_are_refused(evalset: Evalset) -> None:
    pipeline = pipeline_over(evalset.folder)
    with pytest.raises(DataError, match="1 query id is repeated, the first: 'when'"):
        evaluate(pipeline, evalset, [*evalset.queries, evalset.queries[0]])
    spec = parse_spec(SPEC)
    with pytest.raises(UsageError, match="no store"):
        evaluate(build(spec, evalset.folder, spec_sha256(spec)), evalset, evalset.queries)


def test_memories_that_cannot_be_read_stop_at_once(evalset: Evalset) -> None:
    evalset.memories.unlink()
    with pytest.raises(DataError, match=r"memories\.jsonl"):
        asked(evalset)


def test_no_query_is_no_outcome(evalset: Evalset) -> None:
    assert evaluate(pipeline_over(evalset.folder), evalset, []) == []
