"""Optimizers through a model server that fails: to the end, within budget, and never asking twice."""

import contextlib
import gc
import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from faults.lm_server import FAULTY_ANSWERS, Call, LmServer, Reset, Status, Wire, completion, response
from tuning import MARK, SMALL, Taught, builder, golden, spec_of, taught, tuned

from memrank.errors import DataError, UsageError
from memrank.speclm import LmSpec
from memrank.stages.lm.prompting import GUARD
from memrank.tune.prompts import Budget, Prompt, Trial, tune_prompts, with_prompts

FAULTS = [Status(503), Status(500), Status(429, "0"), Reset(), *(FAULTY_ANSWERS[name] for name in ("prose", "nan"))]
FAULTS += [FAULTY_ANSWERS[name] for name in ("missing_id", "empty_text", "truncated", "html")]
JUDGE = "ranker.judge.predict"


@pytest.mark.parametrize("optimizer", ["labeled", "bootstrap", "random-search", "mipro", "gepa"])
@pytest.mark.parametrize("seed", [1, 2])
def test_every_optimizer_runs_to_its_end_within_budget_at_20_percent_faults(
    tmp_path: Path, optimizer: str, seed: int
) -> None:
    evalset = golden(tmp_path / "set")
    with LmServer(taught(seed, 0.2, FAULTS)) as server:
        found = tuned(evalset, server, optimizer, seed=seed, state_dir=tmp_path / "state")
        assert found.ended == "done", found.tuned
        assert len(server.calls) <= found.calls <= 400
        assert found.tokens > 0
        assert list(found.states) == [JUDGE]
        server.script([])  # from here on it would answer otherwise
        again = tuned(evalset, server, optimizer, seed=seed, state_dir=tmp_path / "state")
        assert len(server.calls) == again.calls == 0, "a resumed run asks nothing twice"
    assert again.states == found.states
    # What it was worth on the choose part may hold NaN, which equals nothing.
    assert repr(again.tuned) == repr(found.tuned)


@pytest.mark.parametrize("optimizer", ["mipro", "gepa"])
def test_instructions_that_help_are_found_and_proven(tmp_path: Path, optimizer: str) -> None:
    evalset = golden(tmp_path)
    with LmServer(taught(1, 0.0, [])) as server:
        found = tuned(evalset, server, optimizer)
    what = found.tuned[JUDGE]
    assert what.changed
    assert what.proven
    assert what.best > what.first + 0.2
    assert found.states[JUDGE].instructions == f"{MARK}\n{GUARD}"
    assert min(what.choose_best) > max(what.choose_first)
    assert found.changed == found.states


def test_the_better_prompt_is_what_a_pipeline_then_asks_with(tmp_path: Path) -> None:
    evalset = golden(tmp_path)
    with LmServer(taught(1, 0.0, [])) as server:
        found = tuned(evalset, server, "gepa")
        pipeline = builder(evalset)(spec_of(server, decoys=0))
        names = [name for name, _ in pipeline.named_predictors()]
        assert with_prompts(pipeline, found.states) is pipeline
        assert [name for name, _ in pipeline.named_predictors()] == names
        asked = evalset.queries[0].asked
        ranking = pipeline(**asked)
        assert ranking.results[0].id == "m000"
        assert MARK in server.calls[-1].prompt.system


def test_feedback_tells_the_writer_what_was_wrong(tmp_path: Path) -> None:
    evalset = golden(tmp_path)
    with LmServer(taught(1, 0.0, [])) as server:
        tuned(evalset, server, "gepa")
        told = [call.prompt.user for call in server.calls if "new_instruction" in call.prompt.outputs]
    assert told
    assert "was placed above" in told[0]
    assert "the label says" in told[0] or "but the label says 0.00" in told[0]


@pytest.mark.parametrize("optimizer", ["bootstrap", "mipro", "gepa"])
@pytest.mark.parametrize("calls", [0, 1, 7, 12, 25])
def test_a_budget_of_calls_is_hard_and_ends_with_the_best_so_far(tmp_path: Path, optimizer: str, calls: int) -> None:
    evalset = golden(tmp_path)
    with LmServer(taught(3, 0.2, FAULTS)) as server:
        found = tuned(evalset, server, optimizer, budget=Budget(max_calls=calls))
        assert len(server.calls) <= found.calls <= calls
    assert found.ended == "budget"
    if calls < 5:
        shipped = dict(builder(evalset)(spec_of("http://127.0.0.1:9/v1")).named_predictors())[JUDGE]
        assert found.states[JUDGE].instructions == shipped.signature.instructions
        assert len(found.states[JUDGE].demos) == len(shipped.demos)
        assert not found.changed


def test_tokens_and_cost_are_hard_limits_too(tmp_path: Path) -> None:
    evalset = golden(tmp_path)
    price = {"input": 1000.0, "output": 1000.0}
    with LmServer(taught(1, 0.0, [])) as server:
        tokens = tuned(evalset, server, "gepa", budget=Budget(max_tokens=12_000))
        cost = tuned(evalset, server, "gepa", budget=Budget(max_cost_usd=12.0), lm={"price": price})
    assert tokens.ended == cost.ended == "budget"
    assert 0 < tokens.tokens <= 12_000
    assert 0 < cost.cost_usd <= 12.0


def test_a_limit_of_cost_needs_prices(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="the price of local/scripted is not known"):
        tuned(golden(tmp_path), "http://127.0.0.1:9/v1", "gepa", budget=Budget(max_cost_usd=1.0))


def test_a_server_that_is_away_ends_it_with_what_the_spec_has(tmp_path: Path) -> None:
    found = tuned(golden(tmp_path), "http://127.0.0.1:9/v1", "gepa")
    assert found.ended == "unreachable"
    assert "no connection" in found.tuned[JUDGE].said or "left alone" in found.tuned[JUDGE].said
    assert not found.changed


def test_a_server_that_goes_away_leaves_the_best_so_far_and_is_taken_up_again(tmp_path: Path) -> None:
    evalset = golden(tmp_path / "set")
    state = tmp_path / "state"
    with LmServer([*[Taught()] * 12, *[Status(503)] * 4000]) as server:
        broken = tuned(evalset, server, "gepa", state_dir=state)
        assert broken.ended == "unreachable"
        server.script(taught(1, 0.0, []))
        found = tuned(evalset, server, "gepa", state_dir=state)
        whole = len(server.calls)
    assert found.ended == "done"
    assert found.tuned[JUDGE].proven
    with LmServer(taught(1, 0.0, [])) as server:
        fresh = tuned(evalset, server, "gepa")
        assert whole == len(server.calls) - 12, "what was answered is not asked again"
    assert fresh.states == found.states


def test_a_refused_key_ends_it_at_once(tmp_path: Path) -> None:
    with LmServer([Status(401)] * 100) as server:
        found = tuned(golden(tmp_path), server, "bootstrap", lm={"concurrency": 1})
        assert len(server.calls) == 1
    assert found.ended == "refused"
    assert not found.changed


def test_ctrl_c_keeps_the_best_so_far(tmp_path: Path) -> None:
    trials: list[Trial] = []

    def told(trial: Trial) -> None:
        trials.append(trial)
        if trial.score > trials[0].score:
            raise KeyboardInterrupt

    with LmServer(taught(1, 0.0, [])) as server:
        found = tuned(golden(tmp_path), server, "gepa", progress=told)
    assert found.ended == "interrupted"
    assert found.tuned[JUDGE].proven
    assert MARK in found.states[JUDGE].instructions


def test_the_teacher_may_be_another_model(tmp_path: Path) -> None:
    evalset = golden(tmp_path)
    with LmServer([Taught("Judge by shared words.")] * 4000) as student, LmServer([Taught()] * 4000) as teacher:
        other = LmSpec.model_validate({"model": "local/teacher", "endpoint": teacher.url, "deadline": "8s"})
        found = tuned(evalset, student, "gepa", teacher=other)
        asked = [call.prompt.outputs for call in student.calls]
        proposed = [call.prompt.outputs for call in teacher.calls]
        assert found.calls == len(student.calls) + len(teacher.calls)
    assert all("judgements" in outputs for outputs in asked)
    assert all("new_instruction" in outputs for outputs in proposed)
    assert proposed
    assert found.tuned[JUDGE].proven


@pytest.mark.parametrize("optimizer", ["labeled", "bootstrap", "random-search"])
def test_the_judge_by_code_teaches_without_any_model(tmp_path: Path, optimizer: str) -> None:
    evalset = golden(tmp_path)
    found = tuned(evalset, None, optimizer, teacher="embedded")
    again = tuned(evalset, None, optimizer, teacher="embedded", budget=Budget(max_calls=0))
    assert found.calls == 0
    assert list(found.states) == ["temporal.read_time.predict", JUDGE]
    assert found.states[JUDGE].demos
    assert not found.tuned[JUDGE].proven
    assert found.states == again.states
    pipeline = builder(evalset)(spec_of("http://127.0.0.1:9/v1"))
    with_prompts(pipeline, {JUDGE: found.states[JUDGE]})


def test_without_a_single_call_the_judge_by_code_still_teaches(tmp_path: Path) -> None:
    nowhere = "http://127.0.0.1:9/v1"
    found = tuned(golden(tmp_path), nowhere, "bootstrap", teacher="embedded", budget=Budget(max_calls=0))
    assert found.calls == 0
    assert found.changed
    assert not found.tuned[JUDGE].proven
    assert found.ended == "done"


def test_answers_that_had_to_be_repaired_are_no_demonstrations(tmp_path: Path) -> None:
    evalset = golden(tmp_path)
    start = {JUDGE: Prompt(instructions=MARK, demos=())}
    half = {"demos": 0}

    @dataclass(frozen=True)
    class Percent(Taught):
        """Judges well, and better with demonstrations; its numbers are texts with a sign."""

        def play(self, call: Call, wire: Wire) -> None:
            prompt = call.prompt
            shown = sum(role == "assistant" for role, _ in prompt.messages)
            half["demos"] = max(half["demos"], shown)
            told = {item["id"]: "painted" in str(item["content"]) for item in prompt.items}
            least = 0 if shown else 4
            rows = [
                {"id": name, "relevance": f"{96 if right else least} %", "justification": "so"}
                for name, right in told.items()
            ]
            wire.send(response(200, completion(json.dumps({"judgements": rows}))))

    with LmServer([Percent()] * 4000) as server:
        found = tuned(evalset, server, "bootstrap", start=start)
    assert found.tuned[JUDGE].proven
    assert half["demos"] >= 3
    assert len(found.states[JUDGE].demos) < half["demos"], "those of the model are left out"
    pipeline = builder(evalset)(spec_of("http://127.0.0.1:9/v1"))
    with_prompts(pipeline, found.states)


def test_the_judge_by_code_may_teach_a_model(tmp_path: Path) -> None:
    evalset = golden(tmp_path)
    with LmServer(taught(1, 0.0, [])) as server:
        found = tuned(evalset, server, "bootstrap", teacher="embedded")
        assert found.calls == len(server.calls) == 2 * SMALL.validation
    assert found.ended == "done"


def test_several_predictors_share_one_budget(tmp_path: Path) -> None:
    evalset = golden(tmp_path)
    with LmServer(taught(1, 0.0, [])) as server:
        found = tuned(evalset, server, "gepa", lm={"read_time": "lm"}, budget=Budget(max_calls=120))
        assert found.calls == len(server.calls) <= 120
        first = [call.number for call in server.calls if "sensitivity" in call.prompt.outputs]
    assert list(found.states) == ["temporal.read_time.predict", JUDGE]
    assert found.tuned[JUDGE].proven
    assert 0 < len(first) <= 60, "each has its part"
    assert {trial.predictor for trial in found.history} == set(found.states)


def test_without_a_model_nothing_proposes(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="gepa asks a model"):
        tuned(golden(tmp_path), None, "gepa")


def test_too_few_labels_are_said_with_how_many_are_needed(tmp_path: Path) -> None:
    evalset = golden(tmp_path)
    few = evalset.part("fit")[:3]
    with pytest.raises(DataError, match="too few cases"):
        tune_prompts(
            spec_of("http://127.0.0.1:9/v1"), builder(evalset), few, (), "nDCG@10", optimizer="labeled", environ={}
        )


def test_the_same_seed_gives_the_same_prompts_with_any_number_of_threads(tmp_path: Path) -> None:
    evalset = golden(tmp_path)
    found = []
    for threads in (1, 4):
        with LmServer(taught(1, 0.0, [])) as server:
            got = tuned(evalset, server, "mipro", seed=7, lm={"concurrency": threads})
            found.append((got.states, repr(got.tuned), got.calls))
    assert found[0] == found[1]


def test_nothing_is_printed(tmp_path: Path, capfd: Any) -> None:
    evalset = golden(tmp_path)
    with LmServer(taught(2, 0.2, FAULTS)) as server:
        for optimizer in ("random-search", "mipro", "gepa"):
            tuned(evalset, server, optimizer, progress=lambda _: print("heard"))
            for calls in (12, 25):
                tuned(evalset, server, optimizer, budget=Budget(max_calls=calls))
    gc.collect()
    out, err = capfd.readouterr()
    assert set(out.split()) == {"heard"}
    assert err == ""


def test_a_torn_line_of_the_state_is_asked_again_and_the_rest_is_not(tmp_path: Path) -> None:
    evalset = golden(tmp_path / "set")
    state = tmp_path / "state"
    with LmServer(taught(1, 0.0, [])) as server:
        first = tuned(evalset, server, "labeled", state_dir=state)
        path = state / "answers.jsonl"
        data = path.read_bytes()
        path.write_bytes(data[:-20])
        server.script(taught(1, 0.0, []))
        again = tuned(evalset, server, "labeled", state_dir=state)
        assert len(server.calls) == 1
    assert again.states == first.states
    lines = path.read_text(encoding="utf-8").splitlines()
    with contextlib.suppress(ValueError):
        json.loads(lines[-2])
    assert json.loads(lines[-1])["text"]


def test_a_state_dir_that_is_none_is_an_error_of_the_user(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("x")
    with pytest.raises(DataError, match="cannot be used"):
        tuned(golden(tmp_path / "set"), "http://127.0.0.1:9/v1", "labeled", state_dir=file)


def test_only_one_module_knows_dspys_optimizers_and_a_read_loads_none_of_them() -> None:
    root = Path(__file__).resolve().parents[2]
    found = [path.name for path in sorted((root / "memrank").rglob("*.py")) if "teleprompt import" in path.read_text()]
    assert found == ["optimizers.py"]
    code = "import sys, memrank.api, memrank.registry, memrank.tune.prompts, memrank.tune.distill; print(*sys.modules)"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=root)
    loaded = set(ran.stdout.split())
    assert not {"optuna", "scipy", "litellm"} & loaded  # dspy itself loads gepa
    code = "import sys, memrank.api, memrank.registry; print(*sys.modules)"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=root)
    assert not [name for name in ran.stdout.split() if name.startswith("memrank.tune")]
