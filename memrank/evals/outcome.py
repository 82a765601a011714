"""What became of one golden query: it was scored, it could not be, or its read failed. A failure is never left out."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

LM_FIGURES = ("lm_sent", "lm_fallbacks", "lm_invalid", "lm_timeouts", "position_bias")
"""Of a read that may ask a model: memories that it was asked about; of those, how many have no valid
judgement of it in the end; answers that could not be used; calls that ran out of time; and
`score.positions.position_bias`, of a read with at least three new judgements."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """The pool of one read as arrays over its n memories, results first in their order: for calibration and plots."""

    ids: tuple[str, ...]
    relevance: Floats
    """(n,): the judge's probability that it helps."""
    freshness: Floats
    score: Floats
    """(n,): what ranks; 0 where it was excluded."""
    age_days: Floats
    """(n,): NaN where undated."""
    relevant: NDArray[np.bool_]
    """(n,): whether it is labelled as helping to answer now."""
    returned: int
    """How many of them, from the first on, were returned."""
    fits: NDArray[np.bool_] | None = None
    """(n,): whether it speaks to the question, however old (`Labelled.fits`); None: the same as `relevant`."""

    @property
    def true(self) -> NDArray[np.bool_]:
        """(n,): what relevance is held against: how old a memory is, is freshness' to say."""
        return self.relevant if self.fits is None else self.fits


@dataclass(frozen=True, slots=True, kw_only=True)
class Scored:
    """A read that was compared with its labels."""

    query_id: str
    values: Mapping[str, float]
    """Measure to its value, of the measures that apply to this query."""
    judged: Judged
    latency_ms: float
    """NaN where nobody took the time: of a run that another system made."""
    lm_calls: int = 0
    lm_tokens: int = 0
    lm_cost_usd: float = 0.0
    lm_figures: Mapping[str, float] = field(default_factory=dict)
    """Those of LM_FIGURES that the read has; empty where no model may be asked."""
    top: tuple[tuple[str, float, str], ...] = ()
    """The first results: id, score, and why, for the list of the worst queries."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """A read that raised: every measure that applies counts 0 (or 1, where less is better)."""

    query_id: str
    values: Mapping[str, float]
    code: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Unscored:
    """A query without the labels that any measure needs."""

    query_id: str
    why: str


Outcome = Scored | Failed | Unscored
