"""What pruning is worth on golden conversations, and the gate: later questions must stay as answerable as they were."""

from collections import Counter as Tally
from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from memrank.counters import token_counter
from memrank.dialogue.prune import DEFAULTS, Limits, Pruned, check_limits, prune_elements
from memrank.errors import UsageError
from memrank.evals.conversations import Conversations, Moment
from memrank.evals.keeping import CAUSES, Measured, Pruning, answerable, at_share, measured, saved, stays
from memrank.evals.mending import changes, mends
from memrank.evals.pruningreport import OTHERS, Case, Gate, Mend, PruningReport, figure_of, figures_of
from memrank.evals.report import Figure
from memrank.indexing import Analyzer
from memrank.score.agreement import kappa_terms, weighted_kappa
from memrank.score.intervals import Bootstrap, Estimate
from memrank.spec import PrunerSpec, Spec
from memrank.types import Floats

SHARES = (0.3, 0.5)
"""Of a conversation's tokens: budgets at which the ways of pruning are compared."""
RESAMPLES = 1000


def limits_of(spec: Spec) -> Limits:
    """The limits that a spec's pruner sets. Raises UsageError for a spec without one."""
    found = next((stage for stage in spec.stages if isinstance(stage, PrunerSpec)), None)
    if found is None:
        raise UsageError(f"the spec {spec.name} has no pruner", hint="add a stage of kind pruner.v1")
    return Limits(
        max_tokens=found.max_tokens,
        keep_last_turns=found.keep_last_turns,
        keep_below=found.keep_below,
        decay_threshold=found.decay_threshold,
        drop_threshold=found.drop_threshold,
    )


def evaluate_pruning(
    conversations: Conversations,
    limits: Limits = DEFAULTS,
    *,
    spec: str = "defaults",
    tokens: str = "estimate",
    margin: float = 0.0,
    shares: Sequence[float] = SHARES,
    seed: int = 0,
    resamples: int = RESAMPLES,
    mend: bool = True,
    analyzer: Analyzer | None = None,
    progress: Callable[[int], object] = lambda _: None,
) -> PruningReport:
    """Prune at every moment and compare with what the annotators say; deterministic for a seed.

    `shares` are budgets beside that of the limits. `progress` is told of each moment that is done. Where the gate does
    not hold, and `mend` is true, limits that mend it are searched: some tens of times the work. Raises UsageError for
    limits, a margin or a share that make no sense.
    """
    check_limits(limits)
    if not 0 <= margin <= 1 or not all(0 < share <= 1 for share in shares):
        raise UsageError("a margin lies from 0 to 1, a share of the tokens above 0")
    counter, analyzer = token_counter(tokens), analyzer or Analyzer()

    def pruning(moment: Moment, under: Limits) -> Pruned:
        return prune_elements(
            moment.elements, moment.message, limits=under, analyzer=analyzer, phase=moment.phase, counter=counter
        )

    moments = conversations.moments
    found: list[Measured] = []
    for moment in moments:
        one = measured(moment, limits, pruning, counter)
        for share in shares:
            one.values.update(at_share(moment, share, limits, pruning, counter))
        found.append(one)
        progress(1)
    columns = {name: np.array([one.values[name] for one in found]) for name in found[0].values}
    bootstrap = Bootstrap([moment.group for moment in moments], seed=seed, resamples=resamples)
    against = {name: bootstrap.paired(columns["answerable"], columns[name]) for name in OTHERS}
    lost = tuple(lost for one in found for lost in one.lost)
    tally = Tally(gone.cause for one in lost for gone in one.gone)
    causes = {cause: tally[cause] for cause in CAUSES}
    difference = against["answerable_full"]
    passed = holds(difference, margin)
    searched: tuple[Mend, ...] = ()
    if mend and difference.n and not passed:
        trial = _Trial(moments, pruning, bootstrap, columns["answerable_full"], margin)
        searched = tuple(sorted(trial.mends(limits, causes), key=lambda one: -one.tokens_saved.value))
    return PruningReport(
        evalset=conversations.name,
        part=conversations.part,
        spec=spec,
        limits=limits,
        tokens=tokens,
        conversations=conversations.count,
        moments=len(moments),
        questions=sum(len(moment.later) for moment in moments),
        sha256=conversations.sha256,
        seed=seed,
        resamples=resamples,
        units=bootstrap.units,
        figures=figures_of(
            {name: bootstrap.estimate(values) for name, values in columns.items()}
            | _agreement(moments, found, seed, resamples)
        ),
        differences=figures_of(against),
        cases=tuple(
            Case(conversation=moment.conversation, group=moment.group, after=moment.after, values=one.values)
            for moment, one in zip(moments, found, strict=True)
        ),
        by_domain=_by_domain(moments, columns, seed, resamples),
        gate=Gate(
            passed=passed,
            difference=figure_of(difference) if difference.n else None,
            margin=margin,
            causes=causes,
            mends=searched,
        ),
        lost=lost,
    )


def holds(difference: Estimate, margin: float) -> bool:
    """Whether a difference from the full context is not significantly below `-margin`. NaN, also as a bound, is no."""
    return difference.mean >= -margin or difference.high >= -margin


class _Trial:
    """Other limits on the same conversations."""

    def __init__(
        self, moments: Sequence[Moment], pruning: Pruning, bootstrap: Bootstrap, full: Floats, margin: float
    ) -> None:
        self._moments, self._pruning, self._bootstrap = moments, pruning, bootstrap
        self._full, self._margin = full, margin
        self._tried: dict[Limits, tuple[Floats, Floats]] = {}

    def mends(self, limits: Limits, causes: Mapping[str, int]) -> Iterator[Mend]:
        most = max(self._pruning(moment, limits).monitors.tokens_before for moment in self._moments)
        for found in mends(limits, causes=causes, most_tokens=most, holds=self._holds):
            after, saves = self._at(found)
            yield Mend(
                changes=changes(limits, found),
                answerable=figure_of(self._bootstrap.estimate(after)),
                tokens_saved=figure_of(self._bootstrap.estimate(saves)),
            )

    def _holds(self, limits: Limits) -> bool:
        return holds(self._bootstrap.paired(self._at(limits)[0], self._full), self._margin)

    def _at(self, limits: Limits) -> tuple[Floats, Floats]:
        """Share of the later questions that stay answerable, and of the tokens that are saved, at each moment."""
        if limits not in self._tried:
            pruned = [self._pruning(moment, limits) for moment in self._moments]
            both = zip(self._moments, pruned, strict=True)
            after = np.array([answerable(moment, stays(one)) for moment, one in both])
            self._tried[limits] = after, np.array([saved(one) for one in pruned])
        return self._tried[limits]


def _agreement(moments: Sequence[Moment], found: Sequence[Measured], seed: int, resamples: int) -> dict[str, Estimate]:
    """Kappa over the elements of all moments, those of a group drawn together; nothing without annotated classes."""
    groups = [moment.group for moment, one in zip(moments, found, strict=True) for _ in one.classes]
    if not groups:
        return {}
    pairs = np.array([pair for one in found for pair in one.classes], dtype=np.float64)
    terms = kappa_terms(pairs[:, 0], pairs[:, 1])
    return {"agreement": Bootstrap(groups, seed=seed, resamples=resamples).of_sums(terms, weighted_kappa)}


def _by_domain(
    moments: Sequence[Moment], columns: Mapping[str, Floats], seed: int, resamples: int
) -> dict[str, dict[str, Figure]]:
    found = {}
    for domain in sorted({moment.domain for moment in moments if moment.domain is not None}):
        chosen = [i for i, moment in enumerate(moments) if moment.domain == domain]
        bootstrap = Bootstrap([moments[i].group for i in chosen], seed=seed, resamples=resamples)
        found[domain] = figures_of({name: bootstrap.estimate(values[chosen]) for name, values in columns.items()})
    return found
