"""What a compilation is asked for, where it is, and what came of it, as plain values."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from memrank.artifact import Artifact
from memrank.evals.report import Report
from memrank.parameters import Number
from memrank.spec import Spec
from memrank.speccompile import CompileSpec
from memrank.tune.leak import Leak
from memrank.tune.parts import Parts
from memrank.tune.search import Found
from memrank.tune.sensitivity import Learned, Sensitivity
from memrank.tune.trial import Gain, Missed


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """Where a compilation is."""

    phase: str
    done: int
    total: int
    """Of what is done in this phase: settings, or reads."""
    best: float | None = None
    """Objective on the part that is searched on."""
    violation: float = 0.0
    """By how much the best so far misses the constraints."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How to compile."""

    jobs: int = 1
    resamples: int = 1000
    curve: bool = True
    """Whether to tell what more labels would bring."""
    progress: Callable[[Progress], None] | None = field(default=None, repr=False)
    reading: Callable[[str], int] | None = field(default=None, repr=False)
    """Told the hash of the data before the part `report` is read; says how often it was read then."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A setting, measured by the real pipeline on queries that it was not found on."""

    values: Mapping[str, Number]
    objective: float
    gain: Gain | None
    """Over the old settings; None of those themselves."""
    missed: tuple[Missed, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Compiled:
    """What came of compiling."""

    spec: Spec
    evalset: str
    section: CompileSpec
    parts: Parts
    accepted: bool
    why: str
    """One sentence: what decided."""
    artifact: Artifact | None
    """None where the old settings stay."""
    before: Mapping[str, Number]
    after: Mapping[str, Number]
    """What was found, whether accepted or not."""
    start: Candidate
    candidates: tuple[Candidate, ...]
    """What was chosen from, best first."""
    found: Found
    leaks: tuple[Leak, ...]
    notes: tuple[str, ...]
    sensitivity: tuple[Sensitivity, ...]
    learning: tuple[Learned, ...]
    shown: tuple[Report, Report]
    """Before and after: on the part `report` where accepted, else on what was chosen by."""
    gain: Gain | None
    """On the part `report`; None where it was not read."""
    report_reads: int
    """How often that part was read, this time included; 0 where it was not."""

    @property
    def unreachable(self) -> bool:
        """Whether neither the old settings nor any that was found keep the constraints."""
        return not self.accepted and all(one.missed for one in (self.start, *self.candidates))
