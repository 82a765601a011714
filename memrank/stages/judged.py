"""What a judge may answer beside the bare values: whose word counts for which candidate, why, and what went wrong."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from memrank.types import Bools, Floats, Notes, TimeOfQuery


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """Relevance of every candidate and where it comes from. A judge that answers with bare numbers has no such story.

    `by_model` and `failed` exclude each other: failed is what a model should have judged and did not.
    """

    relevance: Floats
    """(n,), in [0, 1]."""
    by_model: Bools
    failed: Bools
    suspected: Bools
    """Whether the text tries to instruct the judge; what it may gain is bounded."""
    justifications: Mapping[int, str] = field(default_factory=dict)
    """Candidate to what the model said for it."""
    notes: Notes = field(default_factory=Notes)
    figures: Mapping[str, float] = field(default_factory=dict)
    """`sent`: candidates that the model was asked about; `kept`: those whose answer was known; `position_bias`: see
    `score.positions`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeRead:
    """A query's relation to time, and what happened while it was read."""

    time: TimeOfQuery
    notes: Notes


@dataclass(frozen=True, slots=True, kw_only=True)
class Timed:
    """What a model said of how well the time of each candidate suits the query. Code bounds it (`score.temporal`)."""

    said: Floats
    """(n,), in [0, 1]; 0 where it said nothing."""
    by_model: Bools
    failed: Bools
    suspected: Bools
    """Whether the text tries to instruct the judge: it gains nothing then."""
    notes: Notes = field(default_factory=Notes)
    figures: Mapping[str, float] = field(default_factory=dict)
    """`time_sent`, `time_kept`: as those of `Judged`; `freshness_gap`: mean distance of what the model said from what
    code computes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """A text to be summarized."""

    content: str
    extract: str
    """The summary that stands where no better one comes."""
    most: int
    """Tokens of the summary at the most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Summarized:
    """What a model wrote of texts, by what they are known by; those that were not asked about are in neither."""

    texts: Mapping[int, str] = field(default_factory=dict)
    failed: frozenset[int] = frozenset()
    suspected: frozenset[int] = frozenset()
    notes: Notes = field(default_factory=Notes)
    figures: Mapping[str, float] = field(default_factory=dict)
    """`summaries_sent`, `summaries_kept`: as those of `Judged`."""
