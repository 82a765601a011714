"""The sections of the spec about reads: when a person must look, the log, the cache."""

from typing import Literal

from pydantic import Field

from memrank.specbase import Section
from memrank.specvalues import Count, Duration, Grace, Regex, Share


class ReviewSpec(Section):
    top_score_below: Share = 0.4
    """A best score below this asks for review."""
    ambiguity_margin: Share = 0.05
    """Neighbouring scores closer than this ask for review."""
    ambiguity_top: int = Field(default=3, ge=2, le=1000)
    """How many of the first results are looked at for that."""
    stale_score_above: Share = 0.5
    """A stale or superseded item with a composite above this asks for review."""
    check_older_than: Duration = 365 * 86400.0
    """With a read log: a returned item older than this with a composite above `stale_score_above` is checked."""


class CacheSpec(Section):
    size: Count = 1000
    """Answers that are kept at the most; the one asked longest ago goes first."""
    lifetime: Duration = 3600.0
    """How long an answer is kept."""
    granularity: Grace = 60.0
    """Reads whose `as_of` lies in the same span of this length are the same read; `0s`: only the same instant."""


class ReadsSpec(Section):
    log: str | None = Field(default=None, min_length=1)
    """The SQLite file that every read is recorded in, relative to the spec; made where there is none."""
    text: Literal["off", "hashed", "full"] = "full"
    """What is recorded of queries and memories: `full` text but secrets; `hashed` salted hashes; `off` ids alone."""
    redact: tuple[Regex, ...] = ()
    """Regular expressions of what is removed from recorded text, besides keys, tokens and passwords."""
    keep: Duration = 90 * 86400.0
    """Reads that are older than this, counted from the newest, are deleted from the log."""
    durable: bool = False
    """Every read waits until its record is on the disk; otherwise records are written within a second."""
    cache: CacheSpec | None = CacheSpec()
    """Identical reads are answered from memory; `null`: never."""
