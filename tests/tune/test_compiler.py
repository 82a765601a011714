"""The procedure: what is better is taken, what could be chance is not, and the report part is read once, or never."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from compiling import SPEC, known, learnable

from memrank.artifact import State, read, to_dict, write
from memrank.checking import check_file
from memrank.compiled import with_state
from memrank.errors import DataError, UsageError
from memrank.evals.evalset import load
from memrank.evals.labels import Labelled
from memrank.pipeline import Pipeline
from memrank.registry import build
from memrank.spec import Spec
from memrank.speccompile import CompileSpec, ConstraintSpec
from memrank.specfile import parse_spec, spec_sha256
from memrank.tune import bench, compiler
from memrank.tune.compilation import Compiled, Options, Progress

FREE: dict[str, Any] = {"free": ("temporal.half_life.default",), "evaluations": 120}


def compiled(folder: Path, section: CompileSpec | None = None, *, spec: str = SPEC, **options: Any) -> Compiled:
    evalset = load(folder)

    def make(one: Spec) -> Pipeline:
        return build(one, folder, spec_sha256(one), store=evalset.memories)

    chosen = section or CompileSpec(**FREE)
    return compiler.compile_spec(parse_spec(spec), make, evalset, chosen, Options(**{"curve": False} | options))


def test_a_real_gain_is_taken_and_holds_on_the_report_part(tmp_path: Path) -> None:
    counted: list[str] = []
    found = compiled(learnable(tmp_path, queries=120), reading=lambda key: counted.append(key) or len(counted))
    assert found.accepted
    assert found.artifact is not None
    assert found.gain is not None
    assert found.gain.low > 0
    assert (found.report_reads, len(counted)) == (1, 1)
    assert counted == [found.artifact.data["report_sha256"]]
    assert found.artifact.metrics["after"]["nDCG@10"].value > found.artifact.metrics["before"]["nDCG@10"].value
    assert found.artifact.metrics["after"]["nDCG@10"].low is not None
    assert not any(name.startswith("latency") for name in found.artifact.metrics["after"])
    assert set(found.artifact.state) == {"parameters"}


@pytest.mark.parametrize("free", [("half_life",), ("half_life", "kernel", "composite")])
def test_the_artifact_gives_the_pipeline_that_was_measured(free: tuple[str, ...], tmp_path: Path) -> None:
    found = compiled(learnable(tmp_path), CompileSpec(free=free, evaluations=300))
    assert found.artifact is not None
    path = known(tmp_path)
    write(tmp_path / "known.compiled.json", found.artifact)
    path.write_text(f"{path.read_text()}compiled: known.compiled.json\n")
    spec = check_file(path).spec
    assert spec == with_state(parse_spec(SPEC), found.artifact.state)
    assert spec.stages != parse_spec(SPEC).stages


@pytest.mark.parametrize("seed", range(3))
def test_what_could_be_chance_is_not_taken_and_the_report_part_is_not_read(seed: int, tmp_path: Path) -> None:
    def never(key: str) -> int:
        raise AssertionError(key)

    found = compiled(learnable(tmp_path, shuffled=seed), CompileSpec(**FREE, seed=seed), reading=never)
    assert not found.accepted
    assert (found.artifact, found.gain, found.report_reads) == (None, None, 0)
    assert "chance" in found.why or "no other setting" in found.why


def test_the_report_part_is_measured_only_after_the_choice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[set[str]] = []
    plain = bench.evaluate

    def watched(pipeline: Any, evalset: Any, queries: Sequence[Labelled], **more: Any) -> Any:
        asked.append({query.id for query in queries})
        return plain(pipeline, evalset, queries, **more)

    monkeypatch.setattr(bench, "evaluate", watched)
    found = compiled(learnable(tmp_path, queries=120))
    report = {query.id for query in found.parts.report}
    touched = [bool(names & report) for names in asked]
    assert touched == [False] * (len(asked) - 2) + [True, True]
    assert asked[-1] == asked[-2] == report


def test_the_same_seed_gives_the_same_artifact_whatever_the_jobs(tmp_path: Path) -> None:
    learnable(tmp_path / "set")
    section = CompileSpec(free=("half_life", "composite"), evaluations=300)
    for jobs in (1, 4):
        found = compiled(tmp_path / "set", section, jobs=jobs, curve=True)
        assert found.artifact is not None
        write(tmp_path / f"{jobs}.json", found.artifact)
    assert (tmp_path / "1.json").read_bytes() == (tmp_path / "4.json").read_bytes()
    assert to_dict(read(tmp_path / "1.json"))["search"]["evaluations"] > 1


def test_settings_that_miss_a_constraint_are_not_taken(tmp_path: Path) -> None:
    section = CompileSpec(**FREE, constraints={"R@1": ConstraintSpec(max=0.1)})
    found = compiled(learnable(tmp_path), section)
    assert not found.accepted
    if found.candidates:
        (miss,) = found.candidates[0].missed
        assert miss.metric == "R@1"
        assert math.isclose(miss.by, miss.value - 0.1)
        assert f"R@1 is {miss.value:.4g}, {miss.by:.4g} above its max of 0.1" in found.why


def test_constraints_that_nothing_keeps_are_told(tmp_path: Path) -> None:
    found = compiled(learnable(tmp_path), CompileSpec(**FREE, constraints={"R@50": ConstraintSpec(min=2)}))
    assert found.unreachable
    assert found.start.missed[0].by == pytest.approx(1.0)


def test_a_constraint_of_the_whole_pipeline_is_kept_when_choosing(tmp_path: Path) -> None:
    found = compiled(learnable(tmp_path), CompileSpec(**FREE, constraints={"latency_p95": ConstraintSpec(max=0)}))
    assert not found.accepted
    assert {miss.metric for miss in found.start.missed} == {"latency_p95"}
    kept = compiled(tmp_path, CompileSpec(**FREE, constraints={"lm_calls": ConstraintSpec(max=2)}))
    assert kept.accepted


def test_small_sets_are_chosen_by_in_nested_folds(tmp_path: Path) -> None:
    phases: list[str] = []
    found = compiled(learnable(tmp_path), progress=lambda one: phases.append(one.phase))
    assert found.parts.folds
    assert found.candidates[0].gain is not None
    assert found.candidates[0].gain.n == len(found.parts.both)
    assert {f"fold {k} of 4" for k in (1, 2, 3, 4)} <= set(phases)


def test_a_search_that_is_stopped_goes_on_with_the_best_so_far(tmp_path: Path) -> None:
    learnable(tmp_path, queries=120)

    def impatient(progress: Progress) -> None:
        if progress.phase == "searching" and progress.done > 20:
            raise KeyboardInterrupt

    found = compiled(tmp_path, progress=impatient, curve=True)
    assert found.found.stopped
    assert found.learning == ()
    assert "the search was stopped: what follows is of the best so far" in found.notes
    assert found.candidates


def test_one_that_is_interrupted_while_it_measures_ends(tmp_path: Path) -> None:
    def impatient(progress: Progress) -> None:
        if progress.phase.startswith("choosing") and progress.done:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        compiled(learnable(tmp_path), progress=impatient)


def test_labels_that_leak_are_refused_by_the_name_of_the_feature(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="the labels leak: how the id begins alone tells"):
        compiled(learnable(tmp_path, leak="gold"))


@pytest.mark.parametrize(
    ("spec", "section", "reason"),
    [
        (SPEC, CompileSpec(objective="ECE"), "ECE cannot be an objective"),
        (SPEC, CompileSpec(optimizer="gepa"), "the optimizer gepa tunes what a language model is told"),
        (SPEC, CompileSpec(free=("pruner",)), "nothing of the spec is free"),
        (SPEC, CompileSpec(free=("pruner.keep_below",)), "the spec known has no pruner.keep_below"),
        (SPEC[: SPEC.index("  - {kind: ranker")], CompileSpec(), "has no ranker: there is nothing to compile"),
    ],
)
def test_what_cannot_be_compiled_is_refused(spec: str, section: CompileSpec, reason: str, tmp_path: Path) -> None:
    learnable(tmp_path)
    with pytest.raises(UsageError, match=reason):
        compiled(tmp_path, section, spec=spec)


def test_values_of_an_artifact_are_checked_like_any_other() -> None:
    spec = parse_spec(SPEC)
    for values, reason in (
        ({"ranker.relevance_threshold": 7.0}, "its values are wrong"),
        ({"ranker.colour": 1.0}, "there is no free parameter 'ranker.colour'"),
        ({"pruner.keep_below": 0.1}, "has no pruner.keep_below"),
        ({"ranker.min_score": (0.1,)}, "its parameter ranker.min_score is a list"),
    ):
        with pytest.raises(ValueError, match=reason):
            with_state(spec, {"parameters": State(values=values)})  # type: ignore[arg-type]


def test_a_judge_with_other_coefficients_is_calibrated_anew_or_it_is_said_why_not(tmp_path: Path) -> None:
    section = CompileSpec(free=("temporal.half_life.default", "judge"), evaluations=400)
    found = compiled(learnable(tmp_path, queries=80), section)
    assert found.artifact is not None
    changed = any("coefficients" in path for path in found.artifact.state["parameters"].values)
    assert changed == any("calibrated anew" in note for note in found.notes)
