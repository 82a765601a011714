"""Artifacts in a spec: their values count, and one that was made for something else is refused at its place."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from goldenset import desk
from hypothesis import given
from hypothesis import strategies as st
from reading import NOW, canonical, pipeline, read, record

import memrank
from memrank.artifact import Artifact, State, write
from memrank.calibration import calibrated
from memrank.checking import check_file, check_written
from memrank.compiled import applied, bound_json, made_with, with_state
from memrank.errors import DataError, SpecError
from memrank.registry import build
from memrank.spec import RankerSpec, Spec
from memrank.speccalibration import CalibrationSpec
from memrank.specfile import SpecFile, parse_spec, spec_sha256
from memrank.stores.readlog import ReadLog

PLATT = {"method": "platt", "slope": 0.5, "intercept": 1.0}
KNOTS = {"method": "isotonic", "x": (0.0, 0.5, 1.0), "y": (0.0, 0.2, 1.0)}
THRESHOLDS = {"relevance_threshold": 0.3, "top_score_below": 0.1, "ambiguity_margin": 0.01}
MEMORIES = [record("a"), record("b", "The rate was three percent."), record("c", "Nobody was in.")]


def states(calibration: Mapping[str, Any] = PLATT, thresholds: Mapping[str, Any] = THRESHOLDS) -> dict[str, State]:
    return {"calibration.embedded": State(values=calibration), "thresholds": State(values=thresholds)}


def compiled(folder: Path, more: str = "", **changes: Any) -> Path:
    """A spec whose artifact was made for it, but for the changes."""
    path = desk(folder, more)
    spec = check_written(path).spec
    made = Artifact(
        name="desk", spec=bound_json(spec), versions=made_with(spec), seed=0, data={}, state=states(), metrics={}
    )
    write(folder / "desk.compiled.json", replace(made, **changes))
    with path.open("a") as stream:
        stream.write("compiled: desk.compiled.json\n")
    return path


def ranker(spec: Spec) -> RankerSpec:
    return next(stage for stage in spec.stages if isinstance(stage, RankerSpec))


@pytest.mark.parametrize("calibration", [PLATT, KNOTS])
def test_values_of_an_artifact_are_those_of_the_spec(calibration: dict[str, Any], tmp_path: Path) -> None:
    file = check_file(compiled(tmp_path, state=states(calibration)))
    found = ranker(file.spec)
    assert found.calibration == CalibrationSpec.model_validate(calibration)
    assert found.relevance_threshold == 0.3
    assert (file.spec.review.top_score_below, file.spec.review.ambiguity_margin) == (0.1, 0.01)
    assert file.spec.compiled is None
    assert file.sha256 == spec_sha256(file.spec) != spec_sha256(check_written(file.path).spec)
    again = memrank.load(file.path)
    assert again.spec == file.spec
    assert again.spec_sha256 == file.sha256


def test_a_pipeline_built_of_the_bare_spec_has_them_too(tmp_path: Path) -> None:
    written: SpecFile = check_written(compiled(tmp_path))
    built = build(written.spec, written.folder, written.sha256)
    assert built.spec == check_file(written.path).spec
    assert built.spec_sha256 == check_file(written.path).sha256


def test_relevance_is_what_the_map_makes_of_it() -> None:
    said = {"a": 0.9, "b": 0.5, "c": 0.02}
    plain = pipeline(relevance=said)
    mapped = pipeline(relevance=said, ranker={"calibration": PLATT})
    section = CalibrationSpec.model_validate(PLATT)
    wanted = dict(zip(said, calibrated(section, np.array(list(said.values()))).tolist(), strict=True))
    assert {one.id: one.scores["relevance"] for one in read(mapped, MEMORIES).results} == wanted
    assert {one.id: one.scores["relevance"] for one in read(plain, MEMORIES).results} == said


def test_what_supersedes_inherits_calibrated_relevance() -> None:
    rows = [record("old", days=9, superseded_by="new"), record("new", days=1)]
    found = read(pipeline(relevance={"old": 0.8, "new": 0.1}, ranker={"calibration": PLATT}), rows, rank_only=True)
    relevance = {one.id: one.scores["relevance"] for one in found.results}
    assert relevance["new"] == relevance["old"] == calibrated(CalibrationSpec.model_validate(PLATT), np.array([0.8]))[0]


def test_a_recorded_read_is_replayed_without_the_artifact(tmp_path: Path) -> None:
    from memrank.replay import Sources, replay

    path = compiled(tmp_path, 'reads: {log: "log.db"}\n')
    of = memrank.load(path)
    ranking = of("rate", as_of=NOW, memories=MEMORIES)
    assert of.close() is None
    (tmp_path / "desk.compiled.json").unlink()
    log = ReadLog(tmp_path / "log.db")
    found = replay(log, log.load(ranking.meta.read_id), [], Sources())
    assert found.reproduced
    assert found.since == ()


def test_without_an_artifact_nothing_changes(tmp_path: Path) -> None:
    spec = check_file(desk(tmp_path)).spec
    assert applied(spec, tmp_path) is spec
    assert canonical(read(pipeline(), MEMORIES)) == canonical(read(pipeline(ranker={"calibration": None}), MEMORIES))


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"versions": {"model": "m", "analyzer": "a"}}, "made with the model m; this is embedded-"),
        ({"versions": {}}, "made with the model of an unknown version; this is"),
        ({"state": states({"method": "platt", "slope": 1.0})}, "has the fields .method: text, slope: number.; this"),
        ({"state": states({**PLATT, "slope": -1.0})}, "its values are wrong: .*slope"),
        ({"state": states({**PLATT, "method": "spline"})}, "its values are wrong: .*method"),
        ({"state": states(PLATT, {**THRESHOLDS, "relevance_threshold": 1.5})}, "values are wrong: .*threshold"),
        ({"state": states(PLATT, {"relevance_threshold": 0.5})}, "thresholds has the fields"),
        ({"state": {"calibration.lm": State(values=PLATT)}}, "holds 'calibration.lm', which this memrank does not"),
        ({"state": {"demos": State(values={})}}, "holds 'demos'"),
        ({"spec": '{"memrank":9}'}, "a spec that is none any more"),
    ],
)
def test_one_made_for_something_else_is_refused_at_its_place(
    changes: dict[str, Any], reason: str, tmp_path: Path
) -> None:
    path = compiled(tmp_path, **changes)
    with pytest.raises(SpecError, match=rf"desk.yaml:9:11: compiled: desk.compiled.json: .*{reason}"):
        check_file(path)
    written = check_written(path)
    with pytest.raises(DataError, match=reason):
        build(written.spec, written.folder, written.sha256)


@pytest.mark.parametrize(
    ("before", "after", "differs"),
    [
        ("relevance_threshold: 0.01", "relevance_threshold: 0.02", r"stages\[2\].relevance_threshold"),
        ("{kind: prefilter.hybrid.v1}", "{kind: prefilter.hybrid.v1, top_k: 9}", r"stages\[0\].top_k"),
        ("embedder: none", "embedder: wordllama", "index.embedder"),
    ],
)
def test_a_changed_spec_is_told_by_what_differs(before: str, after: str, differs: str, tmp_path: Path) -> None:
    path = compiled(tmp_path)
    path.write_text(path.read_text().replace(before, after))
    with pytest.raises(SpecError, match=f"made for another spec, which differs in {differs};"):
        check_file(path)


def test_what_it_does_not_depend_on_may_change(tmp_path: Path) -> None:
    path = compiled(tmp_path)
    text = path.read_text().replace("name: desk", "name: other\ndescription: changed\nreview: {ambiguity_top: 5}")
    path.write_text(text.replace("relevance_threshold: 0.01", "combine: weighted, relevance_threshold: 0.010"))
    review = check_file(path).spec.review
    assert (review.ambiguity_top, review.top_score_below) == (5, 0.1)


def test_a_missing_artifact_is_a_fault_of_the_spec(tmp_path: Path) -> None:
    path = compiled(tmp_path)
    (tmp_path / "desk.compiled.json").unlink()
    with pytest.raises(SpecError, match=r"compiled: .*desk.compiled.json: there is no such file"):
        check_file(path)
    assert check_written(path).spec.compiled == "desk.compiled.json"


@pytest.mark.parametrize(
    ("section", "reason"),
    [
        ("{method: platt, slope: 1}", "needs other numbers; allowed: intercept and slope"),
        ("{method: platt, slope: 0, intercept: 0}", "slope"),
        ("{method: isotonic, x: [0, 1], y: [0, 1], slope: 1}", "needs other numbers; allowed: x and y"),
        ("{method: isotonic, x: [0, 0.5, 1], y: [0, 1]}", "3 x and 2 y"),
        ("{method: isotonic, x: [0, 0.5, 0.5, 1], y: [0, 0, 0, 1]}", "do not rise from 0 to 1"),
        ("{method: isotonic, x: [0.1, 1], y: [0, 1]}", "do not rise from 0 to 1"),
        ("{method: isotonic, x: [0, 0.5, 1], y: [0, 0.5, 0.4]}", "y of calibration fall"),
    ],
)
def test_a_calibration_that_is_no_map_is_a_fault(section: str, reason: str) -> None:
    text = (
        "memrank: 1\nname: a\nstages:\n- {kind: prefilter.hybrid.v1}\n- {kind: temporal.v1}\n"
        f"- {{kind: ranker.v1, calibration: {section}}}\n"
    )
    with pytest.raises(SpecError, match=reason):
        parse_spec(text)


@given(st.floats(0.01, 10), st.floats(-5, 5), st.lists(st.floats(0, 1), min_size=2, max_size=20))
def test_calibration_never_reverses_an_order(slope: float, intercept: float, said: list[float]) -> None:
    section = CalibrationSpec(method="platt", slope=slope, intercept=intercept)
    found = calibrated(section, np.sort(np.array(said)))
    assert np.all(np.diff(found) >= 0)
    assert np.all((found >= 0) & (found <= 1))


def test_a_spec_without_a_ranker_takes_no_state() -> None:
    spec = parse_spec("memrank: 1\nname: a\nstages:\n- {kind: prefilter.hybrid.v1}\n")
    with pytest.raises(ValueError, match="no ranker"):
        with_state(spec, states())
