"""Pruning measured over conversations: figures with intervals, the gate and what mends it, two ways side by side."""

import json
import math
from dataclasses import replace
from importlib.resources import files
from pathlib import Path

import jsonschema
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from speaking import plain_analyzer
from talking import talk, written

from memrank.dialogue.prune import Limits
from memrank.errors import UsageError
from memrank.evals.conversations import Conversations, load_conversations
from memrank.evals.pruning import evaluate_pruning, holds, limits_of
from memrank.evals.pruningreport import COMPARED, PruningReport, to_dict, versus
from memrank.evals.report import Figure
from memrank.score.intervals import Bootstrap
from memrank.spec import PrunerSpec, Spec

EVERYTHING = Limits(max_tokens=10_000, keep_last_turns=0, drop_threshold=1.0)
TIGHT = replace(EVERYTHING, max_tokens=45)


@pytest.fixture(scope="module")
def talks(tmp_path_factory: pytest.TempPathFactory) -> Conversations:
    rows = [talk(f"t{k}", domain="home" if k % 2 else "work") for k in range(6)]
    return load_conversations(written(tmp_path_factory.mktemp("talks") / "mine.jsonl", rows))


def evaluated(talks: Conversations, limits: Limits, **options: object) -> PruningReport:
    return evaluate_pruning(talks, limits, analyzer=plain_analyzer(), resamples=200, **options)  # type: ignore[arg-type]


def test_nothing_lost(talks: Conversations) -> None:
    report = evaluated(talks, EVERYTHING)
    assert report.gate.passed
    assert report.gate.difference == Figure(value=0.0, low=0.0, high=0.0, n=6)
    assert report.gate.mends == report.lost == ()
    assert report.figures["answerable"].value == 1.0
    assert (report.conversations, report.moments, report.questions, report.units) == (6, 6, 6, 6)
    assert list(report.by_domain) == ["home", "work"]
    assert report.by_domain["work"]["answerable"].n == 3
    assert report.figures["agreement"].n == 6 * 7


def test_a_budget_that_loses_is_mended_by_a_larger_one(talks: Conversations) -> None:
    report = evaluated(talks, TIGHT)
    assert not report.gate.passed
    assert report.gate.difference is not None
    assert report.gate.difference.high < 0
    assert report.gate.causes["budget"] == len(report.lost) == 6
    budgets = [mend for mend in report.gate.mends if "max_tokens" in mend.changes]
    assert len(budgets) == 1
    assert evaluated(talks, replace(TIGHT, max_tokens=int(budgets[0].changes["max_tokens"]))).gate.passed
    assert budgets[0].answerable.value == 1.0
    savings = [mend.tokens_saved.value for mend in report.gate.mends]
    assert savings == sorted(savings, reverse=True)


def test_the_search_can_be_left_out(talks: Conversations) -> None:
    report = evaluated(talks, TIGHT, mend=False)
    assert not report.gate.passed
    assert report.gate.mends == ()


def test_a_margin_allows_so_much(talks: Conversations) -> None:
    assert evaluated(talks, TIGHT, margin=1.0).gate.passed


def test_the_same_seed_gives_the_same(talks: Conversations) -> None:
    assert to_dict([evaluated(talks, TIGHT, seed=3)]) == to_dict([evaluated(talks, TIGHT, seed=3)])


def test_progress_counts_the_moments(talks: Conversations) -> None:
    told: list[int] = []
    evaluated(talks, EVERYTHING, progress=told.append)
    assert told == [1] * 6


def test_without_later_questions_the_gate_fails(tmp_path: Path) -> None:
    silent = load_conversations(written(tmp_path / "x.jsonl", [talk(question=False)]))
    report = evaluated(silent, TIGHT)
    assert not report.gate.passed
    assert report.gate.difference is None
    assert "answerable" not in report.figures
    assert "tokens_saved" in report.figures


def test_one_conversation_tells_no_interval_and_any_loss_fails(tmp_path: Path) -> None:
    one = load_conversations(written(tmp_path / "x.jsonl", [talk()]))
    assert evaluated(one, EVERYTHING).gate.passed
    lost = evaluated(one, TIGHT, mend=False)
    assert not lost.gate.passed
    assert to_dict([lost])["reports"][0]["gate"]["difference"]["low"] is None  # type: ignore[index]


def test_without_annotations_only_what_needs_none_is_measured(tmp_path: Path) -> None:
    row = talk()
    row["moments"] = [{"after": "e7", "message": "And?"}]
    report = evaluated(load_conversations(written(tmp_path / "x.jsonl", [row])), EVERYTHING)
    assert set(report.figures) == {"tokens_saved", "tokens_used@30%", "tokens_used@50%"}


@given(st.lists(st.floats(-1, 1), min_size=2, max_size=12), st.floats(0, 1))
def test_the_gate_fails_where_the_whole_interval_lies_below(values: list[float], margin: float) -> None:
    found = Bootstrap([str(k) for k in range(len(values))], seed=0, resamples=100).paired(
        np.array(values), np.zeros(len(values))
    )
    assert holds(found, margin) == (max(found.high, found.mean) >= -margin)
    assert holds(found, 1.0)


def test_what_makes_no_sense(talks: Conversations) -> None:
    for options in ({"margin": -0.1}, {"margin": math.nan}, {"shares": (0.0,)}, {"shares": (1.5,)}):
        with pytest.raises(UsageError, match="a margin lies from 0 to 1"):
            evaluated(talks, EVERYTHING, **options)
    with pytest.raises(UsageError, match="thresholds must rise"):
        evaluated(talks, Limits(drop_threshold=0.1))
    with pytest.raises(UsageError, match="unknown counter"):
        evaluated(talks, EVERYTHING, tokens="guess")


def test_the_limits_of_a_spec() -> None:
    pruner = PrunerSpec(kind="pruner.v1", max_tokens=300, keep_last_turns=1, drop_threshold=0.95)
    raw = {"memrank": 1, "name": "desk", "stages": [{"kind": "prefilter.hybrid.v1"}, {"kind": "ranker.v1"}]}
    spec = Spec.model_validate(raw)
    with pytest.raises(UsageError, match="desk has no pruner") as fault:
        limits_of(spec)
    assert fault.value.hint
    found = limits_of(spec.model_copy(update={"stages": [*spec.stages, pruner]}))
    assert found == Limits(max_tokens=300, keep_last_turns=1, drop_threshold=0.95)


def test_two_ways_side_by_side(talks: Conversations) -> None:
    first, other = evaluated(talks, EVERYTHING), evaluated(talks, TIGHT, mend=False)
    found = versus(first, other)
    assert set(found) <= set(COMPARED)
    assert found["answerable"].difference.value == -1.0
    assert (found["answerable"].higher, found["answerable"].lower) == (0, 6)
    assert found["answerable"].p < 0.1
    assert found["tokens_saved"].difference.value > 0
    assert versus(first, first)["answerable"].p == 1.0


def test_other_conversations_are_not_compared(talks: Conversations, tmp_path: Path) -> None:
    others = load_conversations(written(tmp_path / "x.jsonl", [talk("z")]))
    with pytest.raises(UsageError, match="different conversations"):
        versus(evaluated(talks, EVERYTHING), evaluated(others, EVERYTHING))


SCHEMA = json.loads(files("memrank.data").joinpath("eval-conversations.schema.json").read_text(encoding="utf-8"))


def test_the_json_form(talks: Conversations) -> None:
    reports = [evaluated(talks, TIGHT, spec="a"), evaluated(talks, EVERYTHING, spec="b")]
    body = json.loads(json.dumps(to_dict(reports), allow_nan=False))
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    jsonschema.Draft202012Validator(SCHEMA).validate(body)
    assert [one["spec"] for one in body["comparisons"]] == ["b"]
