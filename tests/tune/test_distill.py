"""A model teaches the judge by code: what is fitted, what it is worth, and what happens where the model fails."""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from faults.lm_server import FAULTY_ANSWERS, LmServer, Reset, Status, at_random
from tuning import builder, golden, spec_of

from memrank.errors import DataError, UsageError
from memrank.evals.evalset import Evalset
from memrank.score.relevance import LEVEL, ORDER, shipped
from memrank.tune.distill import FALLING, Distilled, distil
from memrank.tune.prompts import Budget

FAULTS = [Status(503), Status(500), Reset(), *(FAULTY_ANSWERS[name] for name in ("prose", "nan", "missing_id"))]


def painted(item: Mapping[str, Any], query: str) -> float:
    """What the judge by code does not know: that what was painted has a colour."""
    return 1.0 if "painted" in str(item["content"]) else 0.05


def distilled(evalset: Evalset, server: LmServer | str | None, **given: Any) -> Distilled:
    queries = [query.asked for query in evalset.part("fit")]
    given = {"held_out": evalset.part("choose"), "environ": {}, **given}
    return distil(spec_of(server), builder(evalset), queries, **given)


@pytest.mark.parametrize("seed", [1, 2])
def test_the_judge_by_code_learns_what_the_model_says_at_20_percent_faults(tmp_path: Path, seed: int) -> None:
    evalset = golden(tmp_path / "set")
    with LmServer(at_random(seed, 0.2, FAULTS), opinion=painted) as server:
        found = distilled(evalset, server, state_dir=tmp_path / "state", seed=seed)
        assert len(server.calls) <= found.calls
        server.script([])
        again = distilled(evalset, server, state_dir=tmp_path / "state", seed=seed)
        assert len(server.calls) == again.calls == 0
    assert found.ended == "done"
    assert again.model == found.model
    assert found.after.mae < found.before.mae
    assert found.after.rank_correlation >= found.before.rank_correlation
    assert found.after.pairs > 0
    assert found.quality is not None
    assert found.quality.queries == 8
    assert found.quality.gain.mean == pytest.approx(found.quality.after.mean - found.quality.before.mean)
    assert found.quality.gain.mean >= 0


def test_coefficients_keep_their_signs_and_have_a_path_each(tmp_path: Path) -> None:
    evalset = golden(tmp_path)
    with LmServer(opinion=lambda item, query: 1.0 - painted(item, query)) as server:
        found = distilled(evalset, server)
    for name, value in [*found.model.order.items(), *found.model.level.items()]:
        start = {**shipped().order, **shipped().level}.get(name, 0.0)
        assert value <= max(0.0, start) if name in FALLING else value >= min(0.0, start)
        assert math.isfinite(value)
    roots = [f"ranker.coefficients.order.{name}" for name in ORDER]
    roots += [f"ranker.coefficients.level.{name}" for name in LEVEL]
    assert list(found.coefficients) == [*roots, "ranker.coefficients.intercept"]


def test_a_model_that_says_the_same_of_all_teaches_no_order(tmp_path: Path) -> None:
    with LmServer(opinion=lambda *_: 0.5) as server:
        found = distilled(golden(tmp_path), server)
    assert found.model.order == {name: shipped().order.get(name, 0.0) for name in ORDER}
    assert math.isnan(found.after.rank_correlation)


def test_no_label_is_read(tmp_path: Path) -> None:
    evalset = golden(tmp_path)
    with LmServer(opinion=painted) as server:
        one = distilled(evalset, server, held_out=())
        two = distilled(evalset, server)
    assert one.model == two.model
    assert one.quality is None


@pytest.mark.parametrize("calls", [0, 1, 5])
def test_a_budget_is_hard_and_too_little_is_said(tmp_path: Path, calls: int) -> None:
    with (
        LmServer(opinion=painted) as server,
        pytest.raises(DataError, match=rf"judged {calls} queries: the calls of this tuning are spent"),
    ):
        distilled(golden(tmp_path), server, budget=Budget(max_calls=calls))
    assert len(server.calls) == calls


def test_what_was_said_before_a_budget_was_spent_is_fitted_on(tmp_path: Path) -> None:
    with LmServer(opinion=painted) as server:
        found = distilled(golden(tmp_path), server, budget=Budget(max_calls=12))
    assert found.ended == "budget"
    assert found.calls == 12
    assert 8 <= found.queries < 12


def test_a_server_that_is_away_is_said(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="judged 0 queries"):
        distilled(golden(tmp_path), "http://127.0.0.1:9/v1")


def test_without_a_teacher_there_is_nothing_to_learn(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="names no language model"):
        distilled(golden(tmp_path), None)


def test_progress_is_told_of_every_query(tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []
    with LmServer(opinion=painted) as server:
        distilled(golden(tmp_path), server, progress=lambda done, whole: told.append((done, whole)))
    assert told == [(k, 16) for k in range(1, 17)]
