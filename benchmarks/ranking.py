"""memrank itself as a system of the comparison: a golden set ranked as `memrank run --queries --rank-only` ranks it."""

from functools import cache
from pathlib import Path

from goldens import GoldenSet

from memrank.checking import check_file
from memrank.errors import MemrankError
from memrank.registry import build
from memrank.spec import RankerSpec, Spec, StageSpec, TemporalSpec
from memrank.specfile import spec_sha256
from memrank.types import Sensitivity

PIPELINES = Path(__file__).resolve().parent.parent / "pipelines"
KEEP = 50


@cache
def default_spec() -> Spec:
    """The shipped general default, by which every set is ranked."""
    return check_file(PIPELINES / "agent-memory.yaml").spec


def timeless(spec: Spec) -> Spec:
    """The same with time switched off: no freshness enters, and no newer value is inferred."""
    return spec.model_copy(update={"stages": tuple(_timeless(stage) for stage in spec.stages)})


def as_stated(spec: Spec) -> Spec:
    """The same, but no newer value is inferred: only the supersession that the data state counts."""
    return spec.model_copy(update={"stages": tuple(_as_stated(stage) for stage in spec.stages)})


def _timeless(stage: StageSpec) -> StageSpec:
    if isinstance(stage, TemporalSpec):
        return stage.model_copy(update={"sensitivity": Sensitivity.TIME_AGNOSTIC})
    return _as_stated(stage)


def _as_stated(stage: StageSpec) -> StageSpec:
    if isinstance(stage, RankerSpec):
        return stage.model_copy(update={"supersession": stage.supersession.model_copy(update={"infer": False})})
    return stage


def rank(golden: GoldenSet, spec: Spec) -> list[list[str]]:
    """Ids of every query, best first. A query that fails has none, as in the command's output."""
    pipeline = build(spec, PIPELINES, spec_sha256(spec), store=golden.memories)
    run = []
    for asked in golden.questions:
        try:
            ranking = pipeline(**asked, top_k=KEEP, rank_only=True)
        except MemrankError:
            run.append([])
        else:
            run.append([item.id for item in ranking.results])
    return run


def memrank(golden: GoldenSet) -> list[list[str]]:
    """memrank by its general default."""
    return rank(golden, default_spec())


def memrank_timeless(golden: GoldenSet) -> list[list[str]]:
    """memrank by the same spec with time switched off."""
    return rank(golden, timeless(default_spec()))


def memrank_as_stated(golden: GoldenSet) -> list[list[str]]:
    """memrank by the same spec without inferred supersession."""
    return rank(golden, as_stated(default_spec()))
