"""The checked spec: frozen pydantic models, one a section of the YAML file. No YAML and no files here (see `specfile`).

Every field has a description: `memrank schema` and the spec reference in the README are generated from it.
Durations are held in seconds and written with a unit (`14d`).
"""

from collections.abc import Sequence
from typing import Annotated, Literal, Self

from pydantic import Field, field_validator, model_validator

from memrank.pertype import DurationPerType, PerType, RatePerType, ShareOfType
from memrank.specbase import Section
from memrank.speccalibration import CalibrationSpec
from memrank.speccascade import CascadeSpec
from memrank.speccoefficients import CoefficientsSpec
from memrank.speccompile import CompileSpec
from memrank.specevaluate import EvaluateSpec
from memrank.speclm import LmSpec
from memrank.specreads import ReadsSpec, ReviewSpec
from memrank.specvalues import Count, Duration, FormatVersion, Grace, Points, Share, Time
from memrank.types import Sensitivity

SUM_TOLERANCE = 1e-6
NAME_PATTERN = r"^[a-z0-9][a-z0-9_-]{0,63}$"


class StoreSpec(Section):
    kind: Literal["jsonl.v1", "sqlite.v1"]
    """`jsonl.v1` reads a file (JSONL, JSON or CSV) and never writes it; `sqlite.v1` keeps memories durably."""
    path: str = Field(min_length=1)
    """The file, relative to the spec."""
    namespace: str | None = None
    """The tenant that reads when a call names none; needed where the store holds several."""
    importance_scale: Literal["0-1", "1-10"] = "0-1"
    """The scale on which the file states importance."""


class ExampleSpec(Section):
    query: str = Field(min_length=1)
    """What `memrank run SPEC` asks when it is given no query."""
    as_of: Time | None = None
    """The moment that "now" means for the example; the clock where it is left out."""
    filters: dict[str, str | list[str]] = Field(default_factory=dict)
    """Field (or `metadata.KEY`) to the value or values it may have."""


class IndexSpec(Section):
    language: Literal["english", "none"] = "english"
    """Stemming and stop words; `none` matches words as they are written, for any other language."""
    embedder: Literal["wordllama", "none"] = "wordllama"
    """Sentence vectors: `wordllama` is a static 256-d model inside its package, `none` ranks by words alone."""


class PrefilterSpec(Section):
    kind: Literal["prefilter.hybrid.v1"]
    """Hybrid search: BM25 and sentence vectors, fused."""
    top_k: Count = 100
    """Size of the pool of candidates that the later stages judge."""
    dense_weight: Share = 0.5
    """Share of the sentence vectors in the fused score; the rest is BM25. Both are standardised per query."""
    neighbour_weight: Share = 0.3
    """How much of its neighbouring turns' fused score a turn of the same sitting is given."""
    k1: float = Field(default=0.9, gt=0, le=10)
    """BM25: how fast repeated words saturate."""
    b: Share = 0.4
    """BM25: how strongly long memories are discounted."""
    future_tolerance: Grace = 86400.0
    """A memory recorded later than `as_of` plus this is not known yet, and invisible."""


KernelName = Literal["exponential", "linear", "gaussian", "power", "weibull", "cliff", "none"]

KERNEL_FIELDS: dict[str, frozenset[str]] = {
    "exponential": frozenset({"half_life", "rate_per_hour"}),
    "linear": frozenset({"window"}),
    "gaussian": frozenset({"half_life"}),
    "power": frozenset({"scale", "p"}),
    "weibull": frozenset({"half_life", "beta"}),
    "cliff": frozenset({"window"}),
    "none": frozenset(),
}


class TemporalSpec(Section):
    kind: Literal["temporal.v1"]
    """How fresh each memory is for this query."""
    sensitivity: Sensitivity | Literal["auto"] = "auto"
    """How much age matters: `auto` reads it from the query."""
    # Not dumped as long as it is the default: the hash of a spec without a model stays what it was.
    read_time: Literal["embedded", "lm"] = Field(default="embedded", exclude_if=lambda by: by == "embedded")
    """Who reads it, and the period that a query names: rules, or the spec's language model."""
    unmarked: Literal["time-agnostic", "tense"] = Field("time-agnostic", exclude_if=lambda way: way != "tense")
    """A question without a word of time, read by rules: time-agnostic, or by tense (the present asks for recent)."""
    judge: Literal["embedded", "lm"] = Field(default="embedded", exclude_if=lambda by: by == "embedded")
    """Who says how well a memory's time suits the query: the curves, or the spec's model, within 0.2 of the curves."""
    clock: Literal["event", "created", "accessed"] = "event"
    """Which time of a memory counts: `event` is event_date, else created_at; `accessed` the later of two."""
    kernel: KernelName = "exponential"
    """The decay curve for recent queries."""
    half_life: DurationPerType = PerType.model_validate({"default": "14d"})
    """exponential, gaussian, weibull: the age at which freshness is one half; one value, or one per memory type."""
    rate_per_hour: float | None = Field(default=None, ge=1e-8, le=1e9)
    """exponential: ln 2 / half-life in hours, instead of `half_life`."""
    window: DurationPerType | None = None
    """linear: the age at which freshness is 0; cliff: the age up to which it is 1."""
    scale: DurationPerType | None = None
    """power: k = (1 + age / scale)^-p."""
    p: float | None = Field(default=None, gt=0, le=100)
    """power: the exponent."""
    beta: float | None = Field(default=None, gt=0, le=100)
    """weibull: the shape; below 1 falls early and levels off, above 1 stays fresh first."""
    offset: Grace = 0.0
    """Grace: ages up to this count as 0."""
    floor: Share = 0.0
    """Freshness of what has wholly decayed: k becomes floor + (1 - floor) k."""
    undated: Literal["zero", "neutral"] = "zero"
    """Freshness of a memory without a date: 0, or 0.5."""
    real_time_window: Duration = 86400.0
    """Real-time queries: anything older has freshness 0."""
    real_time_half_life: Duration | None = None
    """Real-time queries: the half-life; a quarter of the window where it is left out."""
    historical_half_life: Duration = 365 * 86400.0
    """Historical queries: how fast freshness falls with the distance from the period that the query names."""

    @model_validator(mode="after")
    def _kernel_has_its_parameters(self) -> Self:
        wanted = KERNEL_FIELDS[self.kernel]
        given = frozenset().union(*KERNEL_FIELDS.values()) & self.model_fields_set
        unused = sorted(given - wanted)
        if unused:
            allowed = ", ".join(sorted(wanted)) or "none"
            raise ValueError(f"the {self.kernel} kernel does not take {', '.join(unused)}; allowed: {allowed}")
        if {"half_life", "rate_per_hour"} <= given:
            raise ValueError("half_life and rate_per_hour say the same thing; allowed: one of them")
        missing = [name for name in sorted(wanted - {"half_life", "rate_per_hour"}) if getattr(self, name) is None]
        if missing:
            raise ValueError(f"the {self.kernel} kernel lacks {' and '.join(missing)}; allowed: a value for each")
        return self


class Weights(Section):
    """What the composite is made of; the weights sum to 1."""

    relevance: Share = 0.0
    """Weight of how much the memory helps to answer the query."""
    freshness: Share = 0.0
    """Weight of how fresh it is."""
    importance: Share = 0.0
    """Weight of how important it is by now."""
    authority: Share = 0.0
    """Weight of how trustworthy its source is."""

    @model_validator(mode="after")
    def _sum_to_one(self) -> Self:
        total = self.relevance + self.freshness + self.importance + self.authority
        if abs(total - 1.0) > SUM_TOLERANCE:
            raise ValueError(f"the weights sum to {total:.6g}; they must sum to 1 (within {SUM_TOLERANCE:g})")
        return self


class Alphas(Section):
    """Bounded boosts on relevance, each in [0, 1]: a part at 0.5 changes nothing."""

    freshness: Share = 0.0
    """How strongly freshness moves relevance."""
    importance: Share = 0.0
    """How strongly importance moves relevance."""
    authority: Share = 0.0
    """How strongly the authority of the source moves relevance."""


class ImportanceSpec(Section):
    decay: Literal["exponential", "linear", "none"] = "exponential"
    """How importance falls with the months since a memory was recorded."""
    rate_per_month: RatePerType = ShareOfType.model_validate({"default": 0.02})
    """Share lost in a month of 30 days; one value, or one per memory type."""
    boost: bool = True
    """Whether uses raise importance."""
    boost_per_use: float = Field(default=0.5, ge=0, le=10)
    """Points (of 10) that a use is worth."""
    boost_cap: float = Field(default=3.0, ge=0, le=10)
    """Points (of 10) that all uses together are worth at the most."""
    floor: Points = 1.0
    """Points (of 10) below which importance never falls; what is superseded has exactly these."""
    ceiling: Points = 10.0
    """Points (of 10) above which importance never rises."""
    count_means: Literal["use", "retrieval"] = "use"
    """Which counts boost: `use` leaves out those imported as `retrieval_count`, `retrieval` takes both."""

    @model_validator(mode="after")
    def _floor_below_ceiling(self) -> Self:
        if self.floor > self.ceiling:
            raise ValueError("floor exceeds ceiling; allowed: floor <= ceiling, both from 1 to 10")
        return self


class SupersessionSpec(Section):
    infer: bool = True
    """Whether newer values that no `superseded_by` states are recognised: the older one ranks just below the newer."""
    threshold: Share = 0.25
    """How likely it must be. Lower finds more; a wrong find costs one place."""


class RankerSpec(Section):
    kind: Literal["ranker.v1"]
    """Relevance, importance and freshness combined; thresholds; superseded facts below their successors."""
    judge: Literal["embedded", "lm", "cascade"] = "embedded"
    """Who scores relevance: `embedded` calls no model, `lm` asks the spec's about all, `cascade` about the first."""
    cascade: CascadeSpec | None = Field(default=None, exclude_if=lambda given: given is None)
    """judge: cascade: about whom the model is asked; the defaults where it is left out."""
    calibration: CalibrationSpec | None = None
    """Makes what the judge says a probability on your own data: `memrank eval --calibrate` fits it."""
    coefficients: CoefficientsSpec | None = Field(default=None, exclude_if=lambda given: given is None)
    """The embedded judge's coefficients, where they are not the shipped ones: compiling fits them."""
    combine: Literal["weighted", "bounded"] = "weighted"
    """`weighted` sums the parts; `bounded` multiplies relevance by boosts that cannot overpower it."""
    weights: Weights = Weights(relevance=0.6, freshness=0.4)
    """weighted: the weight of each part."""
    alphas: Alphas | None = None
    """bounded: the strength of each boost."""
    relevance_threshold: Share = 0.0
    """Relevance below this is excluded: this is how memrank abstains."""
    stale_after: Duration | None = None
    """Real-time and recent queries: older memories are excluded as stale."""
    staleness_threshold: Duration | None = None
    """From this age on an item carries `stale_flag` and still counts."""
    min_score: Share = 0.0
    """A composite below this is excluded."""
    top_k: Count | None = None
    """How many results at the most."""
    importance: ImportanceSpec = ImportanceSpec()
    """How importance decays and is boosted."""
    supersession: SupersessionSpec = SupersessionSpec()
    """Outdated values below current ones."""

    @model_validator(mode="after")
    def _parts_fit(self) -> Self:
        if self.combine == "bounded" and self.alphas is None:
            raise ValueError(
                "combine: bounded stands without alphas; add alphas, such as {freshness: 0.4, importance: 0.2}"
            )
        if self.combine == "bounded" and "weights" in self.model_fields_set:
            raise ValueError("weights do not go with combine: bounded; allowed: alphas")
        if self.combine == "weighted" and self.alphas is not None:
            raise ValueError("alphas do not go with combine: weighted; allowed: weights")
        if self.cascade is not None and self.judge != "cascade":
            raise ValueError("cascade does not go with another judge; allowed: judge: cascade")
        stale_after = float("inf") if self.stale_after is None else self.stale_after
        if (self.staleness_threshold or 0.0) > stale_after:
            raise ValueError("staleness_threshold exceeds stale_after; allowed: stale_after at the most")
        return self


class ContextSpec(Section):
    template: Literal["lines", "plain", "markdown", "xml"] = "lines"
    """The form of the context block: numbered lines of tagged memories, of quoted ones, a list, or one element tree."""
    heading: str = "Context from previous interactions"
    """First line of the context block; none where empty. In `markdown` and `xml` it is one line."""
    footer: str = ""
    """Last line of the context block; none where empty. In `markdown` and `xml` it is one line."""
    mark: str = Field(default="\u26a0", max_length=20)
    """Stands before memories of importance 8 of 10 and above; none where empty."""
    max_items: Count = 5
    """How many memories the block holds at the most; pinned ones stand first and do not count."""
    max_tokens: Count | None = None
    """Tokens of the whole block at the most; the pruner's budget where it is left out."""
    order: Literal["importance", "score"] = "importance"
    """`importance`: importance 8 of 10 and above first, then by relevance x importance; `score`: by score."""


class PrunerSpec(Section):
    kind: Literal["pruner.v1"]
    """What stays in the context: keep, summarize or drop, within a token budget."""
    max_tokens: Count = 1200
    """Tokens of everything that is kept, summaries included. A token is counted as four bytes of UTF-8."""
    keep_last_turns: int = Field(default=3, ge=0, le=1000)
    """The newest turns of the conversation that are never dropped."""
    keep_below: Share = 0.3
    """Decay below this is class 1, critical."""
    decay_threshold: Share = 0.7
    """Decay from this on is summarized (class 3)."""
    drop_threshold: Share = 0.9
    """Decay from this on is dropped (class 4)."""
    summary_tokens: Count = 40
    """Length of a summary at the most."""
    summaries: Literal["extract", "lm"] = Field(default="extract", exclude_if=lambda by: by == "extract")
    """`extract`: sentences of the memory; `lm`: written by the spec's model, where code finds nothing made up."""
    context: ContextSpec = ContextSpec()
    """The text block for a system prompt."""

    @model_validator(mode="after")
    def _thresholds_rise(self) -> Self:
        if not self.keep_below <= self.decay_threshold <= self.drop_threshold:
            raise ValueError("the thresholds fall; allowed: keep_below <= decay_threshold <= drop_threshold")
        return self


StageSpec = Annotated[PrefilterSpec | TemporalSpec | RankerSpec | PrunerSpec, Field(discriminator="kind")]


def asked_of_a_model(stages: Sequence[StageSpec]) -> list[str]:
    """The settings of stages that have a language model asked, as `name: value`."""
    asking = []
    for stage in stages:
        if isinstance(stage, RankerSpec) and stage.judge != "embedded":
            asking.append(f"judge: {stage.judge}")
        if isinstance(stage, TemporalSpec):
            asking += [f"read_time: {stage.read_time}"] if stage.read_time != "embedded" else []
            asking += [f"judge: {stage.judge}"] if stage.judge != "embedded" else []
        if isinstance(stage, PrunerSpec) and stage.summaries != "extract":
            asking.append(f"summaries: {stage.summaries}")
    return asking


class Spec(Section):
    """One pipeline: where memories come from, the stages that rank them, and when a person must look."""

    memrank: FormatVersion
    """Version of the spec format."""
    name: str = Field(pattern=NAME_PATTERN)
    """Short name: lower-case letters, digits, - and _."""
    description: str = ""
    """What the pipeline is for."""
    store: StoreSpec | None = None
    """Where the memories are; may be left out when they are given in the call."""
    example: ExampleSpec | None = None
    """What `memrank run SPEC` does when it is given nothing else."""
    index: IndexSpec = IndexSpec()
    """How text is indexed."""
    lm: LmSpec | None = None
    """A language model for the stages that ask one; `null`: everything is judged on this machine."""
    stages: tuple[StageSpec, ...] = Field(min_length=1, max_length=16)
    """The chain, in order."""
    high_stakes: bool = False
    """Every ranking and all that it leaves out wait in `reads.log` for a person; without a log every answer says so."""
    review: ReviewSpec = ReviewSpec()
    """When a read needs a person's eyes."""
    reads: ReadsSpec | None = None
    """The log and the cache of reads; neither where it is left out."""
    evaluate: EvaluateSpec | None = None
    """The golden set of this pipeline and the gates it must pass."""
    compile: CompileSpec | None = None
    """What compiling this pipeline tunes."""
    compiled: str | None = Field(default=None, min_length=1)
    """The artifact with what was fitted for this pipeline, relative to the spec; its values count before the spec's."""

    @field_validator("stages", mode="after")
    @classmethod
    def _each_kind_once(cls, stages: tuple[StageSpec, ...]) -> tuple[StageSpec, ...]:
        kinds = [stage.kind for stage in stages]
        twice = sorted({kind for kind in kinds if kinds.count(kind) > 1})
        if twice:
            raise ValueError(f"{', '.join(twice)} stands more than once; a stage may stand once")
        return stages

    @model_validator(mode="after")
    def _judges_have_a_model(self) -> Self:
        asking = asked_of_a_model(self.stages)
        if asking and self.lm is None:
            raise ValueError(f"{' and '.join(asking)} without a model; allowed: an lm section that names one")
        return self

    @model_validator(mode="after")
    def _high_stakes_are_logged_in_full(self) -> Self:
        if self.high_stakes and self.reads is not None and self.reads.log is not None and self.reads.text != "full":
            raise ValueError(f"high_stakes does not go with reads.text: {self.reads.text}; allowed: full")
        return self
