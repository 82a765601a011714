"""Calibration of a judge on one part of a golden set, and what it is worth on another."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from goldenset import desk, golden

from memrank.artifact import to_dict
from memrank.calibration import calibrated
from memrank.checking import check_written
from memrank.compiled import with_state
from memrank.errors import DataError, UsageError
from memrank.evals.calibrate import Calibrated, Options, calibrate
from memrank.evals.evalset import Evalset
from memrank.pipeline import Pipeline
from memrank.registry import build
from memrank.spec import RankerSpec, Spec
from memrank.speccalibration import CalibrationSpec
from memrank.specfile import spec_sha256

FAST = {"resamples": 100}


class Builder:
    """Builds pipelines over the set, and remembers what they were asked."""

    def __init__(self, evalset: Evalset) -> None:
        self.evalset = evalset

    def __call__(self, spec: Spec) -> Pipeline:
        return build(spec, Path(), spec_sha256(spec), store=self.evalset.memories)


def fitted(folder: Path, more: str = "", evalset: Evalset | None = None, **options: Any) -> Calibrated:
    found = evalset or golden(folder / "set")
    spec = check_written(desk(folder, more)).spec
    return calibrate(spec, Builder(found), found, Options(**{**FAST, **options}))


def test_relevance_becomes_truer_on_queries_that_nothing_was_fitted_on(tmp_path: Path) -> None:
    found = fitted(tmp_path)
    assert (found.section.method, found.chosen) == ("platt", True)
    assert (found.fitted_queries, found.held_out_queries, found.fitted_relevant, found.failed) == (15, 15, 15, 0)
    assert found.after["ECE@10"].value < found.before["ECE@10"].value
    assert found.after["Brier"].value < found.before["Brier"].value
    assert found.after["R@10"].value == found.before["R@10"].value
    assert set(found.artifact.metrics["after"]) >= {"ECE", "ECE@10", "Brier", "precision"}
    assert not any(name.startswith("latency") for name in found.artifact.metrics["after"])


@pytest.mark.parametrize("method", ["isotonic", "platt"])
def test_without_an_aim_the_same_memories_are_left_out(method: Any, tmp_path: Path) -> None:
    evalset = golden(tmp_path / "set")
    found = fitted(tmp_path, evalset=evalset, method=method)
    spec = check_written(tmp_path / "desk.yaml").spec
    of = Builder(evalset)
    plain, mended = of(spec), of(with_state(spec, found.artifact.state))
    for query in evalset.queries:
        before, after = plain(**query.asked), mended(**query.asked)
        assert {one.id for one in before.results} == {one.id for one in after.results}
    then, now = found.thresholds["relevance_threshold"]
    assert then == 0.01 != now
    assert found.thresholds["top_score_below"] == (0.4, 0.4)


def test_nothing_of_the_held_out_part_is_in_what_was_fitted(tmp_path: Path) -> None:
    evalset = golden(tmp_path / "set")
    one = fitted(tmp_path, evalset=evalset)
    file = evalset.folder / "queries.jsonl"
    lines = file.read_text().splitlines()
    # Other labels on the held-out part: other figures, the same state.
    changed = [line.replace('-0"]', '-1"]') if '"report"' in line else line for line in lines]
    file.write_text("\n".join(changed) + "\n")
    from memrank.evals.evalset import load

    two = fitted(tmp_path, evalset=load(evalset.folder))
    assert two.artifact.state == one.artifact.state
    assert two.artifact.metrics["before"]["MRR"] != one.artifact.metrics["before"]["MRR"]


def test_the_same_seed_gives_the_same_artifact_whatever_the_threads(tmp_path: Path) -> None:
    evalset = golden(tmp_path / "set")
    one, two = (to_dict(fitted(tmp_path, evalset=evalset, jobs=jobs).artifact) for jobs in (1, 4))
    assert one == two


def test_a_precision_that_was_aimed_at_holds_where_it_was_fitted(tmp_path: Path) -> None:
    evalset = golden(tmp_path / "set", parts=("choose", "report"))
    found = fitted(tmp_path, evalset=evalset, target_precision=0.9)
    spec = with_state(check_written(tmp_path / "desk.yaml").spec, found.artifact.state)
    threshold = next(stage.relevance_threshold for stage in spec.stages if isinstance(stage, RankerSpec))
    of, right, total = Builder(evalset)(spec), 0, 0
    for query in evalset.part("choose"):
        ranking = of(**query.asked)
        above = [one for one in (*ranking.results, *ranking.excluded) if one.scores["relevance"] >= threshold]
        right += sum(one.id in query.relevant for one in above)
        total += len(above)
    assert total >= 10
    assert right / total >= 0.9
    assert found.after["precision"].value > found.before["precision"].value


def test_a_review_rate_that_was_aimed_at_is_shown_on_the_held_out_part(tmp_path: Path) -> None:
    found = fitted(tmp_path, "review: {top_score_below: 1.0, ambiguity_margin: 0.0}\n", review_rate=0.4)
    assert found.before["review_rate"].value == 1.0
    assert found.after["review_rate"].value < 0.8
    assert found.thresholds["top_score_below"][1] < 1.0


@pytest.mark.parametrize(
    ("parts", "missing"),
    [(("report",), "choose, which calibration is fitted on"), (("choose", "fit"), "report, which")],
)
def test_a_set_without_one_of_the_parts_is_refused(parts: tuple[str, ...], missing: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=f"no query belongs to the part {missing}"):
        fitted(tmp_path, evalset=golden(tmp_path / "set", parts=parts))


def test_too_few_labels_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="9 relevant judged memories"):
        fitted(tmp_path, evalset=golden(tmp_path / "set", subjects=18))


@pytest.mark.parametrize(
    ("more", "options", "reason"),
    [
        ("", {"target_precision": 0.0}, "above 0 and at most 1, not 0"),
        ("", {"target_precision": float("nan")}, "above 0 and at most 1, not nan"),
        ("", {"review_rate": 1.0}, "from 0 to below 1, not 1"),
        ("high_stakes: true\n", {"review_rate": 0.5}, "every read asks for a person"),
    ],
)
def test_what_cannot_be_aimed_at_is_refused(more: str, options: dict[str, Any], reason: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=reason):
        fitted(tmp_path, more, **options)


@pytest.mark.parametrize(
    "own",
    ["{method: platt, slope: 0.5, intercept: 1}", "{method: isotonic, x: [0, 0.2, 1], 'y': [0.1, 0.4, 0.9]}"],
)
def test_a_calibration_of_the_specs_own_is_compared_with_and_has_no_part_in_the_fit(own: str, tmp_path: Path) -> None:
    evalset = golden(tmp_path / "set")
    path = desk(tmp_path)
    plain = calibrate(check_written(path).spec, Builder(evalset), evalset, Options())
    state = plain.artifact.state["thresholds"].values["relevance_threshold"]
    threshold = float(calibrated(CalibrationSpec.model_validate(yaml.safe_load(own)), np.array([0.01]))[0])
    path.write_text(
        path.read_text().replace("relevance_threshold: 0.01", f"relevance_threshold: {threshold!r}, calibration: {own}")
    )
    found = calibrate(check_written(path).spec, Builder(evalset), evalset, Options())
    assert found.section == plain.section
    assert found.artifact.state["thresholds"].values["relevance_threshold"] == pytest.approx(state)
    assert found.after["ECE"] == plain.after["ECE"]
    assert found.before["ECE"] != plain.before["ECE"]


def test_isotonic_knots_rise_from_0_to_1(tmp_path: Path) -> None:
    section = fitted(tmp_path, method="isotonic").section
    assert section.x is not None
    assert section.y is not None
    assert (section.x[0], section.x[-1]) == (0.0, 1.0)
    assert np.all(np.diff(section.y) > 0)
