"""The judges by code behind the signatures that no stage of a pipeline asks by itself: same inputs, same outputs.

Those of the stages stand beside them: `EmbeddedRelevance`, `EmbeddedReadTime`, `EmbeddedDecay`.
"""

from abc import abstractmethod
from typing import Any

import dspy
import numpy as np

from memrank.claimpairs import Comparer, in_order
from memrank.indexing import Analyzer, Vocabulary, index
from memrank.score import temporal
from memrank.score.contradiction import probability, shipped
from memrank.stages.lm.signatures import FreshnessJudgement, PeriodView, StatementView
from memrank.stages.views import MemoryView, QueryView
from memrank.tenant import BYTES_PER_TOKEN, Tenant
from memrank.text.dates import parse_as_of, parse_moment
from memrank.text.summary import summarize
from memrank.text.tokens import tokenizer_of
from memrank.types import Memory, Moment

DAY = 86_400.0
SUPERSEDES_FROM = 0.5
"""Probability of a contradiction from which the newer statement replaces the older."""


class Coded(dspy.Predict):  # type: ignore[misc]
    """A `dspy.Predict` that code answers, from the typed inputs of its signature."""

    @abstractmethod
    def answer(self, **inputs: Any) -> dict[str, Any]:
        """The output fields."""

    def forward(self, **inputs: Any) -> dspy.Prediction:
        """A prediction with the output fields."""
        outputs = {name: [value] for name, value in self.answer(**inputs).items()}
        return self._forward_postprocess(outputs, self.signature, **inputs)

    async def aforward(self, **inputs: Any) -> dspy.Prediction:
        """As `forward`."""
        return type(self).forward(self, **inputs)


class EmbeddedFreshness(Coded):
    """`PassageFreshness` by the kernels that `temporal.v1` has by default."""

    def answer(self, **inputs: Any) -> dict[str, Any]:
        """Fields of `PassageFreshness`."""
        query: QueryView = inputs["query"]
        now = parse_as_of(query.as_of).timestamp()
        judged = [self._of(one, inputs["sensitivity"], inputs.get("period"), now) for one in inputs["passages"]]
        return {"judgements": judged}

    def _of(self, passage: MemoryView, sensitivity: str, period: PeriodView | None, now: float) -> FreshnessJudgement:
        moment = None if passage.date is None else parse_moment(passage.date)[0]
        named = period is not None and (period.start is not None or period.end is not None)
        if sensitivity == "time-agnostic" or (sensitivity == "historical" and not named):
            return FreshnessJudgement(id=passage.id, freshness=1.0, rationale="its age does not matter")
        if moment is None:
            return FreshnessJudgement(id=passage.id, freshness=0.0, rationale="undated")
        fresh = float(self._fresh(moment, sensitivity, period, now)[0])
        return FreshnessJudgement(id=passage.id, freshness=fresh, rationale=f"dated {moment.text}")

    @staticmethod
    def _fresh(moment: Moment, sensitivity: str, period: PeriodView | None, now: float) -> temporal.Floats:
        first, last = np.array([moment.start.timestamp()]), np.array([moment.end.timestamp()])
        age = np.maximum(0.0, now - last)
        if sensitivity == "real-time":
            return temporal.real_time(age, DAY / 4, DAY)
        if sensitivity == "recent" or period is None:
            return temporal.exponential(age, 14 * DAY)
        start, end = (None if one is None else parse_as_of(one).timestamp() for one in (period.start, period.end))
        return temporal.exponential(temporal.distance(first, last, start, end), 365 * DAY)


class EmbeddedVerdict(Coded):
    """`ContradictionVerdict` by the trees that propose contradictions."""

    def answer(self, **inputs: Any) -> dict[str, Any]:
        """Fields of `ContradictionVerdict`."""
        analyzer, vocabulary = Analyzer(), Vocabulary()
        both = [_memory("older", inputs["older"]), _memory("newer", inputs["newer"])]
        tenant = Tenant.build(None, index(both, analyzer, vocabulary), vocabulary, analyzer.language)
        older, newer = in_order(tenant, np.array([0]), np.array([1]))
        features = Comparer(tenant).features(older, newer)
        likely = float(probability(shipped(), features)[0])
        if likely >= SUPERSEDES_FROM:
            return {"relation": "supersedes", "confidence": likely, "rationale": "another value of the same thing"}
        apart = bool(features["unrelated"][0])
        rationale = "they share next to nothing" if apart else "both can be true"
        return {"relation": "unrelated" if apart else "agrees", "confidence": 1.0 - likely, "rationale": rationale}


class EmbeddedSummary(Coded):
    """`ElementSummary` by its own sentences that have most of the query's words."""

    def answer(self, **inputs: Any) -> dict[str, Any]:
        """Fields of `ElementSummary`."""
        terms = tokenizer_of("english").terms
        asked = dict.fromkeys(terms(inputs["query"]), 1.0)
        return {"summary": summarize(inputs["content"], asked, terms, inputs["max_tokens"] * BYTES_PER_TOKEN)}


def _memory(identity: str, statement: StatementView) -> Memory:
    moment = None if statement.date is None else parse_moment(statement.date)[0]
    return Memory(id=identity, content=statement.content, created_at=moment)
