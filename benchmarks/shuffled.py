"""Does the compiler refuse what is not there? Every query's labels go to random candidates; nothing can be learned.

    python benchmarks/shuffled.py [--spec SPEC] [--evalset DIR] [--seeds 20] [--evaluations 600]

Told is in how many seeds the whole procedure of `memrank compile` finds no improvement; 19 of 20 are wanted.
"""

import argparse
import random
from dataclasses import replace
from pathlib import Path

from memrank.evals.evalset import Evalset, load
from memrank.evals.evaluate import newest
from memrank.evals.labels import Labelled
from memrank.pipeline import Pipeline
from memrank.registry import build
from memrank.spec import Spec
from memrank.speccompile import CompileSpec
from memrank.specfile import load_spec, spec_sha256
from memrank.tune.compilation import Options
from memrank.tune.compiler import compile_spec

ROOT = Path(__file__).resolve().parent.parent


def shuffled(pipeline: Pipeline, evalset: Evalset, rng: random.Random) -> Evalset:
    """The set with as many relevant memories for each query, drawn from its candidates; other labels are dropped."""
    last = newest(evalset.memories)

    def one(query: Labelled) -> Labelled:
        slate = pipeline.candidates(**{"as_of": last, **query.asked})
        names = sorted(slate.memory(k).id for k in range(len(slate)))
        drawn = rng.sample(names, min(len(query.relevant), len(names)))
        empty: frozenset[str] = frozenset()
        return replace(query, relevant=dict.fromkeys(drawn, 1.0), scores={}, stale=empty, current=empty, must_not=empty)

    return replace(evalset, queries=tuple(one(query) for query in evalset.queries if query.relevant))


def main() -> None:
    """Run it, and print a line a seed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--spec", type=Path, default=ROOT / "pipelines" / "agent-memory.yaml")
    parser.add_argument("--evalset", type=Path, default=ROOT / "evalsets" / "agent-memory")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--evaluations", type=int, default=600)
    asked = parser.parse_args()
    file, evalset = load_spec(asked.spec), load(asked.evalset)

    def make(spec: Spec) -> Pipeline:
        silent = spec.model_copy(update={"reads": None})
        return build(silent, file.folder, spec_sha256(silent), store=evalset.memories)

    plain = file.spec.model_copy(update={"compiled": None})
    refused = 0
    for seed in range(asked.seeds):
        random_labels = shuffled(make(plain), evalset, random.Random(seed))
        section = CompileSpec(seed=seed, evaluations=asked.evaluations)
        found = compile_spec(plain, make, random_labels, section, Options(curve=False))
        refused += not found.accepted
        print(f"seed {seed}: {'taken' if found.accepted else 'refused'}; {found.why}", flush=True)
    print(f"no improvement found in {refused} of {asked.seeds}")


if __name__ == "__main__":
    main()
