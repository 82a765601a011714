"""Items are made without their constructor, for speed; they must be whole all the same."""

import copy
import pickle
from dataclasses import fields, replace
from pathlib import Path

from memrank.registry import build
from memrank.result import Item
from memrank.specfile import parse_spec

SPEC = """
memrank: 1
name: items
index: {embedder: none}
stages: [{kind: prefilter.hybrid.v1, top_k: 50}, {kind: temporal.v1}, {kind: ranker.v1}, {kind: pruner.v1}]
"""


def test_every_field_is_set() -> None:
    memories = [{"id": "a", "content": "The fee is 4%."}, {"id": "b", "content": "Bo prefers mornings."}]
    ranking = build(parse_spec(SPEC), Path(), "0").forward("What is the fee?", memories=memories)
    items = (*ranking.results, *ranking.excluded)
    assert len(items) == len(memories)
    for item in items:
        assert set(vars(item)) == {field.name for field in fields(Item)}
        assert replace(item) == item


def test_a_pickle_holds_the_item_and_its_sentence_but_not_the_store() -> None:
    memories = [{"id": f"m{i}", "content": f"The fee of desk {i} is {i}%. " * 20} for i in range(500)]
    ranking = build(parse_spec(SPEC), Path(), "0").forward("What is the fee of desk 7?", memories=memories, top_k=1)
    (item,) = ranking.results
    pickled = pickle.dumps(item)
    assert len(pickled) < 5_000
    for other in (pickle.loads(pickled), copy.deepcopy(item), replace(pickle.loads(pickled), rank=2)):
        assert other.justification == item.justification
        assert other.memory == item.memory
    assert pickle.loads(pickled) == item
    assert len(pickle.dumps(pickle.loads(pickled))) < 5_000
