"""The Python API: loading, one-call reads, threads, tasks and copies, and life inside dspy."""

import asyncio
import copy
import json
import pickle
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import dspy
import pytest
from dspy.teleprompt import BootstrapFewShot, BootstrapFewShotWithRandomSearch
from dspy.teleprompt.bootstrap_trace import bootstrap_trace_data
from pydantic import TypeAdapter, ValidationError
from reading import NOW, canonical, ids, pipeline, read, record, when

import memrank
from memrank.errors import DataError, SpecError, UsageError
from memrank.indexing import Analysed, Analyzer
from memrank.pipeline import Pipeline, Ranking

SPEC = """\
memrank: 1
name: small
store: {kind: jsonl.v1, path: memories.jsonl}
index: {embedder: none}
stages:
  - {kind: prefilter.hybrid.v1}
  - {kind: temporal.v1, sensitivity: recent, half_life: 7d}
  - {kind: ranker.v1}
  - {kind: pruner.v1, decay_threshold: 1.0, drop_threshold: 1.0}
"""
MEMORIES = [record(f"m{i}", f"rate note {i} of the desk", days=i, importance=i / 10) for i in range(10)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "small.yaml").write_text(SPEC, encoding="utf-8")
    (tmp_path / "memories.jsonl").write_text("".join(json.dumps(m) + "\n" for m in MEMORIES), encoding="utf-8")
    return tmp_path


@pytest.fixture
def loaded(folder: Path) -> Pipeline:
    return memrank.load(folder / "small.yaml")


# load


def test_load_reads_the_store_of_the_spec_or_another(loaded: Pipeline, folder: Path) -> None:
    stored = loaded("rate", as_of=NOW)
    assert isinstance(stored, memrank.Ranking)
    assert isinstance(stored, dspy.Prediction)
    assert len(stored.results) == 10
    names = ("store_version", "read_id")
    assert canonical(stored, *names) == canonical(loaded("rate", as_of=NOW, memories=MEMORIES), *names)
    other = folder / "other.jsonl"
    other.write_text(json.dumps(record("only")) + "\n", encoding="utf-8")
    swapped = memrank.load(str(folder / "small.yaml"), store=str(other))
    assert ids(swapped("rate", as_of=NOW).results) == ["only"]


def test_a_changed_file_is_read_again(loaded: Pipeline, folder: Path) -> None:
    before = loaded("rate", as_of=NOW)
    (folder / "memories.jsonl").write_text(json.dumps(record("new")) + "\n", encoding="utf-8")
    after = loaded("rate", as_of=NOW)
    assert ids(after.results) == ["new"]
    assert before.meta.store_version != after.meta.store_version
    assert len(before.results) == 10


def test_faults_of_a_spec_come_all_at_once(folder: Path) -> None:
    (folder / "bad.yaml").write_text(SPEC.replace("7d", "7 parsecs").replace("none", "nothing"), encoding="utf-8")
    with pytest.raises(SpecError) as caught:
        memrank.load(folder / "bad.yaml")
    assert len(caught.value.faults) == 2
    with pytest.raises(SpecError):
        memrank.load(folder / "missing.yaml")


def test_a_missing_store_is_reported_when_it_is_read(folder: Path) -> None:
    lazy = memrank.load(folder / "small.yaml", store=folder / "missing.jsonl")
    with pytest.raises(DataError, match=r"missing\.jsonl"):
        lazy("rate")


def test_without_as_of_now_is_the_clock(loaded: Pipeline) -> None:
    ranking = loaded("rate")
    assert ranking.result.query.as_of.utcoffset() is not None
    assert ranking.meta.latency_ms > 0


# Immutability


def test_what_a_caller_changes_afterwards_changes_nothing(loaded: Pipeline) -> None:
    memories = [{**memory} for memory in MEMORIES]
    ranking = loaded("rate", as_of=NOW, memories=memories)
    before = canonical(ranking)
    memories[0]["content"] = "something else"
    ranking.to_dict()["results"][0]["scores"]["relevance"] = 7
    assert canonical(ranking) == before
    assert canonical(loaded("rate", as_of=NOW, memories=MEMORIES)) == before
    with pytest.raises(ValidationError):
        loaded.spec.name = "other"
    with pytest.raises(AttributeError):
        ranking.results[0].score = 1.0  # type: ignore[misc]


def test_a_mutated_memory_is_read_as_it_now_is(loaded: Pipeline) -> None:
    """What was remembered of a record must not answer for another one."""
    memory = {"id": "a", "content": "The rate is one.", "tags": ["x"], "created_at": "2026-03-01"}
    assert loaded("rate", as_of=NOW, memories=[memory]).results[0].content == "The rate is one."
    memory["content"] = "The rate is two."
    memory["tags"].append("y")  # type: ignore[attr-defined]
    again = loaded("rate", as_of=NOW, memories=[memory], filters={"tags": "y"})
    assert [item.content for item in again.results] == ["The rate is two."]


def test_a_copy_shares_the_store_and_ranks_the_same(loaded: Pipeline) -> None:
    first = loaded("rate", as_of=NOW)
    for copied in (copy.deepcopy(loaded), loaded.deepcopy(), loaded.reset_copy()):
        assert copied is not loaded
        assert copied.store is loaded.store
        assert copied.prefilter.analyzer is loaded.prefilter.analyzer
        assert copied.ranker is not loaded.ranker
        assert canonical(copied("rate", as_of=NOW)) == canonical(first)


# Threads and tasks


def test_an_answer_can_be_pickled(loaded: Pipeline) -> None:
    ranking = loaded("rate", as_of=NOW)
    assert pickle.loads(pickle.dumps(ranking)).to_dict() == ranking.to_dict()


def test_an_answer_is_a_prediction_like_any_other(loaded: Pipeline) -> None:
    ranking = loaded("rate", as_of=NOW)
    copies = [ranking.copy(), copy.copy(ranking), copy.deepcopy(ranking), pickle.loads(pickle.dumps(ranking))]
    for same in (*copies, ranking.with_inputs("notes").copy()):
        assert isinstance(same, Ranking)
        assert same == ranking
        assert same.to_dict() == ranking.to_dict()
        assert same.context() == ranking.context()
        assert same.spec == ranking.spec
    assert ranking.toDict() == {name: ranking[name] for name in ("results", "excluded", "meta", "notes")}
    split = ranking.with_inputs("results")
    assert (split.inputs().keys(), split.labels().keys()) == (["results"], ["excluded", "meta", "notes"])
    fewer = ranking.copy(results=ranking.results[:2])
    assert [row["id"] for row in fewer.to_dict()["results"]] == ids(ranking.results)[:2]
    assert len(ranking.results) == 10


def test_a_part_of_an_answer_has_no_whole_result(loaded: Pipeline) -> None:
    ranking = loaded("rate", as_of=NOW)
    part = ranking.without("excluded")
    assert part.results == ranking.results
    for of in (part, Ranking(results=()), Ranking()):
        with pytest.raises(AttributeError):
            of.to_dict()
        assert not hasattr(of, "result")


def test_a_pickled_answer_leaves_the_store_behind(loaded: Pipeline) -> None:
    many = [record(f"m{i}", f"note {i} " + "of many words " * 50) for i in range(300)]
    ranking = loaded("rate", as_of=NOW, memories=many, top_k=1)
    small = loaded("rate", as_of=NOW, memories=many, top_k=1).copy(excluded=())
    assert small.results == ranking.results
    assert len(pickle.dumps(small.results)) < 5_000


def test_concurrent_reads_give_equal_results(folder: Path) -> None:
    expected = {q: canonical(memrank.load(folder / "small.yaml")(q, as_of=NOW)) for q in ("rate", "note 3", "desk")}
    fresh = memrank.load(folder / "small.yaml")
    gate = threading.Barrier(8)

    def work(i: int) -> tuple[str, str]:
        if i < 8:
            gate.wait()  # the first reads all find the store unread
        query = ("rate", "note 3", "desk")[i % 3]
        if i % 2:
            return query, canonical(fresh(query, as_of=NOW))
        return query, canonical(asyncio.run(fresh.acall(query=query, as_of=NOW)))

    with ThreadPoolExecutor(max_workers=8) as pool:
        for query, found in pool.map(work, range(200)):
            assert found == expected[query]


def test_acall_answers_as_call_does(loaded: Pipeline) -> None:
    async def both() -> list[Ranking]:
        reads = [loaded.acall(query="rate", as_of=NOW), loaded.acall("rate", as_of=NOW)]
        return list(await asyncio.gather(*reads))

    expected = canonical(loaded("rate", as_of=NOW))
    assert [canonical(ranking) for ranking in asyncio.run(both())] == [expected] * 2


def test_acall_raises_what_call_raises(loaded: Pipeline) -> None:
    with pytest.raises(UsageError, match="empty"):
        asyncio.run(loaded.acall(query=""))


def test_acall_leaves_the_loop_free_and_can_be_cancelled(loaded: Pipeline, monkeypatch: pytest.MonkeyPatch) -> None:
    started, release = threading.Event(), threading.Event()
    judge = loaded.ranker.judge

    def slow(*, slate: Any) -> Any:
        started.set()
        release.wait(10)
        return judge(slate=slate)

    monkeypatch.setattr(loaded.ranker, "judge", slow)

    async def cancelled() -> None:
        task = asyncio.create_task(loaded.acall(query="rate", as_of=NOW))
        while not started.is_set():
            await asyncio.sleep(0.001)  # the loop turns while the read waits
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        release.set()

    asyncio.run(asyncio.wait_for(cancelled(), 10))
    monkeypatch.setattr(loaded.ranker, "judge", judge)
    assert len(loaded("rate", as_of=NOW).results) == 10


# dspy


def test_the_predictors_are_seen_and_named() -> None:
    assert [name for name, _ in pipeline().named_predictors()] == ["temporal.read_time", "ranker.judge", "pruner.decay"]
    signatures = [predictor.signature.__name__ for predictor in pipeline().predictors()]
    assert signatures == ["QuerySensitivity", "MemoryRanking", "ContextDecay"]


def test_a_trace_holds_typed_inputs_and_outputs() -> None:
    of = pipeline()
    plain = canonical(read(of, MEMORIES))
    with dspy.context(trace=[]):
        assert canonical(read(of, MEMORIES)) == plain
        trace = list(dspy.settings.trace)
    assert [entry[0] for entry in trace] == of.predictors()
    for predictor, inputs, outputs in trace:
        for fields, values in (
            (predictor.signature.input_fields, inputs),
            (predictor.signature.output_fields, outputs),
        ):
            assert set(fields) <= set(values.keys())
            for name, field in fields.items():
                kind = TypeAdapter(field.annotation)
                # As JSON, too: it becomes an example in a prompt.
                assert kind.validate_json(kind.dump_json(kind.validate_python(values[name]))) == values[name]
    judgements = trace[1][2]["judgements"]
    assert {one.id for one in judgements} == {memory["id"] for memory in MEMORIES}
    assert all(0 <= one.relevance <= 1 and one.justification for one in judgements)
    assert {one.id for one in trace[2][2]["decisions"]} == {memory["id"] for memory in MEMORIES}


def test_plain_reads_leave_nothing_behind() -> None:
    of = pipeline()
    history = dspy.clients.base_lm.GLOBAL_HISTORY
    before = (len(dspy.settings.trace or ()), len(history))
    for _ in range(3):
        read(of, MEMORIES)
    asyncio.run(of.acall("rate", memories=MEMORIES))
    assert (len(dspy.settings.trace or ()), len(history)) == before
    assert all(len(module.history) == 0 for _, module in of.named_sub_modules())


class _Agent(dspy.Module):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        self.memory = pipeline()

    def forward(self, question: str) -> dspy.Prediction:
        ranking = self.memory(question, as_of=NOW, memories=MEMORIES)
        return dspy.Prediction(context=ranking.context(), best=ranking.results[0].id)


def test_a_pipeline_is_a_part_of_other_modules() -> None:
    agent = _Agent()
    answer = agent(question="rate note 3")
    assert answer.best in answer.context
    assert all(name.startswith("memory.") for name, _ in agent.named_predictors())
    with dspy.context(trace=[]):
        agent(question="rate note 3")
        assert len(dspy.settings.trace) == 3
    with dspy.context(track_usage=True):
        assert agent(question="rate note 3").best == answer.best


def test_optimizers_that_replace_forward_reach_the_pipeline() -> None:
    """GEPA and others collect traces so: their stand-in takes every argument by name."""
    examples = [dspy.Example(query="rate", as_of=NOW, memories=MEMORIES).with_inputs("query", "as_of", "memories")]
    [data] = bootstrap_trace_data(pipeline(), examples, metric=lambda *_: 1.0, num_threads=1)
    assert data["prediction"].results
    assert len(data["trace"]) == 3


@pytest.mark.parametrize(
    "optimizer",
    [
        BootstrapFewShot(metric=lambda *_: 1.0, max_labeled_demos=0),
        BootstrapFewShotWithRandomSearch(metric=lambda *_: 1.0, num_candidate_programs=1, num_threads=1),
    ],
    ids=lambda optimizer: type(optimizer).__name__,
)
def test_optimizers_give_the_predictors_examples_and_report_what_they_found(optimizer: Any) -> None:
    of = pipeline()
    example = dspy.Example(query="rate", as_of=NOW, memories=MEMORIES).with_inputs("query", "as_of", "memories")
    compiled = optimizer.compile(of, trainset=[example])
    assert isinstance(compiled, Pipeline)
    assert compiled.ranker.judge.signature.instructions
    assert canonical(read(compiled, MEMORIES)) == canonical(read(of, MEMORIES))
    with pytest.raises(AttributeError, match="spec cannot be set"):
        compiled.spec = of.spec


def test_what_dspy_keeps_on_a_program_can_be_set(loaded: Pipeline) -> None:
    loaded.callbacks, loaded.history = [], []
    loaded.load_state(loaded.dump_state())
    lm = dspy.utils.DummyLM([{"answer": "x"}])
    loaded.set_lm(lm)
    assert loaded.get_lm() is lm
    loaded.map_named_predictors(copy.deepcopy)
    assert len(loaded("rate", as_of=NOW).results) == 10


@pytest.mark.parametrize(
    "name", ["spec", "store", "spec_sha256", "ranker", "prefilter", "candidates", "acall", "top_k", "stages"]
)
def test_a_pipeline_cannot_be_changed(loaded: Pipeline, name: str) -> None:
    for of in (loaded, copy.deepcopy(loaded), loaded.deepcopy(), loaded.reset_copy()):
        before = getattr(of, name, None)
        with pytest.raises(AttributeError, match=f"{name} cannot be set"):
            setattr(of, name, None)
        with pytest.raises(AttributeError, match=f"{name} cannot be set or deleted"):
            delattr(of, name)
        assert getattr(of, name, None) == before


def test_state_is_saved_and_loaded(tmp_path: Path) -> None:
    of = pipeline()
    of.save(tmp_path / "state.json")
    again = pipeline()
    again.load(tmp_path / "state.json")
    assert canonical(read(again, MEMORIES)) == canonical(read(of, MEMORIES))


def test_many_reads_at_once_by_dspy() -> None:
    of = pipeline()
    examples = [dspy.Example(query="rate", as_of=NOW, memories=MEMORIES).with_inputs("query", "as_of", "memories")] * 4
    rankings = of.batch(examples, num_threads=2, disable_progress_bar=True)
    assert {canonical(ranking) for ranking in rankings} == {canonical(read(of, MEMORIES))}


# read_memory


def test_read_memory_answers_in_the_memory_read_view() -> None:
    answer: Mapping[str, Any] = memrank.read_memory(
        {"query": "rate note", "as_of": NOW}, MEMORIES, top_k=3, relevance_threshold=0.0
    )
    assert set(answer) == {"query", "ranked_results", "retrieval_metadata"}
    assert answer["query"] == "rate note"
    assert len(answer["ranked_results"]) == 3
    assert answer["retrieval_metadata"] == {
        "total_candidates": 10,
        "returned_count": 3,
        "excluded_count": 7,
        "stale_count": 0,
    }
    for entry in answer["ranked_results"]:
        mixed = 0.7 * entry["relevance_score"] + 0.3 * entry["recency_score"]
        assert entry["composite_score"] == pytest.approx(mixed, abs=1e-9)
        assert (entry["excluded"], entry["stale"]) == (False, False)
        assert entry["justification"]


def test_the_days_are_a_half_life_whatever_is_asked() -> None:
    memories = [record("week", days=7), record("today", days=0)]
    for query in ("rate", "What was the rate originally?", "the rate right now"):
        for days, fresh in ((7, 0.5), (14, 2**-0.5), (3.5, 0.25)):
            answer: Any = memrank.read_memory({"query": query, "as_of": NOW}, memories, 10, days, relevance_threshold=0)
            recency = {entry["entry_id"]: entry["recency_score"] for entry in answer["ranked_results"]}
            assert recency == {"week": pytest.approx(fresh), "today": 1.0}


def test_what_falls_below_the_threshold_is_left_out_unless_it_is_wanted() -> None:
    context = {"query": "rate", "as_of": NOW}
    answer: Any = memrank.read_memory(context, MEMORIES, relevance_threshold=1.0)
    assert answer["ranked_results"] == []
    assert answer["retrieval_metadata"]["excluded_count"] == 10
    shown: Any = memrank.read_memory(context, MEMORIES, relevance_threshold=1.0, include_excluded=True)
    assert len(shown["ranked_results"]) == 10
    assert all(entry["excluded"] and entry["composite_score"] == 0 for entry in shown["ranked_results"])


def test_read_memory_takes_a_file_and_the_whole_context(folder: Path) -> None:
    context = {
        "text": "rate note",
        "as_of": when(0),
        "filters": {"metadata.desk": "x"},
        "domain": "finance",
        "phase": "plan",
        "observations": ["seen"],
        "constraints": ["none"],
    }
    file = folder / "tenants.jsonl"
    rows = [{**m, "namespace": "ana", "desk": "x"} for m in MEMORIES] + [record("b", namespace="bo", desk="x")]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    answer: Any = memrank.read_memory({**context, "namespace": "bo"}, file, relevance_threshold=0)
    assert [entry["entry_id"] for entry in answer["ranked_results"]] == ["b"]
    with pytest.raises(DataError, match="2 namespaces"):
        memrank.read_memory(context, str(file))


@pytest.mark.parametrize(
    "arguments",
    [
        {"recency_weight": 1.5},
        {"recency_weight": float("nan")},
        {"relevance_threshold": -0.1},
        {"recency_decay_days": 0},
        {"recency_decay_days": -7},
        {"recency_decay_days": float("nan")},
        {"recency_decay_days": float("inf")},
        {"recency_decay_days": 365_001},
        {"recency_decay_days": "7"},
        {"recency_weight": None},
        {"memory_store": MEMORIES[0]},
        {"memory_store": 5},
        {"top_k": 0},
        {"query_context": ""},
        {"query_context": {}},
        {"query_context": {"query": 5}},
        {"query_context": {"query": "rate", "color": "red"}},
        {"query_context": {"query": "rate", "as_of": "whenever"}},
    ],
)
def test_read_memory_refuses_what_it_cannot_mean(arguments: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        memrank.read_memory(**{"query_context": "rate", "memory_store": MEMORIES, **arguments})


@pytest.mark.parametrize("days", [1e-6, 0.001, 1, 365_000])
@pytest.mark.parametrize("weight", [0.0, 0.1, 0.333, 1.0])
def test_read_memory_takes_every_half_life_and_weight(days: float, weight: float) -> None:
    memrank.read_memory("rate", MEMORIES[:2], recency_decay_days=days, recency_weight=weight)


def test_an_empty_list_is_an_empty_answer() -> None:
    answer: Any = memrank.read_memory("rate", [])
    assert answer["ranked_results"] == []


def test_read_memory_reads_a_list_that_comes_again_no_second_time(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[int] = []
    analyse = Analyzer.analyse

    def counted(self: Analyzer, texts: Sequence[str], **how: bool) -> list[Analysed]:
        read.append(len(texts))
        return analyse(self, texts, **how)

    monkeypatch.setattr(Analyzer, "analyse", counted)
    memories = [{"id": "only-here", "content": "The kiln is fired on the second Tuesday."}]
    first = memrank.read_memory({"query": "kiln", "as_of": "2026-03-20"}, memories)
    assert read == [1]
    assert memrank.read_memory({"query": "kiln", "as_of": "2026-03-20"}, [dict(memories[0])]) == first
    assert read == [1]
