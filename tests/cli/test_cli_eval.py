"""`memrank eval`: figures on stdout, gates as exit codes, and a run that was killed goes on."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from calling import Answer, call, spawn, start
from golden import QUERIES, SPEC, write_set

EVALUATE = "evaluate: {evalset: set, gates: {%s}}\n"
SCHEMA = json.loads(files("memrank.data").joinpath("eval.schema.json").read_text(encoding="utf-8"))


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Journals go to a folder of the test's."""
    for name in ("XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.setenv(name, str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    """The spec `desk.yaml` whose golden set is `set`."""
    write_set(tmp_path / "set")
    return write_spec(tmp_path / "desk.yaml", '"R@5": {min: 0.2}')


def write_spec(path: Path, gates: str = "", text: str = SPEC) -> Path:
    path.write_text(text + EVALUATE % gates)
    return path


def journals(cache: Path) -> list[Path]:
    return sorted(cache.rglob("*.jsonl"))


def without_time(body: dict[str, Any]) -> dict[str, Any]:
    figures = {name: one for name, one in body["figures"].items() if not name.startswith("latency_")}
    by = {
        name: {key: one for key, one in of.items() if not key.startswith("latency_")}
        for name, of in body["by_category"].items()
    }
    outcomes = [{key: value for key, value in one.items() if key != "latency_ms"} for one in body["outcomes"]]
    return {**body, "figures": figures, "by_category": by, "outcomes": outcomes}


def test_a_table_for_people(spec: Path, cache: Path) -> None:
    answer = call("eval", spec)
    assert answer.code == 0
    lines = answer.out.splitlines()
    assert lines[0] == "desk on set, all parts"
    assert lines[1] == "5 queries: 3 scored, 1 failed, 1 unscored"
    assert any(line.startswith("nDCG@10 ") for line in lines)
    assert any(line.startswith("gate R@5 >= 0.2: ") and line.endswith(", passed") for line in lines)
    assert lines[-1].startswith("failed: stranger: ")
    assert answer.err == ""
    assert journals(cache) == []


def test_categories(spec: Path) -> None:
    assert "stale-twin" not in call("eval", spec).out
    assert "stale-twin" in call("eval", spec, "--by", "category").out


def test_json_keeps_to_its_schema_and_a_seed_to_its_figures(spec: Path) -> None:
    answer = call("eval", spec, "--json", "--resamples", 200)
    assert answer.code == 0
    jsonschema.Draft202012Validator(SCHEMA).validate(answer.json)
    assert answer.json["resamples"] == 200
    again = call("eval", spec, "--json", "--resamples", 200, "--jobs", 4, "--no-resume")
    assert without_time(again.json) == without_time(answer.json)
    other = call("eval", spec, "--json", "--resamples", 200, "--seed", 3)
    assert other.json["seed"] == 3


@pytest.mark.parametrize(
    ("part", "ids"), [("fit", ["when"]), ("choose", ["closed"]), ("report", ["nothing", "stranger", "open"])]
)
def test_a_part_of_the_set(spec: Path, part: str, ids: list[str]) -> None:
    body = call("eval", spec, "--json", "--part", part).json
    assert [one["query_id"] for one in body["outcomes"]] == ids
    assert (body["part"], body["queries"]) == (part, len(ids))


def test_gates_are_exit_codes_only_where_it_is_asked(spec: Path) -> None:
    assert call("eval", spec, "--gate").code == 0
    write_spec(spec, '"R@5": {min: 0.2}, "nDCG@7": {min: 0.9}')
    answer = call("eval", spec, "--gate")
    assert answer.code == 1
    assert answer.err == "1 of 2 gates failed\n"
    assert "gate nDCG@7 >= 0.9: " in answer.out
    assert call("eval", spec).code == 0
    quiet = call("eval", spec, "--gate", "--quiet", "--json")
    assert (quiet.code, quiet.err) == (1, "")
    assert [gate["passed"] for gate in quiet.json["gates"]] == [True, False]


def test_a_gate_without_figures_fails(spec: Path) -> None:
    write_spec(spec, '"P@3": {min: 0.1}')
    answer = call("eval", spec, "--gate")
    assert answer.code == 1
    assert "gate P@3 >= 0.1: not measured, FAILED" in answer.out


def test_a_page_beside_the_answer(spec: Path, tmp_path: Path) -> None:
    answer = call("eval", spec, "--json", "--html", tmp_path / "page.html")
    assert answer.code == 0
    assert answer.json["spec"] == "desk"
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert page.lower().startswith("<!doctype html>")
    assert "desk" in page


def test_several_side_by_side(spec: Path, tmp_path: Path) -> None:
    worse = write_spec(tmp_path / "worse.yaml", '"R@5": {min: 0.99}', SPEC.replace("name: desk", "name: worse"))
    answer = call("eval", spec, worse, "--html", tmp_path / "page.html")
    assert answer.code == 0
    assert "worse against desk" in answer.out
    assert "worse: gate R@5 >= 0.99: " in answer.out
    assert "worse" in (tmp_path / "page.html").read_text(encoding="utf-8")
    body = call("eval", spec, worse, "--json").json
    assert body["schema"] == "memrank.comparison/1"
    assert [one["spec"] for one in body["reports"]] == ["desk", "worse"]
    for one in body["reports"]:
        jsonschema.Draft202012Validator(SCHEMA).validate(one)
    assert call("eval", spec, worse, "--gate").code == 1
    assert "by category" not in answer.out
    by = call("eval", spec, worse, "--by", "category").out
    assert by.index("desk by category") < by.index("worse by category")
    assert by.count("stale-twin") >= 2


def test_specs_of_one_name_are_told_apart_by_their_files(spec: Path, tmp_path: Path) -> None:
    other = write_spec(tmp_path / "other.yaml")
    body = call("eval", spec, other, "--json").json
    assert [one["spec"] for one in body["reports"]] == [str(spec), str(other)]


def test_the_golden_set_may_be_named(spec: Path, tmp_path: Path) -> None:
    other = write_set(tmp_path / "other", QUERIES[:1])
    body = call("eval", spec, "--evalset", other, "--json").json
    assert (body["evalset"], body["queries"]) == ("other", 1)


def test_the_log_and_the_cache_of_a_spec_are_left_alone(spec: Path) -> None:
    spec.write_text(spec.read_text() + "reads: {log: reads.db, cache: {size: 10}}\n")
    assert call("eval", spec).code == 0
    assert not spec.with_name("reads.db").exists()


def test_bad_lines_are_told_on_stderr(spec: Path) -> None:
    queries = spec.parent / "set" / "queries.jsonl"
    queries.write_text("{broken\n" + queries.read_text())
    answer = call("eval", spec, "--json")
    assert answer.code == 0
    assert "bad_query_line" in answer.err
    assert answer.json["queries"] == 5
    assert call("eval", spec, "--quiet").err == ""


def refused(answer: Answer, code: int, text: str) -> None:
    assert answer.code == code
    assert text in answer.err
    assert "Traceback" not in answer.err
    assert answer.out == ""


def test_what_makes_no_sense_is_refused(spec: Path, tmp_path: Path) -> None:
    bare = tmp_path / "bare.yaml"
    bare.write_text(SPEC)
    refused(call("eval"), 2, "no spec is named")
    refused(call("eval", bare), 2, "no golden set is named")
    refused(call("eval", tmp_path / "missing.yaml"), 2, "missing.yaml")
    refused(call("eval", bare, "--evalset", tmp_path / "set", "--gate"), 2, "no spec has a gate")
    refused(call("eval", spec, "--evalset", tmp_path / "nowhere"), 3, "no evalset there")
    refused(call("eval", spec, "--resamples", 1), 2, "resamples")
    refused(call("eval", spec, "--jobs", 0), 2, "jobs")
    refused(call("eval", spec, "--html", tmp_path / "set" / "queries.jsonl"), 2, "would replace what is read")
    refused(call("eval", spec, "--html", ""), 2, "--html names no file")
    other = write_spec(tmp_path / "other.yaml")
    other.write_text(other.read_text().replace("evalset: set", "evalset: elsewhere"))
    refused(call("eval", spec, other), 2, "different golden sets")
    write_set(tmp_path / "set", QUERIES[:1])
    refused(call("eval", spec, "--part", "report"), 2, "no query in part report")


def test_labels_that_cannot_be_read_are_wrong_data(spec: Path) -> None:
    write_set(spec.parent / "set", [{**QUERIES[0], "relevant": "a2"}])
    refused(call("eval", spec), 3, "relevant is not a list of ids")
    write_set(spec.parent / "set", [QUERIES[0], QUERIES[0]])
    refused(call("eval", spec), 3, "repeated")


@pytest.mark.skipif(os.name == "nt", reason="kills as POSIX does")
def test_a_run_that_was_killed_goes_on(spec: Path, cache: Path) -> None:
    """The journal is read while the process writes it; the kill hits it in the midst of its work."""
    queries = [{**QUERIES[k % 2], "id": f"q{k}", "split_group": f"g{k}"} for k in range(500)]
    write_set(spec.parent / "set", queries)
    process = subprocess.Popen(
        [sys.executable, "-c", "from memrank.cli.main import main; main()", "eval", str(spec), "--json"],
        stdout=subprocess.PIPE,
    )
    while process.poll() is None and not any(path.stat().st_size > 20_000 for path in journals(cache)):
        continue
    process.kill()
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    (journal,) = journals(cache)
    kept = {json.loads(line)["query_id"]: line for line in journal.read_text().splitlines()[1:-1]}
    assert 0 < len(kept) < 500
    resumed = call("eval", spec, "--json")
    assert resumed.code == 0
    assert journals(cache) == []
    outcomes = resumed.json["outcomes"]
    assert [one["query_id"] for one in outcomes] == [f"q{k}" for k in range(500)]
    for one in outcomes[:3]:  # taken from the journal, not asked again: to the last digit of its latency
        assert one["latency_ms"] == json.loads(kept[one["query_id"]])["latency_ms"]
    fresh = call("eval", spec, "--json", "--no-resume")
    assert without_time(resumed.json) == without_time(fresh.json)


def test_the_same_evaluation_in_two_processes_at_once(spec: Path) -> None:
    queries = [{**QUERIES[k % 2], "id": f"q{k}"} for k in range(60)]
    write_set(spec.parent / "set", queries)
    both = [start("eval", spec, "--json", stdout=subprocess.PIPE) for _ in range(2)]
    bodies = [json.loads(process.communicate()[0]) for process in both]
    assert [process.returncode for process in both] == [0, 0]
    assert without_time(bodies[0]) == without_time(bodies[1])


def test_without_a_journal_none_is_kept_or_read(spec: Path, cache: Path) -> None:
    assert call("eval", spec, "--no-resume").code == 0
    assert not cache.exists()


@pytest.mark.skipif(os.name == "nt", reason="permissions of folders are those of POSIX")
def test_where_no_journal_can_be_kept_it_goes_without(spec: Path, cache: Path) -> None:
    cache.write_text("no folder")
    assert call("eval", spec).code == 0


@pytest.fixture
def interrupting(spec: Path) -> Iterator[Path]:
    """A golden set whose second query is answered by an interrupt."""
    from memrank.evals import evaluate

    whole = evaluate._Asker.__call__
    asked: list[str] = []

    def stop(self: Any, query: Any) -> Any:
        asked.append(query.id)
        if len(asked) == 2:
            raise KeyboardInterrupt
        return whole(self, query)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(evaluate._Asker, "__call__", stop)
        yield spec


def test_an_interrupt_keeps_the_journal_and_says_so(interrupting: Path, cache: Path) -> None:
    answer = call("eval", interrupting)
    assert answer.code == 130
    assert answer.err == "the same command goes on from here\ninterrupted\n"
    (journal,) = journals(cache)
    assert len(journal.read_text().splitlines()) == 2


def test_help_needs_nothing_heavy() -> None:
    code = (
        "import sys\nfrom memrank.cli.main import main\ntry:\n    main(['eval', '--help'])\nexcept SystemExit:\n"
        "    pass\nprint(sorted({'numpy', 'dspy', 'rich'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout.splitlines()[-1] == "[]"


def test_as_a_process(spec: Path) -> None:
    done = spawn("eval", spec, "--json", "--gate")
    assert done.returncode == 0
    assert json.loads(done.stdout)["spec"] == "desk"
    assert done.stderr == b""


def test_runs_of_other_systems_beside_a_spec(spec: Path, tmp_path: Path) -> None:
    """What `memrank run` writes is worth what `memrank eval` measures."""
    folder, run = tmp_path / "set", tmp_path / "run.jsonl"
    ranked = call(
        *("run", spec, "--store", folder / "memories.jsonl", "--queries", folder / "queries.jsonl"),
        *("--rank-only", "--top-k", 50, "--out", run, "--quiet"),
    )
    assert ranked.code == 0
    body = call("eval", spec, "--run", run, "--json").json
    assert [one["spec"] for one in body["reports"]] == ["desk", "run.jsonl"]
    (other,) = body["others"]
    measured = {one["measure"]: one for one in other["differences"]}
    # The tenant that there is not has no results in the run, and no answer under the spec.
    assert measured["nDCG@10"]["difference"] == 0.0
    assert measured["MRR"]["n"] == 3
    alone = call("eval", "--run", run, "--evalset", folder)
    assert alone.code == 0
    assert alone.out.startswith("run.jsonl on set, all parts\n")


def test_runs_that_cannot_be_read_are_refused(spec: Path, tmp_path: Path) -> None:
    run = tmp_path / "run.trec"
    refused(call("eval", spec, "--run", run), 3, "run.trec")
    run.write_text("when Q0 a2 1 not-a-number tag\n")
    refused(call("eval", spec, "--run", run), 3, "run.trec")
    run.write_text("elsewhere Q0 a2 1 0.5 tag\n")
    refused(call("eval", spec, "--run", run), 3, "not in set")
    refused(call("eval", "--run", run), 2, "no golden set is named")
    refused(call("eval", spec, "--run", run, "--html", run), 2, "would replace what is read")
    run.write_text("when Q0 a2 1 0.5 tag\n")
    assert call("eval", spec, "--run", run).code == 0
    for option in (["--jobs", 2], ["--no-resume"]):
        refused(
            call("eval", "--run", run, "--evalset", tmp_path / "set", *option), 2, f"{option[0]} stands without SPEC"
        )


def test_a_set_without_queries_is_wrong_data(spec: Path, tmp_path: Path) -> None:
    (tmp_path / "set" / "queries.jsonl").write_text("")
    refused(call("eval", spec), 3, "there is no query in it")


def test_a_set_that_is_noise_is_wrong_data(spec: Path, tmp_path: Path) -> None:
    (tmp_path / "set" / "queries.jsonl").write_bytes(b"\0\xff\xfe" * 20)
    answer = call("eval", spec)
    refused(answer, 3, "no query can be used")
    assert "--queries" not in answer.err


def test_repeated_ids_are_wrong_data(spec: Path, tmp_path: Path) -> None:
    queries = tmp_path / "set" / "queries.jsonl"
    queries.write_text(queries.read_text() + queries.read_text().splitlines()[0] + "\n")
    refused(call("eval", spec, "-q"), 3, "1 query id is repeated")


def test_a_spec_without_gates_passes_none_of_them(tmp_path: Path) -> None:
    write_set(tmp_path / "set")
    answer = call("eval", write_spec(tmp_path / "desk.yaml"), "--gate")
    refused(answer, 2, "--gate: no spec has a gate")
    assert 'gates: {"nDCG@10": {min: 0.6}}' in answer.err
    refused(call("eval", write_spec(tmp_path / "desk.yaml", '"R@5": {min: 0.9, max: 0.1}')), 2, "nothing passes")
