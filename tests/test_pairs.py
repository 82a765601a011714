"""What a candidate has in common with the query, as columns of the pool."""

import numpy as np
import pytest
from reading import pipeline, record

from memrank.asking import ask
from memrank.pipeline import Pipeline
from memrank.score.relevance import shipped
from memrank.slate import Column, Slate
from memrank.stages.ranker import judged_columns

NOW = "2026-03-20T09:00:00Z"


def pool(
    contents: dict[str, str], query: str, aliases_of: dict[str, list[str]] | None = None, **fields: object
) -> tuple[dict[str, int], Slate]:
    """Id to its place in the slate, and the slate as the prefilter leaves it."""
    of: Pipeline = pipeline(embedder="none")
    memories = [record(name, text, **fields) for name, text in contents.items()]
    for memory in memories:
        if aliases_of and memory["id"] in aliases_of:
            memory["aliases"] = aliases_of[memory["id"]]
    snapshot = of._snapshot(ask(query, as_of=NOW), memories)
    of.__dict__["store"] = _Held(snapshot)
    slate = of.candidates(query, as_of=NOW)
    return {slate.memory(k).id: k for k in range(len(slate))}, slate


class _Held:
    """A store that has its snapshot ready."""

    def __init__(self, snapshot: object) -> None:
        self._snapshot = snapshot

    def snapshot(self, *_: object) -> object:
        return self._snapshot


def test_overlap_weighs_words_by_their_rarity_and_counts_what_nobody_holds() -> None:
    at, slate = pool({"a": "the harbour bridge", "b": "a bridge", "c": "a bridge and a zebra"}, "harbour bridge")
    overlap = slate[Column.OVERLAP]
    assert overlap[at["a"]] == pytest.approx(1.0)
    assert 0 < overlap[at["b"]] == overlap[at["c"]] < 0.5
    _, unknown = pool({"a": "the harbour bridge"}, "harbour bridge xylophone")
    assert unknown[Column.OVERLAP][0] < 1.0


def test_phrases_want_the_words_side_by_side_and_in_order() -> None:
    texts = {"same": "the deferred tax asset", "apart": "an asset, a tax, deferred", "one": "tax asset"}
    at, slate = pool(texts, "deferred tax asset")
    phrases = slate[Column.PHRASES]
    assert phrases[at["same"]] == pytest.approx(1.0)
    assert phrases[at["apart"]] == 0.0
    assert 0.0 < phrases[at["one"]] < 1.0


def test_a_single_word_is_no_phrase() -> None:
    _, slate = pool({"a": "tax"}, "tax")
    assert slate[Column.PHRASES].tolist() == [0.0]


def test_numbers_count_where_a_number_is_asked_for() -> None:
    texts = {"table": "revenue 120 130 140", "prose": "revenue grew a lot"}
    at, slate = pool(texts, "How much was the revenue?")
    assert slate[Column.ANSWERS_NUMBER][at["table"]] == pytest.approx(0.75)
    assert slate[Column.ANSWERS_NUMBER][at["prose"]] == 0.0
    _, plain = pool(texts, "Tell me about its growth")
    assert plain[Column.ANSWERS_NUMBER].tolist() == [0.0, 0.0]


def test_numbers_and_years_of_the_query() -> None:
    texts = {"held": "in 2019 it was 42", "other": "in 2011 it was 43", "spans": "from 2010 to 2022", "none": "it was"}
    at, slate = pool(texts, "what was it in 2019")
    assert [slate[Column.NUMBERS][at[name]] for name in texts] == [1.0, 0.0, 0.0, 0.0]
    assert [slate[Column.OTHER_NUMBERS][at[name]] for name in texts] == [0.0, 1.0, 1.0, 0.0]
    assert [slate[Column.YEARS][at[name]] for name in texts] == [1.0, 0.0, 0.5, 0.0]


def test_an_alias_counts_when_it_stands_whole_in_the_query() -> None:
    at, slate = pool({"a": "container platform"}, "our k8s deploy story", aliases=["k8s", "kube cluster"])
    assert slate[Column.NAMED][at["a"]] == 1.0
    _, other = pool({"a": "container platform"}, "our cluster", aliases=["k8s", "kube cluster"])
    assert other[Column.NAMED].tolist() == [0.0]


def test_an_alias_counts_in_spite_of_a_slip_of_the_fingers() -> None:
    _, slipped = pool({"a": "strict mode"}, "typsecript config", aliases=["TypeScript"])
    assert slipped[Column.NAMED].tolist() == [1.0]
    _, another = pool({"a": "a raw driver"}, "mango pooling", aliases=["mongo"])
    assert another[Column.NAMED].tolist() == [0.0]


@pytest.mark.parametrize(
    ("with_aliases", "without", "share"), [(3, 1, 1.0), (5, 3, 0.5), (1, 1, 0.0), (1, 9, 0.0), (0, 4, 0.0)]
)
def test_a_store_is_an_index_of_subjects_when_most_of_it_names_them(
    with_aliases: int, without: int, share: float
) -> None:
    contents = {f"n{i}": "a note" for i in range(with_aliases)} | {f"p{i}": "a note" for i in range(without)}
    aliases = {name: ["kube"] for name in contents if name.startswith("n")}
    _, slate = pool(contents, "anything", aliases_of=aliases)
    assert slate[Column.SUBJECTS].tolist() == [share] * len(contents)


def test_in_an_index_of_subjects_what_the_query_does_not_name_is_hardly_relevant() -> None:
    named = {"a": ["k8s"], "b": ["jest"], "c": ["fastify"]}
    contents = {"a": "runs on a cluster", "b": "tests of all packages", "c": "serves requests over http"}
    at, slate = pool(contents, "k8s", aliases_of=named)
    likely = shipped().probability(judged_columns(slate))
    assert likely[at["a"]] > 0.3
    assert max(likely[at["b"]], likely[at["c"]]) < 0.005
    _, unnamed = pool(contents, "weather tomorrow", aliases_of=named)
    assert shipped().probability(judged_columns(unnamed)).max() < 0.005


def test_columns_of_an_empty_pool_are_empty() -> None:
    of = pipeline(embedder="wordllama")
    ranking = of("rate", as_of="2020-01-01T00:00:00Z", memories=[record("a")])
    assert ranking.results == ranking.excluded == ()
    assert [note.code for note in ranking.notes] == ["nothing_visible"]


def test_every_column_is_a_share() -> None:
    _, slate = pool({"a": "rate 4 2019", "b": "", "c": "rate"}, "rate 4 of 2019 rate")
    for column in (Column.OVERLAP, Column.SOFT, Column.PHRASES, Column.NUMBERS, Column.YEARS, Column.ANSWERS_NUMBER):
        values = slate[column]
        assert np.all((values >= 0) & (values <= 1)), column
