"""`memrank eval --calibrate` and `--reads`: what is written, what is printed, and how it ends."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from calling import call
from goldenset import desk, golden
from parsing import assert_self_contained

import memrank
from memrank.checking import check_file
from memrank.cli.eval import eval as eval_command
from memrank.cli.evaloptions import ASKING, MODES, NEEDS, WHY
from memrank.stores import readlog_review as review
from memrank.stores.readlog import ReadLog

NOW = "2026-03-20T09:00:00Z"


@pytest.fixture
def calibrating(tmp_path: Path) -> tuple[object, ...]:
    golden(tmp_path / "set")
    desk(tmp_path)
    return ("eval", tmp_path / "desk.yaml", "--evalset", tmp_path / "set", "--calibrate", "--resamples", 100)


def test_the_artifact_is_written_beside_the_spec_which_is_told(calibrating: tuple[object, ...], tmp_path: Path) -> None:
    done = call(*calibrating)
    assert done.code == 0, done.err
    assert "relevance of the embedded judge calibrated by platt (by the number of pairs)" in done.out
    assert "ECE@10" in done.out
    assert f"write into {tmp_path / 'desk.yaml'}: compiled: desk.compiled.json" in done.err
    before = (tmp_path / "desk.compiled.json").read_bytes()
    with (tmp_path / "desk.yaml").open("a") as stream:
        stream.write("compiled: desk.compiled.json\n")
    assert check_file(tmp_path / "desk.yaml").spec.stages[2].calibration is not None  # type: ignore[union-attr]
    # Once more, over the artifact: the judge is fitted as it is without one.
    again = call(*calibrating)
    assert (again.code, again.out) == (0, done.out)
    assert "to use it" not in again.err
    assert (tmp_path / "desk.compiled.json").read_bytes() == before


def test_one_that_does_not_fit_any_more_can_be_made_anew(calibrating: tuple[object, ...], tmp_path: Path) -> None:
    spec = tmp_path / "desk.yaml"
    assert call(*calibrating).code == 0
    text = spec.read_text().replace("relevance_threshold: 0.01", "relevance_threshold: 0.02")
    spec.write_text(f"{text}compiled: desk.compiled.json\n")
    refused = call("check", spec)
    assert refused.code == 2
    assert "made for another spec, which differs in stages[2].relevance_threshold" in refused.err
    assert call(*calibrating).code == 0
    assert call("check", spec).code == 0


def test_json_holds_everything(calibrating: tuple[object, ...], tmp_path: Path) -> None:
    done = call(*calibrating, "--json", "--out", tmp_path / "a.json", "--method", "isotonic", "-q")
    assert (done.code, done.err) == (0, "")
    body = done.json
    assert body["schema"] == "memrank.calibration/1"
    assert (body["method"], body["chosen"], body["fitted"]["queries"]) == ("isotonic", False, 15)
    assert body["artifact"] == json.loads((tmp_path / "a.json").read_text())
    assert body["before"]["ECE"]["n"] == 15


def test_a_file_that_is_no_artifact_is_not_replaced(calibrating: tuple[object, ...], tmp_path: Path) -> None:
    done = call(*calibrating, "--out", tmp_path / "desk.yaml")
    assert done.code == 2
    assert "it is there already and no artifact" in done.err
    assert (tmp_path / "desk.yaml").read_text().startswith("memrank: 1")


def test_what_cannot_be_fitted_writes_nothing(calibrating: tuple[object, ...], tmp_path: Path) -> None:
    queries = tmp_path / "set" / "queries.jsonl"
    queries.write_text(queries.read_text().replace('-0"]', '-2"]'))  # what answers is what shares nothing
    done = call(*calibrating)
    assert (done.code, done.out) == (3, "")
    assert "nothing to calibrate" in done.err
    assert not (tmp_path / "desk.compiled.json").exists()


def test_an_aim_out_of_reach_says_what_can_be_reached(calibrating: tuple[object, ...], tmp_path: Path) -> None:
    queries = tmp_path / "set" / "queries.jsonl"
    lines = queries.read_text().splitlines()
    changed = [line.replace('-0"]', '-1"]') if k % 4 else line for k, line in enumerate(lines)]
    queries.write_text("\n".join(changed) + "\n")
    done = call(*calibrating, "--target-precision", "1", "--method", "platt")
    assert done.code == 3
    assert "no relevance threshold gives a precision of 1; the best one gives 0." in done.err
    assert not (tmp_path / "desk.compiled.json").exists()


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        (["--calibrate", "--gate"], "--gate does not go with --calibrate"),
        (["--calibrate", "--resume"], "--resume does not go with --calibrate"),
        (["--calibrate", "--no-resume"], "--no-resume does not go with --calibrate"),
        (["--calibrate", "--part", "all"], "--part does not go with --calibrate"),
        (["--calibrate", "--run", "a.run"], "--run does not go with --calibrate"),
        (["--reads", "log.db", "--evalset", "set"], "--evalset does not go with --reads"),
        (["--reads", "log.db", "--jobs", "2"], "--jobs does not go with --reads"),
        (["--reads", "log.db", "--no-resume"], "--no-resume does not go with --reads"),
        (["--reads", "log.db", "--method", "platt"], "--method stands without --calibrate"),
        (["--calibrate", "--part", "report"], "--part does not go with --calibrate"),
        (["--calibrate", "--reads", "log.db"], "--reads does not go with --calibrate"),
        (["--reads", "log.db", "--by", "category"], "--by does not go with --reads"),
        (["other.yaml", "--calibrate"], "--calibrate takes one spec"),
        (["--method", "platt"], "--method stands without --calibrate"),
        (["--out", "a.json"], "--out stands without --calibrate"),
        (["--since", "3d"], "--since stands without --reads"),
        (["--calibrate", "--max-ece", "0.1"], "--max-ece stands without --reads"),
        (["--calibrate", "--target-precision", "nan"], "is not a finite number"),
    ],
)
def test_options_that_do_not_go_together_are_refused(more: list[str], reason: str, tmp_path: Path) -> None:
    done = call("eval", desk(tmp_path), *more)
    assert done.code == 2
    assert reason in done.err
    assert done.out == ""


def test_calibrate_needs_a_spec() -> None:
    done = call("eval", "--calibrate")
    assert (done.code, done.out) == (2, "")


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """Forty reads of which every first result is accepted."""
    golden(tmp_path / "set")
    path = desk(tmp_path, 'reads: {log: "log.db"}\nreview: {top_score_below: 1.0}\n')
    of = memrank.load(path, store=tmp_path / "set" / "memories.jsonl")
    ids = [of(f"Who has the keys of the mill {k}?", as_of=NOW).meta.read_id for k in range(40)]
    assert of.close() is None
    log = ReadLog(tmp_path / "log.db")
    for read_id in ids:
        found = review.find(log, read_id)
        review.decide(log, found, "accepted", at=datetime(2026, 4, 1, tzinfo=UTC), who=None, comment=None)
    log.close()
    return tmp_path / "log.db"


def test_a_gate_says_whether_calibration_holds(log: Path, tmp_path: Path) -> None:
    done = call("eval", "--reads", log, "--gate")
    assert done.code == 1
    assert done.out.startswith("calibration: broken; the error exceeds 0.05 by more than chance")
    assert call("eval", "--reads", log).code == 0
    body = call("eval", tmp_path / "desk.yaml", "--reads", log, "--json", "--max-ece", "1", "--gate")
    assert (body.code, body.json["verdict"], body.json["schema"]) == (0, "holds", "memrank.drift/1")
    assert body.json["reads"] == 40


def test_no_labels_pass_no_gate(log: Path) -> None:
    done = call("eval", "--reads", log, "--since", "2026-04-02", "--gate", "--json")
    assert (done.code, done.json["verdict"], done.json["p"]) == (1, "unknown", None)
    shown = call("eval", "--reads", log, "--since", "2026-04-02")
    assert shown.code == 0
    assert "unknown; at least 30 judged memories of 10 different queries are needed" in shown.out


def test_a_missing_log_is_wrong_data(tmp_path: Path) -> None:
    done = call("eval", "--reads", tmp_path / "none.db")
    assert (done.code, done.out) == (3, "")


def test_every_option_of_the_tables_is_there() -> None:
    declared = {name for option in eval_command.params for name in (*option.opts, *option.secondary_opts)}
    named = {*NEEDS, *NEEDS.values(), *MODES, *ASKING, *(name for names in MODES.values() for name in names)}
    assert named <= declared
    assert {f"{a} with {b}" for b, names in MODES.items() for a in names} >= set(WHY)


def test_a_page_of_before_and_after(calibrating: tuple[object, ...], tmp_path: Path) -> None:
    told = call(*calibrating)
    page = tmp_path / "page.html"
    done = call(*calibrating, "--html", page)
    assert (done.code, done.out) == (0, told.out)
    found = assert_self_contained(page.read_text(encoding="utf-8"))
    for text in ("Reliability, before and after", "relevance_threshold", "fitted on choose", "held out report"):
        assert text in found.text


def test_a_page_never_replaces_what_is_read_or_written(calibrating: tuple[object, ...], tmp_path: Path) -> None:
    artifact = tmp_path / "desk.compiled.json"
    for source in ("desk.yaml", "set/memories.jsonl", "set/queries.jsonl"):
        before = (tmp_path / source).read_bytes()
        done = call(*calibrating, "--html", tmp_path / source)
        assert (done.code, done.out) == (2, "")
        assert "would replace what is read" in done.err
        assert (tmp_path / source).read_bytes() == before
    done = call(*calibrating, "--html", artifact)
    assert done.code == 2
    assert "is where the artifact goes" in done.err
    assert not artifact.exists()


def test_a_page_of_what_reviews_say(log: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    done = call("eval", "--reads", log, "--html", page, "--gate")
    assert done.code == 1
    assert "class" in done.out
    found = assert_self_contained(page.read_text(encoding="utf-8"))
    for text in ("Does calibration still hold?", "broken", "By class", "time-agnostic"):
        assert text in found.text
    before = log.read_bytes()
    refused = call("eval", "--reads", log, "--html", log)
    assert refused.code == 2
    assert log.read_bytes() == before
