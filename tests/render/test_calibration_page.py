"""Pages of a calibration and of whether it holds: what must be read in them, and nothing that a text could change."""

import math
from dataclasses import replace
from pathlib import Path

import pytest
from factories import HOSTILE
from goldenset import desk, golden
from parsing import assert_self_contained

from memrank.checking import check_written
from memrank.evals.calibrate import Calibrated, Options, calibrate
from memrank.evals.drift import Drift, Held
from memrank.evals.report import Decile, Figure
from memrank.registry import build
from memrank.render.calibrationpage import calibration_page
from memrank.render.drift import drift_json, drift_text
from memrank.render.driftpage import drift_page
from memrank.render.terminal import Look
from memrank.specfile import spec_sha256

NONE = Figure(value=math.nan, low=math.nan, high=math.nan, n=0)


@pytest.fixture(scope="module")
def calibrated(tmp_path_factory: pytest.TempPathFactory) -> Calibrated:
    folder = tmp_path_factory.mktemp("desk")
    evalset = golden(folder / "set")
    spec = check_written(desk(folder)).spec
    options = Options(resamples=100, target_precision=0.5)
    return calibrate(spec, lambda one: build(one, Path(), spec_sha256(one), store=evalset.memories), evalset, options)


def held(**more: object) -> Held:
    given = {"verdict": "broken", "reads": 40, "groups": 40, "pairs": 120, "relevant": 60, "said": 0.9, "p": 0.01}
    figures = {"ece": Figure(value=0.4, low=0.3, high=0.5, n=40), "brier": Figure(value=0.41, low=0.3, high=0.5, n=40)}
    return Held(**{**given, **figures, **more})  # type: ignore[arg-type]


def drifted(by_class: dict[str, Held], **more: object) -> Drift:
    whole = {name: getattr(held(), name) for name in Held.__slots__}
    deciles = [Decile(low=0.9, high=1.0, mean=0.9, share=0.5, n=120), Decile(low=0, high=0.1, mean=0, share=0, n=0)]
    given = {"sampled": 3, "others": 1, "max_ece": 0.05, "deciles": deciles, "mended": None, "by_class": by_class}
    return Drift(**{**whole, **given, **more})


def test_both_curves_thresholds_and_what_was_held_out(calibrated: Calibrated) -> None:
    found = assert_self_contained(calibration_page(calibrated))
    for text in ("before", "after", "fitted on choose", "held out report", "on which nothing was fitted", "changed"):
        assert text in found.text
    assert f"was {calibrated.before['ECE'].value:.3f}" in found.text
    assert found.tags().count("polyline") == 2
    assert sum(one.n for one in calibrated.said_before) == sum(one.n for one in calibrated.said_after) > 0


@pytest.mark.parametrize("text", HOSTILE)
def test_a_name_changes_nothing_of_a_page(text: str, calibrated: Calibrated) -> None:
    plain = assert_self_contained(calibration_page(calibrated)).tags()
    hostile = replace(calibrated, evalset=text, judge=text)
    assert assert_self_contained(calibration_page(hostile)).tags() == plain
    named = assert_self_contained(drift_page(drifted({"recent": held()}))).tags()
    assert assert_self_contained(drift_page(drifted({text or "x": held()}))).tags() == named


def test_a_calibration_of_which_nothing_can_be_told(calibrated: Calibrated) -> None:
    unknown = dict.fromkeys(calibrated.before, NONE)
    found = replace(calibrated, before=unknown, after=unknown, said_before=(), said_after=())
    page = assert_self_contained(calibration_page(found))
    assert "Nothing to draw" in page.text
    assert "nan" not in page.text


def test_classes_are_told_apart() -> None:
    found = drifted({"recent": held(), "historical": held(verdict="unknown", reads=2, pairs=3, relevant=3, p=math.nan)})
    page = assert_self_contained(drift_page(found))
    for text in ("recent", "historical", "broken", "unknown", "3 drawn at random"):
        assert text in page.text
    said = drift_text(found, Look(width=None, colour=False))
    assert "historical  unknown      0.900  1.000" in said
    body = drift_json(found)["by_class"]
    assert (body["recent"]["verdict"], body["historical"]["p"], body["recent"]["ECE"]["value"]) == ("broken", None, 0.4)


def test_no_label_at_all() -> None:
    empty = held(verdict="unknown", reads=0, groups=0, pairs=0, relevant=0, said=math.nan, ece=NONE, brier=NONE)
    whole = {name: getattr(empty, name) for name in Held.__slots__}
    found = drifted({}, **{**whole, "p": math.nan}, deciles=())
    page = assert_self_contained(drift_page(found))
    assert "No read has a label." in page.text
    assert "nan" not in page.text
