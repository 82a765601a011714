"""A golden set of this repository under the general spec, read once."""

from pathlib import Path

import pytest

from memrank.evals.evalset import Evalset, load
from memrank.pipeline import Pipeline
from memrank.registry import build
from memrank.specfile import parse_spec
from memrank.tune.problem import Problem

ROOT = Path(__file__).parents[2]
QUERIES = 60


@pytest.fixture(scope="session")
def evalset() -> Evalset:
    return load(ROOT / "evalsets" / "agent-memory")


@pytest.fixture(scope="session")
def pipeline(evalset: Evalset) -> Pipeline:
    spec = parse_spec((ROOT / "pipelines" / "agent-memory.yaml").read_text(encoding="utf-8"))
    return build(spec, ROOT / "pipelines", "tune", store=evalset.memories)


@pytest.fixture(scope="session")
def problem(pipeline: Pipeline, evalset: Evalset) -> Problem:
    return Problem(pipeline, evalset.queries[:QUERIES])
