"""Whether the calibration of a judge still holds: the relevance that was logged, against what reviews said since."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from memrank.asrecorded import recorded_spec
from memrank.compiled import made_with
from memrank.errors import DataError, DependencyError
from memrank.evals.fitting import fit
from memrank.evals.report import Decile, Figure, deciles_of, figure_of
from memrank.fileio import canonical_json
from memrank.score.calibration import BINS, bin_sums, ece_of_sums
from memrank.score.intervals import Bootstrap, holm, ratio
from memrank.score.recalibration import calibration_test
from memrank.slate import Column
from memrank.spec import RankerSpec, Spec
from memrank.speccalibration import CalibrationSpec
from memrank.stores.readlog import Kept, ReadLog
from memrank.stores.readlog_labels import LabelledRead, labelled_reads
from memrank.types import Bools, Floats, Sensitivity

Verdict = Literal["holds", "broken", "unknown"]

FEWEST_PAIRS, FEWEST_GROUPS = 30, 10
"""Judged memories, and different queries, without which nothing can be told."""
ALPHA = 0.05
MAX_ECE = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """What reviews say about the relevance that was said in some reads."""

    verdict: Verdict
    """`broken`: the error is larger than allowed, and more than chance would explain. `unknown`: too few labels."""
    reads: int
    groups: int
    """Different queries."""
    pairs: int
    relevant: int
    said: float
    """Mean relevance said of the pairs; NaN of none."""
    ece: Figure
    brier: Figure
    """Their n is that of the reads."""
    p: float
    """Of the test that what was said is true; NaN where it cannot be told. Of a class: corrected (Holm) for all classes
    with enough labels, NaN for the others.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class Drift(Held):
    """All reads together, and by class."""

    sampled: int
    """Those of the reads that were drawn at random."""
    others: int
    """Reads with labels that were judged otherwise, by another calibration or model, and do not count."""
    max_ece: float
    deciles: Sequence[Decile]
    mended: CalibrationSpec | None
    """Platt scaling of the logged relevance that fits the labels, where calibration is broken and it can be fitted."""
    by_class: Mapping[str, Held]
    """The same of the reads of each class of question: how much age matters to it. Those without a label are not there.
    """


def drift(
    log: ReadLog, since: float, spec: Spec | None, *, max_ece: float = MAX_ECE, seed: int = 0, resamples: int = 1000
) -> Drift:
    """Look at the labels of reviews decided from `since` on (seconds since 1970).

    Reads count that were judged as `spec` judges (its judge, model, analyzer and calibration); without a spec, as the
    newest of them was. Raises StoreError for a log that cannot be read, DataError for reads whose spec it has lost.
    """
    labelled = list(labelled_reads(log, since))
    judged = [_judged_by(read.kept) for read in labelled]
    if spec is not None:
        wanted = _judge_of(spec, made_with(spec)["model"], made_with(spec)["analyzer"])
    else:
        times = [read.kept.first_at or 0.0 for read in labelled]
        wanted = judged[int(np.argmax(times))] if judged else ""
    reads = [read for read, by in zip(labelled, judged, strict=True) if by == wanted]
    whole = _held(reads, max_ece, seed, resamples)
    said, true = _all_pairs(reads)
    return Drift(
        **{name: getattr(whole, name) for name in Held.__slots__},
        sampled=sum(read.sampled for read in reads),
        others=len(labelled) - len(reads),
        max_ece=max_ece,
        deciles=deciles_of(said, true),
        mended=_mended(said, true) if whole.verdict == "broken" else None,
        by_class=_by_class(reads, max_ece, seed, resamples),
    )


def _by_class(reads: Sequence[LabelledRead], max_ece: float, seed: int, resamples: int) -> dict[str, Held]:
    of: dict[str, list[LabelledRead]] = {kind.value: [] for kind in Sensitivity}
    for read in reads:
        of[read.kept.recorded.time.sensitivity].append(read)
    found = {name: _held(some, max_ece, seed, resamples) for name, some in of.items() if some}
    corrected = holm([math.nan if held.verdict == "unknown" else held.p for held in found.values()])
    return {
        name: replace(held, p=p, verdict=_verdict(held.pairs, held.groups, held.ece.value, p, max_ece))
        for (name, held), p in zip(found.items(), corrected, strict=True)
    }


def _held(reads: Sequence[LabelledRead], max_ece: float, seed: int, resamples: int) -> Held:
    groups = [_group(read.kept) for read in reads]
    pairs = [_pairs(read) for read in reads]
    said, true = _all_pairs(reads)
    rows = np.array([_sums(p, y) for p, y in pairs]).reshape(len(pairs), 2 + 3 * BINS)
    ece = brier = Figure(value=math.nan, low=math.nan, high=math.nan, n=0)
    if reads:
        bootstrap = Bootstrap(groups, seed=seed, resamples=resamples)
        ece = figure_of(bootstrap.of_sums(rows[:, 2:], ece_of_sums))
        brier = figure_of(bootstrap.of_sums(rows[:, :2], ratio))
    of = [group for group, (p, _) in zip(groups, pairs, strict=True) for _ in p]
    chance = calibration_test(said, true, of)
    return Held(
        verdict=_verdict(len(said), len(set(groups)), ece.value, chance, max_ece),
        reads=len(reads),
        groups=len(set(groups)),
        pairs=len(said),
        relevant=int(true.sum()),
        said=float(said.mean()) if len(said) else math.nan,
        ece=ece,
        brier=brier,
        p=chance,
    )


def _verdict(pairs: int, groups: int, ece: float, p: float, max_ece: float) -> Verdict:
    if pairs < FEWEST_PAIRS or groups < FEWEST_GROUPS:
        return "unknown"
    return "broken" if ece > max_ece and p < ALPHA else "holds"


def _judged_by(kept: Kept) -> str:
    return _judge_of(recorded_spec(kept), kept.model, kept.analyzer)


def _judge_of(spec: Spec, model: str, analyzer: str) -> str:
    """Names how relevance comes about, as canonical JSON."""
    ranker = next((stage for stage in spec.stages if isinstance(stage, RankerSpec)), None)
    calibration = ranker.calibration.model_dump(mode="json") if ranker and ranker.calibration else None
    return canonical_json([ranker.judge if ranker else None, model, analyzer, calibration])


def _group(kept: Kept) -> str:
    """What is drawn together: reads of the same question."""
    return kept.read_id if kept.query_hash is None else kept.query_hash.hex()


def _pairs(read: LabelledRead) -> tuple[Floats, Bools]:
    places = sorted(read.labels)
    said = read.kept.recorded.numbers[Column.RELEVANCE][places]
    return said, np.array([read.labels[place] for place in places], dtype=np.bool_)


def _all_pairs(reads: Sequence[LabelledRead]) -> tuple[Floats, Bools]:
    pairs = [_pairs(read) for read in reads]
    said = np.concatenate([np.zeros(0), *(p for p, _ in pairs)])
    return said, np.concatenate([np.zeros(0, dtype=np.bool_), *(y for _, y in pairs)])


def _sums(said: Floats, true: Bools) -> Floats:
    squares = float(((said - true) ** 2).sum())
    return np.concatenate([[squares, float(len(said))], bin_sums(said, true).reshape(-1)])


def _mended(said: Floats, true: Bools) -> CalibrationSpec | None:
    try:
        return fit("platt", said, true)
    except (DataError, DependencyError):
        return None
