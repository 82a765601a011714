"""Does compiling find what is there, and nothing else? Speed, known half-lives, shuffled labels, left-out groups.

    python benchmarks/compile.py speed half-lives shuffled
    python benchmarks/compile.py folds --sets FOLDER ... [--free composite,fusion,judge] [--folds 5]

`speed`: settings a second, on 500 made-up queries with 100 candidates. `half-lives`: a set whose labels follow from
text and from half-lives of 1, 14 and 120 days is fitted from 14 days for all. `shuffled`: the same set with labels
drawn at random; told is what a search gains on queries that it did not see. `folds`: each set in parts by tenant
(by group, where there is one tenant); pipelines/agent-memory.yaml is compiled on all but one and measured on that one.
"""

import argparse
import json
import random
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import numpy as np
import synthetic

from memrank.evals.evalset import load
from memrank.evals.evaluate import newest
from memrank.evals.labels import Labelled
from memrank.parameters import parameters, rounded, values_of, with_values
from memrank.pipeline import Pipeline
from memrank.registry import build
from memrank.specfile import parse_spec
from memrank.tune.judge import inner_folds
from memrank.tune.problem import Problem
from memrank.tune.search import paired, search

DAY = 86400.0
TRUE = {"signal": 1 * DAY, "note": 14 * DAY, "record": 120 * DAY}
SPEC = """
memrank: 1
name: known
stages:
  - {kind: prefilter.hybrid.v1, top_k: 100}
  - kind: temporal.v1
    sensitivity: recent
    half_life: 14d
  - {kind: ranker.v1, weights: {relevance: 0.6, freshness: 0.4}, supersession: {infer: false}}
"""
AGENT_MEMORY = Path(__file__).resolve().parent.parent / "pipelines" / "agent-memory.yaml"


def made(folder: Path, queries: int, pool: int, seed: int) -> None:
    """A golden set without labels: tenants of `pool` dated memories around a subject, and a question for each."""
    rng = random.Random(seed)
    words = synthetic._Words(rng, 4000)
    with (folder / "memories.jsonl").open("w") as memories, (folder / "queries.jsonl").open("w") as asked:
        for q in range(queries):
            subjects = words.subjects(rng, 6)
            for k in range(pool):
                held = rng.sample(subjects, rng.randint(1, len(subjects)))
                kind = rng.choice(list(TRUE))
                age = timedelta(days=TRUE[kind] / DAY * 2 ** rng.uniform(-5, 3))
                at = (synthetic.AS_OF - age).isoformat()
                body = {"id": f"m{q}-{k}", "group": f"g{q}", "content": words.text(rng, held), "memory_type": kind}
                memories.write(json.dumps({**body, "created_at": at}) + "\n")
            query = {"id": f"q{q}", "group": f"g{q}", "query": " ".join(subjects[:4]), "relevant": []}
            asked.write(json.dumps({**query, "query_time": synthetic.AS_OF.isoformat()}) + "\n")


def labelled(pipeline: Pipeline, queries: tuple[Labelled, ...]) -> tuple[Labelled, ...]:
    """The queries with what really ranks first by the pipeline's spec with the true half-lives."""
    true = build(
        with_values(pipeline.spec, {f"temporal.half_life.{name}": life for name, life in TRUE.items()}),
        Path(),
        "true",
    )
    found = []
    for query in queries:
        slate = true.ranker(true.temporal(pipeline.candidates(**query.asked)))
        best = slate.ranked(slate["score"], slate["reason"])[:3]
        grades = {slate.memory(int(k)).id: float(3 - place) for place, k in enumerate(best)}
        found.append(replace(query, relevant=grades))
    return tuple(found)


def known(folder: Path, queries: int = 400, pool: int = 30, seed: int = 1) -> tuple[Pipeline, tuple[Labelled, ...]]:
    """The set with known half-lives, and the pipeline that does not know them."""
    made(folder, queries, pool, seed)
    evalset = load(folder)
    pipeline = build(parse_spec(SPEC), folder, "known", store=evalset.memories)
    return pipeline, labelled(pipeline, evalset.queries)


def speed(folder: Path) -> None:
    """Settings a second."""
    pipeline, queries = known(folder, 500, 100)
    problem = Problem(pipeline, queries)
    free = parameters(problem.spec, ("composite", "half_life", "kernel", "thresholds"), types=problem.types)
    rng = np.random.default_rng(0)

    def setting() -> dict[str, float | str]:
        return {
            one.path: str(rng.choice(one.choices))
            if one.choices
            else rounded(one.low + (one.high - one.low) * rng.random())
            for one in free
        }

    settings = [setting() for _ in range(2000)]
    problem.measure(settings[:10])
    blocks = [settings[k : k + 16] for k in range(0, len(settings), 16)]
    for workers in (1, 2):
        with ThreadPoolExecutor(workers) as pool:
            began = time.perf_counter()
            list(pool.map(problem.measure, blocks))
            seconds = time.perf_counter() - began
        print(
            f"speed: {len(settings) / seconds:,.0f} settings a second, 500 queries x 100 candidates, {workers} threads"
        )


def half_lives(folder: Path) -> None:
    """Known half-lives, found again."""
    pipeline, queries = known(folder)
    problem = Problem(pipeline, queries)
    free = parameters(problem.spec, [f"temporal.half_life.{name}" for name in TRUE])
    found = search(problem, free, values_of(problem.spec, free))
    before = found.history[0].objective
    print(f"half-lives: nDCG@10 {before:.4f} -> {found.best.objective:.4f}, {found.evaluations} evaluations")
    for name, life in TRUE.items():
        got = float(found.best.values[f"temporal.half_life.{name}"])
        print(f"  {name}: true {life / DAY:g} d, found {got / DAY:.2f} d ({got / life - 1:+.1%})")


def shuffled(folder: Path, seeds: int) -> None:
    """What a search gains where there is nothing to gain."""
    pipeline, queries = known(folder)
    wins = 0
    for seed in range(seeds):
        rng = random.Random(seed)
        problem = Problem(pipeline, [_shuffled(pipeline, query, rng) for query in queries])
        free = parameters(problem.spec, ("composite", "half_life", "thresholds"), types=problem.types)
        start = values_of(problem.spec, free)
        half = len(queries) // 2
        fit, choose = problem.part(range(half)), problem.part(range(half, len(queries)))
        best = search(fit, free, start, seed=seed, evaluations=1500).best
        gain, error = paired(choose.exact(best.values) - choose.exact(start), choose.groups)
        taken = gain - 1.96 * error > 0
        wins += taken
        print(f"shuffled {seed}: fitted {best.objective:.4f}, on others {gain:+.4f} +- {1.96 * error:.4f}, {taken=}")
    print(f"shuffled: no improvement found in {seeds - wins} of {seeds}")


def _shuffled(pipeline: Pipeline, query: Labelled, rng: random.Random) -> Labelled:
    slate = pipeline.candidates(**query.asked)
    names = sorted(slate.memory(k).id for k in range(len(slate)))
    return replace(query, relevant={name: float(3 - k) for k, name in enumerate(rng.sample(names, 3))})


def folds(folder: Path, free_groups: list[str], count: int, evaluations: int) -> None:
    """Gain on left-out groups."""
    evalset = load(folder)
    pipeline = build(parse_spec(AGENT_MEMORY.read_text()), folder, "folds", store=evalset.memories)
    began = time.perf_counter()
    problem = Problem(pipeline, evalset.queries, newest=newest(evalset.memories))
    free = parameters(problem.spec, free_groups, types=problem.types)
    start = values_of(problem.spec, free)
    tenants = [str(query.asked.get("namespace")) for query in problem.queries]
    by = tenants if len(set(tenants)) >= 3 else list(problem.groups)
    before = np.full(len(by), np.nan)
    after, fitted = before.copy(), []
    for part in inner_folds(by, count):
        fit = problem.part(np.setdiff1d(np.arange(len(by)), part).tolist())
        found = search(fit, free, start, evaluations=evaluations)
        held = problem.part(part.tolist())
        before[part], after[part] = held.exact(start), held.exact(found.best.values)
        fitted.append(found.best.objective)
        print(f"  fold: {np.nanmean(before[part]):.4f} -> {np.nanmean(after[part]):.4f}", flush=True)
    gain, error = paired(after - before, by)
    print(
        f"{folder.name}: left out {np.nanmean(before):.4f} -> {np.nanmean(after):.4f} "
        f"({gain:+.4f} +- {1.96 * error:.4f} by group), fitted {np.mean(fitted):.4f}, "
        f"{time.perf_counter() - began:.0f} s",
        flush=True,
    )


def main() -> None:
    """Measure what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="+", choices=("speed", "half-lives", "shuffled", "folds"))
    parser.add_argument("--sets", nargs="*", type=Path, default=[])
    parser.add_argument("--free", default="composite,fusion,judge")
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--evaluations", type=int, default=3000)
    arguments = parser.parse_args()
    for what in arguments.what:
        with tempfile.TemporaryDirectory() as name:
            match what:
                case "speed":
                    speed(Path(name))
                case "half-lives":
                    half_lives(Path(name))
                case "shuffled":
                    shuffled(Path(name), arguments.seeds)
                case _:
                    for folder in arguments.sets:
                        folds(folder, arguments.free.split(","), arguments.folds, arguments.evaluations)
    sys.stdout.flush()


if __name__ == "__main__":
    main()
