"""The prefilter's pool: its size, who gets in beside the best, and that the dead take nobody's place."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reading import ids, pipeline, read, record, when
from strategies import WORDS

contents = st.lists(st.lists(st.sampled_from(WORDS), min_size=1, max_size=6).map(" ".join), min_size=1, max_size=15)


@settings(deadline=None, max_examples=40)
@given(contents, st.integers(1, 20))
def test_a_pool_is_the_start_of_a_larger_one(texts: list[str], size: int) -> None:
    memories = [record(f"m{i:02}", text) for i, text in enumerate(texts)]
    small, large = (read(pipeline(prefilter={"top_k": k}), memories, "rate fee fund") for k in (size, size + 1))
    assert small.meta.total_candidates == min(size, len(texts))
    assert large.meta.total_candidates == min(size + 1, len(texts))
    assert set(ids(small.results)) <= set(ids(large.results))


def test_exact_words_come_before_others() -> None:
    memories = [record("far", "Nothing alike."), record("near", "The mortgage rate."), record("other", "A fee.")]
    assert ids(read(pipeline(prefilter={"top_k": 1}), memories, "mortgage rate").results) == ["near"]


def test_what_is_dead_takes_nobodys_place_and_is_not_hidden() -> None:
    dead = [record(f"dead{i}", "mortgage rate", expires_at=when(1).isoformat()) for i in range(5)]
    live = [record("live", "A mortgage."), record("far", "Nothing alike.")]
    ranking = read(pipeline(prefilter={"top_k": 2}), [*dead, *live], "mortgage rate")
    assert set(ids(ranking.results)) == {"live", "far"}
    assert {item.reason for item in ranking.excluded} == {"expired"}
    assert len(ranking.excluded) <= 2


@pytest.mark.parametrize("embedder", ["none", "wordllama"])
def test_other_tenants_and_hidden_memories_leave_no_trace_in_the_scores(embedder: str) -> None:
    own = [record(f"m{i}", f"rate {word}", agent_id="x") for i, word in enumerate(WORDS)]
    hidden = [record(f"h{i}", "rate rate rate", agent_id="y") for i in range(20)]
    of = pipeline(embedder=embedder)
    alone = read(of, own, "rate fee")
    filtered = read(of, [*hidden, *own], "rate fee", filters={"agent_id": "x"})
    assert [item.scores for item in filtered.results] == [item.scores for item in alone.results]
    assert ids(filtered.results) == ids(alone.results)


def test_sentence_vectors_find_what_shares_no_word() -> None:
    texts = {"car": "He bought an automobile.", "bread": "She baked a loaf.", "tax": "A levy."}
    memories = [record(name, text) for name, text in texts.items()]
    ranking = read(pipeline(embedder="wordllama", prefilter={"dense_weight": 1.0}), memories, "car purchase")
    assert ranking.results[0].id == "car"
