"""`memrank compile` and `memrank artifact`: what is written, what is printed, and how it ends."""

import json
import os
import stat
import subprocess
import sys
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import jsonschema
import pytest
from calling import call
from compiling import known, learnable
from parsing import assert_self_contained

from memrank.artifact import State, read, write
from memrank.cli.compiling import Clock

SCHEMA = json.loads(files("memrank.data").joinpath("compile.schema.json").read_text(encoding="utf-8"))
QUICK = ("--free", "half_life", "--evaluations", 60, "--no-curve", "--resamples", 200)


@pytest.fixture
def compiling(tmp_path: Path) -> tuple[object, ...]:
    learnable(tmp_path / "set")
    return ("compile", known(tmp_path), "--evalset", tmp_path / "set", *QUICK)


def test_the_artifact_is_written_beside_the_spec_and_counts(compiling: tuple[object, ...], tmp_path: Path) -> None:
    done = call(*compiling)
    assert done.code == 0, done.err
    assert done.out.startswith("known on set: improved\n")
    assert "on the report part, read once" in done.out
    assert f"write into {tmp_path / 'known.yaml'}: compiled: known.compiled.json" in done.err
    first = (tmp_path / "known.compiled.json").read_bytes()
    asked = ("eval", tmp_path / "known.yaml", "--evalset", tmp_path / "set", "--part", "all", "--json", "-q")
    before = call(*asked).json["figures"]["nDCG@10"]["value"]
    with (tmp_path / "known.yaml").open("a") as stream:
        stream.write("compiled: known.compiled.json\n")
    assert call("check", tmp_path / "known.yaml").code == 0
    assert call(*asked).json["figures"]["nDCG@10"]["value"] > before
    again = call(*compiling)
    assert (again.code, (tmp_path / "known.compiled.json").read_bytes()) == (0, first)
    assert "read 2 times by now" in again.out
    assert "the report part was read 2 times by now" in again.err


def test_json_is_as_its_schema_says(compiling: tuple[object, ...], tmp_path: Path) -> None:
    done = call(*compiling, "--json", "-q", "--out", tmp_path / "a.json")
    assert (done.code, done.err) == (0, "")
    jsonschema.validate(done.json, SCHEMA)
    assert done.json["artifact"] == json.loads((tmp_path / "a.json").read_text())
    assert (done.json["accepted"], done.json["report_reads"]) == (True, 1)


def test_no_improvement_leaves_what_was_there(tmp_path: Path) -> None:
    learnable(tmp_path / "set", shuffled=3)
    spec = known(tmp_path)
    learnable(tmp_path / "other")
    assert call("compile", spec, "--evalset", tmp_path / "other", *QUICK, "-q").code == 0
    before = (tmp_path / "known.compiled.json").read_bytes()
    reads = (tmp_path / "report-reads.json").read_bytes()
    done = call("compile", spec, "--evalset", tmp_path / "set", *QUICK)
    assert done.code == 0
    assert "no improvement found; the old settings stay" in done.out
    assert "stays as it was" in done.err
    assert (tmp_path / "known.compiled.json").read_bytes() == before
    assert (tmp_path / "report-reads.json").read_bytes() == reads
    told = call("compile", spec, "--evalset", tmp_path / "set", *QUICK, "--json", "-q")
    jsonschema.validate(told.json, SCHEMA)
    assert (told.json["artifact"], told.json["out"], told.json["gain"]) == (None, None, None)


def test_a_page_stands_alone(compiling: tuple[object, ...], tmp_path: Path) -> None:
    assert call(*compiling, "--html", tmp_path / "a.html", "--curve", "-q").code == 0
    page = (tmp_path / "a.html").read_text()
    assert_self_contained(page)
    for heading in ("Search", "Learning curve", "Calibration", "Decay", "Parameters", "Measures, before and after"):
        assert heading in page
    (tmp_path / "report-reads.json").unlink()
    assert call(*compiling, "--html", tmp_path / "b.html", "--curve", "-q", "--jobs", 4).code == 0
    assert (tmp_path / "b.html").read_text() == page


def test_constraints_that_nothing_keeps_exit_with_1(tmp_path: Path) -> None:
    learnable(tmp_path / "set")
    spec = known(tmp_path, "compile: {constraints: {MRR: {max: 0.01}}, free: [half_life], evaluations: 40}\n")
    done = call("compile", spec, "--evalset", tmp_path / "set", "--no-curve", "--json")
    assert done.code == 1
    jsonschema.validate(done.json, SCHEMA)
    (miss,) = done.json["old"]["missed"]
    assert (miss["metric"], miss["bound"], miss["side"]) == ("MRR", 0.01, "max")
    assert miss["by"] == pytest.approx(miss["value"] - 0.01)


@pytest.mark.parametrize(
    ("more", "code", "reason"),
    [
        (["--objective", "beauty"], 2, "there is no such metric"),
        (["--objective", "nDCG@10=x"], 2, "'x' is no number"),
        (["--objective", "nDCG@10=-1"], 2, "allowed"),
        (["--objective", "latency_p95"], 2, "latency_p95 cannot be an objective"),
        (["--free", "beauty"], 2, "compile.free[0]: there is no such parameter"),
        (["--free", "pruner"], 2, "nothing of the spec is free"),
        (["--free", "temporal.half_life.default=9d..1d"], 2, "do not rise"),
        (["--optimizer", "gepa"], 2, "the optimizer gepa"),
        (["--evaluations", "1"], 2, "--evaluations"),
        (["--max-calls", "0"], 2, "--max-calls"),
        (["--out", "{tmp}/known.yaml"], 2, "it is there already and no artifact"),
        (["--out", "{tmp}/none/a.json"], 3, "there is no folder"),
        (["--html", "{tmp}/known.yaml"], 2, "--html"),
        (["--evalset", "{tmp}/none"], 3, "no evalset there"),
    ],
)
def test_what_is_wrong_is_said_before_anything_is_written(
    compiling: tuple[object, ...], more: list[str], code: int, reason: str, tmp_path: Path
) -> None:
    before = (tmp_path / "known.yaml").read_bytes()
    done = call(*compiling, *(one.replace("{tmp}", str(tmp_path)) for one in more))
    assert (done.code, done.out) == (code, ""), done.err
    assert reason in done.err
    assert "Traceback" not in done.err
    assert (tmp_path / "known.yaml").read_bytes() == before
    assert not list(tmp_path.glob("*.json"))


def test_several_objectives_and_bounds_may_be_given(compiling: tuple[object, ...]) -> None:
    bounds = "temporal.half_life.default=1h..9d,composite"
    done = call(*compiling, "--objective", "nDCG@10=.7,MRR=.3", "--free", bounds, "--json", "-q")
    assert done.code == 0, done.err
    assert done.json["objective"] == {"nDCG@10": 0.7, "MRR": 0.3}
    assert 3600 <= done.json["parameters"]["temporal.half_life.default"]["after"] <= 3650 * 86400


def test_the_artifact_of_another_spec_is_not_replaced(compiling: tuple[object, ...], tmp_path: Path) -> None:
    assert call(*compiling, "-q").code == 0
    path = tmp_path / "known.compiled.json"
    before = path.read_bytes()
    other = tmp_path / "other.yaml"
    other.write_text((tmp_path / "known.yaml").read_text().replace("name: known", "name: other"))
    done = call("compile", other, *compiling[2:], "--out", path)
    assert (done.code, done.out) == (2, "")
    assert "it is the artifact of the spec known, not of other" in done.err
    assert path.read_bytes() == before


def test_a_spec_without_a_ranker_and_a_set_that_is_too_small_are_refused(tmp_path: Path) -> None:
    learnable(tmp_path / "set", queries=12)
    spec = known(tmp_path)
    done = call("compile", spec, "--evalset", tmp_path / "set", *QUICK)
    assert (done.code, done.out) == (3, "")
    assert "the set is too small to compile on" in done.err
    assert "20 needed" in done.err
    spec.write_text(spec.read_text().partition("  - {kind: ranker")[0])
    done = call("compile", spec, "--evalset", tmp_path / "set", *QUICK)
    assert (done.code, done.out) == (2, "")


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root writes anywhere")
def test_a_folder_that_is_read_only_is_refused_before_the_search(compiling: tuple[object, ...], tmp_path: Path) -> None:
    place = tmp_path / "locked"
    place.mkdir()
    place.chmod(stat.S_IRUSR | stat.S_IXUSR)
    done = call(*compiling, "--out", place / "a.json")
    assert (done.code, done.out) == (3, "")
    assert "read-only" in done.err


def test_a_count_that_is_none_is_told_before_the_search(compiling: tuple[object, ...], tmp_path: Path) -> None:
    (tmp_path / "report-reads.json").write_text("[]")
    done = call(*compiling)
    assert (done.code, done.out) == (3, "")
    assert "is no count of readings" in done.err


def test_one_that_was_made_for_other_stages_is_refused_with_the_reason(
    compiling: tuple[object, ...], tmp_path: Path
) -> None:
    assert call(*compiling, "-q").code == 0
    spec = tmp_path / "known.yaml"
    spec.write_text(f"{spec.read_text().replace('3650d', '365d')}compiled: known.compiled.json\n")
    done = call("check", spec)
    assert done.code == 2
    assert "made for another spec, which differs in stages[1].half_life" in done.err


def test_artifacts_are_shown_and_told_apart(compiling: tuple[object, ...], tmp_path: Path) -> None:
    a, b = tmp_path / "a.json", tmp_path / "b.json"
    assert call(*compiling, "-q", "-o", a).code == 0
    assert call(*compiling, "-q", "-o", b, "--seed", 5).code == 0
    shown = call("artifact", "show", a)
    assert shown.code == 0
    assert "temporal.half_life.default" in shown.out
    assert call("artifact", "show", a, "--json").json == json.loads(a.read_text())
    assert call("artifact", "diff", a, a).out == "the artifacts are the same\n"
    told = call("artifact", "diff", a, b, "--json").json
    assert (told["schema"], told["differ"]) == ("memrank.artifactdiff/1", True)
    by_name = {(one["section"], one["name"]): one for one in told["entries"]}
    assert (by_name["about", "seed"]["first"], by_name["about", "seed"]["second"]) == ("20260320", "5")
    text = call("artifact", "diff", a, b).out
    assert "temporal.half_life.default" in text
    assert call("artifact", "diff", a, tmp_path / "none.json").code == 3


def test_instructions_are_compared_line_by_line_and_made_inert(compiling: tuple[object, ...], tmp_path: Path) -> None:
    a, b = tmp_path / "a.json", tmp_path / "b.json"
    assert call(*compiling, "-q", "-o", a).code == 0
    made = read(a)
    for path, last in ((a, "Be brief."), (b, "Be \x1b[31mlong.")):
        prompt = State(values={"instructions": f"Judge each memory.\n{last}", "demos": "[]"})
        write(path, replace(made, state={**made.state, "prompt.judge": prompt}))
    told = call("artifact", "diff", a, b).out
    assert "-Be brief." in told
    assert "+Be " in told
    assert "\x1b" not in told
    assert " Judge each memory." in told


def test_the_first_interrupt_ends_the_search_and_the_answer_follows(
    compiling: tuple[object, ...], tmp_path: Path
) -> None:
    """The signal comes from within, so that it meets the search whatever the machine's load."""
    code = """
import os, signal, sys
from memrank.tune import compiler
from memrank.cli.main import main
plain = compiler.search
def search(*given, progress=None, **more):
    def told(step):
        if step.evaluations > 5:
            os.kill(os.getpid(), signal.SIGINT)
        progress(step)
    return plain(*given, progress=told, **more)
compiler.search = search
main(sys.argv[1:])
"""
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    command = [sys.executable, "-c", code, *map(str, compiling)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "stopped early" in done.stdout
    assert "the search was stopped: what follows is of the best so far" in done.stderr


def test_what_is_left_is_told_by_what_was_done() -> None:
    now = [0.0]
    clock = Clock(lambda: now[0])

    def at(phase: str, done: int, seconds: float) -> float | None:
        now[0] = seconds
        told: Any = SimpleNamespace(phase=phase, done=done, total=100)
        return clock.left(told)

    assert at("searching", 0, 1) is None
    assert at("searching", 25, 11) == pytest.approx(30)
    assert at("choosing", 0, 20) is None
    assert at("choosing", 50, 22) == pytest.approx(2)
