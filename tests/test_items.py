"""Items are made without their constructor, for speed; they must be whole all the same."""

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
