"""Leaving a set out: other sets only are fitted on, and the ranking goes by what was fitted."""

from pathlib import Path

import pytest

pytest.importorskip("scipy")
pytest.importorskip("bm25s")

import folds
import goldens
import quality
import ranking

import memrank.score.conflict
import memrank.score.relevance

EVALSETS = Path(__file__).resolve().parents[2] / "evalsets"
SMALL = ("chat-context", "clinical")


def test_ranking_goes_by_the_models_put_in_place() -> None:
    golden = goldens.GoldenSet(EVALSETS / "chat-context")
    shipped = memrank.score.relevance.shipped()
    wrong = {name: -value for name, value in shipped.order.items()}
    reverse = memrank.score.relevance.Model(order=wrong, level=shipped.level, intercept=shipped.intercept)
    usual = ranking.memrank(golden)
    with folds.in_place(reverse, memrank.score.conflict.shipped()):
        turned = ranking.memrank(golden)
    assert turned != usual
    assert ranking.memrank(golden) == usual


def test_a_ranking_by_other_models_is_no_result() -> None:
    with (
        pytest.raises(folds.UnusedModelError),
        folds.in_place(memrank.score.relevance.shipped(), memrank.score.conflict.shipped()),
    ):
        pass


def test_a_set_is_ranked_by_coefficients_of_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    folders = [EVALSETS / name for name in SMALL]
    read: list[str] = []
    load = folds.fit_conflict.load
    fitted: list[int] = []
    fit_order = folds.fit_relevance.fit_order

    def counted(sets: list[list[object]]) -> dict[str, float]:
        fitted.append(len(sets))
        return fit_order(sets)

    monkeypatch.setattr(folds.fit_relevance, "fit_order", counted)
    monkeypatch.setattr(folds.fit_conflict, "load", lambda folder: (read.append(folder.name), load(folder))[1])
    fits = folds.Fits(folders)
    assert fits.needed("clinical")
    assert not fits.needed("elsewhere")
    assert set(fits.absent()).isdisjoint(SMALL)
    relevance, conflict = fits.without("clinical")
    assert fitted == [1]
    assert read == ["chat-context"]
    assert relevance.order != memrank.score.relevance.shipped().order
    assert set(conflict.coefficients) == set(memrank.score.conflict.FEATURES)


def test_every_way_of_ranking_is_measured() -> None:
    folders = [EVALSETS / name for name in SMALL]
    found = folds.measure(goldens.GoldenSet(folders[0]), folds.Fits(folders), 20)
    assert list(found) == [folds.LEFT_OUT, folds.AS_SHIPPED, *folds.BASELINES]
    changes = quality.differences(found, folds.LEFT_OUT)
    assert changes["nDCG@10"][1] in folds.BASELINES
    lines = folds.rows({"chat-context": found}, [])
    assert lines[0][:2] == ["chat-context", folds.LEFT_OUT]
    assert "never fitted on" in folds.rows({"chat-context": found}, ["chat-context"])[0][0]
