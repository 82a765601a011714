"""What every stage owes: it adds the columns it declares, leaves the others, and reads only what it says it needs."""

from collections.abc import Iterator
from dataclasses import replace

import dspy
import numpy as np
import pytest
from reading import NOW, pipeline, record

from memrank.asking import ask
from memrank.chain import PROVIDES, REQUIRES
from memrank.pipeline import Pipeline, _open
from memrank.slate import Limits, Slate
from memrank.stages.base import Stage

MEMORIES = [
    record("a", "The rate is four percent.", days=3, superseded_by="b"),
    record("b", "The rate is five percent.", days=1),
    record("c", "Nothing alike at all.", days=None),
    record("d", "An old rate.", days=500, expires_at="2026-01-01", pinned=True),
    record("e", "A fee.", days=40, session_id="s", role="user"),
]


def steps(of: Pipeline, memories: list[object]) -> Iterator[tuple[Stage, Slate, Slate]]:
    """Each stage with what it was given and what it gave."""
    query = ask("rate four", as_of=NOW)
    snapshot = of._given.store(memories).snapshot(None, query.as_of, {}, 0.0)  # type: ignore[arg-type]
    slate = _open(query, snapshot, Limits(), of.pruner.protects(snapshot))
    for stage in (of.prefilter, of.temporal, of.ranker, of.pruner):
        after = stage(slate)
        yield stage, slate, after
        slate = after


@pytest.mark.parametrize("memories", [MEMORIES, MEMORIES[:1], []], ids=["several", "one", "none"])
def test_a_stage_adds_what_it_declares_and_changes_nothing_else(memories: list[object]) -> None:
    for stage, before, after in steps(pipeline(), memories):
        added = set(after.columns) - set(before.columns)
        assert added == PROVIDES[stage.kind] - set(before.columns)
        assert PROVIDES[stage.kind] <= set(after.columns)
        for name, column in after.columns.items():
            assert column.dtype == np.float64
            assert column.shape == (len(after),)
            assert np.isfinite(column).all()
            assert not column.flags.writeable
            if name in before.columns and name not in ("reason", "score"):
                assert column is before.columns[name]


def test_a_stage_reads_only_what_it_says_it_needs() -> None:
    for stage, before, after in steps(pipeline(), MEMORIES):
        wanted = REQUIRES[stage.kind]
        spare = replace(before, columns={name: before.columns[name] for name in wanted})
        again = stage(spare)
        for name in PROVIDES[stage.kind]:
            assert again[name].tolist() == after[name].tolist()


def test_every_stage_has_a_signature_of_typed_fields() -> None:
    of = pipeline()
    for stage in (of.prefilter, of.temporal, of.ranker, of.pruner):
        assert isinstance(stage, dspy.Module)
        signature = stage.signature
        assert issubclass(signature, dspy.Signature)
        assert signature.instructions
        assert signature.input_fields
        assert signature.output_fields
        for field in signature.fields.values():
            assert field.annotation is not None


def test_flags_are_flags_and_shares_are_shares() -> None:
    *_, (_, _, last) = steps(pipeline(), MEMORIES)
    for name in ("dated", "future_date", "expired", "invalid_then", "stale_flag"):
        assert set(last.columns[name].tolist()) <= {0.0, 1.0}  # type: ignore[index]
    for name in ("freshness", "relevance", "importance", "authority", "raw_score", "score", "factor", "decay"):
        column = last.columns[name]  # type: ignore[index]
        assert ((column >= 0) & (column <= 1)).all()
